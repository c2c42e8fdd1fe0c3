//! Prefer (RFC 7240): what replies to writes show.

use crate::site::{Reply, Site, bare, get, patch, put, with_json, with_type};

const ALL: &str = "Prefer: return=representation\r\n";
const LITTLE: &str = "Prefer: return=minimal\r\n";

fn shows(reply: &Reply, status: u16, body: &str, at: &str) {
    assert_eq!((reply.status, reply.body.as_str()), (status, body), "{reply:?}");
    assert_eq!(reply.field("preference-applied"), Some("return=representation"));
    assert_eq!(reply.field("content-location"), Some(at));
    assert_eq!(reply.field("content-type"), Some("application/json"));
}

#[test]
fn rfc7240_4_2_return_representation() {
    let site = Site::start();
    let at = "/db/notes/a";
    shows(&site.ask(&put(at, ALL, "{ \"n\": 1.0 }")), 201, r#"{"n":1}"#, at);
    shows(&site.ask(&put(at, ALL, r#"{"n":2}"#)), 200, r#"{"n":2}"#, at);
    for (kind, body, expected) in [
        ("merge-patch", r#"{"n":3}"#, r#"{"n":3}"#),
        ("json-patch", r#"[{"op":"add","path":"/m","value":[]}]"#, r#"{"n":3,"m":[]}"#),
        ("vnd.sarsen.merge", r#"[{"op":"add","path":"/n","value":1}]"#, r#"{"n":4,"m":[]}"#),
    ] {
        let reply = site.ask(&patch(kind, at, ALL, body));
        shows(&reply, 200, expected, at);
        assert_eq!(reply.field("etag"), site.ask(&get(at)).field("etag"), "{kind}");
    }
    let posted = site.ask(&with_json("POST", "/db/notes", ALL, "[7]"));
    shows(&posted, 201, "[7]", posted.field("location").unwrap());
}

#[test]
fn what_changes_nothing_is_shown_with_its_old_version() {
    let site = Site::start();
    let etag = site.put("/db/notes/a", r#"{"n":4}"#);
    for (kind, body) in [
        ("merge-patch", r#"{"n":4}"#),
        ("vnd.sarsen.merge", r#"[{"op":"min","path":"/n","value":5}]"#),
    ] {
        let reply = site.ask(&patch(kind, "/db/notes/a", ALL, body));
        shows(&reply, 200, r#"{"n":4}"#, "/db/notes/a");
        assert_eq!(reply.field("etag"), Some(etag.as_str()), "{kind}");
    }
}

#[test]
fn rfc7240_4_2_return_minimal() {
    let site = Site::start();
    let reply = site.ask(&put("/db/notes/a", LITTLE, "1"));
    assert_eq!((reply.status, reply.body.as_str()), (201, ""));
    assert_eq!(reply.field("preference-applied"), Some("return=minimal"));
    let reply = site.ask(&put("/db/notes/a", "Prefer: return=everything\r\n", "1"));
    assert_eq!((reply.status, reply.field("preference-applied")), (204, None));
    let reply = site.ask(&bare("GET", "/db/notes/a", LITTLE));
    assert_eq!((reply.body.as_str(), reply.field("preference-applied")), ("1", None));
}

#[test]
fn other_media_types_are_shown_as_they_are() {
    let site = Site::start();
    let request = with_type("PUT", "/db/notes/a", ("text/plain; a=b", ALL), "{ x");
    let reply = site.ask(&request);
    assert_eq!((reply.status, reply.body.as_str()), (201, "{ x"));
    assert_eq!(reply.field("content-type"), Some("text/plain; a=b"));
}

#[test]
fn rfc9110_8_7_content_location() {
    let site = Site::start();
    for path in ["/db/notes/\u{e4}", "/db/notes/%c3%a4", "/db/n%6ftes/%C3%A4"] {
        let reply = site.ask(&put(path, ALL, "1"));
        assert_eq!(reply.field("content-location"), Some("/db/notes/%C3%A4"), "{path}");
    }
    for path in ["/db/notes", "/db/notes?settings"] {
        let reply = site.ask(&put(path, ALL, "{}"));
        let at = reply.field("content-location").unwrap();
        assert_eq!((at, site.ask(&get(at)).body), ("/db/notes?settings", reply.body.clone()));
    }
}
