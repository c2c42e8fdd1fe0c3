//! How a request's body is framed (RFC 9112 §6, §7.1), as far as hyper leaves it open: the one
//! transfer coding that is known is `chunked`, and only a body whose end is beyond doubt is
//! followed by another request.
//!
//! hyper finds the end of the trailer section by lines that end with CR LF, and then has its fields
//! read by rules that take LF alone for a line end, too (RFC 9112 §2.2 allows both). A proxy that
//! keeps to the latter sees the body end earlier than hyper does. So whatever stands between the
//! last chunk and the empty line, no request is taken from what follows. Nothing is parsed here for
//! that: hyper tells of a trailer section, even of one without fields, and it tells who reads.

use crate::problem::{Kind, Problem};
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{HeaderMap, TRANSFER_ENCODING};
use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// A request's body on its way.
pub(crate) struct Framed {
    incoming: Incoming,
    /// Whether it had a trailer section, or was broken off.
    is_doubtful: bool,
    /// Told when it has ended without a trailer section, if somebody asked.
    ending: Option<Ending>,
}

/// Whether a body was read to its end and had no trailer section: then every recipient sees it end
/// in the same place.
#[derive(Clone, Default)]
pub(crate) struct Ending(Rc<Cell<bool>>);

impl Ending {
    pub(crate) fn is_certain(&self) -> bool {
        self.0.get()
    }
}

impl Framed {
    pub(crate) fn new(incoming: Incoming) -> Self {
        Self { incoming, is_doubtful: false, ending: None }
    }

    /// Tells from now on how it ends.
    pub(crate) fn watch(&mut self) -> Ending {
        self.ending.get_or_insert_default().clone()
    }
}

impl Body for Framed {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let next = ready!(Pin::new(&mut self.incoming).poll_frame(cx));
        match &next {
            Some(Ok(frame)) => self.is_doubtful |= frame.is_trailers(),
            // What is broken off is as doubtful as what has a trailer section.
            Some(Err(_)) => self.is_doubtful = true,
            None => {
                if let Some(ending) = &self.ending {
                    ending.0.set(!self.is_doubtful);
                }
            }
        }
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

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
