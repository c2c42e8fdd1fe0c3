//! Collections that have ended: emptied or dropped. One commit takes all documents of a collection
//! away from its name, however many there are; they leave afterwards, in commits of a bounded size.
//! `docs/collections.md` says what that looks like, `docs/transactions.md` why nobody sees half of
//! it.
//!
//! A collection that ends keeps its id and loses its name. Views from before it ended go on finding
//! it under the name; whoever wrote there and has not committed conflicts.

use crate::apply::Staged;
use crate::attempt::RunError;
use crate::catalog::{COLLECTIONS, Catalog, Configure};
use crate::conflict::{Contested, Read};
use crate::cursor::Cursor;
use crate::document::CommitNumber;
use crate::errors::{CommitError, ConfigureError, ReadError, StageError};
use crate::history::{Trim, TrimmedRow};
use crate::hot::{Collection, Hot};
use crate::limits::{BACKGROUND_BYTES_MAX, REAP_DOCUMENTS_MAX, TRANSACTION_ROWS_MAX};
use crate::name::{CollectionName, Key};
use crate::range::{Direction, KeyRange};
use crate::record::{Change, Write};
use crate::repository::Repository;
use crate::rows::row_time;
use crate::settings::History;
use crate::store::{Decision, Proposal, Store};
use crate::transaction::{Outcome, Transaction};
use std::sync::Arc;

/// How a collection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is gone, with its settings; the next write under its name makes a new one.
    Drop,
    /// Its documents are gone; its settings, and so its indexes, stay.
    Empty,
}

/// Documents of the catalog that describe what has ended begin with this, which no name of a
/// collection does.
const PREFIX: &str = "_ended.";

/// The catalog's document with the largest id that was given when a collection ended last: the ids
/// that it had used are told by no other document.
pub(crate) const IDS: &str = "_ids.";

/// The key of the catalog's document on the ended collection `id`.
pub(crate) fn key(id: u32) -> Key {
    Key::generated(format!("{PREFIX}{id}"))
}

/// Whether a document of the catalog with this key is about the collection of that name.
pub(crate) fn names_collection(key: &str) -> bool {
    !key.contains('.')
}

/// The id in such a key.
pub(crate) fn id(key: &Key) -> Option<u32> {
    key.as_str().strip_prefix(PREFIX)?.parse().ok()
}

impl Catalog {
    /// The same collection without documents: other ids, and indexes that have all their rows.
    pub(crate) fn emptied(&self, next_id: u32) -> Self {
        let indexes: Vec<u32> = (next_id + 1..).take(self.indexes.len()).collect();
        let after = next_id + 1 + indexes.len() as u32;
        let history = (self.settings.history != History::None).then_some(after);
        let settings = self.settings.clone();
        Self { id: next_id, settings, indexes, history, ..Self::default() }
    }
}

impl Repository {
    /// Ends a collection, in a commit of its own; `None` if there is none. Its documents are gone
    /// at once, and leave the disk afterwards. A reply may leave when `durable >=` the number
    /// returned.
    pub fn end(
        &self,
        collection: &CollectionName,
        ending: Ending,
    ) -> Result<Option<CommitNumber>, ConfigureError> {
        match self.run(|transaction| transaction.end(collection, ending)) {
            Ok(ran) => Ok(ran.value.then_some(ran.wait_for)),
            Err(RunError::Body { error, .. }) => Err(error),
            Err(RunError::Begin(error)) => Err(error.into()),
            Err(RunError::Commit(error)) => Err(error.into()),
            Err(RunError::Duplicate { .. }) => unreachable!("the catalog has no unique index"),
        }
    }
}

/// Collections that have ended and whose documents have not all left yet.
pub(crate) fn count(store: &Store) -> usize {
    store.hot.ended().iter().filter(|ended| ended.cleared().is_none()).count()
}

/// What of `reads` was in collections that have ended after `view`.
pub(crate) fn conflicts(hot: &Hot, reads: &[Read], view: CommitNumber) -> Vec<Contested> {
    if hot.last_ended() <= view {
        return Vec::new();
    }
    let contested = |read: &Read| match read {
        Read::Document(cell) => ended_since(&*hot.by_id(cell.collection)?, view),
        Read::Range(collection, _) => ended_since(collection, view),
        // What was not there then is not there now, unless somebody has put it there since.
        Read::Missing(..) | Read::MissingRange(..) => None,
    };
    reads.iter().filter_map(contested).collect()
}

/// The conflict over a collection that has ended after `view`.
pub(crate) fn ended_since(collection: &Collection, view: CommitNumber) -> Option<Contested> {
    let competitor = collection.ended().filter(|ended| *ended > view)?;
    Some(Contested {
        collection: CollectionName::generated(COLLECTIONS),
        key: Key::generated(collection.name.to_string()),
        competitor,
        paths: Vec::new(),
    })
}

/// Why clearing did not get on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Delay {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Stage(#[from] StageError),
    #[error(transparent)]
    Commit(#[from] CommitError),
    #[error("another transaction came before it")]
    Again,
}

