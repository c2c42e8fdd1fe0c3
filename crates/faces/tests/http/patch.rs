//! PATCH: which patch does what, and what is refused. The cases of the RFCs are tested where
//! patches are applied; here it is that they reach the document, conditions and all.

use crate::site::{Site, bare, get, patch, with_type};
use std::thread;

const MERGE: &str = "merge-patch";
const JSON: &str = "json-patch";
const OPERATIONS: &str = "vnd.sarsen.merge";

#[test]
fn each_kind_of_patch_changes_the_document() {
    let site = Site::start();
    let first = site.put("/db/notes/a", r#"{"a":1,"l":[1]}"#);
    for (kind, body, expected) in [
        (MERGE, r#"{"a":null,"b":{"c":2.0}}"#, r#"{"l":[1],"b":{"c":2}}"#),
        (JSON, r#"[{"op":"add","path":"/l/-","value":2}]"#, r#"{"l":[1,2],"b":{"c":2}}"#),
        (OPERATIONS, r#"[{"op":"add","path":"/b/c","value":3}]"#, r#"{"l":[1,2],"b":{"c":5}}"#),
    ] {
        let reply = site.ask(&patch(kind, "/db/notes/a", "", body));
        assert_eq!((reply.status, reply.body.as_str()), (204, ""), "{kind}: {reply:?}");
        assert_eq!(reply.field("sarsen-durability"), Some("synced"));
        let found = site.ask(&get("/db/notes/a"));
        assert_eq!(found.body, expected, "{kind}");
        assert_ne!(found.field("etag"), Some(first.as_str()));
        // Merge operations do not look at what becomes of the document.
        let expected = if kind == OPERATIONS { None } else { found.field("etag") };
        assert_eq!(reply.field("etag"), expected, "{kind}");
    }
}

#[test]
fn rfc5789_2_2_what_is_refused_changes_nothing() {
    let site = Site::start();
    let etag = site.put("/db/notes/a", r#"{"a":"x","n":1}"#);
    for (kind, body, status, problem) in [
        (JSON, "{", 400, "invalid-json"),
        (MERGE, "{", 400, "invalid-json"),
        (JSON, "{}", 400, "invalid-patch"),
        (JSON, r#"[{"op":"put","path":"/a"}]"#, 400, "invalid-patch"),
        (OPERATIONS, "[]", 400, "invalid-patch"),
        (
            JSON,
            r#"[{"op":"remove","path":"/n"},{"op":"test","path":"/a","value":1}]"#,
            409,
            "patch-mismatch",
        ),
        (JSON, r#"[{"op":"remove","path":"/b"}]"#, 409, "patch-mismatch"),
        (OPERATIONS, r#"[{"op":"add","path":"/a","value":1}]"#, 409, "patch-mismatch"),
        ("json", "{}", 415, "unsupported-media-type"),
    ] {
        let reply = site.ask(&patch(kind, "/db/notes/a", "", body));
        assert_eq!((reply.status, reply.problem()), (status, problem), "{kind} {body}");
    }
    let deepen = format!("[{}]", vec![r#"{"op":"copy","from":"","path":"/b"}"#; 128].join(","));
    let reply = site.ask(&patch(JSON, "/db/notes/a", "", &deepen));
    assert_eq!((reply.status, reply.problem()), (422, "unprocessable"), "nested too deep");
    assert_eq!(site.ask(&get("/db/notes/a")).field("etag"), Some(etag.as_str()));
}

#[test]
fn mistakes_in_a_patch_are_located() {
    let site = Site::start();
    site.put("/db/notes/a", "{}");
    let body = r#"[{"op":"add","path":"/a","value":1},{"op":"move","path":"/b"}]"#;
    let reply = site.ask(&patch(JSON, "/db/notes/a", "", body));
    assert_eq!(reply.json()["pointer"], "/1");
    let body = r#"[{"op":"add","path":"/a","value":1},{"op":"remove","path":"/b"}]"#;
    let reply = site.ask(&patch(JSON, "/db/notes/a", "", body));
    assert!(reply.json()["detail"].as_str().unwrap().starts_with("operation 1: "), "{reply:?}");
    assert_eq!(site.ask(&get("/db/notes/a")).body, "{}");
}

#[test]
fn rfc5789_2_2_other_media_types_name_those_that_are_taken() {
    let site = Site::start();
    site.put("/db/notes/a", "{}");
    let accepts = "application/merge-patch+json, application/json-patch+json, \
                   application/vnd.sarsen.merge+json";
    for kind in ["application/json", "text/plain", "nonsense"] {
        let reply = site.ask(&with_type("PATCH", "/db/notes/a", (kind, ""), "{}"));
        assert_eq!((reply.status, reply.field("accept-patch")), (415, Some(accepts)), "{kind}");
    }
    let coded = patch(MERGE, "/db/notes/a", "Content-Encoding: gzip\r\n", "{}");
    assert_eq!(site.ask(&coded).status, 415);
    let typed = "application/merge-patch+json; charset=utf-8";
    assert_eq!(site.ask(&with_type("PATCH", "/db/notes/a", (typed, ""), "{}")).status, 204);
}

#[test]
fn what_is_not_there() {
    let site = Site::start();
    let ask = |kind: &str, fields: &str, body: &str| {
        site.ask(&patch(kind, "/db/notes/a", fields, body)).status
    };
    let absent = "If-None-Match: *\r\n";
    let test = r#"[{"op":"add","path":"","value":1}]"#;
    assert_eq!(ask(MERGE, "", "{}"), 404);
    assert_eq!(ask(MERGE, "If-Match: *\r\n", "{}"), 404, "no success to guard");
    assert_eq!((ask(JSON, "", test), ask(JSON, absent, test)), (404, 404));
    assert_eq!(ask(MERGE, absent, r#"{"a":{"b":null}}"#), 201);
    assert_eq!(site.ask(&get("/db/notes/a")).body, r#"{"a":{}}"#);
    assert_eq!(ask(MERGE, absent, "{}"), 412);
    assert_eq!(site.ask(&bare("DELETE", "/db/notes/a", "")).status, 204);
    let add = r#"[{"op":"add","path":"/n","value":1}]"#;
    assert_eq!(ask(OPERATIONS, "If-Match: *\r\n", add), 412);
    assert_eq!((ask(OPERATIONS, absent, add), ask(OPERATIONS, absent, add)), (201, 412));
    assert_eq!(ask(OPERATIONS, "", add), 204);
    assert_eq!(site.ask(&get("/db/notes/a")).body, r#"{"n":2}"#);
}

#[test]
fn a_patch_needs_a_json_document() {
    let site = Site::start();
    let text = with_type("PUT", "/db/notes/a", ("text/plain", ""), "{}");
    assert_eq!(site.ask(&text).status, 201);
    for (kind, body) in
        [(MERGE, "{}"), (JSON, "[]"), (OPERATIONS, r#"[{"op":"add","path":"/n","value":1}]"#)]
    {
        let reply = site.ask(&patch(kind, "/db/notes/a", "", body));
        assert_eq!((reply.status, reply.problem()), (409, "patch-mismatch"), "{kind}");
        assert!(reply.body.contains("text/plain"), "{}", reply.body);
    }
}

#[test]
fn a_patch_that_changes_nothing_writes_nothing() {
    let site = Site::start();
    let etag = site.put("/db/notes/a", r#"{"a":1}"#);
    let before = site.repository.stats().commits;
    for (kind, body) in
        [(MERGE, r#"{"a":1,"b":null}"#), (JSON, r#"[{"op":"test","path":"/a","value":1.0}]"#)]
    {
        let reply = site.ask(&patch(kind, "/db/notes/a", "", body));
        assert_eq!((reply.status, reply.field("etag")), (204, Some(etag.as_str())), "{kind}");
        assert_eq!(reply.field("sarsen-durability"), None);
    }
    assert_eq!(site.repository.stats().commits, before);
}

#[test]
fn rfc9110_13_1_1_if_match_guards_every_kind() {
    let site = Site::start();
    let old = site.put("/db/notes/a", r#"{"n":1}"#);
    site.put("/db/notes/a", r#"{"n":2}"#);
    let stale = format!("If-Match: {old}\r\n");
    for (kind, body) in [
        (MERGE, r#"{"n":3}"#),
        (JSON, r#"[{"op":"replace","path":"/n","value":3}]"#),
        (OPERATIONS, r#"[{"op":"add","path":"/n","value":1}]"#),
    ] {
        let reply = site.ask(&patch(kind, "/db/notes/a", &stale, body));
        assert_eq!((reply.status, reply.problem()), (412, "precondition-failed"), "{kind}");
        let etag = site.ask(&get("/db/notes/a")).field("etag").unwrap().to_owned();
        assert_eq!(reply.json()["etag"], etag.as_str());
        let fresh = format!("If-Match: {etag}\r\n");
        assert_eq!(site.ask(&patch(kind, "/db/notes/a", &fresh, body)).status, 204, "{kind}");
    }
}

#[test]
fn large_documents_are_patched_elsewhere_with_the_same_result() {
    let site = Site::start();
    let long = "x".repeat(2 * faces::limits::INLINE_JSON_BYTES_MAX);
    site.put("/db/notes/a", &format!(r#"{{"long":"{long}","n":1}}"#));
    let body = r#"[{"op":"replace","path":"/n","value":2}]"#;
    assert_eq!(site.ask(&patch(JSON, "/db/notes/a", "", body)).status, 204);
    assert_eq!(site.ask(&patch(MERGE, "/db/notes/a", "", r#"{"m":3}"#)).status, 204);
    let expected = format!(r#"{{"long":"{long}","n":2,"m":3}}"#);
    assert_eq!(site.ask(&get("/db/notes/a")).body, expected);
    let body = format!(r#"{{"long":null,"other":"{long}"}}"#);
    assert_eq!(site.ask(&patch(MERGE, "/db/notes/a", "", &body)).status, 204);
    assert!(site.ask(&get("/db/notes/a")).body.starts_with(r#"{"n":2,"m":3,"other":"x"#));
}

#[test]
fn a_result_that_is_too_large_is_refused() {
    let site = Site::start();
    let half = "x".repeat(5 << 20);
    site.put("/db/notes/a", &format!(r#"{{"a":"{half}"}}"#));
    for (kind, body) in [
        (JSON, r#"[{"op":"copy","from":"/a","path":"/b"}]"#.to_owned()),
        (MERGE, format!(r#"{{"b":"{half}"}}"#)),
    ] {
        let reply = site.ask(&patch(kind, "/db/notes/a", "", &body));
        assert_eq!((reply.status, reply.problem()), (422, "unprocessable"), "{kind}");
    }
}

#[test]
fn merge_operations_of_many_all_count_and_never_conflict() {
    const CLIENTS: usize = 4;
    const EACH: usize = 50;
    let site = Site::start();
    site.put("/db/notes/a", r#"{"n":0}"#);
    let conflicts = site.repository.stats().conflicts;
    let add = patch(OPERATIONS, "/db/notes/a", "", r#"[{"op":"add","path":"/n","value":1}]"#);
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = site.connect();
                for _ in 0..EACH {
                    assert_eq!(client.ask(&add).status, 204);
                }
            });
        }
    });
    assert_eq!(site.ask(&get("/db/notes/a")).body, format!(r#"{{"n":{}}}"#, CLIENTS * EACH));
    assert_eq!(site.repository.stats().conflicts, conflicts);
}
