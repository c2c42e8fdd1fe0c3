//! Why a request got no reply.

use crate::http1::Malformed;
use crate::measure::ErrorClass;
use std::io;
use thiserror::Error;
use tokio_rustls::rustls;

/// Why a request got no reply.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    #[error("{0}")]
    Tls(String),
    #[error("no complete reply")]
    Timeout,
    /// A message that was waited for did not come.
    #[error("{0}")]
    Silent(String),
    #[error("the server closed the connection {0}")]
    Closed(&'static str),
    #[error("the connection broke: {0}")]
    Broken(io::Error),
    /// Of a connection that several users share.
    #[error("the connection was given up because {0}")]
    GivenUp(&'static str),
    /// A stream or a connection of HTTP/2 was given up by the server.
    #[error("the server {0}")]
    Reset(String),
    #[error("{0}")]
    Malformed(#[from] Malformed),
    /// The server has said that it did not process the request, and why it is not sent again.
    #[error("the server ended the connection {0} times before it came to the request")]
    Unprocessed(usize),
}

impl Failure {
    /// Of what the operating system or TLS says of a connection that was made.
    pub(crate) fn of_io(error: io::Error) -> Self {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(tls) => Self::Tls(format!("TLS failed: {tls}")),
            None => Self::Broken(error),
        }
    }

    pub(crate) fn class(&self) -> ErrorClass {
        match self {
            Self::Connect(_) => ErrorClass::Connect,
            Self::Tls(_) => ErrorClass::Tls,
            Self::Timeout | Self::Silent(_) => ErrorClass::Timeout,
            Self::Closed(_)
            | Self::Broken(_)
            | Self::GivenUp(_)
            | Self::Reset(_)
            | Self::Unprocessed(_) => ErrorClass::Closed,
            Self::Malformed(_) => ErrorClass::Malformed,
        }
    }
}
