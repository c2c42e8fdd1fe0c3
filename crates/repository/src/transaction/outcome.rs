//! How a transaction ends: what it is checked for, and the report if it lost.

use super::{Isolation, Transaction};
use crate::conflict::{Conflict, Contested, Read};
use crate::cursor::Cursor;
use crate::document::{CommitNumber, Document, MediaType};
use crate::errors::{CommitError, ReadError};
use crate::hot::{Collection, Index, alive};
use crate::index;
use crate::json;
use crate::limits::CONTESTED_PATHS_MAX;
use crate::name::{CollectionName, Key};
use crate::range::{Direction, KeyRange};
use crate::record::Change;
use crate::seeded::SeededMap;
use crate::store::{Decision, Proposal};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How a commit ended.
#[derive(Debug)]
pub enum Outcome {
    /// Committed under this number. A reply may leave when `durable >= number`.
    Committed(CommitNumber),
    /// There was nothing to write. A reply may leave when `durable >=` this number, the view's.
    Unchanged(CommitNumber),
    /// Something that was read has changed since the view. Nothing was committed.
    Conflict(Conflict),
    /// Two documents would have the same values in a unique index. Nothing was committed.
    Duplicate(Duplicate),
    /// A transaction in the serial lane touches the same documents. Nothing was committed; the
    /// caller may try again on a fresh view.
    HeldBack,
}

/// Values that a unique index already has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{collection}/{key} would have the same values in the index {index} as {holder}")]
pub struct Duplicate {
    /// The collection.
    pub collection: CollectionName,
    /// The unique index.
    pub index: String,
    /// The document that was to be written.
    pub key: Key,
    /// The document that has the values.
    pub holder: Key,
}

impl Transaction {
    /// Decides. Never waits for the log; but what unique indexes hold, and what a report of a
    /// conflict tells, may have to be read.
    pub fn commit(mut self) -> Result<Outcome, CommitError> {
        self.decide(false)
    }

    /// As `commit`, for a caller that wants to know of a conflict and of nothing else: where the
    /// serial lane has its documents, it waits for its turn there, after which it has lost or
    /// nobody is in its way. May block. Held back all the same: it was abandoned meanwhile.
    pub fn commit_in_turn(mut self) -> Result<Outcome, CommitError> {
        match self.decide(false)? {
            Outcome::HeldBack => {
                let store = Arc::clone(&self.store);
                let turn = store.lane.enter();
                self.decide(turn.is_held())
            }
            outcome => Ok(outcome),
        }
    }

    /// As `commit`; `in_lane` says that the caller is in the serial lane.
    pub(crate) fn decide(&mut self, in_lane: bool) -> Result<Outcome, CommitError> {
        let reads = std::mem::take(&mut self.read_size.documents) as u64;
        self.store.counters.reads.fetch_add(reads, Ordering::Relaxed);
        if self.is_unchanged() {
            return Ok(Outcome::Unchanged(self.view.number));
        }
        if let Some(duplicate) = self.duplicate()? {
            return Ok(Outcome::Duplicate(duplicate));
        }
        let proposal = Proposal {
            durability: self.durability(),
            view: &self.view,
            reads: &self.reads,
            first_to_expire: self.first_to_expire.as_ref(),
            writes: &mut self.writes,
            checks_writes: self.isolation == Isolation::Snapshot,
            in_lane,
        };
        Ok(match self.store.commit(proposal)? {
            Decision::Committed(number) => Outcome::Committed(number),
            Decision::Conflict(conflict) => Outcome::Conflict(self.report(conflict)),
            Decision::HeldBack => Outcome::HeldBack,
        })
    }

