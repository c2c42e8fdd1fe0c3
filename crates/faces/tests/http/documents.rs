//! Documents and collections: what each method does.

use crate::site::{Reply, Site, bare, get, patch, put, with_type};
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
        ("/db/notes/a", "GET, HEAD, PUT, PATCH, DELETE, POST, OPTIONS", None),
        ("/db/notes", "POST, GET, HEAD, PUT, PATCH, DELETE, OPTIONS", None),
        ("/db", "GET, HEAD, OPTIONS", Some("PUT")),
        ("/tx", "POST, OPTIONS", Some("PUT")),
        ("/healthz", "GET, HEAD, OPTIONS", Some("DELETE")),
    ] {
        let options = site.ask(&bare("OPTIONS", path, ""));
        assert_eq!((options.status, options.field("allow")), (204, Some(allow)), "{path}");
        let Some(wrong) = wrong else { continue };
        let refused = site.ask(&bare(wrong, path, ""));
        assert_eq!(refused.problem(), "method-not-allowed", "{path}");
        assert_eq!((refused.status, refused.field("allow")), (405, Some(allow)), "{path}");
    }
    let patches = "application/merge-patch+json, application/json-patch+json, \
                   application/vnd.sarsen.merge+json";
    let options = site.ask(&bare("OPTIONS", "/db/notes/a", ""));
    assert_eq!(options.field("accept-patch"), Some(patches));
    let options = site.ask(&bare("OPTIONS", "/db/notes", ""));
    let patches = "application/merge-patch+json, application/json-patch+json";
    assert_eq!(options.field("accept-patch"), Some(patches), "of settings");
    assert_eq!(site.ask(&bare("OPTIONS", "/tx", "")).field("accept-patch"), None);
    assert_eq!(site.ask(&bare("OPTIONS", "*", "")).status, 204);
    assert_eq!(site.ask(&bare("BREW", "/db/notes/a", "")).problem(), "not-implemented");
}

#[test]
fn replies_tell_the_commit_that_they_show_and_what_they_promise() {
    let site = Site::start();
    let number = |reply: &Reply| reply.field("sarsen-commit").map(|n| n.parse::<u64>().unwrap());
    let created = site.ask(&put("/db/notes/a", "", "1"));
    let own = number(&created).unwrap();
    assert_eq!(created.field("etag"), Some(format!("\"{own}\"").as_str()));
    assert_eq!(created.field("sarsen-durability"), Some("synced"));
    let found = site.ask(&get("/db/notes/a"));
    assert!(number(&found) >= Some(own));
    assert_eq!(found.field("sarsen-durability"), None);
    for refused in [get("/db/notes/absent"), put("/db/notes/a", "If-Match: \"0\"\r\n", "2")] {
        assert!(number(&site.ask(&refused)) >= Some(own), "{refused}");
    }
    assert_eq!(number(&site.ask(&get("/healthz"))), None);
    for (name, level) in [("written", "written"), ("volatile", "volatile")] {
        site.configure(name, &format!("{{\"durability\":\"{level}\"}}"));
        let reply = site.ask(&put(&format!("/db/{name}/a"), "", "1"));
        assert_eq!(reply.field("sarsen-durability"), Some(level));
        let reply = site.ask(&bare("DELETE", &format!("/db/{name}/a"), ""));
        assert_eq!(reply.field("sarsen-durability"), Some(level));
    }
}

#[test]
fn rfc9110_12_5_1_accept() {
    let site = Site::start();
    let etag = site.put("/db/notes/a", "1");
    let ask = |accept: &str| site.ask(&bare("GET", "/db/notes/a", accept));
    for accept in ["Accept: application/*\r\n", "Accept: text/html, */*;q=0.1\r\n", "Accept:\r\n"] {
        assert_eq!(ask(accept).status, 200, "{accept}");
    }
    let refused = ask("Accept: text/html, application/json;q=0\r\n");
    assert_eq!((refused.status, refused.problem()), (406, "not-acceptable"));
    assert!(refused.body.contains("application/json"), "{}", refused.body);
    // §13.2.1: what would not be a success is not made one by a condition.
    assert_eq!(ask(&format!("Accept: text/html\r\nIf-None-Match: {etag}\r\n")).status, 406);
    assert_eq!(site.ask(&bare("GET", "/db/notes/b", "Accept: text/html\r\n")).status, 404);
}

#[test]
fn rfc9110_15_5_12_content_that_is_forgotten() {
    let site = Site::start();
    let typed = "Content-Type: application/json\r\n";
    for (method, path) in
        [("PUT", "/db/notes/a"), ("PATCH", "/db/notes/a"), ("POST", "/db/notes"), ("POST", "/tx")]
    {
        let reply = site.ask(&bare(method, path, typed));
        assert_eq!((reply.status, reply.problem()), (411, "length-required"), "{method}");
    }
    let chunked = format!("{typed}Transfer-Encoding: chunked\r\n");
    let request = bare("PUT", "/db/notes/a", &chunked) + "2\r\n[1\r\n1\r\n]\r\n0\r\n\r\n";
    assert_eq!(site.ask(&request).status, 201);
    assert_eq!(site.ask(&get("/db/notes/a")).body, "[1]");
}

