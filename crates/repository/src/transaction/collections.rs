//! Reading and changing what collections there are, their settings and their indexes.

use super::Transaction;
use crate::apply::Staged;
use crate::catalog::{self, COLLECTIONS, Catalog, Configure};
use crate::configure::IndexState;
use crate::document::{CommitNumber, Document, Timestamp};
use crate::ended::Ending;
use crate::errors::{ConfigureError, ReadError, StageError};
use crate::index::IndexDefinition;
use crate::name::{CollectionName, Key};
use crate::range::{Direction, KeyRange};
use crate::record::Change;
use crate::settings::Settings;
use std::ops::Bound;

/// A collection as a view sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionEntry {
    /// Its name.
    pub name: CollectionName,
    /// Its settings.
    pub settings: Settings,
    /// The commit that changed them last, made the collection, or finished one of its indexes.
    pub version: CommitNumber,
    /// The time of the commit that made it.
    pub created: Timestamp,
    /// The time of the commit `version`.
    pub updated: Timestamp,
}

/// An index of a collection, and how far it is for a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownIndex {
    /// What it is.
    pub definition: IndexDefinition,
    /// Ready if the view sees the rows of every document.
    pub state: IndexState,
}

impl KnownIndex {
    /// Whether the transaction can read it.
    pub fn is_ready(&self) -> bool {
        self.state == IndexState::Ready
    }
}

impl Transaction {
    /// The collections that are not Sarsen's own, in the order of their names: the first `limit`
    /// after `after`. Notes the read.
    pub fn collections(
        &mut self,
        after: Option<&CollectionName>,
        limit: usize,
    ) -> Result<Vec<CollectionEntry>, ReadError> {
        let from = match after {
            Some(after) => Bound::Excluded(Key::generated(after.to_string())),
            // Names of Sarsen's own begin with the one character that comes before all letters.
            None => Bound::Included(Key::generated("a".to_owned())),
        };
        let range = KeyRange::new(from, Bound::Unbounded);
        let catalog = CollectionName::generated(COLLECTIONS);
        let found = self.range(&catalog, &range, Direction::Ascending, limit)?;
        found
            .iter()
            .map(|(key, document)| entry(CollectionName::generated(key.as_str()), document))
            .collect()
    }

    /// The collection `name`, if the view has it. Own staged settings are not seen. Notes the read.
    pub fn collection(
        &mut self,
        name: &CollectionName,
    ) -> Result<Option<CollectionEntry>, ReadError> {
        let catalog = CollectionName::generated(COLLECTIONS);
        let document = self.get(&catalog, &Key::generated(name.to_string()))?;
        document.map(|document| entry(name.clone(), &document)).transpose()
    }

    /// The indexes of a collection, in the order of its settings; `None` if there is no such
    /// collection, and nothing staged that will make it. That it is there is a read, and noted.
    pub fn indexes(&mut self, name: &CollectionName) -> Result<Option<Vec<KnownIndex>>, ReadError> {
        let catalog = CollectionName::generated(COLLECTIONS);
        let document = self.get(&catalog, &Key::generated(name.to_string()))?;
        let Some(document) = document else {
            let is_made = self.writes.iter().any(|staged| staged.write.collection == *name);
            return Ok(is_made.then(Vec::new));
        };
        let at = self.known(name);
        let Some(collection) = &self.collections[at].1 else { return Ok(Some(Vec::new())) };
        let shape = collection.shape();
        let number = self.view.number;
        if collection.configured() <= number {
            let known = shape.indexes.iter().map(|index| KnownIndex {
                definition: index.definition.clone(),
                state: index.state_at(number),
            });
            return Ok(Some(known.collect()));
        }
        // The settings have changed since the view, which must not see how.
        let Catalog { settings, indexes, .. } = of(&document)?;
        let known = settings.indexes.into_iter().zip(indexes).map(|(definition, id)| {
            let same = shape.indexes.iter().find(|index| index.rows.id == id);
            let gone = IndexState::Building { passed: 0 };
            KnownIndex { definition, state: same.map_or(gone, |index| index.state_at(number)) }
        });
        Ok(Some(known.collect()))
    }

    /// Stages these settings for a collection; it is made if it is not there. Reads what it has,
    /// and notes that. New indexes are built in the background.
    pub fn configure(
        &mut self,
        collection: &CollectionName,
        settings: &Settings,
    ) -> Result<(), ConfigureError> {
        settings.check()?;
        let unfit = |why| ConfigureError::Unfit { collection: collection.to_string(), why };
        let name = CollectionName::generated(COLLECTIONS);
        let key = Key::generated(collection.to_string());
        if collection.as_str() == COLLECTIONS {
            return Err(unfit("it describes the others and has no settings".to_owned()));
        }
        if let Some(document) = self.get(&name, &key)? {
            of(&document)?.check(settings).map_err(unfit)?;
        }
        if self.ends(collection) {
            return Err(unfit(ENDS_ALONE.to_owned()));
        }
        let change = Change::Configure(Configure::Settings(settings.clone()));
        self.stage(&name, &key, change).map_err(|error| match error {
            StageError::Read(error) => error.into(),
            error => unfit(error.to_string()),
        })
    }
}

const ENDS_ALONE: &str = "it ends in this transaction, which can do nothing else with it";

impl Transaction {
    /// Stages the end of a collection; false, and nothing, if there is none. Reads whether there
    /// is, and notes that. Its documents are seen until the transaction commits; one that writes
    /// some of them, or ends another collection, is refused.
    pub fn end(
        &mut self,
        collection: &CollectionName,
        ending: Ending,
    ) -> Result<bool, ConfigureError> {
        let unfit = |why: &str| {
            let (collection, why) = (collection.to_string(), why.to_owned());
            ConfigureError::Unfit { collection, why }
        };
        let name = CollectionName::generated(COLLECTIONS);
        if collection.is_system() {
            return Err(unfit("it belongs to Sarsen itself and does not end"));
        }
        let key = Key::generated(collection.to_string());
        let is_same = |staged: &Staged| {
            staged.write.collection == *collection || staged.write.collection == name
        };
        if self.writes.iter().any(is_same) {
            return Err(unfit(ENDS_ALONE));
        }
        if self.get(&name, &key)?.is_none() {
            return Ok(false);
        }
        let change = Change::Configure(Configure::End(ending));
        self.stage(&name, &key, change).map_err(|error| match error {
            StageError::Read(error) => error.into(),
            error => unfit(&error.to_string()),
        })?;
        self.ends = Some(collection.clone());
        Ok(true)
    }

    /// Whether this collection is to end.
    pub(super) fn ends(&self, collection: &CollectionName) -> bool {
        self.ends.as_ref().is_some_and(|ends| ends == collection)
    }
}

fn entry(name: CollectionName, document: &Document) -> Result<CollectionEntry, ReadError> {
    let settings = of(document)?.settings;
    let Document { version, created, updated, .. } = *document;
    Ok(CollectionEntry { name, settings, version, created, updated })
}

fn of(document: &Document) -> Result<Catalog, ReadError> {
    catalog::of(document).map_err(|why| ReadError::Engine(why.into()))
}
