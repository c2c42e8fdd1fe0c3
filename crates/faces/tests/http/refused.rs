//! What is no request, or too large for one: a problem all the same, over HTTP/1 and HTTP/2.

use crate::frames::{CONTINUATION, END_HEADERS, END_STREAM, Frames, HEADERS, block, request};
use crate::site::{Client, Reply, Site, bare, get};
use faces::limits;

fn target(bytes: usize) -> String {
    format!("/healthz?{}", "x".repeat(bytes - "/healthz?".len()))
}

/// The reply to `bytes`, after which the connection ends.
fn last(site: &Site, bytes: &[u8]) -> Reply {
    let mut client = site.connect();
    client.try_send(bytes);
    let reply = client.reply(false);
    assert!(client.is_at_end(), "{reply:?}");
    reply
}

fn assert_problem(reply: &Reply, status: u16, name: &str, what: &str) {
    assert_eq!((reply.status, reply.problem()), (status, name), "{what}: {reply:?}");
    assert_eq!(reply.field("connection"), Some("close"), "{what}: {reply:?}");
    assert!(reply.field("date").is_some(), "{what}: {reply:?}");
    assert_eq!(reply.json()["status"], status, "{what}");
}

#[test]
fn rfc9112_3_a_target_that_is_too_long_is_414_however_long_it_is() {
    let site = Site::start();
    for bytes in [
        limits::HEADER_BYTES_MAX,
        limits::READ_BUFFER_BYTES_MAX,
        limits::READ_BUFFER_BYTES_MAX + 1,
        70_000,
        300_000,
    ] {
        let reply = last(&site, get(&target(bytes)).as_bytes());
        assert_problem(&reply, 414, "uri-too-long", &bytes.to_string());
    }
    let endless = format!("GET {}", target(70_000));
    assert_problem(&last(&site, endless.as_bytes()), 414, "uri-too-long", "without an end");
    let reply = last(&site, format!("\r\n\r\n{}", get(&target(70_000))).as_bytes());
    assert_problem(&reply, 414, "uri-too-long", "after empty lines");
}

#[test]
fn rfc6585_5_fields_that_are_too_large_are_a_problem() {
    let site = Site::start();
    let large = |bytes: usize| format!("A: {}\r\n", "x".repeat(bytes));
    for fields in [
        large(limits::HEADER_BYTES_MAX),
        large(limits::READ_BUFFER_BYTES_MAX),
        large(300_000),
        "A: b\r\n".repeat(limits::HEADER_FIELDS_MAX + 1),
    ] {
        let reply = last(&site, bare("GET", "/healthz", &fields).as_bytes());
        assert_problem(&reply, 431, "fields-too-large", &fields.len().to_string());
    }
}

#[test]
fn rfc9112_2_2_what_is_no_request_is_a_problem() {
    let site = Site::start();
    let host = "Host: localhost\r\n";
    for bytes in [
        "GET /healthz\r\n\r\n".to_owned(),
        "nonsense\r\n\r\n".to_owned(),
        format!("GET /db/notes?filter=a<b HTTP/1.1\r\n{host}\r\n"),
        format!("GET /healthz HTTP/3.1\r\n{host}\r\n"),
        format!("GET /a b HTTP/1.1\r\n{host}\r\n"),
        format!("G:T /a HTTP/1.1\r\n{host}\r\n"),
        "GET /healthz HTTP/1.1\r\nHost : h\r\n\r\n".to_owned(),
        format!("PUT /db/notes/a HTTP/1.1\r\n{host}Content-Length: 1x\r\n\r\n"),
        format!(
            "PUT /db/notes/a HTTP/1.1\r\n{host}Content-Length: 1\r\nContent-Length: 2\r\n\r\n1"
        ),
        format!("PUT /db/notes/a HTTP/1.1\r\n{host}Transfer-Encoding: gzip\r\n\r\n1"),
    ] {
        assert_problem(&last(&site, bytes.as_bytes()), 400, "bad-request", &bytes);
    }
}

#[test]
fn what_was_asked_before_is_answered_before() {
    let site = Site::start();
    let long = get(&target(70_000));
    for (bad, status) in [("nonsense\r\n\r\n", 400), (long.as_str(), 414)] {
        for good in [get("/healthz"), bare("HEAD", "/healthz", ""), get("/nothing")] {
            let mut client = site.connect();
            client.try_send(format!("{good}{good}{bad}").as_bytes());
            let is_head = good.starts_with("HEAD");
            let first = client.reply(is_head).status;
            assert_eq!(client.reply(is_head).status, first, "{good}");
            let reply = client.reply(false);
            assert_eq!(reply.status, status, "{good}: {reply:?}");
            assert_eq!(reply.field("content-type"), Some("application/problem+json"));
            assert!(client.is_at_end());
        }
    }
    let old = "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\nnonsense\r\n\r\n";
    let mut client = site.connect();
    client.send(old);
    assert_eq!(client.reply(false).status, 200);
    assert_eq!(client.reply(false).problem(), "bad-request");
}

