//! The one door to the storage engine: documents at rest, as of a commit number.
//!
//! The engine (an LSM tree) has no log and, as it is used here, no memtable: a checkpoint writes
//! the newest version of every document that changed since the one before, in key order, as new
//! tables that join the tree in one atomic step together with the commit number they bring it to.
//! So the tree on disk is always exactly the repository at that commit. Which tables those are, a
//! list says, of which `lists` reads what is on disk; `turns` keeps one from being written over
//! another that counts.

pub(crate) mod lists;
mod turns;
mod unreadable;

use crate::at_rest::{
    AtRest, EngineError, EngineState, Ingest, KeyBounds, StateRow, VisitKey, VisitRow,
};
use crate::document::{CommitNumber, Document, Timestamp};
use crate::errors::{OpenError, ReadError, ViewTooOld};
use crate::range::Direction;
use crate::record::{DecodeError, Reader, put_at_rest};
use bytes::Bytes;
use lsm_tree::config::{BlockSizePolicy, CompressionPolicy};
use lsm_tree::{
    AbstractTree, AnyIngestion, AnyTree, Cache, CompressionType, Config, DescriptorTable, Guard,
    SequenceNumberCounter, compaction,
};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use turns::{Pauses, Turns, Work};
use unreadable::{Place, Unreadable};

/// Open files the engine keeps for its tables.
const OPEN_TABLES_MAX: usize = 256;

/// Size of a data block in a table: a point read decodes one.
const BLOCK_BYTES: u32 = 4096;

/// Prefix of rows that are not documents. Collection ids start at 1.
const SYSTEM_ID: u32 = 0;
const STATE_ROW: &[u8] = b"state";

/// Size of a merged table.
const TABLE_BYTES: u64 = 8 << 20;

/// Tables of checkpoints that are merged at a time; the first level below them has as many tables.
const TABLES_PER_MERGE: u8 = 2;

/// How many times larger each further level is. While tables are merged the old and the new are on
/// disk, so merges are to be small. A first level of 16 MiB makes them so without many levels: what
/// is pushed down from it is as large as the checkpoints that came in, not as the level.
const LEVEL_RATIO: f32 = 40.0;

/// Everything is merged once one row in so many only says that a document is deleted: such a row
/// stands for about one document's dead bytes, and each deletion pays for rewriting so many rows.
/// While checkpoints follow each other, the merges that they cause anyway take such rows along, and
/// need less room than everything twice.
const ROWS_PER_TOMBSTONE: u64 = 8;

/// The tree.
pub(crate) struct Engine {
    tree: AnyTree,
    sequence: SequenceNumberCounter,
    /// What the last merge of everything had to leave because of open views.
    left: Mutex<Left>,
    /// States before this sequence number are gone; the tree panics when they are read. Held while
    /// a read finds its tables.
    released: RwLock<u64>,
    turns: Arc<Turns>,
    unreadable: Unreadable,
}

/// Rows of deleted documents that views still needed, and the sequence number at that time.
#[derive(Clone, Copy, Default)]
struct Left {
    tombstones: u64,
    sequence: u64,
}

impl Engine {
    /// Opens what is in `folder`, or makes it where nothing was made yet. Files that are damaged,
    /// as far as their lists tell, are an error, and nothing is changed.
    pub(crate) fn open(folder: &Path, cache_bytes: u64) -> Result<Self, OpenError> {
        if lists::is_unmade(folder)? {
            return Self::start(folder, cache_bytes);
        }
        let list = lists::check(folder)?;
        // The tree removes what the list does not name, which no power cut may ask for again.
        list.make_current(folder).map_err(|source| {
            let path = folder.join("current");
            OpenError::Io { action: "write", path, source }
        })?;
        Self::start(folder, cache_bytes).map_err(|error| {
            let tables = list.tables(folder).unwrap_or_default();
            let mut damaged =
                tables.iter().filter_map(|(path, sum)| lists::check_table(path, *sum));
            damaged.next().map_or(error, OpenError::from)
        })
    }

