//! Blobs that have lost a name, or never had one: what may perhaps be removed.

use super::BlobHash;
use super::kept::{Kept, KeptBlob};
use crate::document::{CommitNumber, Timestamp};
use crate::limits::BLOBS_UNNAMED_MAX;
use crate::tranlog::BlobRoom;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
struct Noted {
    /// The last commit that took a name from each.
    hashes: BTreeMap<BlobHash, CommitNumber>,
    /// No later commit took a name from any other.
    others: CommitNumber,
    /// How often some had to be forgotten, so that all files must be looked at.
    forgotten: u64,
}

/// See the module. `apply` notes what it takes names from, so this is complete for every commit
/// since the repository was opened.
#[derive(Debug, Default)]
pub(crate) struct Unnamed {
    noted: Mutex<Noted>,
    kept: Mutex<Kept>,
    /// What lost its name before the opening is not noted any more: it did by this commit.
    opened: AtomicU64,
}

impl Unnamed {
    /// The repository was opened with this as its last commit.
    pub(crate) fn opened_at(&self, last: CommitNumber) {
        self.opened.store(last.0, Ordering::Relaxed);
    }

    /// No commit after this one has taken a name from the blob, nor did one before the opening.
    pub(super) fn taken(&self, hash: &BlobHash) -> CommitNumber {
        self.last(hash).max(CommitNumber(self.opened.load(Ordering::Relaxed)))
    }

    /// How a blob without a name is kept, if it is.
    pub(super) fn kept(&self, hash: &BlobHash) -> Option<KeptBlob> {
        self.kept.lock().get(hash)
    }

    /// See [`Kept::keep`].
    pub(super) fn keep(
        &self,
        hash: BlobHash,
        of: (CommitNumber, u64),
        room: BlobRoom,
        now: Timestamp,
    ) -> bool {
        self.kept.lock().keep(hash, of, room, now)
    }

    /// Commit `number` has taken a name from a blob; 0: it was written, and perhaps got none.
    pub(crate) fn note(&self, hash: BlobHash, number: CommitNumber) {
        let mut noted = self.noted.lock();
        let last = noted.hashes.entry(hash).or_default();
        *last = number.max(*last);
        if noted.hashes.len() > BLOBS_UNNAMED_MAX {
            let hashes = std::mem::take(&mut noted.hashes);
            let last = hashes.into_values().max().unwrap_or_default();
            noted.others = noted.others.max(last);
            noted.forgotten += 1;
        }
    }

    /// No commit after this one has taken a name from the blob.
    pub(super) fn last(&self, hash: &BlobHash) -> CommitNumber {
        let noted = self.noted.lock();
        noted.hashes.get(hash).copied().unwrap_or_default().max(noted.others)
    }

    /// The first noted ones after `after`, at most `most`.
    pub(super) fn list(&self, after: Option<BlobHash>, most: usize) -> Vec<BlobHash> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = after.map_or(Unbounded, Excluded);
        let noted = self.noted.lock();
        noted.hashes.range((from, Unbounded)).take(most).map(|(hash, _)| *hash).collect()
    }

    /// Forgets a blob that is gone, or named still, unless it has lost a name after `number`.
    pub(super) fn settle(&self, hash: &BlobHash, number: CommitNumber) {
        self.kept.lock().forget(hash);
        let mut noted = self.noted.lock();
        if noted.hashes.get(hash).is_some_and(|last| *last <= number) {
            noted.hashes.remove(hash);
        }
    }

    /// How often some were forgotten.
    pub(super) fn forgotten(&self) -> u64 {
        self.noted.lock().forgotten
    }

    /// How many are noted.
    pub(super) fn count(&self) -> usize {
        self.noted.lock().hashes.len()
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

    #[test]
    fn what_is_forgotten_is_not_lost() {
        let unnamed = Unnamed::default();
        for n in 0..BLOBS_UNNAMED_MAX {
            unnamed.note(hash(n), CommitNumber(n as u64));
        }
        assert_eq!((unnamed.count(), unnamed.forgotten()), (BLOBS_UNNAMED_MAX, 0));
        assert_eq!(unnamed.last(&hash(7)), CommitNumber(7));
        unnamed.note(hash(usize::MAX), CommitNumber(5));
        assert_eq!((unnamed.count(), unnamed.forgotten()), (0, 1), "all files are to be looked at");
        let last = CommitNumber(BLOBS_UNNAMED_MAX as u64 - 1);
        assert_eq!(unnamed.last(&hash(7)), last, "as late as any of them");
        unnamed.note(hash(7), CommitNumber(3));
        assert_eq!(unnamed.last(&hash(7)), last);
    }

    #[test]
    fn what_lost_a_name_meanwhile_stays_noted() {
        let unnamed = Unnamed::default();
        unnamed.note(hash(1), CommitNumber(4));
        let before = unnamed.last(&hash(1));
        unnamed.note(hash(1), CommitNumber(9));
        unnamed.settle(&hash(1), before);
        assert_eq!(unnamed.last(&hash(1)), CommitNumber(9));
        unnamed.note(hash(2), CommitNumber(0));
        assert_eq!(unnamed.list(None, 9), [hash(1), hash(2)]);
        assert_eq!(unnamed.list(Some(hash(1)), 9), [hash(2)]);
        unnamed.settle(&hash(1), CommitNumber(9));
        assert_eq!((unnamed.last(&hash(1)), unnamed.count()), (CommitNumber(0), 1));
    }
}
