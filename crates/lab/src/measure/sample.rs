//! Replies that were not what they had to be: the first ones of a run, whole but for a bound, so
//! that somebody can see what the server said.

use crate::limits::SAMPLE_BYTES_MAX;
use crate::transport::{Kept, Reply};

/// A reply with which an operation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Which of the plan's operations.
    pub operation: usize,
    /// What was expected and what came.
    pub reason: String,
    /// The reply's status.
    pub status: u16,
    /// Lines `name: value`, each with CR and LF at its end.
    pub fields: Vec<u8>,
    /// The body, up to the bound.
    pub body: Vec<u8>,
    /// How long it was.
    pub body_bytes: u64,
}

impl Sample {
    pub(crate) fn new(operation: usize, reason: String, reply: &Reply, kept: &Kept) -> Self {
        let kept_bytes = kept.body.len().min(SAMPLE_BYTES_MAX);
        Self {
            operation,
            reason,
            status: reply.status,
            fields: kept.fields.clone(),
            body: kept.body[..kept_bytes].to_vec(),
            body_bytes: reply.body_bytes,
        }
    }
}
