//! Where a request ends (RFC 9112 §6, §7.1): whatever does not leave it in no doubt is refused, and
//! nothing of a body is ever taken for a request.

use crate::site::{Client, Site, bare, get};

const PUT: &str = "PUT /db/notes/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: a/b\r\n";

/// A request that must not be answered: what a smuggler hides.
const HIDDEN: &str = "DELETE /db/notes/kept HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Sends `bytes` and gives all statuses that come until the connection ends.
fn statuses(site: &Site, bytes: &str) -> Vec<u16> {
    let mut client = site.connect();
    client.send(bytes);
    client.end_sending();
    replies(&mut client)
}

fn replies(client: &mut Client) -> Vec<u16> {
    std::iter::from_fn(|| client.try_reply(false)).map(|reply| reply.status).collect()
}

/// Fields that frame a body, and the statuses that come of them. LENGTH is the body's, which by its
/// chunks is empty and ends before what is hidden.
const TWO_ENDS: &[(&str, &str, &[u16])] = &[
    // By its chunks the body is empty; the connection ends there (RFC 9112 §6.1).
    ("length and chunks", "Content-Length: LENGTH\r\nTransfer-Encoding: chunked", &[201]),
    ("chunks and length", "Transfer-Encoding: chunked\r\nContent-Length: LENGTH", &[204]),
    ("two lengths", "Content-Length: 1\r\nContent-Length: LENGTH", &[400]),
    ("a list of lengths", "Content-Length: 1, LENGTH", &[400]),
    ("a length with a sign", "Content-Length: +1", &[400]),
    ("a length in hexadecimal", "Content-Length: 0x5", &[400]),
    ("a length past all bounds", "Content-Length: 99999999999999999999", &[400]),
    ("another coding before", "Transfer-Encoding: gzip, chunked", &[501]),
    ("chunked twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", &[501]),
    ("chunked not last", "Transfer-Encoding: chunked, gzip", &[400]),
    ("an unknown coding", "Transfer-Encoding: xchunked", &[400]),
    ("a space in the name", "Transfer-Encoding : chunked", &[400]),
    ("a folded coding", "Transfer-Encoding:\r\n chunked", &[400]),
    ("a vertical tab", "Transfer-Encoding: \u{b}chunked", &[400]),
    ("a bare carriage return", "A: b\rTransfer-Encoding: chunked", &[400]),
];

#[test]
fn rfc9112_6_1_and_6_3_bodies_with_two_ends() {
    let site = Site::start();
    site.put("/db/notes/kept", "1");
    let body = format!("0\r\n\r\n{HIDDEN}");
    let length = body.len().to_string();
    let mut wrong = Vec::new();
    for (name, fields, expected) in TWO_ENDS {
        let fields = fields.replace("LENGTH", &length);
        let got = statuses(&site, &format!("{PUT}{fields}\r\n\r\n{body}"));
        if got != *expected {
            wrong.push(format!("{name}: expected {expected:?}, got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(site.ask(&get("/db/notes/kept")).body, "1", "nothing hidden was done");
}

#[test]
fn rfc9112_6_3_equal_lengths_are_one() {
    let site = Site::start();
    let equal = format!("{PUT}Content-Length: 1\r\nContent-Length: 1\r\n\r\nx");
    assert_eq!(statuses(&site, &equal), [201]);
}

#[test]
fn rfc9112_7_1_chunks() {
    let site = Site::start();
    let chunked = format!("{PUT}Transfer-Encoding: chunked\r\n\r\n");
    let cases: [(&str, &str, &[u16]); 9] = [
        ("digits of both cases", "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", &[201]),
        ("leading zeros", "0001\r\nx\r\n000\r\n\r\n", &[204]),
        ("an extension", "1;a=\"b\"\r\nx\r\n0;c\r\n\r\n", &[204]),
        ("a trailer field", "1\r\nx\r\n0\r\nA: b\r\n\r\n", &[204]),
        ("a size with a sign", "+1\r\nx\r\n0\r\n\r\n", &[400]),
        ("a size past all bounds", "fffffffffffffffff\r\nx\r\n0\r\n\r\n", &[400]),
        ("a chunk without its end", "1\r\nxy\r\n0\r\n\r\n", &[400]),
        ("a bare line feed after the size", "1\nx\r\n0\r\n\r\n", &[400]),
        ("an end that never comes", "1\r\nx\r\n", &[400]),
    ];
    let mut wrong = Vec::new();
    for (name, body, expected) in cases {
        let got = statuses(&site, &format!("{chunked}{body}"));
        if got != expected {
            wrong.push(format!("{name}: expected {expected:?}, got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn rfc9112_7_1_1_extensions_and_trailers_are_bounded() {
    let site = Site::start();
    let chunked = format!("{PUT}Transfer-Encoding: chunked\r\n\r\n");
    let long = "x".repeat(20 << 10);
    for (name, body) in [
        ("one extension", format!("1;a={long}\r\nx\r\n0\r\n\r\n")),
        ("many extensions", "1;aaaaaaaaaaaaaaaa\r\nx\r\n".repeat(2_000) + "0\r\n\r\n"),
        ("a long trailer", format!("1\r\nx\r\n0\r\nA: {long}{long}{long}{long}\r\n\r\n")),
        ("many trailers", format!("1\r\nx\r\n0\r\n{}\r\n", "A: b\r\n".repeat(2_000))),
    ] {
        let mut client = site.connect();
        client.try_send(format!("{chunked}{body}").as_bytes());
        assert_eq!(client.reply(false).status, 400, "{name}");
    }
    assert_eq!(site.ask(&get("/db/notes/a")).status, 404);
}

#[test]
fn rfc9112_3_2_2_the_absolute_form_says_the_host() {
    let site = Site::start();
    let ask = |target: &str, host: &str| {
        site.ask(&format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n")).status
    };
    assert_eq!(ask("http://localhost/db/notes/a", "evil.example"), 404);
    assert_eq!(ask("http://evil.example/db/notes/a", "localhost"), 421);
    assert_eq!(site.ask("GET http://localhost/db/notes/a HTTP/1.1\r\n\r\n").status, 400);
}

#[test]
fn pipelined_requests_after_a_body() {
    let site = Site::start();
    let all = format!("{PUT}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n")
        + &get("/db/notes/a")
        + &format!("{PUT}Content-Length: 1\r\n\r\ny")
        + &bare("GET", "/healthz", "Connection: close\r\n");
    assert_eq!(statuses(&site, &all), [201, 200, 204, 200]);
}
