//! The documents of one collection in memory.

use crate::document::{CommitNumber, Document, Timestamp};
use crate::durability::Durability;
use crate::hot::cell::{Cell, Version};
use crate::hot::recent::Recent;
use crate::hot::shape::Shape;
use crate::hot::table::Table;
use crate::index;
use crate::name::{CollectionName, Key};
use crate::range::{Direction, KeyRange};
use crate::settings::Settings;
use crate::views::{View, Views};
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

const NEVER: u64 = u64::MAX;

/// See the module.
#[derive(Debug)]
pub(crate) struct Collection {
    /// Prefixes the collection's keys in the engine.
    pub id: u32,
    pub name: CollectionName,
    /// Neither the log nor the engine knows its documents.
    pub is_volatile: bool,
    /// The values in front of the document's key in a row of an index; 0 for documents.
    pub columns: usize,
    /// Tries that lost over one of its documents.
    pub conflicts: AtomicU64,
    shape: RwLock<Arc<Shape>>,
    configured: AtomicU64,
    /// The commit that ended it; `NEVER` before.
    ended: AtomicU64,
    /// The commit after which nothing was left of it; `NEVER` before.
    cleared: AtomicU64,
    /// Whether the settings are the defaults: then nobody needs to look at the shape.
    is_plain: AtomicBool,
    table: Table,
    /// Whether somebody has read a range: only then is `recent` kept.
    is_ranged: AtomicBool,
    recent: Mutex<Recent>,
    /// Bytes held by all collections together.
    bytes: Arc<AtomicUsize>,
}

impl Collection {
    pub(super) fn new(
        name: &CollectionName,
        id: u32,
        (is_volatile, columns): (bool, usize),
        bytes: &Arc<AtomicUsize>,
    ) -> Self {
        Self {
            id,
            name: name.clone(),
            is_volatile,
            columns,
            conflicts: AtomicU64::new(0),
            shape: RwLock::default(),
            configured: AtomicU64::new(0),
            ended: AtomicU64::new(NEVER),
            cleared: AtomicU64::new(NEVER),
            is_plain: AtomicBool::new(true),
            table: Table::default(),
            is_ranged: AtomicBool::new(false),
            recent: Mutex::default(),
            bytes: Arc::clone(bytes),
        }
    }

    /// What a reply to a commit that writes here means.
    pub(crate) fn durability(&self) -> Durability {
        match self.is_volatile {
            true => Durability::Volatile,
            false if self.is_plain() => Durability::default(),
            false => self.shape.read().settings.durability,
        }
    }

    /// When a document expires that is written at `now` without an expiry of its own.
    pub(crate) fn default_expiry(&self, now: Timestamp) -> Option<Timestamp> {
        let after = if self.is_plain() { None } else { self.shape.read().settings.expiry_ms };
        after.map(|ms| Timestamp(now.0.saturating_add(ms)))
    }

