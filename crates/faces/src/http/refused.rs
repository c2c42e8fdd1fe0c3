//! What is no request, or too large for one, so that hyper refuses it before anything here sees it.
//! hyper's own reply has a status and nothing else: it is withheld, and a problem is sent instead.
//!
//! In HTTP/2 there is no such reply: what is no request is a stream error (RFC 9113 §8.1.1).

use crate::http::rest;
use crate::limits;
use crate::problem::{Kind, Problem};
use hyper::StatusCode;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::SystemTime;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

/// The statuses that hyper gives by itself, all with `Connection: close`.
const STATUSES: [StatusCode; 3] = [
    StatusCode::BAD_REQUEST,
    StatusCode::URI_TOO_LONG,
    StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
];

/// The end of hyper's own reply up to its date, which has `DATE_BYTES`.
const EMPTY: &[u8] = b"content-length: 0\r\ndate: ";
const DATE_BYTES: usize = 29;

/// A connection's socket, to which hyper's own replies do not go.
///
/// Bytes alone do not tell them: a document may end with the same ones. So what looks like hyper's
/// last word is held. If the connection goes on, it was none, and it is sent before anything else
/// is read or written; if the connection ends with hyper's error, it was.
pub(super) struct Withholding<T> {
    io: T,
    /// What looks like hyper's own reply, from its first byte to its last.
    held: Vec<u8>,
}

impl<T> Withholding<T> {
    pub(super) fn new(io: T) -> Self {
        Self { io, held: Vec::new() }
    }
}

impl<T: AsyncWrite + Unpin> Withholding<T> {
    /// Sends what was held, which was no reply of hyper's.
    fn poll_release(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.held.is_empty() {
            match ready!(Pin::new(&mut self.io).poll_write(cx, &self.held))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                sent => drop(self.held.drain(..sent)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Ends the connection, of which hyper says that it ended so, and whose bytes `read` were left:
    /// with a problem in the place of hyper's own reply, or with what was held in vain. Says
    /// whether it was a refusal.
    pub(super) async fn end(mut self, ended: &hyper::Result<()>, read: &[u8]) -> bool {
        if self.held.is_empty() {
            return false;
        }
        // Why the connection ends is in `ended`; that its client has gone meanwhile adds nothing.
        match ended {
            Err(error) if error.is_parse() => {
                let _sent = reply(&mut self.io, &problem(error, read)).await;
                true
            }
            _ => {
                let _sent = send_last(&mut self.io, &self.held).await;
                false
            }
        }
    }
}

/// Where hyper's own reply begins, which is the last that it writes.
fn refusal(bytes: &[u8]) -> Option<usize> {
    let end = bytes.strip_suffix(b"\r\n\r\n")?;
    let date = end.len().checked_sub(DATE_BYTES)?;
    let fields = end[..date].strip_suffix(EMPTY)?;
    let fields = fields.strip_suffix(b"connection: close\r\n").unwrap_or(fields);
    let line = fields.strip_suffix(b"\r\n")?;
    STATUSES.iter().find_map(|status| {
        let reason = status.canonical_reason().unwrap_or_default();
        let rest = line.strip_suffix(format!(" {} {reason}", status.as_str()).as_bytes())?;
        let start = rest.strip_suffix(b"HTTP/1.1").or_else(|| rest.strip_suffix(b"HTTP/1.0"))?;
        Some(start.len())
    })
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for Withholding<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_release(cx))?;
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Withholding<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_release(cx))?;
        match refusal(bytes) {
            Some(0) => {
                self.held = bytes.to_vec();
                Poll::Ready(Ok(bytes.len()))
            }
            start => {
                let end = start.unwrap_or(bytes.len());
                Pin::new(&mut self.io).poll_write(cx, &bytes[..end])
            }
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_release(cx))?;
        let last = slices.iter().rposition(|slice| !slice.is_empty()).unwrap_or(0);
        let Some(bytes) = slices.get(last) else { return Poll::Ready(Ok(0)) };
        if refusal(bytes).is_none() {
            return Pin::new(&mut self.io).poll_write_vectored(cx, slices);
        }
        // What comes before goes first; hyper then comes again with the rest.
        match slices[..last].iter().any(|slice| !slice.is_empty()) {
            true => Pin::new(&mut self.io).poll_write_vectored(cx, &slices[..last]),
            false => self.poll_write(cx, bytes),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    /// While something is held, [`Withholding::end`] closes the connection.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.held.is_empty() {
            true => Pin::new(&mut self.io).poll_shutdown(cx),
            false => Poll::Ready(Ok(())),
        }
    }
}

