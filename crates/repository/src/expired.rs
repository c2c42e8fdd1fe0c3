//! Documents that have expired and are kept, unseen by views, until somebody has seen to them: of
//! these collections the reaper removes nothing. Which they are is not written down; it is said at
//! each opening and may change while the repository is open.

use crate::cursor::Cursor;
use crate::document::Timestamp;
use crate::errors::ReadError;
use crate::name::{CollectionName, Key};
use crate::range::{Direction, KeyRange};
use crate::repository::Repository;
use crate::rows::{expiry_row, split_expiry_row};
use crate::seeded::SeededSet;
use parking_lot::Mutex;
use std::ops::Bound;
use std::sync::Arc;

/// The collections whose expired documents stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Kept {
    /// None of them: the reaper removes what has expired.
    #[default]
    Nothing,
    /// Those of these collections.
    Of(SeededSet<CollectionName>),
    /// All: for whoever opens the repository without knowing what is kept.
    Everything,
}

impl Kept {
    /// Those of `names`.
    pub fn of(names: impl IntoIterator<Item = CollectionName>) -> Self {
        let names: SeededSet<CollectionName> = names.into_iter().collect();
        if names.is_empty() { Self::Nothing } else { Self::Of(names) }
    }

    pub(crate) fn has(&self, name: &CollectionName) -> bool {
        match self {
            Self::Nothing => false,
            Self::Of(names) => names.contains(name),
            Self::Everything => true,
        }
    }
}

/// What is kept now, and how often that has changed.
#[derive(Debug, Default)]
pub(crate) struct Keeping(Mutex<(u64, Arc<Kept>)>);

impl Keeping {
    pub(crate) fn new(kept: Kept) -> Self {
        Self(Mutex::new((0, Arc::new(kept))))
    }

    pub(crate) fn get(&self) -> (u64, Arc<Kept>) {
        self.0.lock().clone()
    }

    fn set(&self, kept: Kept) {
        let mut now = self.0.lock();
        if *now.1 != kept {
            *now = (now.0 + 1, Arc::new(kept));
        }
    }
}

/// A document that has expired and is kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expired {
    /// Where it is.
    pub collection: CollectionName,
    /// Where it is.
    pub key: Key,
    /// Since when it is not seen any more.
    pub at: Timestamp,
}

/// A place in the order in which documents expire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpiryPosition {
    table: usize,
    row: Key,
}

/// Some of what has expired and is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpiredPage {
    /// In the order in which they expired; those of volatile collections come last.
    pub documents: Vec<Expired>,
    /// Where to go on. `None`: that was all.
    pub next: Option<ExpiryPosition>,
    /// The time of the view that was read.
    pub time: Timestamp,
}

impl Repository {
    /// Says which collections are kept from now on. What has expired in others is removed.
    pub fn keep_expired(&self, kept: Kept) {
        self.store.keeping.set(kept);
    }

    /// What has expired and is kept, after a position; looks at `rows_max` documents that have
    /// expired. [`Transaction::expired`](crate::Transaction::expired) reads such a document, and
    /// whoever deletes it has seen to it.
    pub fn expired(
        &self,
        after: Option<&ExpiryPosition>,
        rows_max: usize,
    ) -> Result<ExpiredPage, ReadError> {
        let store = &self.store;
        let (_, kept) = store.keeping.get();
        let view = store.views.pin((store.clock)());
        let mut page = ExpiredPage { time: view.time, ..ExpiredPage::default() };
        if *kept == Kept::Nothing {
            return Ok(page);
        }
        let mut looked = 0;
        let first = after.map_or(0, |position| position.table);
        let tables = [&store.hot.expiry, &store.hot.volatile_expiry];
        for (table, rows) in tables.into_iter().enumerate().skip(first) {
            let passed = after.filter(|position| position.table == table);
            let range = due(passed.map(|position| &position.row), view.time);
            let mut cursor = Cursor::new(store, &view, rows, range, rows_max);
            while let Some((row, _)) = cursor.next()? {
                if let Some((at, id, key)) = split_expiry_row(row.as_str())
                    && let Some(collection) = store.hot.by_id(id)
                    && kept.has(&collection.name)
                    && collection.ended().is_none()
                {
                    let key = Key::generated(key.to_owned());
                    let collection = collection.name.clone();
                    page.documents.push(Expired { collection, key, at });
                }
                looked += 1;
                if looked >= rows_max {
                    page.next = Some(ExpiryPosition { table, row });
                    return Ok(page);
                }
            }
        }
        Ok(page)
    }
}

/// The rows of what has expired by `time`, after the one that was passed. Another commit of this
/// very millisecond may still add rows; earlier ones cannot appear.
pub(crate) fn due(passed: Option<&Key>, time: Timestamp) -> (KeyRange, Direction) {
    let to = Bound::Excluded(expiry_row(time, 0, &Key::generated(String::new())));
    let from = passed.map_or(Bound::Unbounded, |key| Bound::Excluded(key.clone()));
    (KeyRange::new(from, to), Direction::Ascending)
}