    fn start(folder: &Path, cache_bytes: u64) -> Result<Self, OpenError> {
        let error = |why: String| OpenError::Engine { path: folder.to_owned(), why };
        let sequence = SequenceNumberCounter::default();
        let turns = Arc::new(Turns::new(folder));
        let pauses = Pauses(AssertUnwindSafe(Arc::clone(&turns)));
        let config = Config::new(folder, sequence.clone(), SequenceNumberCounter::default())
            .use_cache(Arc::new(Cache::with_capacity_bytes(cache_bytes)))
            .use_descriptor_table(Some(Arc::new(DescriptorTable::new(OPEN_TABLES_MAX))))
            .data_block_size_policy(BlockSizePolicy::all(BLOCK_BYTES))
            .data_block_compression_policy(CompressionPolicy::all(CompressionType::None))
            .with_compaction_filter_factory(Some(Arc::new(pauses)));
        // What damage makes it do is not foreseen everywhere.
        let tree = catch_unwind(AssertUnwindSafe(|| config.open()))
            .map_err(|_panic| error("its files are not what it has written".to_owned()))?
            .map_err(|e| error(e.to_string()))?;
        // Every read must see what the files hold, so the counter starts above all of it.
        sequence.fetch_max(tree.get_highest_persisted_seqno().map_or(1, |highest| highest + 1));
        turns.begin_after(tree.current_version().id());
        let (left, released) = (Mutex::default(), RwLock::default());
        let unreadable = Unreadable::default();
        Ok(Self { tree, sequence, left, released, turns, unreadable })
    }

    /// Lets go of states before `oldest`: from now on nobody begins to read one.
    fn let_go(&self, oldest: EngineState) {
        let mut released = self.released.write();
        *released = oldest.sequence.max(*released);
    }

    /// Keeps `state` from being released until the guard is dropped.
    fn hold(&self, state: EngineState) -> Result<RwLockReadGuard<'_, u64>, ReadError> {
        let released = self.released.read();
        if state.sequence < *released {
            return Err(ViewTooOld { view: state.commit }.into());
        }
        Ok(released)
    }

    fn unreadable(&self, at: Place<'_>, error: lsm_tree::Error) -> ReadError {
        self.unreadable.name(&self.tree, at, error)
    }

    /// Merges tables as `merge` says, in turn with checkpoints.
    fn merge(
        &self,
        merge: impl FnOnce(&AnyTree) -> lsm_tree::Result<()>,
    ) -> Result<(), EngineError> {
        let turn = self.turns.take(Work::Merge)?;
        let merged = merge(&self.tree);
        turn.done(merged.is_ok(), self.tree.current_version().id());
        merged.map_err(write_error)
    }

    /// Whether so many rows of deleted documents are there that merging everything is worth it.
    fn is_full_of_tombstones(&self, left: Left, oldest: EngineState) -> bool {
        // Whoever needed them then may be gone.
        let needed = if oldest.sequence < left.sequence { left.tombstones } else { 0 };
        let tombstones = self.tree.tombstone_count().saturating_sub(needed);
        tombstones > 0 && tombstones * ROWS_PER_TOMBSTONE >= self.tree.approximate_len() as u64
    }
}

impl AtRest for Engine {
    fn state(&self, commit: CommitNumber) -> EngineState {
        EngineState { commit, sequence: self.sequence.get() }
    }

    fn state_row(&self) -> Result<StateRow, ReadError> {
        let key = engine_key(SYSTEM_ID, STATE_ROW);
        let row = self.tree.get(&key, self.sequence.get());
        let row = row.map_err(|error| self.unreadable(Place::At(&key), error))?;
        let Some(row) = row else { return Ok(StateRow::default()) };
        let mut reader = Reader::new(Bytes::copy_from_slice(&row));
        let fields = reader.u64().and_then(|commit| Ok((commit, reader.u64()?)));
        let (commit, time) = fields.map_err(decode_error)?;
        // Earlier builds did not write it.
        let segment = if row.len() < 24 { 0 } else { reader.u64().map_err(decode_error)? };
        Ok(StateRow { commit: CommitNumber(commit), time: Timestamp(time), segment })
    }

