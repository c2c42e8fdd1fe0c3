//! Open views: which versions somebody may still read, and the engine state each view reads from.

use crate::at_rest::EngineState;
use crate::document::{CommitNumber, Timestamp};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
struct Open {
    /// How many views there are of each kind. Ordered by commit number and by engine state at once:
    /// both only grow.
    counts: BTreeMap<(CommitNumber, EngineState), usize>,
    engine: EngineState,
}

/// The register of open views, and the newest commit that a new view sees.
#[derive(Debug)]
pub(crate) struct Views {
    open: Mutex<Open>,
    visible: AtomicU64,
    /// The time of a commit that is visible or about to be. No view is earlier, so that time never
    /// runs backwards between a view and the commits that it sees, whatever the clock does.
    time: AtomicU64,
}

impl Views {
    pub(crate) fn new(visible: CommitNumber, time: Timestamp, engine: EngineState) -> Self {
        Self {
            open: Mutex::new(Open { counts: BTreeMap::new(), engine }),
            visible: AtomicU64::new(visible.0),
            time: AtomicU64::new(time.0),
        }
    }

    /// The newest commit that a new view sees.
    pub(crate) fn visible(&self) -> CommitNumber {
        CommitNumber(self.visible.load(Ordering::Acquire))
    }

    /// Shows everything up to `number`, committed at `time`, to new views. Only the sequencer calls
    /// this, in order, after `apply`.
    pub(crate) fn publish(&self, number: CommitNumber, time: Timestamp) {
        self.time.store(time.0, Ordering::Relaxed);
        self.visible.store(number.0, Ordering::Release);
    }

    /// Opens a view on the newest visible commit, at `now` or the time of that commit.
    pub(crate) fn open(self: &Arc<Self>, now: Timestamp) -> View {
        let mut open = self.open.lock();
        // Read under the lock: whoever holds it afterwards knows of this view.
        let number = self.visible();
        let engine = open.engine;
        *open.counts.entry((number, engine)).or_default() += 1;
        drop(open);
        let time = now.max(Timestamp(self.time.load(Ordering::Relaxed)));
        View { number, time, engine, views: Arc::clone(self) }
    }

    fn close(&self, view: &View) {
        let mut open = self.open.lock();
        if let Entry::Occupied(mut count) = open.counts.entry((view.number, view.engine)) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// Whether an open view sees the version written by `from` and not its successor `to`.
    pub(crate) fn any_between(&self, from: CommitNumber, to: CommitNumber) -> bool {
        let start = |number| (number, EngineState::default());
        self.open.lock().counts.range(start(from)..start(to)).next().is_some()
    }

    /// The engine state that new views read from.
    pub(crate) fn engine(&self) -> EngineState {
        self.open.lock().engine
    }

    /// The oldest engine state that any open or new view reads from.
    pub(crate) fn oldest_engine(&self) -> EngineState {
        let open = self.open.lock();
        open.counts.first_key_value().map_or(open.engine, |((_, engine), _)| *engine)
    }

    /// Makes new views read from `engine`. Its commit must be visible already.
    pub(crate) fn publish_engine(&self, engine: EngineState) {
        let mut open = self.open.lock();
        debug_assert!(engine >= open.engine && engine.commit <= self.visible());
        open.engine = engine;
    }

    /// How many views are open.
    pub(crate) fn count(&self) -> usize {
        self.open.lock().counts.values().sum()
    }
}

/// One view: what a transaction reads. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct View {
    /// The last commit it sees.
    pub number: CommitNumber,
    /// Its time: what has expired by then is invisible.
    pub time: Timestamp,
    /// Where it reads what is not in memory.
    pub engine: EngineState,
    views: Arc<Views>,
}

impl Drop for View {
    fn drop(&mut self) {
        Views::close(&Arc::clone(&self.views), self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_between_open_views_are_known() {
        let views = Arc::new(Views::new(CommitNumber(5), Timestamp(0), EngineState::default()));
        let five = views.open(Timestamp(0));
        views.publish(CommitNumber(8), Timestamp(70));
        assert_eq!(views.open(Timestamp(60)).time, Timestamp(70), "never before what it sees");
        let (eight, again) = (views.open(Timestamp(0)), views.open(Timestamp(0)));
        let between = |from, to| views.any_between(CommitNumber(from), CommitNumber(to));
        assert!(between(5, 6) && between(1, 6) && between(6, 9));
        assert!(!between(6, 8) && !between(1, 5) && !between(9, 20));
        drop(eight);
        assert!(between(8, 9), "the equal view is still open");
        drop(again);
        assert!(!between(8, 9));
        assert_eq!(views.count(), 1);
        drop(five);
        assert_eq!(views.count(), 0);
    }

    #[test]
    fn the_oldest_engine_state_follows_the_open_views() {
        let state = |n| EngineState { commit: CommitNumber(n), sequence: n * 10 };
        let views = Arc::new(Views::new(CommitNumber(9), Timestamp(0), state(1)));
        let old = views.open(Timestamp(0));
        views.publish_engine(state(7));
        let new = views.open(Timestamp(0));
        assert_eq!((old.engine, new.engine, views.oldest_engine()), (state(1), state(7), state(1)));
        drop(old);
        assert_eq!(views.oldest_engine(), state(7));
    }
}
