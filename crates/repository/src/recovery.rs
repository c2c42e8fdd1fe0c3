//! Opening: the engine's state, then the tranlog after it, through the same door as live commits.

use crate::apply::{self, Staged};
use crate::at_rest::{AtRest, EngineError, EngineState, StateRow};
use crate::catalog::{self, COLLECTIONS, COLLECTIONS_ID};
use crate::checkpoint;
use crate::conflict::Contested;
use crate::disk::{Disk, Files};
use crate::document::{CommitNumber, Document, Timestamp};
use crate::durability::Durability;
use crate::ended;
use crate::engine::Engine;
use crate::engine::lists::{self, List};
use crate::errors::{OpenError, Poisoned, ReadError};
use crate::expired::{Keeping, Kept};
use crate::folder::Folder;
use crate::hot::Hot;
use crate::lane::Lane;
use crate::limits::{MEMORY_BYTES_MIN, RESERVE_BYTES, VOLATILE_COMMITS_MAX};
use crate::name::CollectionName;
use crate::range::Direction;
use crate::record::{self, Change, Write};
use crate::repository::{Options, Recovery};
use crate::store::{Clock, Counters, Sequence, Store};
use crate::tranlog::{
    Home, Retention, Scan, SegmentSizes, Start, Tranlog, UsedSegment, Visit, scan,
};
use crate::views::Views;
use bytes::Bytes;
use parking_lot::Mutex;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::Arc;

/// How often, in milliseconds, opening tells how far it has come, and after how many commits it
/// looks at the clock.
const PROGRESS_MS: u64 = 1_000;
const PROGRESS_LOOK_COMMITS: u64 = 4_096;

/// What opening gives to the repository.
pub(crate) struct Opened {
    pub store: Arc<Store>,
    /// Bytes of the records that were replayed.
    pub replayed_bytes: u64,
    /// Segments left from earlier openings that hold what the engine did not.
    pub segments: usize,
}

/// Opens what is at rest, given the folder of the repository.
type OpenAtRest = Box<dyn FnOnce(&Folder) -> Result<Box<dyn AtRest>, OpenError>>;

/// What a repository stands on.
pub(crate) struct Ground {
    pub disk: Arc<dyn Disk>,
    pub at_rest: OpenAtRest,
    pub sizes: SegmentSizes,
    pub has_threads: bool,
    /// What the reaper leaves alone.
    pub kept: Kept,
    /// How much of the log is kept.
    pub retention: Retention,
    /// What is to stay free on the disk.
    pub reserve_bytes: u64,
}

/// How `--memory` is divided. The rest is for write buffers, tables being written, and memory that
/// the allocator has and nobody uses.
const BLOCK_CACHE_SHARE: u64 = 4;
const HOT_SHARE_OF_8: u64 = 4;

impl Ground {
    /// The operating system's files, the storage engine, and threads.
    pub(crate) fn real(options: &Options) -> Self {
        let cache_bytes = options.memory_bytes / BLOCK_CACHE_SHARE;
        let at_rest: OpenAtRest =
            Box::new(move |folder| Ok(Box::new(open_engine(folder, cache_bytes)?)));
        let sizes = SegmentSizes::default();
        Self {
            disk: Arc::new(Files),
            at_rest,
            sizes,
            has_threads: true,
            kept: Kept::Nothing,
            retention: Retention::default(),
            reserve_bytes: RESERVE_BYTES,
        }
    }
}

