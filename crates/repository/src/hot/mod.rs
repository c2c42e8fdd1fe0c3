//! Hot documents: the versions held in memory, by collection and key.
//!
//! A document that is not here has not changed since the oldest engine state that any view reads
//! from (`docs/transactions.md`, "What memory holds"). Reading, checking for conflicts and
//! applying all lean on that rule; only [`Hot::evict`] and [`Hot::tidy`] could break it.

mod cell;
mod collection;
mod ended;
mod recent;
mod shape;
mod table;

pub(crate) use cell::{Cell, Held, Version};
pub(crate) use collection::Collection;
pub(crate) use shape::{Index, Shape};

use crate::blobs::Unnamed;
use crate::catalog::{BLOBS_ID, EXPIRY_ID, VOLATILE_BLOBS_ID, VOLATILE_EXPIRY_ID};
use crate::document::{CommitNumber, Document, Timestamp};
use crate::name::{CollectionName, Key};
use crate::seeded::SeededMap;
use crate::views::{View, Views};
use ended::Ended;
use parking_lot::{Mutex, RwLock};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Documents that eviction looks at together.
const EVICTION_CHUNK: usize = 256;

/// All collections. They are made in `apply`, and leave when they have ended and nobody can ask for
/// them any more.
#[derive(Debug)]
pub(crate) struct Hot {
    collections: RwLock<SeededMap<CollectionName, Arc<Collection>>>,
    /// The same by their ids, with those that have ended.
    by_id: RwLock<SeededMap<u32, Arc<Collection>>>,
    /// The rows of indexes, by the id under which the engine has them.
    rows: RwLock<SeededMap<u32, Arc<Collection>>>,
    /// The rows that say when documents expire.
    pub expiry: Arc<Collection>,
    /// The same for volatile collections.
    pub volatile_expiry: Arc<Collection>,
    /// The rows that say which documents name which blobs.
    pub blobs: Arc<Collection>,
    /// The same for volatile collections.
    pub volatile_blobs: Arc<Collection>,
    /// Blobs that have lost a name.
    pub unnamed: Arc<Unnamed>,
    /// Documents that the engine has, in the order in which eviction looks at them.
    waiting: Mutex<VecDeque<Arc<Cell>>>,
    ended: Ended,
    /// The largest id that was ever given.
    last_id: AtomicU32,
    bytes: Arc<AtomicUsize>,
}

impl Hot {
    pub(crate) fn new() -> Self {
        let bytes = Arc::default();
        let table = |name, id, is_volatile| {
            let name = CollectionName::generated(name);
            Arc::new(Collection::new(&name, id, (is_volatile, 0), &bytes))
        };
        Self {
            collections: RwLock::default(),
            by_id: RwLock::default(),
            rows: RwLock::default(),
            expiry: table("_expiry", EXPIRY_ID, false),
            volatile_expiry: table("_expiry", VOLATILE_EXPIRY_ID, true),
            blobs: table("_blobs", BLOBS_ID, false),
            volatile_blobs: table("_blobs", VOLATILE_BLOBS_ID, true),
            unnamed: Arc::default(),
            waiting: Mutex::default(),
            ended: Ended::default(),
            last_id: AtomicU32::new(VOLATILE_EXPIRY_ID),
            bytes,
        }
    }

    pub(crate) fn collection(&self, name: &CollectionName) -> Option<Arc<Collection>> {
        self.collections.read().get(name).cloned()
    }

    /// The name of the collection `id`, or of the collection whose index has this id.
    pub(crate) fn name(&self, id: u32) -> Option<CollectionName> {
        let found = self.by_id(id).or_else(|| self.rows_by_id(id))?;
        Some(found.name.clone())
    }

    /// The collection `id`.
    pub(crate) fn by_id(&self, id: u32) -> Option<Arc<Collection>> {
        self.by_id.read().get(&id).cloned()
    }

    /// The rows of the index `id`.
    pub(crate) fn rows_by_id(&self, id: u32) -> Option<Arc<Collection>> {
        self.rows.read().get(&id).cloned()
    }

    /// Every collection, in the order of their ids.
    pub(crate) fn collections(&self) -> Vec<Arc<Collection>> {
        let mut all: Vec<_> = self.collections.read().values().cloned().collect();
        all.sort_by_key(|collection| collection.id);
        all
    }

    /// Every collection, and the rows of every index, in the order of their ids.
    pub(crate) fn everything(&self) -> Vec<Arc<Collection>> {
        let mut all = self.with_ended();
        all.extend(self.rows.read().values().cloned());
        let tables = [&self.expiry, &self.volatile_expiry, &self.blobs, &self.volatile_blobs];
        all.extend(tables.map(Arc::clone));
        all.sort_by_key(|collection| collection.id);
        all
    }

