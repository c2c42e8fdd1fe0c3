//! Which segments are kept although recovery does not need them, and for whom. How they are reused
//! and removed is in `supply`, how they are read in `follow`.

use crate::document::CommitNumber;
use crate::limits::RETAIN_BYTES;
use crate::tranlog::supply::UsedSegment;
use std::collections::vec_deque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Segments, oldest first.
type Range<'a> = vec_deque::Iter<'a, UsedSegment>;

/// How much of the log is kept for those who read it.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Bytes of segments that are kept at least, beyond what recovery needs; 0: none.
    pub bytes: u64,
    /// What is held from the first moment on: the opening makes segments, and would otherwise use
    /// some that whoever is to hold them has not asked for yet. The first hold takes its place.
    pub hold: Option<Hold>,
}

impl Default for Retention {
    fn default() -> Self {
        Self { bytes: RETAIN_BYTES, hold: None }
    }
}

/// What is not to be let go of, and how far that may go.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    /// Records after this commit are kept.
    pub after: CommitNumber,
    /// When segments of more bytes than these would be kept for it, the hold is broken.
    pub bytes_max: u64,
}

/// How many bytes may be kept of blobs that only the log names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlobRoom {
    /// For those who read the log and hold nothing of it.
    pub read: u64,
    /// For those who hold it.
    pub held: u64,
}

/// A hold that somebody has.
#[derive(Debug)]
pub(crate) struct Held {
    after: AtomicU64,
    bytes_max: u64,
    is_broken: AtomicBool,
}

impl Held {
    pub(super) fn new(hold: Hold) -> Arc<Self> {
        let Hold { after, bytes_max } = hold;
        Arc::new(Self { after: AtomicU64::new(after.0), bytes_max, is_broken: false.into() })
    }

    /// Moves on to `after`; never back.
    pub(super) fn advance(&self, after: CommitNumber) {
        self.after.fetch_max(after.0, Ordering::Relaxed);
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Relaxed)
    }

    fn after(&self) -> CommitNumber {
        CommitNumber(self.after.load(Ordering::Relaxed))
    }

    fn holds(&self, segment: &UsedSegment) -> bool {
        segment.last > self.after() && !self.is_broken()
    }
}

/// What is kept, and for whom.
#[derive(Debug)]
pub(super) struct Keeping {
    bytes: u64,
    holds: Vec<Arc<Held>>,
    /// The one of the opening, until there is another.
    first: Option<Arc<Held>>,
}

impl Keeping {
    pub(super) fn new(retention: Retention) -> Self {
        let first = retention.hold.map(Held::new);
        let holds = first.iter().cloned().collect();
        Self { bytes: retention.bytes, holds, first }
    }

    pub(super) fn hold(&mut self, hold: Hold) -> Arc<Held> {
        let held = Held::new(hold);
        self.holds.push(Arc::clone(&held));
        if let Some(first) = self.first.take() {
            self.release(&first);
        }
        held
    }

    pub(super) fn release(&mut self, held: &Arc<Held>) {
        self.holds.retain(|other| !Arc::ptr_eq(other, held));
    }

    /// How many of the segments that recovery does not need, oldest first, may go. Of those up to
    /// `lost` nobody can read anything; while room `is_tight`, only what is held is kept.
    pub(super) fn releasable(
        &self,
        unneeded: Range<'_>,
        lost: CommitNumber,
        is_tight: bool,
    ) -> usize {
        let bytes = if is_tight { 0 } else { self.bytes };
        let mut kept: u64 = unneeded.clone().map(|segment| segment.bytes).sum();
        let may_go = |segment: &&UsedSegment| {
            let is_kept = kept <= bytes || self.holds.iter().any(|held| held.holds(segment));
            kept -= segment.bytes;
            segment.last <= lost || !is_kept
        };
        unneeded.take_while(may_go).count()
    }

    /// How many bytes of blobs may be kept that lost their last names with the commit `taken`: for
    /// whoever reads the log from `lost` on, and for those that hold it.
    pub(super) fn blob_room(
        &self,
        taken: CommitNumber,
        (lost, is_tight): (CommitNumber, bool),
    ) -> BlobRoom {
        let is_read = taken > lost && !is_tight;
        let holds = |held: &&Arc<Held>| taken > held.after() && !held.is_broken();
        let held = self.holds.iter().filter(holds).map(|held| held.bytes_max).max();
        BlobRoom { read: if is_read { self.bytes } else { 0 }, held: held.unwrap_or_default() }
    }

