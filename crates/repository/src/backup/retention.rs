//! Which sets are kept: the newest full ones and what can be replayed after the oldest of them; and
//! the blobs that these name.

use super::archive;
use super::blobs::{Shelf, named_by_record, named_by_rows};
use super::errors::BackupFolderError;
use super::file::{Decoder, Frame};
use super::manifest::{Manifest, SetKind};
use super::place::Place;
use crate::blobs::{BlobHash, BlobReference};
use crate::document::CommitNumber;
use parking_lot::Mutex;
use std::collections::BTreeSet;

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
    removed.extend(archive::forget(place, oldest)?);
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

/// Removes the blobs that no set and nothing in the archive names. An archive may be written
/// meanwhile by whoever holds `archive_names` from when it looks which blobs are there until the
/// records are that name them.
pub(super) fn forget_blobs(
    (place, shelf): (&Place, &Shelf),
    archive_names: &Mutex<()>,
) -> Result<(), BackupFolderError> {
    let mut unnamed: BTreeSet<BlobHash> = shelf.list()?.into_keys().collect();
    unnamed.extend(shelf.list_gone()?);
    if unnamed.is_empty() {
        return Ok(());
    }
    let read = |unnamed: &mut BTreeSet<BlobHash>| {
        let mut named = |blob: &BlobReference| {
            unnamed.remove(&blob.hash);
        };
        for set in place.sets()?.whole {
            named_by_set(place, &set, &mut named)?;
        }
        let files = archive::files(place)?;
        for file in &files {
            named_by_archive(place, file.after, &mut named)?;
        }
        Ok(files.last().map_or(CommitNumber(0), |last| last.after))
    };
    let last = match read(&mut unnamed) {
        Ok(last) => last,
        // What cannot be read may name any of them.
        Err(error @ BackupFolderError::Damaged { .. }) => {
            log::warn!("no blob is removed from the backups, since not all can be read: {error}");
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let _names = archive_names.lock();
    // What has come meanwhile.
    for file in archive::files(place)?.iter().filter(|file| file.after >= last) {
        let named = &mut |blob: &BlobReference| {
            unnamed.remove(&blob.hash);
        };
        named_by_archive(place, file.after, named)?;
    }
    Ok(unnamed.iter().try_for_each(|hash| shelf.remove(hash))?)
}

/// Gives the blobs that a set names, some of them more than once.
pub(super) fn named_by_set(
    place: &Place,
    set: &Manifest,
    named: &mut dyn FnMut(&BlobReference),
) -> Result<(), BackupFolderError> {
    // The rows that name blobs are the last.
    for file in set.files.iter().rev() {
        let path = place.path.join(set.folder()).join(&file.name);
        let mut read =
            Decoder::new(place.file(set, file)?).map_err(BackupFolderError::damaged(&path))?;
        let mut count = 0;
        while let Some(frame) = read.next().map_err(BackupFolderError::damaged(&path))? {
            let blobs = named_by_frame(set.kind, &frame);
            let blobs = blobs.map_err(BackupFolderError::damaged(&path))?;
            count += blobs.len();
            blobs.iter().for_each(&mut *named);
        }
        // The last file may be empty.
        let has_rows = file.bytes > 1 << 10;
        if set.kind == SetKind::Full && count == 0 && has_rows {
            break;
        }
    }
    Ok(())
}

/// The blobs that a frame of a set of this kind names.
pub(super) fn named_by_frame(kind: SetKind, frame: &Frame) -> Result<Vec<BlobReference>, String> {
    Ok(match kind {
        SetKind::Full => named_by_rows(&frame.rows()?),
        SetKind::Log => {
            let named = frame.records()?.into_iter();
            named.flat_map(|(_, record)| named_by_record(&record)).map(|named| named.blob).collect()
        }
    })
}

/// Gives the blobs that a file of the archive names, some of them more than once.
pub(super) fn named_by_archive(
    place: &Place,
    after: CommitNumber,
    named: &mut dyn FnMut(&BlobReference),
) -> Result<(), BackupFolderError> {
    archive::read_file(place, after, |_, records| {
        let blobs = records.iter().flat_map(|(_, record)| named_by_record(record));
        blobs.for_each(|blob| named(&blob.blob));
        Ok(())
    })
}
