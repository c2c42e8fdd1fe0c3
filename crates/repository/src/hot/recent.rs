//! The keys that a collection's latest commits changed: what a range that was read is checked
//! against, so that the check costs what was committed meanwhile and not the size of the range.

use crate::document::CommitNumber;
use crate::limits::RECENT_CHANGES;
use crate::name::Key;
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct Recent {
    /// In the order of their commits.
    changes: VecDeque<(CommitNumber, Key)>,
    /// Every change after this commit is in `changes`; `None` before the first.
    complete_after: Option<CommitNumber>,
}

impl Recent {
    /// Notes a change by `number`, which is not before any noted.
    pub(super) fn note(&mut self, number: CommitNumber, key: &Key) {
        // The commit may have changed other keys before it was noted for the first time.
        self.complete_after.get_or_insert(number);
        if self.changes.len() == RECENT_CHANGES
            && let Some((dropped, _)) = self.changes.pop_front()
        {
            self.complete_after = Some(dropped);
        }
        self.changes.push_back((number, key.clone()));
    }

    /// The changes after `view`, latest first; `None` if some of them are not known any more.
    pub(super) fn after(
        &self,
        view: CommitNumber,
    ) -> Option<impl Iterator<Item = &(CommitNumber, Key)>> {
        let is_complete = self.complete_after.is_some_and(|from| from <= view);
        is_complete.then(|| self.changes.iter().rev().take_while(move |(n, _)| *n > view))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_forgotten_is_not_taken_for_unchanged() {
        let key = Key::new("a").unwrap();
        let mut recent = Recent::default();
        assert!(recent.after(CommitNumber(9)).is_none(), "nothing was noted yet");
        for number in 5..5 + RECENT_CHANGES as u64 {
            recent.note(CommitNumber(number), &key);
        }
        assert!(recent.after(CommitNumber(4)).is_none(), "5 may have changed more than was noted");
        assert_eq!(recent.after(CommitNumber(5)).unwrap().count(), RECENT_CHANGES - 1);
        recent.note(CommitNumber(u64::MAX), &key);
        assert_eq!(recent.after(CommitNumber(5)).unwrap().count(), RECENT_CHANGES);
        recent.note(CommitNumber(u64::MAX), &key);
        assert!(recent.after(CommitNumber(5)).is_none(), "6 is dropped");
        assert!(recent.after(CommitNumber(6)).is_some());
    }
}
