//! Checkpoints: bringing the engine to the newest view, so that the log before it is not needed.

use crate::at_rest::{AtRest, EngineError, StateRow};
use crate::document::{CommitNumber, Document};
use crate::errors::Poisoned;
use crate::hot::{Cell, Held};
use crate::store::Store;
use crate::views::{EnginePin, View};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

/// Why a checkpoint was not written. The list of changes is kept for the next one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckpointError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Poisoned(#[from] Poisoned),
    #[error("there is no room for it: it may take {needed} bytes, {free} are free")]
    NoRoom { needed: u64, free: u64 },
}

/// What a checkpoint of so many bytes of documents may take on disk, and a merge of so many bytes
/// of tables: filters, tables of contents and names as well. Little more for little, since on a
/// small disk that is full only a small checkpoint can make room.
fn with_overhead(bytes: u64) -> u64 {
    bytes.saturating_add(bytes / 16).saturating_add(256 << 10)
}

/// What a row in a table takes beside its key and its body, at most and on average, in bytes.
const ROW_OVERHEAD_BYTES: u64 = 96;

/// Brings the engine to the newest view.
pub(crate) fn checkpoint(store: &Store) -> Result<(), CheckpointError> {
    bring(store, &mut store.engine_work.lock()).map(drop)
}

/// As `checkpoint`, and keeps what the engine holds then.
pub(crate) fn pinned(store: &Store) -> Result<(EnginePin, StateRow), CheckpointError> {
    let mut engine_holds = store.engine_work.lock();
    // Blobs that are named at that commit must stay until the state is pinned.
    let _held = store.views.pin_memory();
    let row = bring(store, &mut engine_holds)?;
    // Nothing joins the engine while this is locked, so the state is exactly this commit.
    let pin = store.views.pin_engine(|| store.engine.state(row.commit));
    Ok((pin, row))
}

/// See [`checkpoint`]; gives what the engine holds then.
fn bring(store: &Store, engine_holds: &mut CommitNumber) -> Result<StateRow, CheckpointError> {
    // What a thread left half done when it panicked must not get into the engine.
    store.tranlog.durable()?;
    let (view, time, logged, mut changed) = {
        let mut sequence = store.sequence.lock();
        let view = store.views.pin_memory();
        sequence.listed_after = view.number;
        let cells = std::mem::take(&mut sequence.changed);
        (view, sequence.time, sequence.logged, Taken { store, cells })
    };
    // Records without changes count too: the log before them would be kept for ever.
    let is_behind = !changed.cells.is_empty() || logged > *engine_holds;
    let row = StateRow { commit: view.number, time, segment: store.tranlog.newest_segment() };
    if is_behind {
        let begun = Instant::now();
        sort(&mut changed.cells);
        write(store, &view, row, &changed.cells)?;
        *engine_holds = view.number;
        store.counters.checkpoints.record(begun.elapsed());
    }
    // Where nothing was to be written, the engine holds this commit as well as the one before.
    store.refresh_engine(view.number);
    let commit = view.number;
    drop(view);
    let written = std::mem::take(&mut changed.cells);
    store.hot.tidy(written, store.views.oldest_engine().commit, &store.views);
    if is_behind {
        store.tranlog.checkpointed(commit);
    }
    Ok(row)
}

/// Changes taken off the list for the engine. What is still here when this is dropped, the engine
/// did not get, whatever the reason: it goes back on the list.
struct Taken<'a> {
    store: &'a Store,
    cells: Vec<Arc<Cell>>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if !self.cells.is_empty() {
            self.store.sequence.lock().changed.append(&mut self.cells);
        }
    }
}

/// Sorts the cells and key, each once. The start of each key is taken along, since looking
/// keys up all over memory is most of the time that sorting takes.
pub(crate) fn sort(cells: &mut Vec<Arc<Cell>>) {
    let with_start = |cell: Arc<Cell>| {
        let mut start = [0; 16];
        let bytes = cell.key.as_str().as_bytes();
        let length = bytes.len().min(start.len());
        start[..length].copy_from_slice(&bytes[..length]);
        (cell.collection, u128::from_be_bytes(start), cell)
    };
    let mut sorted: Vec<_> = cells.drain(..).map(with_start).collect();
    sorted.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| a.2.key.cmp(&b.2.key)));
    sorted.dedup_by(|a, b| Arc::ptr_eq(&a.2, &b.2));
    cells.extend(sorted.into_iter().map(|(.., cell)| cell));
}

