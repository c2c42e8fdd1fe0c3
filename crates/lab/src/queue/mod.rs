//! The queue: runs that wait for each other in a folder, carried out one at a time by a runner,
//! which is a process of its own (`docs/archive.md`). Everything that matters is in files, so
//! runner and machine may die at any time. It knows the program that carries out a run by its
//! arguments and exit code only.

mod error;
mod job;
mod place;
mod runner;

pub use error::QueueError;
pub use job::{Job, JobState, Submission};
pub use place::Queue;
pub use runner::{Program, Runner};

use crate::archive::utc;
use std::path::PathBuf;
use std::time::SystemTime;

/// A point in time in UTC, as `2026-11-22T10:15Z`.
pub fn parse_utc(text: &str) -> Option<SystemTime> {
    utc::parse(text)
}

/// The folder of the queue where nothing else is said: `SARSEN_QUEUE`, or `queue` here.
pub fn folder() -> PathBuf {
    let said = std::env::var_os("SARSEN_QUEUE").filter(|folder| !folder.is_empty());
    said.unwrap_or("queue".into()).into()
}
