//! Why something cannot be done with the archive.

use crate::limits::{RUN_NOTE_BYTES_MAX, RUN_TAG_BYTES_MAX, RUN_TAGS_MAX};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why something cannot be done with the archive.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// A file or folder cannot be written.
    #[error("the archive: cannot write {}: {source}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file or folder cannot be read.
    #[error("the archive: cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The disk is too full for the run to begin.
    #[error(
        "the archive: {} has {} MiB free; this run may need {}; free some space, or use another \
         folder (--runs DIR)",
        folder.display(), free_bytes >> 20, mebibytes(*needed_bytes)
    )]
    Full {
        /// The folder of runs.
        folder: PathBuf,
        /// What is free.
        free_bytes: u64,
        /// What is to be free.
        needed_bytes: u64,
    },
    /// There is a run of this id already.
    #[error("the archive: there is a run {0} already")]
    Taken(String),
    /// There is no such run.
    #[error("there is no run {id} in {}; `sarsen runs list` lists all", folder.display())]
    Unknown {
        /// What was asked for.
        id: String,
        /// The folder of runs.
        folder: PathBuf,
    },
    /// Several runs begin so.
    #[error("{prefix} is the begin of several runs: {}; give more of the id", .ids.join(", "))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// What it may mean.
        ids: Vec<String>,
    },
    /// The run goes on.
    #[error("the run {0} goes on; wait until it is over")]
    Running(String),
    /// A tag that cannot be one.
    #[error(
        "a tag is up to {RUN_TAG_BYTES_MAX} letters, digits, `.`, `_`, `:`, `=` or `-`; got \"{0}\""
    )]
    Tag(String),
    /// More tags than a run may have.
    #[error("a run has at most {RUN_TAGS_MAX} tags; remove some")]
    Tags,
    /// A note that is too long.
    #[error("a note has at most {RUN_NOTE_BYTES_MAX} bytes; got {0}")]
    Note(usize),
}

/// Rounded up.
fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

/// For `map_err`, where something is written.
pub(super) fn writing(path: &Path) -> impl FnOnce(io::Error) -> ArchiveError {
    let path = path.to_owned();
    move |source| ArchiveError::Write { path, source }
}

/// For `map_err`, where something is read.
pub(super) fn reading(path: &Path) -> impl FnOnce(io::Error) -> ArchiveError {
    let path = path.to_owned();
    move |source| ArchiveError::Read { path, source }
}
