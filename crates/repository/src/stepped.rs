//! A repository without threads: whoever holds it takes the steps that threads take otherwise, in
//! any order, on any disk and with anything that keeps documents at rest. For the simulator.

mod backups;

pub use backups::{ClearAtRest, OpenAtRest, RestoreParts, SteppedArchive, verify_backups};

use crate::at_rest::{AtRest, EngineError};
use crate::blobs::{BlobError, Sweeper};
use crate::checkpoint;
use crate::disk::Disk;
use crate::document::CommitNumber;
use crate::durability::Durability;
use crate::errors::{CloseError, LogError, OpenError, Poisoned};
use crate::expired::Kept;
use crate::limits::RESERVE_BYTES;
use crate::reap::Reaper;
use crate::recovery::Ground;
use crate::repository::{Options, Recovery, Repository};
use crate::steward;
use crate::tranlog::{
    Follower, Home, LogRecord, Retained, Retention, SegmentSizes, Start, Tranlog, scan,
};
use bytes::Bytes;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;

/// What a stepped repository stands on.
pub struct Parts {
    /// Its files, but for those of `at_rest`.
    pub disk: Arc<dyn Disk>,
    /// Its documents at rest.
    pub at_rest: Box<dyn AtRest>,
    /// How large segments of the log are made.
    pub sizes: SegmentSizes,
    /// How much of the log is kept.
    pub retention: Retention,
    /// What is to stay free on the disk.
    pub reserve_bytes: u64,
}

/// A repository that does nothing by itself. Dropping it is the death of its process.
pub struct Stepped {
    repository: Repository,
    reaper: Mutex<Reaper>,
    sweeper: Mutex<Sweeper>,
}

impl Stepped {
    /// Opens, or creates, the repository in `options.folder` of `parts.disk`.
    pub fn open(options: &Options, parts: Parts) -> Result<(Self, Recovery), OpenError> {
        let Parts { disk, at_rest, sizes, retention, reserve_bytes } = parts;
        let at_rest = Box::new(|_: &_| Ok(at_rest));
        let kept = Kept::Nothing;
        let has_threads = false;
        let ground = Ground { disk, at_rest, sizes, has_threads, kept, retention, reserve_bytes };
        let (opened, recovery) = Repository::open_store(options, ground)?;
        let repository = Repository::assemble(opened.store, None);
        let (reaper, sweeper) = (Mutex::default(), Mutex::default());
        Ok((Self { repository, reaper, sweeper }, recovery))
    }

    /// The repository, to begin transactions on.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Writes one frame of the log, or syncs what is not synced if `sync_is_due`. `false`: there
    /// was nothing to do.
    pub fn write_frame(&self, sync_is_due: bool) -> Result<bool, Poisoned> {
        self.repository.store.tranlog.step(sync_is_due)
    }

    /// Makes the next segment of the log, or removes one that nobody needs. `false`: there was
    /// nothing to do.
    pub fn prepare_segment(&self) -> bool {
        self.repository.store.tranlog.step_supply()
    }

    /// Brings what is at rest to the newest commit; first writes and syncs the log up to it.
    pub fn checkpoint(&self) -> Result<(), CloseError> {
        self.repository.checkpoint()
    }

    /// Lets what is at rest give back space.
    pub fn compact(&self) -> Result<(), EngineError> {
        checkpoint::compact(&self.repository.store, true)
    }

    /// Removes what has expired, and gets on with building and clearing indexes.
    pub fn reap(&self) {
        self.reaper.lock().round(&self.repository.store);
    }

    /// Gets on with removing blobs that nobody names.
    pub fn tend_blobs(&self) {
        self.sweeper.lock().round(&self.repository.store);
    }

    /// Looks at every file of a blob.
    pub fn sweep_blobs(&self) -> Result<(), BlobError> {
        let mut sweeper = self.sweeper.lock();
        sweeper.start();
        while !sweeper.is_through() {
            sweeper.step(&self.repository.store)?;
        }
        Ok(())
    }

