//! The steward: threads that keep the repository in order while it is open. One keeps memory within
//! its bound, one writes checkpoints, one removes what has expired and builds indexes, one merges
//! tables, one removes blobs that nobody names. Nobody waits for them, except that commits are
//! refused while memory is full of documents that the engine does not have.

use crate::at_rest::EngineState;
use crate::blobs::Sweeper;
use crate::checkpoint::{self, CheckpointError};
use crate::document::{CommitNumber, Timestamp};
use crate::limits::{
    CHECKPOINT_LOG_BYTES, VIEW_AGE_MAX_MS, VIEW_AGE_MAX_UNDER_PRESSURE_MS, VOLATILE_MARK_MS,
};
use crate::reap::Reaper;
use crate::store::Store;
use parking_lot::{Condvar, Mutex};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the steward looks whether there is something to do.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A checkpoint that failed is tried again after so many looks; twice as many each time, at most
/// 32 times as many. What a failed one has written stays on disk until the next opening.
const LOOKS_AFTER_FAILURE: u32 = 40;

/// Eviction that could not free enough is tried again after so many looks, or once the engine has
/// more.
const LOOKS_WHEN_EXHAUSTED: u32 = 20;

/// So many looks without a checkpoint, and tables are merged more thoroughly.
const LOOKS_UNTIL_IDLE: u32 = 400;

/// So many looks after a checkpoint, the next one is written for the sake of the disk, so that what
/// was deleted gives its room back.
const LOOKS_WHEN_TIGHT: u32 = 20;

/// Checkpoints for the sake of memory, or because one would soon not fit any more, follow each
/// other no faster: where volatile documents fill memory, they do not help.
const LOOKS_BETWEEN: u32 = 4;

