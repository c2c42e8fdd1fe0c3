//! The head of a reply: its status, how its body is framed (RFC 9112 §6.3), whether the
//! connection may be used again (§9.3), and the cookies in it. It reads no body.

use super::chunked::ChunkError;
use crate::limits::{COOKIE_BYTES_MAX, HEAD_BYTES_MAX, HEADERS_MAX, SOFTWARE_BYTES_MAX};
use crate::transport::Kept;
use std::mem::MaybeUninit;
use thiserror::Error;
use wire::events::TooLarge as EventTooLarge;
use wire::websocket::WebSocketError;

/// A reply that is not what RFC 9112 allows, or is beyond the bounds of the lab.
#[derive(Debug, Error)]
pub(crate) enum Malformed {
    #[error("the reply's head does not parse: {0}")]
    Head(#[from] httparse::Error),
    #[error("the reply's head has more than {HEAD_BYTES_MAX} bytes")]
    HeadTooLarge,
    #[error("status {0} is not an answer to this request; expected 200 to 599")]
    Status(u16),
    #[error("Content-Length \"{0}\" is not one number")]
    ContentLength(String),
    #[error("Transfer-Encoding \"{0}\"; expected chunked, in HTTP/1.1, without Content-Length")]
    TransferEncoding(String),
    #[error("the chunked body is broken: {0}")]
    Chunk(#[from] ChunkError),
    #[error("the server sent {0} bytes or more after the end of its reply")]
    Surplus(usize),
    #[error("the server set more than {COOKIE_BYTES_MAX} bytes of cookies")]
    Cookies,
    /// What breaks WebSocket.
    #[error("what the server sent is not WebSocket: {0}")]
    WebSocket(#[from] WebSocketError),
    #[error("the event stream cannot be read: {0}")]
    Events(#[from] EventTooLarge),
    /// What breaks HTTP/2, in words.
    #[error("what the server sent is not HTTP/2: {0}")]
    Http2(String),
}

/// What the head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Length of the head in bytes, its empty line included.
    pub(crate) bytes: usize,
    /// 100 to 599, without 101.
    pub(crate) status: u16,
    pub(crate) framing: Framing,
    /// Whether the server will take another request on the connection.
    pub(crate) keep_alive: bool,
}

/// How the end of the body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// So many bytes, none included.
    Length(u64),
    Chunked,
    ToClose,
}

/// The last head that was read: servers say the same again and again, and the same bytes mean the
/// same.
#[derive(Default)]
pub(crate) struct HeadCache {
    bytes: Vec<u8>,
    is_head: bool,
    /// What they mean; none if they cannot be passed over, because they set a cookie.
    head: Option<Head>,
    /// What the first final reply called the server's software (RFC 9110 §10.2.4).
    software: Option<String>,
}

impl HeadCache {
    fn find(&self, input: &[u8], taking: &Taking<'_>) -> Option<Head> {
        let is_passed_over = |head: &Head| {
            let kept = taking.kept.as_ref();
            kept.is_none_or(|kept| head.status < kept.from_status)
                && self.is_head == taking.is_head
                && input.starts_with(&self.bytes)
        };
        self.head.filter(is_passed_over)
    }

    /// What the server calls its software, if it says so.
    pub(crate) fn software(&self) -> Option<&str> {
        self.software.as_deref()
    }

    /// Keeps the first value of `Server`.
    pub(crate) fn note_software(&mut self, value: &[u8]) {
        if self.software.is_none() {
            let value = &value[..value.len().min(SOFTWARE_BYTES_MAX)];
            self.software = Some(String::from_utf8_lossy(value).into_owned());
        }
    }

    fn put(&mut self, bytes: &[u8], is_head: bool, head: Head) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        (self.is_head, self.head) = (is_head, Some(head));
    }
}

/// What is done with a reply besides counting it.
pub(crate) struct Taking<'a> {
    /// Whether the request's method was HEAD.
    pub(crate) is_head: bool,
    /// Takes the values of a final reply's `Set-Cookie`.
    pub(crate) set_cookie: &'a mut dyn FnMut(&[u8]) -> Result<(), Malformed>,
    /// Takes its fields and its body.
    pub(crate) kept: Option<&'a mut Kept>,
    pub(crate) heads: &'a mut HeadCache,
}

