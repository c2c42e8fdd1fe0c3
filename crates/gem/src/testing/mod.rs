//! An application's own tests: one file of them in an engine of its own, which asks the server that
//! it is given and looks into the repository behind it. It finds no files, starts no server and
//! reports nothing: that is `sarsen test`.

mod engine;
pub(crate) mod modules;
mod natives;

pub use engine::TestFile;

use crate::thrown::Thrown;
use bytes::Bytes;
use repository::{Repository, Timestamp};
use std::sync::Arc;

/// What one test works on.
pub struct Stage {
    /// The repository behind the server.
    pub repository: Arc<Repository>,
    /// Sends a request to the server and waits for its reply.
    pub send: Box<dyn FnMut(Sent) -> Result<Received, String>>,
    /// The repository's time.
    pub now: Box<dyn Fn() -> Timestamp>,
    /// Moves it on by so many milliseconds, and waits until what was due by then has run.
    pub advance: Box<dyn FnMut(u64) -> Result<(), String>>,
}

/// A request as a test makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// As it goes over the wire.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// Empty if there is none.
    pub body: Vec<u8>,
}

/// What the server replied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// From 100 to 599.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// All of it.
    pub body: Bytes,
}

/// Why a test has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFailure {
    /// What was thrown, or what became of the test.
    pub message: String,
    /// Where in the application's files: `file:line:column`.
    pub place: Option<String>,
    /// What was expected and what was found, if these are worth comparing line by line.
    pub difference: Option<(String, String)>,
}

impl TestFailure {
    fn without_place(message: impl Into<String>) -> Self {
        Self { message: message.into(), place: None, difference: None }
    }
}

impl From<Thrown> for TestFailure {
    fn from(thrown: Thrown) -> Self {
        // An unmet expectation has no name of its own.
        let message = thrown.message.trim_start_matches(": ").to_owned();
        Self { message, place: thrown.place, difference: None }
    }
}