    /// Whether its settings are the defaults, and so it has no indexes.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain.load(Ordering::Acquire)
    }

    /// The key of the document that `key` is the row of, or that it is the key of.
    pub(crate) fn document_key(&self, key: &Key) -> Key {
        match index::split_row(key.as_str(), self.columns) {
            Some((_, key)) if self.columns > 0 => Key::generated(key.to_owned()),
            _ => key.clone(),
        }
    }

    /// Its settings and indexes.
    pub(crate) fn shape(&self) -> Arc<Shape> {
        Arc::clone(&self.shape.read())
    }

    /// The commit that last changed its settings; 0: they are those that it was made with.
    pub(crate) fn configured(&self) -> CommitNumber {
        CommitNumber(self.configured.load(Ordering::Acquire))
    }

    /// The commit that ended it, or of the rows of an index the collection that they belong to.
    pub(crate) fn ended(&self) -> Option<CommitNumber> {
        Some(self.ended.load(Ordering::Acquire)).filter(|at| *at != NEVER).map(CommitNumber)
    }

    pub(super) fn set_ended(&self, number: CommitNumber) {
        self.ended.store(number.0, Ordering::Release);
    }

    /// The commit that found nothing left of it, after it had ended.
    pub(crate) fn cleared(&self) -> Option<CommitNumber> {
        Some(self.cleared.load(Ordering::Acquire)).filter(|at| *at != NEVER).map(CommitNumber)
    }

    pub(super) fn set_cleared(&self, number: CommitNumber) {
        self.cleared.store(number.0, Ordering::Release);
    }

    /// Whether nothing of it is in memory.
    pub(super) fn is_vacant(&self) -> bool {
        self.table.is_empty()
    }

    /// Only `apply` and recovery call this; with the commit that changed the settings, if one did.
    pub(crate) fn set_shape(&self, shape: Shape, configured: Option<CommitNumber>) {
        let is_plain = shape.settings == Settings::default() && shape.indexes.is_empty();
        // Before the shape: whoever sees that one sees since when.
        if let Some(number) = configured {
            self.configured.store(number.0, Ordering::Release);
        }
        *self.shape.write() = Arc::new(shape);
        self.is_plain.store(is_plain, Ordering::Release);
    }

    /// The place of `key`, if it is here.
    pub(crate) fn find(&self, key: &Key) -> Option<Arc<Cell>> {
        self.table.find(key)
    }

    /// The commit that wrote the newest version, if it is here.
    pub(crate) fn last_change(&self, key: &Key) -> Option<CommitNumber> {
        self.table.find(key).map(|cell| cell.last_change())
    }

    /// Puts a new newest version; gives its cell, and the number of the version before, if it is
    /// here. `is_new`: the engine has no version. Only `apply` calls this.
    pub(crate) fn install(
        &self,
        (key, cell): (&Key, Option<Arc<Cell>>),
        version: Version,
        is_new: bool,
        views: &Views,
    ) -> (Arc<Cell>, Option<CommitNumber>) {
        if self.is_ranged.load(Ordering::Acquire) {
            self.recent.lock().note(version.number, key);
        }
        if let Some(cell) = cell.or_else(|| self.find(key)) {
            return self.replace(cell, version, views);
        }
        let new = version.clone();
        match self.table.insert(key, || Some(Cell::new(key.clone(), self.id, new, !is_new))) {
            Ok(cell) => {
                self.bytes.fetch_add(cell.bytes(), Ordering::Relaxed);
                (cell, None)
            }
            // Somebody has remembered the engine's version since it was looked for.
            Err(Some(remembered)) => self.replace(remembered, version, views),
            Err(None) => unreachable!("a new version always makes a cell"),
        }
    }

    fn replace(
        &self,
        cell: Arc<Cell>,
        version: Version,
        views: &Views,
    ) -> (Arc<Cell>, Option<CommitNumber>) {
        let (before, grown) = cell.install(version, views);
        // Two's complement: adding a negative number takes away.
        self.bytes.fetch_add(grown as usize, Ordering::Relaxed);
        (cell, Some(before))
    }

    /// Remembers what `view` read from the engine, unless a commit has put something newer. `None`
    /// if the view was refused: then something newer may have been here, and be in the engine only.
    pub(crate) fn remember(
        &self,
        view: &View,
        key: &Key,
        document: &Arc<Document>,
    ) -> Option<Arc<Cell>> {
        let version = Version { number: document.version, document: Some(Arc::clone(document)) };
        let cell = Cell::new(key.clone(), self.id, version, true);
        let bytes = cell.bytes();
        // Asked under the lock: what is evicted later cannot be newer than what the view sees.
        match self.table.insert(key, || (!view.is_refused()).then_some(cell)) {
            Ok(cell) => {
                self.bytes.fetch_add(bytes, Ordering::Relaxed);
                Some(cell)
            }
            Err(known) => known,
        }
    }

    /// Says that ranges are read from now on. Called before the view's range is read.
    pub(crate) fn expect_ranges(&self) {
        if !self.is_ranged.load(Ordering::Relaxed) {
            self.is_ranged.store(true, Ordering::Release);
        }
    }

    /// At most `limit` cells between the bounds, in `direction`.
    pub(crate) fn cells(
        &self,
        range: &KeyRange,
        direction: Direction,
        limit: usize,
    ) -> Vec<Arc<Cell>> {
        if range.is_empty() {
            return Vec::new();
        }
        let order = self.table.order();
        let cells = order.range((range.from.clone(), range.to.clone()));
        match direction {
            Direction::Ascending => cells.take(limit).map(|(_, c)| Arc::clone(c)).collect(),
            Direction::Descending => cells.rev().take(limit).map(|(_, c)| Arc::clone(c)).collect(),
        }
    }

    /// The keys that commits after `view` have changed, in order, each with the latest of them;
    /// `None` if some are not known any more.
    pub(crate) fn changes_after(&self, view: CommitNumber) -> Option<Vec<(Key, CommitNumber)>> {
        let recent = self.recent.lock();
        let changes = recent.after(view)?.map(|(number, key)| (key.clone(), *number));
        let mut changes: Vec<_> = changes.collect();
        drop(recent);
        // Stable: the latest of each key stays in front.
        changes.sort_by(|a, b| a.0.cmp(&b.0));
        changes.dedup_by(|a, b| a.0 == b.0);
        Some(changes)
    }

    /// A key between the bounds that a commit after `view` has changed, and the latest such commit
    /// on it.
    pub(crate) fn changed_in(
        &self,
        range: &KeyRange,
        view: CommitNumber,
    ) -> Option<(Key, CommitNumber)> {
        if let Some(changes) = self.recent.lock().after(view) {
            let mut changes = changes.filter(|(_, key)| range.contains(key));
            return changes.next().map(|(number, key)| (key.clone(), *number));
        }
        // More was changed since the view than is listed: look at everything in the range.
        if range.is_empty() {
            return None;
        }
        let order = self.table.order();
        let cells = order.range((range.from.clone(), range.to.clone()));
        let changes = cells.map(|(key, cell)| (key, cell.last_change()));
        let latest = changes.max_by_key(|(_, number)| *number)?;
        (latest.1 > view).then(|| (latest.0.clone(), latest.1))
    }

    /// Lets new documents join the order, so that the first to read a range need not.
    pub(crate) fn settle(&self) {
        self.table.settle();
    }

    /// Looks at documents that waited for eviction: drops those that the engine has at `oldest` and
    /// that were not read since they were looked at last (second chance; Corbató 1968). Gives those
    /// that are to wait on. One that is newer than the engine's `newest` commit is not: the
    /// checkpoint that writes it lets it wait again.
    pub(super) fn evict(
        &self,
        cells: Vec<Arc<Cell>>,
        (oldest, newest): (CommitNumber, CommitNumber),
        views: &Views,
    ) -> Vec<Arc<Cell>> {
        let (mut waiting, mut unwanted) = (Vec::new(), Vec::new());
        let mut freed = 0;
        for cell in cells {
            let look = cell.prune(oldest, views);
            freed += look.freed;
            if self.is_volatile && !look.deleted {
                // It stays, and only its older versions could go.
            } else if !look.in_engine {
                // A view still reads an earlier state of the engine, or does not see yet that it is
                // deleted.
                if look.newest <= newest || self.is_volatile {
                    waiting.push(cell);
                }
            } else if look.used && !look.deleted {
                waiting.push(cell);
            } else {
                unwanted.push(cell);
            }
        }
        freed += self.remove(&unwanted, oldest, views);
        self.bytes.fetch_sub(freed, Ordering::Relaxed);
        // Somebody may still hold one that could not be dropped.
        waiting.extend(unwanted.into_iter().filter(|cell| Arc::strong_count(cell) > 1));
        waiting
    }

    /// Drops those of `cells` that are still unwanted; gives the bytes freed.
    fn remove(&self, cells: &[Arc<Cell>], engine: CommitNumber, views: &Views) -> usize {
        let mut freed = 0;
        if !cells.is_empty() {
            self.table.remove(cells, |cell| {
                let look = cell.prune(engine, views);
                let is_unwanted = look.in_engine && (look.deleted || !self.is_volatile);
                freed += look.freed + if is_unwanted { look.held } else { 0 };
                is_unwanted
            });
        }
        freed
    }

    /// Every newest version that is here, in key order; `None`: it is deleted.
    pub(crate) fn each(&self, mut visit: impl FnMut(&Key, Option<&Document>)) {
        for cell in self.table.sorted() {
            visit(&cell.key, cell.newest().document.as_deref());
        }
    }

    /// Drops what no view sees any more of one document, which a checkpoint has written; gives it
    /// back if it is to wait for eviction.
    pub(super) fn tidy(
        &self,
        cell: Arc<Cell>,
        engine: CommitNumber,
        views: &Views,
    ) -> Option<Arc<Cell>> {
        let look = cell.prune(engine, views);
        let mut freed = look.freed;
        let is_gone = look.deleted && look.in_engine;
        let cells = [cell];
        if is_gone {
            freed += self.remove(&cells, engine, views);
        }
        self.bytes.fetch_sub(freed, Ordering::Relaxed);
        let [cell] = cells;
        (Arc::strong_count(&cell) > 1).then_some(cell)
    }
}
