//! What the repository asks of documents at rest: reads as of a state, checkpoints in one step, and
//! space that comes back. The storage engine is one, in `engine`; the simulator has another.

use crate::document::{CommitNumber, Document, Timestamp};
use crate::errors::ReadError;
use crate::range::Direction;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// A failure while writing.
#[derive(Debug, thiserror::Error)]
#[error("the storage engine could not write: {0}")]
pub struct EngineError(pub String);

/// A state: exactly the repository at `commit`, read at `sequence`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct EngineState {
    /// The commit.
    pub commit: CommitNumber,
    /// The engine's own sequence number, which has no other meaning.
    pub sequence: u64,
}

/// What the files say that they hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateRow {
    /// Exactly this commit and all before.
    pub commit: CommitNumber,
    /// The time of that commit; commit times never run backwards.
    pub time: Timestamp,
    /// The segment of the tranlog that was the newest then: as long as there is a log, it has this
    /// one or a later one. 0: that is not known.
    pub segment: u64,
}

/// Bounds of a range of keys.
pub type KeyBounds<'a> = (Bound<&'a str>, Bound<&'a str>);

/// Takes a document of one collection, and says whether to go on.
pub type VisitKey<'a> = &'a mut dyn FnMut(&str, Arc<Document>) -> ControlFlow<()>;

/// Takes a document of any collection, and says whether to go on.
pub type VisitRow<'a> = &'a mut dyn FnMut(u32, &str, Arc<Document>) -> ControlFlow<()>;

/// Documents at rest. Collections are known by their ids. Reading a state that was released, as
/// only a view does that was refused, gives [`ReadError::ViewTooOld`].
pub trait AtRest: Send + Sync {
    /// What views read from that open now and see at least `commit`.
    fn state(&self, commit: CommitNumber) -> EngineState;

    /// What is held; commit 0 at first.
    fn state_row(&self) -> Result<StateRow, ReadError>;

    /// The document as of `state`.
    fn get(
        &self,
        state: EngineState,
        collection: u32,
        key: &str,
    ) -> Result<Option<Arc<Document>>, ReadError>;

    /// Every document as of `state`, by collection and key.
    fn scan(&self, state: EngineState, visit: VisitRow<'_>) -> Result<(), ReadError>;

    /// The documents of one collection as of `state` whose keys lie within `bounds`, by key.
    fn range(
        &self,
        state: EngineState,
        collection: u32,
        bounds: KeyBounds<'_>,
        direction: Direction,
        visit: VisitKey<'_>,
    ) -> Result<(), ReadError>;

    /// Starts to write a checkpoint. One is written at a time.
    fn ingest(&self, row: StateRow) -> Result<Box<dyn Ingest + '_>, EngineError>;

    /// Does one piece of the work that makes reads faster and space come back, without what no view
    /// at or after `oldest` reads. `false`: nothing that is worth it is left to do. With `is_idle`
    /// more is worth it.
    fn compact(&self, oldest: EngineState, is_idle: bool) -> Result<bool, EngineError>;

    /// Gives back the space of what no view at or after `oldest` reads.
    fn release(&self, oldest: EngineState) -> Result<(), EngineError>;

    /// Bytes on disk of the newest state.
    fn disk_bytes(&self) -> u64;

    /// About how many rows there are: documents, rows of indexes, and deletions.
    fn rows(&self) -> u64;

    /// What is wrong with its files as their checksums tell, one line each.
    fn check_files(&self) -> Vec<String>;
}

/// A checkpoint being written, in the order of collections and keys. Dropped without `finish`, it
/// has changed nothing.
pub trait Ingest {
    /// Adds the newest version of a document, or that it is deleted.
    fn write(
        &mut self,
        collection: u32,
        key: &str,
        document: Option<&Document>,
    ) -> Result<(), EngineError>;

    /// Makes all of it durable and visible, in one step that either happens or not.
    fn finish(self: Box<Self>) -> Result<(), EngineError>;
}
