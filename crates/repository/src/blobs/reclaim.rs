//! Removing blobs that nobody names any more: never one that is named, and none is left for ever.
//! `docs/blobs.md`, "When a blob goes".

use super::{BlobError, BlobHash};
use crate::cursor::Cursor;
use crate::document::{CommitNumber, Timestamp};
use crate::errors::ReadError;
use crate::limits::BLOBS_LOOKED_AT_MAX;
use crate::range::Direction;
use crate::rows;
use crate::store::Store;
use std::collections::VecDeque;

/// Rounds between two steps of a look at all files: a folder is listed, or some of its files are
/// looked at.
const ROUNDS_A_STEP: u32 = 4;

/// Folders that a step lists at most; it stops at one that has blobs in it.
const FOLDERS_A_STEP: u32 = 16;

/// Rounds after which all files are looked at again (a day, at 50 ms a round).
const ROUNDS_BEFORE_ALL: u32 = 1_728_000;

/// What became of a blob that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    /// It is gone.
    Removed,
    /// A document names it.
    Named,
    /// Somebody uses it, or still sees a document that named it, or a power cut would bring one
    /// back.
    Later,
}

/// Removes the blob, if it may go.
pub(crate) fn look_at(store: &Store, hash: &BlobHash) -> Result<Looked, BlobError> {
    if is_kept_for_log(store, hash) {
        return Ok(Looked::Later);
    }
    // From here on nobody pins it, and so no commit can begin to name it.
    let Some(_removal) = store.blobs.begin_removal(hash) else { return Ok(Looked::Later) };
    let unnamed = &store.hot.unnamed;
    let before = unnamed.last(hash);
    if is_named(store, hash)? {
        unnamed.settle(hash, before);
        return Ok(Looked::Named);
    }
    // No view sees a name from here on but those that are open, and no row can come back but by
    // the power: whatever took the last name was noted when it was applied.
    let last = unnamed.last(hash);
    let is_in_snapshot = store.views.oldest_snapshot().is_some_and(|oldest| oldest < last);
    let is_seen = is_in_snapshot || store.views.any_between(CommitNumber(0), last);
    if is_seen || store.tranlog.synced() < last {
        return Ok(Looked::Later);
    }
    if keep_for_log(store, hash)? {
        return Ok(Looked::Later);
    }
    store.blobs.remove(hash)?;
    unnamed.settle(hash, last);
    Ok(Looked::Removed)
}

/// Whether a blob without a name stays, since it was found to before and nothing has changed.
fn is_kept_for_log(store: &Store, hash: &BlobHash) -> bool {
    let unnamed = &store.hot.unnamed;
    let Some(kept) = unnamed.kept(hash) else { return false };
    let taken = unnamed.taken(hash);
    kept.taken == taken && kept.may_stay(store.tranlog.blob_room(taken), (store.clock)())
}

/// Whether a blob without a name stays for those who copy the log: a commit in it may name it.
fn keep_for_log(store: &Store, hash: &BlobHash) -> Result<bool, BlobError> {
    let unnamed = &store.hot.unnamed;
    let Some(length) = store.blobs.length(hash)? else { return Ok(false) };
    let (taken, now) = (unnamed.taken(hash), (store.clock)());
    Ok(unnamed.keep(*hash, (taken, length), store.tranlog.blob_room(taken), now))
}

/// Whether a document names the blob on the newest view.
pub(crate) fn is_named(store: &Store, hash: &BlobHash) -> Result<bool, ReadError> {
    // Rows do not expire, so time need not go on for this.
    let view = store.views.pin(Timestamp(0));
    for table in [&store.hot.blobs, &store.hot.volatile_blobs] {
        let range = (rows::blob_rows(hash), Direction::Ascending);
        if Cursor::new(store, &view, table, range, 1).next()?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What is remembered from round to round: the noted blobs are gone through again and again, all
/// files after opening and then now and then.
#[derive(Debug, Default)]
pub(crate) struct Sweeper {
    rounds: u32,
    /// The last noted blob that was looked at.
    passed: Option<BlobHash>,
    /// The folder that is looked at next, if all files are, and what is left of the one before.
    folder: Option<u8>,
    left: VecDeque<BlobHash>,
    has_begun: bool,
    /// How often blobs were forgotten when all files were last looked at.
    forgotten: u64,
    /// What was said last of what stands in the way.
    told: Option<String>,
}

impl Sweeper {
    /// Takes a round.
    pub(crate) fn round(&mut self, store: &Store) {
        if store.tranlog.durable().is_err() {
            return;
        }
        self.rounds = self.rounds.wrapping_add(1);
        let is_step = self.rounds.is_multiple_of(ROUNDS_A_STEP);
        let done = self.look_at_noted(store);
        let done = done.and_then(|()| if is_step { self.step(store) } else { Ok(()) });
        let told = done.err().map(|error| error.to_string());
        if let Some(error) = told.as_ref().filter(|told| self.told.as_ref() != Some(told)) {
            log::error!("blobs without a name stay for now, it is tried again: {error}");
        }
        self.told = told;
    }

    /// Whether all files were looked at since it began to.
    pub(crate) fn is_through(&self) -> bool {
        self.has_begun && self.folder.is_none() && self.left.is_empty()
    }

    /// Has all files looked at from now on.
    pub(crate) fn start(&mut self) {
        (self.folder, self.has_begun) = (Some(0), true);
        self.left.clear();
    }

    fn look_at_noted(&mut self, store: &Store) -> Result<(), BlobError> {
        let noted = store.hot.unnamed.list(self.passed, BLOBS_LOOKED_AT_MAX);
        self.passed = noted.last().copied();
        noted.iter().try_for_each(|hash| look_at(store, hash).map(drop))
    }

    /// Gets on with all files.
    pub(crate) fn step(&mut self, store: &Store) -> Result<(), BlobError> {
        let forgotten = store.hot.unnamed.forgotten();
        let is_due = !self.has_begun
            || forgotten != self.forgotten
            || self.rounds.is_multiple_of(ROUNDS_BEFORE_ALL);
        if is_due && self.folder.is_none() && self.left.is_empty() {
            self.forgotten = forgotten;
            self.start();
        }
        for _ in 0..FOLDERS_A_STEP {
            let Some(folder) = self.folder.filter(|_| self.left.is_empty()) else { break };
            if folder == 0 {
                store.blobs.clear_incoming()?;
            }
            self.left = store.blobs.list(folder)?.into();
            self.folder = folder.checked_add(1);
        }
        for _ in 0..BLOBS_LOOKED_AT_MAX {
            let Some(hash) = self.left.pop_front() else { break };
            if look_at(store, &hash)? == Looked::Later {
                // It has never been noted since opening, or it would not be looked at here alone.
                store.hot.unnamed.note(hash, CommitNumber(0));
            }
        }
        Ok(())
    }
}
