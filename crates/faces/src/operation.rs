//! Operations: what a face asks of the repository, and what comes of it. Nothing here knows the
//! protocol that the request came by; `execute` runs an operation.

use crate::preconditions::Preconditions;
use bytes::Bytes;
use repository::{CollectionName, CommitNumber, Document, Key, KeyRandomness, MediaType};
use std::sync::Arc;

/// The place of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub collection: CollectionName,
    pub key: Key,
}

/// A document on its way in. A JSON body is canonical.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub media_type: MediaType,
    pub body: Bytes,
}

/// A request to the repository: one transaction.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// Read a document.
    Get { place: Place, preconditions: Preconditions },
    /// Write a document, whether there is one or not.
    Put { place: Place, content: Content, preconditions: Preconditions },
    /// Remove a document that is there.
    Delete { place: Place, preconditions: Preconditions },
    /// Write a document under a key made from the view's time and `randomness`.
    Create {
        collection: CollectionName,
        content: Content,
        randomness: KeyRandomness,
        preconditions: Preconditions,
    },
    /// Say whether commits can be made durable.
    CheckHealth,
}

/// What an operation came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The document as stored.
    Found(Arc<Document>),
    /// The asker has this version already.
    NotModified { version: CommitNumber },
    /// A document was written where there was none; `made_at` when the key was generated.
    Created { version: CommitNumber, made_at: Option<Place> },
    /// A document was written over another.
    Replaced { version: CommitNumber },
    /// A document was removed.
    Deleted,
    /// Commits can be made durable.
    Healthy,
}
