//! Why something cannot be done with the queue.

use crate::limits::QUEUE_JOBS_MAX;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why something cannot be done with the queue.
#[derive(Debug, Error)]
pub enum QueueError {
    /// A file or folder cannot be read or written.
    #[error("the queue: {}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// There is no such job.
    #[error("there is no job {id} in {}; `sarsen status` lists all", folder.display())]
    Unknown {
        /// What was asked for.
        id: String,
        /// The queue's folder.
        folder: PathBuf,
    },
    /// Several jobs begin so.
    #[error("{prefix} is the begin of several jobs: {}; give more of the id", .ids.join(", "))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// What it may mean.
        ids: Vec<String>,
    },
    /// Another runner has the queue.
    #[error("another runner works on the queue {}; one at a time does", .0.display())]
    Taken(PathBuf),
    /// The queue is full.
    #[error("{QUEUE_JOBS_MAX} jobs wait already; wait for some, or cancel some")]
    Full,
    /// The job is over.
    #[error("the job {id} is over: {state}")]
    Over {
        /// Which.
        id: String,
        /// What became of it.
        state: &'static str,
    },
    /// A file that cannot be copied to where the scenario looks for it.
    #[error(
        "{} is not in the scenario's folder or below it, so it cannot be copied with it; \
         move it there", .0.display()
    )]
    Outside(PathBuf),
}

/// For `map_err`.
pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> QueueError {
    let path = path.to_owned();
    move |source| QueueError::File { path, source }
}