/// Reads a head from the start of `input`; nothing if it is not complete.
///
/// # Errors
/// See [`Malformed`].
pub(crate) fn read(input: &[u8], taking: &mut Taking<'_>) -> Result<Option<Head>, Malformed> {
    let is_head = taking.is_head;
    if let Some(head) = taking.heads.find(input, taking) {
        return Ok(Some(head));
    }
    let found = parse(input, taking)?;
    if let Some((head, sets_cookie)) = found
        && !sets_cookie
    {
        taking.heads.put(&input[..head.bytes], is_head, head);
    }
    Ok(found.map(|(head, _)| head))
}

/// The head, and whether it sets cookies.
fn parse(input: &[u8], taking: &mut Taking<'_>) -> Result<Option<(Head, bool)>, Malformed> {
    // Left uninitialized because zeroing it would cost as much as parsing a small head.
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        input,
        &mut headers,
    )?;
    let bytes = match parsed {
        httparse::Status::Complete(bytes) if bytes <= HEAD_BYTES_MAX => bytes,
        httparse::Status::Partial if input.len() < HEAD_BYTES_MAX => return Ok(None),
        _ => return Err(Malformed::HeadTooLarge),
    };
    let status = response.code.unwrap_or(0);
    if !(100..600).contains(&status) || status == 101 {
        return Err(Malformed::Status(status));
    }
    let is_http10 = response.version == Some(0);
    if let Some(kept) = taking.kept.as_mut().filter(|_| status >= 200) {
        kept.begin(status);
    }
    let (mut fields, mut sets_cookie) = (Fields::default(), false);
    for header in response.headers.iter() {
        fields.take(header)?;
        if status < 200 {
            continue;
        }
        if header.name.eq_ignore_ascii_case("server") {
            taking.heads.note_software(header.value);
        }
        if header.name.eq_ignore_ascii_case("set-cookie") {
            sets_cookie = true;
            (taking.set_cookie)(header.value)?;
        }
        if let Some(kept) = &mut taking.kept {
            kept.push_field(header.name.as_bytes(), header.value);
        }
    }
    let framing = fields.framing(is_http10)?;
    let bodiless = taking.is_head || status < 200 || status == 204 || status == 304;
    let framing = if bodiless { Framing::Length(0) } else { framing };
    let keep_alive =
        !fields.close && (fields.keep_alive || !is_http10) && framing != Framing::ToClose;
    Ok(Some((Head { bytes, status, framing, keep_alive }, sets_cookie)))
}

/// What the fields of a head say about framing and the connection.
#[derive(Default)]
struct Fields {
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
}

