//! The reaper: removes documents that have expired, builds indexes on documents that are there
//! already, and clears away the rows of indexes that are no longer wanted and collections that have
//! ended; all in ordinary commits of a bounded size.

use crate::apply::Staged;
use crate::catalog::{COLLECTIONS, Configure};
use crate::configure::BuildFailure;
use crate::cursor::Cursor;
use crate::durability::Durability;
use crate::ended::{self, Delay};
use crate::errors::CommitError;
use crate::expired::{Kept, due};
use crate::history::{Expired, Trimmer};
use crate::hot::{Collection, Index, alive};
use crate::index;
use crate::limits::{
    BACKGROUND_BYTES_MAX, BUILD_DOCUMENTS_MAX, BUILD_ROWS_MAX, REAP_DOCUMENTS_MAX,
    TRANSACTION_ROWS_MAX,
};
use crate::name::{CollectionName, Key};
use crate::range::KeyRange;
use crate::record::{Change, Write};
use crate::rows::{self, split_expiry_row};
use crate::store::{Decision, Proposal, Store};
use crate::transaction::{Outcome, Transaction};
use crate::views::View;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Commits that one round makes at most for each of its tasks.
pub(crate) const COMMITS_A_ROUND: usize = 64;

/// After so many rounds (ten minutes), everything that is due is looked at again.
const ROUNDS_BEFORE_ALL: u32 = 12_000;

/// What is remembered from round to round.
#[derive(Debug, Default)]
pub(crate) struct Reaper {
    /// Per table of what expires: rows up to this one were removed. Those before it may still be
    /// there as deletions, which take time to pass, and others appear there only if a document had
    /// expired when it was written, while this was at work.
    passed: [Option<Key>; 2],
    /// What was kept when that was so, by how often it had changed.
    kept: u64,
    rounds: u32,
    /// The index that is being built, and the last document that was passed.
    building: Option<(u32, Option<Key>)>,
    trimmer: Trimmer,
    /// What was said last of what stands in the way: it is said once, and not in every round.
    told: Option<String>,
}

impl Reaper {
    pub(crate) fn round(&mut self, store: &Arc<Store>) {
        if store.tranlog.durable().is_err() {
            return;
        }
        let ended = |()| ended::tend(store, COMMITS_A_ROUND);
        let done = self
            .reap(store)
            .and_then(|()| self.trimmer.round(store))
            .and_then(ended)
            .and_then(|()| self.tend_indexes(store));
        let told = match done {
            // A repository that closes or is full says so to everybody; there is nothing to add.
            Err(Delay::Commit(
                CommitError::Closed
                | CommitError::Poisoned(_)
                | CommitError::Overloaded(_)
                | CommitError::NoSpace { .. },
            ))
            | Err(Delay::Again) => return,
            Err(delay) => Some(delay.to_string()),
            Ok(()) => None,
        };
        if let Some(delay) = told.as_ref().filter(|told| self.told.as_ref() != Some(told)) {
            log::error!("background work stopped, it is tried again all the time: {delay}");
        }
        self.told = told;
    }

    /// Removes what has expired.
    fn reap(&mut self, store: &Store) -> Result<(), Delay> {
        self.rounds += 1;
        let (changed, kept) = store.keeping.get();
        if self.rounds.is_multiple_of(ROUNDS_BEFORE_ALL) || changed != self.kept {
            self.passed = [None, None];
            self.kept = changed;
        }
        for (i, rows) in [&store.hot.expiry, &store.hot.volatile_expiry].into_iter().enumerate() {
            for _ in 0..COMMITS_A_ROUND {
                let passed = self.passed[i].as_ref();
                let Some(last) = reap_some(store, rows, passed, &kept)? else { break };
                self.passed[i] = Some(last);
            }
        }
        Ok(())
    }

