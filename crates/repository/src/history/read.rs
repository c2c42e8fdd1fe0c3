//! Reading versions that were replaced or removed. What a commit left does not change any more, so
//! nothing that is read here is noted.

use super::{Floor, HistoryRows, floor_row, rows_between, split_row};
use crate::cursor::Cursor;
use crate::document::{CommitNumber, Document, Timestamp};
use crate::errors::ReadError;
use crate::hot::{Collection, alive};
use crate::limits::RANGE_DOCUMENTS_MAX;
use crate::name::{CollectionName, Key};
use crate::range::Direction;
use crate::transaction::Transaction;
use std::sync::Arc;

/// Which past is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// What this commit left, whether it changed the document or not.
    Commit(CommitNumber),
    /// What all commits of this time and before left.
    Time(Timestamp),
}

/// What was there.
#[derive(Clone, Debug, PartialEq)]
pub enum Past {
    /// This version.
    Document(Arc<Document>),
    /// No document.
    Absent,
    /// Nobody knows any more, or never did: versions are complete from this commit on. `None`: the
    /// collection keeps none.
    NotKept(Option<CommitNumber>),
    /// It has not come: this is the newest commit, and its time, from which on there may be more.
    NotYet(CommitNumber, Timestamp),
}

/// A version of a document, or that it was removed.
#[derive(Clone, Debug, PartialEq)]
pub struct VersionEntry {
    /// The commit that wrote, or removed, it.
    pub commit: CommitNumber,
    /// The time of that commit.
    pub time: Timestamp,
    /// The version; `None`: it was removed.
    pub document: Option<Arc<Document>>,
}

/// Some versions of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Versions {
    /// The newest first, the present one among them.
    pub entries: Vec<VersionEntry>,
    /// From this commit on they are complete. `None`: the collection keeps none.
    pub since: Option<CommitNumber>,
    /// Whether there may be more before the last of them.
    pub has_more: bool,
}

/// A version that was kept, and the commit that replaced or removed it.
struct Kept {
    document: Arc<Document>,
    until: (CommitNumber, Timestamp),
}

impl Moment {
    /// Whether a commit is after it.
    fn is_before(self, (number, time): (CommitNumber, Timestamp)) -> bool {
        match self {
            Self::Commit(at) => at < number,
            Self::Time(at) => at < time,
        }
    }
}

impl Transaction {
    /// The version of a document that was there at a moment before the view. Own staged writes are
    /// not seen. A document with an expiry counts as there until its removal was committed.
    pub fn past(
        &mut self,
        collection: &CollectionName,
        key: &Key,
        at: Moment,
    ) -> Result<Past, ReadError> {
        let (view, time) = (self.view(), self.time());
        // Commits of the view's own time may still come.
        let is_past = match at {
            Moment::Commit(at) => at <= view,
            Moment::Time(at) => at < time,
        };
        if !is_past {
            return Ok(Past::NotYet(view, time));
        }
        // One that is not there may have been dropped.
        let Some(collection) = self.collection_of(collection) else {
            return Ok(Past::NotKept(None));
        };
        let present = self.present_of(&collection, key)?;
        if let Some(present) = present.filter(|d| !at.is_before((d.version, d.updated))) {
            return Ok(alive(Some(present), time).map_or(Past::Absent, Past::Document));
        }
        let Some(history) = collection.shape().history.clone() else {
            return Ok(Past::NotKept(None));
        };
        let Some(floor) = self.floor(&history, key)? else { return Ok(Past::NotKept(None)) };
        match self.first_after(&history, key, at)? {
            Some(Kept { document, until }) if document.is_expired(time) => {
                Ok(Past::NotKept(Some(until.0.max(floor.commit))))
            }
            Some(Kept { document, .. }) if !at.is_before((document.version, document.updated)) => {
                Ok(Past::Document(without_expiry(&document)))
            }
            _ if at.is_before((floor.commit, floor.time)) => Ok(Past::NotKept(Some(floor.commit))),
            _ => Ok(Past::Absent),
        }
    }

    /// Versions of a document that commits before `before` wrote, the newest first, and where it
    /// was removed in between; at most `limit`, 10,000 and 16 MiB of them.
    pub fn versions(
        &mut self,
        collection: &CollectionName,
        key: &Key,
        before: Option<CommitNumber>,
        limit: usize,
    ) -> Result<Versions, ReadError> {
        let limit = limit.clamp(1, RANGE_DOCUMENTS_MAX);
        let mut versions = Versions::default();
        let Some(collection) = self.collection_of(collection) else { return Ok(versions) };
        let mut next = before;
        if before.is_none()
            && let Some(present) = self.present_of(&collection, key)?
        {
            next = Some(present.version);
            let shown = alive(Some(present), self.time());
            versions.entries.extend(shown.map(VersionEntry::of));
        }
        let Some(history) = collection.shape().history.clone() else { return Ok(versions) };
        versions.since = self.floor(&history, key)?.map(|floor| floor.commit);
        if versions.since.is_some() {
            self.push_kept(&history, key, (next, limit), &mut versions)?;
        }
        Ok(versions)
    }

