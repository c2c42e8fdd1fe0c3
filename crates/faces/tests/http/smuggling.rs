//! Request smuggling: whatever ends a chunked body in another place than RFC 9112 §7.1 says, what
//! stands in a body is never run as a request.

use crate::site::{Site, bare, get};

const FRAMED: &str = "Content-Type: a/b\r\nTransfer-Encoding: chunked\r\n";

/// Nobody asks for this by itself: it stands in bodies only.
const HIDDEN: &str = "DELETE /db/notes/kept HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A request with a length, whose body is another one.
fn carrier() -> String {
    let length = HIDDEN.len();
    let fields = format!("Content-Type: a/b\r\nContent-Length: {length}\r\n");
    bare("PUT", "/db/notes/carrier", &fields) + HIDDEN
}

/// Sends `bytes` and gives all statuses until the connection ends.
fn statuses(site: &Site, bytes: &str) -> Vec<u16> {
    let mut client = site.connect();
    // A server that has seen enough may have closed.
    client.try_send(bytes.as_bytes());
    client.end_sending();
    std::iter::from_fn(|| client.try_reply(false)).map(|reply| reply.status).collect()
}

fn assert_kept(site: &Site, after: &str) {
    assert_eq!(site.ask(&get("/db/notes/kept")).body, "1", "what a body hid was run: {after:?}");
}

/// Ends of a chunked body with a line feed alone, for which some recipients take a line end (RFC
/// 9112 §2.2).
const LOOSE_ENDS: [&str; 7] = [
    "0\r\n\n",
    "0\r\nX: a\n\r\n",
    "0\r\nX: a\n\n",
    "0\r\nX: a\r\n\n",
    "0\r\n\nX: a\r\n",
    "0\r\nX: a\n\r\nY: b\n\n",
    "0;a=b\r\n\n",
];

/// Requests whose bodies are read, refused by their heads, and not looked at.
fn heads() -> [String; 5] {
    [
        bare("PUT", "/db/notes/a", FRAMED),
        bare("PUT", "/db/notes/a", &format!("{FRAMED}Expect: 100-continue\r\n")),
        bare("PUT", "/db/notes/a", "Content-Type: nonsense\r\nTransfer-Encoding: chunked\r\n"),
        bare("GET", "/healthz", FRAMED),
        bare("DELETE", "/db/notes/none", FRAMED),
    ]
}

#[test]
fn rfc9112_7_1_2_what_follows_a_loose_trailer_section_is_no_request() {
    let site = Site::start();
    site.put("/db/notes/kept", "1");
    for head in heads() {
        for end in LOOSE_ENDS {
            for chunks in ["", "1\r\nx\r\n"] {
                let bytes = format!("{head}{chunks}{end}{}", carrier());
                let got = statuses(&site, &bytes);
                assert_kept(&site, &bytes);
                let answered = got.iter().filter(|status| **status >= 200).count();
                assert_eq!(answered, 1, "{bytes:?} is one request: {got:?}");
            }
        }
    }
}

#[test]
fn a_request_with_trailer_fields_is_the_last_of_its_connection() {
    let site = Site::start();
    for body in ["1\r\nx\r\n0\r\nA: b\r\n\r\n", "0\r\nContent-Length: 9\r\nHost: h\r\n\r\n"] {
        let mut client = site.connect();
        client.send(bare("PUT", "/db/notes/a", FRAMED) + body + &get("/healthz"));
        let reply = client.reply(false);
        assert!(matches!(reply.status, 201 | 204), "{reply:?}");
        assert_eq!(reply.field("connection"), Some("close"), "{body:?}");
        assert!(client.is_at_end(), "{body:?}");
    }
    // Without them it goes on.
    let mut client = site.connect();
    client.send(bare("PUT", "/db/notes/a", FRAMED) + "1\r\nx\r\n0\r\n\r\n" + &get("/healthz"));
    assert_eq!(client.reply(false).field("connection"), None);
    assert_eq!(client.reply(false).status, 200);
}

