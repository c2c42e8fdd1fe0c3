//! Operations: what a face asks of the repository, and what comes of it. Nothing here knows the
//! protocol that the request came by; `execute` runs an operation.

use crate::preconditions::Preconditions;
use bytes::Bytes;
use repository::{
    CollectionName, CommitNumber, Document, Durability, Key, KeyRandomness, MediaType,
};
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
}

/// What an operation came to, when it may be told.
#[derive(Debug)]
pub(crate) struct Executed {
    pub outcome: Outcome,
    /// The newest commit that the outcome shows: its own, or that of the view. `None` where it is
    /// not about documents.
    pub commit: Option<CommitNumber>,
    /// What the outcome promises, if it wrote.
    pub durability: Option<Durability>,
}

/// What an operation came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The document as stored.
    Found(Arc<Document>),
    /// The asker has this version already.
    NotModified { version: CommitNumber },
    /// A document was written.
    Written(Written),
    /// A document was removed.
    Deleted,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// Whether there was none before.
    pub is_new: bool,
    /// Where it is, when the key was made here.
    pub made_at: Option<Place>,
}
