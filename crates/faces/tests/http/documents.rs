//! Documents and collections: what each method does.

use crate::site::{Reply, Site, bare, get, put};
use std::thread;

#[test]
fn a_documents_life() {
    let site = Site::start();
    let created = site.ask(&put("/db/notes/a", "", "{ \"b\": 1.0,\n \"a\": [] }"));
    assert_eq!((created.status, created.field("content-length")), (201, Some("0")));
    let first = created.field("etag").unwrap();

    let found = site.ask(&get("/db/notes/a"));
    assert_eq!((found.status, found.body.as_str()), (200, r#"{"b":1,"a":[]}"#));
    assert_eq!(found.field("etag"), Some(first));
    assert_eq!(found.field("content-type"), Some("application/json"));
    assert!(found.field("last-modified").unwrap().ends_with(" GMT"));
    assert!(found.field("date").is_some());

    let replaced = site.ask(&put("/db/notes/a", "", "2"));
    assert_eq!((replaced.status, replaced.field("content-length")), (204, None));
    assert_ne!(replaced.field("etag"), Some(first));
    assert_eq!(site.ask(&get("/db/notes/a")).body, "2");

    assert_eq!(site.ask(&bare("DELETE", "/db/notes/a", "")).status, 204);
    assert_eq!(site.ask(&bare("DELETE", "/db/notes/a", "")).problem(), "not-found");
    assert_eq!(site.ask(&get("/db/notes/a")).problem(), "not-found");
}

#[test]
fn head_has_the_fields_of_get_and_no_body() {
    let site = Site::start();
    site.put("/db/notes/a", "[1,2,3]");
    let mut client = site.connect();
    for path in ["/db/notes/a", "/db/notes/absent", "/healthz"] {
        let got = client.ask(&get(path));
        let head = client.ask(&bare("HEAD", path, ""));
        assert_eq!(head.status, got.status, "{path}");
        let without_date = |fields: &[(String, String)]| -> Vec<_> {
            fields.iter().filter(|(name, _)| name != "date").cloned().collect()
        };
        assert_eq!(without_date(&head.fields), without_date(&got.fields), "{path}");
        assert_eq!(head.field("content-length"), Some(got.body.len().to_string().as_str()));
    }
}

#[test]
fn post_makes_a_key_that_sorts_by_time() {
    let site = Site::start();
    let post = |body: &str| {
        let fields =
            format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        site.ask(&(bare("POST", "/db/notes", &fields) + body))
    };
    let (first, second) = (post("1"), post("2"));
    assert_eq!((first.status, second.status), (201, 201));
    let location = first.field("location").unwrap();
    assert_eq!(location.len(), "/db/notes/".len() + 26);
    assert_ne!(Some(location), second.field("location"));
    let found = site.ask(&get(location));
    assert_eq!((found.body.as_str(), found.field("etag")), ("1", first.field("etag")));
}

#[test]
fn other_media_types_are_stored_as_sent() {
    let site = Site::start();
    let body = "{ not json";
    let fields = format!("Content-Type: text/x-draft; a=B\r\nContent-Length: {}\r\n", body.len());
    assert_eq!(site.ask(&(bare("PUT", "/db/notes/a", &fields) + body)).status, 201);
    let found = site.ask(&get("/db/notes/a"));
    assert_eq!(
        (found.body.as_str(), found.field("content-type")),
        (body, Some("text/x-draft; a=B"))
    );
    // No bytes at all are a document too.
    let empty = "Content-Type: text/plain\r\nContent-Length: 0\r\n";
    assert_eq!(site.ask(&bare("PUT", "/db/notes/b", empty)).status, 201);
    let found = site.ask(&get("/db/notes/b"));
    assert_eq!((found.status, found.field("content-length")), (200, Some("0")));
}

#[test]
fn content_that_cannot_be_stored_is_refused_and_changes_nothing() {
    let site = Site::start();
    site.put("/db/notes/a", "1");
    let length = "Content-Length: 1\r\n";
    for (fields, problem) in [
        ("", "unsupported-media-type"),
        ("Content-Type: application/x-www-form-urlencoded\r\n", "unsupported-media-type"),
        ("Content-Type: application/json; charset=latin1\r\n", "unsupported-media-type"),
        ("Content-Type: text/plain\r\nContent-Encoding: gzip\r\n", "unsupported-media-type"),
        ("Content-Type: text/plain\r\nContent-Range: bytes 0-0/9\r\n", "bad-request"),
        ("Content-Type: application/json\r\n", "invalid-json"),
    ] {
        let reply = site.ask(&(bare("PUT", "/db/notes/a", &format!("{fields}{length}")) + "{"));
        assert_eq!(reply.problem(), problem, "{fields}");
    }
    assert_eq!(site.ask(&get("/db/notes/a")).body, "1");
}

#[test]
fn invalid_json_is_located() {
    let site = Site::start();
    let reply = site.ask(&put("/db/notes/a", "", "{\n  \"a\": nope }"));
    assert_eq!((reply.status, reply.problem()), (400, "invalid-json"));
    assert!(reply.body.contains("line 2, column "), "{}", reply.body);
}

#[test]
fn keys_are_decoded_and_may_hold_a_slash() {
    let site = Site::start();
    site.put("/db/notes/a%2Fb%20%C3%A4", "1");
    assert_eq!(site.ask(&get("/db/note%73/%61%2fb%20%c3%a4")).body, "1");
    assert_eq!(site.ask(&get("/db/notes/a/b%20%C3%A4")).status, 404);
}

#[test]
fn names_that_name_nothing() {
    let site = Site::start();
    for (path, problem) in [
        ("/db", "not-found"),
        ("/db/", "not-found"),
        ("/db//a", "not-found"),
        ("/db/notes/", "not-found"),
        ("/db/notes/a/", "not-found"),
        ("/db/_sessions/a", "not-found"),
        ("/db/notes/..", "invalid-name"),
        ("/db/notes/%2E", "invalid-name"),
        ("/db/Notes/a", "invalid-name"),
        ("/db/notes/%00", "invalid-name"),
        ("/db/notes/%FF", "bad-request"),
        ("/db/notes/%4", "bad-request"),
    ] {
        assert_eq!(site.ask(&get(path)).problem(), problem, "{path}");
        assert_eq!(site.ask(&put(path, "", "1")).problem(), problem, "{path}");
    }
}

#[test]
fn the_methods_of_each_resource() {
    let site = Site::start();
    for (path, allow, wrong) in [
        ("/db/notes/a", "GET, HEAD, PUT, DELETE, OPTIONS", "POST"),
        ("/db/notes", "POST, OPTIONS", "GET"),
        ("/healthz", "GET, HEAD, OPTIONS", "DELETE"),
    ] {
        let options = site.ask(&bare("OPTIONS", path, ""));
        assert_eq!((options.status, options.field("allow")), (204, Some(allow)), "{path}");
        let refused = site.ask(&bare(wrong, path, ""));
        assert_eq!(refused.problem(), "method-not-allowed", "{path}");
        assert_eq!((refused.status, refused.field("allow")), (405, Some(allow)), "{path}");
    }
    assert_eq!(site.ask(&bare("OPTIONS", "*", "")).status, 204);
    assert_eq!(site.ask(&bare("BREW", "/db/notes/a", "")).problem(), "not-implemented");
}

#[test]
fn without_an_application_there_is_nothing_else() {
    let site = Site::start();
    for path in ["/", "/notes", "/dbx", "/healthz/"] {
        let reply = site.ask(&get(path));
        assert_eq!((reply.status, reply.problem()), (404, "not-found"), "{path}");
    }
}

#[test]
fn health() {
    let site = Site::start();
    let reply = site.ask(&get("/healthz"));
    assert_eq!((reply.status, reply.body.as_str()), (200, "ok\n"));
}

#[test]
fn a_closed_repository_is_not_available() {
    let site = Site::start();
    site.repository.close().unwrap();
    let reply = site.ask(&get("/db/notes/a"));
    assert_eq!((reply.status, reply.problem()), (503, "unavailable"));
}

#[test]
fn no_reply_reveals_what_is_not_durable() {
    const CLIENTS: usize = 4;
    let site = Site::start();
    let check = |reply: &Reply| {
        let version: u64 = reply.field("etag").unwrap().trim_matches('"').parse().unwrap();
        let durable = site.repository.durable().unwrap();
        assert!(durable.0 >= version, "{version} was revealed when {durable} was durable");
    };
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let site = &site;
            scope.spawn(move || {
                let mut connection = site.connect();
                for n in 0..200 {
                    check(&connection.ask(&put("/db/notes/a", "", &format!("[{client},{n}]"))));
                    check(&connection.ask(&get("/db/notes/a")));
                }
            });
        }
    });
}

