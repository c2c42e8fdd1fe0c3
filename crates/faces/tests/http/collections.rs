//! The list of collections, and their settings.

use crate::site::{Reply, Site, bare, get};

const JSON: &str = "Content-Type: application/json\r\n";
const MERGE_PATCH: &str = "Content-Type: application/merge-patch+json\r\n";

fn send(site: &Site, method: &str, path: &str, fields: &str, body: &str) -> Reply {
    let fields = format!("{fields}Content-Length: {}\r\n", body.len());
    site.ask(&(bare(method, path, &fields) + body))
}

#[test]
fn settings_are_put_read_and_patched() {
    let site = Site::start();
    assert_eq!(site.ask(&get("/db/notes?settings")).status, 404);
    let made = send(&site, "PUT", "/db/notes", JSON, "{ \"expiry\": 5000 }");
    assert_eq!(made.status, 201, "{made:?}");
    let read = site.ask(&get("/db/notes?settings"));
    assert_eq!((read.status, read.body.as_str()), (200, r#"{"expiry":5000}"#));
    assert_eq!(read.field("etag"), made.field("etag"));
    let tag = read.field("etag").unwrap();
    let same = site.ask(&bare("GET", "/db/notes?settings", &format!("If-None-Match: {tag}\r\n")));
    assert_eq!(same.status, 304);
    let patch = r#"{"expiry":null,"conflict":"merge"}"#;
    let fields = format!("{MERGE_PATCH}If-Match: {tag}\r\nPrefer: return=representation\r\n");
    let patched = send(&site, "PATCH", "/db/notes?settings", &fields, patch);
    assert_eq!((patched.status, patched.body.as_str()), (200, r#"{"conflict":"merge"}"#));
    let stale = send(&site, "PATCH", "/db/notes", &fields, patch);
    assert_eq!((stale.status, stale.problem()), (412, "precondition-failed"));
    assert_eq!(site.ask(&get("/db/notes?settings")).body, r#"{"conflict":"merge"}"#);
}

#[test]
fn settings_that_do_not_change_write_nothing() {
    let site = Site::start();
    let made = send(&site, "PUT", "/db/notes", JSON, r#"{"expiry":5000}"#);
    let before = site.repository.stats().visible;
    let again = send(&site, "PUT", "/db/notes", JSON, r#"{"expiry":5000,"durability":"synced"}"#);
    assert_eq!((again.status, again.field("etag")), (204, made.field("etag")));
    assert_eq!(site.repository.stats().visible, before);
}

#[test]
fn settings_that_are_none_change_nothing() {
    let site = Site::start();
    send(&site, "PUT", "/db/notes", JSON, "{}");
    for (method, path, fields, body, status, problem) in [
        ("PUT", "/db/notes", JSON, "{", 400, "invalid-json"),
        ("PUT", "/db/notes", JSON, r#"{"expiri":1}"#, 422, "invalid-settings"),
        ("PUT", "/db/notes", JSON, r#"{"durability":"volatile"}"#, 422, "invalid-settings"),
        ("PATCH", "/db/notes", MERGE_PATCH, r#"{"indexes":1}"#, 422, "invalid-settings"),
        ("PATCH", "/db/none", MERGE_PATCH, "{}", 404, "not-found"),
        ("PATCH", "/db/notes", JSON, "{}", 415, "unsupported-media-type"),
        ("PUT", "/db/notes", MERGE_PATCH, "{}", 415, "unsupported-media-type"),
        ("PUT", "/db/notes?other", JSON, "{}", 400, "invalid-parameter"),
    ] {
        let reply = send(&site, method, path, fields, body);
        assert_eq!((reply.status, reply.problem()), (status, problem), "{path} {body}: {reply:?}");
    }
    assert_eq!(site.ask(&get("/db/notes?settings")).body, "{}");
    assert_eq!(site.ask(&get("/db/none")).status, 404);
}

#[test]
fn collections_are_listed_with_what_they_are() {
    let site = Site::start();
    let indexed = r#"{"indexes":[{"name":"by_n","paths":[{"path":"/n"}]}]}"#;
    send(&site, "PUT", "/db/notes", JSON, indexed);
    site.put("/db/other/a", "1");
    crate::site::until(|| site.ask(&get("/db")).body.contains(r#""state":"ready""#));
    let all = site.ask(&get("/db"));
    assert_eq!((all.status, all.field("content-type")), (200, Some("application/json")));
    let (notes, other) = all.body.split_once(r#"{"name":"other""#).unwrap();
    assert!(notes.contains(r#""indexes":[{"name":"by_n","state":"ready"}]"#), "{notes}");
    assert!(notes.contains(&format!(r#""settings":{indexed}"#)), "{notes}");
    assert!(other.contains(r#""settings":{},"indexes":[]"#), "{other}");
    let first = site.ask(&get("/db?limit=1"));
    assert_eq!(first.field("link"), Some("<?limit=1&after=notes>; rel=\"next\""));
    let rest = site.ask(&get("/db?limit=1&after=notes"));
    assert!(rest.body.contains(r#""name":"other""#) && rest.field("link").is_none());
    assert_eq!(site.ask(&get("/db?limit=x")).problem(), "invalid-parameter");
    let status = site.ask(&get("/db/other?status"));
    assert!(status.body.starts_with(r#"{"name":"other","version":"#), "{}", status.body);
    assert_eq!(site.ask(&get("/db/none?status")).status, 404);
}

fn delete(site: &Site, path: &str, fields: &str) -> Reply {
    site.ask(&bare("DELETE", path, fields))
}

#[test]
fn a_collection_is_emptied_and_keeps_its_settings() {
    let site = Site::start();
    let settings = r#"{"indexes":[{"name":"by_n","paths":[{"path":"/n"}],"unique":true}]}"#;
    send(&site, "PUT", "/db/notes", JSON, settings);
    site.put("/db/notes/a", r#"{"n":1}"#);
    let gone = delete(&site, "/db/notes?documents", "");
    assert_eq!((gone.status, gone.body.as_str()), (204, ""), "{gone:?}");
    assert_eq!(gone.field("sarsen-durability"), Some("synced"));
    assert_eq!(site.ask(&get("/db/notes/a")).status, 404);
    let listed = site.ask(&get("/db/notes?filter=n%3D1"));
    assert_eq!((listed.status, listed.body.as_str()), (200, r#"{"documents":[]}"#));
    assert_eq!(site.ask(&get("/db/notes?settings")).body, settings);
    // The value that was unique is free.
    site.put("/db/notes/b", r#"{"n":1}"#);
}

#[test]
fn a_collection_is_dropped_until_something_is_written() {
    let site = Site::start();
    send(&site, "PUT", "/db/notes", JSON, r#"{"conflict":"merge"}"#);
    site.put("/db/notes/a", "1");
    assert_eq!(delete(&site, "/db/notes", "").status, 204);
    for path in ["/db/notes", "/db/notes?settings", "/db/notes?status", "/db/notes/a"] {
        assert_eq!(site.ask(&get(path)).status, 404, "{path}");
    }
    assert_eq!(site.ask(&get("/db")).body, r#"{"collections":[]}"#);
    let again = delete(&site, "/db/notes", "");
    assert_eq!((again.status, again.problem()), (404, "not-found"));
    site.put("/db/notes/b", "2");
    assert_eq!(site.ask(&get("/db/notes?settings")).body, "{}");
    assert_eq!(site.ask(&get("/db/notes/a")).status, 404);
}

#[test]
fn an_end_can_have_conditions_and_a_name() {
    let site = Site::start();
    let first = send(&site, "PUT", "/db/notes", JSON, r#"{"expiry":5000}"#);
    send(&site, "PUT", "/db/notes", JSON, r#"{"expiry":6000}"#);
    site.put("/db/notes/a", "1");
    let stale = format!("If-Match: {}\r\n", first.field("etag").unwrap());
    for path in ["/db/notes", "/db/notes?documents"] {
        let refused = delete(&site, path, &stale);
        assert_eq!((refused.status, refused.problem()), (412, "precondition-failed"));
    }
    let tag = site.ask(&get("/db/notes?settings")).field("etag").unwrap().to_owned();
    let named = format!("If-Match: {tag}\r\nIdempotency-Key: \"drop\"\r\n");
    let done = delete(&site, "/db/notes", &named);
    assert_eq!(done.status, 204, "{done:?}");
    site.put("/db/notes/b", "2");
    let again = delete(&site, "/db/notes", &named);
    assert_eq!((again.status, again.field("sarsen-commit")), (204, done.field("sarsen-commit")));
    assert_eq!(site.ask(&get("/db/notes/b")).status, 200, "it was not done twice");
}

#[test]
fn what_is_sarsens_own_or_no_end_is_refused() {
    let site = Site::start();
    site.put("/db/notes/a", "1");
    for (path, status, problem) in [
        ("/db/_answers", 404, "not-found"),
        ("/db/_collections?documents", 404, "not-found"),
        ("/db/notes?document", 400, "invalid-parameter"),
        ("/db/notes?settings", 400, "invalid-parameter"),
        ("/db/notes?documents=1", 400, "invalid-parameter"),
        ("/db", 405, "method-not-allowed"),
    ] {
        let reply = delete(&site, path, "");
        assert_eq!((reply.status, reply.problem()), (status, problem), "{path}: {reply:?}");
    }
    assert_eq!(site.ask(&get("/db/notes/a")).status, 200);
}

const SCHEMA: &str = concat!(
    r#"{"schema":{"type":"object","#,
    r#""properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}}"#
);

#[test]
fn a_schema_holds_whichever_way_a_document_comes() {
    const OPERATIONS: &str = "Content-Type: application/vnd.sarsen.merge+json\r\n";
    let site = Site::start();
    let made = send(&site, "PUT", "/db/notes", JSON, SCHEMA);
    assert_eq!(made.status, 201, "{made:?}");
    assert_eq!(site.ask(&get("/db/notes?settings")).body, SCHEMA);
    site.put("/db/notes/a", r#"{"n":1}"#);
    let listed = r#"[{"op":"put","collection":"notes","key":"x","value":{"n":0}}]"#;
    let added = r#"[{"op":"add","path":"/n","value":-1}]"#;
    for (method, path, fields, body) in [
        ("PUT", "/db/notes/b", JSON, r#"{"n":0}"#),
        ("POST", "/db/notes", JSON, r#"{"n":0}"#),
        ("PATCH", "/db/notes/a", MERGE_PATCH, r#"{"n":0}"#),
        ("PATCH", "/db/notes/a", OPERATIONS, added),
        ("POST", "/tx", JSON, listed),
    ] {
        let reply = send(&site, method, path, fields, body);
        assert_eq!((reply.status, reply.problem()), (422, "schema-mismatch"), "{path}: {reply:?}");
        let failure =
            "\"schema\":\"/properties/n/minimum\",\"reason\":\"expected minimum 1; got 0\"";
        assert!(reply.body.contains(failure), "{}", reply.body);
    }
    let text = send(&site, "PUT", "/db/notes/b", "Content-Type: text/plain\r\n", "x");
    assert_eq!((text.status, text.problem()), (415, "unsupported-media-type"));
    // One that is checked on another thread.
    let large = format!("{{\"n\":0,\"x\":\"{}\"}}", "x".repeat(1 << 20));
    let reply = send(&site, "PUT", "/db/notes/b", JSON, &large);
    assert_eq!((reply.status, reply.problem()), (422, "schema-mismatch"));
    let fits = send(&site, "PUT", "/db/notes/b", JSON, &large.replacen('0', "1", 1));
    assert_eq!(fits.status, 201, "{fits:?}");
    assert_eq!(site.ask(&get("/db/notes/a")).body, r#"{"n":1}"#);
}

#[test]
fn settings_that_are_wrong_are_told_by_their_place() {
    let site = Site::start();
    for (body, pointer, told) in [
        (r#"{"schema":{"type":"objekt"}}"#, "/schema/type", "a type is one of"),
        (r#"{"schema":{"$ref":"https://example.com/s"}}"#, "/schema/$ref", "nothing is fetched"),
        (r#"{"indexes":[{"name":"a","pahts":[]}]}"#, "/indexes/0", r#"perhaps \"paths\" was"#),
        (r#"{"expiri":1}"#, "", r#"perhaps \"expiry\" was meant"#),
        (r#"{"conflict":"marge"}"#, "/conflict", "reject"),
    ] {
        let reply = send(&site, "PUT", "/db/notes", JSON, body);
        assert_eq!((reply.status, reply.problem()), (422, "invalid-settings"), "{reply:?}");
        let named = format!("\"pointer\":\"{pointer}\"");
        assert!(reply.body.contains(&named) && reply.body.contains(told), "{body}: {}", reply.body);
    }
}
