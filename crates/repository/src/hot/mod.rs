//! Hot documents: the versions held in memory, by collection and key.
//!
//! A document that is not here has not changed since the oldest engine state that any view reads
//! from (`docs/transactions.md`, "What memory holds"). Reading, checking for conflicts and
//! applying all lean on that rule; only [`Collection::evict`] and [`Collection::tidy`] could break
//! it.

mod cell;
mod collection;
mod recent;
mod shape;
mod table;

pub(crate) use cell::{Cell, Held, Version};
pub(crate) use collection::Collection;
pub(crate) use shape::Index;

use crate::catalog::{EXPIRY_ID, VOLATILE_EXPIRY_ID};
use crate::document::{Document, Timestamp};
use crate::name::CollectionName;
use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// All collections. They are made in `apply` and never dropped while the repository is open.
#[derive(Debug)]
pub(crate) struct Hot {
    collections: RwLock<FxHashMap<CollectionName, Arc<Collection>>>,
    /// The rows of indexes, by the id under which the engine has them.
    rows: RwLock<FxHashMap<u32, Arc<Collection>>>,
    /// The rows that say when documents expire.
    pub expiry: Arc<Collection>,
    /// The same for volatile collections.
    pub volatile_expiry: Arc<Collection>,
    /// The largest id that was ever given.
    last_id: AtomicU32,
    bytes: Arc<AtomicUsize>,
}

impl Hot {
    pub(crate) fn new() -> Self {
        let bytes = Arc::default();
        let expiry = |id, is_volatile| {
            let name = CollectionName::generated("_expiry");
            Arc::new(Collection::new(&name, id, (is_volatile, 0), &bytes))
        };
        Self {
            collections: RwLock::default(),
            rows: RwLock::default(),
            expiry: expiry(EXPIRY_ID, false),
            volatile_expiry: expiry(VOLATILE_EXPIRY_ID, true),
            last_id: AtomicU32::new(VOLATILE_EXPIRY_ID),
            bytes,
        }
    }

    pub(crate) fn collection(&self, name: &CollectionName) -> Option<Arc<Collection>> {
        self.collections.read().get(name).cloned()
    }

    /// The name of the collection `id`, or of the collection whose index has this id.
    pub(crate) fn name(&self, id: u32) -> Option<CollectionName> {
        let collections = self.collections.read();
        let found = collections.values().find(|c| c.id == id).map(|c| c.name.clone());
        found.or_else(|| self.rows.read().get(&id).map(|rows| rows.name.clone()))
    }

    /// The collection `id`.
    pub(crate) fn by_id(&self, id: u32) -> Option<Arc<Collection>> {
        self.collections.read().values().find(|c| c.id == id).cloned()
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
        let mut all = self.collections();
        all.extend(self.rows.read().values().cloned());
        all.extend([&self.expiry, &self.volatile_expiry].map(Arc::clone));
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

    /// The id for the next collection or index.
    pub(crate) fn next_id(&self) -> u32 {
        self.last_id.load(Ordering::Relaxed) + 1
    }

    /// Says that `id` is given.
    pub(crate) fn take_id(&self, id: u32) {
        self.last_id.fetch_max(id, Ordering::Relaxed);
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