    fn get(
        &self,
        state: EngineState,
        collection: u32,
        key: &str,
    ) -> Result<Option<Arc<Document>>, ReadError> {
        if state.commit == CommitNumber(0) {
            return Ok(None);
        }
        let _held = self.hold(state)?;
        let row_key = engine_key(collection, key.as_bytes());
        let row = self.tree.get(&row_key, state.sequence);
        let row = row.map_err(|error| self.unreadable(Place::At(&row_key), error))?;
        row.map(|row| decode_document(&row)).transpose()
    }

    fn scan(&self, state: EngineState, visit: VisitRow<'_>) -> Result<(), ReadError> {
        let first = engine_key(SYSTEM_ID + 1, b"");
        let held = self.hold(state)?;
        let rows = self.tree.range(&first[..].., state.sequence, None);
        drop(held);
        let mut last = lsm_tree::UserKey::from(first);
        for guard in rows {
            let from = |error| self.unreadable(Place::From(&last, Direction::Ascending), error);
            let (key, row) = guard.into_inner().map_err(from)?;
            let (id, name) = split_key(&key)?;
            if visit(id, name, decode_document(&row)?).is_break() {
                break;
            }
            last = key;
        }
        Ok(())
    }

    fn range(
        &self,
        state: EngineState,
        collection: u32,
        (from, to): KeyBounds<'_>,
        direction: Direction,
        visit: VisitKey<'_>,
    ) -> Result<(), ReadError> {
        let row_key = |key: &str| engine_key(collection, key.as_bytes());
        let from = match from {
            Bound::Unbounded => Bound::Included(row_key("")),
            bound => bound.map(row_key),
        };
        let to = match to {
            Bound::Unbounded => Bound::Excluded(engine_key(collection + 1, b"")),
            bound => bound.map(row_key),
        };
        if is_empty(&from, &to) {
            return Ok(());
        }
        let mut last = match (direction, &from, &to) {
            (Direction::Ascending, Bound::Included(key) | Bound::Excluded(key), _)
            | (Direction::Descending, _, Bound::Included(key) | Bound::Excluded(key)) => {
                lsm_tree::UserKey::from(&key[..])
            }
            _ => lsm_tree::UserKey::from(engine_key(collection, b"")),
        };
        let held = self.hold(state)?;
        let mut rows = self.tree.range((from, to), state.sequence, None);
        drop(held);
        loop {
            let next = match direction {
                Direction::Ascending => rows.next(),
                Direction::Descending => rows.next_back(),
            };
            let Some(guard) = next else { return Ok(()) };
            let behind = |error| self.unreadable(Place::From(&last, direction), error);
            let (key, row) = guard.into_inner().map_err(behind)?;
            if visit(split_key(&key)?.1, decode_document(&row)?).is_break() {
                return Ok(());
            }
            last = key;
        }
    }

