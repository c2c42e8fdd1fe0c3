//! What can go wrong with a blob.

use super::BlobHash;
use crate::errors::ReadError;
use crate::limits;
use std::path::PathBuf;
use thiserror::Error;

/// Why a blob could not be written or read.
#[derive(Debug, Error)]
pub enum BlobError {
    /// A file system call failed. Of a blob that was being written nothing is left.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried: "write", "sync", ...
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// What is on disk is not what was written.
    #[error(
        "the blob {hash} is damaged: {why}. Restore it from a backup; `sarsen verify --data DIR` \
         lists the documents that name it"
    )]
    Damaged {
        /// The blob.
        hash: BlobHash,
        /// What was expected and what was found.
        why: String,
    },
    /// Who names it could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// More bytes came than were allowed.
    #[error("the content has at most {max} bytes")]
    TooLarge {
        /// How many may come.
        max: u64,
    },
    /// The disk is nearly full: see [`crate::limits::RESERVE_BYTES`].
    #[error(
        "the disk is nearly full: {} MiB are free, {} MiB are to stay so",
        free_bytes >> 20,
        reserve_bytes >> 20
    )]
    NoSpace {
        /// Bytes that are free.
        free_bytes: u64,
        /// Bytes that are to be.
        reserve_bytes: u64,
    },
    /// Too many are being written at once.
    #[error(
        "{max} blobs are being written at once; try again when one of them is done",
        max = limits::BLOB_WRITERS_MAX
    )]
    TooManyWriters,
}

impl BlobError {
    /// Whether the disk is full, or nearly so.
    pub fn is_out_of_space(&self) -> bool {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        match self {
            Self::NoSpace { .. } => true,
            Self::Io { source, .. } => matches!(source.kind(), StorageFull | QuotaExceeded),
            _ => false,
        }
    }
}

pub(super) fn io_error(
    action: &'static str,
    path: &std::path::Path,
) -> impl FnOnce(std::io::Error) -> BlobError {
    move |source| BlobError::Io { action, path: path.to_owned(), source }
}
