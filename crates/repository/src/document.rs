//! A document: a representation (media type and bytes) with its meta.

use crate::blobs::BlobReference;
use bytes::Bytes;
use std::fmt;
use std::sync::Arc;

/// A commit's place in the total order; also the version, and so the ETag, of each document that
/// the commit wrote. The first commit is 1; 0 is the empty repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitNumber(pub u64);

impl CommitNumber {
    /// The number after this one.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for CommitNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(pub u64);

/// The media type of a document's bytes (RFC 9110 §8.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediaType {
    /// `application/json`; the bytes are canonical text as [`crate::json`] defines it.
    Json,
    /// Anything else, as it was sent.
    Other(Arc<str>),
}

impl MediaType {
    /// The media type as a Content-Type value.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Json => "application/json",
            Self::Other(name) => name,
        }
    }
}

/// One version of a document. Immutable and shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// What `body` is.
    pub media_type: MediaType,
    /// The stored bytes, served as they are; none, where they are a blob.
    pub body: Bytes,
    /// Where the bytes are, if they are not in `body`. Never so for JSON.
    pub blob: Option<BlobReference>,
    /// The commit that wrote this version.
    pub version: CommitNumber,
    /// The time of the commit that created the document.
    pub created: Timestamp,
    /// The time of the commit that wrote this version.
    pub updated: Timestamp,
    /// From this time on the document is invisible.
    pub expires: Option<Timestamp>,
}

/// The same bytes in an allocation of just their size. What a caller hands over may be a small part
/// of a large buffer, or have room to grow, and memory would hold all of that as long as the
/// document.
pub(crate) fn tight(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

impl Document {
    /// How many bytes its content has, wherever they are.
    pub fn length(&self) -> u64 {
        self.blob.map_or(self.body.len() as u64, |blob| blob.length)
    }

    /// Whether the document is invisible to a view taken at `now`.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|at| at <= now)
    }
}
