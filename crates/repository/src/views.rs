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
    groups: BTreeMap<(CommitNumber, EngineState), Group>,
    engine: EngineState,
    /// Engine states that snapshots read, which read nothing in memory, and how many of them.
    snapshots: BTreeMap<EngineState, usize>,
    /// No view is later while a commit is between its decision and being visible that would have
    /// been another one then.
    latest: Option<Timestamp>,
}

/// What a view reads that does not read from the engine.
const NO_ENGINE: EngineState = EngineState { commit: CommitNumber(u64::MAX), sequence: u64::MAX };

/// Views that see the same.
#[derive(Debug, Default)]
struct Group {
    /// Those that may be refused.
    count: usize,
    /// Those of the repository's own work.
    pins: usize,
    /// When the first and the last of `count` was opened, by the clock.
    first: Timestamp,
    last: Timestamp,
}

/// Views of one commit that are open now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenViews {
    /// The last commit that they see.
    pub number: CommitNumber,
    /// How many there are.
    pub count: usize,
    /// When the first of them was opened.
    pub opened: Timestamp,
}

/// The register of open views, and the newest commit that a new view sees.
#[derive(Debug)]
pub(crate) struct Views {
    open: Mutex<Open>,
    visible: AtomicU64,
    /// The time of the latest view that was ever opened, or of the latest commit. No view and no
    /// commit is earlier, so that time never runs backwards between any two of them, whatever the
    /// clock does. Changed with `open` locked.
    time: AtomicU64,
    /// Views before this commit were open for too long and are refused.
    floor: AtomicU64,
}

impl Views {
    pub(crate) fn new(visible: CommitNumber, time: Timestamp, engine: EngineState) -> Self {
        Self {
            open: Mutex::new(Open { engine, ..Open::default() }),
            visible: AtomicU64::new(visible.0),
            time: AtomicU64::new(time.0),
            floor: AtomicU64::new(0),
        }
    }

    /// The newest commit that a new view sees.
    pub(crate) fn visible(&self) -> CommitNumber {
        CommitNumber(self.visible.load(Ordering::Acquire))
    }

    /// Shows everything up to `number`, committed at `time`, to new views. Only the sequencer calls
    /// this, in order, after `apply`.
    pub(crate) fn publish(&self, number: CommitNumber, time: Timestamp) {
        if time > self.time() {
            let _open = self.open.lock();
            self.time.fetch_max(time.0, Ordering::Relaxed);
        }
        self.visible.store(number.0, Ordering::Release);
    }

    /// The time of the latest view or commit: that of a commit that is decided now.
    pub(crate) fn time(&self) -> Timestamp {
        Timestamp(self.time.load(Ordering::Relaxed))
    }

