//! What a repository must do, on maps: views, staged writes, and what a commit may come to.

use repository::json::three_way;
use repository::{IndexDefinition, Merge, Settings, fuzzing};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, RangeBounds, RangeInclusive};

/// Keys; a document's place has the number of one, so that numbers are ordered as keys are.
pub const KEYS: &[&str] = &["a", "a/b", "b", "ba", "é", "\u{10ffff}"];

/// The numbers of a collection and of a key.
pub type Place = (usize, usize);

type Documents = BTreeMap<Place, String>;

/// Bounds of index rows.
pub type Rows = (Bound<String>, Bound<String>);

/// The committed state.
pub struct Model {
    pub collections: Vec<Settings>,
    pub documents: Documents,
    /// The commit that last wrote a place.
    touched: BTreeMap<Place, u64>,
    commits: u64,
}

#[derive(Clone)]
enum Staged {
    Put(String),
    Delete,
    Merge(Vec<Merge>),
}

/// What a read saw.
enum Seen {
    Document(Place),
    Keys(usize, RangeInclusive<usize>),
    Rows(usize, IndexDefinition, Rows),
}

/// A noted read, and what was staged before: that is not part of what it saw of the view.
struct Read {
    seen: Seen,
    own: BTreeSet<Place>,
}

/// An open transaction.
pub struct Transaction {
    began: u64,
    is_serializable: bool,
    view: Documents,
    staged: BTreeMap<Place, Staged>,
    reads: Vec<Read>,
}

/// What a commit may come to.
#[derive(Debug, PartialEq)]
pub enum Expected {
    Unchanged,
    Duplicate,
    Conflict,
    Commit,
    /// A conflict, or a commit: what was read was written, but is as it was.
    Either,
}

impl Model {
    pub fn new(collections: Vec<Settings>) -> Self {
        Self { collections, documents: BTreeMap::new(), touched: BTreeMap::new(), commits: 0 }
    }

    /// Starts anew, with no document.
    pub fn clear(&mut self) {
        *self = Self::new(std::mem::take(&mut self.collections));
    }

    pub fn begin(&self, is_serializable: bool) -> Transaction {
        Transaction {
            began: self.commits,
            is_serializable,
            view: self.documents.clone(),
            staged: BTreeMap::new(),
            reads: Vec::new(),
        }
    }

    fn is_touched(&self, place: &Place, since: u64) -> bool {
        self.touched.get(place).is_some_and(|touched| *touched > since)
    }

    fn unique(&self, collection: usize) -> impl Iterator<Item = &IndexDefinition> {
        self.collections[collection].indexes.iter().filter(|index| index.unique)
    }

    fn wants_merging(&self, collection: usize) -> bool {
        self.collections[collection].conflict == repository::OnConflict::Merge
    }

    /// What committing `transaction` must come to.
    pub fn expected(&self, transaction: &Transaction) -> Expected {
        if transaction.staged.is_empty() {
            return Expected::Unchanged;
        }
        if self.has_duplicate(&transaction.overlay()) {
            return Expected::Duplicate;
        }
        let is_changed = transaction.is_serializable
            && transaction.reads.iter().any(|read| self.is_changed(read, transaction));
        let misfits = transaction.staged.keys().any(|place| self.misfits(*place, transaction));
        if is_changed || misfits {
            return Expected::Conflict;
        }
        let reads = transaction.reads.iter().any(|read| self.may_be_changed(read, transaction));
        let writes = transaction.staged.iter().any(|(place, staged)| {
            let is_written = self.is_touched(place, transaction.began);
            let blind = matches!(staged, Staged::Merge(_));
            let is_checked = !transaction.is_serializable && !blind && is_written;
            is_checked
                || self.unique(place.0).next().is_some()
                    && self.is_any_touched(place.0, transaction)
        });
        if reads || writes { Expected::Either } else { Expected::Commit }
    }

    fn is_any_touched(&self, collection: usize, transaction: &Transaction) -> bool {
        let mut places = (0..KEYS.len()).map(|key| (collection, key));
        places.any(|place| self.is_touched(&place, transaction.began))
    }

    /// Whether a read would see something else now, and the difference cannot be merged.
    fn is_changed(&self, read: &Read, transaction: &Transaction) -> bool {
        if let Seen::Document(place) = &read.seen
            && self.is_merged(*place, transaction)
        {
            return false;
        }
        read.sees(&transaction.view) != read.sees(&self.documents)
    }

