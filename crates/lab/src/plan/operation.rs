//! What a user does: operations, each of some steps that belong together and are timed as one.

use super::pacing::{Distribution, Pacing};
use super::template::Template;

/// A unit of load, with a name in the report.
#[derive(Clone, Debug)]
pub struct Operation {
    /// In reports.
    pub name: String,
    /// One after the other. The operation lasts from the first byte sent to the last received; a
    /// step that fails ends it.
    pub steps: Vec<Step>,
    /// The user's pause after it, or until the next.
    pub pacing: Pacing,
}

/// A part of an operation.
#[derive(Clone, Debug)]
pub enum Step {
    /// A request and its reply, which is a success if its status is 2xx or 3xx.
    Http(Box<HttpStep>),
    /// A pause inside the operation; its time counts.
    Pause(Distribution),
}

/// An HTTP request.
#[derive(Clone, Debug)]
pub struct HttpStep {
    /// Which of the plan's servers.
    pub origin: usize,
    /// "GET", ... Case matters.
    pub method: String,
    /// Path and query.
    pub path: Template,
    /// Fields besides `Host`, which may be among them and then replaces the server's.
    pub headers: Vec<(String, Template)>,
    /// The body; empty: none. Its length is stated all the same where the method expects one.
    pub body: Template,
}
