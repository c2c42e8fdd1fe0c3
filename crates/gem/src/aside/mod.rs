//! Asides: what a handler awaits that is not of its transaction, such as the hash of a password.
//! A gem does not wait for one: the run ends without a commit, a thread of `crew` performs the
//! aside, and the handler runs again with the answer at hand (docs/asides.md). Here is what there
//! is to be performed; `notes` is what one request has asked for, `executor` who sees to it.

mod crew;
mod executor;
pub(crate) mod fetch;
mod fill;
mod notes;
pub(crate) mod password;

pub(crate) use crew::{Bounds, Crew};
pub(crate) use executor::{Back, Executor, Waiting};
pub(crate) use notes::{Notes, TooMany};

use crate::cached::Cached;
use fetch::{Fetch, Fetched};
use fill::Fill;
use password::{Hashing, Verification};
use std::sync::Arc;

/// One thing to perform. Equal asides are the same call of the application.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Aside {
    /// Gives the PHC string of a password.
    Hash(Hashing),
    /// Gives whether a password is the one that was hashed.
    Verify(Verification),
    /// Asks another server.
    Fetch(Fetch),
    /// Waits for a value of the cache; gives whether it was computed meanwhile.
    Fill(Fill),
}

/// What an aside gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    Truth(bool),
    Fetched(Fetched),
}

/// What an aside came to; the application gets an error as a rejected promise.
pub(crate) type Answer = Result<Value, String>;

/// What an answer holds while it is noted, in bytes.
fn answer_bytes(answer: &Answer) -> usize {
    match answer {
        Ok(Value::Fetched(fetched)) => fetched.body.len(),
        Ok(Value::Text(_) | Value::Truth(_)) | Err(_) => 0,
    }
}

impl Aside {
    /// Waits until nobody computes the value of a key.
    pub(crate) fn fill(cached: Arc<Cached>, key: &str) -> Self {
        Self::Fill(Fill::new(cached, key))
    }

    /// What it holds while it is noted, in bytes.
    fn bytes(&self) -> usize {
        match self {
            Self::Hash(_) | Self::Verify(_) | Self::Fill(_) => 0,
            Self::Fetch(fetch) => fetch.body.len(),
        }
    }

    /// Performs it on the calling thread, which may take long.
    fn perform(&self) -> Answer {
        match self {
            Self::Hash(hashing) => hashing.perform().map(Value::Text),
            Self::Verify(verification) => verification.perform().map(Value::Truth),
            Self::Fetch(fetch) => fetch.perform().map(Value::Fetched),
            Self::Fill(fill) => fill.perform(),
        }
    }
}
