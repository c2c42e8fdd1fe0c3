//! Blobs that no document names any more and that stay for a while, since commits in the log may
//! name them: who copies the log copies them, too. `docs/blobs.md`, "What the log names".

use super::BlobHash;
use crate::document::{CommitNumber, Timestamp};
use crate::limits::{BLOB_KEPT_MS, BLOBS_KEPT_MAX};
use crate::tranlog::BlobRoom;
use std::collections::{BTreeMap, BTreeSet};

/// A blob that is kept for the log alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeptBlob {
    /// The commit that took its last name.
    pub taken: CommitNumber,
    length: u64,
    /// Since when it is kept.
    since: Timestamp,
}

impl KeptBlob {
    /// Whether this blob alone has room, and its time is not over.
    pub(super) fn may_stay(&self, room: BlobRoom, now: Timestamp) -> bool {
        self.length <= self.room(room, now)
    }

    /// The bytes that all that are kept may take, if this is one of them.
    fn room(&self, room: BlobRoom, now: Timestamp) -> u64 {
        let is_over = now.0.saturating_sub(self.since.0) >= BLOB_KEPT_MS;
        if is_over { room.held } else { room.read.max(room.held) }
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Kept {
    blobs: BTreeMap<BlobHash, KeptBlob>,
    /// The same in the order in which they lost their names.
    order: BTreeSet<(CommitNumber, BlobHash)>,
    bytes: u64,
    /// Up to here there was no room, and none stays any more.
    let_go: Option<(CommitNumber, BlobHash)>,
}

impl Kept {
    pub(super) fn get(&self, hash: &BlobHash) -> Option<KeptBlob> {
        self.blobs.get(hash).copied()
    }

    /// Keeps a blob of this length whose last name was taken by a commit, if there is room. Where
    /// there is too little for all, those go first that lost their names first. Gives whether it
    /// stays.
    pub(super) fn keep(
        &mut self,
        hash: BlobHash,
        (taken, length): (CommitNumber, u64),
        room: BlobRoom,
        now: Timestamp,
    ) -> bool {
        let before = self.get(&hash).filter(|kept| kept.taken == taken);
        let kept = KeptBlob { taken, length, since: before.map_or(now, |kept| kept.since) };
        self.forget(&hash);
        if kept.length == 0
            || !kept.may_stay(room, now)
            || self.let_go.is_some_and(|last| (taken, hash) <= last)
        {
            return false;
        }
        self.blobs.insert(hash, kept);
        self.order.insert((taken, hash));
        self.bytes += length;
        while self.bytes > kept.room(room, now) || self.blobs.len() > BLOBS_KEPT_MAX {
            let Some(first) = self.order.first().copied() else { break };
            self.forget(&first.1);
            self.let_go = self.let_go.max(Some(first));
        }
        self.blobs.contains_key(&hash)
    }

    /// It is gone, or named.
    pub(super) fn forget(&mut self, hash: &BlobHash) {
        if let Some(kept) = self.blobs.remove(hash) {
            self.order.remove(&(kept.taken, *hash));
            self.bytes -= kept.length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(n: usize) -> BlobHash {
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&n.to_be_bytes());
        BlobHash(hash)
    }

    const NOW: Timestamp = Timestamp(1_000);

    fn room(read: u64, held: u64) -> BlobRoom {
        BlobRoom { read, held }
    }

    #[test]
    fn those_that_lost_their_names_first_go_first() {
        let mut kept = Kept::default();
        let mut keep = |n: usize, taken, length, bytes| {
            kept.keep(hash(n), (CommitNumber(taken), length), room(bytes, 0), NOW)
        };
        assert!(keep(1, 9, 40, 100));
        assert!(keep(2, 5, 40, 100));
        assert!(!keep(3, 7, 101, 100), "alone too large, and so no reason to let go of others");
        assert!(keep(4, 8, 60, 100));
        assert!(!keep(2, 5, 40, 100), "there was no room for it");
        assert!(!keep(5, 4, 1, 100), "nor for what is older");
        assert!(keep(1, 9, 40, 100) && keep(4, 8, 60, 100));
        assert!(!keep(4, 8, 60, 0), "the log is gone");
        assert_eq!((kept.blobs.len(), kept.order.len(), kept.bytes), (1, 1, 40));
        kept.forget(&hash(1));
        assert_eq!((kept.blobs.len(), kept.order.len(), kept.bytes), (0, 0, 0));
    }

    #[test]
    fn after_some_time_only_a_hold_keeps_it() {
        let mut kept = Kept::default();
        let late = Timestamp(NOW.0 + BLOB_KEPT_MS);
        let of = (CommitNumber(1), 10);
        assert!(kept.keep(hash(1), of, room(10, 0), NOW));
        assert!(kept.keep(hash(1), of, room(10, 0), Timestamp(late.0 - 1)));
        assert!(kept.keep(hash(1), of, room(0, 10), late));
        assert!(kept.get(&hash(1)).is_some_and(|one| !one.may_stay(room(10, 0), late)));
        assert!(!kept.keep(hash(1), of, room(10, 0), late));
    }

    #[test]
    fn their_number_is_bounded() {
        let mut kept = Kept::default();
        for n in 0..=BLOBS_KEPT_MAX {
            assert!(kept.keep(hash(n), (CommitNumber(n as u64), 1), room(u64::MAX, 0), NOW));
        }
        assert_eq!((kept.blobs.len(), kept.get(&hash(0))), (BLOBS_KEPT_MAX, None));
    }
}