    /// Keeps new views before `end` until what this gives is dropped; or gives the time of the
    /// latest view, if that is not before `end`. Only the sequencer calls this.
    pub(crate) fn stay_before(&self, end: Timestamp) -> Result<Stay<'_>, Timestamp> {
        let mut open = self.open.lock();
        let time = self.time();
        if time >= end {
            return Err(time);
        }
        open.latest = Some(Timestamp(end.0 - 1));
        Ok(Stay { views: self })
    }

    /// Opens a view on the newest visible commit, at `now` or the time of that commit.
    pub(crate) fn open(self: &Arc<Self>, now: Timestamp) -> View {
        self.enter(now, false, None)
    }

    /// Opens a view that is never refused, for the repository's own bounded work.
    pub(crate) fn pin(self: &Arc<Self>, now: Timestamp) -> View {
        self.enter(now, true, None)
    }

    /// As `pin`, for a view that reads only what memory holds: the engine may give back the space
    /// of what it merged meanwhile.
    pub(crate) fn pin_memory(self: &Arc<Self>) -> View {
        self.enter(Timestamp(0), true, Some(NO_ENGINE))
    }

    fn enter(
        self: &Arc<Self>,
        now: Timestamp,
        is_pinned: bool,
        engine: Option<EngineState>,
    ) -> View {
        let mut open = self.open.lock();
        // Read under the lock: whoever holds it afterwards knows of this view.
        let number = self.visible();
        let engine = engine.unwrap_or(open.engine);
        let last = self.time();
        let mut time = now.max(last);
        if let Some(latest) = open.latest {
            time = time.min(latest);
        }
        if time > last {
            self.time.store(time.0, Ordering::Relaxed);
        }
        let group = open.groups.entry((number, engine)).or_default();
        if is_pinned {
            group.pins += 1;
        } else {
            if group.count == 0 {
                group.first = now;
            }
            group.count += 1;
            group.last = now;
        }
        drop(open);
        View { number, time, engine, is_pinned, views: Arc::clone(self) }
    }

    fn close(&self, view: &View) {
        let mut open = self.open.lock();
        // There is none if the view was refused meanwhile.
        if let Entry::Occupied(mut group) = open.groups.entry((view.number, view.engine)) {
            let Group { count, pins, .. } = group.get_mut();
            *(if view.is_pinned { &mut *pins } else { &mut *count }) -= 1;
            if *count == 0 && *pins == 0 {
                group.remove();
            }
        }
    }

    /// Refuses views that were opened before `limit` and hold back older versions than the newest;
    /// gives how many.
    pub(crate) fn refuse_before(&self, limit: Timestamp) -> usize {
        let mut open = self.open.lock();
        let visible = self.visible();
        let mut refused = 0;
        while let Some((&(number, _), _)) = open.groups.first_key_value() {
            // All that see this commit go at once, with the last of them.
            let next = (number.next(), EngineState::default());
            let is_old =
                open.groups.range(..next).all(|(_, group)| group.pins == 0 && group.last < limit);
            if number >= visible || !is_old {
                break;
            }
            self.floor.store(next.0.0, Ordering::SeqCst);
            let later = open.groups.split_off(&next);
            let dropped = std::mem::replace(&mut open.groups, later);
            refused += dropped.values().map(|group| group.count).sum::<usize>();
        }
        refused
    }

    /// Whether an open view sees the version written by `from` and not its successor `to`.
    pub(crate) fn any_between(&self, from: CommitNumber, to: CommitNumber) -> bool {
        let start = |number| (number, EngineState::default());
        self.open.lock().groups.range(start(from)..start(to)).next().is_some()
    }

    /// The engine state that new views read from.
    pub(crate) fn engine(&self) -> EngineState {
        self.open.lock().engine
    }

    /// The commit of the oldest view that is open, the repository's own included.
    pub(crate) fn oldest(&self) -> Option<CommitNumber> {
        self.open.lock().groups.first_key_value().map(|((number, _), _)| *number)
    }

    /// The oldest engine state that any open or new view reads from.
    pub(crate) fn oldest_engine(&self) -> EngineState {
        let open = self.open.lock();
        let mut engines = open.groups.keys().map(|(_, engine)| *engine);
        engines.find(|engine| *engine != NO_ENGINE).unwrap_or(open.engine)
    }

    /// Keeps the engine state that `state` gives, and nothing in memory, until what this gives is
    /// dropped. `state` must be exactly one commit, and none that is older than what views read.
    pub(crate) fn pin_engine(self: &Arc<Self>, state: impl FnOnce() -> EngineState) -> EnginePin {
        let mut open = self.open.lock();
        let state = state();
        debug_assert!(state >= open.engine);
        *open.snapshots.entry(state).or_default() += 1;
        EnginePin { state, views: Arc::clone(self) }
    }

    /// The oldest engine state that any open or new view or any snapshot reads from: tables that it
    /// needs must stay.
    pub(crate) fn oldest_tables(&self) -> EngineState {
        let oldest = self.oldest_engine();
        let open = self.open.lock();
        open.snapshots.keys().next().map_or(oldest, |first| oldest.min(*first))
    }

    /// The commit of the oldest snapshot, if there is one: what was named then must stay.
    pub(crate) fn oldest_snapshot(&self) -> Option<CommitNumber> {
        self.open.lock().snapshots.keys().next().map(|state| state.commit)
    }

    /// Gives up every snapshot, which finds that out with its next read; gives how many there were.
    pub(crate) fn give_up_snapshots(&self) -> usize {
        std::mem::take(&mut self.open.lock().snapshots).values().sum()
    }

    /// Makes new views read from what `state` gives for `commit`, or for the commit that they read
    /// from now, if that is later. `commit` must be visible already.
    pub(crate) fn refresh_engine(
        &self,
        commit: CommitNumber,
        state: impl Fn(CommitNumber) -> EngineState,
    ) {
        let mut open = self.open.lock();
        let engine = state(commit.max(open.engine.commit));
        debug_assert!(engine >= open.engine && engine.commit <= self.visible());
        open.engine = engine;
    }

    /// The views that are open, oldest first, but for those of the repository's own work.
    pub(crate) fn list(&self) -> Vec<OpenViews> {
        let open = self.open.lock();
        let views = |(&(number, _), group): (&(CommitNumber, _), &Group)| OpenViews {
            number,
            count: group.count,
            opened: group.first,
        };
        open.groups.iter().filter(|(_, group)| group.count > 0).map(views).collect()
    }

    /// How many views `list` gives.
    pub(crate) fn count(&self) -> usize {
        self.open.lock().groups.values().map(|group| group.count).sum()
    }
}

