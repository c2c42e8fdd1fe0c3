//! What can go wrong: one enum for loading an application, one for serving a request.

use crate::failed::Report;
use crate::thrown::Thrown;
use repository::CommitNumber;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;

/// Why an application did not load: one line, with file, line and column where they are known.
#[derive(Clone, Debug, Error)]
pub enum LoadError {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}{hint}", path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// What the operating system said.
        source: Arc<std::io::Error>,
        /// What to do, if that is known.
        hint: &'static str,
    },
    /// A file of `public/` cannot be served.
    #[error("{}: {why}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What was expected, what was found and what to do.
        why: String,
    },
    /// `sarsen.toml` is not as it must be.
    #[error("{place}: {why}")]
    Settings {
        /// `file:line:column`.
        place: String,
        /// What was expected and what was found.
        why: String,
    },
    /// A module does not parse, cannot be found, or threw while it was loading; or while it was
    /// loading a promise was rejected and nothing handled it.
    #[error("{place}: {why}")]
    Module {
        /// `file:line:column`, or the file alone.
        place: String,
        /// What was expected and what was found.
        why: String,
    },
    /// A worker could not be started.
    #[error("cannot start a worker: {0}")]
    Worker(String),
}

/// What went wrong with a request, for the log and for a developer's eyes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// One line; `file:line:column: message` where the application threw.
    pub message: String,
    /// That the request failed, and the message, may reveal what its view held. So a reply that
    /// tells of it may leave when `durable >= wait_for`, as any other; 0 reveals nothing.
    pub wait_for: CommitNumber,
    /// All that is known of it; there is one when a gem answers.
    pub report: Option<Box<Report>>,
}

impl Fault {
    /// One of which nothing is known but the message.
    pub fn new(message: impl Into<String>, wait_for: CommitNumber) -> Self {
        Self { message: message.into(), wait_for, report: None }
    }

    /// What the application threw.
    pub(crate) fn threw(thrown: Thrown, wait_for: CommitNumber) -> Self {
        let message = thrown.to_string();
        Self { message, wait_for, report: Some(Box::new(Report::of(thrown))) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Why a request has no reply of the application's making. Nothing was committed.
#[derive(Clone, Debug, Error)]
#[error("{fault}")]
pub struct Failure {
    /// In which way it failed.
    pub kind: FailureKind,
    /// What is known of it.
    pub fault: Fault,
}

/// In which way a request has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The handler threw, or its result cannot be a reply, or by a mistake of Sarsen's it could not
    /// be served: 500.
    Handler,
    /// The request used more CPU time than its limit, re-runs included: 500.
    CpuLimit,
    /// The worker's heap reached its limit: 500.
    HeapLimit,
    /// The handler went deeper than the stack: 500.
    StackLimit,
    /// The handler has read or written more documents than it may: 500.
    DocumentsLimit,
    /// The handler's reply is too large: 500.
    ReplyLimit,
    /// A unique index has a value already that the handler wrote: 409.
    Duplicate,
    /// A page of another site had a browser send it; the handler was not called: 403.
    CrossSite,
    /// The disk is behind, so the repository took no more commits, or too many passwords wait to be
    /// hashed: 503, and worth another try shortly, as when the queue is full.
    Busy,
    /// The disk is nearly full, so the repository took no write: 507, until there is room.
    NoSpace,
    /// The repository refused, being poisoned, closed or unreadable: 503, until somebody acts. That
    /// it could not be read is in the log already.
    Unavailable,
}

impl FailureKind {
    /// A failure in this way.
    pub fn with(self, fault: Fault) -> Failure {
        Failure { kind: self, fault }
    }

    /// HTTP status, and the kind of problem: the last part of its `type`.
    pub fn problem(self) -> (u16, &'static str) {
        match self {
            Self::Handler => (500, "handler-failed"),
            Self::CpuLimit => (500, "cpu-limit"),
            Self::HeapLimit => (500, "heap-limit"),
            Self::StackLimit => (500, "stack-limit"),
            Self::DocumentsLimit => (500, "documents-limit"),
            Self::ReplyLimit => (500, "reply-limit"),
            Self::Duplicate => (409, "duplicate"),
            Self::CrossSite => (403, "cross-site"),
            Self::Busy => (503, "busy"),
            Self::NoSpace => (507, "no-space"),
            Self::Unavailable => (503, "unavailable"),
        }
    }
}

impl Failure {
    /// All that is known of it, where it is the application's failure: not where the repository
    /// refused, which has nothing to do with this request.
    pub fn report(&self) -> Option<&Report> {
        self.fault.report.as_deref()
    }

    /// The commit a reply that tells of this failure waits for; see [`Fault::wait_for`].
    pub fn wait_for(&self) -> CommitNumber {
        self.fault.wait_for
    }

    /// The same, of a request whose reply waits for `wait_for`.
    pub fn at(mut self, wait_for: CommitNumber) -> Self {
        self.fault.wait_for = wait_for;
        self
    }

    /// As `report`, to be completed; made if there is none.
    pub(crate) fn report_mut(&mut self) -> Option<&mut Report> {
        use FailureKind::{Busy, CrossSite, Unavailable};
        if matches!(self.kind, CrossSite | Busy | Unavailable) {
            return None;
        }
        let Fault { message, report, .. } = &mut self.fault;
        Some(report.get_or_insert_with(|| {
            Box::new(Report { message: message.clone(), ..Report::default() })
        }))
    }
}