    /// Looks for values that a unique index would have twice, and notes that nobody else has them:
    /// so whoever adds them meanwhile is a conflict.
    fn duplicate(&mut self) -> Result<Option<Duplicate>, ReadError> {
        let mut taken: SeededMap<(u32, String), Key> = SeededMap::default();
        for at in 0..self.writes.len() {
            let indexed = self.writes[at].collection.as_ref().filter(|c| !c.is_plain());
            let Some(collection) = indexed.cloned() else { continue };
            let shape = collection.shape();
            let is_built_on = self.writes[at].write.change == Change::Reindex;
            for index in shape.indexes.iter().filter(|index| index.definition.unique) {
                // Building an index changes no document, so the others stay as they are.
                if is_built_on && (index.is_ready() || index.failure.lock().is_some()) {
                    continue;
                }
                let Some(document) = self.staged_document(at) else { continue };
                // It was checked when it was staged.
                let values = index::values(&index.definition, &document).unwrap_or_default();
                for values in values {
                    let key = self.writes[at].write.key.clone();
                    let range = KeyRange::prefix(&values);
                    let holder = match taken.insert((index.rows.id, values), key.clone()) {
                        Some(holder) => Some(holder),
                        None => self.holder(&collection, index, &range, &key)?,
                    };
                    if let Some(holder) = holder {
                        let (collection, index) =
                            (collection.name.clone(), index.definition.name.clone());
                        return Ok(Some(Duplicate { collection, index, key, holder }));
                    }
                    index.rows.expect_ranges();
                    self.note(Read::Range(Arc::clone(&index.rows), range))?;
                }
            }
        }
        Ok(None)
    }

    /// The document other than `key` that has a row in `range` and keeps it.
    fn holder(
        &mut self,
        collection: &Arc<Collection>,
        index: &Index,
        range: &KeyRange,
        key: &Key,
    ) -> Result<Option<Key>, ReadError> {
        let direction = Direction::Ascending;
        let range = (range.clone(), direction);
        let mut rows = Cursor::new(&self.store, &self.view, &index.rows, range, 2);
        let mut expired = Vec::new();
        while let Some((row, _)) = rows.next()? {
            let holder = index.rows.document_key(&row);
            // What is staged is compared with each other.
            if holder == *key || self.find_staged(&collection.name, &holder).is_some() {
                continue;
            }
            let (cell, document) = self.store.find(&self.view, collection, &holder)?;
            if alive(document.clone(), self.view.time).is_some() {
                return Ok(Some(holder));
            }
            if let Some(document) = &document {
                self.read_size.count(Some(document))?;
            }
            // It has expired and still has its row; it must not come back meanwhile.
            expired.extend(cell);
        }
        drop(rows);
        expired.into_iter().try_for_each(|cell| self.note(Read::Document(cell)))?;
        Ok(None)
    }

    /// Adds the paths that changed, and counts.
    fn report(&self, mut conflict: Conflict) -> Conflict {
        for contested in &mut conflict.documents {
            if let Some(collection) = self.store.hot.collection(&contested.collection) {
                collection.conflicts.fetch_add(1, Ordering::Relaxed);
                if contested.paths.is_empty() {
                    contested.paths = self.changed_paths(&collection, contested);
                }
            }
        }
        self.store.counters.conflicts.fetch_add(1, Ordering::Relaxed);
        self.store.counters.contention.lock().note(&conflict);
        conflict
    }

    /// Where the document that the view sees and the present one differ. Nothing depends on it, so
    /// what cannot be read is left out.
    fn changed_paths(&self, collection: &Arc<Collection>, contested: &Contested) -> Vec<String> {
        let seen = self.store.find(&self.view, collection, &contested.key);
        let before = seen.ok().and_then(|(_, document)| document);
        let after = collection.find(&contested.key).and_then(|cell| cell.newest().document);
        match (before.as_deref().and_then(text), after.as_deref().and_then(text)) {
            (Some(before), Some(after)) => {
                let mut paths = json::changed_paths(before, after, CONTESTED_PATHS_MAX);
                paths.sort_unstable();
                paths
            }
            _ => Vec::new(),
        }
    }
}

fn text(document: &Document) -> Option<&str> {
    match document.media_type {
        MediaType::Json => std::str::from_utf8(&document.body).ok(),
        MediaType::Other(_) => None,
    }
}
