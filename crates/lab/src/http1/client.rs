//! One user's side of HTTP/1.1: a connection, opened when it is needed, kept while the server
//! keeps it and never used again after anything went wrong. It counts what it receives and measures
//! nothing else.

use super::cookies::Jar;
use super::deadline::Deadline;
use super::head::Malformed;
use super::reply::{Reply, ReplyReader};
use crate::limits::HEAD_BYTES_MAX;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// Why a hit got no reply.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    #[error("no complete reply")]
    Timeout,
    #[error("the server closed the connection {0}")]
    Closed(&'static str),
    #[error("the connection broke: {0}")]
    Broken(io::Error),
    #[error("{0}")]
    Malformed(#[from] Malformed),
}

/// A user's connection.
pub(crate) struct Client {
    address: SocketAddr,
    /// The connection between two hits, if the server keeps it.
    idle: Option<TcpStream>,
    /// Holds at most one head; bodies pass through it.
    buffer: Box<[u8]>,
    deadline: Deadline,
    /// Bytes received over all connections so far.
    pub(crate) received: u64,
    /// Connections opened so far.
    pub(crate) opened: u64,
}

impl Client {
    /// A client without a connection. Must be made inside a runtime.
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            idle: None,
            buffer: vec![0; HEAD_BYTES_MAX].into_boxed_slice(),
            deadline: Deadline::new(Instant::now()),
            received: 0,
            opened: 0,
        }
    }

    /// The kept connection, or a new one. Whatever happens next must be over at `deadline`.
    ///
    /// # Errors
    /// [`Failure::Connect`], or [`Failure::Timeout`] at the deadline.
    pub(crate) async fn connect(&mut self, deadline: Instant) -> Result<TcpStream, Failure> {
        self.deadline.move_to(deadline);
        if let Some(stream) = self.idle.take() {
            return Ok(stream);
        }
        let connecting = TcpStream::connect(self.address);
        let stream = tokio::time::timeout_at(deadline, connecting)
            .await
            .map_err(|_| Failure::Timeout)?
            .map_err(Failure::Connect)?;
        stream.set_nodelay(true).map_err(Failure::Connect)?;
        self.opened += 1;
        Ok(stream)
    }

    /// Sends a request and reads the reply to its last byte. The connection is kept unless the
    /// server closes it or something is wrong.
    ///
    /// # Errors
    /// Anything but [`Failure::Connect`].
    pub(crate) async fn exchange(
        &mut self,
        stream: TcpStream,
        request: &[u8],
        is_head: bool,
        jar: &mut Jar,
    ) -> Result<Reply, Failure> {
        let reader = ReplyReader::new(is_head);
        let mut exchange =
            Exchange { client: self, stream, request, sent: 0, reader, pending: 0, jar };
        let reply = poll_fn(|cx| exchange.poll(cx)).await?;
        let Exchange { stream, sent, .. } = exchange;
        // A server may refuse a request before it has read it all: what is left would be taken
        // for the next one.
        if reply.keep_alive && sent == request.len() {
            self.idle = Some(stream);
        }
        Ok(reply)
    }
}

/// A request on its way out and its reply on its way in.
struct Exchange<'a> {
    client: &'a mut Client,
    stream: TcpStream,
    request: &'a [u8],
    /// Bytes of the request that are with the kernel.
    sent: usize,
    reader: ReplyReader,
    /// Bytes at the start of the client's buffer that the reader wants to see again.
    pending: usize,
    jar: &'a mut Jar,
}

impl Exchange<'_> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Reply, Failure>> {
        let sending = self.poll_send(cx);
        if let Poll::Ready(result) = self.poll_reply(cx) {
            return Poll::Ready(result);
        }
        // Only after reading: a server that refuses a request early may close its side while
        // its reply waits here.
        if let Poll::Ready(Err(error)) = sending {
            return Poll::Ready(Err(Failure::Broken(error)));
        }
        self.client.deadline.poll_past(cx).map(|()| Err(Failure::Timeout))
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
        Poll::Ready(Ok(()))
    }

    fn poll_reply(&mut self, cx: &mut Context<'_>) -> Poll<Result<Reply, Failure>> {
        loop {
            // Never empty: the reader refuses a head that fills the buffer.
            let mut unfilled = ReadBuf::new(&mut self.client.buffer[self.pending..]);
            match Pin::new(&mut self.stream).poll_read(cx, &mut unfilled) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(Failure::Broken(error))),
                Poll::Pending => return Poll::Pending,
            }
            let bytes = unfilled.filled().len();
            if bytes == 0 {
                return Poll::Ready(self.reader.close(self.pending).map_err(Failure::Closed));
            }
            match self.take(bytes) {
                Ok(None) => {}
                Ok(Some(reply)) => return Poll::Ready(Ok(reply)),
                Err(malformed) => return Poll::Ready(Err(malformed.into())),
            }
        }
    }

    /// Hands the reader what it has not seen of the buffer.
    fn take(&mut self, bytes: usize) -> Result<Option<Reply>, Malformed> {
        self.client.received += bytes as u64;
        let filled = self.pending + bytes;
        let input = &self.client.buffer[..filled];
        let (used, reply) = self.reader.advance(input, self.jar)?;
        self.pending = filled - used;
        if reply.is_some() && self.pending > 0 {
            return Err(Malformed::Surplus(self.pending));
        }
        self.client.buffer.copy_within(used..filled, 0);
        Ok(reply)
    }
}
