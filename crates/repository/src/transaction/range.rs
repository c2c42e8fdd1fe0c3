//! Reading ranges: of keys, and of the values in an index. Own staged writes are in them.

use super::stage::UNCOMMITTED;
use super::{Isolation, Transaction};
use crate::apply::Staged;
use crate::conflict::Read;
use crate::cursor::Cursor;
use crate::document::Document;
use crate::errors::ReadError;
use crate::hot::{Collection, Index};
use crate::index::{self, IndexRange, IndexRangeError, IndexValue};
use crate::limits::RANGE_DOCUMENTS_MAX;
use crate::name::{CollectionName, Key};
use crate::range::{Direction, KeyRange};
use crate::record::Change;
use std::collections::VecDeque;
use std::sync::Arc;

/// A document found by an index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexEntry {
    /// The values by which it was found.
    pub values: Vec<IndexValue>,
    /// Its key.
    pub key: Key,
    /// The document.
    pub document: Arc<Document>,
}

/// Own writes in the order in which they are read; `None`: deleted.
type OwnWrites = VecDeque<(Key, Option<Arc<Document>>)>;

/// A place in an index: a row, whether it is there or not.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexPlace {
    /// A value for each path of the index.
    pub values: Vec<IndexValue>,
    /// The key of a document.
    pub key: Key,
}

/// What of an index is to be read.
#[derive(Clone, Debug)]
pub struct IndexRead<'a> {
    /// Its values.
    pub range: &'a IndexRange,
    /// Only what comes after this place, in `direction`.
    pub after: Option<&'a IndexPlace>,
    /// In which order.
    pub direction: Direction,
    /// How many rows; each gives a document.
    pub limit: usize,
}

