//! The settings of collections: changing them, and how far their indexes are.

use crate::attempt::RunError;
use crate::document::CommitNumber;
use crate::errors::ConfigureError;
use crate::hot::{Collection, Index};
use crate::index::IndexError;
use crate::name::{CollectionName, Key};
use crate::repository::Repository;
use crate::settings::Settings;
use crate::transaction::Duplicate;
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
        let ran = self.run(|transaction| transaction.configure(collection, settings));
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

fn status(collection: &Collection, index: &Index, visible: CommitNumber) -> IndexStatus {
    let (state, index) = (index.state_at(visible), index.definition.name.clone());
    IndexStatus { collection: collection.name.clone(), index, state }
}

impl Index {
    /// How far it is for a view of this commit.
    pub(crate) fn state_at(&self, view: CommitNumber) -> IndexState {
        match &*self.failure.lock() {
            Some(failure) => IndexState::Failed(failure.clone()),
            None if self.is_ready_at(view) => IndexState::Ready,
            None => IndexState::Building { passed: self.passed.load(Ordering::Relaxed) },
        }
    }
}
