//! How a request's body is framed (RFC 9112 §6), as far as hyper leaves it open: the one transfer
//! coding that is known is `chunked`.

use crate::problem::{Kind, Problem};
use hyper::header::{HeaderMap, TRANSFER_ENCODING};

/// RFC 9112 §6.1: a request in a coding that is not understood is a 501. hyper has made sure that
/// `chunked` is the last coding; what comes before it would be taken for the content.
pub(crate) fn check(headers: &HeaderMap) -> Result<(), Problem> {
    let mut lines = headers.get_all(TRANSFER_ENCODING).iter();
    let Some(first) = lines.next() else { return Ok(()) };
    if lines.next().is_none() && first.as_bytes().eq_ignore_ascii_case(b"chunked") {
        return Ok(());
    }
    let detail = "a body is sent as it is or in the transfer coding chunked, once; send it without \
                  any other coding";
    Err(Problem::new(Kind::TransferCoding, detail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn is_taken(lines: &[&'static str]) -> bool {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(TRANSFER_ENCODING, HeaderValue::from_static(line));
        }
        check(&headers).is_ok()
    }

    #[test]
    fn rfc9112_6_1_only_chunked_is_understood() {
        assert!(is_taken(&[]));
        assert!(is_taken(&["chunked"]));
        assert!(is_taken(&["Chunked"]));
        for lines in [&["gzip, chunked"][..], &["chunked, chunked"], &["gzip", "chunked"]] {
            assert!(!is_taken(lines), "{lines:?}");
        }
    }
}
