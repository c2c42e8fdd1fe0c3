//! The settings of collections: changing them, and how far their indexes are.

use crate::attempt::RunError;
use crate::catalog::{self, COLLECTIONS, Configure};
use crate::document::CommitNumber;
use crate::errors::{ConfigureError, ReadError, StageError};
use crate::hot::{Collection, Index};
use crate::index::IndexError;
use crate::name::{CollectionName, Key};
use crate::record::Change;
use crate::repository::Repository;
use crate::settings::Settings;
use crate::transaction::{Duplicate, Transaction};
use std::sync::atomic::Ordering;

/// How far an index is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexState {
    /// It has the rows of every document and can be read.
    Ready,
    /// It gets the rows of documents that were there before it.
    Building {
        /// Documents that were passed.
        passed: u64,
    },
    /// There are documents that it cannot hold. It is tried again when the repository is opened,
    /// or once it was taken out of the settings and put in again.
    Failed(BuildFailure),
}

/// Why an index cannot be built on the documents that are there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildFailure {
    /// It is unique, and two documents have the same values.
    #[error(transparent)]
    Duplicate(#[from] Duplicate),
    /// A document does not fit it.
    #[error("the document {key} does not fit: {why}")]
    Unfit {
        /// The document.
        key: Key,
        /// What is wrong with it.
        why: IndexError,
    },
}

/// An index and how far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexStatus {
    /// The collection.
    pub collection: CollectionName,
    /// The index.
    pub index: String,
    /// How far it is.
    pub state: IndexState,
}

impl Repository {
    /// Gives a collection these settings, in a commit of their own; makes it if it is not there.
    /// New indexes are built in the background: see [`Self::indexes`]. A reply may leave when
    /// `durable >=` the number returned.
    pub fn configure(
        &self,
        collection: &CollectionName,
        settings: &Settings,
    ) -> Result<CommitNumber, ConfigureError> {
        settings.check()?;
        let ran = self.run(|transaction| stage(transaction, collection, settings));
        ran.map(|ran| ran.wait_for).map_err(|error| match error {
            RunError::Body { error, .. } => error,
            RunError::Begin(error) => error.into(),
            RunError::Commit(error) => error.into(),
            RunError::Duplicate { .. } => unreachable!("the catalog has no unique index"),
        })
    }

    /// The settings of a collection; the defaults, where it does not exist.
    pub fn settings(&self, collection: &CollectionName) -> Settings {
        let collection = self.store.hot.collection(collection);
        collection.map(|c| c.shape().settings.clone()).unwrap_or_default()
    }

    /// Every index and how far it is.
    pub fn indexes(&self) -> Vec<IndexStatus> {
        let mut all = Vec::new();
        // Whoever begins after this sees no less.
        let visible = self.store.views.visible();
        for collection in self.store.hot.collections() {
            let shape = collection.shape();
            all.extend(shape.indexes.iter().map(|index| status(&collection, index, visible)));
        }
        all
    }
}

fn stage(
    transaction: &mut Transaction,
    collection: &CollectionName,
    settings: &Settings,
) -> Result<(), ConfigureError> {
    let unfit = |why| ConfigureError::Unfit { collection: collection.to_string(), why };
    let name = CollectionName::generated(COLLECTIONS);
    let key = Key::generated(collection.to_string());
    if collection.as_str() == COLLECTIONS {
        return Err(unfit("it describes the others and has no settings".to_owned()));
    }
    if let Some(document) = transaction.get(&name, &key)? {
        let catalog = catalog::of(&document).map_err(|why| ReadError::Engine(why.into()))?;
        catalog.check(settings).map_err(unfit)?;
    }
    let change = Change::Configure(Configure::Settings(settings.clone()));
    transaction.stage(&name, &key, change).map_err(|error| match error {
        StageError::Read(error) => error.into(),
        error => unfit(error.to_string()),
    })
}

fn status(collection: &Collection, index: &Index, visible: CommitNumber) -> IndexStatus {
    let state = match &*index.failure.lock() {
        Some(failure) => IndexState::Failed(failure.clone()),
        None if index.is_ready_at(visible) => IndexState::Ready,
        None => IndexState::Building { passed: index.passed.load(Ordering::Relaxed) },
    };
    let index = index.definition.name.clone();
    IndexStatus { collection: collection.name.clone(), index, state }
}
