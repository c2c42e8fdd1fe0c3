//! What an export was read from that the other side did not take to its end: kept for a while, so
//! that it can be gone on with at the same commit, whatever was committed since.

use crate::limits::EXPORT_KEPT_MAX;
use repository::{CommitNumber, Snapshot};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A place for one snapshot; a later one takes the place of an earlier one. It costs what any
/// snapshot costs: disk, until it is let go.
#[derive(Clone, Default)]
pub struct CutExport {
    shared: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    kept: Option<(Snapshot, Instant)>,
    /// A thread watches over its time.
    is_watched: bool,
    has_ended: bool,
}

impl CutExport {
    /// Keeps a snapshot, for [`EXPORT_KEPT_MAX`].
    pub fn keep(&self, snapshot: Snapshot) {
        self.keep_for(snapshot, EXPORT_KEPT_MAX);
    }

    fn keep_for(&self, snapshot: Snapshot, time: Duration) {
        let mut state = self.state();
        if state.has_ended {
            return;
        }
        if !state.is_watched {
            let watched = self.clone();
            let spawned = thread::Builder::new().name("cut-export".to_owned());
            if let Err(error) = spawned.spawn(move || watched.watch()) {
                // Without one it would be kept for ever.
                log::warn!("an export that was cut off cannot be gone on with: {error}");
                return;
            }
            state.is_watched = true;
        }
        let earlier = state.kept.replace((snapshot, Instant::now() + time));
        drop(state);
        self.shared.1.notify_all();
        drop(earlier);
    }

    /// Gives the snapshot of this commit, if that is what is kept.
    pub fn take(&self, commit: CommitNumber) -> Option<Snapshot> {
        let mut state = self.state();
        let taken = state.kept.take_if(|(snapshot, _)| snapshot.commit() == commit);
        drop(state);
        self.shared.1.notify_all();
        taken.map(|(snapshot, _)| snapshot)
    }

    /// Lets go of what is kept, and keeps nothing from now on: the repository is to be closed.
    pub fn end(&self) {
        let mut state = self.state();
        state.has_ended = true;
        let kept = state.kept.take();
        drop(state);
        self.shared.1.notify_all();
        drop(kept);
    }

    fn watch(&self) {
        let mut state = self.state();
        while let Some((_, until)) = &state.kept {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let kept = state.kept.take();
                drop(state);
                drop(kept);
                state = self.state();
                continue;
            }
            let waited = self.shared.1.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_watched = false;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine;
    use repository::{Options, Repository};

    #[test]
    fn the_last_one_is_kept_for_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            folder: folder.path().to_owned(),
            memory_bytes: machine::default_memory(),
            clock: Arc::new(machine::now),
        };
        let (repository, _) = Repository::open(options).unwrap();
        let cut = CutExport::default();
        let snapshot = || repository.snapshot().unwrap();
        let commit = snapshot().commit();
        let hour = Duration::from_secs(3_600);
        cut.keep_for(snapshot(), hour);
        assert!(cut.take(CommitNumber(commit.0 + 1)).is_none());
        assert!(cut.take(commit).is_some());
        assert!(cut.take(commit).is_none());
        cut.keep_for(snapshot(), hour);
        cut.keep_for(snapshot(), Duration::from_millis(1));
        let begun = Instant::now();
        while cut.state().kept.is_some() || cut.state().is_watched {
            assert!(begun.elapsed() < Duration::from_secs(120), "it is kept for ever");
            thread::sleep(Duration::from_millis(1));
        }
        cut.keep_for(snapshot(), hour);
        cut.end();
        assert!(cut.take(commit).is_none());
        cut.keep_for(snapshot(), hour);
        assert!(cut.take(commit).is_none());
        repository.close().unwrap();
    }
}