    /// Breaks the holds for which too much of what recovery does not need is kept.
    pub(super) fn break_holds<'a>(&self, unneeded: impl Fn() -> Range<'a>) {
        for held in self.holds.iter().filter(|held| !held.is_broken()) {
            let kept = unneeded().filter(|segment| held.holds(segment));
            let bytes: u64 = kept.map(|segment| segment.bytes).sum();
            if bytes > held.bytes_max {
                held.is_broken.store(true, Ordering::Relaxed);
                log::error!(
                    "the log was held after commit {} for somebody who has not come further, and \
                     {} MiB are more than the {} MiB that may be held: it is let go of",
                    held.after(),
                    bytes >> 20,
                    held.bytes_max >> 20
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    fn used(lasts: &[u64]) -> VecDeque<UsedSegment> {
        let segment = |(i, last): (usize, &u64)| UsedSegment {
            sequence: i as u64 + 1,
            last: CommitNumber(*last),
            bytes: 10,
        };
        lasts.iter().enumerate().map(segment).collect()
    }

    fn keeping(bytes: u64) -> Keeping {
        Keeping::new(Retention { bytes, hold: None })
    }

    #[test]
    fn at_least_so_many_bytes_are_kept() {
        let used = used(&[5, 9, 12, 20]);
        let releasable =
            |bytes, is_tight| keeping(bytes).releasable(used.range(..3), CommitNumber(0), is_tight);
        let kept = [0, 9, 10, 19, 20, 29, 30, 99].map(|bytes| releasable(bytes, false));
        assert_eq!(kept, [3, 3, 2, 2, 1, 1, 0, 0]);
        assert_eq!(releasable(30, true), 3);
    }

    #[test]
    fn what_lies_before_a_gap_goes() {
        let used = used(&[5, 9, 12, 20]);
        assert_eq!(keeping(99).releasable(used.iter(), CommitNumber(9), false), 2);
    }

    #[test]
    fn a_hold_keeps_what_it_names_until_it_is_too_much() {
        let used = used(&[5, 9, 12, 20]);
        let mut keeping = keeping(0);
        let held = keeping.hold(Hold { after: CommitNumber(7), bytes_max: 20 });
        let releasable = |keeping: &Keeping, unneeded| {
            keeping.releasable(used.range(..unneeded), CommitNumber(0), true)
        };
        keeping.break_holds(|| used.range(..3));
        assert_eq!((releasable(&keeping, 3), held.is_broken()), (1, false));
        held.advance(CommitNumber(9));
        held.advance(CommitNumber(3));
        assert_eq!(releasable(&keeping, 3), 2, "it does not go back");
        keeping.break_holds(|| used.range(..4));
        assert_eq!((releasable(&keeping, 4), held.is_broken()), (2, false));
        let late = keeping.hold(Hold { after: CommitNumber(0), bytes_max: 39 });
        keeping.break_holds(|| used.range(..4));
        assert_eq!((late.is_broken(), held.is_broken()), (true, false));
        keeping.release(&held);
        assert_eq!(releasable(&keeping, 4), 4);
    }

    #[test]
    fn blobs_have_the_room_that_the_log_has() {
        let mut keeping = keeping(30);
        let of = |keeping: &Keeping, taken, is_tight| {
            let BlobRoom { read, held } =
                keeping.blob_room(CommitNumber(taken), (CommitNumber(5), is_tight));
            (read, held)
        };
        assert_eq!([5, 6].map(|taken| of(&keeping, taken, false)), [(0, 0), (30, 0)]);
        assert_eq!(of(&keeping, 6, true), (0, 0));
        let held = keeping.hold(Hold { after: CommitNumber(7), bytes_max: 99 });
        assert_eq!([7, 8].map(|taken| of(&keeping, taken, true)), [(0, 0), (0, 99)]);
        held.is_broken.store(true, Ordering::Relaxed);
        assert_eq!(of(&keeping, 8, true), (0, 0));
    }

    #[test]
    fn the_first_hold_takes_the_place_of_the_openings() {
        let used = used(&[5, 9]);
        let hold = Hold { after: CommitNumber(0), bytes_max: 99 };
        let mut keeping = Keeping::new(Retention { bytes: 0, hold: Some(hold) });
        assert_eq!(keeping.releasable(used.iter(), CommitNumber(0), false), 0);
        let held = keeping.hold(Hold { after: CommitNumber(5), bytes_max: 99 });
        assert_eq!(keeping.releasable(used.iter(), CommitNumber(0), false), 1);
        keeping.release(&held);
        assert_eq!(keeping.releasable(used.iter(), CommitNumber(0), false), 2);
    }
}
