//! The repository: documents, views, serializable commits and the transaction log.
//!
//! This crate takes bytes and time as arguments. It opens no socket, starts no async runtime and
//! reads no clock except the one it is given. `docs/transactions.md` has the argument that its
//! commits are serializable and durable; `docs/format.md` has every byte it puts on disk.

mod apply;
mod at_rest;
mod attempt;
mod backup;
mod blobs;
mod catalog;
mod checkpoint;
mod configure;
mod conflict;
mod contention;
mod cursor;
mod disk;
mod document;
mod document_schema;
mod durability;
mod durations;
mod ended;
mod engine;
mod errors;
mod excerpt;
pub mod exchange;
mod expired;
mod folder;
#[doc(hidden)]
pub mod fuzzing;
mod generated;
mod history;
mod hot;
mod index;
pub mod json;
mod lane;
pub mod limits;
mod log_reader;
mod logged;
mod merge;
mod name;
#[cfg(test)]
mod random;
mod range;
mod reap;
mod record;
mod recovery;
mod repository;
mod rows;
mod seeded;
mod settings;
mod snapshot;
mod space;
mod stepped;
mod steward;
mod store;
mod timestamp;
mod tranlog;
mod transaction;
mod verify;
mod views;

pub use attempt::{Attempt, Ran, RunError};
pub use backup::{
    Added, Archive, ArchiveError, ArchiveStatus, BackupError, BackupFolderError, BackupKind,
    BackupListing, BackupOptions, BackupReport, BackupSource, ListedSet, Progress, RestoreError,
    RestoreGoal, RestoreOptions, Restored, SetKind, list_backups, restore, verify_backups,
};
pub use blobs::{
    BlobError, BlobHash, BlobReader, BlobReference, BlobStats, BlobWriter, Content, OnBlobRemoval,
    PinnedBlob,
};
pub use configure::{BuildFailure, IndexState, IndexStatus};
pub use conflict::{Conflict, Contested};
pub use contention::ContendedDocument;
pub use document::{CommitNumber, Document, MediaType, Timestamp};
pub use document_schema::{DocumentSchema, SchemaMisfit};
pub use durability::Durability;
pub use durations::{DURATION_BOUNDS_US, DurationCounts, Durations};
pub use ended::Ending;
pub use errors::{
    BeginError, CloseError, CommitError, ConfigureError, LogError, NameError, OpenError, Poisoned,
    ReadError, StageError, ViewTooOld,
};
pub use excerpt::excerpt;
pub use expired::{Expired, ExpiredPage, ExpiryPosition, Kept};
pub use generated::KeyRandomness;
pub use history::{Moment, Past, VersionEntry, Versions};
pub use index::{
    IndexDefinition, IndexDefinitionError, IndexError, IndexKind, IndexPath, IndexRange,
    IndexRangeError, IndexValue,
};
pub use log_reader::{LogHold, LogReader};
pub use logged::{LoggedAction, LoggedChange, LoggedCommit};
pub use merge::Merge;
pub use name::{CollectionName, Key};
pub use range::{Direction, KeyRange};
pub use repository::{Measures, Opening, Options, Recovery, Repository, Stats};
pub use schema::Failure as SchemaFailure;
pub use settings::{History, OnConflict, Overwrite, Settings, SettingsError};
pub use snapshot::{Snapshot, SnapshotCollection, SnapshotError, SnapshotPage};
pub use store::Clock;
pub use tranlog::{Hold, LogRecord, Retained, Retention};
pub use transaction::{
    CollectionEntry, Duplicate, IndexEntry, IndexPlace, IndexRead, Isolation, KnownIndex, Outcome,
    Transaction, Usage,
};
pub use verify::{VerifyReport, verify};
pub use views::OpenViews;

/// What a repository is assembled from, for those who put other parts in: the simulator.
pub mod parts {
    pub use crate::at_rest::{
        AtRest, EngineError, EngineState, Ingest, KeyBounds, StateRow, VisitKey, VisitRow,
    };
    pub use crate::disk::{BLOCK_BYTES, Disk, DiskFile, DiskRoom, Files, Lock};
    pub use crate::engine::open_engine;
    pub use crate::stepped::{
        ClearAtRest, Log, LogFollower, OpenAtRest, Parts, RestoreParts, Stepped, SteppedArchive,
        verify_backups,
    };
    pub use crate::tranlog::SegmentSizes;
}
