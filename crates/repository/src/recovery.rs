//! Opening: the engine's state, then the tranlog after it, through the same door as live commits.

use crate::apply::{self, COLLECTIONS, COLLECTIONS_ID};
use crate::at_rest::{AtRest, EngineState};
use crate::disk::{Disk, Files};
use crate::document::{CommitNumber, Document};
use crate::engine::Engine;
use crate::errors::{OpenError, ReadError};
use crate::folder::Folder;
use crate::hot::Hot;
use crate::lane::Lane;
use crate::limits::MEMORY_BYTES_MIN;
use crate::name::CollectionName;
use crate::range::Direction;
use crate::record::{self, Write};
use crate::repository::{Options, Recovery};
use crate::store::{Counters, Sequence, Store};
use crate::tranlog::{Scan, SegmentSizes, Start, Tranlog, scan};
use crate::views::Views;
use bytes::Bytes;
use parking_lot::Mutex;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What opening gives to the repository.
pub(crate) struct Opened {
    pub store: Arc<Store>,
    pub hot_bytes_max: usize,
    /// Bytes of the records that were replayed.
    pub replayed_bytes: u64,
    /// Segments left from earlier openings.
    pub segments: usize,
}

/// Opens what is at rest, given its folder.
type OpenAtRest = Box<dyn FnOnce(&Path) -> Result<Box<dyn AtRest>, OpenError>>;

/// What a repository stands on.
pub(crate) struct Ground {
    pub disk: Arc<dyn Disk>,
    pub at_rest: OpenAtRest,
    pub sizes: SegmentSizes,
    pub has_threads: bool,
}

/// How `--memory` is divided: the rest is for write buffers.
const BLOCK_CACHE_SHARE: u64 = 4;
const HOT_SHARE_OF_8: u64 = 5;

impl Ground {
    /// The operating system's files, the storage engine, and threads.
    pub(crate) fn real(options: &Options) -> Self {
        let cache_bytes = options.memory_bytes / BLOCK_CACHE_SHARE;
        let at_rest: OpenAtRest =
            Box::new(move |folder| Ok(Box::new(Engine::open(folder, cache_bytes)?)));
        let sizes = SegmentSizes::default();
        Self { disk: Arc::new(Files), at_rest, sizes, has_threads: true }
    }
}

