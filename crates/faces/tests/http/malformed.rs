//! Requests that are not HTTP, or nearly so: a status or a closed connection, and the server goes
//! on.

use crate::site::{Site, bare, get};

/// What must come of a request. After a status that the parser gives, the connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Status(u16),
    Close,
}
use Expected::{Close, Status};

const TABLE: &[(&str, &[u8], Expected)] = &[
    ("nothing", b"", Close),
    ("empty lines", b"\r\n\r\n\r\n", Close),
    ("not HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", Status(400)),
    ("half a preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\n", Status(400)),
    ("nearly a preface of HTTP/2", b"PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n", Status(400)),
    ("no version", b"GET /healthz\r\nHost: localhost\r\n\r\n", Status(400)),
    ("HTTP/0.9", b"GET /healthz\r\n\r\n", Status(400)),
    ("HTTP/3.1", b"GET /healthz HTTP/3.1\r\nHost: localhost\r\n\r\n", Status(400)),
    ("no path", b"GET  HTTP/1.1\r\nHost: localhost\r\n\r\n", Status(400)),
    ("a path with a space", b"GET /db/notes/a b HTTP/1.1\r\nHost: localhost\r\n\r\n", Status(400)),
    ("a path with a NUL", b"GET /db/notes/a\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n", Status(400)),
    ("a method with a colon", b"G:T / HTTP/1.1\r\nHost: localhost\r\n\r\n", Status(400)),
    ("a field without a colon", b"GET /healthz HTTP/1.1\r\nHost h\r\n\r\n", Status(400)),
    ("a space before the colon", b"GET /healthz HTTP/1.1\r\nHost : h\r\n\r\n", Status(400)),
    ("a folded field", b"GET /healthz HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n", Status(400)),
    ("a NUL in a field", b"GET /healthz HTTP/1.1\r\nHost: h\r\nA: \x00\r\n\r\n", Status(400)),
    ("no Host", b"GET /healthz HTTP/1.1\r\n\r\n", Status(400)),
    ("two Hosts", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: i\r\n\r\n", Status(400)),
    ("a Host of nonsense", b"GET /healthz HTTP/1.1\r\nHost: a b@:/\r\n\r\n", Status(400)),
    (
        "a length that is no number",
        b"PUT /db/notes/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1x\r\n\r\n1",
        Status(400),
    ),
    (
        "a negative length",
        b"PUT /db/notes/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n1",
        Status(400),
    ),
    (
        "two lengths",
        b"PUT /db/notes/a HTTP/1.1\r\nHost: localhost\r\n\
          Content-Length: 1\r\nContent-Length: 2\r\n\r\n1",
        Status(400),
    ),
    (
        "a transfer coding that is not chunked",
        b"PUT /db/notes/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n1",
        Status(400),
    ),
    (
        "chunks in HTTP/1.0",
        b"PUT /db/notes/a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        Status(400),
    ),
    (
        "a chunk size that is no number",
        b"PUT /db/notes/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: a/b\r\n\
          Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
        Status(400),
    ),
    (
        "a chunk that is longer than it says",
        b"PUT /db/notes/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: a/b\r\n\
          Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n",
        Status(400),
    ),
    (
        "a body that ends early",
        b"PUT /db/notes/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: a/b\r\n\
          Content-Length: 9\r\n\r\n1",
        Status(400),
    ),
    ("CONNECT", b"CONNECT h:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", Status(501)),
    ("TRACE", b"TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n", Status(501)),
    ("a method in lower case", b"get /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", Status(501)),
    ("bare line feeds", b"GET /healthz HTTP/1.1\nHost: h\n\n", Status(200)),
    ("half a head", b"GET /healthz HTTP/1.1\r\nHos", Close),
];

#[test]
fn each_gets_its_status_or_a_close() {
    let site = Site::start();
    let mut wrong = Vec::new();
    for (name, bytes, expected) in TABLE {
        let mut client = site.connect();
        client.send(bytes);
        client.end_sending();
        let reply = client.try_reply(false);
        if let Some(reply) = reply.as_ref().filter(|reply| reply.status >= 400) {
            assert_eq!(reply.json()["status"], reply.status, "{name}: {}", reply.problem());
        }
        let got = reply.map_or(Close, |reply| Status(reply.status));
        let ended = client.is_at_end();
        if got != *expected || !ended {
            wrong.push(format!("{name}: expected {expected:?}, got {got:?}, ended: {ended}"));
        }
        assert_eq!(site.ask(&get("/healthz")).status, 200, "after {name}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(site.ask(&get("/db/notes/a")).status, 404, "none of them wrote anything");
}

#[test]
fn upgrades_are_not_taken() {
    let site = Site::start();
    let fields =
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n";
    let mut client = site.connect();
    assert_eq!(client.ask(&bare("GET", "/healthz", fields)).status, 200);
    assert_eq!(client.ask(&get("/healthz")).status, 200, "and HTTP/1.1 goes on");
}

#[test]
fn a_length_beside_chunks_does_not_smuggle_a_request() {
    let site = Site::start();
    let mut client = site.connect();
    // Read by its length the body would be "0\r\n\r\nGET ...", read by its chunks it is empty.
    client.send(
        "PUT /db/notes/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: a/b\r\nContent-Length: 40\r\n\
         Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: h\r\n\r\n",
    );
    let reply = client.reply(false);
    assert!(matches!(reply.status, 201 | 400), "{reply:?}");
    assert!(client.is_at_end(), "what follows is not taken for a request");
}
