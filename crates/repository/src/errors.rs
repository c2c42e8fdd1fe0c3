//! What can go wrong, one enum per kind of operation. A conflict is not here: it is an outcome.

use crate::document::CommitNumber;
use crate::document_schema::SchemaMisfit;
use crate::index::{IndexError, IndexRangeError};
use crate::json::NamesAlike;
use crate::limits;
use crate::settings::SettingsError;
use crate::space::Short;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;

/// A collection name or key that breaks its rule.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum NameError {
    /// See [`crate::CollectionName`].
    #[error(
        "a collection name is a-z, 0-9, _ and -, starts with a letter or _ and has at most {max} \
         bytes; got \"{got}\"",
        max = limits::COLLECTION_NAME_BYTES_MAX
    )]
    Collection {
        /// The start of what came.
        got: String,
    },
    /// See [`crate::Key`].
    #[error(
        "a key is 1 to {max} bytes of UTF-8 without control characters; got {bytes} bytes: \
         \"{got}\"",
        max = limits::KEY_BYTES_MAX
    )]
    Key {
        /// The start of what came.
        got: String,
        /// Its length.
        bytes: usize,
    },
}

/// Why a repository did not open.
#[derive(Debug, Error)]
pub enum OpenError {
    /// A file system call failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried: "create the folder", "read", ...
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// Another process holds the file lock.
    #[error(
        "the repository in {} is open in another process{}; stop it, or use another --data folder",
        path.display(),
        pid.map(|p| format!(" (pid {p})")).unwrap_or_default()
    )]
    Locked {
        /// The data folder.
        path: PathBuf,
        /// The holder, if it could be read.
        pid: Option<u32>,
    },
    /// The folder holds something that is not a repository of a version this build reads.
    #[error("{} is not a repository this version can open: {why}", path.display())]
    NotARepository {
        /// The data folder.
        path: PathBuf,
        /// What was expected and what was found.
        why: String,
    },
    /// Acknowledged data is damaged: a record that was synced cannot be read back.
    #[error(
        "the tranlog is damaged: segment {} at offset {offset}: {why}. No data was changed. \
         Restore the folder from a backup, or run `sarsen verify --data DIR` for the full list",
        segment.display()
    )]
    Damaged {
        /// The segment file.
        segment: PathBuf,
        /// Byte offset of the unreadable record.
        offset: u64,
        /// What was expected and what was found.
        why: String,
    },
    /// The storage engine refused its files.
    #[error("the storage engine cannot open {}: {why}", path.display())]
    Engine {
        /// The engine's folder.
        path: PathBuf,
        /// What it said.
        why: String,
    },
    /// A file of the storage engine is missing, or is not what was written.
    #[error(
        "the storage engine is damaged: {}: {why}. No data was changed. Restore the folder from a \
         backup, or run `sarsen verify --data DIR` for the full list",
        path.display()
    )]
    DamagedEngine {
        /// The file.
        path: PathBuf,
        /// What was expected and what was found.
        why: String,
    },
    /// `--memory` is below the smallest size that works.
    #[error("--memory must be at least {min} bytes; got {got}", min = limits::MEMORY_BYTES_MIN)]
    MemoryTooSmall {
        /// What came.
        got: u64,
    },
}

/// A write or sync of the tranlog failed, or a thread of the repository. The repository serves no
/// further commit, and no reply that waits will be released, until it is opened again.
#[derive(Clone, Debug, Error)]
#[error(
    "the repository cannot go on: {cause}. Commits up to {durable} are durable, those after it \
     may be lost, and none is accepted until then"
)]
pub struct Poisoned {
    /// The last commit that is durable.
    pub durable: CommitNumber,
    /// What went wrong, and what to do.
    pub cause: Arc<str>,
}

/// Why no transaction could begin.
#[derive(Clone, Debug, Error)]
pub enum BeginError {
    /// The repository is poisoned.
    #[error(transparent)]
    Poisoned(#[from] Poisoned),
    /// The repository is being closed.
    #[error("the repository is closed; open it again")]
    Closed,
}

/// Why the log gives nothing more. Everything that was synced before was given.
#[derive(Debug, Error)]
pub enum LogError {
    /// What comes next is not kept any more.
    #[error(
        "what comes next in the log is not kept any more: read what is there otherwise, and go on \
         after commit {after}, or keep more of it (`--retain`)"
    )]
    Gone {
        /// After this commit everything is there.
        after: CommitNumber,
    },
    /// The repository is poisoned.
    #[error(transparent)]
    Poisoned(#[from] Poisoned),
    /// The repository was closed.
    #[error("the repository is closed; open it again")]
    Closed,
    /// A segment could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The segment file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
}

