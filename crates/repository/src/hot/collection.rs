//! The documents of one collection in memory.

use crate::document::{CommitNumber, Document};
use crate::durability::Durability;
use crate::hot::cell::{Cell, Version};
use crate::hot::recent::Recent;
use crate::hot::shape::Shape;
use crate::index;
use crate::name::{CollectionName, Key};
use crate::range::{Direction, KeyRange};
use crate::settings::Settings;
use crate::views::Views;
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Documents looked at under one lock by scans, so that nobody waits long for it.
const SCAN_CHUNK: usize = 256;

/// Who holds a cell that nobody uses: the two parts of the table.
const TABLE_HOLDERS: usize = 2;

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
    /// Whether the settings are the defaults: then nobody needs to look at the shape.
    is_plain: AtomicBool,
    table: RwLock<Table>,
    /// Whether somebody has read a range: only then is `recent` kept.
    is_ranged: AtomicBool,
    recent: Mutex<Recent>,
    /// Bytes held by all collections together.
    bytes: Arc<AtomicUsize>,
}

/// The same cells twice: by hash for single documents, by order for ranges.
#[derive(Debug, Default)]
struct Table {
    cells: FxHashMap<Key, Arc<Cell>>,
    order: BTreeMap<Key, Arc<Cell>>,
}

impl Table {
    fn insert(&mut self, cell: &Arc<Cell>) {
        self.cells.insert(cell.key.clone(), Arc::clone(cell));
        self.order.insert(cell.key.clone(), Arc::clone(cell));
    }

    fn remove(&mut self, key: &Key) {
        self.cells.remove(key);
        self.order.remove(key);
    }
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
            is_plain: AtomicBool::new(true),
            table: RwLock::default(),
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

    /// Only `apply` and recovery call this; with the commit that changed the settings, if one did.
    pub(crate) fn set_shape(&self, shape: Shape, configured: Option<CommitNumber>) {
        let is_plain = shape.settings == Settings::default() && shape.indexes.is_empty();
        *self.shape.write() = Arc::new(shape);
        self.is_plain.store(is_plain, Ordering::Release);
        if let Some(number) = configured {
            self.configured.store(number.0, Ordering::Release);
        }
    }

    /// The place of `key`, if it is here.
    pub(crate) fn find(&self, key: &Key) -> Option<Arc<Cell>> {
        self.table.read().cells.get(key).cloned()
    }

    /// The commit that wrote the newest version, if it is here.
    pub(crate) fn last_change(&self, key: &Key) -> Option<CommitNumber> {
        self.table.read().cells.get(key).map(|cell| cell.last_change())
    }

    /// Puts a new newest version; gives its cell, and the number of the version before, if it is
    /// here. Only `apply` calls this.
    pub(crate) fn install(
        &self,
        cell: Option<Arc<Cell>>,
        key: &Key,
        version: Version,
        views: &Views,
    ) -> (Arc<Cell>, Option<CommitNumber>) {
        if self.is_ranged.load(Ordering::Acquire) {
            self.recent.lock().note(version.number, key);
        }
        if let Some(cell) = cell.or_else(|| self.find(key)) {
            return self.replace(cell, version, views);
        }
        let mut table = self.table.write();
        // Somebody may have remembered the engine's version since it was looked for.
        if let Some(remembered) = table.cells.get(key).cloned() {
            drop(table);
            return self.replace(remembered, version, views);
        }
        let cell = Arc::new(Cell::new(key.clone(), self.id, version, true));
        self.bytes.fetch_add(cell.bytes(), Ordering::Relaxed);
        table.insert(&cell);
        (cell, None)
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

    /// Remembers what a view read from the engine, unless a commit has put something newer.
    pub(crate) fn remember(&self, key: &Key, document: &Arc<Document>) -> Arc<Cell> {
        let version = Version { number: document.version, document: Some(Arc::clone(document)) };
        let cell = Arc::new(Cell::new(key.clone(), self.id, version, false));
        let mut table = self.table.write();
        if let Some(known) = table.cells.get(key) {
            return Arc::clone(known);
        }
        self.bytes.fetch_add(cell.bytes(), Ordering::Relaxed);
        table.insert(&cell);
        cell
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
        let table = self.table.read();
        let cells = table.order.range((range.from.clone(), range.to.clone()));
        match direction {
            Direction::Ascending => cells.take(limit).map(|(_, c)| Arc::clone(c)).collect(),
            Direction::Descending => cells.rev().take(limit).map(|(_, c)| Arc::clone(c)).collect(),
        }
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
        let table = self.table.read();
        let cells = table.order.range((range.from.clone(), range.to.clone()));
        let changes = cells.map(|(key, cell)| (key, cell.last_change()));
        let latest = changes.max_by_key(|(_, number)| *number)?;
        (latest.1 > view).then(|| (latest.0.clone(), latest.1))
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
            let range = KeyRange::new(from.clone(), Bound::Unbounded);
            let mut table = self.table.write();
            let chunk: Vec<Key> = table
                .order
                .range((range.from.clone(), range.to.clone()))
                .take(SCAN_CHUNK)
                .map(|(key, _)| key.clone())
                .collect();
            let Some(last) = chunk.last() else { break };
            from = Bound::Excluded(last.clone());
            for key in &chunk {
                let Some(cell) = table.cells.get(key) else { continue };
                let look = cell.prune(engine, views);
                freed += look.freed;
                let is_unwanted = look.deleted || (!self.is_volatile && (all || !look.used));
                if look.in_engine && is_unwanted && Arc::strong_count(cell) == TABLE_HOLDERS {
                    freed += look.held;
                    table.remove(key);
                }
            }
        }
        self.bytes.fetch_sub(freed, Ordering::Relaxed);
        freed
    }

    /// Every newest version that is here, in key order; `None`: it is deleted.
    pub(crate) fn each(&self, mut visit: impl FnMut(&Key, Option<&Document>)) {
        for (key, cell) in &self.table.read().order {
            visit(key, cell.newest().document.as_deref());
        }
    }

    /// Drops what no view sees any more of one document, which the caller lets go of.
    pub(crate) fn tidy(&self, cell: Arc<Cell>, engine: CommitNumber, views: &Views) {
        let look = cell.prune(engine, views);
        let mut freed = look.freed;
        if look.deleted && look.in_engine {
            let mut table = self.table.write();
            // Looked at again now that nobody else can find it.
            let look = cell.prune(engine, views);
            freed += look.freed;
            let is_free = Arc::strong_count(&cell) == TABLE_HOLDERS + 1;
            if is_free && look.deleted && look.in_engine {
                freed += look.held;
                table.remove(&cell.key);
            }
        }
        self.bytes.fetch_sub(freed, Ordering::Relaxed);
    }
}