    /// Makes the collection `name` known under `id`.
    pub(crate) fn add_collection(
        &self,
        name: &CollectionName,
        id: u32,
        is_volatile: bool,
    ) -> Arc<Collection> {
        let collection = Arc::new(Collection::new(name, id, (is_volatile, 0), &self.bytes));
        self.take_id(id);
        self.by_id.write().insert(id, Arc::clone(&collection));
        self.collections.write().insert(name.clone(), Arc::clone(&collection));
        collection
    }

    /// The rows of an index of `of` with so many columns, known under `id`.
    pub(crate) fn rows(&self, of: &Collection, id: u32, columns: usize) -> Arc<Collection> {
        let mut rows = self.rows.write();
        let kind = (of.is_volatile, columns);
        let new = || Arc::new(Collection::new(&of.name, id, kind, &self.bytes));
        Arc::clone(rows.entry(id).or_insert_with(new))
    }

    /// How many collections there are, with those of the rows of indexes.
    pub(crate) fn count(&self) -> usize {
        self.by_id.read().len() + self.rows.read().len()
    }

    /// The id for the next collection or index.
    pub(crate) fn next_id(&self) -> u32 {
        self.last_id.load(Ordering::Relaxed) + 1
    }

    /// Says that `id` is given.
    pub(crate) fn take_id(&self, id: u32) {
        self.last_id.fetch_max(id, Ordering::Relaxed);
    }

    /// Remembers what `view` read from the engine; see [`Collection::remember`].
    pub(crate) fn remember(
        &self,
        view: &View,
        collection: &Collection,
        key: &Key,
        document: &Arc<Document>,
    ) -> Option<Arc<Cell>> {
        let cell = collection.remember(view, key, document)?;
        self.let_wait(&cell);
        Some(cell)
    }

    /// Lets eviction look at a document some time.
    pub(crate) fn let_wait(&self, cell: &Arc<Cell>) {
        if !cell.set_waiting(true) {
            self.waiting.lock().push_back(Arc::clone(cell));
        }
    }

    /// Drops what no view needs any more of documents that a checkpoint has written, in the order
    /// of their collections.
    pub(crate) fn tidy(&self, written: Vec<Arc<Cell>>, engine: CommitNumber, views: &Views) {
        let collections = self.everything();
        let mut at = 0;
        for cell in written {
            // Both are in the order of their ids.
            while collections.get(at).is_some_and(|known| known.id < cell.collection) {
                at += 1;
            }
            let known = collections.get(at).filter(|known| known.id == cell.collection);
            debug_assert!(known.is_some(), "a collection was forgotten before its documents");
            if let Some(cell) = known.and_then(|known| known.tidy(cell, engine, views)) {
                self.let_wait(&cell);
            }
        }
    }

    /// Drops documents that the engine has at the oldest of its states that anybody reads, those
    /// first that nobody reads, until memory is down to `aim` bytes or everything was looked at
    /// twice.
    pub(crate) fn evict(&self, aim: usize, views: &Views) {
        let by_id = || self.everything().into_iter().map(|c| (c.id, c)).collect();
        let mut collections: SeededMap<u32, Arc<Collection>> = by_id();
        let mut looks = 2 * self.waiting.lock().len();
        while self.bytes() > aim && looks > 0 {
            let mut waiting = self.waiting.lock();
            let count = waiting.len().min(EVICTION_CHUNK);
            let mut chunk: Vec<Arc<Cell>> = waiting.drain(..count).collect();
            drop(waiting);
            looks = looks.saturating_sub(chunk.len().max(1));
            for cell in &chunk {
                cell.set_waiting(false);
            }
            // Asked after that: what a checkpoint writes from now on it lets wait again itself.
            let engine = (views.oldest_engine().commit, views.engine().commit);
            chunk.sort_by_key(|cell| cell.collection);
            while let Some(id) = chunk.last().map(|cell| cell.collection) {
                let from = chunk.partition_point(|cell| cell.collection < id);
                let cells = chunk.split_off(from);
                if !collections.contains_key(&id) {
                    // It was made meanwhile.
                    collections = by_id();
                }
                let waiting = match collections.get(&id) {
                    Some(collection) => collection.evict(cells, engine, views),
                    None => cells,
                };
                for cell in waiting {
                    self.let_wait(&cell);
                }
            }
        }
    }

    /// Bytes that documents in memory take, as accounted.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// The version that a reader at `time` sees: nothing, where it is deleted or has expired.
pub(crate) fn alive(document: Option<Arc<Document>>, time: Timestamp) -> Option<Arc<Document>> {
    document.filter(|d| !d.is_expired(time))
}

#[cfg(test)]
mod tests;
