//! What Accept asks for, on everything that looks at it (RFC 9110 §12.5.1); and what codings and
//! parts are refused, on everything that takes content or gives parts.

use crate::app;
use crate::site::{Reply, Site, bare, get, with_type};

const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";

/// The Content-Type, or the status where there is no such form.
fn form(reply: &Reply) -> String {
    match reply.status {
        406 => "406".to_owned(),
        _ => reply.field("content-type").unwrap_or_default().to_owned(),
    }
}

#[test]
fn rfc9110_12_5_1_weights_and_parameters_count_wherever_accept_does() {
    let site = app::site(8, false);
    site.put("/db/notes/a", "{}");
    let text = with_type("PUT", "/db/notes/t", ("text/plain", ""), "x");
    assert_eq!(site.ask(&text).status, 201);
    let versioned = r#"{"history":{"versions":5}}"#;
    assert!(site.ask(&crate::site::put("/db/old?settings", "", versioned)).status < 300);
    site.put("/db/old/a", "{}");
    let first = site.put("/db/old/a", "[]");
    let past = format!("/db/old/a?at={}", first.trim_matches('"'));
    let (events, markdown) = ("text/event-stream", "text/markdown; charset=utf-8");
    let problem = "application/problem+json";
    for (path, accept, expected) in [
        ("/db/notes/a", "application/json; charset=utf-8", JSON),
        ("/db/notes/a", "application/json;charset=UTF-8;q=0.5, text/html", JSON),
        ("/db/notes/a", "application/json;charset=iso-8859-1", JSON),
        ("/db/notes/a", "application/json;q=0, */*", "406"),
        ("/db/notes/a", "application/json;q=0.001", JSON),
        ("/db/notes/a", "text/html, application/*;q=0.1", JSON),
        ("/db/notes/a", "text/html", "406"),
        ("/db/notes/t", "text/plain; charset=utf-8", "text/plain"),
        ("/db/notes/t", "application/json", "406"),
        (&past, "application/json; charset=utf-8", JSON),
        (&past, "text/html", "406"),
        ("/feed?after=0", "application/json", JSON),
        ("/feed?after=0", "application/json; charset=utf-8", JSON),
        ("/feed?after=0", "text/event-stream;q=0.4, application/json;q=0.5", JSON),
        ("/feed?after=0", "text/event-stream;q=0.5, application/json;q=0.4", events),
        ("/feed?after=0", "text/event-stream;q=0, */*", JSON),
        ("/feed?after=0", "application/json, text/plain, */*", JSON),
        ("/feed?after=0", "text/html", "406"),
        ("/db/notes?feed&after=0", "text/event-stream;q=0.4, application/json", JSON),
        ("/db/notes?feed&after=0", "text/event-stream, application/json;q=0.4", events),
        ("/db/notes?feed&after=0", "text/*;q=0", "406"),
        ("/errors/busy", "text/markdown;q=0.4, text/html;q=0.3", markdown),
        ("/errors/busy", "text/markdown;q=0.4, text/html;q=0.5", HTML),
        ("/errors/busy", "text/html;q=0, text/*", markdown),
        ("/errors", "text/markdown; charset=utf-8", markdown),
        ("/errors", "*/*", HTML),
        ("/throws", "text/html, application/json;q=0.9", HTML),
        ("/throws", "text/html;q=0.5, application/json", problem),
        ("/throws", "text/html;q=0", problem),
        ("/throws", "application/json; charset=utf-8", problem),
        ("/throws", "*/*", problem),
    ] {
        // HEAD, so that a stream ends; of a failure the page itself.
        let method = if path == "/throws" { "GET" } else { "HEAD" };
        let reply = site.ask(&bare(method, path, &format!("Accept: {accept}\r\n")));
        assert_eq!(form(&reply), expected, "{path}: {accept}: {reply:?}");
        let varies = !path.starts_with("/db/") || path.contains("?feed");
        assert_eq!(reply.field("vary") == Some("Accept"), varies, "{path}: {reply:?}");
    }
}

