//! Whose turn it is where requests and tasks both wait: tasks get a quarter of the gems' time. What
//! they take beyond it, because nobody else waited, they need not give back.

use std::time::Duration;

/// Time that requests get for each unit that tasks have taken.
const REQUESTS_TO_TASKS: u32 = 3;

/// The balance of the two.
#[derive(Debug, Default)]
pub(crate) struct Share {
    /// Time that requests are to be served before another task may start while some wait.
    owed: Duration,
}

impl Share {
    /// Whether requests are owed time.
    pub(crate) fn is_owed(&self) -> bool {
        !self.owed.is_zero()
    }

    /// A gem has worked on a task.
    pub(crate) fn task_took(&mut self, time: Duration) {
        self.owed = self.owed.saturating_add(time.saturating_mul(REQUESTS_TO_TASKS));
    }

    /// A gem has served a request.
    pub(crate) fn request_took(&mut self, time: Duration) {
        self.owed = self.owed.saturating_sub(time);
    }

    /// No request waits.
    pub(crate) fn forgive(&mut self) {
        self.owed = Duration::ZERO;
    }
}

/// As many gems as may work on tasks at once: half of them, so that with two or more a request
/// never waits for a task to end.
pub(crate) fn gems_for_tasks(gems: usize) -> usize {
    (gems / 2).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_get_a_quarter_while_requests_wait() {
        let mut share = Share::default();
        let (mut requests, mut tasks) = (0, 0);
        for _ in 0..1_000 {
            // Requests take 2 ms each, tasks 10 ms.
            if share.is_owed() {
                requests += 2;
                share.request_took(Duration::from_millis(2));
            } else {
                tasks += 10;
                share.task_took(Duration::from_millis(10));
            }
        }
        assert!(u32::abs_diff(tasks * 3, requests) <= 30, "{tasks} ms and {requests} ms");
        share.forgive();
        assert!(!share.is_owed());
        assert_eq!([1, 2, 3, 4, 9].map(gems_for_tasks), [1, 1, 1, 2, 4]);
    }
}
