//! `/openapi.json`: that it is served and is true of the server that serves it. That it is OpenAPI,
//! and that the server keeps to it, is shown by `make conformance`.

use crate::site::{Site, bare, get};
use serde_json::Value;

#[test]
fn what_is_described_is_what_is_allowed() {
    let site = Site::start();
    let mut client = site.connect();
    let reply = client.ask(&get("/openapi.json"));
    assert_eq!((reply.status, reply.field("content-type")), (200, Some("application/json")));
    let document: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    for (path, item) in document["paths"].as_object().unwrap() {
        let path = path.replace("{collection}", "notes").replace("{key}", "a");
        let path = path.replace("{problem}", "busy");
        let options = client.ask(&bare("OPTIONS", &path, ""));
        assert_eq!(options.status, 204, "{path}");
        let mut allowed: Vec<String> =
            options.field("allow").unwrap().split(", ").map(str::to_lowercase).collect();
        allowed.sort();
        let mut described: Vec<&String> = item.as_object().unwrap().keys().collect();
        described.retain(|key| *key != "parameters");
        described.sort();
        assert_eq!(allowed.iter().collect::<Vec<_>>(), described, "{path}");
    }
}
