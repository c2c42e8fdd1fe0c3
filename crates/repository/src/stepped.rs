//! A repository without threads: whoever holds it takes the steps that threads take otherwise, in
//! any order, on any disk and with anything that keeps documents at rest. For the simulator.

use crate::at_rest::{AtRest, EngineError};
use crate::checkpoint;
use crate::disk::Disk;
use crate::document::CommitNumber;
use crate::errors::{CloseError, OpenError, Poisoned};
use crate::reap::Reaper;
use crate::recovery::Ground;
use crate::repository::{Options, Recovery, Repository};
use crate::steward;
use crate::tranlog::SegmentSizes;
use parking_lot::Mutex;
use std::sync::Arc;

/// What a stepped repository stands on.
pub struct Parts {
    /// Its files, but for those of `at_rest`.
    pub disk: Arc<dyn Disk>,
    /// Its documents at rest.
    pub at_rest: Box<dyn AtRest>,
    /// How large segments of the log are made.
    pub sizes: SegmentSizes,
}

/// A repository that does nothing by itself. Dropping it is the death of its process.
pub struct Stepped {
    repository: Repository,
    reaper: Mutex<Reaper>,
}

impl Stepped {
    /// Opens, or creates, the repository in `options.folder` of `parts.disk`.
    pub fn open(options: &Options, parts: Parts) -> Result<(Self, Recovery), OpenError> {
        let Parts { disk, at_rest, sizes } = parts;
        let at_rest = Box::new(|_: &_| Ok(at_rest));
        let ground = Ground { disk, at_rest, sizes, has_threads: false };
        let (opened, recovery) = Repository::open_store(options, ground)?;
        let repository = Repository::assemble(opened.store, None);
        Ok((Self { repository, reaper: Mutex::default() }, recovery))
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
        checkpoint::compact(&self.repository.store)
    }

    /// Removes what has expired, and gets on with building and clearing indexes.
    pub fn reap(&self) {
        self.reaper.lock().round(&self.repository.store);
    }

    /// Lets the log know how far the numbers of volatile commits have come.
    pub fn mark(&self) {
        self.repository.store.mark();
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