impl LogError {
    pub(crate) fn gone(after: CommitNumber) -> Self {
        Self::Gone { after }
    }
}

/// Why closing did not leave a checkpoint. Nothing that was acknowledged is lost: the next opening
/// reads it from the tranlog.
#[derive(Clone, Debug, Error)]
#[error("no checkpoint could be written: {0}")]
pub struct CloseError(pub(crate) String);

/// A view holds back versions that have been replaced since, and did so for too long.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "the view of commit {view} was open for too long: a view may hold back newer versions for {} \
     minutes, or {} seconds while memory is short; begin again, and read less at a time",
    limits::VIEW_AGE_MAX_MS / 60_000,
    limits::VIEW_AGE_MAX_UNDER_PRESSURE_MS / 1_000
)]
pub struct ViewTooOld {
    /// What the view saw.
    pub view: CommitNumber,
}

/// Why a read failed.
#[derive(Clone, Debug, Error)]
pub enum ReadError {
    /// The storage engine could not read its files.
    #[error("the storage engine could not read: {0}; run `sarsen verify --data DIR`")]
    Engine(Arc<str>),
    /// The transaction noted more reads than the bound.
    #[error(
        "a transaction notes at most {max} reads, the values that unique indexes are to have \
         included, of which at most {ranges} are ranges; do it in several transactions",
        max = limits::TRANSACTION_READS_MAX,
        ranges = limits::TRANSACTION_RANGES_MAX
    )]
    TooManyReads,
    /// See [`crate::limits::TRANSACTION_READ_BYTES_MAX`].
    #[error(
        "a transaction reads at most {} MiB of documents, those included in whose place it \
         writes; do it in several transactions",
        limits::TRANSACTION_READ_BYTES_MAX >> 20
    )]
    TooManyBytes,
    /// The view was open for too long.
    #[error(transparent)]
    ViewTooOld(#[from] ViewTooOld),
    /// The collection has no such index.
    #[error("the collection {collection} has no index {index}; it has: {known}")]
    NoIndex {
        /// The collection's name.
        collection: String,
        /// What was asked for.
        index: String,
        /// Those that it has.
        known: String,
    },
    /// The index does not have all its rows yet.
    #[error("the index {index} of {collection} is being built; try again when it is ready")]
    IndexNotReady {
        /// The collection's name.
        collection: String,
        /// The index.
        index: String,
    },
    /// The bounds do not fit the index.
    #[error(transparent)]
    IndexRange(#[from] IndexRangeError),
}

/// Why a write could not be staged. The transaction goes on without it.
#[derive(Clone, Debug, Error)]
pub enum StageError {
    /// The body is too large.
    #[error("a document has at most {max} bytes; got {bytes}", max = limits::DOCUMENT_BYTES_MAX)]
    DocumentTooLarge {
        /// Its size.
        bytes: usize,
    },
    /// The media type is too long.
    #[error(
        "a media type has at most {max} bytes; got {bytes}",
        max = limits::MEDIA_TYPE_BYTES_MAX
    )]
    MediaTypeTooLong {
        /// Its size.
        bytes: usize,
    },
    /// The transaction stages more writes than the bound.
    #[error(
        "a transaction writes at most {max} documents; write them in several transactions",
        max = limits::TRANSACTION_WRITES_MAX
    )]
    TooManyWrites,
    /// The documents of the transaction have more rows in indexes than the bound.
    #[error(
        "the documents that a transaction writes, and those in their place, have at most {max} \
         rows in indexes; write them in several transactions",
        max = limits::TRANSACTION_ROWS_MAX
    )]
    TooManyRows,
    /// The writes of the transaction together are too large.
    #[error(
        "the writes of a transaction have at most {max} bytes together; write them in several \
         transactions",
        max = limits::TRANSACTION_BYTES_MAX
    )]
    TransactionTooLarge,
    /// The path of a merge operation is too long.
    #[error(
        "a merge path has at most {max} bytes; got {bytes}",
        max = limits::MERGE_PATH_BYTES_MAX
    )]
    MergePathTooLong {
        /// Its size.
        bytes: usize,
    },
    /// Too many merge operations on one document.
    #[error(
        "a transaction stages at most {max} merge operations on a document; use several \
         transactions, or put the result",
        max = limits::MERGES_MAX
    )]
    TooManyMerges,
    /// The merge operation does not fit what the document holds.
    #[error("{operation} cannot be applied to {collection}/{key}: {why}")]
    Merge {
        /// "add", ...
        operation: &'static str,
        /// The collection's name.
        collection: String,
        /// The document's key.
        key: String,
        /// What was expected and what was found.
        why: String,
    },
    /// The names in the document would keep the JavaScript engine busy for long.
    #[error("the document has {0}")]
    NamesAlike(#[from] NamesAlike),
    /// The document does not fit the collection's schema.
    #[error(transparent)]
    Schema(#[from] Box<SchemaMisfit>),
    /// The collection has a schema, and so takes JSON only.
    #[error("{collection} has a schema and takes application/json; got {media_type}")]
    NotJson {
        /// The collection's name.
        collection: String,
        /// What came.
        media_type: String,
    },
    /// The transaction ends the collection.
    #[error("{collection} ends in this transaction, which can do nothing else with it")]
    Ended {
        /// Its name.
        collection: String,
    },
    /// The collection belongs to the repository.
    #[error("{collection} is not written to directly; use Repository::configure")]
    Reserved {
        /// Its name.
        collection: String,
    },
    /// The document does not fit an index.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The document had to be read first, and that failed.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Why a commit was refused. Nothing was committed.
#[derive(Clone, Debug, Error)]
pub enum CommitError {
    /// The repository is poisoned.
    #[error(transparent)]
    Poisoned(#[from] Poisoned),
    /// The repository is being closed.
    #[error("the repository is closed; open it again")]
    Closed,
    /// The view was open for too long.
    #[error(transparent)]
    ViewTooOld(#[from] ViewTooOld),
    /// What unique indexes hold could not be read.
    #[error(transparent)]
    Read(ReadError),
    /// It would make more collections than the bound.
    #[error(
        "a repository has at most {max} collections, indexes counted as well; use fewer \
         collections, and tell documents apart by their keys",
        max = limits::COLLECTIONS_MAX
    )]
    TooManyCollections,
    /// It lost even with everything reserved. That is a mistake in the repository.
    #[error("the transaction cannot make progress, even alone; please report this")]
    NoProgress,
    /// More is waiting for the disk than the bound allows.
    #[error("the disk is behind: {0}; try again shortly")]
    Overloaded(&'static str),
    /// The disk is nearly full: see [`crate::limits::RESERVE_BYTES`].
    #[error(
        "the disk is nearly full: {} MiB are free, {} MiB are to stay so; delete something, or \
         make room on the disk",
        free_bytes >> 20,
        reserve_bytes >> 20
    )]
    NoSpace {
        /// Bytes that are free.
        free_bytes: u64,
        /// Bytes that are to be.
        reserve_bytes: u64,
    },
}

impl From<Short> for CommitError {
    fn from(Short { free_bytes, reserve_bytes }: Short) -> Self {
        Self::NoSpace { free_bytes, reserve_bytes }
    }
}

impl From<ReadError> for CommitError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::ViewTooOld(error) => Self::ViewTooOld(error),
            error => Self::Read(error),
        }
    }
}

/// Why the settings of a collection were not changed.
#[derive(Clone, Debug, Error)]
pub enum ConfigureError {
    /// The settings themselves are wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// They do not fit the collection.
    #[error("{collection} cannot have these settings: {why}")]
    Unfit {
        /// The collection's name.
        collection: String,
        /// What was expected and why.
        why: String,
    },
    /// No transaction could begin.
    #[error(transparent)]
    Begin(#[from] BeginError),
    /// The catalog could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The commit was refused.
    #[error(transparent)]
    Commit(#[from] CommitError),
}
