//! The versions that a collection keeps of documents that were replaced or removed: how they are
//! laid down. `docs/history.md`; `docs/format.md`, "History rows".
//!
//! They are rows of a collection of their own, as those of an index are: `apply` derives them, so
//! that replay gives the same ones. Reading them is in `read`, removing them in `trim`.

mod read;
mod trim;

pub use read::{Moment, Past, VersionEntry, Versions};
pub(crate) use trim::{Expired, Trimmer, trimmed_rows};

use crate::blobs::{BlobReference, REFERENCE_BYTES};
use crate::document::{CommitNumber, Document, MediaType, Timestamp};
use crate::hot::{Collection, Hot};
use crate::limits::HISTORY_WAITING_MAX;
use crate::name::Key;
use crate::range::KeyRange;
use crate::rows::RowChange;
use crate::seeded::SeededSet;
use crate::settings::History;
use bytes::Bytes;
use parking_lot::Mutex;
use std::ops::Bound;
use std::sync::Arc;

/// Between a document's key, which has no control characters, and the rest of a row.
const SEPARATOR: char = '\u{1}';

/// What is right behind it.
const AFTER_SEPARATOR: char = '\u{2}';

/// Digits of a commit's number and of its time in a row.
const DIGITS: usize = 16;

/// The history of one collection.
#[derive(Clone, Debug)]
pub(crate) struct HistoryRows {
    pub rows: Arc<Collection>,
    pub keep: History,
    /// There may be more of a document than is to be kept.
    pub is_trimming: bool,
    pub waiting: Arc<Mutex<Waiting>>,
}

/// Documents that have got new versions since their histories were trimmed last.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    pub keys: SeededSet<Key>,
    /// They were too many to be noted one by one.
    pub is_everything: bool,
}

impl Waiting {
    /// None, or all that there are.
    pub(crate) fn new(is_everything: bool) -> Self {
        Self { is_everything, ..Self::default() }
    }

    fn note(&mut self, key: Key) {
        match self.keys.len() < HISTORY_WAITING_MAX {
            true => drop(self.keys.insert(key)),
            false => self.is_everything = true,
        }
    }
}

/// Up to where nothing is known of what was removed: before this commit, a version that is not
/// there may have been.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Floor {
    pub commit: CommitNumber,
    /// Its time.
    pub time: Timestamp,
}

/// Rows of a history that are not kept any longer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trim {
    /// The history's id.
    pub history: u32,
    /// Up to where removing them takes away what is known: of the document with this key, or, if
    /// it is empty, of all.
    pub floor: Option<(Key, Floor)>,
    /// Those that go.
    pub rows: Vec<TrimmedRow>,
}

/// A row of a history that goes, with what is said of it elsewhere: that goes, too.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TrimmedRow {
    pub row: Key,
    /// The time of its own row in the table of what expires.
    pub expires: Option<Timestamp>,
    /// The blob that it names.
    pub blob: Option<BlobReference>,
}

impl Trim {
    /// At most the bytes that it takes in a record.
    pub(crate) fn bytes(&self) -> usize {
        let floor = self.floor.as_ref().map_or(0, |(key, _)| 18 + key.as_str().len());
        let rows = self.rows.iter().map(|row| 11 + REFERENCE_BYTES + row.row.as_str().len());
        8 + floor + rows.sum::<usize>()
    }
}

/// The row of a version of `key` that was replaced or removed by this commit.
fn row_key(key: &Key, (number, time): (CommitNumber, Timestamp)) -> Key {
    Key::generated(format!("{key}{SEPARATOR}{:016x}{:016x}", number.0, time.0))
}

/// The key of the document, and the commit that replaced or removed the version.
fn split_row(row: &str) -> Option<(&str, (CommitNumber, Timestamp))> {
    let (key, digits) = row.split_once(SEPARATOR)?;
    let (number, time) = digits.split_at_checked(DIGITS)?;
    let number = u64::from_str_radix(number, 16).ok()?;
    let time = u64::from_str_radix(time, 16).ok()?;
    Some((key, (CommitNumber(number), Timestamp(time))))
}

/// How a row of a history is told to people.
pub(crate) fn told(row: &str) -> String {
    match split_row(row) {
        Some((key, (until, _))) => format!("{key}, as it was before commit {until}"),
        None => row.to_owned(),
    }
}

/// The document, or the version of one, that the collection or history with this id has under
/// `key`.
pub(crate) fn named_by(hot: &Hot, id: u32, key: &str) -> Option<String> {
    match hot.rows_by_id(id) {
        Some(rows) => Some(format!("{}/{}", rows.name, told(key))),
        None => Some(format!("{}/{key}", hot.by_id(id)?.name)),
    }
}

