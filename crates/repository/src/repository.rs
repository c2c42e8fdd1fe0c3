//! The repository as a whole: what a program opens, asks and closes.

use crate::checkpoint::{self, CheckpointError};
use crate::contention::ContendedDocument;
use crate::document::{CommitNumber, Timestamp};
use crate::durations::DurationCounts;
use crate::ended;
use crate::errors::{BeginError, CloseError, OpenError, Poisoned};
use crate::expired::Kept;
use crate::hot::Collection;
use crate::limits::{RESERVE_BYTES, SEGMENTS_BEFORE_CHECKPOINT};
use crate::name::CollectionName;
use crate::recovery::{self, Ground, Opened};
use crate::snapshot::{Snapshot, SnapshotError};
use crate::steward::Steward;
use crate::store::{Clock, Store};
use crate::tranlog::Retention;
use crate::transaction::Transaction;
use crate::views::OpenViews;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How to open a repository.
#[derive(Clone)]
pub struct Options {
    /// The data folder; made if missing.
    pub folder: PathBuf,
    /// Bound on documents in memory, write buffers and block cache together, in bytes.
    pub memory_bytes: u64,
    /// The only clock the repository reads.
    pub clock: Clock,
}

/// What is in force from the first moment of an opening.
#[derive(Clone, Debug)]
pub struct Opening {
    /// What is left alone when it has expired.
    pub kept: Kept,
    /// How much of the log is kept.
    pub retention: Retention,
    /// How many bytes are to stay free on the disk: with less, writes are refused, and what only
    /// removes is not. 0: writes are not refused before the disk is full. A small disk keeps less
    /// free than this (`docs/transactions.md`, "Space").
    pub reserve_bytes: u64,
}

impl Default for Opening {
    fn default() -> Self {
        let (kept, retention) = (Kept::default(), Retention::default());
        Self { kept, retention, reserve_bytes: RESERVE_BYTES }
    }
}

/// What opening found.
#[derive(Clone, Debug, Default)]
pub struct Recovery {
    /// Whether the folder was empty and a new repository was made.
    pub created: bool,
    /// Commits applied again from the tranlog.
    pub replayed: u64,
    /// Where a torn tail was dropped: one line to report.
    pub torn_tail: Option<String>,
}

/// Figures for an operator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// The newest commit that views see.
    pub visible: CommitNumber,
    /// The newest commit that is durable; where the repository is poisoned, the last that was.
    pub durable: CommitNumber,
    /// The newest commit that would, with all before it that have a record, survive a power cut.
    pub synced: CommitNumber,
    /// The commit that the storage engine holds.
    pub checkpoint: CommitNumber,
    /// Commits made since opening.
    pub commits: u64,
    /// Tries that lost to a conflict since opening.
    pub conflicts: u64,
    /// Transactions that entered the serial lane since opening.
    pub serial_lane: u64,
    /// Writes (each durable when it returns) to the tranlog since opening.
    pub tranlog_batches: u64,
    /// Bytes appended to the tranlog since opening, padding included.
    pub tranlog_bytes: u64,
    /// Expired documents removed since opening.
    pub reaped: u64,
    /// Collections that have ended and whose documents have not all left yet.
    pub ending: usize,
    /// Open views.
    pub views: usize,
    /// Views refused since opening because they held back versions for too long.
    pub refused_views: u64,
    /// Bytes that documents in memory take.
    pub memory_bytes: u64,
    /// Beyond this, commits are refused until documents have left memory.
    pub memory_bytes_max: u64,
    /// Bytes of the storage engine's tables.
    pub engine_bytes: u64,
    /// Bytes that are free on the disk, as was seen last; `u64::MAX` if that cannot be told.
    pub free_bytes: u64,
    /// Bytes that are to stay free there.
    pub reserve_bytes: u64,
    /// Whether writes are refused because less is free.
    pub is_short_of_space: bool,
    /// Commits refused for that reason since opening.
    pub refused_for_space: u64,
}

