//! A connection's bytes, with TLS around them or without.

use super::pace::{Link, Paced};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// A connection.
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    /// One of those, on a user's line that lets only so much through.
    Paced(Box<Paced>),
}

impl Stream {
    /// On this line, if it is bound.
    pub(crate) fn on(self, link: Option<&Rc<Link>>) -> Self {
        match link {
            Some(link) => Self::Paced(Box::new(Paced::new(self, Rc::clone(link)))),
            None => self,
        }
    }

    /// Whether what was written may need to be flushed: TLS may hold back what it has encrypted.
    pub(crate) fn holds_back(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(_) => true,
            Self::Paced(paced) => paced.stream.holds_back(),
        }
    }

    /// Whether the server has closed a connection on which nothing is under way, or sent what
    /// nobody asked for. Costs no system call while nothing has come.
    pub(crate) fn is_over(&mut self) -> bool {
        if let Self::Paced(paced) = self {
            return paced.stream.is_over();
        }
        let mut byte = [0];
        let mut context = Context::from_waker(Waker::noop());
        Pin::new(self).poll_read(&mut context, &mut ReadBuf::new(&mut byte)).is_ready()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Paced(stream) => Pin::new(stream.as_mut()).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Paced(stream) => Pin::new(stream.as_mut()).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
            Self::Paced(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Paced(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
        }
    }
}
