//! One document in memory: the versions that somebody may still read.

use crate::document::{CommitNumber, Document, Timestamp};
use crate::name::Key;
use crate::views::Views;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a document costs in memory beside its key and body, measured with 300-byte documents:
/// table slots, two allocations, counters.
const DOCUMENT_OVERHEAD_BYTES: usize = 340;

/// A version: who wrote it, and the document, or `None` where it was deleted.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub number: CommitNumber,
    pub document: Option<Arc<Document>>,
}

/// What memory says about a document.
pub(crate) enum Held {
    /// The version that the view sees is here; `None`: it is deleted.
    Version(Option<Arc<Document>>),
    /// Nothing that the view sees is here: the engine has it, if anybody.
    Elsewhere,
}

/// The place of one document in memory. Whoever holds one can look at it again without a search:
/// a cell that is held is never dropped from its collection.
#[derive(Debug)]
pub(crate) struct Cell {
    pub key: Key,
    /// Its collection's id.
    pub collection: u32,
    /// Read since the last eviction looked at it.
    used: AtomicBool,
    /// Waits to be looked at by eviction.
    is_waiting: AtomicBool,
    /// The engine may have a version of it.
    may_be_at_rest: AtomicBool,
    chain: Mutex<Chain>,
}

#[derive(Debug)]
struct Chain {
    newest: Version,
    /// Oldest first; usually empty.
    older: Vec<Version>,
}

/// What eviction found out about a cell.
pub(super) struct Look {
    /// Bytes that dropping old versions freed.
    pub freed: usize,
    /// Bytes that are still held.
    pub held: usize,
    /// The commit that wrote the newest version.
    pub newest: CommitNumber,
    /// The engine has the newest version.
    pub in_engine: bool,
    /// Read since the last look.
    pub used: bool,
    pub deleted: bool,
}

impl Cell {
    pub(super) fn new(key: Key, collection: u32, newest: Version, may_be_at_rest: bool) -> Self {
        Self {
            key,
            collection,
            used: AtomicBool::new(true),
            is_waiting: AtomicBool::new(false),
            may_be_at_rest: AtomicBool::new(may_be_at_rest),
            chain: Mutex::new(Chain { newest, older: Vec::new() }),
        }
    }

    /// Whether the engine may have a version of it, so that a deletion must be written.
    pub(crate) fn may_be_at_rest(&self) -> bool {
        self.may_be_at_rest.load(Ordering::Relaxed)
    }

    /// Says that the engine has it now.
    pub(crate) fn set_at_rest(&self) {
        self.may_be_at_rest.store(true, Ordering::Relaxed);
    }

    /// Sets whether it waits for eviction; gives whether it did.
    pub(super) fn set_waiting(&self, is_waiting: bool) -> bool {
        self.is_waiting.swap(is_waiting, Ordering::AcqRel)
    }

    /// The version that `view` sees.
    pub(crate) fn at(&self, view: CommitNumber) -> Held {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
        let chain = self.chain.lock();
        match chain.at(view) {
            Some(version) => Held::Version(version.document.clone()),
            None => Held::Elsewhere,
        }
    }

    /// The commit that wrote the newest version.
    pub(crate) fn last_change(&self) -> CommitNumber {
        self.chain.lock().newest.number
    }

    /// When the newest version expires.
    pub(crate) fn expires(&self) -> Option<Timestamp> {
        self.chain.lock().newest.document.as_ref()?.expires
    }

    /// The newest version.
    pub(crate) fn newest(&self) -> Version {
        self.chain.lock().newest.clone()
    }

    /// Puts a new newest version; gives the number of the one before and by how many bytes memory
    /// has grown.
    pub(super) fn install(&self, version: Version, views: &Views) -> (CommitNumber, isize) {
        let mut chain = self.chain.lock();
        debug_assert!(chain.newest.number < version.number);
        let before = chain.newest.number;
        let mut grown = version_bytes(&self.key, &version) as isize;
        let old = std::mem::replace(&mut chain.newest, version);
        chain.older.push(old);
        if chain.older.len() > 1 {
            grown -= chain.prune(&self.key, views, true) as isize;
        }
        (before, grown)
    }

    /// Drops versions that no view sees any more, and says what is left.
    pub(super) fn prune(&self, engine: CommitNumber, views: &Views) -> Look {
        let mut chain = self.chain.lock();
        let is_hidden = chain.newest.number > views.visible();
        let freed = chain.prune(&self.key, views, is_hidden);
        Look {
            freed,
            held: chain.bytes(&self.key),
            newest: chain.newest.number,
            in_engine: chain.newest.number <= engine,
            used: self.used.swap(false, Ordering::Relaxed),
            deleted: chain.newest.document.is_none(),
        }
    }

    /// Bytes that its versions take in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.chain.lock().bytes(&self.key)
    }
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

    /// Drops versions that no open view sees; gives their bytes. The one before the newest stays
    /// while `newest_is_hidden`: a view may open on it at any moment.
    fn prune(&mut self, key: &Key, views: &Views, newest_is_hidden: bool) -> usize {
        let mut freed = 0;
        let mut successor = self.newest.number;
        for i in (0..self.older.len()).rev() {
            let number = self.older[i].number;
            let is_last = i + 1 == self.older.len();
            if (is_last && newest_is_hidden) || views.any_between(number, successor) {
                successor = number;
            } else {
                freed += version_bytes(key, &self.older.remove(i));
            }
        }
        freed
    }
}

fn version_bytes(key: &Key, version: &Version) -> usize {
    let body = version.document.as_ref().map_or(0, |d| d.body.len());
    DOCUMENT_OVERHEAD_BYTES + key.as_str().len() + body
}
