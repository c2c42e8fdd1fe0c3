//! A connection's bytes in both directions, with what waits to be read and to be sent.

use crate::http1::Deadline;
use crate::transport::{Failure, Link, Server, Stream};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// See above.
pub(crate) struct Line {
    pub(super) server: Rc<Server>,
    stream: Stream,
    /// What has come and is not done with.
    pub(super) incoming: Vec<u8>,
    /// What is to be sent, of which so much has been.
    outgoing: Vec<u8>,
    sent: usize,
    /// Bytes received.
    pub(super) received: u64,
    pub(super) deadline: Deadline,
}

/// What of buffers stays while nothing is in them.
const IDLE_BYTES_MAX: usize = 4 << 10;

impl Line {
    /// Opens a connection, on the user's line if that is bound.
    ///
    /// # Errors
    /// [`Failure::Connect`], [`Failure::Tls`], or [`Failure::Timeout`] at the deadline.
    pub(crate) async fn open(
        server: &Rc<Server>,
        link: Option<&Rc<Link>>,
        deadline: Instant,
    ) -> Result<Self, Failure> {
        let opening = tokio::time::timeout_at(deadline, server.open());
        let stream = opening.await.map_err(|_elapsed| Failure::Timeout)??.on(link);
        Ok(Self {
            server: Rc::clone(server),
            stream,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            sent: 0,
            received: 0,
            deadline: Deadline::new(deadline),
        })
    }

    /// Where what is to be sent is put.
    pub(super) fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.outgoing
    }

    /// Bytes that wait to be sent.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.outgoing.len() - self.sent
    }

    pub(super) fn is_flushed(&self) -> bool {
        self.outgoing.is_empty()
    }

    /// So many bytes of what has come are done with.
    pub(super) fn use_up(&mut self, bytes: usize) {
        self.incoming.drain(..bytes);
        if self.incoming.is_empty() {
            self.incoming.shrink_to(IDLE_BYTES_MAX);
        }
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        while self.sent < self.outgoing.len() {
            let rest = &self.outgoing[self.sent..];
            match Pin::new(&mut self.stream).poll_write(cx, rest) {
                Poll::Ready(Ok(0)) => {
                    return Poll::Ready(Err(Failure::Broken(io::ErrorKind::WriteZero.into())));
                }
                Poll::Ready(Ok(bytes)) => self.sent += bytes,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(Failure::of_io(error))),
                Poll::Pending => return Poll::Pending,
            }
        }
        if !self.outgoing.is_empty() {
            self.outgoing.clear();
            self.outgoing.shrink_to(IDLE_BYTES_MAX);
            self.sent = 0;
        }
        if !self.stream.holds_back() {
            return Poll::Ready(Ok(()));
        }
        match Pin::new(&mut self.stream).poll_flush(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(Failure::of_io(error))),
            Poll::Ready(Ok(())) => Poll::Ready(Ok(())),
            Poll::Pending => Poll::Pending,
        }
    }

    /// Reads what is there, and says how many bytes: none at the end.
    pub(super) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, Failure>> {
        let mut buffer = self.server.buffer.borrow_mut();
        let mut unfilled = ReadBuf::new(&mut buffer);
        match Pin::new(&mut self.stream).poll_read(cx, &mut unfilled) {
            Poll::Ready(Ok(())) => {
                let bytes = unfilled.filled();
                self.incoming.extend_from_slice(bytes);
                self.received += bytes.len() as u64;
                Poll::Ready(Ok(bytes.len()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(Failure::of_io(error))),
            Poll::Pending => Poll::Pending,
        }
    }
}
