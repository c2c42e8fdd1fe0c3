//! What was promised of publications: the entries that collections took, and what became of them.
//! Kept while the load goes on; `publications` compares it with what is there.

use super::ledger::{ABSENT, Reply, Stored, place};
use crate::entries::Which;
use crate::limits::MEMBERS_MAX;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::time::Duration;

/// What a request to a collection or a member is about to promise.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// A collection takes an entry; which member it becomes is in the reply.
    Posted { collection: Collection, which: Which, member: Option<Vec<u8>> },
    /// A member is replaced.
    Edited { member: Vec<u8>, which: Which },
    /// A member is removed.
    Deleted { member: Vec<u8> },
}

/// Where entries are posted to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Collection {
    pub(crate) origin: usize,
    pub(crate) path: Vec<u8>,
}

/// All of it.
#[derive(Default)]
pub(crate) struct Members {
    numbers: HashMap<Collection, usize>,
    counts: Vec<Counts>,
    /// By the hash of the place; of those whose hash ends in so many zeros.
    members: HashMap<u64, Member>,
    level: u32,
}

/// How many entries a collection took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) posted: u64,
    /// Without a reply, or not the right one.
    pub(super) unknown: u64,
    pub(super) deleted: u64,
    pub(super) deleted_unknown: u64,
}

/// A member.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    /// None: it was not posted in this run.
    pub(super) collection: Option<usize>,
    pub(super) state: State,
}

/// What may be there.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum State {
    /// This, and nothing has happened to it since it was posted.
    Posted(u64),
    /// As of any place that is written more than once.
    Changed(Box<Stored>),
}

impl Member {
    /// Whether this may be there.
    pub(super) fn may_be(&self, worth: u64) -> bool {
        match &self.state {
            State::Posted(posted) => *posted == worth,
            State::Changed(stored) => {
                stored.is_overrun || stored.writes.iter().any(|write| write.worth == worth)
            }
        }
    }
}

/// A number for which entry it is: worker and number fit, or nearly so.
pub(super) fn worth(which: Which) -> u64 {
    let mut hasher = DefaultHasher::new();
    for part in [which.seed, which.worker, which.number] {
        hasher.write_u64(part);
    }
    hasher.finish().max(ABSENT + 1)
}

/// The number of a member's place.
pub(super) fn number(origin: usize, path: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(&place(origin, path));
    hasher.finish()
}

impl Members {
    /// Notes what became of a request that was sent so long after the start.
    pub(super) fn note(&mut self, change: Change, origin: usize, sent: Duration, reply: Reply) {
        match change {
            Change::Posted { collection, which, member } => {
                let number = self.number_of(collection);
                let counts = &mut self.counts[number];
                match reply {
                    Reply::Acknowledged(_) => counts.posted += 1,
                    Reply::Unknown => counts.unknown += 1,
                }
                if let (Reply::Acknowledged(_), Some(path)) = (reply, member) {
                    let state = State::Posted(worth(which));
                    let member = Member { collection: Some(number), state };
                    self.keep(self::number(origin, &path), member);
                }
            }
            Change::Edited { member, which } => {
                self.change(number(origin, &member), worth(which), sent, reply);
            }
            Change::Deleted { member } => {
                let member = number(origin, &member);
                let collection = self.members.get(&member).and_then(|member| member.collection);
                if let Some(counts) = collection.map(|number| &mut self.counts[number]) {
                    match reply {
                        Reply::Acknowledged(_) => counts.deleted += 1,
                        Reply::Unknown => counts.deleted_unknown += 1,
                    }
                }
                self.change(member, ABSENT, sent, reply);
            }
        }
    }

    fn number_of(&mut self, collection: Collection) -> usize {
        let next = self.counts.len();
        let number = *self.numbers.entry(collection).or_insert(next);
        if number == next {
            self.counts.push(Counts::default());
        }
        number
    }

