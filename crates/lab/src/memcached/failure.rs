//! Why a command to a cache failed.

use crate::measure::ErrorClass;
use crate::transport;
use thiserror::Error;
use wire::memcached::KeyError;
use wire::memcached::reply::Malformed;

/// Why a command failed.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Transport(#[from] transport::Failure),
    #[error("{0}")]
    Malformed(#[from] Malformed),
    /// An answer to something else.
    #[error("the server answered what was not asked: {0}")]
    Unexpected(String),
    /// An error line.
    #[error("{0}")]
    Refused(String),
    /// A value that does not belong to its key.
    #[error(
        "the value of {key} is not the one that was stored: {bytes} bytes, expected {expected}"
    )]
    Wrong {
        /// The key.
        key: String,
        /// How long it is.
        bytes: usize,
        /// How long it should be.
        expected: usize,
    },
    /// A key that cannot be sent.
    #[error("the key \"{key}\" cannot be sent: {fault}")]
    Key {
        /// The key.
        key: String,
        /// Why.
        fault: KeyError,
    },
}

impl Failure {
    pub(crate) fn class(&self) -> ErrorClass {
        match self {
            Self::Transport(failure) => failure.class(),
            Self::Malformed(_) | Self::Unexpected(_) => ErrorClass::Malformed,
            Self::Refused(_) | Self::Key { .. } => ErrorClass::Refused,
            Self::Wrong { .. } => ErrorClass::Check,
        }
    }
}