/// Opens the storage engine of a folder. What it does to its files when it is opened, it does only
/// where the log goes on from what it holds.
fn open_engine(folder: &Folder, cache_bytes: u64) -> Result<Engine, OpenError> {
    let engine = folder.engine();
    if lists::is_unmade(&engine)? {
        // It is made anew: then the log must begin at the beginning.
        scan_after(&folder.tranlog(), StateRow::default(), &mut |_, _| Ok(()))?;
        return Engine::open(&engine, cache_bytes);
    }
    if let Err(damage) = lists::check(&engine) {
        let list = lists::before_current(&engine).ok_or(damage.clone())?;
        let held = held_by(&engine, list)?;
        scan_after(&folder.tranlog(), held, &mut |_, _| Ok(()))?;
        let (number, commit) = (list.number, held.commit);
        log::warn!("{damage}; going back to list {number}, which holds commit {commit}");
        list.make_current(&engine).map_err(|source| {
            let path = engine.join("current");
            OpenError::Io { action: "write", path, source }
        })?;
    }
    Engine::open(&engine, cache_bytes)
}

/// Reads the log after what the engine holds, which must go on from there.
fn scan_after(home: &Home, held: StateRow, visit: Visit<'_>) -> Result<Scan, OpenError> {
    let scan = scan(home, held.commit, visit)?;
    let segments = &scan.used.segments;
    let newest = segments.last().map_or(0, |newest| newest.sequence);
    let missing = |segment: u64, why: String| {
        Err(OpenError::Damaged { segment: home.path(segment), offset: 0, why })
    };
    if newest < held.segment {
        let commit = held.commit;
        let why = format!("it is missing, and was there when commit {commit} reached the engine");
        return missing(held.segment, why);
    }
    // The oldest go first, and those that hold what the engine does not have are not let go of.
    let is_lost = |pair: &&[UsedSegment]| {
        pair[0].sequence + 1 != pair[1].sequence && pair[0].last > held.commit
    };
    match segments.windows(2).find(is_lost) {
        Some(pair) => {
            let why = format!("it is missing, and segment {} is there", pair[1].sequence);
            missing(pair[0].sequence + 1, why)
        }
        None => Ok(scan),
    }
}

/// What the engine holds as of another list than the one that counts.
fn held_by(engine: &Path, list: List) -> Result<StateRow, OpenError> {
    let unreadable = |why: String| OpenError::Engine { path: list.path(engine), why };
    let trial = lists::lay_out(engine, list).map_err(|error| unreadable(error.to_string()))?;
    let opened = Engine::open(&trial, MEMORY_BYTES_MIN)?;
    let row = opened.state_row().map_err(|error| unreadable(error.to_string()))?;
    drop(opened);
    lists::clear(&trial).map_err(|error| unreadable(error.to_string()))?;
    Ok(row)
}

/// Opens or creates the repository of `options`.
pub(crate) fn open(options: &Options, ground: Ground) -> Result<(Opened, Recovery), OpenError> {
    if options.memory_bytes < MEMORY_BYTES_MIN {
        return Err(OpenError::MemoryTooSmall { got: options.memory_bytes });
    }
    let (folder, created) = Folder::open_or_create(ground.disk, &options.folder)?;
    let at_rest = (ground.at_rest)(&folder)?;
    // The engine makes its folder; its name must be as durable as what will be in it.
    folder.sync()?;
    let mut replayed = replay(&folder, at_rest, &options.clock)?;
    replayed.scan.settle(&folder.tranlog())?;
    let recovery = Recovery {
        created,
        replayed: replayed.commits,
        torn_tail: replayed.scan.torn_tail.as_ref().map(|torn| {
            format!(
                "dropped an unfinished write at the end of the tranlog ({} at offset {}: {}); no \
                 commit in it was acknowledged as synced",
                torn.segment.display(),
                torn.offset,
                torn.why
            )
        }),
    };
    let segments = replayed.scan.used.needed(replayed.checkpoint);
    let last = skip_lost_numbers(&mut replayed, created);
    let start = Start {
        used: replayed.scan.used,
        checkpoint: replayed.checkpoint,
        last_record: replayed.scan.last_record,
        last,
        sizes: ground.sizes,
        retention: ground.retention,
        reserve_bytes: ground.reserve_bytes,
    };
    let begin = if ground.has_threads { Tranlog::start } else { Tranlog::stepped };
    let tranlog = begin(folder.tranlog(), start).map_err(|source| {
        let path = folder.tranlog().folder;
        OpenError::Io { action: "make a tranlog segment in", path, source }
    })?;
    replayed.hot.unnamed.opened_at(last);
    let store = Store {
        blobs: folder.blobs(&replayed.hot.unnamed).bounded_by(tranlog.space()),
        id: folder.id(),
        archive: Mutex::default(),
        archive_names: Mutex::default(),
        hot: replayed.hot,
        views: replayed.views,
        engine: replayed.engine,
        tranlog,
        sequence: Mutex::new(replayed.sequence),
        lane: Lane::default(),
        clock: Arc::clone(&options.clock),
        counters: Counters::default(),
        keeping: Keeping::new(ground.kept),
        hot_bytes_max: (options.memory_bytes * HOT_SHARE_OF_8 / 8) as usize,
        engine_work: Mutex::new(replayed.checkpoint),
        compaction: Mutex::new(()),
        _lock: folder.lock,
    };
    settle_numbers(&store).map_err(|poisoned| {
        let (action, path) = ("write the tranlog in", options.folder.clone());
        OpenError::Io { action, path, source: std::io::Error::other(poisoned) }
    })?;
    let replayed_bytes = replayed.bytes;
    let opened = Opened { store: Arc::new(store), replayed_bytes, segments };
    Ok((opened, recovery))
}

