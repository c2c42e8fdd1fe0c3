//! The memory of replies that wait for their readers. A large document that is being sent stays in
//! memory, whatever the repository would like to do with it, until the last byte is with the
//! operating system. So such replies are counted, and the slower readers go when there are too
//! many.

use crate::limits;
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the replies of one reactor share.
pub(crate) struct Replies {
    /// Atomic only because bytes have to be able to leave their thread; nobody else touches it.
    waiting_bytes: Arc<AtomicUsize>,
    max_bytes: usize,
}

/// There are as many replies in flight as may be.
#[derive(Debug)]
pub(crate) struct TooMany;

/// A body that is counted until the last reference to it is gone.
struct Counted {
    body: Bytes,
    waiting_bytes: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.waiting_bytes.fetch_sub(self.body.len(), Ordering::Relaxed);
    }
}

impl Replies {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { waiting_bytes: Arc::default(), max_bytes }
    }

    /// The same bytes, counted. A reply that must leave (its request has changed something) is
    /// counted past the bound, too.
    pub(crate) fn count(&self, body: Bytes, must_leave: bool) -> Result<Bytes, TooMany> {
        let waiting = self.waiting_bytes.load(Ordering::Relaxed);
        if !must_leave && waiting + body.len() > self.max_bytes {
            return Err(TooMany);
        }
        self.waiting_bytes.fetch_add(body.len(), Ordering::Relaxed);
        let waiting_bytes = Arc::clone(&self.waiting_bytes);
        Ok(Bytes::from_owner(Counted { body, waiting_bytes }))
    }

    /// Whether there are as many as may be.
    pub(crate) fn are_full(&self) -> bool {
        self.waiting_bytes.load(Ordering::Relaxed) >= self.max_bytes
    }

    /// What a client has to take of its replies in each stretch of the write timeout, in bytes.
    pub(crate) fn least_bytes(&self) -> usize {
        if self.waiting_bytes.load(Ordering::Relaxed) > self.max_bytes / 2 {
            limits::WRITE_CROWDED_BYTES_MIN
        } else {
            limits::WRITE_BYTES_MIN
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_count_until_they_are_gone() {
        let replies = Replies::new(100);
        let body = Bytes::from(vec![b'x'; 60]);
        let first = replies.count(body.clone(), false).unwrap();
        assert_eq!(first, body);
        let part = first.slice(1..2);
        assert!(replies.count(body.clone(), false).is_err());
        drop(first);
        assert!(replies.count(body.clone(), false).is_err(), "a part keeps all of it in memory");
        drop(part);
        assert!(replies.count(body, false).is_ok());
    }

    #[test]
    fn what_must_leave_does_and_makes_readers_hurry() {
        let replies = Replies::new(100);
        assert_eq!(replies.least_bytes(), limits::WRITE_BYTES_MIN);
        let kept: Vec<_> =
            (0..3).map(|_| replies.count(Bytes::from(vec![0; 60]), true).unwrap()).collect();
        assert_eq!(replies.least_bytes(), limits::WRITE_CROWDED_BYTES_MIN);
        drop(kept);
        assert_eq!(replies.least_bytes(), limits::WRITE_BYTES_MIN);
    }
}