#[test]
fn rfc9110_15_5_16_a_coding_is_refused_with_those_that_are_taken() {
    let site = Site::start();
    site.put("/db/notes/a", "{}");
    assert_eq!(
        site.ask(&with_type("POST", "/atom", (JSON, ""), r#"{"title":"Blog"}"#)).status,
        201
    );
    let entry = "application/atom+xml;type=entry";
    for (method, path, kind) in [
        ("PUT", "/db/notes/a", JSON),
        ("PUT", "/db/notes/a", "text/plain"),
        ("POST", "/db/notes", JSON),
        ("PATCH", "/db/notes/a", "application/merge-patch+json"),
        ("PATCH", "/db/notes/a", "application/json-patch+json"),
        ("PATCH", "/db/notes/a", "application/vnd.sarsen.merge+json"),
        ("PUT", "/db/notes?settings", JSON),
        ("PATCH", "/db/notes?settings", "application/merge-patch+json"),
        ("POST", "/tx", JSON),
        ("POST", "/atom", JSON),
        ("POST", "/atom/blog/entries", entry),
        ("POST", "/atom/blog/media", "image/png"),
    ] {
        for coding in ["gzip", "br, identity", "identity\r\nContent-Encoding: x"] {
            let fields = format!("Content-Encoding: {coding}\r\n");
            let reply = site.ask(&with_type(method, path, (kind, &fields), "{}"));
            assert_eq!(reply.problem(), "unsupported-media-type", "{method} {path}: {reply:?}");
            let told = (reply.field("accept-encoding"), reply.field("accept"));
            assert_eq!(told, (Some("identity"), None), "{method} {path}: {reply:?}");
        }
        let reply = site.ask(&with_type(method, path, ("no type", ""), "{}"));
        assert_eq!(reply.status, 415, "{method} {path}: {reply:?}");
        assert_eq!(reply.field("accept-encoding"), None, "{method} {path}: {reply:?}");
    }
}

#[test]
fn rfc9110_15_5_17_a_part_that_is_not_there_is_a_problem_of_everything_that_has_parts() {
    let (site, _pool) = crate::files::start();
    let large = "x".repeat(100_000);
    for (path, body) in [("/db/notes/small", "0123456789"), ("/db/notes/large", &large)] {
        assert_eq!(site.ask(&with_type("PUT", path, ("text/plain", ""), body)).status, 201);
    }
    assert_eq!(
        site.ask(&with_type("POST", "/atom", (JSON, ""), r#"{"title":"Blog"}"#)).status,
        201
    );
    let media = with_type("POST", "/atom/blog/media", ("image/png", "Slug: a\r\n"), "0123456789");
    assert_eq!(site.ask(&media).status, 201);
    for (path, length) in [
        ("/db/notes/small", 10),
        ("/db/notes/large", 100_000),
        ("/atom/blog/media/a", 10),
        ("/digits.bin", 10),
        ("/empty.txt", 0),
    ] {
        for range in ["bytes=100000-", "bytes=100000-100001", "bytes=-0"] {
            let reply = site.ask(&bare("GET", path, &format!("Range: {range}\r\n")));
            assert_eq!((reply.status, reply.problem()), (416, "range-not-satisfiable"), "{path}");
            let told = format!("bytes */{length}");
            assert_eq!(reply.field("content-range"), Some(told.as_str()), "{path}: {reply:?}");
            assert!(reply.body.contains(&format!("there are {length} bytes")), "{reply:?}");
            assert_eq!(reply.json()["status"], 416);
        }
        let whole = site.ask(&get(path));
        assert_eq!((whole.status, whole.body.len()), (200, length), "{path}");
    }
}

#[test]
fn options_of_what_there_is_and_of_what_there_is_not() {
    for (site, has_app) in [(Site::start(), false), (app::site(8, false), true)] {
        for path in ["/db/notes/a", "/db/notes", "/db", "/tx", "/feed", "/metrics", "/errors/busy"]
        {
            let reply = site.ask(&bare("OPTIONS", path, ""));
            assert_eq!(reply.status, 204, "{path}: {reply:?}");
            assert!(reply.field("allow").unwrap().ends_with("OPTIONS"), "{path}: {reply:?}");
        }
        for path in ["/nothing", "/db/", "/db/notes/a/b", "/db/_answers", "/errors/nothing"] {
            let reply = site.ask(&bare("OPTIONS", path, ""));
            assert_eq!(reply.status, 404, "{path}: {reply:?}");
            // What is not the server's own the application answers.
            assert!(has_app && path == "/nothing" || reply.problem() == "not-found", "{path}");
        }
        assert_eq!(site.ask(&bare("OPTIONS", "*", "")).status, 204);
    }
}
