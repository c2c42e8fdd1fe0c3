//! The cells of one collection: by hash for single documents and, once somebody reads a range, in
//! order as well.
//!
//! New cells wait in a list before they join the order, so that a commit does not search a large
//! ordered map; whoever reads the order lets them join first.

use crate::hot::cell::Cell;
use crate::name::Key;
use crate::seeded::SeededMap;
use foldhash::fast::RandomState;
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Parts of the hash map: one that grows moves only its own cells while others are found.
const SHARDS: usize = 64;

type Shard = RwLock<SeededMap<Key, Arc<Cell>>>;

pub(super) type Order = BTreeMap<Key, Arc<Cell>>;

#[derive(Debug)]
pub(super) struct Table {
    shards: Box<[Shard]>,
    /// How keys are hashed, in all shards.
    hashing: RandomState,
    /// Whether the order is kept.
    is_ordered: AtomicBool,
    order: RwLock<Order>,
    /// Cells that are not in the order yet.
    fresh: Mutex<Vec<Arc<Cell>>>,
}

impl Default for Table {
    fn default() -> Self {
        let hashing = RandomState::default();
        let shard = |_| RwLock::new(SeededMap::with_hasher(hashing.clone()));
        let shards = (0..SHARDS).map(shard).collect();
        let (order, fresh) = (RwLock::default(), Mutex::default());
        Self { shards, hashing, is_ordered: AtomicBool::new(false), order, fresh }
    }
}

impl Table {
    fn shard(&self, key: &Key) -> &Shard {
        // Bits that the map inside uses neither to find a place nor to compare.
        &self.shards[(self.hashing.hash_one(key) >> 40) as usize % SHARDS]
    }

    pub(super) fn find(&self, key: &Key) -> Option<Arc<Cell>> {
        self.shard(key).read().get(key).cloned()
    }

    /// Puts what `make` gives, if anything, unless there is a cell already: then gives that as
    /// `Err`.
    pub(super) fn insert(
        &self,
        key: &Key,
        make: impl FnOnce() -> Option<Cell>,
    ) -> Result<Arc<Cell>, Option<Arc<Cell>>> {
        let mut shard = self.shard(key).write();
        if let Some(known) = shard.get(key) {
            return Err(Some(Arc::clone(known)));
        }
        let cell = Arc::new(make().ok_or(None)?);
        shard.insert(key.clone(), Arc::clone(&cell));
        // Under the shard's lock: whoever begins to keep the order passes the shard before, and
        // finds the cell there, or after, and then this sees that the order is kept.
        if self.is_ordered.load(Ordering::SeqCst) {
            self.fresh.lock().push(Arc::clone(&cell));
        }
        Ok(cell)
    }

    /// Keeps the order from now on.
    fn keep_order(&self) {
        let mut order = self.order.write();
        if self.is_ordered.swap(true, Ordering::SeqCst) {
            return;
        }
        for shard in &self.shards {
            order.extend(shard.read().iter().map(|(key, cell)| (key.clone(), Arc::clone(cell))));
        }
    }

    /// The cells in order.
    pub(super) fn order(&self) -> RwLockReadGuard<'_, Order> {
        if !self.is_ordered.load(Ordering::SeqCst) {
            self.keep_order();
        }
        let is_settled = self.fresh.lock().is_empty();
        if !is_settled {
            drop(self.settled());
        }
        // If somebody else lets the fresh ones join right now, this waits until they have.
        self.order.read()
    }

    /// The order, with every cell in it that was inserted before, if it is kept.
    fn settled(&self) -> RwLockWriteGuard<'_, Order> {
        let mut order = self.order.write();
        let fresh = std::mem::take(&mut *self.fresh.lock());
        order.extend(fresh.into_iter().map(|cell| (cell.key.clone(), cell)));
        order
    }

    /// Lets new cells join the order, if it is kept.
    pub(super) fn settle(&self) {
        if !self.fresh.lock().is_empty() {
            drop(self.settled());
        }
    }

    /// Drops those of `cells` that nobody but the table and the caller, once, holds and that
    /// `is_unwanted`.
    pub(super) fn remove(&self, cells: &[Arc<Cell>], mut is_unwanted: impl FnMut(&Cell) -> bool) {
        let mut order = self.settled();
        for cell in cells {
            let mut shard = self.shard(&cell.key).write();
            let holders = 2 + usize::from(order.contains_key(&cell.key));
            // Nobody can find it now; and nobody else has it.
            if Arc::strong_count(cell) == holders && is_unwanted(cell) {
                shard.remove(&cell.key);
                order.remove(&cell.key);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shards.iter().all(|shard| shard.read().is_empty())
    }

    /// Every cell, in the order of the keys.
    pub(super) fn sorted(&self) -> Vec<Arc<Cell>> {
        let mut cells: Vec<Arc<Cell>> = Vec::new();
        for shard in &self.shards {
            cells.extend(shard.read().values().cloned());
        }
        cells.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        cells
    }
}
