//! Hot documents: the versions held in memory, by collection and key, in key order.
//!
//! A document that is not here has not changed since the oldest engine state that any view reads
//! from (`docs/transactions.md`, "What memory holds"). Reading, checking for conflicts and
//! applying all lean on that rule; only [`Collection::evict`] could break it.

use crate::document::{CommitNumber, Document, Timestamp};
use crate::name::{CollectionName, Key};
use crate::views::Views;
use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What a document costs in memory beside its key and body, measured with 300-byte documents:
/// tree slot, two allocations, counters.
const DOCUMENT_OVERHEAD_BYTES: usize = 256;

/// Documents looked at under one lock by scans, so that nobody waits long for it.
const SCAN_CHUNK: usize = 256;

/// A version: who wrote it, and the document, or `None` where it was deleted.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub number: CommitNumber,
    pub document: Option<Arc<Document>>,
}

/// The versions of one document that somebody may still read.
#[derive(Debug)]
struct Chain {
    newest: Version,
    /// Oldest first; usually empty.
    older: Vec<Version>,
    /// Read since the last eviction looked at it.
    used: AtomicBool,
}

impl Chain {
    fn at(&self, view: CommitNumber) -> Option<&Version> {
        if self.newest.number <= view {
            return Some(&self.newest);
        }
        self.older.iter().rev().find(|v| v.number <= view)
    }

    fn bytes(&self, key: &Key) -> usize {
        self.older.iter().chain([&self.newest]).map(|v| version_bytes(key, v)).sum()
    }

    /// Drops versions that no open view sees. The one before the newest stays while
    /// `newest_is_hidden`: a view may open on it at any moment.
    fn prune(&mut self, views: &Views, newest_is_hidden: bool) {
        let keep_last = usize::from(newest_is_hidden);
        let mut successor = self.newest.number;
        for i in (0..self.older.len()).rev() {
            let number = self.older[i].number;
            let is_last = i + 1 == self.older.len();
            if (is_last && keep_last == 1) || views.any_between(number, successor) {
                successor = number;
            } else {
                self.older.remove(i);
            }
        }
    }
}

fn version_bytes(key: &Key, version: &Version) -> usize {
    let body = version.document.as_ref().map_or(0, |d| d.body.len());
    DOCUMENT_OVERHEAD_BYTES + key.as_str().len() + body
}

/// What memory says about a document.
pub(crate) enum Held {
    /// The version that the view sees is here; `None`: it is deleted.
    Version(Option<Arc<Document>>),
    /// Nothing that the view sees is here: the engine has it, if anybody.
    Elsewhere,
}

/// One collection's documents in memory.
#[derive(Debug)]
pub(crate) struct Collection {
    /// Prefixes the collection's keys in the engine.
    pub id: u32,
    pub name: CollectionName,
    documents: RwLock<BTreeMap<Key, Chain>>,
    /// Bytes held by all collections together.
    bytes: Arc<AtomicUsize>,
}

impl Collection {
    /// The version of `key` that `view` sees.
    pub(crate) fn get(&self, key: &Key, view: CommitNumber) -> Held {
        let documents = self.documents.read();
        let Some(chain) = documents.get(key) else { return Held::Elsewhere };
        if !chain.used.load(Ordering::Relaxed) {
            chain.used.store(true, Ordering::Relaxed);
        }
        match chain.at(view) {
            Some(version) => Held::Version(version.document.clone()),
            None => Held::Elsewhere,
        }
    }

    /// The commit that wrote the newest version, if it is here.
    pub(crate) fn last_change(&self, key: &Key) -> Option<CommitNumber> {
        self.documents.read().get(key).map(|chain| chain.newest.number)
    }

    /// The newest version, if it is here.
    pub(crate) fn newest(&self, key: &Key) -> Option<Version> {
        self.documents.read().get(key).map(|chain| chain.newest.clone())
    }

