//! The CPU time that one request, or the loading of an application, may use.
//!
//! It is the thread's CPU time, not time on the wall: a request is not blamed for a busy machine.

use crate::limits::WORK_PER_LOOK;
use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::time::Duration;

/// A budget for the thread that made it. The engine asks `is_spent` while it executes code.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    limit: Cell<Duration>,
    end: Cell<Duration>,
    spent: Cell<bool>,
    /// Work of native functions since the clock was looked at, in bytes.
    work: Cell<usize>,
}

impl Budget {
    /// Starts anew with `limit` from now.
    pub(crate) fn start(&self, limit: Duration) {
        self.resume(limit, Duration::ZERO);
    }

    /// Starts with what is left of `limit` when `used` is taken off.
    /// Gives the thread's CPU time.
    pub(crate) fn resume(&self, limit: Duration, used: Duration) -> Duration {
        let now = thread_cpu_time();
        self.limit.set(limit);
        self.end.set(now.saturating_add(limit.saturating_sub(used)));
        self.spent.set(false);
        now
    }

    /// What was used of the limit, or beyond it.
    pub(crate) fn used(&self) -> Duration {
        (thread_cpu_time() + self.limit.get()).saturating_sub(self.end.get())
    }

    /// Whether the limit was reached. Once true it stays so until `start`.
    pub(crate) fn is_spent(&self) -> bool {
        if !self.spent.get() && thread_cpu_time() >= self.end.get() {
            self.spent.set(true);
        }
        self.spent.get()
    }

    /// Counts work that the engine does not count, by the bytes that it looks at. Whether the limit
    /// was reached; there is none before the first `start`.
    pub(crate) fn charge(&self, bytes: usize) -> bool {
        let work = self.work.get().saturating_add(bytes);
        if work < WORK_PER_LOOK {
            self.work.set(work);
            return self.spent.get();
        }
        self.work.set(0);
        self.is_limited() && self.is_spent()
    }

    /// Whether there is a limit: not before the first `start`.
    pub(crate) fn is_limited(&self) -> bool {
        !self.limit.get().is_zero()
    }

    /// Whether a call of `is_spent` said so since `start`: then code was stopped half way.
    pub(crate) fn has_stopped(&self) -> bool {
        self.spent.get()
    }

    /// For a message.
    pub(crate) fn limit_ms(&self) -> u128 {
        self.limit.get().as_millis()
    }
}

fn thread_cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    // The kernel gives neither negative seconds nor more than a billion nanoseconds here.
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_spent_by_use_of_the_processor_and_stays_spent() {
        let budget = Budget::default();
        budget.start(Duration::from_millis(5));
        while !budget.is_spent() {}
        assert!(budget.has_stopped());
        assert!(budget.used() >= Duration::from_millis(5));
        budget.start(Duration::from_secs(3600));
        assert!(!budget.has_stopped());
        assert!(!budget.is_spent());
        budget.resume(Duration::from_secs(3600), Duration::from_secs(3599));
        assert!(!budget.is_spent() && budget.used() >= Duration::from_secs(3599));
        budget.resume(
            Duration::from_secs(3600),
            budget.used().saturating_add(Duration::from_secs(1)),
        );
        assert!(budget.is_spent());
    }

    #[test]
    fn native_work_looks_at_the_clock_when_it_adds_up() {
        let budget = Budget::default();
        assert!(!budget.charge(WORK_PER_LOOK), "there is no limit");
        budget.start(Duration::from_nanos(1));
        assert!(!budget.charge(WORK_PER_LOOK - 1) && !budget.has_stopped());
        assert!(budget.charge(1) && budget.has_stopped());
        assert!(budget.charge(0), "it stays so");
    }
}
