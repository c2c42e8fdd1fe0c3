//! The bounded queue between the faces and the workers. Workers that find it empty sleep at once:
//! on few cores, a worker that spins first takes its time from whoever would fill the queue.

use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;

struct State<T> {
    items: VecDeque<T>,
    is_closed: bool,
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
        let state = State { items: VecDeque::new(), is_closed: false };
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

    /// Takes the first item; waits for one. `None` once the queue is closed and empty.
    pub(crate) fn pop(&self) -> Option<T> {
        let mut state = self.state.lock();
        loop {
            if let Some(item) = state.items.pop_front() {
                return Some(item);
            }
            if state.is_closed {
                return None;
            }
            self.filled.wait(&mut state);
        }
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
        assert_eq!(queue.pop(), Some(1));
        assert_eq!(queue.push(4), Ok(()));
        queue.close();
        assert_eq!(queue.push(5), Err(5));
        assert_eq!((queue.pop(), queue.pop(), queue.pop()), (Some(2), Some(4), None));
    }

    #[test]
    fn closing_wakes_whoever_sleeps() {
        let queue = Queue::<u8>::new(1);
        std::thread::scope(|scope| {
            let sleepers: Vec<_> = (0..3).map(|_| scope.spawn(|| queue.pop())).collect();
            queue.close();
            assert!(sleepers.into_iter().all(|sleeper| sleeper.join().is_ok_and(|i| i.is_none())));
        });
    }
}