impl Fields {
    fn take(&mut self, header: &httparse::Header<'_>) -> Result<(), Malformed> {
        let name = header.name;
        if name.eq_ignore_ascii_case("content-length") {
            let length = parse_length(header.value).filter(|n| self.length.is_none_or(|m| m == *n));
            self.length = Some(length.ok_or_else(|| Malformed::ContentLength(text(header.value)))?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            let first = !std::mem::replace(&mut self.chunked, true);
            if !first || !header.value.eq_ignore_ascii_case(b"chunked") {
                return Err(Malformed::TransferEncoding(text(header.value)));
            }
        } else if name.eq_ignore_ascii_case("connection") {
            self.take_connection(header.value);
        }
        Ok(())
    }

    fn take_connection(&mut self, value: &[u8]) {
        for option in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    fn framing(&self, is_http10: bool) -> Result<Framing, Malformed> {
        match (self.chunked, self.length) {
            (false, Some(length)) => Ok(Framing::Length(length)),
            (false, None) => Ok(Framing::ToClose),
            (true, None) if !is_http10 => Ok(Framing::Chunked),
            (true, _) => Err(Malformed::TransferEncoding("chunked".to_owned())),
        }
    }
}

/// One number, or the same number several times (RFC 9110 §8.6).
fn parse_length(value: &[u8]) -> Option<u64> {
    let mut numbers = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).map(parse_digits);
    let first = numbers.next()??;
    numbers.all(|number| number == Some(first)).then_some(first)
}

fn parse_digits(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http1::Jar;

    fn read_into(
        input: &[u8],
        is_head: bool,
        (jar, heads): (&mut Jar, &mut HeadCache),
    ) -> Result<Option<Head>, Malformed> {
        let set_cookie = &mut |value: &[u8]| jar.store(value);
        read(input, &mut Taking { is_head, set_cookie, kept: None, heads })
    }

    /// Read twice, the second time from what was remembered of the first.
    fn parse(input: &[u8], is_head: bool, jar: &mut Jar) -> Result<Option<Head>, Malformed> {
        let mut heads = HeadCache::default();
        let first = read_into(input, is_head, (jar, &mut heads))?;
        assert_eq!(first, read_into(input, is_head, (jar, &mut heads))?);
        Ok(first)
    }

    fn head(lines: &str) -> Result<Head, Malformed> {
        let input = format!("{lines}\r\n\r\nbody");
        let head = parse(input.as_bytes(), false, &mut Jar::default())?;
        let head = head.expect("the head is complete");
        assert_eq!(head.bytes, input.len() - "body".len());
        Ok(head)
    }

    fn framing(lines: &str) -> Framing {
        head(lines).unwrap().framing
    }

    #[test]
    fn tells_how_the_body_is_framed() {
        assert_eq!(framing("HTTP/1.1 200 OK\r\nContent-Length: 5"), Framing::Length(5));
        assert_eq!(framing("HTTP/1.1 200\r\ncontent-length:5, 5"), Framing::Length(5));
        let twice = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5";
        assert_eq!(framing(twice), Framing::Length(5));
        assert_eq!(framing("HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED"), Framing::Chunked);
        assert_eq!(framing("HTTP/1.1 200 OK\r\nDate: now"), Framing::ToClose);
    }

    #[test]
    fn some_replies_have_no_body_whatever_they_say() {
        for status in ["100", "103", "204", "304"] {
            let lines = format!("HTTP/1.1 {status} x\r\nContent-Length: 5");
            assert_eq!(framing(&lines), Framing::Length(0), "{status}");
        }
        let input = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        let head = parse(input, true, &mut Jar::default()).unwrap().unwrap();
        assert_eq!(head.framing, Framing::Length(0));
    }

    #[test]
    fn tells_whether_the_connection_stays() {
        let keep_alive = |version: &str, fields: &str| {
            let lines = format!("HTTP/{version} 200 OK\r\nContent-Length: 0{fields}");
            head(&lines).unwrap().keep_alive
        };
        assert!(keep_alive("1.1", ""));
        assert!(!keep_alive("1.1", "\r\nConnection: Close"));
        assert!(!keep_alive("1.1", "\r\nConnection: keep-alive, close"));
        assert!(!keep_alive("1.1", "\r\nConnection: close\r\nConnection: keep-alive"));
        assert!(!keep_alive("1.0", ""));
        assert!(keep_alive("1.0", "\r\nconnection: foo , Keep-Alive"));
        assert!(!head("HTTP/1.1 200 OK\r\nDate: now").unwrap().keep_alive);
    }

    #[test]
    fn refuses_framing_that_can_be_read_in_two_ways() {
        for value in ["", "x", "-1", "+1", "1,2", "1 1", "99999999999999999999"] {
            let refusal = head(&format!("HTTP/1.1 200 OK\r\nContent-Length: {value}"));
            assert!(matches!(refusal, Err(Malformed::ContentLength(_))), "{value}");
        }
        let differing = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6";
        assert!(matches!(head(differing), Err(Malformed::ContentLength(_))));
        for lines in [
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked",
        ] {
            assert!(matches!(head(lines), Err(Malformed::TransferEncoding(_))), "{lines}");
        }
    }

    #[test]
    fn refuses_what_is_not_a_reply() {
        assert!(matches!(head("GET / HTTP/1.1"), Err(Malformed::Head(_))));
        assert!(matches!(head("HTTP/2.0 200 OK"), Err(Malformed::Head(_))));
        for status in ["000", "099", "101", "600"] {
            let refusal = head(&format!("HTTP/1.1 {status} x"));
            assert!(matches!(refusal, Err(Malformed::Status(_))), "{status}");
        }
    }

    #[test]
    fn keeps_to_its_bounds() {
        let mut jar = Jar::default();
        let fields = "a:b\r\n".repeat(HEADERS_MAX);
        assert!(head(&format!("HTTP/1.1 200 OK\r\n{}", fields.trim_end())).is_ok());
        let refusal = head(&format!("HTTP/1.1 200 OK\r\n{fields}a:b"));
        assert!(matches!(refusal, Err(Malformed::Head(httparse::Error::TooManyHeaders))));

        let mut long = b"HTTP/1.1 200 OK\r\na:".to_vec();
        long.resize(HEAD_BYTES_MAX, b'x');
        assert!(matches!(parse(&long, false, &mut jar), Err(Malformed::HeadTooLarge)));
        assert!(matches!(parse(&long[1..], false, &mut jar), Err(Malformed::Head(_))));
        assert!(matches!(parse(&long[..HEAD_BYTES_MAX - 1], false, &mut jar), Ok(None)));
    }

    #[test]
    fn takes_cookies_from_final_replies_only() {
        let mut jar = Jar::default();
        let early = b"HTTP/1.1 103 Early\r\nSet-Cookie: a=1\r\n\r\n";
        parse(early, false, &mut jar).unwrap();
        assert_eq!(jar.line(), b"");
        let reply = b"HTTP/1.1 302 Found\r\nset-cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n";
        parse(reply, false, &mut jar).unwrap();
        assert_eq!(jar.line(), b"a=1; b=2");
    }

    #[test]
    fn what_is_remembered_is_never_taken_for_something_else() {
        let (mut heads, mut jar) = (HeadCache::default(), Jar::default());
        let mut status = |input: &[u8], is_head: bool| {
            let head = read_into(input, is_head, (&mut jar, &mut heads)).unwrap()?;
            Some((head.status, head.framing))
        };
        let ok = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(status(ok, false), Some((200, Framing::Length(5))));
        assert_eq!(status(ok, true), Some((200, Framing::Length(0))));
        assert_eq!(status(ok, false), Some((200, Framing::Length(5))));
        assert_eq!(status(&ok[..ok.len() - 8], false), None);
        let longer = b"HTTP/1.1 200 OK\r\nContent-Length: 55\r\n\r\n";
        assert_eq!(status(longer, false), Some((200, Framing::Length(55))));
        // One that sets a cookie must be read each time.
        let cookie = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nContent-Length: 0\r\n\r\n";
        status(cookie, false);
        jar.forget();
        read_into(cookie, false, (&mut jar, &mut heads)).unwrap();
        assert_eq!(jar.line(), b"a=1");
    }

    #[test]
    fn the_first_name_of_the_software_is_kept_up_to_a_bound() {
        let (mut heads, mut jar) = (HeadCache::default(), Jar::default());
        let mut read = |name: &str| {
            let reply = format!("HTTP/1.1 200 OK\r\nServer: {name}\r\nContent-Length: 0\r\n\r\n");
            read_into(reply.as_bytes(), false, (&mut jar, &mut heads)).unwrap();
            heads.software().map(str::to_owned)
        };
        let long = "x".repeat(SOFTWARE_BYTES_MAX + 1);
        assert_eq!(read(&long).as_deref(), Some(&long[1..]));
        assert_eq!(read("another").as_deref(), Some(&long[1..]));
    }

    #[test]
    fn fields_are_kept_for_those_who_ask() {
        let mut heads = HeadCache::default();
        let input = b"HTTP/1.1 200 OK\r\nETag:\"x\"\r\nContent-Length: 0\r\n\r\n";
        // From status 0 and 201 on; the first is asked for when the head is remembered.
        for (from, expected) in [(201, ""), (0, "ETag: \"x\"\r\nContent-Length: 0\r\n")] {
            let mut kept = Kept::new(0, from);
            let (kept_here, set_cookie) = (Some(&mut kept), &mut |_: &[u8]| Ok(()));
            let mut taking =
                Taking { is_head: false, set_cookie, kept: kept_here, heads: &mut heads };
            assert_eq!(read(input, &mut taking).unwrap().unwrap().status, 200);
            assert_eq!(kept.fields, expected.as_bytes(), "from {from}");
        }
    }
}
