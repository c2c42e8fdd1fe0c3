//! Where requests end: how many came, without keeping them.

use crate::limits::HEADERS_MAX;
use std::io;

/// Largest head of a request. Larger: the connection is closed.
pub(super) const HEAD_BYTES_MAX: usize = 32 << 10;

/// Reads one connection's requests.
#[derive(Default)]
pub(super) struct Requests {
    /// What came of a head that is not complete.
    pub(super) pending: Vec<u8>,
    /// Bytes of the body that are to come.
    body: u64,
    /// Whether the request under way is the last.
    closes: bool,
    /// Whether the client wants no more than what it has asked for.
    pub(super) is_last: bool,
}

/// The head of the last request without a body: clients ask for the same again and again.
#[derive(Default)]
pub(super) struct LastHead(Vec<u8>);

struct Head {
    bytes: usize,
    body: u64,
    closes: bool,
}

impl Requests {
    /// How many requests end in `input`, which begins with what was pending.
    ///
    /// # Errors
    /// It is not HTTP/1.1.
    pub(super) fn count(&mut self, mut input: &[u8], last: &mut LastHead) -> io::Result<usize> {
        let mut count = 0;
        self.pending.clear();
        while !input.is_empty() && !self.is_last {
            if self.body > 0 {
                let taken = self.body.min(input.len() as u64);
                self.body -= taken;
                input = &input[taken as usize..];
                count += usize::from(self.body == 0);
                self.is_last = self.closes && self.body == 0;
                continue;
            }
            if !last.0.is_empty() && input.starts_with(&last.0) {
                input = &input[last.0.len()..];
                count += 1;
                continue;
            }
            let Some(head) = parse(input)? else {
                self.pending.extend_from_slice(input);
                break;
            };
            if head.body == 0 && !head.closes {
                last.0.clear();
                last.0.extend_from_slice(&input[..head.bytes]);
            }
            (self.body, self.closes) = (head.body, head.closes);
            self.is_last = head.closes && head.body == 0;
            count += usize::from(head.body == 0);
            input = &input[head.bytes..];
        }
        Ok(count)
    }
}

/// The head that `input` begins with, if it is complete.
fn parse(input: &[u8]) -> io::Result<Option<Head>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let refused = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let parsed = request.parse(input).map_err(|error| refused(&error.to_string()))?;
    let httparse::Status::Complete(bytes) = parsed else {
        let is_small = input.len() < HEAD_BYTES_MAX;
        return if is_small { Ok(None) } else { Err(refused("a head that is too large")) };
    };
    let mut head = Head { bytes, body: 0, closes: false };
    for field in request.headers.iter() {
        if field.name.eq_ignore_ascii_case("content-length") {
            let number = std::str::from_utf8(field.value).ok().and_then(|text| text.parse().ok());
            head.body = number.ok_or_else(|| refused("a length that is none"))?;
        }
        if field.name.eq_ignore_ascii_case("connection") {
            head.closes = field.value.eq_ignore_ascii_case(b"close");
        }
    }
    Ok(Some(head))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fed in pieces of so many bytes.
    fn count(input: &[u8], piece: usize) -> (usize, bool) {
        let (mut requests, mut last) = (Requests::default(), LastHead::default());
        let mut count = 0;
        for piece in input.chunks(piece) {
            let whole = [requests.pending.clone(), piece.to_vec()].concat();
            count += requests.count(&whole, &mut last).unwrap();
        }
        (count, requests.is_last)
    }

    #[test]
    fn requests_end_where_they_say_however_they_come() {
        let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        let post = "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
        let close = "GET / HTTP/1.1\r\nConnection: close\r\n\r\n";
        let all = [get, get, post, get, post, post, get, close].concat();
        for piece in 1..=all.len() {
            assert_eq!(count(all.as_bytes(), piece), (8, true), "pieces of {piece}");
        }
        assert_eq!(count(&post.as_bytes()[..post.len() - 1], 99), (0, false));
        assert_eq!(count(b"GET / HT", 3), (0, false));
        // Nothing is asked for after the last.
        let last = "POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 1\r\n\r\na";
        assert_eq!(count([last, get].concat().as_bytes(), 7), (1, true));
        assert_eq!(count([close, get].concat().as_bytes(), 999), (1, true));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let refused =
            |input: &[u8]| Requests::default().count(input, &mut LastHead::default()).is_err();
        assert!(refused(b"\0"));
        assert!(refused(b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n"));
        let mut long = b"GET / HTTP/1.1\r\nA: ".to_vec();
        long.resize(HEAD_BYTES_MAX, b'x');
        assert!(refused(&long));
        assert!(!refused(&long[..HEAD_BYTES_MAX - 1]));
    }
}