#[test]
fn an_empty_reply_of_the_application_stays_as_it_is() {
    let site = crate::numbers::site();
    for version in ["1.0", "1.1"] {
        let mut client = site.connect();
        let fields = "Host: localhost\r\nConnection: close\r\n";
        client.send(format!("GET /bare HTTP/{version}\r\n{fields}\r\n"));
        let reply = client.reply(false);
        assert_eq!((reply.status, reply.body.as_str()), (400, ""), "{reply:?}");
        assert_eq!(reply.field("content-type"), None, "{reply:?}");
        assert!(client.is_at_end());
    }
}

#[test]
fn tls_where_it_is_not_spoken_is_told_so() {
    let site = Site::start();
    for _ in 0..3 {
        let mut client: Client = site.connect();
        client.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03");
        let reply = client.reply(false);
        assert_problem(&reply, 400, "bad-request", "a hello");
        assert!(reply.body.contains("use http://"), "{reply:?}");
        assert!(client.is_at_end());
    }
}

/// Sends the head of a GET on `stream`, in as many frames as it takes.
fn send(client: &mut Frames, stream: u32, fields: &[(&str, &str)]) {
    let block = block(fields);
    let pieces: Vec<&[u8]> = block.chunks(16_384).collect();
    for (n, piece) in pieces.iter().enumerate() {
        let end = if n + 1 == pieces.len() { END_HEADERS } else { 0 };
        match n {
            0 => client.send(HEADERS, END_STREAM | end, stream, piece),
            _ => client.send(CONTINUATION, end, stream, piece),
        }
    }
}

#[test]
fn http2_has_the_same_problems_on_a_connection_that_goes_on() {
    let site = Site::start();
    let open = || Frames::open(site.server.local_addr());
    let large = "x".repeat(limits::HEADER_BYTES_MAX);
    let many = "x".repeat(limits::HEADER_BYTES_MAX / 2);
    let long = target(limits::HEADER_BYTES_MAX);
    let short = target(limits::URI_BYTES_MAX + 1);
    for (path, fields, status, name) in [
        ("/healthz", vec![("a", large.as_str())], 431, "fields-too-large"),
        ("/healthz", vec![("a", many.as_str()), ("b", many.as_str())], 431, "fields-too-large"),
        (long.as_str(), vec![], 414, "uri-too-long"),
        (short.as_str(), vec![], 414, "uri-too-long"),
        (long.as_str(), vec![("a", many.as_str())], 414, "uri-too-long"),
    ] {
        let mut client = open();
        send(&mut client, 1, &[request("GET", path), fields].concat());
        assert_eq!(client.next_on(1).status(), status, "{name}");
        let body = String::from_utf8(client.next_on(1).payload).unwrap();
        assert!(body.contains(&format!("/errors/{name}\"")), "{body}");
        client.assert_serves(3);
    }
    // The one case that h2 answers by itself.
    let huge = "x".repeat(limits::FIELD_LIST_BYTES_MAX as usize);
    let mut client = open();
    send(&mut client, 1, &[request("GET", "/healthz"), vec![("a", huge.as_str())]].concat());
    assert_eq!(client.next_on(1).status(), 431);
    client.assert_serves(3);
}

/// What a document ends with is nobody's refusal, whatever it looks like.
#[test]
fn a_document_that_ends_like_a_refusal_is_served_whole() {
    let site = Site::start();
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    for fields in ["connection: close\r\n", ""] {
        for before in ["", "before "] {
            let content = format!(
                "{before}HTTP/1.1 400 Bad Request\r\n{fields}content-length: 0\r\n\
                 date: {date}\r\n\r\n"
            );
            let about = format!("Content-Type: text/x\r\nContent-Length: {}\r\n", content.len());
            let mut client = site.connect();
            client.send(format!("{}{content}", bare("PUT", "/db/notes/a", &about)));
            assert!(matches!(client.reply(false).status, 201 | 204));
            for _ in 0..2 {
                client.send(get("/db/notes/a"));
                let reply = client.reply(false);
                assert_eq!((reply.status, reply.body.as_str()), (200, content.as_str()));
            }
            // Also as the last reply of a connection, and before what is no request.
            client.send(format!("{}nonsense\r\n\r\n", get("/db/notes/a")));
            assert_eq!(client.reply(false).body, content);
            assert_eq!(client.reply(false).problem(), "bad-request");
            let mut client = site.connect();
            client.send(bare("GET", "/db/notes/a", "Connection: close\r\n"));
            assert_eq!(client.reply(false).body, content);
            assert!(client.is_at_end());
        }
    }
}