    fn change(&mut self, member: u64, worth: u64, sent: Duration, reply: Reply) {
        if worth != ABSENT && member.trailing_zeros() >= self.level {
            // One that was there before the run.
            let unknown = || Member { collection: None, state: State::Changed(Box::default()) };
            self.members.entry(member).or_insert_with(unknown);
        }
        if let Some(member) = self.members.get_mut(&member) {
            if let State::Posted(before) = member.state {
                let mut stored = Stored::default();
                stored.add(before, Duration::ZERO, Reply::Acknowledged(Duration::ZERO));
                member.state = State::Changed(Box::new(stored));
            }
            if let State::Changed(stored) = &mut member.state {
                stored.add(worth, sent, reply);
            }
        }
    }

    fn keep(&mut self, number: u64, member: Member) {
        if number.trailing_zeros() < self.level {
            return;
        }
        self.members.insert(number, member);
        if self.members.len() > MEMBERS_MAX {
            self.level += 1;
            let level = self.level;
            self.members.retain(|number, _| number.trailing_zeros() >= level);
        }
    }

    /// One of so many members was kept. Deletions of others are not counted either.
    pub(super) fn one_of(&self) -> u64 {
        1 << self.level.min(63)
    }

    /// The collections with what they took, in the order in which they were first posted to.
    pub(super) fn collections(&self) -> Vec<(Collection, Counts)> {
        let mut all: Vec<(usize, &Collection)> =
            self.numbers.iter().map(|(collection, number)| (*number, collection)).collect();
        all.sort_by_key(|(number, _)| *number);
        all.into_iter()
            .map(|(number, collection)| (collection.clone(), self.counts[number]))
            .collect()
    }

    pub(super) fn take(&mut self, number: u64) -> Option<Member> {
        self.members.remove(&number)
    }

    /// How many of a collection's members must be there and were not taken.
    pub(super) fn missing(&self, collection: usize) -> u64 {
        let is_missing =
            |member: &&Member| member.collection == Some(collection) && !member.may_be(ABSENT);
        self.members.values().filter(is_missing).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn which(number: u64) -> Which {
        Which { seed: 1, worker: 2, number }
    }

    fn posted(number: u64) -> Change {
        let collection = Collection { origin: 0, path: b"/c".to_vec() };
        let member = Some(format!("/c/{number}").into_bytes());
        Change::Posted { collection, which: which(number), member }
    }

    #[test]
    fn members_are_what_was_acknowledged_last() {
        let mut members = Members::default();
        let yes = Reply::Acknowledged(5 * MS);
        for number in 0..4 {
            members.note(posted(number), 0, MS, yes);
        }
        members.note(posted(9), 0, MS, Reply::Unknown);
        let member = |number: u64| format!("/c/{number}").into_bytes();
        let edited = |number: u64| Change::Edited { member: member(1), which: which(number) };
        members.note(edited(11), 0, 6 * MS, Reply::Acknowledged(8 * MS));
        members.note(edited(12), 0, 7 * MS, Reply::Unknown);
        members.note(Change::Deleted { member: member(2) }, 0, 6 * MS, Reply::Acknowledged(7 * MS));
        let (_, counts) = members.collections()[0].clone();
        assert_eq!(counts, Counts { posted: 4, unknown: 1, deleted: 1, deleted_unknown: 0 });
        // 0, 1 and 3: the one that was deleted need not be there.
        assert_eq!(members.missing(0), 3);
        let mut take = |path: u64| members.take(number(0, &member(path))).unwrap();
        let (first, second, third) = (take(0), take(1), take(2));
        assert!(first.may_be(worth(which(0))) && !first.may_be(worth(which(1))));
        assert!(!second.may_be(worth(which(1))));
        assert!(second.may_be(worth(which(11))) && second.may_be(worth(which(12))));
        assert!(third.may_be(ABSENT) && !third.may_be(worth(which(2))));
        assert_eq!(members.missing(0), 1);
    }

    #[test]
    fn members_keep_within_their_bound() {
        let mut members = Members::default();
        for number in 0..MEMBERS_MAX as u64 + 10 {
            members.note(posted(number), 0, MS, Reply::Acknowledged(MS));
        }
        assert!(members.members.len() <= MEMBERS_MAX);
        assert_eq!(members.one_of(), 2);
        assert_eq!(members.collections()[0].1.posted, MEMBERS_MAX as u64 + 10);
    }
}