/// Bodies, and the statuses that come of them before the connection ends. `HIDDEN` stands where
/// somebody who reads more or less strictly might look for a request.
const BODIES: &[(&str, &str, &[u16])] = &[
    ("an extension that ends with LF", "5;a\nHIDDEN0\r\n\r\n", &[400]),
    ("a size that ends with LF", "5\nHIDDEN0\r\n\r\n", &[400]),
    ("a bare CR in an extension", "1;a\rb\r\nx\r\n0\r\n\r\nHIDDEN", &[400]),
    ("a bare CR after the size", "1\rx\r\n0\r\n\r\nHIDDEN", &[400]),
    ("a last chunk that ends with LF", "0\n\r\nHIDDEN", &[400]),
    ("a space before the size", " 1\r\nx\r\n0\r\n\r\nHIDDEN", &[400]),
    ("a tab before the size", "\t1\r\nx\r\n0\r\n\r\nHIDDEN", &[400]),
    ("an empty line before the size", "\r\n1\r\nx\r\n0\r\n\r\nHIDDEN", &[400]),
    ("a space in the size", "1 0\r\nx\r\n0\r\n\r\nHIDDEN", &[400]),
    ("no size", ";a\r\nx\r\n0\r\n\r\nHIDDEN", &[400]),
    ("a size with 0x", "0x1\r\nx\r\n0\r\n\r\nHIDDEN", &[400]),
    ("a negative size", "-1\r\nx\r\n0\r\n\r\nHIDDEN", &[400]),
    ("a size with an underscore", "1_0\r\nx\r\n0\r\n\r\nHIDDEN", &[400]),
    ("a size in wide digits", "\u{ff11}\r\nx\r\n0\r\n\r\nHIDDEN", &[400]),
    ("2^64 and 1", "10000000000000001\r\nx\r\n0\r\n\r\nHIDDEN", &[400]),
    ("2^128 and 1", "100000000000000000000000000000001\r\nx\r\n0\r\n\r\nHIDDEN", &[400]),
    ("2^64 - 1", "ffffffffffffffff\r\nx\r\n0\r\n\r\nHIDDEN", &[400]),
    ("2^63", "8000000000000000\r\nx\r\n0\r\n\r\nHIDDEN", &[400]),
    ("2^32 and 1", "100000001\r\nx\r\n0\r\n\r\nHIDDEN", &[400]),
    ("content longer than its size", "1\r\nxHIDDEN\r\n0\r\n\r\n", &[400]),
    ("content that ends with LF", "1\r\nx\n0\r\n\r\nHIDDEN", &[400]),
    ("content that ends with CR", "1\r\nx\r0\r\n\r\nHIDDEN", &[400]),
    ("content without an end", "1\r\nx0\r\n\r\nHIDDEN", &[400]),
    ("a folded trailer field", "0\r\nA: b\r\n c\r\n\r\nHIDDEN", &[400]),
    ("a trailer field with a bare CR", "0\r\nA: b\rc\r\n\r\nHIDDEN", &[400]),
    ("a trailer field with a NUL", "0\r\nA: \0\r\n\r\nHIDDEN", &[400]),
    ("a trailer field without a colon", "0\r\nA\r\n\r\nHIDDEN", &[400]),
    ("a trailer field with a space in its name", "0\r\nA : b\r\n\r\nHIDDEN", &[400]),
    ("an end with CR CR", "0\r\n\r\rHIDDEN", &[400]),
    (
        "framing in a trailer",
        "0\r\nContent-Length: 9\r\nTransfer-Encoding: x\r\n\r\nHIDDEN",
        &[201],
    ),
];

#[test]
fn rfc9112_7_1_a_body_that_is_framed_wrongly_hides_no_request() {
    let site = Site::start();
    site.put("/db/notes/kept", "1");
    let mut wrong = Vec::new();
    for (name, body, expected) in BODIES {
        site.ask(&bare("DELETE", "/db/notes/a", ""));
        let body = body.replace("HIDDEN", HIDDEN);
        let got = statuses(&site, &format!("{}{body}", bare("PUT", "/db/notes/a", FRAMED)));
        assert_kept(&site, name);
        if got != *expected {
            wrong.push(format!("{name}: expected {expected:?}, got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Fields that frame a body, each with a body that is empty by its chunks, and the statuses.
const FIELDS: &[(&str, &[u16])] = &[
    ("Transfer-Encoding: chunked, identity", &[400]),
    ("Transfer-Encoding: identity, chunked", &[501]),
    ("Transfer-Encoding: identity", &[400]),
    ("Transfer-Encoding: chunked, chunked", &[501]),
    ("Transfer-Encoding: ,chunked", &[501]),
    ("Transfer-Encoding: chunked,", &[400]),
    ("Transfer-Encoding: chunked;a=b", &[400]),
    ("Transfer-Encoding: \"chunked\"", &[400]),
    ("Transfer-Encoding: chun ked", &[400]),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", &[400]),
    ("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked", &[501]),
    ("Transfer-Encoding: chunked\r\nContent-Length: 0", &[201]),
    ("Content-Length: 0\r\nTransfer-Encoding: chunked", &[201]),
    ("Content-Length: 0\r\nContent-Length: LENGTH", &[400]),
    ("Content-Length: LENGTH, LENGTH", &[400]),
    ("Content-Length: ", &[400]),
    ("Content-Length: 0 0", &[400]),
    ("Content-Length: 0\u{b}", &[400]),
    ("Content-Length : 0", &[400]),
    ("Content-Length: -0", &[400]),
];

#[test]
fn rfc9112_6_fields_that_frame_a_body_in_two_ways_hide_no_request() {
    let site = Site::start();
    site.put("/db/notes/kept", "1");
    let body = format!("0\r\n\r\n{HIDDEN}");
    let mut wrong = Vec::new();
    for (fields, expected) in FIELDS {
        site.ask(&bare("DELETE", "/db/notes/a", ""));
        let fields = fields.replace("LENGTH", &body.len().to_string());
        let head = bare("PUT", "/db/notes/a", &format!("Content-Type: a/b\r\n{fields}\r\n"));
        let got = statuses(&site, &format!("{head}{body}"));
        assert_kept(&site, &fields);
        if got != *expected {
            wrong.push(format!("{fields:?}: expected {expected:?}, got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
