//! The steward: threads that keep the repository in order while it is open. One keeps memory within
//! its bound and writes checkpoints, one removes what has expired and builds indexes, one merges
//! tables. Nobody waits for them, except that commits are refused while memory is full of
//! documents that the engine does not have.

use crate::checkpoint::{self, CheckpointError};
use crate::document::Timestamp;
use crate::limits::{
    CHECKPOINT_LOG_BYTES, VIEW_AGE_MAX_MS, VIEW_AGE_MAX_UNDER_PRESSURE_MS, VOLATILE_MARK_MS,
};
use crate::reap::Reaper;
use crate::store::Store;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the steward looks whether there is something to do.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A checkpoint that failed is tried again after so many looks; twice as many each time, at most
/// 32 times as many. What a failed one has written stays on disk until the next opening.
const LOOKS_AFTER_FAILURE: u32 = 40;

/// The threads.
pub(crate) struct Steward {
    stop: Arc<(Mutex<bool>, Condvar)>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Steward {
    /// Starts the threads. `replayed_bytes` of tranlog are not in the engine yet.
    pub(crate) fn start(
        store: &Arc<Store>,
        hot_bytes_max: usize,
        replayed_bytes: u64,
    ) -> std::io::Result<Self> {
        let steward = Self { stop: Arc::default(), threads: Mutex::default() };
        let mut rounds = Rounds::new(hot_bytes_max, replayed_bytes);
        steward.run("steward", store, move |store| rounds.round(store))?;
        let mut reaper = Reaper::default();
        steward.run("reaper", store, move |store| reaper.round(store))?;
        let mut compacted = Default::default();
        steward.run("compactor", store, move |store| {
            let engine = store.views.engine().commit;
            if engine != compacted {
                compacted = engine;
                if let Err(error) = checkpoint::compact(store) {
                    log::error!("tables could not be merged, it will be tried again: {error}");
                }
            }
        })?;
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
        let run = move || {
            let mut stopped = watched.0.lock();
            while !*stopped {
                watched.1.wait_for(&mut stopped, LOOK_EVERY);
                if !*stopped {
                    drop(stopped);
                    round(&store);
                    stopped = watched.0.lock();
                }
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

/// What the steward remembers from round to round.
pub(crate) struct Rounds {
    hot_bytes_max: usize,
    /// Bytes of tranlog, counted since opening, at the last checkpoint; negative before the first
    /// by what was replayed.
    log_bytes_at_checkpoint: i64,
    /// Looks to let pass before the next try.
    pause: u32,
    /// How many tries in a row have failed.
    failures: u32,
    /// When the log was last told of volatile commits.
    marked: Timestamp,
}

impl Rounds {
    pub(crate) fn new(hot_bytes_max: usize, replayed_bytes: u64) -> Self {
        Self {
            hot_bytes_max,
            log_bytes_at_checkpoint: -(replayed_bytes as i64),
            pause: 0,
            failures: 0,
            marked: Timestamp(0),
        }
    }

    pub(crate) fn round(&mut self, store: &Store) {
        self.keep_within_memory(store);
        self.mark(store);
        self.pause = self.pause.saturating_sub(1);
        if self.pause == 0 && self.is_due(store) && store.tranlog.durable().is_ok() {
            self.checkpoint(store);
            self.keep_within_memory(store);
        }
    }

    fn checkpoint(&mut self, store: &Store) {
        let begun = store.tranlog.written().1 as i64;
        let written: Result<(), CheckpointError> = checkpoint::checkpoint(store);
        match written {
            Ok(()) => {
                self.log_bytes_at_checkpoint = begun;
                self.failures = 0;
            }
            Err(error) => {
                log::error!("no checkpoint could be written, it will be tried again: {error}");
                self.pause = LOOKS_AFTER_FAILURE << self.failures.min(5);
                self.failures += 1;
            }
        }
    }

    /// Lets the log know of volatile commits from time to time, so that no number is given twice.
    fn mark(&mut self, store: &Store) {
        let now = (store.clock)();
        if now.0.saturating_sub(self.marked.0) >= VOLATILE_MARK_MS {
            self.marked = now;
            store.mark();
        }
    }

    /// Unwritten documents may take a quarter of memory before they are written; and they are
    /// written whenever nothing else can make room.
    fn is_due(&self, store: &Store) -> bool {
        let log_bytes = store.tranlog.written().1 as i64 - self.log_bytes_at_checkpoint;
        let much = CHECKPOINT_LOG_BYTES.min(self.hot_bytes_max as u64 / 4) as i64;
        log_bytes > much || store.hot.bytes() > self.aim()
    }

    /// What eviction brings memory down to.
    fn aim(&self) -> usize {
        self.hot_bytes_max - self.hot_bytes_max / 8
    }

    fn keep_within_memory(&self, store: &Store) {
        let aim = self.aim();
        let is_short = store.hot.bytes() > aim;
        refuse_old_views(store, is_short);
        evict(store, aim);
        let is_full = store.hot.bytes() > self.hot_bytes_max;
        if is_full != store.is_full.swap(is_full, Ordering::Relaxed) && is_full {
            log::warn!("memory is full of documents not yet in the engine; refusing commits");
        }
    }
}

/// Refuses views that hold back versions for too long.
pub(crate) fn refuse_old_views(store: &Store, is_short: bool) {
    let age_max = if is_short { VIEW_AGE_MAX_UNDER_PRESSURE_MS } else { VIEW_AGE_MAX_MS };
    let limit = Timestamp((store.clock)().0.saturating_sub(age_max));
    let refused = store.views.refuse_before(limit);
    if refused > 0 {
        log::warn!("{refused} views were open for more than {age_max} ms and are refused");
        store.counters.refused_views.fetch_add(refused as u64, Ordering::Relaxed);
    }
}

/// Brings memory down to `aim` bytes, as far as the engine has what is dropped.
pub(crate) fn evict(store: &Store, aim: usize) {
    if store.hot.bytes() <= aim {
        return;
    }
    let engine = store.views.oldest_engine().commit;
    for all in [false, true] {
        for collection in store.hot.everything() {
            let excess = store.hot.bytes().saturating_sub(aim);
            collection.evict(engine, &store.views, excess, all);
        }
    }
}
