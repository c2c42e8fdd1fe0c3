//! What is said to an import and by it: how it is to be done, what came of it, and why it ended.

use super::line::LineError;
use super::plain::Plain;
use crate::document::CommitNumber;
use std::io;
use thiserror::Error;

/// What becomes of a line whose document is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExistingDocuments {
    /// It is a line that cannot be imported.
    #[default]
    Fail,
    /// What is there stays.
    Skip,
    /// What is there is replaced.
    Replace,
}

/// Which times documents have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeptTimes {
    /// Those of the line.
    #[default]
    Keep,
    /// That of the commit that imports them. They still expire when the line says.
    New,
}

/// How to import.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// See there.
    pub existing: ExistingDocuments,
    /// See there.
    pub times: KeptTimes,
    /// Lines that cannot be imported are told and passed over.
    pub keep_going: bool,
    /// Documents of Sarsen's own collections as well.
    pub system: bool,
    /// From the first line on, wherever an earlier import of the same came to.
    pub restart: bool,
    /// The input is no export but lines of JSON.
    pub plain: Option<Plain>,
}

/// What was imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Lines that were read, those of an earlier run included.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Documents that were written, by an earlier run or this.
    pub documents: u64,
    /// Documents that were there already and stayed.
    pub skipped: u64,
    /// Documents that had expired.
    pub expired: u64,
    /// Lines that could not be imported.
    pub bad: u64,
    /// Collections that were made or found as they are to be.
    pub collections: u64,
    /// The line behind which this run began, if that is not the first.
    pub resumed_after: Option<u64>,
    /// All of it had been imported before, and nothing was done.
    pub was_done: bool,
    /// All of it is durable, and visible at this commit.
    pub commit: CommitNumber,
}

/// What is told meanwhile.
#[derive(Debug)]
pub enum Event<'a> {
    /// How far it has come.
    Progress(&'a Imported),
    /// A line that cannot be imported and is passed over.
    BadLine {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        error: &'a LineError,
    },
}

/// Why an import ended early. What was imported until then stays, and the next run of the same goes
/// on from there.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The input cannot be read.
    #[error("the input cannot be read: {0}")]
    Read(#[from] io::Error),
    /// A line cannot be imported.
    #[error("line {line}{}: {why}", column.map(|c| format!(", column {c}")).unwrap_or_default())]
    Line {
        /// Its number, from 1.
        line: u64,
        /// The byte of the line, from 1, if it can be said.
        column: Option<u32>,
        /// What was expected and what came.
        why: String,
    },
    /// The input is neither an export nor said to be something else.
    #[error(
        "expected the first line of an export, {{\"sarsen\":\"export\",...}}, got {0}; for JSON \
         Lines say --collection NAME and --key POINTER"
    )]
    NoExport(String),
    /// It is an export and said to be something else.
    #[error("this is an export, which says itself what goes where: leave out --collection, --key")]
    IsExport,
    /// There is no last line.
    #[error(
        "the export was cut off: it ends after line {lines} without its last line, \
         {{\"end\":\"export\",...}}"
    )]
    Cut {
        /// Whole lines that there are.
        lines: u64,
    },
    /// What came is not what was written.
    #[error(
        "the lines are not those that were exported: their checksum is {got:08x}, the last line \
         says {expected:08x}"
    )]
    Checksum {
        /// What the last line says.
        expected: u32,
        /// What it is.
        got: u32,
    },
    /// There are more or fewer lines than were written.
    #[error("there are {got} lines between the first and the last, which says {expected}")]
    Count {
        /// What the last line says.
        expected: u64,
        /// How many there are.
        got: u64,
    },
    /// Another input was begun with the same first line.
    #[error(
        "an import that began with the same line came to line {lines}, and the lines until there \
         were others; --restart imports this one from its first line on"
    )]
    Different {
        /// How far that one came.
        lines: u64,
    },
    /// The repository does not take it.
    #[error("the repository refused: {0}")]
    Repository(String),
}