#[test]
fn reads_and_refusals_write_nothing() {
    let site = Site::start();
    let etag = site.put("/db/notes/a", "1");
    let before = site.repository.stats();
    site.ask(&get("/db/notes/a"));
    site.ask(&get("/db/notes/absent"));
    site.ask(&bare("GET", "/db/notes/a", &format!("If-None-Match: {etag}\r\n")));
    site.ask(&put("/db/notes/a", "If-None-Match: *\r\n", "2"));
    site.ask(&put("/db/notes/a", "", "{"));
    site.ask(&bare("DELETE", "/db/notes/absent", ""));
    let after = site.repository.stats();
    assert_eq!(after.tranlog_bytes, before.tranlog_bytes);
    assert_eq!(after.visible, before.visible);
}

/// Without authentication a browser on this machine must not be the hands of a foreign page.
#[test]
fn a_foreign_page_neither_writes_nor_reads_by_another_name() {
    let site = Site::start();
    assert_eq!(site.ask(&put("/db/notes/a", "", "1")).status, 201);
    let cross = put("/db/notes/a", "Sec-Fetch-Site: cross-site\r\n", "2");
    assert_eq!(site.ask(&cross).problem(), "cross-site");
    let rebound = get("/db/notes/a").replace("localhost", "evil.example");
    assert_eq!(site.ask(&rebound).problem(), "foreign-host");
    assert_eq!(site.ask(&get("/db/notes/a")).body, "1");
}