    fn may_be_changed(&self, read: &Read, transaction: &Transaction) -> bool {
        let is_touched = |place: &Place| self.is_touched(place, transaction.began);
        match &read.seen {
            Seen::Document(place) => is_touched(place),
            Seen::Keys(collection, keys) => keys.clone().any(|key| is_touched(&(*collection, key))),
            Seen::Rows(collection, ..) => self.is_any_touched(*collection, transaction),
        }
    }

    /// Whether a staged write is to be merged with a commit since the view.
    fn is_merged(&self, place: Place, transaction: &Transaction) -> bool {
        let is_put = matches!(transaction.staged.get(&place), Some(Staged::Put(_)));
        let is_read = transaction.has_read(place) || !transaction.is_serializable;
        let is_touched = self.is_touched(&place, transaction.began);
        is_put && is_read && is_touched && self.wants_merging(place.0)
    }

    /// Whether a staged write cannot be carried out on what is there now.
    fn misfits(&self, place: Place, transaction: &Transaction) -> bool {
        let is_written = self.documents.get(&place) != transaction.view.get(&place);
        match &transaction.staged[&place] {
            Staged::Merge(_) => self.outcome(place, transaction).is_err(),
            _ if self.is_merged(place, transaction) => {
                is_written && self.outcome(place, transaction).is_err()
            }
            _ => !transaction.is_serializable && is_written,
        }
    }

    /// What a staged write makes of the present document.
    fn outcome(&self, place: Place, transaction: &Transaction) -> Result<Option<String>, ()> {
        let now = self.documents.get(&place);
        match &transaction.staged[&place] {
            Staged::Put(mine) if self.is_merged(place, transaction) => {
                match (transaction.view.get(&place), now) {
                    (Some(base), Some(theirs)) => {
                        let merged = three_way(base, mine, theirs).map_err(drop)?;
                        let is_unique = self.is_of(place.0, &merged, [mine, theirs]);
                        is_unique.then_some(Some(merged)).ok_or(())
                    }
                    (None, None) => Ok(Some(mine.clone())),
                    _ => Err(()),
                }
            }
            staged => staged.on(now.cloned()),
        }
    }

    /// Carries out what was committed.
    pub fn commit(&mut self, transaction: &Transaction) {
        let places = transaction.staged.keys();
        let outcomes: Vec<_> =
            places.map(|place| (*place, self.outcome(*place, transaction).unwrap())).collect();
        self.commits += 1;
        for (place, outcome) in outcomes {
            self.touched.insert(place, self.commits);
            match outcome {
                Some(text) => self.documents.insert(place, text),
                None => self.documents.remove(&place),
            };
        }
        assert!(!self.has_duplicate(&self.documents), "{:?}", self.documents);
    }

    /// Whether the unique values of `merged` are all of one of the two sides.
    fn is_of(&self, collection: usize, merged: &str, sides: [&str; 2]) -> bool {
        self.unique(collection).all(|index| {
            let values = |text| fuzzing::index_values(index, text).unwrap();
            let [mine, theirs] = sides.map(values);
            values(merged).iter().all(|row| mine.contains(row) || theirs.contains(row))
        })
    }

    fn has_duplicate(&self, documents: &Documents) -> bool {
        let mut taken = BTreeSet::new();
        for (place, text) in documents {
            for index in self.unique(place.0) {
                for values in fuzzing::index_values(index, text).unwrap() {
                    if !taken.insert((place.0, index.name.clone(), values)) {
                        return true;
                    }
                }
            }
        }
        false
    }
}

impl Staged {
    fn on(&self, document: Option<String>) -> Result<Option<String>, ()> {
        match self {
            Self::Put(text) => Ok(Some(text.clone())),
            Self::Delete => Ok(None),
            Self::Merge(operations) => operations.iter().try_fold(document, |document, one| {
                let resolved = fuzzing::resolve(one, document.as_deref()).map_err(drop)?;
                Ok(resolved.or(document))
            }),
        }
    }
}

impl Read {
    /// What of `documents` the read sees.
    fn sees<'a>(&self, documents: &'a Documents) -> Vec<(String, &'a str)> {
        let in_range = |place: &Place| match &self.seen {
            Seen::Document(seen) => seen == place,
            Seen::Keys(collection, keys) => *collection == place.0 && keys.contains(&place.1),
            Seen::Rows(collection, ..) => *collection == place.0,
        };
        let is_own = |place: &Place| match &self.seen {
            Seen::Document(_) => false,
            _ => self.own.contains(place),
        };
        let mut seen = Vec::new();
        for (place, text) in documents.iter().filter(|(p, _)| in_range(p) && !is_own(p)) {
            match &self.seen {
                // What is in the document was noted as a read of it.
                Seen::Rows(_, index, rows) => {
                    let all = rows_of(index, place.1, text).into_iter();
                    seen.extend(all.filter(|row| rows.contains(row)).map(|row| (row, "")));
                }
                _ => seen.push((KEYS[place.1].to_owned(), text)),
            }
        }
        seen
    }
}

