//! Waiting for a value of the cache that another request computes.

use super::{Answer, Value};
use crate::cached::Cached;
use std::sync::Arc;

/// Waits until nobody computes the value of a key, for a bounded time.
#[derive(Clone)]
pub(crate) struct Fill {
    cached: Arc<Cached>,
    key: String,
}

impl PartialEq for Fill {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Fill {}

impl Fill {
    pub(super) fn new(cached: Arc<Cached>, key: &str) -> Self {
        Self { cached, key: key.to_owned() }
    }

    /// Whether it came to that.
    pub(super) fn perform(&self) -> Answer {
        Ok(Value::Truth(self.cached.wait_filled(&self.key)))
    }
}