/// An engine state that is kept for a snapshot. Dropping it lets go of it.
#[derive(Debug)]
pub(crate) struct EnginePin {
    /// Where it reads.
    pub state: EngineState,
    views: Arc<Views>,
}

impl EnginePin {
    /// Whether it was given up: what is read from now on may be wrong.
    pub(crate) fn is_given_up(&self) -> bool {
        !self.views.open.lock().snapshots.contains_key(&self.state)
    }
}

impl Drop for EnginePin {
    fn drop(&mut self) {
        let mut open = self.views.open.lock();
        // There is none if it was given up meanwhile.
        if let Entry::Occupied(mut count) = open.snapshots.entry(self.state) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

/// Time stands still before a moment. See [`Views::stay_before`].
#[derive(Debug)]
pub(crate) struct Stay<'a> {
    views: &'a Views,
}

impl Drop for Stay<'_> {
    fn drop(&mut self) {
        self.views.open.lock().latest = None;
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
    is_pinned: bool,
    views: Arc<Views>,
}

impl View {
    /// Whether it was open for too long. What was read is right only if this is false afterwards:
    /// from then on nobody keeps what the view sees.
    pub(crate) fn is_refused(&self) -> bool {
        self.number.0 < self.views.floor.load(Ordering::SeqCst)
    }
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
        views.refresh_engine(CommitNumber(7), |c| state(c.0));
        let new = views.open(Timestamp(0));
        assert_eq!((old.engine, new.engine, views.oldest_engine()), (state(1), state(7), state(1)));
        drop(old);
        assert_eq!(views.oldest_engine(), state(7));
    }

    #[test]
    fn a_view_is_refused_when_it_is_old_and_holds_something_back() {
        let views = Arc::new(Views::new(CommitNumber(5), Timestamp(0), EngineState::default()));
        let (old, late) = (views.open(Timestamp(10)), views.open(Timestamp(20)));
        assert_eq!(views.refuse_before(Timestamp(1000)), 0, "it sees the newest");
        views.publish(CommitNumber(6), Timestamp(0));
        let new = views.open(Timestamp(30));
        assert_eq!(views.refuse_before(Timestamp(20)), 0, "the last of them is not too old");
        let listed = OpenViews { number: CommitNumber(5), count: 2, opened: Timestamp(10) };
        assert_eq!(views.list()[0], listed);
        assert_eq!(views.refuse_before(Timestamp(21)), 2);
        assert!(old.is_refused() && late.is_refused() && !new.is_refused());
        assert_eq!(
            (views.count(), views.any_between(CommitNumber(5), CommitNumber(6))),
            (1, false)
        );
        drop((old, late));
        assert_eq!(views.count(), 1, "closing what was refused changes nothing");
    }

