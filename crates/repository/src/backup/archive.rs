//! The files of the archive: records of the log in files of bounded size, each named by the commit
//! that its first one follows. `docs/backup.md`, "The archive". Who writes them is in `archiver`.

use super::errors::BackupFolderError;
use super::file::{Decoder, Kind};
use super::place::Place;
use crate::document::CommitNumber;
use crate::limits::BACKUP_FILE_READ_BYTES_MAX;
use bytes::Bytes;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Its folder in a folder of backups.
pub(super) const FOLDER: &str = "archive";
const EXTENSION: &str = ".records";

/// A file of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArchiveFile {
    /// The commit that its first one follows.
    pub after: CommitNumber,
    /// The commit that the next file follows; of the last, its last commit.
    pub to: CommitNumber,
    pub is_last: bool,
}

impl ArchiveFile {
    pub(super) fn path(&self, place: &Place) -> PathBuf {
        path(place, self.after)
    }
}

pub(super) fn path(place: &Place, after: CommitNumber) -> PathBuf {
    place.path.join(FOLDER).join(format!("{:020}{EXTENSION}", after.0))
}

/// The files of the archive in `place`, in order; none where there is no archive.
pub(super) fn files(place: &Place) -> Result<Vec<ArchiveFile>, BackupFolderError> {
    let folder = place.path.join(FOLDER);
    let names = match place.disk.names(&folder) {
        Ok(names) => names,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(BackupFolderError::io("read the folder", &folder)(error)),
    };
    let number = |name: &String| name.strip_suffix(EXTENSION)?.parse().ok().map(CommitNumber);
    let mut afters: Vec<CommitNumber> = names.iter().filter_map(number).collect();
    afters.sort();
    let mut files = Vec::with_capacity(afters.len());
    for (i, &after) in afters.iter().enumerate() {
        let (to, is_last) = match afters.get(i + 1) {
            Some(next) => (*next, false),
            None => (last_record(place, after)?, true),
        };
        files.push(ArchiveFile { after, to, is_last });
    }
    Ok(files)
}

/// The last record in the file that follows `after`.
fn last_record(place: &Place, after: CommitNumber) -> Result<CommitNumber, BackupFolderError> {
    let mut last = after;
    let read = |_, records: Records| {
        last = records.last().map_or(last, |(number, _)| *number);
        Ok(())
    };
    read_file(place, after, read)?;
    Ok(last)
}

/// Records with the numbers of their commits.
type Records = Vec<(CommitNumber, Bytes)>;

/// Gives the records of a file to `visit`, frame by frame, with the commit that they follow. A
/// frame at its end that is not whole was never counted as archived, and is passed over: where
/// something is missing, what follows does not fit.
pub(super) fn read_file(
    place: &Place,
    after: CommitNumber,
    mut visit: impl FnMut(CommitNumber, Records) -> Result<(), BackupFolderError>,
) -> Result<(), BackupFolderError> {
    let path = path(place, after);
    let damaged = |why| BackupFolderError::damaged(&path)(why);
    let content = place.disk.read(&path, 0, BACKUP_FILE_READ_BYTES_MAX);
    let content = Bytes::from(content.map_err(BackupFolderError::io("read", &path))?);
    let mut file = match Decoder::new(content) {
        Ok(file) => file,
        // It was cut off while it was made.
        Err(_) => return Ok(()),
    };
    let expected = (Kind::Records, place.repository()?, after);
    if (file.header.kind, file.header.repository, file.header.commit) != expected {
        return Err(damaged("it belongs to another place or another repository".to_owned()));
    }
    while let Ok(Some(frame)) = file.next() {
        let records = frame.records().map_err(damaged)?;
        visit(CommitNumber(frame.previous), records)?;
    }
    Ok(())
}

/// Makes what is in the archive durable, and gives the last commit in it. Of a process that was
/// killed, or whose sync failed, a frame may be there to be read that a power cut would take: so
/// the last file is written once more as it is.
pub(super) fn settle(place: &Place) -> Result<Option<CommitNumber>, BackupFolderError> {
    let Some(last) = files(place)?.pop() else { return Ok(None) };
    let path = last.path(place);
    let written = place.disk.read(&path, 0, BACKUP_FILE_READ_BYTES_MAX).and_then(|content| {
        let file = place.disk.open(&path)?;
        file.write(&content, 0)?;
        file.sync()?;
        place.disk.sync_folder(&place.path.join(FOLDER))
    });
    written.map_err(BackupFolderError::io("sync", &path))?;
    Ok(Some(last.to))
}

/// Removes what is not needed to restore `oldest` or anything later; gives the names.
pub(super) fn forget(
    place: &Place,
    oldest: CommitNumber,
) -> Result<Vec<String>, BackupFolderError> {
    let mut removed = Vec::new();
    for file in files(place)?.into_iter().filter(|file| !file.is_last && file.to <= oldest) {
        let path = file.path(place);
        // Each for itself, so that none in the middle is gone while one before it is there.
        let gone = place.disk.remove(&path);
        let gone = gone.and_then(|()| place.disk.sync_folder(&place.path.join(FOLDER)));
        gone.map_err(BackupFolderError::io("remove", &path))?;
        removed.push(format!("{FOLDER}/{:020}{EXTENSION}", file.after.0));
    }
    Ok(removed)
}
