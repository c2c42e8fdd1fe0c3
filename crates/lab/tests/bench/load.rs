//! What is sent: keys, bodies, headers, and the same again for the same seed.

use crate::server::{OK, Server, serve_bytes};
use crate::{plan, report};
use lab::hit::Hit;
use std::collections::HashSet;

/// A plan of `count` PUTs of documents to 20 keys.
fn put_plan(server: &Server, count: u64) -> Hit {
    let mut plan = plan(server, count);
    plan.target = server.url("/db/notes/{key}").parse().unwrap();
    plan.keys = 20;
    plan.request.method = "PUT".to_owned();
    plan.request.headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
    plan.request.body = br#"{"key":{key},"text":"{nonce}"}"#.to_vec();
    plan
}

#[test]
fn keys_come_from_the_key_space_and_bodies_differ() {
    let server = serve_bytes(OK);
    assert_eq!(report(&put_plan(&server, 400)).measured.successes(), 400);
    let (mut keys, mut bodies) = (HashSet::new(), HashSet::new());
    for request in server.seen() {
        let path = request.line.strip_prefix("PUT /db/notes/").unwrap();
        let key: u64 = path.strip_suffix(" HTTP/1.1").unwrap().parse().unwrap();
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(body["key"], key);
        assert_eq!(request.field("content-type"), Some("application/json"));
        keys.insert(key);
        bodies.insert(request.body);
    }
    assert_eq!(keys, (0..20).collect());
    assert_eq!(bodies.len(), 400);
}

#[test]
fn the_same_seed_sends_the_same_requests() {
    let sent = |seed| {
        let server = serve_bytes(OK);
        let mut plan = put_plan(&server, 30);
        plan.seed = seed;
        report(&plan);
        let seen = server.seen();
        seen.into_iter().map(|request| (request.line, request.body)).collect::<Vec<_>>()
    };
    assert_eq!(sent(7), sent(7));
    assert_ne!(sent(7), sent(8));
}

#[test]
fn users_draw_different_keys() {
    let server = serve_bytes(OK);
    let mut plan = put_plan(&server, 300);
    plan.users = 3;
    report(&plan);
    let bodies: HashSet<_> = server.seen().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies.len(), 300);
}

#[test]
fn the_report_names_what_was_sent() {
    let server = serve_bytes(OK);
    let report = report(&put_plan(&server, 10));
    let json = report.to_json();
    assert_eq!(json["target"], server.url("/db/notes/{key}"));
    assert_eq!((&json["method"], &json["requests"]), (&"PUT".into(), &10.into()));
    assert_eq!(json["statuses"], serde_json::json!({"200": 10}));
    assert_eq!(json["latency_ms"]["p90"], serde_json::Value::Null);
    let text = report.to_text();
    assert!(text.starts_with("target            PUT http://"), "{text}");
    assert!(text.contains("closed loop: users wait for each reply"), "{text}");
}
