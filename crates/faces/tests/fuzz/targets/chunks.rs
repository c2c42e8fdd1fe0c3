//! Chunked bodies (RFC 9112 §7.1): the server against a parser that takes the grammar by the
//! letter.

use crate::target::Target;
use faces::fuzzing::{Taken, http1_requests};

pub(super) const TARGETS: &[Target] = &[Target {
    name: "chunks",
    run: chunks,
    seeds: &[
        b"\x401\r\nx\r\n0\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n",
        b"\x400\r\n\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\nGET /3 HTTP/1.1\r\nHost: h\r\n\r\n",
        b"\x070\r\nX:\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\nGET /3 HTTP/1.1\r\nHost: h\r\n\r\n",
        b"\x010\r\nX:\n\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\nGET /3 HTTP/1.1\r\nHost: h\r\n\r\n",
        b"\x400\r\nX:\r\n\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\nGET /3 HTTP/1.1\r\nHost: h\r\n\r\n",
        b"\x401;a=\"b\";c\r\nx\r\n0A\t;d\r\n0123456789\r\n0\r\nA: b\r\n\r\nGET /2 HTTP/1.1\r\n\r\n",
        b"\x03fffffffffffffffff\r\nx\r\n0\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n",
        b"\x401\r\nx\r\n0\r\n\r\nPUT /2 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\
          0\r\n\r\nGET /3 HTTP/1.1\r\nHost: h\r\n\r\n",
    ],
}];

const HEAD: &[u8] = b"PUT /first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";

/// What the bytes after a head are by the grammar.
#[derive(Debug, PartialEq, Eq)]
enum Framed {
    /// A body, and what comes after it.
    Whole { content: Vec<u8>, has_trailers: bool, length: usize },
    /// The chunks are right, and the trailer section is not.
    WrongTrailers { content: Vec<u8> },
    /// Broken off, or something else.
    Wrong,
}

/// After a body that the grammar allows and that has no trailer section, the server takes what it
/// takes of the rest by itself. After any other, it takes nothing.
fn chunks(input: &[u8]) {
    let Some((&piece, body)) = input.split_first() else { return };
    let piece = usize::from(piece);
    let bytes = [HEAD, body].concat();
    for reads in [true, false] {
        let taken = http1_requests(&bytes, piece, reads);
        let (first, next) = taken.split_first().expect("the head is complete");
        assert_eq!(first.what, "PUT /first");
        let framed = framed(body);
        match &framed {
            Framed::Whole { has_trailers: false, length, .. } if reads => {
                assert_eq!(next, http1_requests(&body[*length..], piece, reads), "{framed:?}");
            }
            _ => assert_eq!(next, [], "after {framed:?}"),
        }
        if reads {
            assert_content(first, &framed);
        }
    }
}

fn assert_content(first: &Taken, framed: &Framed) {
    match framed {
        Framed::Whole { content, .. } => assert_eq!(first.content.as_ref(), Some(content)),
        Framed::WrongTrailers { content } => {
            // What a line feed alone ends is taken, and the connection closed.
            assert!(first.content.as_ref().is_none_or(|got| got == content), "{first:?}");
        }
        Framed::Wrong => assert_eq!(first.content, None, "{framed:?}"),
    }
}

fn framed(body: &[u8]) -> Framed {
    let mut content = Vec::new();
    let mut rest = body;
    loop {
        let Some((size, after)) = size(rest) else { return Framed::Wrong };
        rest = after;
        if size == 0 {
            break;
        }
        let split = usize::try_from(size).ok().and_then(|size| rest.split_at_checked(size));
        let Some((chunk, after)) = split else { return Framed::Wrong };
        let Some(after) = after.strip_prefix(b"\r\n") else { return Framed::Wrong };
        content.extend_from_slice(chunk);
        rest = after;
    }
    let mut has_trailers = false;
    loop {
        if let Some(after) = rest.strip_prefix(b"\r\n") {
            return Framed::Whole { content, has_trailers, length: body.len() - after.len() };
        }
        let Some((line, after)) = line(rest) else { return Framed::WrongTrailers { content } };
        if !is_field(line) {
            return Framed::WrongTrailers { content };
        }
        has_trailers = true;
        rest = after;
    }
}

/// A line without its CR LF, which has no CR or LF otherwise.
fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'))?;
    Some((&bytes[..end], bytes[end..].strip_prefix(b"\r\n")?))
}

/// A chunk's size. What an extension is made of nobody looks at, as long as it ends with its line
/// (§7.1.1); white space before it is allowed, and here also where none follows.
fn size(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (line, after) = line(bytes)?;
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (size, extension) = line.split_at(digits);
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let spaces = extension.iter().take_while(|byte| is_space(byte)).count();
    let extension = &extension[spaces..];
    if !(extension.is_empty() || extension.starts_with(b";")) {
        return None;
    }
    let size = u64::from_str_radix(std::str::from_utf8(size).ok()?, 16).ok()?;
    Some((size, after))
}

/// RFC 9110 §5.5, §5.6.2.
fn is_field(line: &[u8]) -> bool {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return false };
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let is_value = |byte: &u8| *byte == b'\t' || (*byte >= 0x20 && *byte != 0x7f);
    colon > 0 && line[..colon].iter().all(is_token) && line[colon + 1..].iter().all(is_value)
}
