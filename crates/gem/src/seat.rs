//! The seat of a worker: what the watchdog may know of it, and take from it. A worker that cannot
//! be interrupted loses its seat: its request is answered for it, and what it does has no effect.
//!
//! Who may decide is one atomic word. A run ends by going from `RUNNING` to `DECIDING`, after which
//! it may commit; the watchdog only ever takes a seat that is `RUNNING`. So a request is either
//! answered by its worker, with its commit, or by the watchdog, without one.

use crate::exchange::Respond;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};

const IDLE: u64 = 0;
const RUNNING: u64 = 1;
const DECIDING: u64 = 2;
const LOST: u64 = 3;

/// The low bits of the word are the phase, the others number what is served.
const PHASE_BITS: u32 = 2;
const PHASE: u64 = (1 << PHASE_BITS) - 1;

/// See the module.
#[derive(Default)]
pub(crate) struct Seat {
    word: AtomicU64,
    /// The system's number of the worker's thread; 0 until it runs.
    thread: AtomicI32,
    /// The route that is served.
    route: AtomicUsize,
    /// What is served is a task.
    is_task: AtomicBool,
    /// The function of a service that was asked last.
    function: Mutex<String>,
    /// Whoever takes it answers.
    respond: Mutex<Option<Respond>>,
    /// Nobody sits there any more, nor is to.
    left: Mutex<bool>,
    emptied: Condvar,
}

/// No route.
pub(crate) const NO_ROUTE: usize = usize::MAX;

impl Seat {
    /// Said once, by the worker's thread.
    pub(crate) fn sit(&self) {
        self.thread.store(rustix::thread::gettid().as_raw_nonzero().get(), Ordering::Relaxed);
    }

    /// Says that its worker has ended, or is not to be waited for any more.
    pub(crate) fn leave(&self) {
        *self.left.lock() = true;
        self.emptied.notify_all();
    }

    /// Whether that was said.
    pub(crate) fn is_left(&self) -> bool {
        *self.left.lock()
    }

    /// Waits until that is said.
    pub(crate) fn wait_left(&self) {
        let mut left = self.left.lock();
        self.emptied.wait_while(&mut left, |left| !*left);
    }

    /// Begins to serve; there is no `respond` where the work answers by itself.
    pub(crate) fn begin(&self, respond: Option<Respond>) {
        *self.respond.lock() = respond;
        self.route.store(NO_ROUTE, Ordering::Relaxed);
        let number = self.word.load(Ordering::Relaxed) >> PHASE_BITS;
        self.word.store((number + 1) << PHASE_BITS | RUNNING, Ordering::Release);
    }

    /// Notes, before it begins, whether it serves a task.
    pub(crate) fn note_task(&self, is_task: bool) {
        self.is_task.store(is_task, Ordering::Relaxed);
    }

    /// Whether it serves a task, or did when it was lost.
    pub(crate) fn is_at_task(&self) -> bool {
        self.is_task.load(Ordering::Relaxed)
    }

    /// Notes what is served.
    pub(crate) fn note_route(&self, route: usize) {
        self.route.store(route, Ordering::Relaxed);
    }

    /// Notes the function of a service that is asked.
    pub(crate) fn note_function(&self, name: String) {
        *self.function.lock() = name;
    }

    /// The function that was asked last: what was served where there is no route.
    pub(crate) fn function(&self) -> String {
        self.function.lock().clone()
    }

    /// A run begins, perhaps again after a conflict. False: the seat is lost.
    pub(crate) fn run(&self) -> bool {
        self.change(RUNNING)
    }

    /// A run has ended, and may commit. False: the seat is lost, so it must not.
    pub(crate) fn decide(&self) -> bool {
        self.change(DECIDING)
    }

    fn change(&self, phase: u64) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        let next = word & !PHASE | phase;
        word & PHASE != LOST
            && self.word.compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Ends what was begun. `Err`: the seat is lost, and the worker is to leave.
    pub(crate) fn end(&self) -> Result<Option<Respond>, Lost> {
        if self.change(IDLE) { Ok(self.respond.lock().take()) } else { Err(Lost) }
    }

    /// What is served now, if something is that has not ended by itself: its number, and the route.
    pub(crate) fn running(&self) -> Option<(u64, usize)> {
        let word = self.word.load(Ordering::Acquire);
        (word & PHASE == RUNNING).then(|| (word, self.route.load(Ordering::Relaxed)))
    }

    /// Whether the watchdog has taken it.
    pub(crate) fn is_lost(&self) -> bool {
        self.word.load(Ordering::Acquire) & PHASE == LOST
    }

    /// The number of the worker's thread.
    pub(crate) fn thread(&self) -> i32 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Whether something is served.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self.word.load(Ordering::Relaxed) & PHASE, RUNNING | DECIDING)
    }

    /// Takes the seat from what `running` gave; `None` if that has ended meanwhile.
    pub(crate) fn take(&self, running: u64) -> Option<Option<Respond>> {
        let lost = running & !PHASE | LOST;
        let taken = self.word.compare_exchange(running, lost, Ordering::AcqRel, Ordering::Relaxed);
        taken.is_ok().then(|| self.respond.lock().take())
    }
}

/// The watchdog has taken the seat.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lost;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_the_worker_decides_or_the_watchdog_takes() {
        let seat = Seat::default();
        assert_eq!(seat.running(), None);
        seat.begin(Some(Box::new(|_| {})));
        let (running, route) = seat.running().unwrap();
        assert_eq!(route, NO_ROUTE);
        assert!(seat.decide() && seat.is_busy());
        assert_eq!(seat.running(), None, "it may commit now");
        assert!(seat.take(running).is_none());
        assert!(seat.run(), "after a conflict it runs again");
        assert!(seat.take(running).is_some_and(|respond| respond.is_some()));
        assert!(!seat.decide() && !seat.run() && !seat.is_busy());
        assert!(seat.end().is_err());
    }

    #[test]
    fn what_has_ended_cannot_be_taken() {
        let seat = Seat::default();
        seat.begin(None);
        let (first, _) = seat.running().unwrap();
        assert!(seat.end().is_ok());
        seat.begin(None);
        assert!(seat.take(first).is_none(), "another request is served now");
        assert!(seat.end().is_ok());
    }
}
