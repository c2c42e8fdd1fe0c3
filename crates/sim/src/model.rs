//! The reference: maps of every version that every commit wrote. Documents are whole numbers.

use repository::{Durability, History as Keeps};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// A collection, as its place in [`COLLECTIONS`], and a key.
pub type Place = (usize, String);

/// The collections of the simulated repository.
pub const COLLECTIONS: [(&str, Durability); 4] = [
    ("notes", Durability::Synced),
    ("drafts", Durability::Written),
    ("scratch", Durability::Volatile),
    ("photos", Durability::Synced),
];

/// The collection whose documents are blobs: their numbers, blown up.
pub const PHOTOS: usize = 3;

/// The collections that keep versions, if any does.
pub const HISTORIES: [usize; 2] = [0, PHOTOS];

/// The index that the first collection sometimes has.
pub const INDEX: &str = "value";

/// One version of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// What it says.
    pub value: i64,
    /// The commit that wrote it.
    pub number: u64,
    /// From when on it is invisible.
    pub expires_ms: Option<u64>,
}

impl Version {
    /// Whether it can be seen at this time.
    pub fn is_alive(&self, now_ms: u64) -> bool {
        self.expires_ms.is_none_or(|at| at > now_ms)
    }
}

/// What a write asks for.
#[derive(Clone, Debug)]
pub enum Change {
    /// This value, with an expiry.
    Put(i64, Option<u64>),
    /// No document.
    Delete,
    /// So much more than there is.
    Add(i64),
    /// No less than this.
    Max(i64),
}

/// Who wrote when, and what; `None`: it was deleted.
type History = Vec<(u64, Option<Version>)>;

/// What an opening finds: the documents that are alive.
pub type Found = BTreeMap<Place, Version>;

/// See the module.
#[derive(Debug, Default)]
pub struct Model {
    documents: BTreeMap<Place, History>,
    /// The same from the beginning, but for what is volatile.
    past: BTreeMap<Place, History>,
    /// What each of those keeps that do, and since which commit.
    keeps: BTreeMap<usize, (Keeps, u64)>,
    /// Every commit that may still be lost, and what its reply had to wait for.
    commits: BTreeMap<u64, Durability>,
    /// The time of the latest view or commit.
    time_ms: u64,
    /// Which commit has ended a collection last.
    ends: BTreeMap<usize, u64>,
}

impl Model {
    /// The time of the latest view or commit: that of a commit that is made now.
    pub fn time_ms(&self) -> u64 {
        self.time_ms
    }

    /// Applies a commit.
    pub fn commit(&mut self, number: u64, writes: &[(Place, Change)]) {
        let now_ms = self.time_ms;
        let mut durability = Durability::Volatile;
        for (place, change) in writes {
            durability = durability.max(COLLECTIONS[place.0].1);
            let current = self.at(place, u64::MAX);
            if current.is_none() && matches!(change, Change::Delete) {
                continue;
            }
            let current = current.filter(|version| version.is_alive(now_ms));
            let (before, expires_ms) = match current {
                Some(version) => (Some(version.value), version.expires_ms),
                None => (None, None),
            };
            let version = |value, expires_ms| Some(Version { value, number, expires_ms });
            let version = match change {
                Change::Put(value, expires_ms) => version(*value, *expires_ms),
                Change::Delete => None,
                Change::Add(delta) => version(before.unwrap_or(0) + delta, expires_ms),
                Change::Max(least) => version(before.map_or(*least, |v| v.max(*least)), expires_ms),
            };
            // What is no less already is not changed.
            let is_max = matches!(change, Change::Max(_));
            if is_max && before.is_some() && before == version.as_ref().map(|v| v.value) {
                continue;
            }
            if is_kept(place) {
                self.past.entry(place.clone()).or_default().push((number, version.clone()));
            }
            self.documents.entry(place.clone()).or_default().push((number, version));
        }
        self.commits.insert(number, durability);
    }

    /// Notes that a collection keeps versions like this since a commit.
    pub fn keep(&mut self, collection: usize, keeps: Keeps, since: u64) {
        self.keeps.insert(collection, (keeps, since));
    }

    /// Whether a document may have been, as far as is known, like this
    /// after commit `number`. `None`: there was none. It is not known when what has expired was
    /// removed.
    pub fn may_have_been(
        &self,
        place: &Place,
        number: u64,
        got: Option<(i64, u64)>,
    ) -> Result<(), String> {
        let versions = self.past.get(place).map(Vec::as_slice).unwrap_or_default();
        let version = versions.iter().rev().find(|(by, _)| *by <= number);
        let version = version.and_then(|(_, version)| version.as_ref());
        let is_so = match (version, got) {
            (Some(version), Some(got)) => (version.value, version.number) == got,
            (Some(version), None) => version.expires_ms.is_some_and(|at| at <= self.time_ms),
            (None, got) => got.is_none(),
        };
        if is_so { Ok(()) } else { Err(format!("{version:?}")) }
    }

    /// Whether it may not be known what a document was after a commit.
    pub fn may_be_forgotten(&self, place: &Place, number: u64) -> bool {
        let versions = self.past.get(place).map(Vec::as_slice).unwrap_or_default();
        // What expires ends by itself, too.
        let ends = 2 * versions.len() as u64;
        match self.keeps.get(&place.0) {
            Some((Keeps::Versions(most), since)) => number < *since || ends > *most,
            _ => true,
        }
    }

    /// Notes a commit that changed no document.
    pub fn note(&mut self, number: u64) {
        self.commits.insert(number, Durability::Synced);
    }