/// The threads.
pub(crate) struct Steward {
    stop: Arc<(Mutex<bool>, Condvar)>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Steward {
    /// Starts the threads. `replayed_bytes` of tranlog are not in the engine yet.
    pub(crate) fn start(store: &Arc<Store>, replayed_bytes: u64) -> std::io::Result<Self> {
        let steward = Self { stop: Arc::default(), threads: Mutex::default() };
        let mut memory = Memory::default();
        steward.run("memory", store, move |store| memory.round(store))?;
        let log_bytes_at_last = -(replayed_bytes as i64);
        let mut checkpoints =
            Checkpoints { log_bytes_at_last, pause: 0, failures: 0, looks: LOOKS_BETWEEN };
        steward.run("checkpoints", store, move |store| checkpoints.round(store))?;
        let mut reaper = Reaper::default();
        steward.run("reaper", store, move |store| reaper.round(store))?;
        let mut tables = Tables::default();
        steward.run("compactor", store, move |store| tables.round(store))?;
        let mut sweeper = Sweeper::default();
        steward.run("blobs", store, move |store| sweeper.round(store))?;
        Ok(steward)
    }

    /// Runs `round` again and again on a thread of its own.
    fn run(
        &self,
        name: &str,
        store: &Arc<Store>,
        mut round: impl FnMut(&Arc<Store>) + Send + 'static,
    ) -> std::io::Result<()> {
        let (watched, store) = (Arc::clone(&self.stop), Arc::clone(store));
        let mut work = move |store: &Arc<Store>| {
            let mut stopped = watched.0.lock();
            while !*stopped {
                watched.1.wait_for(&mut stopped, LOOK_EVERY);
                if !*stopped {
                    drop(stopped);
                    round(store);
                    stopped = watched.0.lock();
                }
            }
        };
        let title = name.to_owned();
        let run = move || {
            // What it left half done, nobody may build on; and nobody would do its work.
            if catch_unwind(AssertUnwindSafe(|| work(&store))).is_err() {
                store.tranlog.fail(&format!("the repository's thread for {title}"));
            }
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run)?;
        self.threads.lock().push(thread);
        Ok(())
    }

    /// Ends the threads; what is under way is finished first.
    pub(crate) fn stop(&self) {
        *self.stop.0.lock() = true;
        self.stop.1.notify_all();
        for thread in self.threads.lock().drain(..) {
            if thread.join().is_err() {
                log::error!("a thread of the steward panicked");
            }
        }
    }
}

impl Drop for Steward {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Beyond this, documents are dropped from memory.
fn high_water(store: &Store) -> usize {
    store.hot_bytes_max - store.hot_bytes_max / 8
}

/// So much is left then: enough room for a while.
fn low_water(store: &Store) -> usize {
    store.hot_bytes_max - store.hot_bytes_max / 4
}

/// When checkpoints are due.
struct Checkpoints {
    /// Bytes of tranlog, counted since opening, at the last checkpoint; negative before the first
    /// by what was replayed.
    log_bytes_at_last: i64,
    /// Looks to let pass before the next try.
    pause: u32,
    /// How many tries in a row have failed.
    failures: u32,
    /// Looks since the last checkpoint.
    looks: u32,
}

impl Checkpoints {
    fn round(&mut self, store: &Store) {
        self.looks = self.looks.saturating_add(1);
        self.pause = self.pause.saturating_sub(1);
        if self.pause > 0 || !self.is_due(store) || store.tranlog.durable().is_err() {
            return;
        }
        let begun = store.tranlog.written().1 as i64;
        match checkpoint::checkpoint(store) {
            Ok(()) => {
                self.log_bytes_at_last = begun;
                self.failures = 0;
                self.looks = 0;
            }
            Err(error) => {
                // One for which there is no room has written nothing, and deletions make it
                // smaller: it is tried again soon, and told of less and less often.
                let is_larger = matches!(error, CheckpointError::NoRoom { .. });
                if is_larger {
                    store.tranlog.lacks_checkpoint();
                }
                if !is_larger || (self.failures + 1).is_power_of_two() {
                    log::error!("no checkpoint could be written, it will be tried again: {error}");
                }
                let doublings = if is_larger { 0 } else { self.failures.min(5) };
                self.pause = LOOKS_AFTER_FAILURE << doublings;
                self.failures = self.failures.saturating_add(1);
            }
        }
    }