/// The row with the floor of `key`, or of everything if that is empty. It comes before all others
/// of the key.
fn floor_row(key: &str) -> Key {
    row_key(&Key::generated(key.to_owned()), (CommitNumber(0), Timestamp(0)))
}

/// The rows of versions of `key` that commits after `after`, and up to `to`, replaced or removed.
fn rows_between(key: &Key, after: CommitNumber, to: Option<CommitNumber>) -> KeyRange {
    let from = Key::generated(format!("{key}{SEPARATOR}{:016x}", after.0.saturating_add(1)));
    let to = Key::generated(match to.and_then(|to| to.0.checked_add(1)) {
        Some(end) => format!("{key}{SEPARATOR}{end:016x}"),
        None => format!("{key}{AFTER_SEPARATOR}"),
    });
    KeyRange::new(Bound::Included(from), Bound::Excluded(to))
}

/// A floor as the row that holds it.
fn floor_document(floor: Floor) -> Document {
    Document {
        media_type: MediaType::Json,
        body: Bytes::new(),
        version: floor.commit,
        created: floor.time,
        updated: floor.time,
        expires: None,
        blob: None,
    }
}

/// The floor that a history begins with, where `of` has got one by the commit `at`.
pub(crate) fn first_floor(of: &HistoryRows, at: (CommitNumber, Timestamp)) -> RowChange {
    floor_change(&of.rows, "", Floor { commit: at.0, time: at.1 })
}

fn floor_change(rows: &Arc<Collection>, key: &str, floor: Floor) -> RowChange {
    RowChange::floor(Arc::clone(rows), floor_row(key), floor_document(floor))
}

/// The rows that keep `before`, which the commit `at` replaces or removes.
pub(crate) fn kept_rows(
    collection: &Collection,
    key: &Key,
    at: (CommitNumber, Timestamp),
    before: Option<&Document>,
) -> Vec<RowChange> {
    let Some(before) = before.filter(|_| !collection.is_plain()) else { return Vec::new() };
    let shape = collection.shape();
    let Some(history) = &shape.history else { return Vec::new() };
    let expires = match history.keep {
        History::AgeMs(ms) => Some(Timestamp(at.1.0.saturating_add(ms))),
        History::None | History::Versions(_) => None,
    };
    let row = row_key(key, at);
    let kept = Document { expires, ..before.clone() };
    let mut changes = Vec::with_capacity(3);
    changes.extend(RowChange::version_expiry(&history.rows, &row, &kept, true));
    changes.extend(kept.blob.map(|blob| RowChange::version_blob(&history.rows, &row, blob, true)));
    changes.push(RowChange::version(Arc::clone(&history.rows), row, Some(kept)));
    changes
}

/// Notes that a document has got another version, for whoever trims.
pub(crate) fn note(collection: &Collection, key: &Key) {
    if collection.is_plain() {
        return;
    }
    if let Some(history) = &collection.shape().history
        && matches!(history.keep, History::Versions(_))
    {
        history.waiting.lock().note(key.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_fall_into_their_parts_and_sort_by_key_and_commit() {
        let key = |text: &str| Key::new(text).unwrap();
        let at = |number| (CommitNumber(number), Timestamp(7));
        let row = row_key(&key("a/ü"), at(300));
        assert_eq!(split_row(row.as_str()), Some(("a/ü", at(300))));
        assert_eq!(told(row.as_str()), "a/ü, as it was before commit 300");
        for wrong in ["a", "a\u{1}", "a\u{1}12", "a\u{1}zzzzzzzzzzzzzzzz0000000000000000"] {
            assert_eq!(split_row(wrong), None, "{wrong:?}");
        }
        let rows = [
            floor_row(""),
            floor_row("a"),
            row_key(&key("a"), at(9)),
            row_key(&key("a"), at(256)),
            row_key(&key("a!"), at(1)),
        ];
        assert!(rows.is_sorted());
        let within = |after, to: Option<u64>| {
            let range = rows_between(&key("a"), CommitNumber(after), to.map(CommitNumber));
            rows.iter().map(|row| range.contains(row)).collect::<Vec<_>>()
        };
        assert_eq!(within(0, None), [false, false, true, true, false]);
        assert_eq!(within(9, None), [false, false, false, true, false]);
        assert_eq!(within(8, Some(255)), [false, false, true, false, false]);
        assert_eq!(within(0, Some(u64::MAX)), [false, false, true, true, false]);
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut waiting = Waiting::default();
        for i in 0..HISTORY_WAITING_MAX {
            waiting.note(Key::generated(i.to_string()));
        }
        assert!(!waiting.is_everything);
        waiting.note(Key::generated("beyond".to_owned()));
        assert_eq!((waiting.keys.len(), waiting.is_everything), (HISTORY_WAITING_MAX, true));
    }
}
