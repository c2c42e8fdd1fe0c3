//! The log for those who read it: a feed of commits, an archive, incremental backups. How it is
//! read is in `tranlog/follow`, what is kept of it in `tranlog/retention`.

use crate::document::{CommitNumber, Timestamp};
use crate::errors::LogError;
use crate::repository::Repository;
use crate::store::Store;
use crate::tranlog::{Follower, Held, Hold, LogRecord, Retained};
use std::sync::Arc;
use std::time::Duration;

impl LogRecord {
    /// The commit's time; `None`: these are not the bytes of a record.
    pub fn time(&self) -> Option<Timestamp> {
        let time = self.record.first_chunk::<8>()?;
        Some(Timestamp(u64::from_le_bytes(*time)))
    }
}

impl Repository {
    /// What of the log can be read.
    pub fn retained(&self) -> Retained {
        self.store.tranlog.retained()
    }

    /// The newest commit that, with all before it that have a record, is synced: where a reader
    /// begins who wants what comes from now on.
    pub fn log_end(&self) -> CommitNumber {
        self.store.tranlog.synced()
    }

    /// The newest commit that views see.
    pub fn visible(&self) -> CommitNumber {
        self.store.views.visible()
    }

    /// Reads the log after commit `after`. Only what is synced is given: nothing that a crash
    /// could take back. A commit whose writes are all to volatile collections has no record.
    pub fn log(&self, after: CommitNumber) -> LogReader {
        let store = Arc::clone(&self.store);
        LogReader { follower: store.tranlog.follow(after), _store: store }
    }

    /// Keeps the log after `hold.after` from being let go of, until it is dropped, or broken
    /// because it would take more than `hold.bytes_max`. What was let go of before does not come
    /// back: compare with [`Self::retained`] afterwards.
    pub fn hold_log(&self, hold: Hold) -> LogHold {
        let store = Arc::clone(&self.store);
        LogHold { held: store.tranlog.hold(hold), store }
    }
}

/// Reads the log in order. It keeps nothing of the log from being let go of; see [`LogHold`].
pub struct LogReader {
    follower: Follower,
    /// The folder stays locked while its files may be read.
    _store: Arc<Store>,
}

impl LogReader {
    /// Every commit up to it was given, or has no record.
    pub fn position(&self) -> CommitNumber {
        self.follower.position()
    }

    /// What is there and was not given, about 1 MiB at most or one record that is larger; empty:
    /// there is nothing. It may read from the disk.
    pub fn take(&mut self) -> Result<Vec<LogRecord>, LogError> {
        self.follower.take()
    }

    /// As `take`, and waits for something, at most so long.
    pub fn next(&mut self, timeout: Duration) -> Result<Vec<LogRecord>, LogError> {
        self.follower.next(timeout)
    }

    /// As `take`, of what is in memory: `None` where the disk must be read.
    pub fn take_recent(&mut self) -> Option<Result<Vec<LogRecord>, LogError>> {
        self.follower.take_recent()
    }
}

/// Somebody who needs the log from some commit on.
pub struct LogHold {
    held: Arc<Held>,
    store: Arc<Store>,
}

impl LogHold {
    /// Lets what is not after `after` go; never moves back.
    pub fn advance(&self, after: CommitNumber) {
        self.store.tranlog.release(&self.held, Some(after));
    }

    /// Whether it took too much, and holds nothing any more. Then only a new one does.
    pub fn is_broken(&self) -> bool {
        self.held.is_broken()
    }
}

impl Drop for LogHold {
    fn drop(&mut self) {
        self.store.tranlog.release(&self.held, None);
    }
}
