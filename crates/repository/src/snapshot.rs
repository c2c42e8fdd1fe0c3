//! Everything at one commit, in order, for readers that take their time: exports, backups. Batch by
//! batch from the storage engine alone, which a checkpoint has brought to exactly that commit.
//!
//! It keeps no versions in memory and is in no commit's way, however long it is held. What it costs
//! is disk: tables that are merged meanwhile stay until it is dropped (`docs/transactions.md`,
//! "Snapshots"). It does not say what is done with the documents.

use crate::at_rest::{AtRest, EngineState, VisitKey, VisitRow};
use crate::blobs::{BlobReference, Blobs, PinnedBlob};
use crate::catalog::{self, COLLECTIONS, COLLECTIONS_ID};
use crate::checkpoint::{self, CheckpointError};
use crate::document::{CommitNumber, Document, Timestamp};
use crate::ended;
use crate::errors::{ReadError, ViewTooOld};
use crate::limits::{SNAPSHOT_PAGE_BYTES, SNAPSHOT_PAGE_DOCUMENTS_MAX};
use crate::name::{CollectionName, Key};
use crate::range::Direction;
use crate::settings::Settings;
use crate::store::Store;
use crate::views::EnginePin;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use thiserror::Error;

/// Why there is no snapshot.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// The repository is closed or closing.
    #[error("the repository is closed")]
    Closed,
    /// The checkpoint that it begins with could not be written.
    #[error("a snapshot begins with a checkpoint, which could not be written: {0}")]
    Checkpoint(String),
}

/// A collection, as a snapshot has it.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotCollection {
    /// Its name; system collections are there, too.
    pub name: CollectionName,
    /// The id under which the engine has its documents.
    pub id: u32,
    /// Its settings. Of a volatile one there are no documents in a snapshot.
    pub settings: Settings,
}

/// Some of a collection's documents, by key.
#[derive(Clone, Debug, Default)]
pub struct SnapshotPage {
    /// The documents; expired ones that nobody has removed yet are there, too.
    pub documents: Vec<(Key, Arc<Document>)>,
    /// Whether there are no more after them.
    pub is_last: bool,
}

/// Everything at one commit. Dropping it lets go of what was kept for it.
pub struct Snapshot {
    store: Arc<Store>,
    pin: EnginePin,
    time: Timestamp,
}

impl Snapshot {
    pub(crate) fn new(store: Arc<Store>) -> Result<Self, SnapshotError> {
        let pinned = checkpoint::pinned(&store);
        let (pin, row) = pinned
            .map_err(|error: CheckpointError| SnapshotError::Checkpoint(error.to_string()))?;
        Ok(Self { store, pin, time: row.time })
    }

    /// The last commit that it sees; a power cut does not take it back.
    pub fn commit(&self) -> CommitNumber {
        self.pin.state.commit
    }

    /// The time of that commit.
    pub fn time(&self) -> Timestamp {
        self.time
    }

    /// Every collection, by name.
    pub fn collections(&self) -> Result<Vec<SnapshotCollection>, ReadError> {
        let mut collections = Vec::new();
        let mut wrong = None;
        self.visit(COLLECTIONS_ID, None, &mut |key, document| {
            match catalog::of(&document) {
                Ok(_) if !ended::names_collection(key) => {}
                Ok(found) => collections.push(SnapshotCollection {
                    name: CollectionName::generated(key),
                    id: found.id,
                    settings: found.settings,
                }),
                Err(why) => wrong = Some(format!("{COLLECTIONS}/{key}: {why}")),
            }
            if wrong.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        match wrong {
            Some(why) => Err(ReadError::Engine(why.into())),
            None => Ok(collections),
        }
    }

    /// The documents of `collection` after the key `after`: at most 1,024, and few enough that
    /// their bodies take about 1 MiB, unless one alone takes more.
    pub fn page(
        &self,
        collection: &SnapshotCollection,
        after: Option<&Key>,
    ) -> Result<SnapshotPage, ReadError> {
        let mut page = SnapshotPage { documents: Vec::new(), is_last: true };
        let mut bytes = 0;
        self.visit(collection.id, after, &mut |key, document| {
            bytes += document.body.len();
            page.documents.push((Key::generated(key.to_owned()), document));
            let is_full =
                page.documents.len() == SNAPSHOT_PAGE_DOCUMENTS_MAX || bytes >= SNAPSHOT_PAGE_BYTES;
            page.is_last = !is_full;
            if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(page)
    }

    /// Keeps the content of a document that this has given, as [`crate::Transaction::pin_blob`].
    pub fn pin_blob(&self, document: &Document) -> Result<Option<PinnedBlob>, ReadError> {
        document.blob.map(|blob| self.pin(blob)).transpose()
    }

    /// The same of a blob that a document of it names.
    pub(crate) fn pin(&self, reference: BlobReference) -> Result<PinnedBlob, ReadError> {
        let pin = PinnedBlob::new(&self.store.blobs, reference, false);
        match self.pin.is_given_up() {
            true => Err(ViewTooOld { view: self.commit() }.into()),
            false => Ok(pin),
        }
    }

    /// What it reads, and where.
    pub(crate) fn engine(&self) -> (&dyn AtRest, EngineState, &Arc<Blobs>) {
        (&*self.store.engine, self.pin.state, &self.store.blobs)
    }

    /// Every row that the engine holds, by collection and key: documents, and what is derived of
    /// them, by the ids that the catalog gives.
    pub(crate) fn scan(&self, visit: VisitRow<'_>) -> Result<(), ReadError> {
        let mut rows = 0;
        self.store.engine.scan(self.pin.state, &mut |id, key, document| {
            rows += 1;
            // Now and then: it takes a lock that others want.
            match rows % 256 == 0 && self.pin.is_given_up() {
                true => ControlFlow::Break(()),
                false => visit(id, key, document),
            }
        })?;
        match self.pin.is_given_up() {
            true => Err(ViewTooOld { view: self.pin.state.commit }.into()),
            false => Ok(()),
        }
    }

    fn visit(&self, id: u32, after: Option<&Key>, visit: VisitKey<'_>) -> Result<(), ReadError> {
        let state: EngineState = self.pin.state;
        let from = after.map_or(Bound::Unbounded, |key| Bound::Excluded(key.as_str()));
        let bounds = (from, Bound::Unbounded);
        self.store.engine.range(state, id, bounds, Direction::Ascending, visit)?;
        match self.pin.is_given_up() {
            true => Err(ViewTooOld { view: state.commit }.into()),
            false => Ok(()),
        }
    }
}