/// Gets on with what has ended, in at most `commits` commits for each.
pub(crate) fn tend(store: &Arc<Store>, commits: usize) -> Result<(), Delay> {
    for ended in store.hot.ended() {
        if let Some(cleared) = ended.cleared() {
            if store.views.oldest().is_none_or(|oldest| oldest >= cleared) {
                store.hot.forget(&ended);
            }
            continue;
        }
        for _ in 0..commits {
            // Each removal stays in memory until a checkpoint has written it.
            let is_full = store.hot.bytes() > store.hot_bytes_max / 2 && !ended.is_volatile;
            if is_full || clear(store, &ended)? {
                break;
            }
        }
    }
    Ok(())
}

/// Removes some of what is left. `true`: nothing is.
fn clear(store: &Arc<Store>, ended: &Arc<Collection>) -> Result<bool, Delay> {
    if remove_some(store, ended)? {
        return Ok(false);
    }
    for rows in &ended.shape().dropped {
        if !clear_rows(store, &key(ended.id), rows)? {
            return Ok(false);
        }
    }
    let mut transaction = Transaction::new(Arc::clone(store));
    let cleared = Change::Configure(Configure::Cleared(ended.id));
    transaction.stage(&CollectionName::generated(COLLECTIONS), &key(ended.id), cleared)?;
    Ok(matches!(transaction.commit()?, Outcome::Committed(_)))
}

/// Removes some documents, with all their rows. `false`: there were none.
fn remove_some(store: &Store, ended: &Arc<Collection>) -> Result<bool, Delay> {
    let view = store.views.pin((store.clock)());
    let all = (KeyRange::all(), Direction::Ascending);
    let mut cursor = Cursor::new(store, &view, ended, all, REAP_DOCUMENTS_MAX);
    let shape = ended.shape();
    let mut writes = Vec::new();
    let (mut rows, mut bytes) = (0, 0);
    while writes.len() < REAP_DOCUMENTS_MAX
        && let Some((key, document)) = cursor.next_or_expired()?
    {
        rows += shape.count_rows(Some(&document));
        bytes += document.body.len();
        let is_much = rows > TRANSACTION_ROWS_MAX || bytes > BACKGROUND_BYTES_MAX;
        if is_much && !writes.is_empty() {
            break;
        }
        let cell = ended.find(&key);
        let (collection, change) = (ended.name.clone(), Change::Remove(ended.id));
        let write = Write { collection, key, change, times: None };
        let (collection, base) = (Some(Arc::clone(ended)), Some(document));
        let (rows, is_computed, merges) = ((0, 0), false, false);
        writes.push(Staged { write, collection, base, cell, rows, is_computed, merges });
    }
    if writes.is_empty() {
        return Ok(false);
    }
    let proposal = Proposal {
        view: &view,
        reads: &[],
        first_to_expire: None,
        writes: &mut writes,
        checks_writes: false,
        durability: ended.durability(),
        in_lane: false,
    };
    // Nobody else writes there, so whatever the decision is: it is gone, or tried again.
    match store.commit(proposal)? {
        Decision::Committed(_) | Decision::Conflict(_) | Decision::HeldBack => Ok(true),
    }
}

/// Removes some rows of an index or a history that is no longer wanted; `key` is that of the
/// catalog's document that says so. `true`: all are gone.
pub(crate) fn clear_rows(
    store: &Arc<Store>,
    key: &Key,
    rows: &Arc<Collection>,
) -> Result<bool, Delay> {
    let mut transaction = Transaction::new(Arc::clone(store));
    let (keys, others) = rows_to_clear(&transaction, rows)?;
    let is_last = keys.is_empty() && others.is_empty();
    let name = CollectionName::generated(COLLECTIONS);
    let change = match (is_last, others.is_empty()) {
        (true, _) => Change::Configure(Configure::Cleared(rows.id)),
        (false, true) => Change::Clear { index: rows.id, rows: keys },
        // Their own rows in the tables of what expires and of blobs go with them.
        (false, false) => Change::Trim(Trim { history: rows.id, floor: None, rows: others }),
    };
    transaction.stage(&name, key, change)?;
    Ok(matches!(transaction.commit()?, Outcome::Committed(_)) && is_last)
}

/// The first rows: those that have no rows of their own elsewhere, or all, if the first has.
fn rows_to_clear(
    transaction: &Transaction,
    rows: &Collection,
) -> Result<(Vec<Key>, Vec<TrimmedRow>), ReadError> {
    let (store, view) = transaction.ground();
    let range = (KeyRange::all(), Direction::Ascending);
    let mut cursor = Cursor::new(store, view, rows, range, REAP_DOCUMENTS_MAX);
    let (mut keys, mut others) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    while keys.len() + others.len() < REAP_DOCUMENTS_MAX
        && bytes < BACKGROUND_BYTES_MAX
        && let Some((key, row)) = cursor.next_or_expired()?
    {
        bytes += row.body.len();
        let (expires, blob) = (row_time(&row), row.blob);
        match expires.is_none() && blob.is_none() {
            true if others.is_empty() => keys.push(key),
            false if !keys.is_empty() => break,
            _ => others.push(TrimmedRow { row: key, expires, blob }),
        }
    }
    Ok((keys, others))
}
