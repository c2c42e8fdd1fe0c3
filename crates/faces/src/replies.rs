//! The memory of replies that wait for their readers. A large document that is being sent stays in
//! memory, whatever the repository would like to do with it, until the last byte is with the
//! operating system. So such replies are counted, and the slower readers go when there are too
//! many.
//!
//! What is made in pieces is counted before it is there: a reply has a little room from when it is
//! admitted, and each piece gets its room before it is read. A reply that has begun waits for that
//! room; what holds it is with clients, who take it or are given up.
//!
//! The reply to a change has to leave once the change was made. It is counted past the bound, and
//! where there is too much of that, nothing more is changed.

use crate::limits;
use crate::problem::{Kind, Problem};
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

/// What the replies of one reactor share.
pub(crate) struct Replies {
    waiting: Arc<Waiting>,
    max_bytes: usize,
}

/// What waits for its readers. Atomic only because bytes have to be able to leave their thread;
/// nobody else touches it.
#[derive(Default)]
struct Waiting {
    bytes: AtomicUsize,
    /// Told when there is less of it.
    freed: Notify,
}

/// There are as many replies in flight as may be.
#[derive(Debug)]
pub(crate) struct TooMany;

impl From<TooMany> for Problem {
    fn from(_: TooMany) -> Self {
        let detail = "too many replies wait for clients that take them slowly; try again";
        Self::new(Kind::Busy, detail)
    }
}

/// A part of the room; given back when dropped.
pub(crate) struct Held {
    bytes: usize,
    waiting: Arc<Waiting>,
}

/// A body that is counted until the last reference to it is gone.
struct Counted {
    body: Bytes,
    _held: Held,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.waiting.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        self.waiting.freed.notify_one();
    }
}

impl Held {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives back what is not needed of it.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let back = self.bytes.saturating_sub(bytes);
        self.bytes -= back;
        self.waiting.bytes.fetch_sub(back, Ordering::Relaxed);
        self.waiting.freed.notify_one();
    }

    /// The body, for which it is the room.
    pub(crate) fn of(self, body: Bytes) -> Bytes {
        Bytes::from_owner(Counted { body, _held: self })
    }
}

impl Replies {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { waiting: Arc::default(), max_bytes }
    }

    /// The same bytes, counted. A reply that must leave (its request has changed something) is
    /// counted past the bound, too.
    pub(crate) fn count(&self, body: Bytes, must_leave: bool) -> Result<Bytes, TooMany> {
        if !must_leave && self.waiting_bytes() + body.len() > self.max_bytes {
            return Err(TooMany);
        }
        Ok(self.hold(body.len()).of(body))
    }

    /// Admits a reply that comes in pieces, if there is room for it and for a first small piece.
    pub(crate) fn admit(&self, bytes: usize) -> Result<Held, TooMany> {
        let needed = bytes + limits::REPLY_PIECE_BYTES_MIN;
        if self.waiting_bytes() + needed > self.max_bytes {
            return Err(TooMany);
        }
        Ok(self.hold(bytes))
    }

    /// Whether something may be done whose reply must leave afterwards: such replies have as much
    /// room again.
    pub(crate) fn check_change(&self) -> Result<(), TooMany> {
        if self.waiting_bytes() >= self.max_bytes.saturating_mul(2) { Err(TooMany) } else { Ok(()) }
    }

    /// Room for a piece of a reply that was admitted; waits until there is some.
    pub(crate) async fn room(&self, bytes: usize) -> Held {
        loop {
            let freed = self.waiting.freed.notified();
            let waiting = self.waiting_bytes();
            // A piece that is larger than all the room goes alone.
            if waiting == 0 || waiting + bytes <= self.max_bytes {
                let held = self.hold(bytes);
                // There may be enough for another that waits.
                self.waiting.freed.notify_one();
                return held;
            }
            freed.await;
        }
    }

    fn hold(&self, bytes: usize) -> Held {
        self.waiting.bytes.fetch_add(bytes, Ordering::Relaxed);
        Held { bytes, waiting: Arc::clone(&self.waiting) }
    }

    /// What is held, in bytes.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.waiting.bytes.load(Ordering::Relaxed)
    }

    /// Whether more than half of the room is taken: who is slow has to leave sooner, and what is
    /// made in pieces has smaller ones.
    pub(crate) fn are_crowded(&self) -> bool {
        self.waiting_bytes() > self.max_bytes / 2
    }

    /// What a client has to take of its replies in each stretch of the write timeout, in bytes.
    pub(crate) fn least_bytes(&self) -> usize {
        if self.are_crowded() { limits::WRITE_CROWDED_BYTES_MIN } else { limits::WRITE_BYTES_MIN }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

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
        assert!(replies.check_change().is_ok());
        let kept: Vec<_> =
            (0..4).map(|_| replies.count(Bytes::from(vec![0; 60]), true).unwrap()).collect();
        assert_eq!(replies.least_bytes(), limits::WRITE_CROWDED_BYTES_MIN);
        assert!(replies.check_change().is_err(), "not even more changes");
        drop(kept);
        assert_eq!(replies.least_bytes(), limits::WRITE_BYTES_MIN);
    }

    #[test]
    fn a_piece_waits_for_room_and_its_unused_part_is_given_back() {
        let replies = Replies::new(limits::REPLY_PIECE_BYTES_MIN + 100);
        let admitted = replies.admit(60).unwrap();
        assert!(replies.admit(60).is_err(), "no room for another's first piece");
        let mut cx = Context::from_waker(Waker::noop());
        let mut first = pin!(replies.room(limits::REPLY_PIECE_BYTES_MIN));
        let Poll::Ready(mut first) = first.as_mut().poll(&mut cx) else { panic!("there is room") };
        let mut second = pin!(replies.room(100));
        assert!(second.as_mut().poll(&mut cx).is_pending());
        first.shrink(40);
        let Poll::Ready(second) = second.as_mut().poll(&mut cx) else { panic!("it was made") };
        let sent = first.of(Bytes::from_static(b"piece"));
        assert_eq!(replies.waiting_bytes(), 200);
        drop((sent, second, admitted));
        assert_eq!(replies.waiting_bytes(), 0);
        let mut alone = pin!(replies.room(usize::MAX / 2));
        assert!(alone.as_mut().poll(&mut cx).is_ready(), "larger than all the room");
    }
}
