//! What happened: every try of every transaction. It is replayed against a map, and translated for
//! the checker.

use sim::checker::{End, History, Operation, Span, Transaction, Version};
use std::collections::BTreeMap;
use std::fmt;

/// A key of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(pub u64);

impl Key {
    pub fn parse(text: &str) -> Self {
        Self(text[1..].parse().unwrap())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "k{}", self.0)
    }
}

/// A document that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The commit that wrote it, as the document says; 0 for an own write.
    pub commit: u64,
    pub value: String,
}

/// The keys from `from` to `to`, both included, as far as `limit` of them.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub from: Key,
    pub to: Key,
    pub is_descending: bool,
    pub limit: usize,
}

impl Part {
    /// What was looked at by a read that found `seen`.
    fn span(&self, seen: &[(Key, Seen)]) -> Span {
        let (mut from, mut to) = (self.from, self.to);
        if let Some((last, _)) = seen.last().filter(|_| seen.len() == self.limit) {
            *(if self.is_descending { &mut from } else { &mut to }) = *last;
        }
        Span::closed(&from.to_string(), &to.to_string())
    }
}

/// The documents whose number is at least `from`, as far as `limit` of them.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    pub from: i64,
    pub is_descending: bool,
    pub limit: usize,
}

/// A step that was taken. Each write has a version that no other has.
#[derive(Clone, Debug)]
pub enum Step {
    Read {
        key: Key,
        seen: Option<Seen>,
    },
    Range {
        part: Part,
        seen: Vec<(Key, Seen)>,
    },
    /// By the index of numbers.
    Index {
        numbers: Numbers,
        seen: Vec<(Key, Seen)>,
    },
    Put {
        key: Key,
        version: u64,
        value: String,
    },
    Add {
        key: Key,
        version: u64,
        delta: i64,
    },
    Append {
        key: Key,
        version: u64,
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
#[derive(Clone)]
struct Left {
    commit: u64,
    version: u64,
    value: Option<String>,
}

/// What all commits left, per key, in their order.
struct Model(BTreeMap<Key, Vec<Left>>);

impl Model {
    fn at(&self, key: Key, view: u64) -> Option<&Left> {
        let all = self.0.get(&key)?;
        all[..all.partition_point(|left| left.commit <= view)].last()
    }

    fn seen(&self, key: Key, view: u64) -> Option<Seen> {
        let left = self.at(key, view)?;
        left.value.clone().map(|value| Seen { commit: left.commit, value })
    }

    /// The version of a key that a view sees, if anything is there.
    fn version(&self, key: Key, view: u64) -> Option<Version> {
        let left = self.at(key, view)?;
        left.value.as_ref().map(|_| Version(left.version))
    }

    /// The version of `key` that the commit of this number left.
    fn left_by(&self, key: Key, commit: u64) -> Version {
        let left = self.at(key, commit).filter(|left| left.commit == commit);
        // A version that no write has: the checker reports it.
        left.map_or(Version(u64::MAX), |left| Version(left.version))
    }
}

impl Step {
    /// For a write: its key, its version, and what it makes of what was there.
    fn write(&self, before: impl Fn(Key) -> Option<String>) -> Option<(Key, u64, Option<String>)> {
        match self {
            Self::Read { .. } | Self::Range { .. } | Self::Index { .. } => None,
            Self::Put { key, version, value } => Some((*key, *version, Some(value.clone()))),
            Self::Add { key, version, delta } => {
                let before = before(*key).map_or(0, |text| text.parse::<i64>().unwrap());
                Some((*key, *version, Some((before + delta).to_string())))
            }
            Self::Append { key, version } => {
                let list = match before(*key).as_deref() {
                    None | Some("[]") => format!("[{version}]"),
                    Some(list) => format!("{},{version}]", list.strip_suffix(']').unwrap()),
                };
                Some((*key, *version, Some(list)))
            }
            Self::Delete { key, version } => Some((*key, *version, None)),
        }
    }
}

/// What a transaction sees: its view, and its own writes over it.
struct Eyes<'a> {
    model: &'a Model,
    view: u64,
    own: BTreeMap<Key, Option<String>>,
}

impl Eyes<'_> {
    fn see(&self, key: Key) -> Option<Seen> {
        match self.own.get(&key) {
            Some(value) => value.clone().map(|value| Seen { commit: 0, value }),
            None => self.model.seen(key, self.view),
        }
    }

    fn range(&self, part: Part) -> Vec<(Key, Seen)> {
        let mut keys: Vec<Key> = (part.from.0..=part.to.0).map(Key).collect();
        if part.is_descending {
            keys.reverse();
        }
        let all = keys.into_iter().filter_map(|key| Some((key, self.see(key)?)));
        all.take(part.limit).collect()
    }

    /// Ordered by number, then by key.
    fn index(&self, numbers: Numbers) -> Vec<(Key, Seen)> {
        let mut all: Vec<(i64, Key, Seen)> = Vec::new();
        for key in self.model.0.keys().chain(self.own.keys()) {
            let Some(seen) = self.see(*key) else { continue };
            // A list has no number.
            if let Ok(number) = seen.value.parse()
                && number >= numbers.from
            {
                all.push((number, *key, seen));
            }
        }
        all.sort_by_key(|(number, key, _)| (*number, *key));
        all.dedup_by_key(|(_, key, _)| *key);
        if numbers.is_descending {
            all.reverse();
        }
        all.into_iter().map(|(_, key, seen)| (key, seen)).take(numbers.limit).collect()
    }

