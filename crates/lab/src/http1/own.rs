//! HTTP/1.1 on a connection of the user's own, one request at a time: opened when it is needed,
//! kept while the server keeps it and never used again after anything went wrong.

use super::deadline::Deadline;
use super::head::{Malformed, Taking};
use super::reply::ReplyReader;
use crate::transport::{Failure, Link, Reading, Reply, Server, Stream};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A user's connection.
#[derive(Default)]
pub(crate) struct Own {
    /// The connection between two requests, if there is one.
    idle: Option<Stream>,
    /// What came of a head that is not complete. Bodies are not kept.
    pending: Vec<u8>,
}

impl Own {
    /// Whether there is a connection that the server still keeps.
    pub(crate) fn is_ready(&mut self) -> bool {
        if self.idle.as_mut().is_some_and(Stream::is_over) {
            self.idle = None;
        }
        self.idle.is_some()
    }

    /// Opens a connection, on the user's line if that is bound.
    ///
    /// # Errors
    /// [`Failure::Connect`] or [`Failure::Tls`].
    pub(crate) async fn open(
        &mut self,
        server: &Server,
        link: Option<&Rc<Link>>,
    ) -> Result<(), Failure> {
        self.idle = Some(server.open().await?.on(link));
        Ok(())
    }

    /// Sends the begin of a request, and closes the connection.
    ///
    /// # Errors
    /// [`Failure::Closed`], or that of the socket.
    pub(crate) async fn cut(&mut self, begin: &[u8]) -> Result<(), Failure> {
        let mut stream = self.idle.take().ok_or(Failure::Closed("before it was used"))?;
        let mut sent = 0;
        poll_fn(|cx| {
            while sent < begin.len() {
                match ready!(Pin::new(&mut stream).poll_write(cx, &begin[sent..])) {
                    Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    Ok(bytes) => sent += bytes,
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
            Pin::new(&mut stream).poll_flush(cx)
        })
        .await
        .map_err(Failure::of_io)
    }

    /// Sends a request and reads the reply to its last byte, until the deadline. Counts what it
    /// receives.
    ///
    /// # Errors
    /// Anything but [`Failure::Connect`].
    pub(crate) async fn exchange(
        &mut self,
        server: &Server,
        request: &[u8],
        reading: &mut Reading<'_>,
        (deadline, received): (&mut Deadline, &mut u64),
    ) -> Result<Reply, Failure> {
        let stream = self.idle.take().ok_or(Failure::Closed("before it was used"))?;
        self.pending.clear();
        let reader = ReplyReader::new();
        let pending = &mut self.pending;
        let mut exchange =
            Exchange { server, stream, request, sent: 0, reader, pending, reading, received };
        let reply = poll_fn(|cx| match exchange.poll(cx) {
            Poll::Ready(outcome) => Poll::Ready(outcome),
            Poll::Pending => deadline.poll_past(cx).map(|()| Err(Failure::Timeout)),
        })
        .await?;
        let Exchange { stream, sent, .. } = exchange;
        // A server may refuse a request before it has read it all: what is left would be taken
        // for the next one.
        if reply.keep_alive && server.route.keep_alive && sent == request.len() {
            self.idle = Some(stream);
        }
        Ok(reply)
    }
}

/// A request on its way out and its reply on its way in.
struct Exchange<'a, 'r> {
    server: &'a Server,
    stream: Stream,
    request: &'a [u8],
    /// Bytes of the request that are with the kernel, or with TLS.
    sent: usize,
    reader: ReplyReader,
    /// Bytes that the reader wants to see again.
    pending: &'a mut Vec<u8>,
    reading: &'a mut Reading<'r>,
    received: &'a mut u64,
}

impl Exchange<'_, '_> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Reply, Failure>> {
        let sending = self.poll_send(cx);
        if let Poll::Ready(result) = self.poll_reply(cx) {
            return Poll::Ready(result);
        }
        // Only after reading: a server that refuses a request early may close its side while
        // its reply waits here.
        match sending {
            Poll::Ready(Err(error)) => Poll::Ready(Err(Failure::of_io(error))),
            _ => Poll::Pending,
        }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.request.len() {
            let rest = &self.request[self.sent..];
            match Pin::new(&mut self.stream).poll_write(cx, rest) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(bytes)) => self.sent += bytes,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        match self.stream.holds_back() {
            true => Pin::new(&mut self.stream).poll_flush(cx),
            false => Poll::Ready(Ok(())),
        }
    }

    fn poll_reply(&mut self, cx: &mut Context<'_>) -> Poll<Result<Reply, Failure>> {
        let mut buffer = self.server.buffer.borrow_mut();
        loop {
            // Less than a head, which is less than the buffer.
            let pending = self.pending.len();
            buffer[..pending].copy_from_slice(self.pending);
            let mut unfilled = ReadBuf::new(&mut buffer[pending..]);
            match Pin::new(&mut self.stream).poll_read(cx, &mut unfilled) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(Failure::of_io(error))),
                Poll::Pending => return Poll::Pending,
            }
            let bytes = unfilled.filled().len();
            if bytes == 0 {
                return Poll::Ready(self.reader.close(pending).map_err(Failure::Closed));
            }
            *self.received += bytes as u64;
            match self.take(&buffer[..pending + bytes]) {
                Ok(None) => {}
                Ok(Some(reply)) => return Poll::Ready(Ok(reply)),
                Err(malformed) => return Poll::Ready(Err(malformed.into())),
            }
        }
    }

    fn take(&mut self, input: &[u8]) -> Result<Option<Reply>, Malformed> {
        let jar = self.reading.jar;
        let mut taking = Taking {
            is_head: self.reading.is_head,
            set_cookie: &mut |value| jar.borrow_mut().store(value),
            kept: self.reading.kept.as_deref_mut(),
            heads: &mut self.server.heads.borrow_mut(),
        };
        let (used, reply) = self.reader.advance(input, &mut taking)?;
        let rest = &input[used..];
        if reply.is_some() && !rest.is_empty() {
            return Err(Malformed::Surplus(rest.len()));
        }
        self.pending.clear();
        self.pending.extend_from_slice(rest);
        Ok(reply)
    }
}