/// Volatile commits used up numbers that the log does not know of, and a power cut may have taken
/// back written ones that were seen: no number is given twice. Gives the last that may be taken.
fn skip_lost_numbers(replayed: &mut Replayed, created: bool) -> CommitNumber {
    let mut durabilities = replayed.hot.with_ended().into_iter().map(|c| c.durability());
    let sequence = &mut replayed.sequence;
    if !created && durabilities.any(|durability| durability != Durability::Synced) {
        sequence.last = CommitNumber(sequence.last.0 + VOLATILE_COMMITS_MAX);
        replayed.views.publish(sequence.last, sequence.time);
    }
    sequence.last
}

/// Lets the log know of the numbers that were skipped before any after them is given: the next
/// opening skips those that this one gives, and not the same ones again.
fn settle_numbers(store: &Store) -> Result<(), Poisoned> {
    store.mark(false);
    store.tranlog.wait_synced(store.views.visible()).map(drop)
}

/// The state that engine and tranlog give together.
pub(crate) struct Replayed {
    pub hot: Hot,
    pub views: Arc<Views>,
    pub engine: Box<dyn AtRest>,
    pub sequence: Sequence,
    pub scan: Scan,
    pub commits: u64,
    /// Bytes of their records.
    pub bytes: u64,
    /// The commit that the engine held.
    pub checkpoint: CommitNumber,
}

/// Reads engine and tranlog; changes nothing on disk.
pub(crate) fn replay(
    folder: &Folder,
    engine: Box<dyn AtRest>,
    clock: &Clock,
) -> Result<Replayed, OpenError> {
    let unreadable =
        |error: ReadError| OpenError::Engine { path: folder.engine(), why: error.to_string() };
    let mut replay = Replay::begin(engine, clock).map_err(unreadable)?;
    let (checkpoint, held) = (replay.last(), replay.held);
    let visit: Visit<'_> = &mut |number, record| replay.record(number, &record);
    let scan = scan_after(&folder.tranlog(), held, visit)?;
    let Replay { hot, views, engine, sequence, progress, .. } = replay;
    let (commits, bytes) = (scan.visited, progress.bytes);
    Ok(Replayed { hot, views, engine, sequence, scan, commits, bytes, checkpoint })
}

/// Commits being applied again, one after the other, to what the engine holds.
pub(crate) struct Replay {
    hot: Hot,
    views: Arc<Views>,
    engine: Box<dyn AtRest>,
    /// The engine's state, which does not move while the log is replayed.
    at: EngineState,
    /// What it says that it holds.
    held: StateRow,
    sequence: Sequence,
    progress: Progress,
}

