//! Removing versions that are not kept any longer, in ordinary commits of a bounded size: what is
//! more than a collection keeps of a document, and what the table of what expires says.

use super::{Floor, HistoryRows, Trim, TrimmedRow, floor_change, rows_between, split_row};
use crate::apply::Staged;
use crate::catalog::{COLLECTIONS, Configure};
use crate::cursor::Cursor;
use crate::document::{CommitNumber, Timestamp};
use crate::durability::Durability;
use crate::ended::Delay;
use crate::errors::ReadError;
use crate::hot::{Collection, Hot};
use crate::limits::{REAP_DOCUMENTS_MAX, TRIM_ROWS_MAX};
use crate::name::{CollectionName, Key};
use crate::range::{Direction, KeyRange};
use crate::reap::COMMITS_A_ROUND;
use crate::record::{Change, Write};
use crate::rows::RowChange;
use crate::seeded::SeededMap;
use crate::settings::History;
use crate::store::{Decision, Proposal, Store};
use crate::views::View;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// What is remembered from round to round.
#[derive(Debug, Default)]
pub(crate) struct Trimmer {
    /// Of each history that is looked through as a whole: the last document that was passed.
    passed: SeededMap<u32, Key>,
}

impl Trimmer {
    /// Gets on with every history that keeps a number of versions.
    pub(crate) fn round(&mut self, store: &Arc<Store>) -> Result<(), Delay> {
        for collection in store.hot.collections() {
            if collection.is_plain() {
                continue;
            }
            let shape = collection.shape();
            let Some(history) = &shape.history else { continue };
            if let History::Versions(most) = history.keep {
                trim_waiting(store, &collection, history, most)?;
                self.pass(store, &collection, history, most)?;
            }
        }
        Ok(())
    }

    /// Gets on with looking through a history, where that is wanted.
    fn pass(
        &mut self,
        store: &Arc<Store>,
        collection: &Collection,
        history: &HistoryRows,
        most: u64,
    ) -> Result<(), Delay> {
        let id = history.rows.id;
        let begins = std::mem::take(&mut history.waiting.lock().is_everything);
        if begins {
            self.passed.insert(id, Key::generated(String::new()));
        } else if history.is_trimming {
            self.passed.entry(id).or_insert_with(|| Key::generated(String::new()));
        }
        let Some(mut passed) = self.passed.get(&id).cloned() else { return Ok(()) };
        let view = store.views.pin((store.clock)());
        let mut keys = Vec::new();
        while keys.len() < REAP_DOCUMENTS_MAX {
            // Beyond all rows of the document passed last.
            let after = Key::generated(format!("{passed}{}", super::AFTER_SEPARATOR));
            let range = KeyRange::new(Bound::Included(after), Bound::Unbounded);
            let range = (range, Direction::Ascending);
            let next = Cursor::new(store, &view, &history.rows, range, 1).next_or_expired()?;
            let Some((row, _)) = next else { break };
            let Some((key, _)) = split_row(row.as_str()) else { break };
            passed = Key::generated(key.to_owned());
            keys.push(passed.clone());
        }
        drop(view);
        let is_last = keys.len() < REAP_DOCUMENTS_MAX;
        let mut left = keys;
        while !left.is_empty() {
            left = trim_some(store, collection, history, (most, left))?;
        }
        if !is_last {
            self.passed.insert(id, passed);
            return Ok(());
        }
        if history.is_trimming {
            let change = Change::Configure(Configure::Trimmed(id));
            commit(store, collection, vec![change])?;
        }
        self.passed.remove(&id);
        Ok(())
    }
}

/// Trims the histories of documents that have got new versions.
fn trim_waiting(
    store: &Arc<Store>,
    collection: &Collection,
    history: &HistoryRows,
    most: u64,
) -> Result<(), Delay> {
    for _ in 0..COMMITS_A_ROUND {
        let keys: Vec<Key> = {
            let mut taken = 0;
            let is_taken = |_: &Key| {
                taken += 1;
                taken <= REAP_DOCUMENTS_MAX
            };
            history.waiting.lock().keys.extract_if(is_taken).collect()
        };
        if keys.is_empty() {
            return Ok(());
        }
        match trim_some(store, collection, history, (most, keys.clone())) {
            Ok(left) => history.waiting.lock().keys.extend(left),
            Err(delay) => {
                history.waiting.lock().keys.extend(keys);
                return Err(delay);
            }
        }
    }
    Ok(())
}

/// Removes what is more than `most` versions of these documents; gives those that are to be looked
/// at again.
fn trim_some(
    store: &Arc<Store>,
    collection: &Collection,
    history: &HistoryRows,
    (most, keys): (u64, Vec<Key>),
) -> Result<Vec<Key>, Delay> {
    let view = store.views.pin((store.clock)());
    let mut room = TRIM_ROWS_MAX;
    let mut changes = Vec::new();
    let mut left = Vec::new();
    for key in keys {
        if room == 0 {
            left.push(key);
            continue;
        }
        let rows = excess(store, &view, (history, &key), (most, room))?;
        room -= rows.len();
        if room == 0 {
            left.push(key.clone());
        }
        let floor = rows.first().and_then(|row| split_row(row.row.as_str()));
        let Some((_, (commit, time))) = floor else { continue };
        let floor = Some((key, Floor { commit, time }));
        changes.push(Change::Trim(Trim { history: history.rows.id, floor, rows }));
    }
    drop(view);
    if !changes.is_empty() {
        commit(store, collection, changes)?;
    }
    Ok(left)
}