/// What is wrong with `read`, the bytes that hyper refused with `error`.
fn problem(error: &hyper::Error, read: &[u8]) -> Problem {
    if !error.is_parse_too_large() {
        let detail = format!(
            "{error}: expected a request of HTTP/1.1 (RFC 9112); what a URI cannot have, such as a \
             space or <, is percent-encoded in it"
        );
        return Problem::new(Kind::BadRequest, detail);
    }
    match target_bytes(read) {
        // There may be more of it than was read.
        bytes if bytes > limits::URI_BYTES_MAX => rest::uri_too_long(&format!("{bytes} or more")),
        _ => rest::fields_too_large(),
    }
}

/// The length of the target in the request line, as far as it was read.
fn target_bytes(read: &[u8]) -> usize {
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let start = read.iter().position(|byte| !is_end(byte)).unwrap_or(read.len());
    let line = read[start..].split(is_end).next().unwrap_or_default();
    line.split(|byte| *byte == b' ').nth(1).map_or(0, <[u8]>::len)
}

/// Sends `problem` as the last reply of the connection, and closes it.
pub(super) async fn reply(io: &mut (impl AsyncWrite + Unpin), problem: &Problem) -> io::Result<()> {
    let status = StatusCode::from_u16(problem.status()).unwrap_or(StatusCode::BAD_REQUEST);
    let reason = status.canonical_reason().unwrap_or_default();
    let date = httpdate::fmt_http_date(SystemTime::now());
    let body = problem.to_json();
    let reply = format!(
        "HTTP/1.1 {} {reason}\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\n\
         connection: close\r\ndate: {date}\r\n\r\n{body}",
        status.as_str(),
        body.len()
    );
    send_last(io, reply.as_bytes()).await
}

/// Sends the last bytes of a connection, and closes it.
async fn send_last(io: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    io.write_all(bytes).await?;
    io.flush().await?;
    io.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(version: &str, status: &str, more: &str) -> Vec<u8> {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        format!("{version} {status}\r\n{more}content-length: 0\r\ndate: {date}\r\n\r\n").into()
    }

    #[test]
    fn hypers_own_reply_is_told_from_others() {
        let close = "connection: close\r\n";
        for status in ["400 Bad Request", "414 URI Too Long", "431 Request Header Fields Too Large"]
        {
            for version in ["HTTP/1.1", "HTTP/1.0"] {
                for more in [close, ""] {
                    let own = own(version, status, more);
                    assert_eq!(refusal(&own), Some(0), "{version} {status} {more}");
                    let behind = [b"HTTP/1.1 200 OK\r\n\r\nab".as_slice(), &own].concat();
                    assert_eq!(refusal(&behind), Some(21));
                    assert_eq!(refusal(&own[1..]), None);
                    assert_eq!(refusal(&own[..own.len() - 1]), None);
                }
            }
        }
        for other in [
            own("HTTP/1.1", "404 Not Found", close),
            own("HTTP/1.1", "400 Bad Request", "content-type: a/b\r\n"),
            own("HTTP/2.0", "400 Bad Request", close),
            Vec::new(),
        ] {
            assert_eq!(refusal(&other), None);
        }
    }

    #[test]
    fn the_target_is_what_stands_between_method_and_version() {
        for (read, bytes) in [
            ("", 0),
            ("GET", 0),
            ("GET /ab", 3),
            ("\r\n\r\nGET /ab HTTP/1.1\r\nHost: h\r\n", 3),
            ("GET /ab HTTP/1.1\nA: bcdefg hijklmnop\n", 3),
        ] {
            assert_eq!(target_bytes(read.as_bytes()), bytes, "{read}");
        }
    }
}
