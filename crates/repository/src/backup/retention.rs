//! Which sets are kept: the newest full ones and what can be replayed after the oldest of them.

use super::errors::BackupFolderError;
use super::manifest::{Manifest, SetKind};
use super::place::Place;
use crate::document::CommitNumber;

/// Removes what the newest `full` full sets do not need, oldest first; gives their names. The last
/// full set always stays.
pub(super) fn keep(place: &Place, full: usize) -> Result<Vec<String>, BackupFolderError> {
    let sets = place.sets()?.whole;
    let Some(oldest) = oldest_kept(&sets, full.max(1)) else { return Ok(Vec::new()) };
    let mut removed = Vec::new();
    for set in sets.iter().filter(|set| !is_needed(set, oldest)) {
        place.remove(&set.folder())?;
        removed.push(set.folder());
    }
    removed.extend(super::archive::forget(place, oldest)?);
    Ok(removed)
}

/// The commit of the oldest full set that is kept.
fn oldest_kept(sets: &[Manifest], full: usize) -> Option<CommitNumber> {
    let fulls = sets.iter().rev().filter(|set| set.kind == SetKind::Full);
    fulls.take(full).last().map(|set| set.to)
}

/// Whether a restore from a full set at `oldest` or later may need it.
fn is_needed(set: &Manifest, oldest: CommitNumber) -> bool {
    match set.kind {
        SetKind::Full => set.to >= oldest,
        SetKind::Log => set.to > oldest,
    }
}
