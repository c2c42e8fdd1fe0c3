//! Tasks: work that a handler starts with its commit and that runs after it, until it succeeds or
//! has failed for good; and crons, which are tasks that start themselves. `docs/tasks.md` says what
//! is promised, and why it holds.
//!
//! `record` is how one is kept, `ledger` the transactions on those that are kept, `scheduler` the
//! thread that hands them to the gems when they are due. What a run does is in `turn/task.rs`.

mod backoff;
mod cron;
mod ledger;
mod record;
mod scheduler;

pub(crate) use cron::Cron;
pub(crate) use ledger::{next_of, put_waiting};
pub(crate) use record::{Record, place_of};
pub(crate) use scheduler::{Due, GONE, Hand, Scheduler, ends_at};

pub use ledger::{Cancelled, Ledger, List, Listed, Retried, TaskError, TaskList, Was};
pub use scheduler::TaskFigures;

use repository::CollectionName;
use std::time::Duration;

/// The tasks that wait or run.
pub(crate) fn waiting() -> CollectionName {
    CollectionName::new("_tasks").expect("the name follows the rule")
}

/// The tasks that have failed for good.
pub(crate) fn dead() -> CollectionName {
    CollectionName::new("_dead_tasks").expect("the name follows the rule")
}

/// What an application says of its tasks of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) name: String,
    /// Runs that may fail; the last of them is the end.
    pub(crate) attempts: u32,
    /// The longest wait after the first failure.
    pub(crate) backoff: Duration,
    /// Longest time of one run, what it awaits included.
    pub(crate) timeout: Duration,
    /// For how long after it was due a task may start.
    pub(crate) expires: Option<Duration>,
    /// When it starts itself: the expression as it was written, and what it means.
    pub(crate) cron: Option<(String, Cron)>,
}

/// Whether a task may be called this.
pub(crate) fn is_name(name: &str) -> bool {
    let is_character =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=crate::limits::TASK_NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_character)
}

/// `time` and `duration` later.
pub(crate) fn later(time: u64, duration: Duration) -> u64 {
    time.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}