/// Opens or creates the repository of `options`.
pub(crate) fn open(options: &Options, ground: Ground) -> Result<(Opened, Recovery), OpenError> {
    if options.memory_bytes < MEMORY_BYTES_MIN {
        return Err(OpenError::MemoryTooSmall { got: options.memory_bytes });
    }
    let (folder, created) = Folder::open_or_create(ground.disk, &options.folder)?;
    let at_rest = (ground.at_rest)(&folder.engine())?;
    // The engine makes its folder; its name must be as durable as what will be in it.
    folder.sync()?;
    let replayed = replay(&folder, at_rest)?;
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
    let segments = replayed.scan.segments.len();
    let start = Start {
        used: replayed.scan.segments,
        checkpoint: replayed.checkpoint,
        last_record: replayed.scan.last_record,
        last: replayed.scan.last,
        sizes: ground.sizes,
    };
    let begin = if ground.has_threads { Tranlog::start } else { Tranlog::stepped };
    let tranlog = begin(folder.tranlog(), start).map_err(|source| {
        let path = folder.tranlog().folder;
        OpenError::Io { action: "make a tranlog segment in", path, source }
    })?;
    let store = Store {
        hot: replayed.hot,
        views: replayed.views,
        engine: replayed.engine,
        tranlog,
        sequence: Mutex::new(replayed.sequence),
        lane: Lane::default(),
        clock: Arc::clone(&options.clock),
        counters: Counters::default(),
        is_full: AtomicBool::new(false),
        engine_work: Mutex::new(()),
        _lock: folder.lock,
    };
    let hot_bytes_max = (options.memory_bytes * HOT_SHARE_OF_8 / 8) as usize;
    let replayed_bytes = replayed.bytes;
    let opened = Opened { store: Arc::new(store), hot_bytes_max, replayed_bytes, segments };
    Ok((opened, recovery))
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
pub(crate) fn replay(folder: &Folder, engine: Box<dyn AtRest>) -> Result<Replayed, OpenError> {
    let unreadable =
        |error: ReadError| OpenError::Engine { path: folder.engine(), why: error.to_string() };
    let row = engine.state_row().map_err(unreadable)?;
    let at = engine.state(row.commit);
    let hot = Hot::new();
    load_collections(&hot, &*engine, at).map_err(unreadable)?;
    let mut replay = Replay {
        views: Arc::new(Views::new(row.commit, row.time, at)),
        hot,
        engine,
        at,
        sequence: Sequence {
            last: row.commit,
            time: row.time,
            changed: Vec::new(),
            listed_after: row.commit,
            is_closed: false,
        },
        bytes: 0,
    };
    let scan =
        scan(&folder.tranlog(), row.commit, &mut |number, record| replay.record(number, &record))?;
    let Replay { hot, views, engine, sequence, bytes, .. } = replay;
    let commits = scan.visited;
    Ok(Replayed { hot, views, engine, sequence, scan, commits, bytes, checkpoint: row.commit })
}

struct Replay {
    hot: Hot,
    views: Arc<Views>,
    engine: Box<dyn AtRest>,
    /// The engine's state, which does not move while the log is replayed.
    at: EngineState,
    sequence: Sequence,
    bytes: u64,
}

impl Replay {
    fn record(&mut self, number: CommitNumber, record: &Bytes) -> Result<(), String> {
        let (time, writes) =
            record::decode(record).map_err(|e| format!("commit {number} cannot be read {e}"))?;
        let bases = writes.iter().map(|write| self.base(write)).collect::<Result<Vec<_>, _>>();
        let bases = bases.map_err(|e| format!("commit {number}: {e}"))?;
        let state = apply::State { hot: &self.hot, views: &self.views };
        let changed = apply::apply(&state, (number, time), &writes, |i| bases[i].clone()).map_err(
            |conflict| {
                let (collection, key) = &conflict.documents[0];
                format!("commit {number} no longer fits {collection}/{key}")
            },
        )?;
        self.sequence.note(changed);
        self.sequence.last = number;
        self.sequence.time = time;
        self.bytes += record.len() as u64;
        self.views.publish(number, time);
        Ok(())
    }

    fn base(&self, write: &Write) -> Result<Option<Arc<Document>>, ReadError> {
        match self.hot.collection(&write.collection) {
            Some(collection) if collection.last_change(&write.key).is_none() => {
                self.engine.get(self.at, collection.id, write.key.as_str())
            }
            _ => Ok(None),
        }
    }
}

/// Makes the collections known that the engine holds.
fn load_collections(hot: &Hot, engine: &dyn AtRest, at: EngineState) -> Result<(), ReadError> {
    let damaged =
        |what: String| ReadError::Engine(format!("the list of collections: {what}").into());
    let name = |name: &str| CollectionName::new(name).map_err(|e| damaged(e.to_string()));
    let catalog = hot.add_collection(&name(COLLECTIONS)?, COLLECTIONS_ID);
    if at.commit == CommitNumber(0) {
        return Ok(());
    }
    let mut refused = None;
    let everything = (Bound::Unbounded, Bound::Unbounded);
    engine.range(at, catalog.id, everything, Direction::Ascending, &mut |key, document| {
        let id = apply::collection_id(&document);
        let id = id.ok_or_else(|| damaged(format!("no id for {key}")));
        match name(key).and_then(|name| Ok((name, id?))) {
            Ok((name, id)) => {
                hot.add_collection(&name, id);
                ControlFlow::Continue(())
            }
            Err(error) => {
                refused = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    refused.map_or(Ok(()), Err)
}
