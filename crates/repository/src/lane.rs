//! The serial lane: a transaction that lost too often runs here, one at a time, while everybody
//! who would write what it touches is held back. So it must finish, and only those wait.

use crate::conflict::Place;
use crate::limits::LANE_WAIT_MAX_MS;
use parking_lot::{Condvar, Mutex, MutexGuard};
use rustc_hash::FxHashSet;
use std::time::Duration;

/// What the transaction in the lane has reserved.
#[derive(Debug, Default)]
enum Reserved {
    #[default]
    Nothing,
    /// Documents that it read or wrote in an earlier try.
    Places(FxHashSet<Place>),
    /// All: it kept touching others.
    Everything,
}

#[derive(Debug, Default)]
struct State {
    reserved: Reserved,
    /// Counts releases, so that a waiter knows its own from a later one.
    releases: u64,
}

/// The lane of one repository.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    /// Held by the one transaction in the lane.
    turn: Mutex<()>,
    state: Mutex<State>,
    released: Condvar,
}

impl Lane {
    /// Waits for the lane.
    pub(crate) fn enter(&self) -> Turn<'_> {
        Turn { lane: self, _turn: self.turn.lock() }
    }

    /// Whether anything is reserved. Cheap: nearly always nothing is.
    pub(crate) fn is_reserved(&self) -> bool {
        !matches!(self.state.lock().reserved, Reserved::Nothing)
    }

    /// Whether a commit that writes `places` must wait. Asked by the sequencer, so that nothing
    /// reserved is written between the reservation and the commit of the one in the lane.
    pub(crate) fn holds_back<'a>(&self, mut places: impl Iterator<Item = &'a Place>) -> bool {
        match &self.state.lock().reserved {
            Reserved::Nothing => false,
            Reserved::Places(reserved) => places.any(|place| reserved.contains(place)),
            Reserved::Everything => true,
        }
    }

    /// Waits until the reservation of now is released, for a bounded time.
    pub(crate) fn wait(&self) {
        let mut state = self.state.lock();
        let releases = state.releases;
        let limit = Duration::from_millis(LANE_WAIT_MAX_MS);
        self.released.wait_while_for(
            &mut state,
            |state| !matches!(state.reserved, Reserved::Nothing) && state.releases == releases,
            limit,
        );
    }
}

/// Being the one in the lane. Dropping it lets everybody go on.
pub(crate) struct Turn<'a> {
    lane: &'a Lane,
    _turn: MutexGuard<'a, ()>,
}

impl Turn<'_> {
    /// Reserves `places` beside what is reserved already; `None`: every document.
    pub(crate) fn reserve(&self, places: Option<Vec<Place>>) {
        let Some(places) = places else { return self.reserve_everything() };
        let mut state = self.lane.state.lock();
        match &mut state.reserved {
            Reserved::Everything => {}
            Reserved::Places(reserved) => reserved.extend(places),
            Reserved::Nothing => state.reserved = Reserved::Places(places.into_iter().collect()),
        }
    }

    /// Reserves every document.
    pub(crate) fn reserve_everything(&self) {
        self.lane.state.lock().reserved = Reserved::Everything;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.lane.state.lock();
        state.reserved = Reserved::Nothing;
        state.releases += 1;
        drop(state);
        self.lane.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::{CollectionName, Key};
    use std::iter::once;

    #[test]
    fn only_what_is_reserved_is_held_back() {
        let notes = CollectionName::new("notes").unwrap();
        let place = |key: &str| (notes.clone(), Key::new(key).unwrap());
        let lane = Lane::default();
        assert!(!lane.holds_back(once(&place("a"))));
        let turn = lane.enter();
        turn.reserve(Some(vec![place("a")]));
        turn.reserve(Some(vec![place("b")]));
        assert!(lane.holds_back(once(&place("a"))) && lane.holds_back(once(&place("b"))));
        assert!(!lane.holds_back(once(&place("c"))));
        turn.reserve_everything();
        turn.reserve(Some(vec![place("d")]));
        assert!(lane.holds_back(once(&place("c"))));
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| lane.wait());
            drop(turn);
            assert!(waiter.join().is_ok());
        });
        assert!(!lane.holds_back(once(&place("a"))));
    }
}