impl Replay {
    /// Begins with what the engine holds.
    pub(crate) fn begin(engine: Box<dyn AtRest>, clock: &Clock) -> Result<Self, ReadError> {
        let row = engine.state_row()?;
        let at = engine.state(row.commit);
        let hot = Hot::new();
        load_collections(&hot, &*engine, at)?;
        Ok(Self {
            views: Arc::new(Views::new(row.commit, row.time, at)),
            hot,
            engine,
            at,
            held: row,
            sequence: Sequence {
                last: row.commit,
                logged: row.commit,
                time: row.time,
                changed: Vec::new(),
                listed_after: row.commit,
                is_closed: false,
            },
            progress: Progress { clock: Arc::clone(clock), told: clock(), commits: 0, bytes: 0 },
        })
    }

    /// The last commit that was applied.
    pub(crate) fn last(&self) -> CommitNumber {
        self.sequence.last
    }

    /// Bytes of what the engine does not have.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.hot.bytes()
    }

    /// Writes to the engine what was applied, and drops it from memory: the records are not needed
    /// again. For restores, which have no log.
    pub(crate) fn write_down(&mut self) -> Result<(), EngineError> {
        let commit = self.sequence.last;
        if commit == self.sequence.listed_after {
            return Ok(());
        }
        let view = self.views.pin_memory();
        let mut cells = std::mem::take(&mut self.sequence.changed);
        let row = StateRow { commit, time: self.sequence.time, segment: 0 };
        checkpoint::sort(&mut cells);
        checkpoint::ingest(&*self.engine, &view, row, &cells)?;
        drop(view);
        self.sequence.listed_after = commit;
        self.read_newest(commit);
        self.hot.tidy(cells, commit, &self.views);
        self.hot.evict(0, &self.views);
        while self.engine.compact(self.at, false)? {
            self.read_newest(commit);
            self.engine.release(self.at)?;
        }
        self.engine.release(self.at)
    }

    fn read_newest(&mut self, commit: CommitNumber) {
        self.views.refresh_engine(commit, |commit| self.engine.state(commit));
        self.at = self.views.engine();
    }

    /// Applies the next one.
    pub(crate) fn record(&mut self, number: CommitNumber, record: &Bytes) -> Result<(), String> {
        let (time, writes) =
            record::decode(record).map_err(|e| format!("commit {number} cannot be read {e}"))?;
        let writes = writes.into_iter().map(|write| self.staged(write));
        let mut writes: Vec<Staged> =
            writes.collect::<Result<_, _>>().map_err(|e| format!("commit {number}: {e}"))?;
        let state = apply::State { hot: &self.hot, views: &self.views };
        let applied = apply::apply(&state, (number, time), &mut writes).map_err(|contested| {
            let Contested { collection, key, .. } = contested;
            format!("commit {number} no longer fits {collection}/{key}")
        })?;
        self.sequence.note(applied.changed);
        self.sequence.last = number;
        self.sequence.logged = number;
        self.sequence.time = time;
        self.views.publish(number, time);
        self.progress.note(record.len());
        Ok(())
    }

    fn staged(&self, write: Write) -> Result<Staged, ReadError> {
        let collection = match write.change {
            Change::Remove(id) => self.hot.by_id(id),
            _ => self.hot.collection(&write.collection),
        };
        let cell = collection.as_ref().and_then(|collection| collection.find(&write.key));
        let base = match (&collection, &cell) {
            (Some(collection), None) => {
                self.engine.get(self.at, collection.id, write.key.as_str())?
            }
            _ => None,
        };
        Ok(Staged {
            write,
            collection,
            base,
            cell,
            rows: (0, 0),
            is_computed: false,
            merges: false,
        })
    }
}

/// Tells, once it takes a while, how far reading the log has come.
struct Progress {
    clock: Clock,
    told: Timestamp,
    commits: u64,
    bytes: u64,
}