    fn ingest(&self, row: StateRow) -> Result<Box<dyn Ingest + '_>, EngineError> {
        let mut ingestion = self.tree.ingestion().map_err(write_error)?;
        let fields = [row.commit.0, row.time.0, row.segment].map(u64::to_le_bytes).concat();
        ingestion.write(engine_key(SYSTEM_ID, STATE_ROW), fields).map_err(write_error)?;
        Ok(Box::new(Tables { engine: self, ingestion }))
    }

    fn compact(&self, oldest: EngineState, is_idle: bool) -> Result<bool, EngineError> {
        // Of merges there is one at a time.
        let mut left = self.left.lock();
        // Merging lets go of what came before, too.
        self.let_go(oldest);
        let before = self.tree.current_version().id();
        let levels = compaction::Leveled::default()
            .with_table_target_size(TABLE_BYTES)
            .with_l0_threshold(TABLES_PER_MERGE)
            .with_level_ratio_policy(vec![LEVEL_RATIO]);
        self.merge(|tree| tree.compact(Arc::new(levels), oldest.sequence))?;
        if self.tree.current_version().id() != before {
            return Ok(true);
        }
        // Rows of deleted documents leave only from the last level, and levels that are not full
        // would keep them, and what they delete, for ever.
        if !is_idle || !self.is_full_of_tombstones(*left, oldest) {
            return Ok(false);
        }
        let sequence = self.sequence.get();
        self.merge(|tree| tree.major_compact(TABLE_BYTES, oldest.sequence))?;
        *left = Left { tombstones: self.tree.tombstone_count(), sequence };
        Ok(true)
    }

    fn release(&self, oldest: EngineState) -> Result<(), EngineError> {
        self.let_go(oldest);
        let mut history = self.tree.get_version_history_lock();
        history.maintenance(&self.tree.tree_config().path, oldest.sequence).map_err(write_error)
    }

    fn disk_bytes(&self) -> u64 {
        self.tree.disk_space()
    }

    fn rows(&self) -> u64 {
        self.tree.approximate_len() as u64
    }

    fn check_files(&self) -> Vec<String> {
        // As long as it is held, none of its files is removed.
        let version = self.tree.current_version();
        version.iter_tables().filter_map(unreadable::check).collect()
    }
}

/// The storage engine in a folder of its own, for whoever takes the repository's steps.
pub fn open_engine(folder: &Path, cache_bytes: u64) -> Result<Box<dyn AtRest>, OpenError> {
    Ok(Box::new(Engine::open(folder, cache_bytes)?))
}

/// The tables of one checkpoint, being written in key order.
struct Tables<'a> {
    engine: &'a Engine,
    ingestion: AnyIngestion<'a>,
}

impl Ingest for Tables<'_> {
    fn write(
        &mut self,
        collection: u32,
        key: &str,
        document: Option<&Document>,
    ) -> Result<(), EngineError> {
        let row_key = engine_key(collection, key.as_bytes());
        match document {
            Some(document) => self.ingestion.write(row_key, encode_document(document)),
            None => self.ingestion.write_tombstone(row_key),
        }
        .map_err(write_error)
    }

    fn finish(self: Box<Self>) -> Result<(), EngineError> {
        let Self { engine, ingestion } = *self;
        let turn = engine.turns.take(Work::Checkpoint)?;
        let finished = ingestion.finish();
        turn.done(finished.is_ok(), engine.tree.current_version().id());
        finished.map_err(write_error)
    }
}

/// Whether no key can lie between the bounds.
fn is_empty(from: &Bound<Vec<u8>>, to: &Bound<Vec<u8>>) -> bool {
    match (from, to) {
        (Bound::Included(from), Bound::Included(to)) => from > to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Excluded(to))
        | (Bound::Excluded(from), Bound::Included(to)) => from >= to,
        _ => false,
    }
}

fn decode_error(error: DecodeError) -> ReadError {
    ReadError::Engine(format!("a row is damaged {error}").into())
}

fn write_error(error: lsm_tree::Error) -> EngineError {
    EngineError(error.to_string())
}

/// Collection id, big-endian so that rows sort by it, then the key.
fn engine_key(collection: u32, key: &[u8]) -> Vec<u8> {
    [&collection.to_be_bytes(), key].concat()
}

fn split_key(row_key: &[u8]) -> Result<(u32, &str), ReadError> {
    let damaged = || ReadError::Engine("a row's key is damaged".into());
    let (id, key) = row_key.split_first_chunk::<4>().ok_or_else(damaged)?;
    Ok((u32::from_be_bytes(*id), std::str::from_utf8(key).map_err(|_| damaged())?))
}

