//! Which collections have ended, as memory knows them: by their names for views from before, and by
//! their ids until nothing is left of them.

use super::{Collection, Hot, Shape};
use crate::catalog::Catalog;
use crate::document::CommitNumber;
use crate::durability::Durability;
use crate::ended;
use crate::name::{CollectionName, Key};
use crate::settings::{History, Settings};
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What has ended, in the order in which it did.
#[derive(Debug, Default)]
pub(super) struct Ended {
    collections: RwLock<Vec<Arc<Collection>>>,
    /// The commit that ended the last of them; 0: none since opening.
    last: AtomicU64,
}

impl Hot {
    /// The collection that `name` means to a view of this commit; one that was made after it has
    /// nothing that it sees.
    pub(crate) fn collection_at(
        &self,
        name: &CollectionName,
        view: CommitNumber,
    ) -> Option<Arc<Collection>> {
        // Asked in this order: who finds the name without the collection knows that one has ended.
        let now = self.collection(name);
        if self.last_ended() <= view {
            return now;
        }
        let ended = self.ended.collections.read();
        let mut then = ended.iter().filter(|collection| collection.name == *name);
        then.find(|collection| collection.ended().is_some_and(|at| at > view)).cloned().or(now)
    }

    /// The last commit that ended a collection.
    pub(crate) fn last_ended(&self) -> CommitNumber {
        CommitNumber(self.ended.last.load(Ordering::Acquire))
    }

    /// The collections that have ended and of which something may be left.
    pub(crate) fn ended(&self) -> Vec<Arc<Collection>> {
        self.ended.collections.read().clone()
    }

    /// Takes the collection away from its name; gives what the catalog is to say of what is left.
    /// Only `apply` calls this.
    pub(crate) fn end(&self, name: &CollectionName, number: CommitNumber) -> Option<Catalog> {
        let collection = self.collection(name)?;
        self.set_ended(&collection, number);
        self.ended.last.store(number.0, Ordering::Release);
        self.collections.write().remove(name);
        let shape = collection.shape();
        let history = shape.history.iter().map(|history| &history.rows);
        let dropped: Vec<_> = shape.dropped.iter().chain(history).cloned().collect();
        let ids = dropped.iter().map(|rows| rows.id).collect();
        // Views from before go on reading the history.
        let (settings, indexes) = (shape.settings.clone(), shape.indexes.clone());
        let history = shape.history.clone();
        collection.set_shape(Shape { settings, indexes, history, dropped }, None);
        let building = shape.indexes.iter().filter(|index| !index.is_ready());
        Some(Catalog {
            id: collection.id,
            settings: Settings { history: History::None, ..shape.settings.clone() },
            indexes: shape.indexes.iter().map(|index| index.rows.id).collect(),
            building: building.map(|index| index.rows.id).collect(),
            dropped: ids,
            ended: Some(name.to_string()),
            ..Catalog::default()
        })
    }

    fn set_ended(&self, collection: &Arc<Collection>, number: CommitNumber) {
        let shape = collection.shape();
        shape.indexes.iter().for_each(|index| index.rows.set_ended(number));
        collection.set_ended(number);
        self.ended.collections.write().push(Arc::clone(collection));
    }

    /// Makes known what an opening finds of a collection that has ended.
    pub(crate) fn load_ended(&self, catalog: &Catalog) -> Result<(), String> {
        let name = catalog.ended.as_deref().unwrap_or_default();
        let name = CollectionName::new(name).map_err(|error| error.to_string())?;
        let is_volatile = catalog.settings.durability == Durability::Volatile;
        let kind = (is_volatile, 0);
        let collection = Arc::new(Collection::new(&name, catalog.id, kind, &self.bytes));
        self.by_id.write().insert(catalog.id, Arc::clone(&collection));
        self.shape(&collection, catalog, CommitNumber(0));
        self.set_ended(&collection, CommitNumber(0));
        Ok(())
    }

    /// Makes known that rows of a collection that has ended are cleared.
    pub(crate) fn reshape_ended(&self, catalog: &Catalog) {
        if let Some(collection) = self.by_id(catalog.id) {
            let old = collection.shape();
            let is_left = |rows: &&Arc<Collection>| catalog.dropped.contains(&rows.id);
            let dropped = old.dropped.iter().filter(is_left).cloned().collect();
            let (settings, indexes) = (old.settings.clone(), old.indexes.clone());
            let history = old.history.clone();
            collection.set_shape(Shape { settings, indexes, history, dropped }, None);
        }
    }

    /// Makes known that nothing is left of the collection that the catalog's document `key` was
    /// about, if it was about one that had ended.
    pub(crate) fn cleared(&self, key: &Key, number: CommitNumber) {
        if let Some(collection) = ended::id(key).and_then(|id| self.by_id(id)) {
            collection.set_cleared(number);
        }
    }

    /// Forgets a collection that is cleared, once nothing of it is in memory either. No view may
    /// see it any more.
    pub(crate) fn forget(&self, collection: &Arc<Collection>) {
        let shape = collection.shape();
        let rows = || shape.indexes.iter().map(|index| &index.rows).chain(&shape.dropped);
        if !collection.is_vacant() || !rows().all(|rows| rows.is_vacant()) {
            return;
        }
        self.ended.collections.write().retain(|other| other.id != collection.id);
        self.by_id.write().remove(&collection.id);
        let mut known = self.rows.write();
        rows().for_each(|rows| drop(known.remove(&rows.id)));
    }

    /// Every collection with documents: those that have ended, too.
    pub(crate) fn with_ended(&self) -> Vec<Arc<Collection>> {
        self.by_id.read().values().cloned().collect()
    }
}