    /// Adds what was kept, from what the commit `next` replaced or removed on.
    fn push_kept(
        &mut self,
        history: &HistoryRows,
        key: &Key,
        (mut next, limit): (Option<CommitNumber>, usize),
        versions: &mut Versions,
    ) -> Result<(), ReadError> {
        let time = self.time();
        let (store, view) = self.ground();
        let range = (rows_between(key, CommitNumber(0), next), Direction::Descending);
        let mut cursor = Cursor::new(store, view, &history.rows, range, limit + 1);
        let mut bytes = 0;
        while let Some((row, document)) = cursor.next_or_expired()? {
            let Some((_, (number, when))) = split_row(row.as_str()) else { continue };
            // What is older has expired, too.
            if document.is_expired(time) {
                break;
            }
            bytes += document.body.len();
            versions.has_more = versions.entries.len() >= limit || bytes > PAGE_BYTES;
            if versions.has_more {
                break;
            }
            if next != Some(number) {
                let removed = VersionEntry { commit: number, time: when, document: None };
                versions.entries.push(removed);
            }
            versions.has_more = versions.entries.len() >= limit;
            if versions.has_more {
                break;
            }
            next = Some(document.version);
            versions.entries.push(VersionEntry::of(without_expiry(&document)));
        }
        Ok(())
    }

    /// What is known of `key` from there on.
    fn floor(&mut self, history: &HistoryRows, key: &Key) -> Result<Option<Floor>, ReadError> {
        let of = |found: Option<Arc<Document>>| {
            found.map(|row| Floor { commit: row.version, time: row.updated })
        };
        let everybodys = of(self.present_of(&history.rows, &floor_row(""))?);
        let own = of(self.present_of(&history.rows, &floor_row(key.as_str()))?);
        // There is one of everybody unless the history began after the view.
        Ok(everybodys.map(|floor| floor.max(own.unwrap_or_default())))
    }

    /// The first version of `key` that a commit after the moment replaced or removed.
    fn first_after(
        &self,
        history: &HistoryRows,
        key: &Key,
        at: Moment,
    ) -> Result<Option<Kept>, ReadError> {
        let time = match at {
            Moment::Commit(at) => return self.kept_after(history, key, at),
            Moment::Time(time) => time,
        };
        // Times rise with the numbers: up to `low` none is after the moment, beyond `high` all are.
        let (mut low, mut high) = (0, self.view().0);
        let mut first = None;
        while low < high {
            let middle = low + (high - low) / 2;
            match self.kept_after(history, key, CommitNumber(middle))? {
                Some(kept) if kept.until.1 <= time => low = kept.until.0.0,
                found => {
                    first = found.or(first);
                    high = middle;
                }
            }
        }
        Ok(first)
    }

    /// The first version of `key` that a commit after this one replaced or removed.
    fn kept_after(
        &self,
        history: &HistoryRows,
        key: &Key,
        after: CommitNumber,
    ) -> Result<Option<Kept>, ReadError> {
        let (store, view) = self.ground();
        let range = (rows_between(key, after, None), Direction::Ascending);
        let next = Cursor::new(store, view, &history.rows, range, 1).next_or_expired()?;
        Ok(next
            .and_then(|(row, document)| Some(Kept { document, until: split_row(row.as_str())?.1 })))
    }

    /// What the view has, expired or not.
    fn present_of(
        &mut self,
        collection: &Arc<Collection>,
        key: &Key,
    ) -> Result<Option<Arc<Document>>, ReadError> {
        let (store, view) = self.ground();
        let found = store.find_once(view, collection, key)?;
        self.count_bytes(&found)?;
        Ok(found.1)
    }
}

/// Most bytes of bodies that one reading of versions looks at, unless one alone has more.
const PAGE_BYTES: usize = 16 << 20;

impl VersionEntry {
    fn of(document: Arc<Document>) -> Self {
        Self { commit: document.version, time: document.updated, document: Some(document) }
    }
}

/// A kept version as it was written, but for its expiry, which is the row's.
fn without_expiry(document: &Document) -> Arc<Document> {
    Arc::new(Document { expires: None, ..document.clone() })
}