/// A row's key, as a person reads it.
fn shown(row_key: &[u8]) -> String {
    match row_key.split_first_chunk::<4>() {
        Some((id, key)) => {
            let (id, key) = (u32::from_be_bytes(*id), String::from_utf8_lossy(key));
            format!("{key:?} of collection {id}")
        }
        None => "a damaged key".to_owned(),
    }
}

pub(crate) fn encode_document(document: &Document) -> Vec<u8> {
    let mut row = Vec::with_capacity(32 + document.body.len());
    row.extend_from_slice(&document.version.0.to_le_bytes());
    row.extend_from_slice(&document.created.0.to_le_bytes());
    row.extend_from_slice(&document.updated.0.to_le_bytes());
    put_at_rest(document, &mut row);
    row
}

pub(crate) fn decode_document(row: &[u8]) -> Result<Arc<Document>, ReadError> {
    let mut reader = Reader::new(Bytes::copy_from_slice(row));
    let mut decode = || {
        let version = CommitNumber(reader.u64()?);
        let created = Timestamp(reader.u64()?);
        let updated = Timestamp(reader.u64()?);
        let (media_type, expires, is_blob) = reader.representation_at_rest()?;
        let blob = if is_blob { Some(reader.blob(&media_type)?) } else { None };
        let body = reader.rest();
        Ok(Arc::new(Document { media_type, body, blob, version, created, updated, expires }))
    };
    decode().map_err(decode_error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::MediaType;
    use std::ops::ControlFlow;

    const CACHE_BYTES: u64 = 1 << 20;

    fn document(version: u64, bytes: usize) -> Document {
        Document {
            media_type: MediaType::Json,
            body: Bytes::from(vec![b'1'; bytes]),
            blob: None,
            version: CommitNumber(version),
            created: Timestamp(0),
            updated: Timestamp(version),
            expires: None,
        }
    }

    /// Writes a checkpoint of documents of 1,000 bytes, and of deletions.
    fn checkpoint(engine: &Engine, commit: u64, rows: &[(String, bool)]) {
        let time = Timestamp(commit);
        let row = StateRow { commit: CommitNumber(commit), time, segment: 0 };
        let mut ingest = engine.ingest(row).unwrap();
        for (key, is_there) in rows {
            let document = is_there.then(|| document(commit, 1000));
            ingest.write(2, key, document.as_ref()).unwrap();
        }
        ingest.finish().unwrap();
    }

    fn compact(engine: &Engine, oldest: EngineState) {
        while engine.compact(oldest, true).unwrap() {}
        engine.release(engine.state(oldest.commit)).unwrap();
    }

    fn keys(engine: &Engine, bounds: KeyBounds<'_>, direction: Direction, most: usize) -> String {
        let mut keys = Vec::new();
        let state = engine.state(CommitNumber(1));
        let mut visit = |key: &str, _| {
            keys.push(key.to_owned());
            if keys.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        engine.range(state, 2, bounds, direction, &mut visit).unwrap();
        keys.join(" ")
    }

    fn folder_bytes(folder: &Path) -> u64 {
        let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
        entries
            .map(|entry| match entry.metadata().unwrap() {
                folder if folder.is_dir() => folder_bytes(&entry.path()),
                file => file.len(),
            })
            .sum()
    }

    #[test]
    fn ranges_keep_to_their_bounds_in_both_directions() {
        use Bound::{Excluded, Included, Unbounded};
        use Direction::{Ascending, Descending};
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(folder.path(), CACHE_BYTES).unwrap();
        let mut ingest = engine.ingest(StateRow::default()).unwrap();
        for (collection, key) in [(1, "z"), (2, "a"), (2, "b"), (2, "c"), (2, "ü"), (3, "a")] {
            ingest.write(collection, key, Some(&document(1, 10))).unwrap();
        }
        ingest.finish().unwrap();
        let all = (Unbounded, Unbounded);
        assert_eq!(keys(&engine, all, Ascending, 9), "a b c ü");
        assert_eq!(keys(&engine, all, Descending, 9), "ü c b a");
        assert_eq!(keys(&engine, all, Descending, 2), "ü c");
        assert_eq!(keys(&engine, (Included("b"), Excluded("ü")), Ascending, 9), "b c");
        assert_eq!(keys(&engine, (Excluded("b"), Included("ü")), Descending, 9), "ü c");
        assert_eq!(keys(&engine, (Excluded("b"), Excluded("b")), Ascending, 9), "");
        assert_eq!(keys(&engine, (Included("c"), Included("a")), Ascending, 9), "");
        assert_eq!(keys(&engine, (Included("c"), Included("c")), Ascending, 9), "c");
    }

    #[test]
    fn a_state_of_an_earlier_build_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(folder.path(), CACHE_BYTES).unwrap();
        let written = StateRow { commit: CommitNumber(7), time: Timestamp(8), segment: 9 };
        engine.ingest(written).unwrap().finish().unwrap();
        assert_eq!(engine.state_row().unwrap(), written);
        let mut ingestion = engine.tree.ingestion().unwrap();
        let fields = [7_u64, 8].map(u64::to_le_bytes).concat();
        ingestion.write(engine_key(SYSTEM_ID, STATE_ROW), fields).unwrap();
        ingestion.finish().unwrap();
        assert_eq!(engine.state_row().unwrap(), StateRow { segment: 0, ..written });
    }

    /// Each round writes a thousand documents under new keys and deletes those of the round before.
    #[test]
    fn churn_of_short_lived_documents_stays_flat() {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(folder.path(), CACHE_BYTES).unwrap();
        let mut largest = 0;
        for round in 1..=40_u64 {
            let before = (0..1000).map(|i| (format!("{:04}-{i:04}", round - 1), false));
            let rows: Vec<_> =
                before.chain((0..1000).map(|i| (format!("{round:04}-{i:04}"), true))).collect();
            checkpoint(&engine, round, &rows);
            compact(&engine, engine.state(CommitNumber(round)));
            largest = largest.max(folder_bytes(folder.path()));
        }
        assert!(largest < 8 << 20, "{largest} bytes on disk for 1 MB of documents");
        let rows: Vec<_> = (0..1000).map(|i| (format!("0040-{i:04}"), false)).collect();
        checkpoint(&engine, 41, &rows);
        compact(&engine, engine.state(CommitNumber(41)));
        assert!(folder_bytes(folder.path()) < 64 << 10, "everything is deleted");
        assert_eq!(engine.tree.tombstone_count(), 0);
        drop(engine);
        let engine = Engine::open(folder.path(), CACHE_BYTES).unwrap();
        assert_eq!(engine.state_row().unwrap().commit, CommitNumber(41));
    }

    #[test]
    fn an_open_view_reads_on_while_everything_is_deleted_and_merged() {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(folder.path(), CACHE_BYTES).unwrap();
        let rows = |is_there| (0..100).map(|i| (format!("{i:02}"), is_there)).collect::<Vec<_>>();
        checkpoint(&engine, 1, &rows(true));
        let view = engine.state(CommitNumber(1));
        checkpoint(&engine, 2, &rows(false));
        while engine.compact(view, true).unwrap() {}
        engine.release(view).unwrap();
        assert_eq!(engine.get(view, 2, "07").unwrap().unwrap().version, CommitNumber(1));
        assert_eq!(engine.get(engine.state(CommitNumber(2)), 2, "07").unwrap(), None);
        // It closes.
        compact(&engine, engine.state(CommitNumber(2)));
        let gone = engine.get(view, 2, "07");
        assert!(matches!(gone, Err(ReadError::ViewTooOld(_))), "{gone:?}");
        assert!(folder_bytes(folder.path()) < 64 << 10);
        assert_eq!(engine.tree.tombstone_count(), 0);
    }
}
