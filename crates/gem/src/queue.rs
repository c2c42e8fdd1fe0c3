//! The bounded queue between the faces and the workers. Workers that find it empty sleep at once:
//! on few cores, a worker that spins first takes its time from whoever would fill the queue.
//!
//! It also carries the word that the application has changed, so that a worker which sleeps hears
//! of it, and one that works does before its next request: under the lock that it takes for that.

use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;

struct State<T> {
    items: VecDeque<T>,
    /// What was lent and came back. Whoever has waited already goes first, and past the bound.
    returned: VecDeque<T>,
    /// Items that were taken and may come back.
    lent: usize,
    /// Grows with each change that the workers are to hear of.
    generation: u64,
    is_closed: bool,
}

/// What a worker is to do next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Popped<T> {
    /// This.
    Item(T),
    /// Something has changed since the generation that it has seen; this is the newest one.
    Changed(u64),
    /// Nothing more.
    Closed,
}

/// First in, first out.
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    length_max: usize,
    filled: Condvar,
}

impl<T> Queue<T> {
    /// A queue of at most `length_max` items.
    pub(crate) fn new(length_max: usize) -> Self {
        let state = State {
            items: VecDeque::new(),
            returned: VecDeque::new(),
            lent: 0,
            generation: 0,
            is_closed: false,
        };
        Self { state: Mutex::new(state), length_max, filled: Condvar::new() }
    }

    /// Puts `item` at the end; gives it back when the queue is full or closed.
    pub(crate) fn push(&self, item: T) -> Result<(), T> {
        let mut state = self.state.lock();
        if state.is_closed || state.items.len() >= self.length_max {
            return Err(item);
        }
        state.items.push_back(item);
        drop(state);
        self.filled.notify_one();
        Ok(())
    }

    /// Takes the first item for a worker that has seen `generation`; waits for one. A change comes
    /// before any item, so whatever is pushed after it meets workers that have seen it. `Closed`
    /// is said once nothing is left and nothing that was lent can come back.
    pub(crate) fn pop(&self, generation: u64) -> Popped<T> {
        let mut state = self.state.lock();
        loop {
            if state.generation != generation {
                return Popped::Changed(state.generation);
            }
            let returned = state.returned.pop_front();
            if let Some(item) = returned.or_else(|| state.items.pop_front()) {
                return Popped::Item(item);
            }
            if state.is_closed && state.lent == 0 {
                return Popped::Closed;
            }
            self.filled.wait(&mut state);
        }
    }

    /// Says of an item that was taken that it may come back: by `give_back`, unless `keep` is
    /// called instead.
    pub(crate) fn lend(&self) {
        self.state.lock().lent += 1;
    }

    /// Puts an item that was lent before all others. It is never refused.
    pub(crate) fn give_back(&self, item: T) {
        self.settle(|state| state.returned.push_back(item));
    }

    /// Says that an item that was lent does not come back.
    pub(crate) fn keep(&self) {
        self.settle(|_| {});
    }

    fn settle(&self, change: impl FnOnce(&mut State<T>)) {
        let mut state = self.state.lock();
        change(&mut state);
        state.lent -= 1;
        if state.is_closed {
            // Those that only waited for it end.
            self.filled.notify_all();
        } else {
            self.filled.notify_one();
        }
    }

    /// How many items are lent.
    pub(crate) fn lent(&self) -> usize {
        self.state.lock().lent
    }

    /// Tells every worker that something has changed.
    pub(crate) fn change(&self) {
        self.state.lock().generation += 1;
        self.filled.notify_all();
    }

    /// How many items there are, and how many there may be.
    pub(crate) fn length(&self) -> (usize, usize) {
        (self.state.lock().items.len(), self.length_max)
    }

    /// Takes nothing more in. What is queued can still be taken.
    pub(crate) fn close(&self) {
        self.state.lock().is_closed = true;
        self.filled.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_fair_bounded_and_finishes_what_it_holds() {
        let queue = Queue::new(2);
        assert_eq!((queue.push(1), queue.push(2), queue.push(3)), (Ok(()), Ok(()), Err(3)));
        assert_eq!(queue.pop(0), Popped::Item(1));
        assert_eq!(queue.push(4), Ok(()));
        queue.close();
        assert_eq!(queue.push(5), Err(5));
        let rest = (queue.pop(0), queue.pop(0), queue.pop(0));
        assert_eq!(rest, (Popped::Item(2), Popped::Item(4), Popped::Closed));
    }

    #[test]
    fn what_was_lent_comes_back_first_past_the_bound_and_after_the_close() {
        let queue = Queue::new(1);
        assert_eq!((queue.push(1), queue.pop(0)), (Ok(()), Popped::Item(1)));
        queue.lend();
        queue.lend();
        assert_eq!(queue.push(2), Ok(()));
        queue.give_back(1);
        assert_eq!((queue.pop(0), queue.pop(0)), (Popped::Item(1), Popped::Item(2)));
        assert_eq!(queue.lent(), 1);
        queue.close();
        std::thread::scope(|scope| {
            let takers: Vec<_> = (0..2).map(|_| scope.spawn(|| queue.pop(0))).collect();
            queue.give_back(3);
            let taken: Vec<_> = takers.into_iter().map(|taker| taker.join().unwrap()).collect();
            assert!(taken.contains(&Popped::Item(3)) && taken.contains(&Popped::Closed));
        });
        queue.lend();
        std::thread::scope(|scope| {
            let taker = scope.spawn(|| queue.pop(0));
            queue.keep();
            assert_eq!(taker.join().unwrap(), Popped::Closed);
        });
    }

    #[test]
    fn a_change_comes_before_what_waits() {
        let queue = Queue::new(2);
        assert_eq!(queue.push(1), Ok(()));
        queue.change();
        queue.change();
        assert_eq!(queue.pop(0), Popped::Changed(2));
        assert_eq!(queue.pop(2), Popped::Item(1));
    }

    #[test]
    fn closing_and_changes_wake_whoever_sleeps() {
        let queue = Queue::<u8>::new(1);
        std::thread::scope(|scope| {
            let sleepers: Vec<_> = (0..3).map(|_| scope.spawn(|| queue.pop(0))).collect();
            queue.change();
            for sleeper in sleepers {
                assert_eq!(sleeper.join().unwrap(), Popped::Changed(1));
            }
            let sleepers: Vec<_> = (0..3).map(|_| scope.spawn(|| queue.pop(1))).collect();
            queue.close();
            for sleeper in sleepers {
                assert_eq!(sleeper.join().unwrap(), Popped::Closed);
            }
        });
    }
}
