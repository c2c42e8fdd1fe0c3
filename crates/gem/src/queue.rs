//! The bounded queue between the faces and the workers. Workers that find it empty sleep at once:
//! on few cores, a worker that spins first takes its time from whoever would fill the queue.
//!
//! Tasks have a line of their own. Those that wait there are taken while no other item waits, or
//! when it is their turn (`share`), and only so many at once.
//!
//! It also carries the word that the application has changed, so that a worker which sleeps hears
//! of it, and one that works does before its next request: under the lock that it takes for that.

use crate::share::Share;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

struct State<T> {
    items: VecDeque<T>,
    /// What was lent and came back. Whoever has waited already goes first, and past the bound.
    returned: VecDeque<T>,
    /// Items that were taken and may come back.
    lent: usize,
    /// Tasks, with those first that were lent and came back.
    tasks: VecDeque<T>,
    /// Tasks that workers are at.
    tasks_taken: usize,
    share: Share,
    /// Grows with each change that the workers are to hear of.
    generation: u64,
    is_closed: bool,
}

/// What a worker is to do next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Popped<T> {
    /// This.
    Item(T),
    /// This task; `task_done` is to be called after it.
    Task(T),
    /// Something has changed since the generation that it has seen; this is the newest one.
    Changed(u64),
    /// Nothing more.
    Closed,
}

/// First in, first out.
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    length_max: usize,
    /// Tasks that workers may be at.
    tasks_max: usize,
    /// Whether requests are owed time, so that what they take is to be told.
    is_shared: AtomicBool,
    filled: Condvar,
}

impl<T> Queue<T> {
    /// A queue of at most `length_max` items, without tasks.
    pub(crate) fn new(length_max: usize) -> Self {
        let state = State {
            items: VecDeque::new(),
            returned: VecDeque::new(),
            lent: 0,
            tasks: VecDeque::new(),
            tasks_taken: 0,
            share: Share::default(),
            generation: 0,
            is_closed: false,
        };
        let (state, is_shared) = (Mutex::new(state), AtomicBool::new(false));
        Self { state, length_max, tasks_max: 0, is_shared, filled: Condvar::new() }
    }

    /// The same, whose workers are at `tasks_max` tasks at once.
    pub(crate) fn with_tasks(self, tasks_max: usize) -> Self {
        Self { tasks_max, ..self }
    }

    /// Puts a task at the end of their line, whose length its owner bounds; gives it back when the
    /// queue is closed.
    pub(crate) fn push_task(&self, item: T) -> Result<(), T> {
        let mut state = self.state.lock();
        if state.is_closed {
            return Err(item);
        }
        state.tasks.push_back(item);
        drop(state);
        self.filled.notify_one();
        Ok(())
    }

    /// Says that a worker has ended what it did of a task.
    pub(crate) fn task_done(&self, took: Duration) {
        let mut state = self.state.lock();
        state.tasks_taken -= 1;
        state.share.task_took(took);
        self.is_shared.store(true, Ordering::Relaxed);
        let is_closed = state.is_closed;
        drop(state);
        if is_closed {
            self.filled.notify_all();
        } else {
            self.filled.notify_one();
        }
    }

    /// Whether `item_took` is to be called after the next item that is no task.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared.load(Ordering::Relaxed)
    }

    /// Says how long an item took that is no task.
    pub(crate) fn item_took(&self, took: Duration) {
        let mut state = self.state.lock();
        state.share.request_took(took);
        self.is_shared.store(state.share.is_owed(), Ordering::Relaxed);
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
            if let Some(item) = state.returned.pop_front() {
                return Popped::Item(item);
            }
            if !state.tasks.is_empty()
                && let Some(task) = self.take_task(&mut state)
            {
                return Popped::Task(task);
            }
            if let Some(item) = state.items.pop_front() {
                return Popped::Item(item);
            }
            if state.is_closed && state.lent == 0 && state.tasks.is_empty() {
                return Popped::Closed;
            }
            self.filled.wait(&mut state);
        }
    }

    /// The next task, if one may be taken now.
    fn take_task(&self, state: &mut State<T>) -> Option<T> {
        if state.items.is_empty() {
            state.share.forgive();
            self.is_shared.store(false, Ordering::Relaxed);
        }
        if state.share.is_owed() || state.tasks_taken >= self.tasks_max {
            return None;
        }
        state.tasks_taken += 1;
        state.tasks.pop_front()
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

    /// As `give_back`, for a task: before all other tasks.
    pub(crate) fn give_back_task(&self, item: T) {
        self.settle(|state| state.tasks.push_front(item));
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

    /// Takes nothing more in. What is queued can still be taken, except for tasks that were not
    /// begun, which are dropped.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        let dropped = if state.is_closed { VecDeque::new() } else { state.tasks.split_off(0) };
        state.is_closed = true;
        drop(state);
        self.filled.notify_all();
        drop(dropped);
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

    #[test]
    fn tasks_wait_for_requests_that_are_owed_time() {
        let queue = Queue::new(9).with_tasks(1);
        queue.push_task("task 1").unwrap();
        queue.push_task("task 2").unwrap();
        queue.push("request 1").unwrap();
        assert_eq!(queue.pop(0), Popped::Task("task 1"), "nobody is owed anything");
        assert_eq!(queue.pop(0), Popped::Item("request 1"), "one task at once");
        queue.push("request 2").unwrap();
        queue.push("request 3").unwrap();
        assert!(!queue.is_shared());
        queue.task_done(Duration::from_millis(1));
        assert_eq!(queue.pop(0), Popped::Item("request 2"));
        assert!(queue.is_shared());
        queue.item_took(Duration::from_millis(3));
        assert!(!queue.is_shared());
        assert_eq!(queue.pop(0), Popped::Task("task 2"), "three times as much was given");
        queue.task_done(Duration::from_millis(1));
        assert_eq!(queue.pop(0), Popped::Item("request 3"));
        queue.push_task("task 3").unwrap();
        assert_eq!(queue.pop(0), Popped::Task("task 3"), "no request waits");
        assert!(!queue.is_shared());
    }

    #[test]
    fn closing_drops_tasks_that_were_not_begun_and_waits_for_others() {
        let queue = Queue::new(9).with_tasks(1);
        queue.push_task("task 1").unwrap();
        queue.push_task("task 2").unwrap();
        assert_eq!(queue.pop(0), Popped::Task("task 1"));
        queue.lend();
        queue.task_done(Duration::ZERO);
        queue.close();
        assert_eq!(queue.push_task("task 3"), Err("task 3"));
        queue.give_back_task("task 1");
        assert_eq!(queue.pop(0), Popped::Task("task 1"));
        queue.task_done(Duration::ZERO);
        assert_eq!(queue.pop(0), Popped::Closed);
    }
}
