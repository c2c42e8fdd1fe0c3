//! What a collection is like: its settings and its indexes.

use crate::catalog::Catalog;
use crate::configure::BuildFailure;
use crate::document::{CommitNumber, Document};
use crate::durability::Durability;
use crate::history::{HistoryRows, Waiting};
use crate::hot::Hot;
use crate::hot::collection::Collection;
use crate::index::{self, IndexDefinition};
use crate::name::CollectionName;
use crate::settings::Settings;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the module. Replaced as a whole by the commit that changes the settings.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    pub settings: Settings,
    /// In the order of the settings.
    pub indexes: Vec<Arc<Index>>,
    /// The versions that are kept, if any are.
    pub history: Option<HistoryRows>,
    /// The rows that are left of indexes and histories that are no longer wanted.
    pub dropped: Vec<Arc<Collection>>,
}

/// One index. Its rows are documents without a body in a collection of their own, so that
/// whatever holds for documents (versions, ranges, conflicts, checkpoints) holds for them.
#[derive(Debug)]
pub(crate) struct Index {
    pub definition: IndexDefinition,
    pub rows: Arc<Collection>,
    /// The commit since which it has the rows of every document; `NOT_READY` while it is built.
    ready_since: AtomicU64,
    /// Documents that building it has passed.
    pub passed: AtomicU64,
    /// Why it cannot be built.
    pub failure: Mutex<Option<BuildFailure>>,
}

const NOT_READY: u64 = u64::MAX;

impl Index {
    /// Whether it has the rows of every document now.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready_since.load(Ordering::Acquire) != NOT_READY
    }

    /// Whether a view of this commit sees the rows of every document.
    pub(crate) fn is_ready_at(&self, view: CommitNumber) -> bool {
        self.ready_since.load(Ordering::Acquire) <= view.0
    }
}

impl Shape {
    /// The index with this name.
    pub(crate) fn index(&self, name: &str) -> Option<&Arc<Index>> {
        self.indexes.iter().find(|index| index.definition.name == name)
    }

    /// How many rows `document` has in the indexes.
    pub(crate) fn count_rows(&self, document: Option<&Document>) -> usize {
        count(self.indexes.iter(), document)
    }

    /// How many rows `document` has in the indexes that are being built.
    pub(crate) fn count_rows_to_build(&self, document: Option<&Document>) -> usize {
        count(self.indexes.iter().filter(|index| !index.is_ready()), document)
    }
}

fn count<'a>(indexes: impl Iterator<Item = &'a Arc<Index>>, document: Option<&Document>) -> usize {
    let Some(document) = document else { return 0 };
    let rows = |index: &Arc<Index>| index::values(&index.definition, document).ok();
    indexes.filter_map(rows).map(|rows| rows.len()).sum()
}

impl Hot {
    /// Makes known what the catalog says of `name` since commit `number`. Indexes that stay are
    /// the same as before.
    pub(crate) fn configure(&self, name: &CollectionName, catalog: &Catalog, number: CommitNumber) {
        let is_volatile = catalog.settings.durability == Durability::Volatile;
        let collection = self
            .collection(name)
            .unwrap_or_else(|| self.add_collection(name, catalog.id, is_volatile));
        self.shape(&collection, catalog, number);
    }

    /// Gives a collection the settings and indexes of `catalog`.
    pub(super) fn shape(
        &self,
        collection: &Arc<Collection>,
        catalog: &Catalog,
        number: CommitNumber,
    ) {
        catalog.ids().for_each(|id| self.take_id(id));
        let old = collection.shape();
        let index = |(definition, &id): (&IndexDefinition, &u32)| {
            let known = old.indexes.iter().find(|index| index.rows.id == id);
            let index = known.cloned().unwrap_or_else(|| {
                Arc::new(Index {
                    definition: definition.clone(),
                    rows: self.rows(collection, id, definition.paths.len()),
                    ready_since: AtomicU64::new(NOT_READY),
                    passed: AtomicU64::new(0),
                    failure: Mutex::new(None),
                })
            });
            if !catalog.building.contains(&id) {
                index.ready_since.fetch_min(number.0, Ordering::Release);
            }
            index
        };
        let indexes = catalog.settings.indexes.iter().zip(&catalog.indexes).map(index).collect();
        let dropped = catalog.dropped.iter().map(|&id| self.rows(collection, id, 1)).collect();
        let history = catalog.history.map(|id| HistoryRows {
            rows: self.rows(collection, id, 0),
            keep: catalog.settings.history,
            is_trimming: catalog.trimming.contains(&id),
            waiting: match old.history.as_ref().filter(|history| history.rows.id == id) {
                Some(known) => Arc::clone(&known.waiting),
                // At an opening: what waited before is forgotten.
                None => Arc::new(Mutex::new(Waiting::new(number == CommitNumber(0)))),
            },
        });
        let settings = catalog.settings.clone();
        let is_new = settings != old.settings;
        collection
            .set_shape(Shape { settings, indexes, history, dropped }, is_new.then_some(number));
    }
}
