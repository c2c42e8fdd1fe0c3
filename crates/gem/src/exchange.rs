//! What faces and gems hand each other: a request, and the reply with the commit it waits for.

use crate::errors::Failure;
use crate::worker::panic_text;
use bytes::Bytes;
use repository::{CommitNumber, PinnedBlob};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A request for the application.
#[derive(Clone, Debug)]
pub struct Request {
    /// "GET", ...
    pub method: String,
    /// The path as it came, percent-encoded, without the query.
    pub path: String,
    /// The query without "?"; empty if there is none.
    pub query: String,
    /// Header fields, names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Bytes,
}

impl Request {
    /// The values of the header fields called `name`, which is in lower case.
    pub(crate) fn header<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
    }
}

/// The application's reply. It may leave when `durable >= wait_for`.
///
/// The reply to HEAD is that of GET, body included; the face sends only its head.
#[derive(Clone, Debug)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Header fields, names in lower case. Never one that frames the message (Content-Length, ...).
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
    /// What is sent in the place of `body`: a document's content, too large for memory.
    pub blob: Option<PinnedBlob>,
    /// See above: the newest commit that the reply may reveal.
    pub wait_for: CommitNumber,
}

/// Called once, on a thread of the pool, with the outcome; must not block.
pub type Respond = Box<dyn FnOnce(Result<Reply, Failure>) + Send>;

/// Calls `respond`. The face's function is not ours; its panic must not cost a thread.
pub(crate) fn hand_over(respond: Respond, outcome: Result<Reply, Failure>) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| respond(outcome))) {
        log::error!("a reply could not be handed over: {}", panic_text(&*panic));
    }
}
