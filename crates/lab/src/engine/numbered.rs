//! The numbered load: each number of a range once, by several users, as a setup needs it. What is
//! drawn for a number hangs on the number alone, so that a setup that was stopped can go on from
//! where it was.

use super::user::User;
use crate::plan::Load;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::time::Instant;

/// The numbers that are left, shared by the threads.
pub(crate) struct Numbers {
    next: AtomicU64,
    end: u64,
    /// The least that failed.
    failed: AtomicU64,
}

impl Numbers {
    fn new(first: u64, times: u64) -> Self {
        let end = first.saturating_add(times);
        Self { next: AtomicU64::new(first), end, failed: AtomicU64::new(u64::MAX) }
    }

    /// Those of a numbered load.
    pub(crate) fn of(load: &Load) -> Option<Arc<Self>> {
        match *load {
            Load::Numbered { first, times, .. } => Some(Arc::new(Self::new(first, times))),
            _ => None,
        }
    }

    /// The next; none after the last, or when one has failed.
    fn take(&self) -> Option<u64> {
        if self.failed.load(Ordering::Relaxed) < u64::MAX {
            return None;
        }
        // Relaxed: the numbers alone are shared, no other memory hangs on them.
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        (next < self.end).then_some(next)
    }

    /// Notes that `number` has failed.
    fn fail(&self, number: u64) {
        self.failed.fetch_min(number, Ordering::Relaxed);
    }

    /// All numbers before this one are done, when no user is at work any more.
    pub(crate) fn done(&self) -> u64 {
        let taken = self.next.load(Ordering::Relaxed).min(self.end);
        taken.min(self.failed.load(Ordering::Relaxed))
    }
}

/// A user takes numbers as long as there are any, and performs the mix with each.
pub(crate) async fn live(mut user: User, numbers: Arc<Numbers>) {
    // What comes earlier belongs to no interval.
    let start = user.timetable().start;
    user.sleep_until(start).await;
    while user.may_start(Instant::now()) {
        let Some(number) = numbers.take() else { break };
        user.arrive(number);
        let operation = user.choose();
        let now = Instant::now();
        user.perform(operation, now, now).await;
        if user.has_failed() {
            numbers.fail(number);
        }
    }
    user.leave();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_given_once_and_none_after_a_failure() {
        let numbers = Numbers::new(5, 4);
        assert_eq!(numbers.done(), 5);
        assert_eq!([numbers.take(), numbers.take()], [Some(5), Some(6)]);
        assert_eq!(numbers.done(), 7);
        numbers.fail(6);
        assert_eq!((numbers.take(), numbers.done()), (None, 6));
        let few = Numbers::new(0, 1);
        assert_eq!([few.take(), few.take(), few.take()], [Some(0), None, None]);
        assert_eq!(few.done(), 1);
    }
}