    /// Gets on with one index that is being built, or with one that is no longer wanted.
    fn tend_indexes(&mut self, store: &Arc<Store>) -> Result<(), Delay> {
        // Building needs room; it waits, and clearing does not wait for it.
        let has_room = !store.tranlog.space().is_short();
        for collection in store.hot.collections() {
            let shape = collection.shape();
            for index in &shape.indexes {
                if has_room && !index.is_ready() && index.failure.lock().is_none() {
                    return self.build(store, &collection, index);
                }
            }
            for rows in &shape.dropped {
                for _ in 0..COMMITS_A_ROUND {
                    let key = Key::generated(collection.name.to_string());
                    if ended::clear_rows(store, &key, rows)? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn build(
        &mut self,
        store: &Arc<Store>,
        collection: &Arc<Collection>,
        index: &Index,
    ) -> Result<(), Delay> {
        let id = index.rows.id;
        let mut passed = match self.building.take() {
            Some((building, passed)) if building == id => passed,
            _ => {
                index.passed.store(0, Ordering::Relaxed);
                None
            }
        };
        for _ in 0..COMMITS_A_ROUND {
            match build_some(store, collection, index, passed.as_ref())? {
                Built::Some(last) => passed = Some(last),
                Built::Again => break,
                Built::All => {
                    log::info!(
                        "the index {} of {} is built",
                        index.definition.name,
                        index.rows.name
                    );
                    return Ok(());
                }
                Built::Failed => return Ok(()),
            }
        }
        self.building = Some((id, passed));
        Ok(())
    }
}

/// Removes documents of the first rows after `passed` that are due; gives the last of the rows, or
/// `None` if there are no more.
fn reap_some(
    store: &Store,
    table: &Arc<Collection>,
    passed: Option<&Key>,
    kept: &Kept,
) -> Result<Option<Key>, Delay> {
    let view = store.views.pin((store.clock)());
    let range = due(passed, view.time);
    let mut cursor = Cursor::new(store, &view, table, range, REAP_DOCUMENTS_MAX);
    let mut last = None;
    let mut writes = Vec::new();
    let mut durability = Durability::Volatile;
    let (mut rows_removed, mut bytes) = (0, 0);
    let mut rows_passed = 0;
    let mut versions = Expired::default();
    while writes.len() + versions.len() + rows_passed < REAP_DOCUMENTS_MAX
        && let Some((row, found)) = cursor.next()?
    {
        let has_blob = rows::has_blob(&found);
        let place = split_expiry_row(row.as_str());
        let history = place.and_then(|(at, id, key)| Some((at, store.hot.rows_by_id(id)?, key)));
        if let Some((at, history, key)) = history {
            let expired = (Key::generated(key.to_owned()), at, has_blob);
            versions.take((store, &view), history, expired)?;
            last = Some(row);
            continue;
        }
        let found = place.and_then(|(at, id, key)| {
            Some((at, store.hot.by_id(id)?, Key::generated(key.to_owned())))
        });
        let Some((at, collection, key)) = found else { continue };
        // What has ended goes as a whole.
        if kept.has(&collection.name) || collection.ended().is_some() {
            (last, rows_passed) = (Some(row), rows_passed + 1);
            continue;
        }
        // Without an index or a blob, the row says all that is needed of a document at rest.
        let shape = collection.shape();
        let is_plain = shape.indexes.is_empty() && shape.history.is_none();
        let (cell, base) = match is_plain && !has_blob {
            true => (collection.find(&key), None),
            false => store.find_once(&view, &collection, &key)?,
        };
        rows_removed += shape.count_rows(base.as_deref());
        bytes += base.as_ref().map_or(0, |document| document.body.len());
        let is_much = rows_removed > TRANSACTION_ROWS_MAX || bytes > BACKGROUND_BYTES_MAX;
        if is_much && !writes.is_empty() {
            break;
        }
        durability = durability.max(collection.durability());
        let change = Change::Expire(at);
        let write = Write { collection: collection.name.clone(), key, change, times: None };
        let collection = Some(collection);
        let (rows, is_computed, merges) = ((0, 0), false, false);
        writes.push(Staged { write, collection, base, cell, rows, is_computed, merges });
        last = Some(row);
    }
    let removed = writes.len() as u64;
    if versions.len() > 0 {
        durability = durability.max(Durability::Written);
        writes.extend(versions.writes(store, &view)?);
    }
    if writes.is_empty() || commit(store, &view, (&mut writes, durability), removed)? {
        return Ok(last);
    }
    Ok(None)
}

/// Commits the removal of so many documents, and of what else. `false`: it is to be tried again.
fn commit(
    store: &Store,
    view: &View,
    (writes, durability): (&mut [Staged], Durability),
    removed: u64,
) -> Result<bool, Delay> {
    let proposal = Proposal {
        view,
        reads: &[],
        first_to_expire: None,
        writes,
        checks_writes: false,
        durability,
        in_lane: false,
    };
    match store.commit(proposal)? {
        Decision::Committed(_) => {
            store.counters.reaped.fetch_add(removed, Ordering::Relaxed);
            Ok(true)
        }
        Decision::Conflict(_) | Decision::HeldBack => Ok(false),
    }
}

enum Built {
    Some(Key),
    /// Somebody was faster; the same documents again.
    Again,
    All,
    Failed,
}

/// Adds the rows of the first documents after `passed`.
fn build_some(
    store: &Arc<Store>,
    collection: &Arc<Collection>,
    index: &Index,
    passed: Option<&Key>,
) -> Result<Built, Delay> {
    let mut transaction = Transaction::new(Arc::clone(store));
    let from = passed.map_or(Bound::Unbounded, |key| Bound::Excluded(key.clone()));
    let range = KeyRange::new(from, Bound::Unbounded);
    // Expired ones too: they have their rows until they are removed.
    let keys = transaction.keys(collection, range, BUILD_DOCUMENTS_MAX)?;
    let (mut last, mut passed) = (None, 0);
    let (mut rows, mut bytes) = (0, 0);
    for key in &keys {
        let document = transaction.present(collection, key)?;
        rows += collection.shape().count_rows_to_build(document.as_deref());
        bytes += document.as_ref().map_or(0, |document| document.body.len());
        if passed > 0 && (rows > BUILD_ROWS_MAX || bytes > BACKGROUND_BYTES_MAX) {
            break;
        }
        let values = alive(document, transaction.time())
            .map(|document| index::values(&index.definition, &document));
        if let Some(Err(why)) = values {
            return Ok(fail(index, BuildFailure::Unfit { key: key.clone(), why }));
        }
        transaction.stage(&collection.name, key, Change::Reindex)?;
        (last, passed) = (Some(key.clone()), passed + 1);
    }
    if keys.is_empty() {
        let name = CollectionName::generated(COLLECTIONS);
        let key = Key::generated(collection.name.to_string());
        let built = Change::Configure(Configure::Built(index.rows.id));
        transaction.stage(&name, &key, built)?;
    }
    match transaction.commit()? {
        Outcome::Committed(_) | Outcome::Unchanged(_) => {
            index.passed.fetch_add(passed, Ordering::Relaxed);
            Ok(last.map_or(Built::All, Built::Some))
        }
        Outcome::Conflict(_) | Outcome::HeldBack => Ok(Built::Again),
        // Perhaps of another index that is to be built; then this one gets on without it.
        Outcome::Duplicate(duplicate) => {
            let shape = collection.shape();
            let failed = shape.index(&duplicate.index).map_or(index, |failed| failed);
            Ok(fail(failed, duplicate.into()))
        }
    }
}

fn fail(index: &Index, why: BuildFailure) -> Built {
    let name = &index.definition.name;
    log::error!("the index {name} of {} cannot be built: {why}", index.rows.name);
    *index.failure.lock() = Some(why);
    Built::Failed
}