    /// Takes a step; the error says what a read should have seen.
    fn take(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Read { key, seen } if self.see(*key) != *seen => {
                Err(format!("{key}: expected {:?}, got {seen:?}", self.see(*key)))
            }
            Step::Range { part, seen } if self.range(*part) != *seen => {
                Err(format!("{part:?}: expected {:?}, got {seen:?}", self.range(*part)))
            }
            Step::Index { numbers, seen } if self.index(*numbers) != *seen => {
                Err(format!("{numbers:?}: expected {:?}, got {seen:?}", self.index(*numbers)))
            }
            step => {
                let before = |key| self.see(key).map(|seen| seen.value);
                if let Some((key, _, value)) = step.write(before) {
                    self.own.insert(key, value);
                }
                Ok(())
            }
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
                let before = |key| all.get(&key).and_then(|left| left.last()?.value.clone());
                let Some((key, version, value)) = step.write(before) else { continue };
                let left = all.entry(key).or_default();
                // Only the last write of a transaction is ever there.
                left.pop_if(|last| last.commit == commit);
                left.push(Left { commit, version, value });
            }
        }
        Model(all)
    }

    /// Every read that did not give what the map holds at the reader's view, own writes included.
    /// That holds for each isolation, and for tries that lost, too.
    pub fn replay(&self) -> Vec<String> {
        self.replay_at(|attempt| Some(attempt.view))
    }

    /// The same for all that committed, right before their commits: as if each had run alone at its
    /// place in the order. That is what makes it serializable.
    pub fn replay_in_order(&self) -> Vec<String> {
        self.replay_at(|attempt| match attempt.end {
            Ended::Committed(number) => Some(number - 1),
            Ended::Unchanged => Some(attempt.view),
            Ended::Lost => None,
        })
    }

    fn replay_at(&self, view: impl Fn(&Attempt) -> Option<u64>) -> Vec<String> {
        let model = self.model();
        let mut wrong = Vec::new();
        for attempt in &self.attempts {
            let Some(view) = view(attempt) else { continue };
            let mut eyes = Eyes { model: &model, view, own: BTreeMap::new() };
            for step in &attempt.steps {
                if let Err(why) = eyes.take(step) {
                    wrong.push(format!("{} at {view} read {why}", attempt.name));
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
                    // An own write ends what it read of others.
                    let is_write = |o: &Operation| matches!(o, Operation::Write { .. });
                    let reads = operations.iter().position(is_write);
                    operations.truncate(reads.unwrap_or(operations.len()));
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

/// An own write, as later steps of the transaction meet it.
#[derive(Clone, Copy)]
struct Own {
    version: u64,
    /// Whether own writes alone say what is there.
    is_whole: bool,
}

fn operations(model: &Model, attempt: &Attempt) -> Vec<Operation> {
    let mut operations = Vec::new();
    let mut own: BTreeMap<Key, Own> = BTreeMap::new();
    // What is seen of an own merge operation tells what was there before.
    let mut read_before = Vec::new();
    for step in &attempt.steps {
        let mut saw = |key: Key, seen: &Seen| match own.get(&key) {
            None => model.left_by(key, seen.commit),
            Some(own) => {
                if !own.is_whole {
                    let saw = model.version(key, attempt.view);
                    read_before.push(Operation::Read { key: key.to_string(), saw });
                }
                Version(own.version)
            }
        };
        match step {
            Step::Read { key, seen } => {
                let saw = seen.as_ref().map(|seen| saw(*key, seen));
                operations.push(Operation::Read { key: key.to_string(), saw });
            }
            Step::Range { part, seen } => {
                let saw = seen.iter().map(|(key, seen)| (key.to_string(), saw(*key, seen)));
                let (span, saw) = (part.span(seen), saw.collect());
                operations.push(Operation::Scan { span, saw });
            }
            // The checker knows no numbers; that a document was seen, it can judge.
            Step::Index { seen, .. } => {
                for (key, seen) in seen {
                    let saw = Some(saw(*key, seen));
                    operations.push(Operation::Read { key: key.to_string(), saw });
                }
            }
            Step::Put { key, version, .. } | Step::Delete { key, version } => {
                own.insert(*key, Own { version: *version, is_whole: true });
                let deletes = matches!(step, Step::Delete { .. });
                operations.push(write(*key, *version, deletes));
            }
            Step::Add { key, version, .. } | Step::Append { key, version } => {
                let is_whole = own.get(key).is_some_and(|own| own.is_whole);
                own.insert(*key, Own { version: *version, is_whole });
                operations.push(write(*key, *version, false));
            }
        }
    }
    read_before.extend(operations);
    read_before
}

fn write(key: Key, version: u64, deletes: bool) -> Operation {
    Operation::Write { key: key.to_string(), version: Version(version), deletes }
}