impl Progress {
    fn note(&mut self, bytes: usize) {
        self.commits += 1;
        self.bytes += bytes as u64;
        if self.commits.is_multiple_of(PROGRESS_LOOK_COMMITS) {
            let now = (self.clock)();
            if now.0.saturating_sub(self.told.0) >= PROGRESS_MS {
                self.told = now;
                let (commits, megabytes) = (self.commits, self.bytes >> 20);
                log::info!("recovering: {commits} commits, {megabytes} MiB of the tranlog applied");
            }
        }
    }
}

/// Makes the collections known that the engine holds.
pub(crate) fn load_collections(
    hot: &Hot,
    engine: &dyn AtRest,
    at: EngineState,
) -> Result<(), ReadError> {
    let name = CollectionName::generated(COLLECTIONS);
    let of = hot.add_collection(&name, COLLECTIONS_ID, false);
    if at.commit == CommitNumber(0) {
        return Ok(());
    }
    let mut damaged = None;
    let everything = (Bound::Unbounded, Bound::Unbounded);
    engine.range(at, of.id, everything, Direction::Ascending, &mut |key, document| match load(
        hot, key, &document,
    ) {
        Ok(()) => ControlFlow::Continue(()),
        Err(why) => {
            damaged = Some(format!("the catalog's document {key}: {why}"));
            ControlFlow::Break(())
        }
    })?;
    damaged.map_or(Ok(()), |why| Err(ReadError::Engine(why.into())))
}

/// Makes known what one document of the catalog says.
fn load(hot: &Hot, key: &str, document: &Document) -> Result<(), String> {
    let catalog = catalog::of(document)?;
    if catalog.ended.is_some() {
        hot.load_ended(&catalog)?;
    } else if !ended::names_collection(key) {
        hot.take_id(catalog.id);
    } else {
        let name = CollectionName::new(key).map_err(|error| error.to_string())?;
        hot.configure(&name, &catalog, CommitNumber(0));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::MediaType;
    use crate::limits::RESTORE_MEMORY_BYTES;
    use crate::name::Key;
    use crate::record::Change;

    const DOCUMENT_BYTES: usize = 8 << 20;

    /// One document, again and again, and some that stay.
    fn put(replay: &mut Replay, number: u64) {
        let body = Bytes::from(vec![b'1'; DOCUMENT_BYTES]);
        let write = Write {
            times: None,
            collection: CollectionName::generated("notes"),
            key: Key::generated(format!("k{}", number % 12)),
            change: Change::Put { media_type: MediaType::Json, body, blob: None, expires: None },
        };
        let mut record = record::encode(1, std::iter::once(&write));
        record::set_time(&mut record, Timestamp(number));
        replay.record(CommitNumber(number), &record.into()).unwrap();
    }

    #[test]
    fn what_was_applied_leaves_memory_when_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(folder.path(), 1 << 20).unwrap();
        let clock: Clock = Arc::new(|| Timestamp(0));
        let mut replay = Replay::begin(Box::new(engine), &clock).unwrap();
        let mut written = 0;
        for number in 1..=40 {
            put(&mut replay, number);
            if replay.memory_bytes() > RESTORE_MEMORY_BYTES {
                assert!(replay.memory_bytes() < RESTORE_MEMORY_BYTES + 2 * DOCUMENT_BYTES);
                replay.write_down().unwrap();
                assert!(replay.memory_bytes() < DOCUMENT_BYTES, "{}", replay.memory_bytes());
                written += 1;
            }
        }
        assert!(written > 2);
        replay.write_down().unwrap();
        let row = replay.engine.state_row().unwrap();
        assert_eq!((row.commit, row.time), (CommitNumber(40), Timestamp(40)));
        let mut rows = 0;
        let everything = replay.engine.scan(replay.at, &mut |id, _, _| {
            rows += u32::from(id > 3);
            ControlFlow::Continue(())
        });
        everything.unwrap();
        assert_eq!(rows, 12);
    }
}