#[test]
fn rfc9110_10_1_1_expect_100_continue() {
    let site = Site::start();
    let fields = "Content-Type: application/json\r\nContent-Length: 1\r\nExpect: 100-continue\r\n";
    let mut client = site.connect();
    client.send(bare("PUT", "/db/notes/a", fields));
    assert_eq!(client.reply(false).status, 100);
    client.send("1");
    assert_eq!(client.reply(false).status, 201);
    // What is refused by its head is refused without asking for the content.
    let mut client = site.connect();
    client.send(bare("PUT", "/db/_notes/a", fields));
    assert_eq!(client.reply(false).status, 404);
}

#[test]
fn rfc5023_9_7_slug() {
    let site = Site::start();
    let post = |slug: &str| {
        let fields = format!("Content-Type: application/json\r\nContent-Length: 1\r\n{slug}");
        let reply = site.ask(&(bare("POST", "/db/notes", &fields) + "1"));
        assert_eq!(reply.status, 201, "{reply:?}");
        reply.field("location").unwrap().to_owned()
    };
    assert_eq!(post("Slug: The Beach at S%C3%A8te\r\n"), "/db/notes/the-beach-at-s%C3%A8te");
    assert_eq!(post("Slug: the beach, at: s%c3%a8te!\r\n"), "/db/notes/the-beach-at-s%C3%A8te-2");
    assert_eq!(site.ask(&get("/db/notes/the-beach-at-s%C3%A8te-2")).body, "1");
    for n in 2..=10 {
        let expected = if n == 2 { "x".to_owned() } else { format!("x-{}", n - 1) };
        assert_eq!(post("Slug: x\r\n"), format!("/db/notes/{expected}"));
    }
    post("Slug: x\r\n");
    let last = post("Slug: x\r\n");
    assert_eq!(last.len(), "/db/notes/x-".len() + 26, "{last}");
    assert_eq!(post("Slug: ///\r\n").len(), "/db/notes/".len() + 26);
}

#[test]
fn rfc6585_3_a_collection_may_want_conditions() {
    let site = Site::start();
    site.configure("notes", r#"{"overwrite":"conditional"}"#);
    let etag = site.put("/db/notes/a", "{}");
    let refused = site.ask(&put("/db/notes/a", "", "2"));
    assert_eq!((refused.status, refused.problem()), (428, "precondition-required"));
    assert!(refused.body.contains(&etag.replace('"', "\\\"")), "{}", refused.body);
    assert_eq!(site.ask(&bare("DELETE", "/db/notes/a", "")).status, 428);
    assert_eq!(site.ask(&patch("merge-patch", "/db/notes/a", "", r#"{"x":1}"#)).status, 428);
    let adding = r#"[{"op":"add","path":"/n","value":1}]"#;
    let merged = site.ask(&patch("vnd.sarsen.merge", "/db/notes/a", "", adding));
    assert_eq!(merged.status, 204, "it loses nothing");
    assert_eq!(site.ask(&bare("DELETE", "/db/notes/a", "If-Match: *\r\n")).status, 204);
}

#[test]
fn a_value_that_must_be_unique_is_a_conflict_that_names_its_holder() {
    let site = Site::start();
    let index = r#"{"indexes":[{"name":"by_mail","paths":[{"path":"/mail"}],"unique":true}]}"#;
    site.configure("notes", index);
    site.put("/db/notes/a", r#"{"mail":"x"}"#);
    let reply = site.ask(&put("/db/notes/b", "", r#"{"mail":"x"}"#));
    assert_eq!((reply.status, reply.problem()), (409, "duplicate"));
    let json = reply.json();
    assert_eq!((&json["index"], &json["holder"]), (&"by_mail".into(), &"a".into()));
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

#[test]
fn a_stored_page_runs_nothing_at_this_origin() {
    let site = Site::start();
    let page = "<script>alert(document.domain)</script>";
    let put = with_type("PUT", "/db/notes/page", ("text/html", ""), page);
    assert_eq!(site.ask(&put).status, 201);
    let shown = with_type("POST", "/db/notes", ("image/svg+xml", SHOWN), "<svg/>");
    for reply in [site.ask(&get("/db/notes/page")), site.ask(&shown)] {
        assert_eq!(reply.field("x-content-type-options"), Some("nosniff"), "{reply:?}");
        assert_eq!(reply.field("content-security-policy"), Some("sandbox"), "{reply:?}");
    }
    site.put("/db/notes/json", "1");
    let json = site.ask(&get("/db/notes/json"));
    assert_eq!(json.field("content-type"), Some("application/json"));
    assert_eq!(json.field("content-security-policy"), None);
}

const SHOWN: &str = "Prefer: return=representation\r\n";