/// At most `room` rows of a document beyond the `most` newest, the newest of them first.
fn excess(
    store: &Store,
    view: &View,
    (history, key): (&HistoryRows, &Key),
    (most, room): (u64, usize),
) -> Result<Vec<TrimmedRow>, ReadError> {
    let range = (rows_between(key, CommitNumber(0), None), Direction::Descending);
    let mut cursor = Cursor::new(store, view, &history.rows, range, most as usize + 1);
    let mut rows = Vec::new();
    let mut passed = 0;
    while rows.len() < room
        && let Some((row, document)) = cursor.next_or_expired()?
    {
        passed += 1;
        if passed > most {
            rows.push(TrimmedRow { row, expires: None, blob: document.blob });
        }
    }
    Ok(rows)
}

/// Commits changes to what belongs to a collection, whatever else happens.
fn commit(store: &Arc<Store>, of: &Collection, changes: Vec<Change>) -> Result<(), Delay> {
    let view = store.views.pin((store.clock)());
    let name = CollectionName::generated(COLLECTIONS);
    let key = Key::generated(of.name.to_string());
    let catalog = store.hot.collection(&name);
    let mut writes = Vec::with_capacity(changes.len());
    for change in changes {
        // What a change of the settings builds on; the others do not look at it.
        let (cell, base) = match &catalog {
            Some(catalog) => store.find_once(&view, catalog, &key)?,
            None => (None, None),
        };
        let write = Write { collection: name.clone(), key: key.clone(), change, times: None };
        writes.push(staged(write, catalog.clone(), (cell, base)));
    }
    let proposal = Proposal {
        view: &view,
        reads: &[],
        first_to_expire: None,
        writes: &mut writes,
        checks_writes: false,
        durability: Durability::Written,
        in_lane: false,
    };
    match store.commit(proposal)? {
        Decision::Committed(_) => Ok(()),
        Decision::Conflict(_) | Decision::HeldBack => Err(Delay::Again),
    }
}

fn staged(write: Write, collection: Option<Arc<Collection>>, found: crate::store::Found) -> Staged {
    let (cell, base) = found;
    let (rows, is_computed, merges) = ((0, 0), false, false);
    Staged { write, collection, base, cell, rows, is_computed, merges }
}

/// What removing rows of a history comes to.
pub(crate) fn trimmed_rows(hot: &Hot, trim: &Trim) -> Vec<RowChange> {
    let Some(of) = hot.rows_by_id(trim.history) else { return Vec::new() };
    let mut changes = Vec::with_capacity(3 * trim.rows.len() + 1);
    if let Some((key, floor)) = &trim.floor {
        changes.push(floor_change(&of, key.as_str(), *floor));
    }
    for TrimmedRow { row, expires, blob } in &trim.rows {
        changes.push(RowChange::version(Arc::clone(&of), row.clone(), None));
        changes.extend(expires.map(|at| RowChange::version_expired(&of, row, at)));
        changes.extend(blob.map(|blob| RowChange::version_blob(&of, row, blob, false)));
    }
    changes
}

/// Rows that the table of what expires names: gathered, and removed together.
#[derive(Default)]
pub(crate) struct Expired {
    of: BTreeMap<u32, (Arc<Collection>, Floor, Vec<TrimmedRow>)>,
}

impl Expired {
    /// Takes a row of the history `rows` that expired at a time, and whether it names a blob.
    pub(crate) fn take(
        &mut self,
        (store, view): (&Store, &View),
        rows: Arc<Collection>,
        (row, at, has_blob): (Key, Timestamp, bool),
    ) -> Result<(), ReadError> {
        let blob = match has_blob {
            true => store.find_once(view, &rows, &row)?.1.and_then(|row| row.blob),
            false => None,
        };
        self.push(rows, TrimmedRow { row, expires: Some(at), blob });
        Ok(())
    }

    fn push(&mut self, rows: Arc<Collection>, expired: TrimmedRow) {
        let floor = split_row(expired.row.as_str())
            .map(|(_, (commit, time))| Floor { commit, time })
            .unwrap_or_default();
        let id = rows.id;
        let (_, highest, all) =
            self.of.entry(id).or_insert_with(|| (rows, Floor::default(), Vec::new()));
        *highest = floor.max(*highest);
        all.push(expired);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.of.values().map(|(.., rows)| rows.len()).sum()
    }

    /// The writes that remove them, and what is to be so of everybody's floor: it may only rise.
    pub(crate) fn writes(self, store: &Store, view: &View) -> Result<Vec<Staged>, ReadError> {
        let name = CollectionName::generated(COLLECTIONS);
        let catalog = store.hot.collection(&name);
        let mut writes = Vec::with_capacity(self.of.len());
        for (history, (collection, floor, rows)) in self.of {
            let at = super::floor_row("");
            let known = store.find_once(view, &collection, &at)?.1;
            let known = known.map(|row| Floor { commit: row.version, time: row.updated });
            let floor = floor.max(known.unwrap_or_default());
            let floor = Some((Key::generated(String::new()), floor));
            let change = Change::Trim(Trim { history, floor, rows });
            let key = Key::generated(collection.name.to_string());
            let write = Write { collection: name.clone(), key, change, times: None };
            writes.push(staged(write, catalog.clone(), (None, None)));
        }
        Ok(writes)
    }
}
