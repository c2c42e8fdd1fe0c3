//! The serial lane: a transaction that lost too often runs here, one at a time, while everybody
//! who would write what it touches is held back. So it must finish, and only those wait.

use crate::conflict::Place;
use crate::limits::LANE_WAIT_MAX_MS;
use crate::seeded::SeededSet;
use parking_lot::{Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// What the transaction in the lane has reserved.
#[derive(Debug, Default)]
enum Reserved {
    #[default]
    Nothing,
    /// Documents that it read or wrote in an earlier try.
    Places(SeededSet<Place>),
    /// All: it kept touching others.
    Everything,
}

#[derive(Debug, Default)]
struct State {
    reserved: Reserved,
    /// Numbers that were given to those who come, and the one whose turn it is.
    next: u64,
    served: u64,
    /// The thread of the one in the lane, if there is one.
    thread: Option<ThreadId>,
}

impl State {
    fn is_held_by(&self, number: u64) -> bool {
        self.thread.is_some() && self.served == number
    }
}

/// The lane of one repository.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    state: Mutex<State>,
    /// Somebody has left: the next may enter, and who was held back may go on.
    left: Condvar,
}

impl Lane {
    /// Waits for the lane: first come, first served.
    pub(crate) fn enter(&self) -> Turn<'_> {
        let mut state = self.state.lock();
        let number = state.next;
        state.next += 1;
        self.left.wait_while(&mut state, |state| state.served != number);
        state.thread = Some(thread::current().id());
        Turn { lane: self, number }
    }

    /// Ends the turn of `thread`, if it is the one in the lane.
    pub(crate) fn abandon(&self, thread: ThreadId) {
        let mut state = self.state.lock();
        if state.thread == Some(thread) {
            self.leave(&mut state);
        }
    }

    fn leave(&self, state: &mut State) {
        state.reserved = Reserved::Nothing;
        state.thread = None;
        state.served += 1;
        self.left.notify_all();
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
        let served = state.served;
        let limit = Duration::from_millis(LANE_WAIT_MAX_MS);
        self.left.wait_while_for(
            &mut state,
            |state| !matches!(state.reserved, Reserved::Nothing) && state.served == served,
            limit,
        );
    }
}

/// Being the one in the lane. Dropping it lets everybody go on.
pub(crate) struct Turn<'a> {
    lane: &'a Lane,
    number: u64,
}

impl Turn<'_> {
    /// Whether it still is: it is not once it was abandoned.
    pub(crate) fn is_held(&self) -> bool {
        self.lane.state.lock().is_held_by(self.number)
    }

    /// Reserves `places` beside what is reserved already; `None`: every document.
    pub(crate) fn reserve(&self, places: Option<Vec<Place>>) {
        let mut state = self.lane.state.lock();
        if !state.is_held_by(self.number) {
            return;
        }
        match (&mut state.reserved, places) {
            (Reserved::Everything, _) => {}
            (Reserved::Places(reserved), Some(places)) => reserved.extend(places),
            (Reserved::Nothing, Some(places)) => {
                state.reserved = Reserved::Places(places.into_iter().collect());
            }
            (_, None) => state.reserved = Reserved::Everything,
        }
    }

    /// Reserves every document.
    pub(crate) fn reserve_everything(&self) {
        self.reserve(None);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.lane.state.lock();
        if state.is_held_by(self.number) {
            self.lane.leave(&mut state);
        }
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

    #[test]
    fn an_abandoned_turn_reserves_nothing_and_ends_nobody_elses() {
        let place = (CollectionName::new("notes").unwrap(), Key::new("a").unwrap());
        let lane = Lane::default();
        let stuck = lane.enter();
        stuck.reserve_everything();
        std::thread::scope(|scope| {
            let next = scope.spawn(|| {
                let turn = lane.enter();
                turn.reserve(Some(vec![place.clone()]));
                stuck.reserve_everything();
                assert!(!stuck.is_held() && turn.is_held());
                drop(stuck);
                assert!(turn.is_held() && lane.holds_back(once(&place)));
                let other = (place.0.clone(), Key::new("b").unwrap());
                assert!(!lane.holds_back(once(&other)), "what the abandoned one wants is nothing");
            });
            // A thread that is not in the lane has no turn there.
            lane.abandon(next.thread().id());
            assert!(!next.is_finished());
            lane.abandon(thread::current().id());
            assert!(next.join().is_ok());
        });
        assert!(!lane.is_reserved());
    }
}
