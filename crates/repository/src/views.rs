//! Open views: which versions somebody may still read, and the engine state each view reads from.

use crate::document::{CommitNumber, Timestamp};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A state of the engine: exactly the repository at `commit`, read at `sequence`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EngineState {
    pub commit: CommitNumber,
    /// The engine's own sequence number, which has no other meaning.
    pub sequence: u64,
}

/// All open views, oldest first. Equal views share an entry.
#[derive(Debug, Default)]
struct Open {
    /// Ordered by commit number and by engine state at once: both only grow.
    entries: VecDeque<Entry>,
    engine: EngineState,
}

#[derive(Debug)]
struct Entry {
    number: CommitNumber,
    engine: EngineState,
    count: usize,
}

/// The register of open views, and the newest commit that a new view sees.
#[derive(Debug)]
pub(crate) struct Views {
    open: Mutex<Open>,
    visible: AtomicU64,
}

impl Views {
    pub(crate) fn new(visible: CommitNumber, engine: EngineState) -> Self {
        let open = Open { entries: VecDeque::new(), engine };
        Self { open: Mutex::new(open), visible: AtomicU64::new(visible.0) }
    }

    /// The newest commit that a new view sees.
    pub(crate) fn visible(&self) -> CommitNumber {
        CommitNumber(self.visible.load(Ordering::Acquire))
    }

    /// Shows everything up to `number` to new views. Only the sequencer calls this, in order,
    /// after `apply`.
    pub(crate) fn publish(&self, number: CommitNumber) {
        self.visible.store(number.0, Ordering::Release);
    }

    /// Opens a view on the newest visible commit.
    pub(crate) fn open(self: &Arc<Self>, time: Timestamp) -> View {
        let mut open = self.open.lock();
        // Read under the lock: whoever holds it afterwards knows of this view.
        let number = self.visible();
        let engine = open.engine;
        match open.entries.back_mut() {
            Some(last) if last.number == number && last.engine == engine => last.count += 1,
            _ => open.entries.push_back(Entry { number, engine, count: 1 }),
        }
        drop(open);
        View { number, time, engine, views: Arc::clone(self) }
    }

    fn close(&self, view: &View) {
        let mut open = self.open.lock();
        let wanted = (view.number, view.engine);
        let at = open.entries.partition_point(|e| (e.number, e.engine) < wanted);
        let entry = &mut open.entries[at];
        debug_assert_eq!((entry.number, entry.engine), wanted);
        entry.count -= 1;
        while open.entries.front().is_some_and(|e| e.count == 0) {
            open.entries.pop_front();
        }
    }

    /// Whether an open view sees the version written by `from` and not its successor `to`.
    pub(crate) fn any_between(&self, from: CommitNumber, to: CommitNumber) -> bool {
        let open = self.open.lock();
        let at = open.entries.partition_point(|e| e.number < from);
        open.entries.range(at..).take_while(|e| e.number < to).any(|e| e.count > 0)
    }

    /// The engine state that new views read from.
    pub(crate) fn engine(&self) -> EngineState {
        self.open.lock().engine
    }

    /// The oldest engine state that any open or new view reads from.
    pub(crate) fn oldest_engine(&self) -> EngineState {
        let open = self.open.lock();
        open.entries.front().map_or(open.engine, |e| e.engine)
    }

    /// Makes new views read from `engine`. Its commit must be visible already.
    pub(crate) fn publish_engine(&self, engine: EngineState) {
        let mut open = self.open.lock();
        debug_assert!(engine >= open.engine && engine.commit <= self.visible());
        open.engine = engine;
    }

    /// How many views are open.
    pub(crate) fn count(&self) -> usize {
        self.open.lock().entries.iter().map(|e| e.count).sum()
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
        let views = Arc::new(Views::new(CommitNumber(5), EngineState::default()));
        let five = views.open(Timestamp(0));
        views.publish(CommitNumber(8));
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
        let views = Arc::new(Views::new(CommitNumber(9), state(1)));
        let old = views.open(Timestamp(0));
        views.publish_engine(state(7));
        let new = views.open(Timestamp(0));
        assert_eq!((old.engine, new.engine, views.oldest_engine()), (state(1), state(7), state(1)));
        drop(old);
        assert_eq!(views.oldest_engine(), state(7));
    }
}