    /// Unwritten documents may take a quarter of memory before they are written, and half of the
    /// room that they need on the disk then; and they are written whenever nothing else can make
    /// room.
    fn is_due(&self, store: &Store) -> bool {
        let log_bytes = store.tranlog.written().1 as i64 - self.log_bytes_at_last;
        let much = CHECKPOINT_LOG_BYTES.min(store.hot_bytes_max as u64 / 4) as i64;
        let is_short = store.hot.bytes() > high_water(store);
        let space = store.tranlog.space();
        let is_tight = space.is_tight() && log_bytes > 0;
        let is_urgent = log_bytes > 0
            && (space.is_cramped() || log_bytes.unsigned_abs() > space.usable_bytes() / 2);
        log_bytes > much
            || ((is_short || is_urgent) && self.looks >= LOOKS_BETWEEN)
            || (is_tight && self.looks >= LOOKS_WHEN_TIGHT)
    }
}

/// When tables are merged: after each checkpoint, and more thoroughly some time after the last.
#[derive(Default)]
struct Tables {
    compacted: CommitNumber,
    released: EngineState,
    looks: u32,
    /// Looks to let pass before the next try.
    pause: u32,
}

impl Tables {
    fn round(&mut self, store: &Store) {
        // Tables that were merged go once the last view that reads them is closed.
        let oldest = store.views.oldest_tables();
        if oldest != self.released && checkpoint::release(store).is_ok() {
            self.released = oldest;
        }
        self.pause = self.pause.saturating_sub(1);
        if self.pause > 0 {
            return;
        }
        let engine = store.views.engine().commit;
        let is_new = engine != self.compacted;
        let is_tight = store.tranlog.space().is_tight();
        self.looks = if is_new { 0 } else { self.looks.saturating_add(1) };
        // As long as room is short: segments of the log may have gone since, or views that kept
        // tables, so that there is room for merging.
        let is_again = match is_tight {
            true => self.looks == LOOKS_WHEN_TIGHT || self.looks.is_multiple_of(LOOKS_UNTIL_IDLE),
            false => self.looks == LOOKS_UNTIL_IDLE,
        };
        if !is_new && !is_again {
            return;
        }
        match checkpoint::compact(store, !is_new || is_tight) {
            Ok(()) => self.compacted = engine,
            Err(error) => {
                log::error!("tables could not be merged, it will be tried again: {error}");
                self.looks = 0;
                self.pause = LOOKS_AFTER_FAILURE;
            }
        }
    }
}

/// What keeping memory within its bound remembers.
#[derive(Default)]
struct Memory {
    /// The state of the engine at which nothing more could be dropped, and for how many looks it
    /// is not tried again.
    exhausted: (CommitNumber, u32),
    /// When the log was last told of volatile commits.
    marked: Timestamp,
    is_full: bool,
}

impl Memory {
    fn round(&mut self, store: &Store) {
        store.hot.everything().iter().for_each(|collection| collection.settle());
        self.mark(store);
        store.tranlog.look_at_space();
        if store.tranlog.space().is_dire() && store.views.give_up_snapshots() > 0 {
            log::warn!("the disk is nearly full: snapshots that kept old tables are given up");
        }
        let is_short = store.hot.bytes() > high_water(store);
        refuse_old_views(store, is_short);
        let engine = store.views.oldest_engine().commit;
        self.exhausted.1 = self.exhausted.1.saturating_sub(1);
        // Where all that the engine has was dropped already, passing everything again is in vain.
        if is_short && (self.exhausted.1 == 0 || self.exhausted.0 != engine) {
            evict(store, low_water(store));
            let is_exhausted = store.hot.bytes() > low_water(store);
            self.exhausted = (engine, if is_exhausted { LOOKS_WHEN_EXHAUSTED } else { 0 });
        }
        let is_full = store.hot.bytes() > store.hot_bytes_max;
        if is_full && !self.is_full {
            log::warn!("memory is full of documents not yet in the engine; refusing commits");
        }
        self.is_full = is_full;
    }

    /// Lets the log know of volatile commits from time to time, so that no number is given twice.
    fn mark(&mut self, store: &Store) {
        let now = (store.clock)();
        // Either way: a clock may be set back.
        if now.0.abs_diff(self.marked.0) >= VOLATILE_MARK_MS {
            self.marked = now;
            // A view of the newest commit is never refused, even if it keeps an old state of the
            // engine and so memory full: then there must be a newer commit.
            let views = &store.views;
            let is_held = self.is_full && views.oldest_engine().commit < views.engine().commit;
            store.mark(is_held);
        }
    }
}

/// Refuses views that hold back versions for too long.
pub(crate) fn refuse_old_views(store: &Store, is_short: bool) {
    let age_max = if is_short { VIEW_AGE_MAX_UNDER_PRESSURE_MS } else { VIEW_AGE_MAX_MS };
    let limit = Timestamp((store.clock)().0.saturating_sub(age_max));
    // Not while a commit is decided: what its view sees must be kept until then.
    let deciding = store.sequence.lock();
    let refused = store.views.refuse_before(limit);
    drop(deciding);
    if refused > 0 {
        log::warn!("{refused} views were open for more than {age_max} ms and are refused");
        store.counters.refused_views.fetch_add(refused as u64, Ordering::Relaxed);
    }
}

/// Brings memory down to `aim` bytes, as far as the engine has what is dropped.
pub(crate) fn evict(store: &Store, aim: usize) {
    store.hot.evict(aim, &store.views);
}

#[cfg(test)]
mod tests;