impl Transaction {
    /// Reads the first `limit` documents of a range in `direction`, and notes what was seen: the
    /// transaction commits only if nobody has changed, added or deleted a document there since its
    /// view. Where `limit` was reached, only the part up to the last document was seen.
    pub fn range(
        &mut self,
        collection: &CollectionName,
        range: &KeyRange,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<(Key, Arc<Document>)>, ReadError> {
        let limit = limit.min(RANGE_DOCUMENTS_MAX);
        if limit == 0 || range.is_empty() {
            return Ok(Vec::new());
        }
        let own = self.own_in(collection, range, direction);
        let at = self.known(collection);
        let known = self.collections[at].1.clone();
        let found = match &known {
            Some(known) => {
                known.expect_ranges();
                // One more than wanted is looked at.
                let whole = (range.clone(), direction);
                let cursor = Cursor::new(&self.store, &self.view, known, whole, limit + 1);
                merge(cursor, (own, direction), limit, &mut self.read_size)?
            }
            None => own.into_iter().filter_map(|(k, d)| Some((k, d?))).take(limit).collect(),
        };
        let seen = match found.last() {
            Some((last, _)) if found.len() == limit => range.clone().up_to(last, direction),
            _ => range.clone(),
        };
        if self.isolation == Isolation::Serializable {
            self.note_range(match known {
                Some(known) => Read::Range(known, seen),
                None => Read::MissingRange(collection.clone(), seen),
            })?;
            // What is staged is not read.
            for (key, document) in found.iter().filter(|(_, d)| d.version != UNCOMMITTED) {
                self.note_expiry(collection, key, document);
            }
        }
        Ok(found)
    }

    /// Own writes in a range, in the order of `direction`.
    fn own_in(
        &self,
        collection: &CollectionName,
        range: &KeyRange,
        direction: Direction,
    ) -> OwnWrites {
        let mut own: Vec<(Key, Option<Arc<Document>>)> = Vec::new();
        for (at, staged) in self.writes.iter().enumerate() {
            if staged.write.collection == *collection && range.contains(&staged.write.key) {
                own.push((staged.write.key.clone(), self.staged_document(at)));
            }
        }
        own.sort_by(|a, b| direction.compare(&a.0, &b.0));
        own.into()
    }

    /// Reads the first `limit` documents of a range of values in `direction`: ordered by their
    /// values, then by their keys. A document with several values in the range is there several
    /// times. Notes what was seen, as [`Self::range`] does, and each document.
    pub fn index_range(
        &mut self,
        collection: &CollectionName,
        index: &str,
        range: &IndexRange,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<IndexEntry>, ReadError> {
        self.index_read(collection, index, IndexRead { range, after: None, direction, limit })
    }

    /// As [`Self::index_range`], from a place on: so what was read up to there is not read again,
    /// and is not what counts as seen.
    pub fn index_read(
        &mut self,
        collection: &CollectionName,
        index: &str,
        read: IndexRead<'_>,
    ) -> Result<Vec<IndexEntry>, ReadError> {
        let IndexRead { direction, limit, .. } = read;
        let limit = limit.min(RANGE_DOCUMENTS_MAX);
        let index = self.index(collection, index)?;
        let range = rows_to_read(&index, &read)?;
        if limit == 0 || range.is_empty() {
            return Ok(Vec::new());
        }
        index.rows.expect_ranges();
        self.note_merged(collection)?;
        let mut own = self.own_rows(collection, &index, &range, direction);
        let mut seen = range.clone();
        let mut entries = Vec::new();
        let store = Arc::clone(&self.store);
        let columns = index.definition.paths.len();
        let mut last: Option<Key> = None;
        loop {
            // The view stays with the transaction, so the cursor is made anew for each page.
            let rest = match &last {
                Some(last) => range.clone().after(last, direction),
                None => range.clone(),
            };
            let wanted = limit - entries.len();
            let rest = (rest, direction);
            let cursor = Cursor::new(&store, &self.view, &index.rows, rest, wanted + 1);
            let rows = self.rows_with_own(collection, cursor, (&own, direction), wanted)?;
            for row in &rows {
                let Some((values, key)) = index::split_row(row.as_str(), columns) else { continue };
                let key = Key::generated(key.to_owned());
                if let Some(document) = self.get(collection, &key)? {
                    entries.push(IndexEntry { values, key, document });
                }
            }
            let Some(end) = rows.last().filter(|_| rows.len() == wanted) else { break };
            own.retain(|row| direction.compare(row, end).is_gt());
            last = Some(end.clone());
            if entries.len() == limit {
                seen = range.clone().up_to(end, direction);
                break;
            }
        }
        if self.isolation == Isolation::Serializable {
            self.note_range(Read::Range(Arc::clone(&index.rows), seen))?;
        }
        Ok(entries)
    }

    /// The next rows in a range, own ones included; those of documents that are staged are only
    /// the own ones.
    fn rows_with_own(
        &self,
        collection: &CollectionName,
        mut cursor: Cursor<'_>,
        (own, direction): (&[Key], Direction),
        limit: usize,
    ) -> Result<Vec<Key>, ReadError> {
        let columns = cursor.columns();
        let is_staged = |row: &Key| {
            let key = index::split_row(row.as_str(), columns).map(|(_, key)| key.to_owned());
            key.is_some_and(|key| self.find_staged(collection, &Key::generated(key)).is_some())
        };
        let mut own = own.iter().peekable();
        let mut rows = Vec::new();
        let mut next = cursor.next()?;
        while rows.len() < limit {
            let own_first = match (&next, own.peek()) {
                (Some((row, _)), Some(own)) => direction.compare(*own, row).is_le(),
                (None, own) => own.is_some(),
                (Some(_), None) => false,
            };
            if own_first {
                rows.extend(own.next().cloned());
            } else if let Some((row, _)) = next {
                if !is_staged(&row) {
                    rows.push(row);
                }
                next = cursor.next()?;
            } else {
                break;
            }
        }
        Ok(rows)
    }

    /// The first keys in a range of a collection or of the rows of an index, as the view has them;
    /// those of expired documents too.
    pub(crate) fn keys(
        &self,
        collection: &Collection,
        range: KeyRange,
        limit: usize,
    ) -> Result<Vec<Key>, ReadError> {
        let ascending = Direction::Ascending;
        let range = (range, ascending);
        let mut cursor = Cursor::new(&self.store, &self.view, collection, range, limit);
        let mut keys = Vec::new();
        while keys.len() < limit
            && let Some((key, _)) = cursor.next_or_expired()?
        {
            keys.push(key);
        }
        Ok(keys)
    }

    fn index(&mut self, collection: &CollectionName, name: &str) -> Result<Arc<Index>, ReadError> {
        let at = self.known(collection);
        let shape = self.collections[at].1.as_ref().map(|c| c.shape()).unwrap_or_default();
        let Some(index) = shape.index(name) else {
            let names: Vec<&str> =
                shape.indexes.iter().map(|index| index.definition.name.as_str()).collect();
            return Err(ReadError::NoIndex {
                collection: collection.to_string(),
                index: name.to_owned(),
                known: if names.is_empty() { "none".to_owned() } else { names.join(", ") },
            });
        };
        if !index.is_ready_at(self.view.number) {
            let (collection, index) = (collection.to_string(), name.to_owned());
            return Err(ReadError::IndexNotReady { collection, index });
        }
        Ok(Arc::clone(index))
    }

    /// Notes what own merge operations work on: whether their results come into a range of values
    /// depends on it.
    fn note_merged(&mut self, collection: &CollectionName) -> Result<(), ReadError> {
        let is_merged = |staged: &&Staged| {
            staged.write.collection == *collection
                && matches!(staged.write.change, Change::Merge(_))
        };
        let keys: Vec<Key> =
            self.writes.iter().filter(is_merged).map(|s| s.write.key.clone()).collect();
        keys.iter().try_for_each(|key| self.read(collection, key).map(drop))
    }

    /// The rows of own staged documents in a range, in the order of `direction`.
    fn own_rows(
        &self,
        collection: &CollectionName,
        index: &Index,
        range: &KeyRange,
        direction: Direction,
    ) -> Vec<Key> {
        let mut own = Vec::new();
        for (at, staged) in self.writes.iter().enumerate() {
            if staged.write.collection != *collection {
                continue;
            }
            let Some(document) = self.staged_document(at) else { continue };
            // It was checked when it was staged.
            let values = index::values(&index.definition, &document).unwrap_or_default();
            let key = staged.write.key.as_str();
            let rows = values.iter().map(|values| Key::generated(index::row_key(values, key)));
            own.extend(rows.filter(|row| range.contains(row)));
        }
        own.sort_by(|a, b| direction.compare(a, b));
        own
    }
}

/// The rows of a range, from a place on.
fn rows_to_read(index: &Index, read: &IndexRead<'_>) -> Result<KeyRange, IndexRangeError> {
    let definition = &index.definition;
    let (from, to) = index::bounds(definition, read.range)?;
    let range = KeyRange::new(from.map(Key::generated), to.map(Key::generated));
    let Some(IndexPlace { values, key }) = read.after else { return Ok(range) };
    // The values must be such as rows have, and as many.
    index::bounds(definition, &IndexRange::equal(values.clone()))?;
    if values.len() < definition.paths.len() {
        let (columns, got) = (definition.paths.len(), values.len());
        let index = definition.name.clone();
        return Err(IndexRangeError::TooFewValues { index, columns, got });
    }
    let mut encoded = String::new();
    values.iter().for_each(|value| value.encode(&mut encoded));
    let place = Key::generated(index::row_key(&encoded, key.as_str()));
    match range.is_after(&place, read.direction) {
        true => Ok(range),
        false => Ok(range.after(&place, read.direction)),
    }
}

/// The first `limit` documents of both, where own ones stand before those of the view.
fn merge(
    mut cursor: Cursor<'_>,
    (mut own, direction): (OwnWrites, Direction),
    limit: usize,
    read_size: &mut super::ReadSize,
) -> Result<Vec<(Key, Arc<Document>)>, ReadError> {
    let mut found = Vec::new();
    let mut next = cursor.next()?;
    while found.len() < limit {
        let order = match (&next, own.front()) {
            (Some((key, _)), Some((own, _))) => direction.compare(own, key),
            (None, Some(_)) => std::cmp::Ordering::Less,
            (Some(_), None) => std::cmp::Ordering::Greater,
            (None, None) => break,
        };
        if order.is_le() {
            let document = own.pop_front().and_then(|(key, document)| Some((key, document?)));
            found.extend(document);
        } else {
            if let Some((_, document)) = &next {
                read_size.count(Some(document))?;
            }
            found.extend(next.take());
        }
        if order.is_ge() {
            next = cursor.next()?;
        }
    }
    Ok(found)
}