    /// Removes all documents of a collection.
    pub fn end(&mut self, number: u64, collection: usize) {
        let all = (collection, String::new())..(collection + 1, String::new());
        for (_, history) in self.documents.range_mut(all) {
            if history.last().is_some_and(|(_, version)| version.is_some()) {
                history.push((number, None));
            }
        }
        self.ends.insert(collection, number);
        for (place, versions) in &mut self.past {
            if place.0 == collection {
                versions.push((number, None));
            }
        }
        self.note(number);
    }

    /// The last commit that has ended a collection.
    pub fn last_end(&self, collection: usize) -> u64 {
        self.ends.get(&collection).copied().unwrap_or(0)
    }

    /// Notes that a view was opened, or a commit made, at this time.
    pub fn pass(&mut self, time_ms: u64) {
        self.time_ms = self.time_ms.max(time_ms);
    }

    fn at(&self, place: &Place, view: u64) -> Option<&Version> {
        let history = self.documents.get(place)?;
        history.iter().rev().find(|(number, _)| *number <= view)?.1.as_ref()
    }

    /// What a view of this number and time sees.
    pub fn seen(&self, place: &Place, view: u64, now_ms: u64) -> Option<&Version> {
        self.at(place, view).filter(|version| version.is_alive(now_ms))
    }

    /// What such a view sees of a range of keys, in order.
    pub fn range(&self, (from, to): (&Place, &Place), view: u64, now_ms: u64) -> Vec<(&str, i64)> {
        let places = self.documents.range(from.clone()..to.clone()).map(|(place, _)| place);
        places.filter_map(|p| Some((p.1.as_str(), self.seen(p, view, now_ms)?.value))).collect()
    }

    /// The documents of the first collection with a value from `from` to `to`, by value and key.
    pub fn index(&self, (from, to): (i64, i64), view: u64, now_ms: u64) -> Vec<(i64, String)> {
        let first = (0, String::new())..(1, String::new());
        let places = self.documents.range(first).map(|(place, _)| place);
        let all = places.filter_map(|p| Some((self.seen(p, view, now_ms)?.value, p.1.clone())));
        let mut found: Vec<_> = all.filter(|(value, _)| (from..=to).contains(value)).collect();
        found.sort_unstable();
        found
    }

    /// The last commit that changed something from `from` to `to`, the latter not included.
    pub fn last_change(&self, from: &Place, to: &Place) -> u64 {
        let changed = self.documents.range(from.clone()..to.clone());
        changed.filter_map(|(_, history)| Some(history.last()?.0)).max().unwrap_or(0)
    }

    /// The newest commit of some, and the first of them, up to which the documents are as they were
    /// found.
    pub fn find(&self, found: &Found, of: RangeInclusive<u64>, now_ms: u64) -> Option<u64> {
        let least = *of.start();
        let mut candidates: Vec<u64> = self.commits.range(of).map(|(n, _)| *n).collect();
        candidates.insert(0, least);
        candidates
            .into_iter()
            .rev()
            .find(|&number| self.difference(found, number, now_ms).is_none())
    }

    /// Something that was not found as it was after commit `number`.
    pub fn difference(&self, found: &Found, number: u64, now_ms: u64) -> Option<String> {
        let kept = self.documents.keys().filter(|place| is_kept(place));
        kept.chain(found.keys()).find_map(|place| {
            let expected = if is_kept(place) { self.seen(place, number, now_ms) } else { None };
            let got = found.get(place);
            let is_equal = match (expected, got) {
                (None, None) => true,
                (Some(a), Some(b)) => (a.value, a.number) == (b.value, b.number),
                _ => false,
            };
            (!is_equal).then(|| format!("{place:?}: expected {expected:?}, found {got:?}"))
        })
    }

    /// The numbers of commits from one to another that have changed what is kept.
    pub fn commits(&self, from: u64, to: u64) -> Vec<u64> {
        let all = self.past.values().flatten().map(|(number, _)| *number);
        let mut commits: Vec<u64> = all.filter(|number| (from..=to).contains(number)).collect();
        commits.sort_unstable();
        commits.dedup();
        commits
    }

    /// Everything that is kept, expired or not, as it was after commit `number`, whenever that was.
    pub fn was(&self, number: u64) -> Found {
        let last = |history: &History| {
            let version = history.iter().rev().find(|(by, _)| *by <= number);
            version.and_then(|(_, version)| version.clone())
        };
        let all = self.past.iter().filter_map(|(place, of)| Some((place.clone(), last(of)?)));
        all.collect()
    }

    /// The last commit up to `durable` that an opening must find, whatever crashed.
    pub fn last_synced(&self, durable: u64) -> u64 {
        let mut acknowledged = self.commits.range(..=durable).rev();
        let synced = acknowledged.find(|(_, durability)| **durability == Durability::Synced);
        synced.map_or(0, |(number, _)| *number)
    }

    /// The last commit up to `durable` that is in the log.
    pub fn last_logged(&self, durable: u64) -> u64 {
        let mut acknowledged = self.commits.range(..=durable).rev();
        let logged = acknowledged.find(|(_, durability)| **durability > Durability::Volatile);
        logged.map_or(0, |(number, _)| *number)
    }

    /// Forgets what is gone: everything after commit `last`, and what is volatile.
    pub fn reopen(&mut self, last: u64) {
        for history in self.documents.values_mut() {
            history.retain(|(number, _)| *number <= last);
            // Nobody has an older view.
            history.drain(..history.len().saturating_sub(1));
        }
        for history in self.past.values_mut() {
            history.retain(|(number, _)| *number <= last);
        }
        self.documents.retain(|place, history| is_kept(place) && !history.is_empty());
        self.commits.retain(|number, _| *number <= last);
        self.ends.retain(|_, number| *number <= last);
    }
}

fn is_kept(place: &Place) -> bool {
    COLLECTIONS[place.0].1 > Durability::Volatile
}