/// What work took, and how often it was done, since opening.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measures {
    /// Writes to the tranlog that ended on disk, and syncs of it.
    pub syncs: DurationCounts,
    /// Checkpoints that were written.
    pub checkpoints: DurationCounts,
    /// Transactions whose body gave up, so that nothing of them was written.
    pub aborted: u64,
    /// Documents that were looked for in the storage engine, because memory did not have them.
    pub engine_reads: u64,
    /// Documents that were read by transactions that have ended, those of `engine_reads` among
    /// them but for what was read without noting it.
    pub reads: u64,
    /// Bytes of the records of commits.
    pub record_bytes: u64,
    /// About how many rows the engine has: documents, rows of indexes, deletions.
    pub engine_rows: u64,
}

/// One open repository; share it in an `Arc`.
pub struct Repository {
    pub(crate) store: Arc<Store>,
    /// None in a repository without threads.
    steward: Option<Steward>,
    is_closed: AtomicBool,
}

impl Repository {
    /// Opens, or creates, the repository in `options.folder`.
    pub fn open(options: Options) -> Result<(Arc<Self>, Recovery), OpenError> {
        Self::open_with(options, Opening::default())
    }

    /// As `open`, with collections whose expired documents stay from the first moment on.
    pub fn open_keeping(options: Options, kept: Kept) -> Result<(Arc<Self>, Recovery), OpenError> {
        Self::open_with(options, Opening { kept, ..Opening::default() })
    }

    /// As `open`, with what else is in force from the first moment on.
    pub fn open_with(
        options: Options,
        opening: Opening,
    ) -> Result<(Arc<Self>, Recovery), OpenError> {
        let Opening { kept, retention, reserve_bytes } = opening;
        let ground = Ground { kept, retention, reserve_bytes, ..Ground::real(&options) };
        let (opened, recovery) = Self::open_store(&options, ground)?;
        let Opened { store, replayed_bytes, .. } = opened;
        let steward = Steward::start(&store, replayed_bytes).map_err(|source| {
            let path = options.folder.clone();
            OpenError::Io { action: "start a thread for", path, source }
        })?;
        Ok((Arc::new(Self::assemble(store, Some(steward))), recovery))
    }

    /// The store, recovered, and with no more segments than an opening may find.
    pub(crate) fn open_store(
        options: &Options,
        ground: Ground,
    ) -> Result<(Opened, Recovery), OpenError> {
        let (opened, recovery) = recovery::open(options, ground)?;
        if opened.segments >= SEGMENTS_BEFORE_CHECKPOINT {
            match checkpoint::checkpoint(&opened.store) {
                Ok(()) => {}
                // It is not needed for what comes next, which may make room.
                Err(error @ CheckpointError::NoRoom { .. }) => {
                    log::error!("no checkpoint could be written at opening: {error}");
                }
                Err(error) => {
                    let (path, why) = (options.folder.clone(), error.to_string());
                    return Err(OpenError::Engine { path, why });
                }
            }
        }
        Ok((opened, recovery))
    }

    pub(crate) fn assemble(store: Arc<Store>, steward: Option<Steward>) -> Self {
        Self { store, steward, is_closed: AtomicBool::new(false) }
    }

    fn stop_steward(&self) {
        if let Some(steward) = &self.steward {
            steward.stop();
        }
    }

