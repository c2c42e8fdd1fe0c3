//! Making a backup of an open repository: everything as of a checkpoint, or the commits since the
//! last set.

use super::blobs::{CopyError, Shelf, named_by_row};
use super::commits;
use super::errors::{BackupError, BackupFolderError};
use super::file::{Header, Kind};
use super::manifest::{Manifest, SetKind};
use super::place::{Place, Sets};
use super::set::{IntoFolder, IntoTar, Report, SetWriter, Target};
use super::{Added, BackupKind, BackupOptions, BackupReport};
use crate::blobs::BlobError;
use crate::disk::Disk;
use crate::document::CommitNumber;
use crate::history;
use crate::repository::Repository;
use crate::rows;
use crate::snapshot::Snapshot;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// So much more of the log than of rows, in percent, and a full set is made instead: what it costs
/// to restore stays in proportion.
const LOG_PERCENT_MAX: u64 = 100;

/// Adds a set to the folder of backups `path` on `disk`.
pub(crate) fn to_folder(
    repository: &Repository,
    (disk, path): (Arc<dyn Disk>, &Path),
    options: &BackupOptions,
    report: Report<'_>,
) -> Result<BackupReport, BackupError> {
    let place = Place::new(disk, path);
    let _lock = place.take(&repository.store.id)?;
    let sets = place.sets()?;
    place.settle(&sets)?;
    // The next backup cleans up after one that was cut short.
    for unfinished in &sets.unfinished {
        place.remove(unfinished)?;
    }
    let shelf = Shelf::new(&place.disk, &place.path, "backup-");
    shelf.clear_incoming().map_err(BackupFolderError::Blob)?;
    let to = (&place, &shelf);
    let made = match options.kind {
        BackupKind::Full => full_in(repository, to, &sets, report)?,
        BackupKind::Commits => commits::add(repository, to, &sets, report)?,
        BackupKind::Automatic if is_full_due(&sets) => full_in(repository, to, &sets, report)?,
        BackupKind::Automatic => match commits::add(repository, to, &sets, report) {
            Err(BackupError::LogGone { .. }) => full_in(repository, to, &sets, report)?,
            made => made?,
        },
    };
    let removed = match options.keep {
        Some(keep) => super::retention::keep(&place, keep)?,
        None => Vec::new(),
    };
    if !removed.is_empty() || !sets.unfinished.is_empty() {
        super::retention::forget_blobs(to, &repository.store.archive_names)?;
    }
    Ok(BackupReport { cleaned: sets.unfinished, removed, ..made })
}

/// Writes a full set as a stream of tar.
pub(crate) fn to_tar(
    repository: &Repository,
    to: &mut dyn Write,
    report: Report<'_>,
) -> Result<BackupReport, BackupError> {
    let snapshot = snapshot(repository)?;
    let manifest = manifest_of(repository, &snapshot);
    let target = IntoTar::new(to, &repository.store.id, manifest.folder())?;
    full(repository, &snapshot, (Box::new(target), manifest), report)
}

fn snapshot(repository: &Repository) -> Result<Snapshot, BackupError> {
    Ok(repository.snapshot()?)
}

fn manifest_of(repository: &Repository, snapshot: &Snapshot) -> Manifest {
    Manifest {
        kind: SetKind::Full,
        repository: repository.store.id,
        after: CommitNumber(0),
        to: snapshot.commit(),
        time: snapshot.time(),
        made: (repository.store.clock)(),
        items: 0,
        files: Vec::new(),
        blobs: 0,
        blob_bytes: 0,
    }
}

/// Whether commits were added for so long that everything is to be written anew.
fn is_full_due(sets: &Sets) -> bool {
    let Some(at) = sets.whole.iter().rposition(|set| set.kind == SetKind::Full) else {
        return true;
    };
    let log: u64 = sets.whole[at + 1..].iter().map(Manifest::bytes).sum();
    // Where there is next to nothing, a full set is no cheaper.
    const LEAST_BYTES: u64 = 64 << 20;
    log > (sets.whole[at].bytes() * LOG_PERCENT_MAX / 100).max(LEAST_BYTES)
}

fn full_in(
    repository: &Repository,
    to: (&Place, &Shelf),
    sets: &Sets,
    report: Report<'_>,
) -> Result<BackupReport, BackupError> {
    let snapshot = snapshot(repository)?;
    let manifest = manifest_of(repository, &snapshot);
    check_ahead(sets, manifest.to)?;
    let same = |set: &&Manifest| (set.kind, set.to) == (SetKind::Full, manifest.to);
    if let Some(same) = sets.whole.iter().find(same) {
        return Ok(BackupReport::of(same, Added::Nothing));
    }
    let target = IntoFolder::new(to, &manifest.folder())?;
    full(repository, &snapshot, (Box::new(target), manifest), report)
}

fn full<'a>(
    repository: &Repository,
    snapshot: &Snapshot,
    (target, manifest): (Box<dyn Target + 'a>, Manifest),
    report: Report<'a>,
) -> Result<BackupReport, BackupError> {
    let header = Header {
        kind: Kind::Rows,
        repository: manifest.repository,
        commit: manifest.to,
        time: manifest.time,
        place: 0,
    };
    let bytes = repository.store.engine.disk_bytes() + repository.blob_stats().bytes;
    let mut set = SetWriter::new(target, header, bytes, report);
    let mut failed = None;
    let mut last = None;
    snapshot.scan(&mut |id, key, document| {
        let added = set.row(id, key, &document).and_then(|()| {
            match named_by_row(id, key, &document).filter(|blob| last != Some(*blob)) {
                None => Ok(()),
                Some(blob) => {
                    last = Some(blob);
                    let added = set.blob(blob, || Ok(snapshot.pin(blob)?.open()?));
                    added.map_err(|error| blob_error(repository, key, error))
                }
            }
        });
        match added {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    let manifest = set.finish(manifest)?;
    Ok(BackupReport::of(&manifest, Added::Full))
}

/// What to say of the blob that the row `key` names.
fn blob_error(repository: &Repository, key: &str, error: CopyError) -> BackupError {
    let document = || {
        let (id, key) = rows::named_by(key)?;
        history::named_by(&repository.store.hot, id, key)
    };
    copy_error(document().unwrap_or_else(|| key.to_owned()), error)
}

/// What to say of a blob that a document names.
pub(super) fn copy_error(document: String, error: CopyError) -> BackupError {
    match error {
        CopyError::Stopped => BackupError::Stopped,
        CopyError::Stream(error) => BackupError::Stream(error),
        CopyError::Blob(BlobError::Read(error)) => BackupError::Read(error),
        CopyError::Blob(error) => BackupError::Blob { document, why: error.to_string() },
    }
}

/// A folder that holds later commits than the repository has is that of another future.
pub(super) fn check_ahead(sets: &Sets, last: CommitNumber) -> Result<(), BackupError> {
    match sets.whole.last() {
        Some(set) if set.to > last => Err(BackupError::Ahead { backup: set.to, repository: last }),
        _ => Ok(()),
    }
}