    /// Puts a new newest version; gives the number of the one before. Only `apply` calls this.
    pub(crate) fn install(
        &self,
        key: Key,
        version: Version,
        views: &Views,
    ) -> Option<CommitNumber> {
        self.bytes.fetch_add(version_bytes(&key, &version), Ordering::Relaxed);
        let mut documents = self.documents.write();
        let Some(chain) = documents.get_mut(&key) else {
            let chain = Chain { newest: version, older: Vec::new(), used: AtomicBool::new(true) };
            documents.insert(key, chain);
            return None;
        };
        debug_assert!(chain.newest.number < version.number);
        let before = chain.newest.number;
        let old = std::mem::replace(&mut chain.newest, version);
        chain.older.push(old);
        if chain.older.len() > 1 {
            let held = chain.bytes(&key);
            chain.prune(views, true);
            self.bytes.fetch_sub(held - chain.bytes(&key), Ordering::Relaxed);
        }
        Some(before)
    }

    /// Remembers what a view read from the engine, unless a commit has put something newer.
    pub(crate) fn remember(&self, key: &Key, document: &Arc<Document>) {
        let version = Version { number: document.version, document: Some(Arc::clone(document)) };
        let bytes = version_bytes(key, &version);
        let mut documents = self.documents.write();
        if !documents.contains_key(key) {
            let chain = Chain { newest: version, older: Vec::new(), used: AtomicBool::new(false) };
            documents.insert(key.clone(), chain);
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Frees memory: drops versions that no view sees, then documents that the engine has at
    /// `engine` and that were not read since the last call; with `all`, read or not. Stops once
    /// `enough` bytes are free; gives the bytes freed.
    pub(crate) fn evict(
        &self,
        engine: CommitNumber,
        views: &Views,
        enough: usize,
        all: bool,
    ) -> usize {
        let mut freed = 0;
        let mut from = Bound::Unbounded;
        while freed < enough {
            let mut documents = self.documents.write();
            let chunk: Vec<Key> = documents
                .range::<Key, _>((from.clone(), Bound::Unbounded))
                .take(SCAN_CHUNK)
                .map(|(key, _)| key.clone())
                .collect();
            let Some(last) = chunk.last() else { break };
            from = Bound::Excluded(last.clone());
            for key in &chunk {
                let Some(chain) = documents.get_mut(key) else { continue };
                let held = chain.bytes(key);
                chain.prune(views, chain.newest.number > views.visible());
                let in_engine = chain.newest.number <= engine;
                let used = chain.used.swap(false, Ordering::Relaxed);
                let kept = chain.bytes(key);
                if in_engine && (all || !used || chain.newest.document.is_none()) {
                    documents.remove(key);
                    freed += held;
                } else {
                    freed += held - kept;
                }
            }
        }
        self.bytes.fetch_sub(freed, Ordering::Relaxed);
        freed
    }

    /// Every newest version that is here and not deleted, in key order.
    pub(crate) fn each(&self, mut visit: impl FnMut(&Key, &Document)) {
        for (key, chain) in self.documents.read().iter() {
            if let Some(document) = &chain.newest.document {
                visit(key, document);
            }
        }
    }

    /// Drops what no view sees any more of one document.
    pub(crate) fn tidy(&self, key: &Key, engine: CommitNumber, views: &Views) {
        let mut documents = self.documents.write();
        let Some(chain) = documents.get_mut(key) else { return };
        let held = chain.bytes(key);
        chain.prune(views, chain.newest.number > views.visible());
        let mut kept = chain.bytes(key);
        if chain.newest.document.is_none() && chain.newest.number <= engine {
            documents.remove(key);
            kept = 0;
        }
        self.bytes.fetch_sub(held - kept, Ordering::Relaxed);
    }
}

/// All collections. They are made in `apply` and never dropped while the repository is open.
#[derive(Debug)]
pub(crate) struct Hot {
    collections: RwLock<FxHashMap<CollectionName, Arc<Collection>>>,
    bytes: Arc<AtomicUsize>,
}

impl Hot {
    pub(crate) fn new() -> Self {
        Self { collections: RwLock::default(), bytes: Arc::default() }
    }

    pub(crate) fn collection(&self, name: &CollectionName) -> Option<Arc<Collection>> {
        self.collections.read().get(name).cloned()
    }

    /// Every collection, in the order of their ids.
    pub(crate) fn collections(&self) -> Vec<Arc<Collection>> {
        let mut all: Vec<_> = self.collections.read().values().cloned().collect();
        all.sort_by_key(|collection| collection.id);
        all
    }

    /// Makes the collection `name` known under `id`.
    pub(crate) fn add_collection(&self, name: &CollectionName, id: u32) -> Arc<Collection> {
        let collection = Arc::new(Collection {
            id,
            name: name.clone(),
            documents: RwLock::default(),
            bytes: Arc::clone(&self.bytes),
        });
        self.collections.write().insert(name.clone(), Arc::clone(&collection));
        collection
    }

    /// The id for the next collection.
    pub(crate) fn next_id(&self) -> u32 {
        self.collections.read().values().map(|c| c.id).max().map_or(1, |id| id + 1)
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
mod tests {
    use super::*;
    use crate::at_rest::EngineState;
    use crate::document::MediaType;
    use bytes::Bytes;

    fn version(number: u64) -> Version {
        let document = Document {
            media_type: MediaType::Json,
            body: Bytes::from(number.to_string()),
            version: CommitNumber(number),
            created: Timestamp(0),
            updated: Timestamp(0),
            expires: None,
        };
        Version { number: CommitNumber(number), document: Some(Arc::new(document)) }
    }

    fn seen(collection: &Collection, key: &Key, view: u64) -> Option<u64> {
        match collection.get(key, CommitNumber(view)) {
            Held::Version(document) => document.map(|d| d.version.0),
            Held::Elsewhere => None,
        }
    }

    #[test]
    fn a_view_keeps_just_the_version_it_sees() {
        let hot = Hot::new();
        let notes = hot.add_collection(&CollectionName::new("notes").unwrap(), 1);
        let key = Key::new("a").unwrap();
        let views = Arc::new(Views::new(CommitNumber(0), Timestamp(0), EngineState::default()));
        let put = |number: u64| {
            notes.install(key.clone(), version(number), &views);
            views.publish(CommitNumber(number), Timestamp(0));
        };
        (1..=3).for_each(put);
        let old = views.open(Timestamp(0));
        (4..=50).for_each(put);
        assert_eq!(seen(&notes, &key, 3), Some(3), "the open view's version");
        assert_eq!(seen(&notes, &key, 49), Some(49), "a view may have been opened just before");
        assert_eq!(seen(&notes, &key, 20), Some(3), "what no view sees is gone");
        drop(old);
        let with_old = hot.bytes();
        notes.tidy(&key, CommitNumber(0), &views);
        assert_eq!(seen(&notes, &key, 49), None);
        assert_eq!(seen(&notes, &key, 50), Some(50));
        assert!(hot.bytes() < with_old);
    }

    #[test]
    fn eviction_takes_only_what_the_engine_has() {
        let hot = Hot::new();
        let notes = hot.add_collection(&CollectionName::new("notes").unwrap(), 1);
        let views = Arc::new(Views::new(CommitNumber(0), Timestamp(0), EngineState::default()));
        for number in 1..=1000 {
            let key = Key::new(&format!("k{number:04}")).unwrap();
            notes.install(key, version(number), &views);
            views.publish(CommitNumber(number), Timestamp(0));
        }
        let full = hot.bytes();
        let freed = notes.evict(CommitNumber(400), &views, usize::MAX, true);
        assert_eq!(hot.bytes(), full - freed);
        for number in [1, 400, 401, 1000] {
            let key = Key::new(&format!("k{number:04}")).unwrap();
            let expected = (number > 400).then_some(number);
            assert_eq!(seen(&notes, &key, 1000), expected);
        }
        notes.evict(CommitNumber(1000), &views, usize::MAX, true);
        assert_eq!(hot.bytes(), 0, "every byte that was counted in is counted out");
    }
}