    /// Begins a transaction on the newest view.
    pub fn begin(&self) -> Result<Transaction, BeginError> {
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(BeginError::Closed);
        }
        self.store.tranlog.durable()?;
        Ok(Transaction::new(Arc::clone(&self.store)))
    }

    /// The newest durable commit.
    pub fn durable(&self) -> Result<CommitNumber, Poisoned> {
        self.store.tranlog.durable()
    }

    /// Calls `listener` on the writer's thread each time the durable number has moved, and when
    /// the repository is poisoned. It must not block. It lives as long as the repository.
    pub fn on_durable(&self, listener: Box<dyn Fn() + Send + Sync>) {
        self.store.tranlog.on_durable(listener);
    }

    /// Blocks until `number` is durable.
    pub fn wait_durable(&self, number: CommitNumber) -> Result<(), Poisoned> {
        self.store.tranlog.wait_durable(number)
    }

    /// The time of the latest view or commit: no view is earlier.
    pub fn time(&self) -> Timestamp {
        self.store.views.time()
    }

    /// Figures now.
    pub fn stats(&self) -> Stats {
        let store = &self.store;
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let (tranlog_batches, tranlog_bytes) = store.tranlog.written();
        let space = store.tranlog.space();
        Stats {
            visible: store.views.visible(),
            durable: store.tranlog.durable().unwrap_or_else(|poisoned| poisoned.durable),
            synced: store.tranlog.synced(),
            checkpoint: store.views.engine().commit,
            commits: load(&store.counters.commits),
            conflicts: load(&store.counters.conflicts),
            serial_lane: load(&store.counters.serial_lane),
            tranlog_batches,
            tranlog_bytes,
            reaped: load(&store.counters.reaped),
            ending: ended::count(store),
            views: store.views.count(),
            refused_views: load(&store.counters.refused_views),
            memory_bytes: store.hot.bytes() as u64,
            memory_bytes_max: store.hot_bytes_max as u64,
            engine_bytes: store.engine.disk_bytes(),
            free_bytes: space.free_bytes(),
            reserve_bytes: space.reserve_bytes(),
            is_short_of_space: space.is_short(),
            refused_for_space: space.refused(),
        }
    }

    /// Measures now.
    pub fn measures(&self) -> Measures {
        let counters = &self.store.counters;
        Measures {
            syncs: self.store.tranlog.syncs(),
            checkpoints: counters.checkpoints.counts(),
            aborted: counters.aborted.load(Ordering::Relaxed),
            engine_reads: counters.engine_reads.load(Ordering::Relaxed),
            reads: counters.reads.load(Ordering::Relaxed),
            record_bytes: counters.record_bytes.load(Ordering::Relaxed),
            engine_rows: self.store.engine.rows(),
        }
    }

    /// The views that are open, oldest first: whoever holds an old one keeps what it sees from
    /// being reclaimed.
    pub fn views(&self) -> Vec<OpenViews> {
        self.store.views.list()
    }

    /// The documents that conflicts were about since opening, the most contended first: exact while
    /// there are few, an upper bound for each otherwise.
    pub fn contention(&self) -> Vec<ContendedDocument> {
        self.store.counters.contention.lock().list()
    }

    /// How often transactions lost over documents of each collection since opening; collections
    /// without conflicts are left out.
    pub fn conflicts(&self) -> Vec<(CollectionName, u64)> {
        let count = |c: Arc<Collection>| (c.name.clone(), c.conflicts.load(Ordering::Relaxed));
        let all = self.store.hot.collections().into_iter().map(count);
        all.filter(|(_, count)| *count > 0).collect()
    }

    /// Brings the engine to the newest commit, so that the log is not needed for opening.
    pub fn checkpoint(&self) -> Result<(), CloseError> {
        checkpoint::checkpoint(&self.store).map_err(|error| CloseError(error.to_string()))
    }

    /// Everything at one commit, synced, for readers that take their time. Begins by writing a
    /// checkpoint.
    pub fn snapshot(&self) -> Result<Snapshot, SnapshotError> {
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(SnapshotError::Closed);
        }
        Snapshot::new(Arc::clone(&self.store))
    }

    /// The commit of the oldest snapshot that is held.
    pub fn oldest_snapshot(&self) -> Option<CommitNumber> {
        self.store.views.oldest_snapshot()
    }

    /// Gives up every snapshot, for the sake of the space that it keeps on disk: its next read is
    /// refused. Gives how many there were.
    pub fn give_up_snapshots(&self) -> usize {
        self.store.views.give_up_snapshots()
    }

    /// Refuses new transactions, writes what is committed and a checkpoint, and ends the threads.
    /// The folder may be opened again once the repository is dropped.
    pub fn close(&self) -> Result<(), CloseError> {
        if self.is_closed.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        self.stop_steward();
        self.store.sequence.lock().is_closed = true;
        let written = self.checkpoint();
        self.store.tranlog.close();
        written
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        // Without a checkpoint, as after a crash, unless `close` was called: dropping loses
        // nothing that was acknowledged.
        self.stop_steward();
        self.store.sequence.lock().is_closed = true;
        self.store.tranlog.close();
    }
}
