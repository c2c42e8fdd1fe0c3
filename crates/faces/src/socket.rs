//! A connection's socket as HTTP sees it: a client that takes nothing is given up, and closing does
//! not lose the last reply. What is said on it is `http/connection`.

use crate::limits;
use std::cell::Cell;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// Bytes of a refused request that are read at a time.
const DISCARD_BYTES: usize = 4_096;

/// See the module.
pub(crate) struct Socket {
    stream: TcpStream,
    write_stall: Duration,
    /// Runs while the client takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
    closing: Closing,
    /// Whether the reply was sent before the request had been read to its end.
    is_unread: Rc<Cell<bool>>,
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
    /// `is_unread` is set by whoever answers without reading the request's whole body.
    pub(crate) fn new(stream: TcpStream, write_stall: Duration, is_unread: Rc<Cell<bool>>) -> Self {
        Self { stream, write_stall, stalled: None, closing: Closing::Open, is_unread }
    }

    /// Passes on the result of a write, and ends the wait of one that stands still for too long.
    fn watch_stall<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let wait = self.write_stall;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(wait)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes no reply")))
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
        Pin::new(&mut self.stream).poll_read(cx, buffer)
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

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
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