fn write(
    store: &Store,
    view: &View,
    state: StateRow,
    changed: &[Arc<Cell>],
) -> Result<(), CheckpointError> {
    // One that fails half way keeps what it has written until the next opening.
    let free = store.tranlog.space().look().unwrap_or(u64::MAX);
    let mut needed = with_overhead(changed.iter().map(|cell| cell.bytes() as u64).sum());
    if needed > free {
        // What memory holds of deleted documents is not written.
        needed = with_overhead(changed.iter().map(|cell| row_bytes(cell, view)).sum());
    }
    // The engine must never be ahead of the log. Asked first: a poisoned log must not cost tables.
    if needed > free || !store.tranlog.wait_synced(state.commit)? {
        return Err(CheckpointError::NoRoom { needed, free });
    }
    Ok(ingest(&*store.engine, view, state, changed)?)
}

/// Writes what `view` sees of `changed`, which are sorted, and makes it the engine's state.
pub(crate) fn ingest(
    engine: &dyn AtRest,
    view: &View,
    state: StateRow,
    changed: &[Arc<Cell>],
) -> Result<(), EngineError> {
    let mut ingest = engine.ingest(state)?;
    for cell in changed {
        let document = version_at(cell, view.number);
        // What came and went between two checkpoints leaves nothing to be cleared away.
        if document.is_some() || cell.may_be_at_rest() {
            ingest.write(cell.collection, cell.key.as_str(), document.as_deref())?;
        }
    }
    ingest.finish()?;
    changed.iter().for_each(|cell| cell.set_at_rest());
    Ok(())
}

/// What of a document a checkpoint writes, in bytes.
fn row_bytes(cell: &Cell, view: &View) -> u64 {
    let body = version_at(cell, view.number).map_or(0, |document| document.body.len());
    (cell.key.as_str().len() + body) as u64 + ROW_OVERHEAD_BYTES
}

fn version_at(cell: &Cell, view: CommitNumber) -> Option<Arc<Document>> {
    match cell.at(view) {
        Held::Version(document) => document,
        // Listed documents stay in memory until they are in the engine; see `Collection::evict`.
        Held::Elsewhere => unreachable!("a changed document left memory before its checkpoint"),
    }
}

/// Whether everything can be merged: what it holds has room a second time. On a disk that is full
/// of deleted documents that is known only once those that are left have been counted.
fn has_room_to_merge(store: &Store) -> Result<bool, EngineError> {
    let Some(free) = store.tranlog.space().look() else { return Ok(true) };
    if free > with_overhead(store.engine.disk_bytes()) {
        return Ok(true);
    }
    let oldest = store.views.oldest_tables();
    let is_seen = oldest != store.views.engine();
    if is_seen || !store.tranlog.space().is_tight() {
        return Ok(false);
    }
    let mut rows = 0;
    let count = &mut |_: u32, key: &str, document: Arc<Document>| {
        rows += (key.len() + document.body.len()) as u64 + ROW_OVERHEAD_BYTES;
        if with_overhead(rows) < free { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    store.engine.scan(oldest, count).map_err(|e| EngineError(e.to_string()))?;
    Ok(with_overhead(rows) < free)
}

/// Gives back the space of tables that no view reads any more.
pub(crate) fn release(store: &Store) -> Result<(), EngineError> {
    let _work = store.compaction.lock();
    store.engine.release(store.views.oldest_tables())
}

/// Merges tables while that pays, more of them when there is nothing else to do. Commits and
/// checkpoints go on meanwhile.
pub(crate) fn compact(store: &Store, is_idle: bool) -> Result<(), EngineError> {
    let _work = store.compaction.lock();
    let is_idle = is_idle && has_room_to_merge(store)?;
    while store.engine.compact(store.views.oldest_tables(), is_idle)? {
        // Views that open from now on read from the merged tables.
        store.refresh_engine(CommitNumber(0));
        store.engine.release(store.views.oldest_tables())?;
    }
    store.engine.release(store.views.oldest_tables())
}