    #[test]
    fn time_stands_still_before_a_moment_that_would_change_a_commit() {
        let views = Arc::new(Views::new(CommitNumber(5), Timestamp(10), EngineState::default()));
        assert_eq!(views.open(Timestamp(50)).time, Timestamp(50));
        assert_eq!(views.open(Timestamp(20)).time, Timestamp(50), "a clock that was set back");
        assert_eq!(views.stay_before(Timestamp(50)).err(), Some(Timestamp(50)));
        let stay = views.stay_before(Timestamp(51)).unwrap();
        assert_eq!(views.open(Timestamp(70)).time, Timestamp(50));
        drop(stay);
        assert_eq!(views.open(Timestamp(70)).time, Timestamp(70));
        views.publish(CommitNumber(6), Timestamp(60));
        assert_eq!(views.open(Timestamp(0)).time, Timestamp(70));
    }

    #[test]
    fn a_pin_keeps_what_it_sees_only_while_it_is_there() {
        let views = Arc::new(Views::new(CommitNumber(5), Timestamp(0), EngineState::default()));
        let old = views.open(Timestamp(10));
        let pin = views.pin(Timestamp(0));
        views.publish(CommitNumber(6), Timestamp(0));
        assert_eq!(views.refuse_before(Timestamp(1000)), 0);
        assert_eq!((views.count(), views.list()[0].opened), (1, Timestamp(10)));
        drop(pin);
        assert_eq!(views.refuse_before(Timestamp(1000)), 1);
        assert!(old.is_refused());
        let pin = views.pin(Timestamp(0));
        assert_eq!((views.count(), views.list().len()), (0, 0));
        views.publish(CommitNumber(7), Timestamp(0));
        assert!(views.any_between(CommitNumber(6), CommitNumber(7)), "it keeps versions, though");
        drop(pin);
    }

    #[test]
    fn a_view_of_memory_alone_keeps_versions_and_no_tables() {
        let state = |n| EngineState { commit: CommitNumber(n), sequence: n * 10 };
        let views = Arc::new(Views::new(CommitNumber(9), Timestamp(0), state(1)));
        let pin = views.pin_memory();
        views.publish(CommitNumber(10), Timestamp(0));
        views.refresh_engine(CommitNumber(7), |c| state(c.0));
        assert_eq!(views.oldest_engine(), state(7));
        assert!(views.any_between(CommitNumber(9), CommitNumber(10)));
        drop(pin);
        assert!(!views.any_between(CommitNumber(9), CommitNumber(10)));
    }

    #[test]
    fn a_snapshot_keeps_tables_and_nothing_in_memory() {
        let state = |n| EngineState { commit: CommitNumber(n), sequence: n * 10 };
        let views = Arc::new(Views::new(CommitNumber(7), Timestamp(0), state(1)));
        let (pin, again) = (views.pin_engine(|| state(7)), views.pin_engine(|| state(7)));
        views.publish(CommitNumber(9), Timestamp(0));
        views.refresh_engine(CommitNumber(9), |c| state(c.0));
        assert_eq!((views.oldest_engine(), views.oldest_tables()), (state(9), state(7)));
        assert!(!views.any_between(CommitNumber(7), CommitNumber(8)));
        drop(again);
        assert_eq!(views.oldest_snapshot(), Some(CommitNumber(7)));
        assert_eq!((pin.is_given_up(), views.give_up_snapshots()), (false, 1));
        assert_eq!((pin.is_given_up(), views.oldest_tables()), (true, state(9)));
        drop(pin);
        assert_eq!(views.oldest_snapshot(), None);
    }
}
