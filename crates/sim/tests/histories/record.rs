//! What happened: every try of every transaction. It is replayed against a map, and translated for
//! the checker.

use sim::checker::{End, History, Operation, Transaction, Version};
use std::collections::BTreeMap;
use std::fmt;

/// A key of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(pub u64);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "k{}", self.0)
    }
}

/// A document that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The commit that wrote it, as the document says; 0 for an own write.
    pub commit: u64,
    pub number: i64,
}

/// A step that was taken. Each write has a version that no other has.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Read {
        key: Key,
        seen: Option<Seen>,
    },
    /// The version is the number that was put.
    Put {
        key: Key,
        version: u64,
    },
    Add {
        key: Key,
        version: u64,
        delta: i64,
    },
    Delete {
        key: Key,
        version: u64,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Committed(u64),
    Unchanged,
    Lost,
}

/// One try of one transaction.
pub struct Attempt {
    pub name: String,
    pub began: u64,
    pub ended: u64,
    pub view: u64,
    pub steps: Vec<Step>,
    pub end: Ended,
}

pub struct Record {
    pub attempts: Vec<Attempt>,
    /// How many transactions went through the serial lane.
    pub serial_lane: u64,
}

/// What a commit left at a key.
#[derive(Clone, Copy)]
struct Left {
    commit: u64,
    version: u64,
    number: Option<i64>,
}

/// What all commits left, per key, in their order.
struct Model(BTreeMap<Key, Vec<Left>>);

impl Model {
    fn at(&self, key: Key, view: u64) -> Option<&Left> {
        let all = self.0.get(&key)?;
        all[..all.partition_point(|left| left.commit <= view)].last()
    }

    fn number(&self, key: Key, view: u64) -> Option<i64> {
        self.at(key, view).and_then(|left| left.number)
    }

    /// The version of a key that a view sees, if anything is there.
    fn version(&self, key: Key, view: u64) -> Option<Version> {
        let left = self.at(key, view)?;
        left.number.map(|_| Version(left.version))
    }
}

impl Step {
    /// For a write: its key, its version, and what it makes of what was there.
    fn write(&self, before: impl Fn(Key) -> Option<i64>) -> Option<(Key, u64, Option<i64>)> {
        match *self {
            Self::Read { .. } => None,
            Self::Put { key, version } => Some((key, version, Some(version as i64))),
            Self::Add { key, version, delta } => {
                Some((key, version, Some(before(key).unwrap_or(0) + delta)))
            }
            Self::Delete { key, version } => Some((key, version, None)),
        }
    }
}

impl Record {
    pub fn summary(&self) -> String {
        let count = |is: fn(&Ended) -> bool| self.attempts.iter().filter(|a| is(&a.end)).count();
        format!(
            "{} tries: {} committed, {} wrote nothing, {} lost; {} in the serial lane",
            self.attempts.len(),
            count(|end| matches!(end, Ended::Committed(_))),
            count(|end| *end == Ended::Unchanged),
            count(|end| *end == Ended::Lost),
            self.serial_lane,
        )
    }

    /// Applies all commits in their order to a map.
    fn model(&self) -> Model {
        let mut commits = BTreeMap::new();
        for attempt in &self.attempts {
            if let Ended::Committed(number) = attempt.end {
                commits.insert(number, attempt);
            }
        }
        let mut all: BTreeMap<Key, Vec<Left>> = BTreeMap::new();
        for (commit, attempt) in commits {
            for step in &attempt.steps {
                let before = |key| all.get(&key).and_then(|left| left.last()?.number);
                let Some((key, version, number)) = step.write(before) else { continue };
                let left = all.entry(key).or_default();
                // Only the last write of a transaction is ever there.
                left.pop_if(|last| last.commit == commit);
                left.push(Left { commit, version, number });
            }
        }
        Model(all)
    }

    /// Every read that did not give what the map holds at the reader's view, own writes included.
    /// That holds for each isolation, and for tries that lost, too.
    pub fn replay(&self) -> Vec<String> {
        let model = self.model();
        let mut wrong = Vec::new();
        for attempt in &self.attempts {
            let mut own: BTreeMap<Key, Option<i64>> = BTreeMap::new();
            for step in &attempt.steps {
                let before = |key| {
                    let own = own.get(&key).copied();
                    own.unwrap_or_else(|| model.number(key, attempt.view))
                };
                if let Step::Read { key, seen } = *step {
                    let commit = match own.contains_key(&key) {
                        true => 0,
                        false => model.at(key, attempt.view).map_or(0, |left| left.commit),
                    };
                    let expected = before(key).map(|number| Seen { commit, number });
                    if seen != expected {
                        let (name, view) = (&attempt.name, attempt.view);
                        wrong.push(format!(
                            "{name} at {view} read {key}: expected {expected:?}, got {seen:?}"
                        ));
                    }
                } else if let Some((key, _, number)) = step.write(before) {
                    own.insert(key, number);
                }
            }
        }
        wrong
    }

    /// The record as the checker takes it. What a lost try has read of others is there as a
    /// transaction that only reads: a view must not lie to anybody.
    pub fn history(&self) -> History {
        let model = self.model();
        let mut history = History::default();
        for attempt in &self.attempts {
            let mut operations = operations(&model, attempt);
            let end = match attempt.end {
                Ended::Committed(number) => End::Committed(number),
                Ended::Unchanged => End::Unchanged,
                Ended::Lost => {
                    operations.retain(|o| !matches!(o, Operation::Write { .. }));
                    End::Unchanged
                }
            };
            let Attempt { name, began, ended, view, .. } = attempt;
            let (name, began, ended, view) = (name.clone(), *began, *ended, *view);
            history.transactions.push(Transaction { name, began, ended, view, operations, end });
        }
        history
    }
}

/// The version of `key` that the commit of this number left.
fn version_of(model: &Model, key: Key, commit: u64) -> Version {
    let left = model.at(key, commit).filter(|left| left.commit == commit);
    // A version that no write has: the checker reports it.
    left.map_or(Version(u64::MAX), |left| Version(left.version))
}

fn operations(model: &Model, attempt: &Attempt) -> Vec<Operation> {
    let mut operations = Vec::new();
    let mut own: BTreeMap<Key, (u64, Whole)> = BTreeMap::new();
    for step in &attempt.steps {
        match *step {
            Step::Read { key, seen } => match own.get(&key) {
                // What an addition gives tells what was there before.
                Some((_, Whole::No)) => {
                    let saw = model.version(key, attempt.view);
                    operations.insert(0, Operation::Read { key: key.to_string(), saw });
                }
                // That own writes are seen, the replay checks.
                Some(_) => {}
                None => {
                    let saw = seen.map(|seen| version_of(model, key, seen.commit));
                    operations.push(Operation::Read { key: key.to_string(), saw });
                }
            },
            Step::Put { key, version } | Step::Delete { key, version } => {
                own.insert(key, (version, Whole::Yes));
                let deletes = matches!(step, Step::Delete { .. });
                operations.push(write(key, version, deletes));
            }
            Step::Add { key, version, .. } => {
                let whole = own.get(&key).map_or(Whole::No, |(_, whole)| *whole);
                own.insert(key, (version, whole));
                operations.push(write(key, version, false));
            }
        }
    }
    operations
}

/// Whether own writes alone say what is there.
#[derive(Clone, Copy)]
enum Whole {
    Yes,
    No,
}

fn write(key: Key, version: u64, deletes: bool) -> Operation {
    Operation::Write { key: key.to_string(), version: Version(version), deletes }
}
