//! The steward: a thread that brings the engine up to date, keeps memory within its bound and
//! lets tables be merged. Nobody waits for it, except that commits are refused while memory is
//! full of documents that the engine does not have.

use crate::at_rest::{EngineError, StateRow};
use crate::document::{CommitNumber, Document};
use crate::errors::Poisoned;
use crate::hot::{Collection, Held};
use crate::limits::CHECKPOINT_LOG_BYTES;
use crate::name::Key;
use crate::store::Store;
use crate::views::View;
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

/// Why a checkpoint was not written. The list of changes is kept for the next one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckpointError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Poisoned(#[from] Poisoned),
}

/// The steward's thread.
pub(crate) struct Steward {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Steward {
    /// Starts the thread. `replayed_bytes` of tranlog are not in the engine yet.
    pub(crate) fn start(
        store: Arc<Store>,
        hot_bytes_max: usize,
        replayed_bytes: u64,
    ) -> std::io::Result<Self> {
        let stop: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let watched = Arc::clone(&stop);
        let mut rounds = Rounds {
            hot_bytes_max,
            log_bytes_at_checkpoint: -(replayed_bytes as i64),
            pause: 0,
            failures: 0,
        };
        let run = move || {
            let mut stopped = watched.0.lock();
            while !*stopped {
                watched.1.wait_for(&mut stopped, LOOK_EVERY);
                if !*stopped {
                    drop(stopped);
                    rounds.round(&store);
                    stopped = watched.0.lock();
                }
            }
        };
        let thread = std::thread::Builder::new().name("steward".to_owned()).spawn(run)?;
        Ok(Self { stop, thread: Mutex::new(Some(thread)) })
    }

    /// Ends the thread; a checkpoint under way is finished first.
    pub(crate) fn stop(&self) {
        *self.stop.0.lock() = true;
        self.stop.1.notify_all();
        let thread = self.thread.lock().take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            log::error!("the steward panicked");
        }
    }
}

struct Rounds {
    hot_bytes_max: usize,
    /// Bytes of tranlog, counted since opening, at the last checkpoint; negative before the first
    /// by what was replayed.
    log_bytes_at_checkpoint: i64,
    /// Looks to let pass before the next try.
    pause: u32,
    /// How many tries in a row have failed.
    failures: u32,
}

impl Rounds {
    fn round(&mut self, store: &Store) {
        self.keep_within_memory(store);
        self.pause = self.pause.saturating_sub(1);
        if self.pause == 0 && self.is_due(store) && store.tranlog.durable().is_ok() {
            let begun = store.tranlog.written().1 as i64;
            match checkpoint(store).and_then(|()| Ok(compact(store)?)) {
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
            self.keep_within_memory(store);
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
        evict(store, self.aim());
        let is_full = store.hot.bytes() > self.hot_bytes_max;
        if is_full != store.is_full.swap(is_full, Ordering::Relaxed) && is_full {
            log::warn!("memory is full of documents not yet in the engine; refusing commits");
        }
    }
}

/// Brings memory down to `aim` bytes, as far as the engine has what is dropped.
pub(crate) fn evict(store: &Store, aim: usize) {
    if store.hot.bytes() <= aim {
        return;
    }
    let engine = store.views.oldest_engine().commit;
    for all in [false, true] {
        for collection in store.hot.collections() {
            let excess = store.hot.bytes().saturating_sub(aim);
            collection.evict(engine, &store.views, excess, all);
        }
    }
}

/// Brings the engine to the newest view.
pub(crate) fn checkpoint(store: &Store) -> Result<(), CheckpointError> {
    let _work = store.engine_work.lock();
    let (view, time, mut changed) = {
        let mut sequence = store.sequence.lock();
        let view = store.views.open(sequence.time);
        sequence.listed_after = view.number;
        (view, sequence.time, std::mem::take(&mut sequence.changed))
    };
    if changed.is_empty() {
        return Ok(());
    }
    changed.sort_unstable_by(|a, b| (a.0.id, &a.1).cmp(&(b.0.id, &b.1)));
    changed.dedup_by(|a, b| (a.0.id, &a.1) == (b.0.id, &b.1));
    let state = StateRow { commit: view.number, time };
    let written = write(store, &view, state, &changed);
    if let Err(error) = written {
        store.sequence.lock().changed.append(&mut changed);
        return Err(error);
    }
    store.views.publish_engine(store.engine.state(view.number));
    let commit = view.number;
    drop(view);
    let engine = store.views.oldest_engine().commit;
    for (collection, key) in &changed {
        collection.tidy(key, engine, &store.views);
    }
    store.tranlog.checkpointed(commit);
    Ok(())
}

fn write(
    store: &Store,
    view: &View,
    state: StateRow,
    changed: &[(Arc<Collection>, Key)],
) -> Result<(), CheckpointError> {
    // The engine must never be ahead of the log. Asked first: a poisoned log must not cost tables.
    store.tranlog.wait_synced(state.commit)?;
    let mut ingest = store.engine.ingest(state)?;
    for (collection, key) in changed {
        let document = version_at(collection, key, view.number);
        ingest.write(collection.id, key.as_str(), document.as_deref())?;
    }
    ingest.finish()?;
    Ok(())
}

fn version_at(collection: &Collection, key: &Key, view: CommitNumber) -> Option<Arc<Document>> {
    match collection.get(key, view) {
        Held::Version(document) => document,
        // Listed documents stay in memory until they are in the engine; see `Collection::evict`.
        Held::Elsewhere => unreachable!("a changed document left memory before its checkpoint"),
    }
}

/// Lets tables be merged until no merge is worth it.
pub(crate) fn compact(store: &Store) -> Result<(), EngineError> {
    let _work = store.engine_work.lock();
    while store.engine.compact(store.views.oldest_engine())? {
        // Views that open from now on read from the merged tables.
        store.views.publish_engine(store.engine.state(store.views.engine().commit));
        store.engine.release(store.views.oldest_engine())?;
    }
    store.engine.release(store.views.oldest_engine())
}
