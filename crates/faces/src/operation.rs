//! Operations: what a face asks of the repository, and what comes of it. Nothing here knows the
//! protocol that the request came by; `execute` runs an operation.

use crate::acceptable::Acceptable;
use crate::collections::Listing;
use crate::patch::Patch;
use crate::preconditions::Preconditions;
use bytes::Bytes;
use query::{Listed, Query};
use repository::{
    CollectionName, CommitNumber, Document, Durability, Ending, Isolation, Key, KeyRandomness,
    MediaType, Moment, PinnedBlob, Timestamp,
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
    /// Where the content is, if it is not in `body`.
    pub blob: Option<PinnedBlob>,
}

/// What a reply to a write shows of the document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Returns {
    /// Nothing, and nobody asked.
    #[default]
    Unasked,
    /// Nothing, as was asked.
    Minimal,
    /// All of it.
    Representation,
}

/// A request to the repository: one transaction.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// Read a document.
    Get { place: Place, preconditions: Preconditions, acceptable: Option<Box<Acceptable>> },
    /// Read a version of a document that was there at a moment.
    Past {
        place: Place,
        at: Moment,
        preconditions: Preconditions,
        acceptable: Option<Box<Acceptable>>,
    },
    /// List the versions of a document, those before a commit.
    Versions { place: Place, before: Option<CommitNumber>, limit: usize },
    /// Write the version again that was there after a commit.
    Restore { place: Place, from: CommitNumber, preconditions: Preconditions, returns: Returns },
    /// Write a document, whether there is one or not.
    Put { place: Place, content: Content, preconditions: Preconditions, returns: Returns },
    /// Change a document in part.
    Patch { place: Place, patch: Patch, preconditions: Preconditions, returns: Returns },
    /// Remove a document that is there.
    Delete { place: Place, preconditions: Preconditions },
    /// Write a document under a new key.
    Create {
        collection: CollectionName,
        content: Content,
        name: NewKey,
        preconditions: Preconditions,
        returns: Returns,
    },
    /// List documents.
    Query(Box<Query>),
    /// List collections, those that may be read.
    ListCollections(Listing),
    /// Say what a collection is and how far its indexes are.
    DescribeCollection(CollectionName),
    /// Read the settings of a collection.
    GetSettings { collection: CollectionName, preconditions: Preconditions },
    /// Change the settings of a collection.
    Configure {
        collection: CollectionName,
        change: SettingsChange,
        preconditions: Preconditions,
        returns: Returns,
    },
    /// Take all documents of a collection away, or the collection as a whole.
    End { collection: CollectionName, ending: Ending, preconditions: Preconditions },
    /// Perform several, all or none.
    Transact(Transact),
    /// Perform it unless it was performed before.
    Once(Box<Once>),
}

/// What should become of settings.
#[derive(Clone, Debug)]
pub(crate) enum SettingsChange {
    /// They become this JSON text.
    Put(String),
    /// They are changed in part: a merge patch or a JSON Patch.
    Patch(Patch),
}

/// What the key of a new document is made from.
#[derive(Clone, Debug)]
pub(crate) struct NewKey {
    /// What it should be, if that is free; otherwise the view's time and `randomness` make it.
    pub wish: Option<Key>,
    pub randomness: KeyRandomness,
}

/// A list of operations that take effect together or not at all.
#[derive(Clone, Debug)]
pub(crate) struct Transact {
    /// Get, Put, Patch, Delete and Create only.
    pub steps: Vec<Operation>,
    pub isolation: Isolation,
    /// Whether a conflict is the end, with a report, instead of the reason for another try.
    pub reports_conflicts: bool,
}

/// An operation that is performed at most once under its name.
#[derive(Clone, Debug)]
pub(crate) struct Once {
    pub operation: Operation,
    /// Whoever asks, and the name that they gave it.
    pub key: Key,
    /// Tells one request from another.
    pub fingerprint: u128,
}

/// What an operation came to, when it may be told.
#[derive(Debug)]
pub(crate) struct Executed {
    pub outcome: Outcome,
    /// The newest commit that the outcome shows: its own, or that of the view. `None` where it is
    /// not about documents.
    pub commit: Option<CommitNumber>,
    /// The time of that view.
    pub time: Timestamp,
    /// What the outcome promises, if it wrote.
    pub durability: Option<Durability>,
}

/// What an operation came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The document as stored.
    Found(Arc<Document>),
    /// The document, whose content is in a file of its own.
    FoundBlob(Arc<Document>, PinnedBlob),
    /// The asker has this version already.
    NotModified { version: CommitNumber },
    /// There is no document. Only in a list; elsewhere that is a problem.
    Absent,
    /// A document was written, or is as it was to be.
    Written(Written),
    /// A document was removed.
    Deleted,
    /// A page of documents or of collections.
    Page(Listed),
    /// What each operation of a list came to, and where.
    Listed(Vec<(Place, Outcome)>),
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// Whether there was none before, as far as that is known.
    pub is_new: bool,
    pub version: Version,
    /// Where it is, when the key was made here.
    pub made_at: Option<Place>,
    /// The document, if it was asked for.
    pub shown: Option<Arc<Document>>,
    /// The wish that was granted, if there was one.
    pub granted: Option<Granted>,
}

/// The version of a document after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// The number of the operation's own commit.
    Own,
    /// The document was so already.
    Known(CommitNumber),
    /// Merge operations do not look.
    Unknown,
}

impl Version {
    /// The number, where it is known; `commit` is the operation's own.
    pub(crate) fn known(self, commit: Option<CommitNumber>) -> Option<CommitNumber> {
        match self {
            Self::Own => commit,
            Self::Known(version) => Some(version),
            Self::Unknown => None,
        }
    }
}

/// A wish about the reply that was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Granted {
    Minimal,
    Representation,
}

impl Operation {
    /// The place it is about, if it is about one that is known before.
    pub(crate) fn place(&self) -> Option<&Place> {
        match self {
            Self::Get { place, .. }
            | Self::Past { place, .. }
            | Self::Versions { place, .. }
            | Self::Restore { place, .. }
            | Self::Put { place, .. }
            | Self::Patch { place, .. }
            | Self::Delete { place, .. } => Some(place),
            _ => None,
        }
    }

    /// The collection it is about, if it is about one.
    pub(crate) fn collection(&self) -> Option<&CollectionName> {
        match self {
            Self::Create { collection, .. }
            | Self::GetSettings { collection, .. }
            | Self::Configure { collection, .. }
            | Self::End { collection, .. }
            | Self::DescribeCollection(collection) => Some(collection),
            Self::Query(query) => Some(query.collection()),
            other => other.place().map(|place| &place.collection),
        }
    }

    /// Whether it is one on a document.
    pub(crate) fn is_on_documents(&self) -> bool {
        self.place().is_some() || matches!(self, Self::Create { .. })
    }

    /// Its conditions, if it is one on a document or collection.
    pub(crate) fn preconditions(&self) -> Option<&Preconditions> {
        match self {
            Self::Get { preconditions, .. }
            | Self::Past { preconditions, .. }
            | Self::Restore { preconditions, .. }
            | Self::Put { preconditions, .. }
            | Self::Patch { preconditions, .. }
            | Self::Delete { preconditions, .. }
            | Self::Create { preconditions, .. }
            | Self::GetSettings { preconditions, .. }
            | Self::End { preconditions, .. }
            | Self::Configure { preconditions, .. } => Some(preconditions),
            Self::Query(_)
            | Self::Versions { .. }
            | Self::ListCollections(_)
            | Self::DescribeCollection(_)
            | Self::Transact(_)
            | Self::Once(_) => None,
        }
    }
}