    /// Lets the log know how far the numbers of volatile commits have come.
    pub fn mark(&self) {
        self.repository.store.mark(false);
    }

    /// Looks how much room is left on the disk.
    pub fn look_at_space(&self) {
        self.repository.store.tranlog.look_at_space();
    }

    /// Whether what was committed waits for room on the disk.
    pub fn is_stalled(&self) -> bool {
        self.repository.store.tranlog.space().is_stalled()
    }

    /// Refuses views that hold back versions for too long.
    pub fn refuse_old_views(&self) {
        steward::refuse_old_views(&self.repository.store, false);
    }

    /// Drops from memory all that is at rest.
    pub fn evict(&self) {
        steward::evict(&self.repository.store, 0);
    }

    /// The newest commit that a power cut would leave.
    pub fn synced(&self) -> CommitNumber {
        self.repository.store.tranlog.synced()
    }
}

/// Reads a [`Log`].
pub struct LogFollower(Follower);

impl LogFollower {
    /// As [`crate::LogReader::take`].
    pub fn take(&mut self) -> Result<Vec<LogRecord>, LogError> {
        self.0.take()
    }

    /// As [`crate::LogReader::position`].
    pub fn position(&self) -> CommitNumber {
        self.0.position()
    }
}

/// The log alone, which takes any bytes for records and does nothing by itself.
pub struct Log {
    tranlog: Tranlog,
}

impl Log {
    /// Opens the log in `folder`, of which commits up to `checkpoint` are not needed any more, and
    /// gives the records after it to `visit`.
    pub fn open(
        disk: Arc<dyn Disk>,
        folder: &Path,
        checkpoint: CommitNumber,
        (sizes, retention): (SegmentSizes, Retention),
        visit: &mut dyn FnMut(CommitNumber, Bytes),
    ) -> Result<Self, OpenError> {
        let home = Home { disk, folder: folder.to_owned(), repository: [0; 16] };
        let scan = scan(&home, checkpoint, &mut |number, record| {
            visit(number, record);
            Ok(())
        })?;
        scan.settle(&home)?;
        let (last_record, last) = (scan.last_record, scan.last);
        let used = scan.used;
        let reserve_bytes = RESERVE_BYTES;
        let start = Start { used, checkpoint, last_record, last, sizes, retention, reserve_bytes };
        let tranlog = Tranlog::stepped(home, start).map_err(|source| OpenError::Io {
            action: "make a tranlog segment in",
            path: folder.to_owned(),
            source,
        })?;
        Ok(Self { tranlog })
    }

    /// Hands over a commit. Numbers rise.
    pub fn push(&self, number: CommitNumber, record: Vec<u8>, durability: Durability) {
        self.tranlog.push(number, record, durability);
    }

    /// As [`Stepped::write_frame`].
    pub fn write_frame(&self, sync_is_due: bool) -> Result<bool, Poisoned> {
        self.tranlog.step(sync_is_due)
    }

    /// As [`Stepped::prepare_segment`].
    pub fn prepare_segment(&self) -> bool {
        self.tranlog.step_supply()
    }

    /// The newest commit that is, with all before it, as durable as it was asked to be.
    pub fn durable(&self) -> Result<CommitNumber, Poisoned> {
        self.tranlog.durable()
    }

    /// The newest commit that a power cut would leave.
    pub fn synced(&self) -> CommitNumber {
        self.tranlog.synced()
    }

    /// Writes and syncs up to `number`; `false`: there is no room for that now.
    pub fn wait_synced(&self, number: CommitNumber) -> Result<bool, Poisoned> {
        self.tranlog.wait_synced(number)
    }

    /// What of it can be read.
    pub fn retained(&self) -> Retained {
        self.tranlog.retained()
    }

    /// Reads it after `after`.
    pub fn follow(&self, after: CommitNumber) -> LogFollower {
        LogFollower(self.tranlog.follow(after))
    }

    /// Lets go of segments that hold nothing after `checkpoint`.
    pub fn checkpointed(&self, checkpoint: CommitNumber) {
        self.tranlog.checkpointed(checkpoint);
    }
}
