//! A connection's socket as HTTP sees it: what the client speaks is known by its first bytes, a
//! client that takes too little is given up, and closing does not lose the last reply. What is said
//! on it is `http/connection`.

use crate::limits;
use crate::replies::Replies;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// Bytes of a refused request that are read at a time.
const DISCARD_BYTES: usize = 4_096;

/// Bytes of the opening that are read at a time. What comes first fits in most cases.
const OPENING_BYTES: usize = 2_048;

/// What every client that speaks HTTP/2 without asking first sends first (RFC 9113 §3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The type of the first record of a TLS connection (RFC 8446 §5.1). No HTTP method begins so.
const TLS_HANDSHAKE: u8 = 0x16;

/// What a client speaks, by the first bytes it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// It ended before it said anything.
    Nothing,
    /// HTTP/1, or nothing that is known here.
    Http1,
    Http2,
    Tls,
}

/// See the module.
pub(crate) struct Socket {
    stream: TcpStream,
    /// What was read to find out what the client speaks, and how much of it was passed on.
    opening: Vec<u8>,
    passed_on: usize,
    write_stall: Duration,
    /// Runs while the client takes too little.
    stall: Option<Stall>,
    replies: Rc<Replies>,
    closing: Closing,
    /// Whether the reply was sent before the request had been read to its end.
    is_unread: Rc<Cell<bool>>,
    /// Bytes that were written. Taken away by whoever looks.
    sent_bytes: Rc<Cell<usize>>,
}

/// A time in which the client has to take some of a reply.
struct Stall {
    until: Pin<Box<Sleep>>,
    taken_bytes: usize,
}

/// Where a close stands.
enum Closing {
    Open,
    /// The client has been told that nothing more comes. What it still sends is read and dropped.
    Lingering {
        until: Pin<Box<Sleep>>,
        left_bytes: usize,
    },
    Done,
}

impl Socket {
    /// `is_unread` is set by whoever answers without reading the request's whole body; what is
    /// written is added to `sent_bytes`.
    pub(crate) fn new(
        stream: TcpStream,
        write_stall: Duration,
        replies: Rc<Replies>,
        (is_unread, sent_bytes): (Rc<Cell<bool>>, Rc<Cell<usize>>),
    ) -> Self {
        Self {
            stream,
            opening: Vec::new(),
            passed_on: 0,
            write_stall,
            stall: None,
            replies,
            closing: Closing::Open,
            is_unread,
            sent_bytes,
        }
    }

    /// Waits for the first bytes and finds out what the client speaks. They are read again by
    /// whoever reads next. HTTP/1 is known by its first byte, or by the first that is not one of
    /// the preface of HTTP/2, so it waits for nothing.
    pub(crate) async fn opening(&mut self) -> io::Result<Opening> {
        poll_fn(|cx| self.poll_opening(cx)).await
    }

    fn poll_opening(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Opening>> {
        loop {
            let mut bytes = [0; OPENING_BYTES];
            let mut buffer = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer))?;
            let is_end = buffer.filled().is_empty();
            self.opening.extend_from_slice(buffer.filled());
            match opening(&self.opening) {
                Some(opening) => return Poll::Ready(Ok(opening)),
                None if is_end && self.opening.is_empty() => {
                    return Poll::Ready(Ok(Opening::Nothing));
                }
                None if is_end => return Poll::Ready(Ok(Opening::Http1)),
                None => {}
            }
        }
    }

    /// Passes on the result of a write, and ends one that makes too little progress.
    fn watch_stall(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(bytes)) => {
                self.sent_bytes.set(self.sent_bytes.get().wrapping_add(bytes));
                if let Some(stall) = &mut self.stall {
                    stall.taken_bytes += bytes;
                }
                written
            }
            Poll::Ready(Err(_)) => written,
            Poll::Pending => self.poll_stall(cx).map(Err),
        }
    }

    fn poll_stall(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let wait = self.write_stall;
        let stall = self
            .stall
            .get_or_insert_with(|| Stall { until: Box::pin(sleep(wait)), taken_bytes: 0 });
        while stall.until.as_mut().poll(cx).is_ready() {
            if stall.taken_bytes < self.replies.least_bytes() {
                let error = "the client takes its replies too slowly";
                return Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, error));
            }
            stall.taken_bytes = 0;
            stall.until.as_mut().reset(Instant::now() + wait);
        }
        Poll::Pending
    }

    /// Closing a socket that has unread bytes resets the connection, and the reset can overtake the
    /// reply (RFC 9112 §9.6). So the rest of a refused request is read for a while: always if it is
    /// known that there is more, otherwise only if some of it is here already.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Closing::Lingering { until, left_bytes } = &mut self.closing else {
            return Poll::Ready(Ok(()));
        };
        let mut discarded = [0; DISCARD_BYTES];
        loop {
            let mut buffer = ReadBuf::new(&mut discarded);
            match Pin::new(&mut self.stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    self.is_unread.set(true);
                    *left_bytes = left_bytes.saturating_sub(buffer.filled().len());
                    if *left_bytes == 0 {
                        break;
                    }
                }
                // The end, or an error: the connection is over either way, and the reply is sent.
                Poll::Ready(_) => break,
                Poll::Pending if !self.is_unread.get() => break,
                Poll::Pending => {
                    ready!(until.as_mut().poll(cx));
                    break;
                }
            }
        }
        self.closing = Closing::Done;
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.opening.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buffer);
        }
        let left = &self.opening[self.passed_on..];
        let (now, later) = left.split_at(left.len().min(buffer.remaining()));
        buffer.put_slice(now);
        let is_all = later.is_empty();
        self.passed_on += now.len();
        if is_all {
            // An idle connection keeps no memory for how it began.
            self.opening = Vec::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch_stall(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.watch_stall(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Whoever flushes has nothing left to write, so the client took it all.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stall = None;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if matches!(self.closing, Closing::Open) {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            let until = Box::pin(sleep(limits::LINGER_TIMEOUT));
            let left_bytes = limits::LINGER_BYTES_MAX;
            self.closing = Closing::Lingering { until, left_bytes };
        }
        self.poll_linger(cx)
    }
}

/// What begins with `bytes`, unless more are needed to tell.
fn opening(bytes: &[u8]) -> Option<Opening> {
    let first = *bytes.first()?;
    if first == TLS_HANDSHAKE {
        return Some(Opening::Tls);
    }
    if bytes.starts_with(PREFACE) {
        return Some(Opening::Http2);
    }
    (!PREFACE.starts_with(bytes)).then_some(Opening::Http1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_what_is_spoken() {
        assert_eq!(opening(b""), None);
        assert_eq!(opening(b"G"), Some(Opening::Http1));
        assert_eq!(opening(b"P"), None, "PUT, POST and PATCH begin so, too");
        assert_eq!(opening(b"PU"), Some(Opening::Http1));
        assert_eq!(opening(b"PRI * HTTP/1.1"), Some(Opening::Http1));
        assert_eq!(opening(&PREFACE[..PREFACE.len() - 1]), None);
        assert_eq!(opening(PREFACE), Some(Opening::Http2));
        assert_eq!(opening(&[PREFACE, b"more"].concat()), Some(Opening::Http2));
        assert_eq!(opening(&[0x16]), Some(Opening::Tls));
        assert_eq!(opening(b"\r\n"), Some(Opening::Http1));
    }
}
