//! The decision whether a transaction may commit: it reads what was committed and changes nothing,
//! so that every server that sees the same commits in the same order decides the same.

use crate::catalog::COLLECTIONS;
use crate::document::CommitNumber;
use crate::hot::{Cell, Collection, Hot};
use crate::name::{CollectionName, Key};
use crate::range::KeyRange;
use crate::seeded::SeededMap;
use std::ops::Bound;
use std::sync::Arc;

/// One document.
pub(crate) type Place = (CollectionName, Key);

/// What a transaction lost to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The documents fought over, at least one.
    pub documents: Vec<Contested>,
    /// The latest competing commit.
    pub competitor: CommitNumber,
}

/// A document that changed after the transaction's view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contested {
    /// Its collection.
    pub collection: CollectionName,
    /// Its key.
    pub key: Key,
    /// The commit that changed it last; where it has expired, the last commit there was.
    pub competitor: CommitNumber,
    /// JSON Pointers to what differs, where both versions are JSON: at most
    /// [`crate::limits::CONTESTED_PATHS_MAX`].
    pub paths: Vec<String>,
}

/// Something that must still be as the view saw it.
#[derive(Debug)]
pub(crate) enum Read {
    /// A document in memory.
    Document(Arc<Cell>),
    /// A document that was not there.
    Missing(CollectionName, Key),
    /// Every document between two bounds, or every row of an index.
    Range(Arc<Collection>, KeyRange),
    /// Every document between two bounds of a collection that was not there.
    MissingRange(CollectionName, KeyRange),
}

/// The changes of collections after a view, in the order of their keys: looked up by many ranges.
#[derive(Default)]
pub(crate) struct Changes {
    /// `None`: more was changed than is listed.
    by_collection: SeededMap<u32, Option<Vec<(Key, CommitNumber)>>>,
}

impl Changes {
    /// A key between the bounds that was changed, and the latest commit on it.
    fn within(
        &mut self,
        collection: &Collection,
        range: &KeyRange,
        view: CommitNumber,
    ) -> Option<(Key, CommitNumber)> {
        let changes = self.by_collection.entry(collection.id);
        let Some(changes) = changes.or_insert_with(|| collection.changes_after(view)) else {
            return collection.changed_in(range, view);
        };
        let is_before = |key: &Key| match &range.from {
            Bound::Included(from) => key < from,
            Bound::Excluded(from) => key <= from,
            Bound::Unbounded => false,
        };
        let at = changes.partition_point(|(key, _)| is_before(key));
        changes.get(at).filter(|(key, _)| range.contains(key)).cloned()
    }
}

/// Backward validation (Kung and Robinson 1981, §3): the newest commit after `view` that changed
/// something of `read`, and what. Ranges are read as what they are, so a new document in one is
/// found like any other change (phantoms; Eswaran et al. 1976, §3).
pub(crate) fn find(
    hot: &Hot,
    read: &Read,
    view: CommitNumber,
    changes: Option<&mut Changes>,
) -> Option<Contested> {
    let contested = |collection: &CollectionName, key: &Key, competitor: CommitNumber| {
        let (collection, key) = (collection.clone(), key.clone());
        (competitor > view).then_some(Contested { collection, key, competitor, paths: Vec::new() })
    };
    match read {
        Read::Document(cell) => {
            let change = cell.last_change();
            if change <= view {
                return None;
            }
            contested(&hot.name(cell.collection)?, &cell.key, change)
        }
        Read::Missing(name, key) => contested(name, key, hot.collection(name)?.last_change(key)?),
        Read::Range(rows, _) if rows.columns > 0 && configured(hot, rows) > view => {
            // An index that was taken away gets no rows any more, so they tell nothing.
            let (catalog, key) = (CollectionName::generated(COLLECTIONS), rows.name.as_str());
            contested(&catalog, &Key::generated(key.to_owned()), configured(hot, rows))
        }
        Read::Range(collection, range) => {
            let (key, change) = match changes {
                Some(changes) => changes.within(collection, range, view)?,
                None => collection.changed_in(range, view)?,
            };
            contested(&collection.name, &collection.document_key(&key), change)
        }
        Read::MissingRange(name, range) => {
            let (key, change) = hot.collection(name)?.changed_in(range, view)?;
            contested(name, &key, change)
        }
    }
}

/// The commit that last changed the settings of the collection that has these rows.
fn configured(hot: &Hot, rows: &Collection) -> CommitNumber {
    hot.collection(&rows.name).map_or(CommitNumber(0), |collection| collection.configured())
}

impl Conflict {
    /// One conflict over all of `documents`; `None` if there are none.
    pub(crate) fn over(mut documents: Vec<Contested>) -> Option<Self> {
        documents.sort_by(|a, b| {
            let order = (&a.collection, &a.key).cmp(&(&b.collection, &b.key));
            order.then(b.competitor.cmp(&a.competitor))
        });
        documents.dedup_by(|a, b| (&a.collection, &a.key) == (&b.collection, &b.key));
        let competitor = documents.iter().map(|contested| contested.competitor).max()?;
        Some(Self { documents, competitor })
    }
}