fn rows_of(index: &IndexDefinition, key: usize, text: &str) -> Vec<String> {
    let values = fuzzing::index_values(index, text).unwrap();
    values.into_iter().map(|values| values + KEYS[key]).collect()
}

impl Transaction {
    /// What the transaction sees: the view with its own writes.
    fn overlay(&self) -> Documents {
        let mut documents = self.view.clone();
        for place in self.staged.keys() {
            match self.document(*place) {
                Some(text) => documents.insert(*place, text),
                None => documents.remove(place),
            };
        }
        documents
    }

    fn document(&self, place: Place) -> Option<String> {
        let base = self.view.get(&place).cloned();
        match self.staged.get(&place) {
            Some(staged) => staged.on(base).unwrap(),
            None => base,
        }
    }

    fn has_read(&self, place: Place) -> bool {
        self.reads.iter().any(|read| matches!(read.seen, Seen::Document(seen) if seen == place))
    }

    fn note(&mut self, seen: Seen) {
        self.reads.push(Read { seen, own: self.staged.keys().copied().collect() });
    }

    pub fn get(&mut self, place: Place) -> Option<String> {
        if !matches!(self.staged.get(&place), Some(Staged::Put(_) | Staged::Delete)) {
            self.note(Seen::Document(place));
        }
        self.document(place)
    }

    pub fn put(&mut self, place: Place, text: String) {
        self.staged.insert(place, Staged::Put(text));
    }

    pub fn delete(&mut self, place: Place) {
        self.staged.insert(place, Staged::Delete);
    }

    /// Stages an operation; false if it is refused.
    pub fn merge(&mut self, model: &Model, place: Place, operation: Merge) -> bool {
        if fuzzing::check(&operation).is_err() {
            return false;
        }
        let mut unique = model.unique(place.0).flat_map(|index| &index.paths);
        let is_unique = unique.any(|path| fuzzing::may_change(&operation, &path.path));
        let current = if is_unique { self.get(place) } else { self.document(place) };
        let Ok(resolved) = fuzzing::resolve(&operation, current.as_deref()) else {
            self.note(Seen::Document(place));
            return false;
        };
        match self.staged.get_mut(&place) {
            Some(Staged::Merge(operations)) if !is_unique => operations.push(operation),
            None if !is_unique => {
                self.staged.insert(place, Staged::Merge(vec![operation]));
            }
            _ => {
                if let Some(text) = resolved {
                    self.put(place, text);
                }
            }
        }
        true
    }

    /// The keys and documents of a range in ascending order, or descending.
    pub fn range(
        &mut self,
        collection: usize,
        (first, last): (usize, usize),
        is_descending: bool,
        limit: usize,
    ) -> Vec<(String, String)> {
        let overlay = self.overlay();
        let keys = (first..=last).filter(|key| overlay.contains_key(&(collection, *key)));
        let mut found: Vec<usize> = keys.collect();
        if is_descending {
            found.reverse();
        }
        found.truncate(limit);
        let mut seen = first..=last;
        if let Some(end) = found.last().filter(|_| found.len() == limit) {
            seen = if is_descending { *end..=last } else { first..=*end };
        }
        self.note(Seen::Keys(collection, seen));
        let entry = |key: usize| (KEYS[key].to_owned(), overlay[&(collection, key)].clone());
        found.into_iter().map(entry).collect()
    }

    /// The rows and documents of a range of an index in ascending order, or descending.
    pub fn index_range(
        &mut self,
        (collection, index): (usize, &IndexDefinition),
        rows: Rows,
        is_descending: bool,
        limit: usize,
    ) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for ((_, key), text) in self.overlay().iter().filter(|(place, _)| place.0 == collection) {
            let all = rows_of(index, *key, text).into_iter().filter(|row| rows.contains(row));
            found.extend(all.map(|row| (row, *key, text.clone())));
        }
        found.sort();
        if is_descending {
            found.reverse();
        }
        found.truncate(limit);
        let mut seen = rows;
        if let Some((end, ..)) = found.last().filter(|_| found.len() == limit) {
            let bound = Bound::Included(end.clone());
            if is_descending { seen.0 = bound } else { seen.1 = bound }
        }
        self.note(Seen::Rows(collection, index.clone(), seen));
        found
            .into_iter()
            .map(|(row, key, text)| {
                self.get((collection, key));
                (row, text)
            })
            .collect()
    }
}
