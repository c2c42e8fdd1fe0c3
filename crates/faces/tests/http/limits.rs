//! Each limit a client can reach, and what happens there.

use crate::site::{Client, Site, bare, get, put, until};
use faces::limits;
use std::time::Duration;

fn padded(bytes: usize) -> String {
    let bare = bare("GET", "/healthz", "A: \r\n").len();
    self::bare("GET", "/healthz", &format!("A: {}\r\n", "x".repeat(bytes - bare)))
}

#[test]
fn header_bytes() {
    let site = Site::start();
    assert_eq!(site.ask(&padded(limits::HEADER_BYTES_MAX)).status, 200);
    let mut client = site.connect();
    assert_eq!(client.ask(&padded(limits::HEADER_BYTES_MAX + 1)).status, 431);
    assert!(client.is_at_end());
    // One that never ends is not waited for.
    let mut client = site.connect();
    client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: ");
    client.try_send(&vec![b'x'; limits::READ_BUFFER_BYTES_MAX]);
    assert_eq!(client.reply(false).status, 431);
    assert!(client.is_at_end());
}

#[test]
fn header_fields() {
    let site = Site::start();
    let request = |fields: usize| bare("GET", "/healthz", &"A: b\r\n".repeat(fields - 1));
    assert_eq!(site.ask(&request(limits::HEADER_FIELDS_MAX)).status, 200);
    let mut client = site.connect();
    assert_eq!(client.ask(&request(limits::HEADER_FIELDS_MAX + 1)).status, 431);
    assert!(client.is_at_end());
}

#[test]
fn uri_bytes() {
    let site = Site::start();
    let uri = |bytes: usize| get(&format!("/healthz?{}", "x".repeat(bytes - "/healthz?".len())));
    let mut client = site.connect();
    assert_eq!(client.ask(&uri(limits::URI_BYTES_MAX)).status, 200);
    assert_eq!(client.ask(&uri(limits::URI_BYTES_MAX + 1)).problem(), "uri-too-long");
    assert_eq!(client.ask(&get("/healthz")).status, 200, "the connection goes on");
}

fn put_head(framing: &str) -> String {
    bare("PUT", "/db/notes/a", &format!("Content-Type: application/json\r\n{framing}\r\n"))
}

fn send_until_refused(client: &mut Client, piece: &[u8], pieces: usize) {
    for _ in 0..pieces {
        if !client.try_send(piece) {
            return;
        }
    }
}

#[test]
fn a_body_that_says_it_is_too_large_is_not_read() {
    let site = Site::start();
    let length = limits::BODY_BYTES_MAX + 1;
    let head = put_head(&format!("Content-Length: {length}\r\nExpect: 100-continue"));
    let mut client = site.connect();
    let reply = client.ask(&head);
    assert_eq!((reply.status, reply.problem()), (413, "body-too-large"));
    assert_eq!(reply.field("connection"), Some("close"));
}

#[test]
fn a_client_that_sends_all_the_same_still_gets_the_reply() {
    let site = Site::start();
    let piece = vec![b'x'; 64 << 10];
    let mut client = site.connect();
    client.send(put_head(&format!("Content-Length: {}", limits::BODY_BYTES_MAX + 1)));
    send_until_refused(&mut client, &piece, limits::BODY_BYTES_MAX / piece.len());
    assert_eq!(client.reply(false).status, 413);
    client.end_sending();
    assert!(client.is_at_end());
}

#[test]
fn a_chunked_body_is_counted_while_it_comes() {
    let site = Site::start();
    let mut chunk = b"10000\r\n".to_vec();
    chunk.resize(chunk.len() + 0x10000, b'x');
    chunk.extend_from_slice(b"\r\n");
    let mut client = site.connect();
    client.send(put_head("Transfer-Encoding: chunked"));
    send_until_refused(&mut client, &chunk, limits::BODY_BYTES_MAX / 0x10000 + 1);
    assert_eq!(client.reply(false).problem(), "body-too-large");
    assert_eq!(site.ask(&get("/db/notes/a")).status, 404);
}

#[test]
fn the_largest_body_is_taken() {
    let site = Site::start();
    let mut client = site.connect();
    client.send(put_head(&format!("Content-Length: {}", limits::BODY_BYTES_MAX)));
    client.send(format!("\"{}\"", "x".repeat(limits::BODY_BYTES_MAX - 2)));
    assert_eq!(client.reply(false).status, 201);
    let found = client.ask(&get("/db/notes/a"));
    assert_eq!(found.body.len(), limits::BODY_BYTES_MAX);
}

#[test]
fn json_that_is_too_large_in_canonical_form() {
    let site = Site::start();
    // 1e20 is 4 bytes and becomes 21.
    let json = format!("[{}1]", "1e20,".repeat(limits::BODY_BYTES_MAX / 16));
    assert!(json.len() < limits::BODY_BYTES_MAX);
    let reply = site.ask(&put("/db/notes/a", "", &json));
    assert_eq!((reply.status, reply.problem()), (413, "body-too-large"));
}

#[test]
fn a_slow_body_ends_with_408() {
    let site = Site::with(|options| options.timeouts.body = Duration::from_millis(50));
    let mut client = site.connect();
    client.send(put_head("Content-Length: 9"));
    client.send("half");
    let reply = client.reply(false);
    assert_eq!((reply.status, reply.problem()), (408, "body-timeout"));
    client.end_sending();
    assert!(client.is_at_end());
    assert_eq!(site.ask(&get("/db/notes/a")).status, 404);
}

#[test]
fn a_slow_head_and_an_idle_connection_are_closed() {
    let site = Site::with(|options| options.timeouts.header = Duration::from_millis(50));
    let mut slow = site.connect();
    slow.send("GET /healthz HTTP/1.1\r\n");
    assert!(slow.is_at_end());
    let mut idle = site.connect();
    assert_eq!(idle.ask(&get("/healthz")).status, 200);
    assert!(idle.is_at_end());
}

#[test]
fn a_client_that_takes_no_reply_is_given_up() {
    let site = Site::with(|options| {
        options.connections_max = 1;
        options.timeouts.write_stall = Duration::from_millis(50);
    });
    let mut greedy = site.connect();
    greedy.send(put_head(&format!("Content-Length: {}", limits::BODY_BYTES_MAX)));
    greedy.send(format!("\"{}\"", "x".repeat(limits::BODY_BYTES_MAX - 2)));
    assert_eq!(greedy.reply(false).status, 201);
    // More than the sockets' buffers hold, and none of it is read.
    for _ in 0..8 {
        greedy.send(get("/db/notes/a"));
    }
    // Its seat, the only one, is free once it is given up.
    until(|| site.connect().try_ask(&get("/healthz")).is_some());
}

#[test]
fn one_connection_too_many_is_closed_at_once() {
    let site = Site::with(|options| options.connections_max = 2);
    let mut first = site.connect();
    let mut second = site.connect();
    assert_eq!(first.ask(&get("/healthz")).status, 200);
    assert_eq!(second.ask(&get("/healthz")).status, 200);
    assert!(site.connect().is_at_end());
    assert_eq!(first.ask(&get("/healthz")).status, 200, "the others go on");
    drop(second);
    until(|| site.connect().try_ask(&get("/healthz")).is_some());
}
