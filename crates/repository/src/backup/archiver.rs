//! Archiving: the records of the log are copied as they become synced, so that everything can be
//! restored up to the last moment. `docs/backup.md`, "The archive".
//!
//! The log keeps what was not copied (a hold), up to a bound. What cannot be written is tried
//! again.

use super::archive::{FOLDER, files, path, settle};
use super::blobs::{NamedBlob, Shelf, named_by_record, take_named};
use super::errors::BackupFolderError;
use super::file::{Encoder, FRAME_BYTES_TARGET, Header, Kind};
use super::place::Place;
use crate::disk::{Disk, DiskFile, Files, Lock};
use crate::document::{CommitNumber, Timestamp};
use crate::errors::LogError;
use crate::limits::{ARCHIVE_WRITE_MS, BACKUP_FILE_BYTES};
use crate::log_reader::{LogHold, LogReader};
use crate::repository::Repository;
use crate::store::Store;
use crate::tranlog::Hold;
use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use std::any::Any;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use thiserror::Error;

/// After a failure it is tried again so much later.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(5);

/// Why there is no archive.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// Its folder.
    #[error(transparent)]
    Folder(#[from] BackupFolderError),
    /// It is ahead of the repository.
    #[error(
        "the archive goes up to commit {archive}, but the repository only to {repository}: it was \
         put back to an earlier state by other means; use another folder"
    )]
    Ahead {
        /// The last commit in the archive.
        archive: CommitNumber,
        /// The last commit of the repository.
        repository: CommitNumber,
    },
    /// No thread could be started.
    #[error("cannot start a thread for the archive: {0}")]
    Thread(std::io::Error),
}

/// How far the archive is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchiveStatus {
    /// Every commit up to this one that has a record is in the archive.
    pub archived: CommitNumber,
    /// Why it does not go on; it is tried again.
    pub failure: Option<String>,
    /// The last commit before the newest gap, if commits were let go of before they were archived:
    /// a full backup closes it.
    pub gap: Option<(CommitNumber, CommitNumber)>,
}

/// Writes the archive, step by step.
pub(crate) struct ArchiveWriter {
    place: Place,
    repository: [u8; 16],
    log: LogReader,
    hold: Hold,
    held: LogHold,
    /// The file that is written, and how long it is; none at first and after a failure.
    file: Option<(Box<dyn DiskFile>, Header, u64)>,
    /// What was taken from the log and is not in the archive.
    taken: Vec<(CommitNumber, Bytes)>,
    /// The blobs that it names.
    named: Vec<NamedBlob>,
    shelf: Shelf,
    /// The log gave so much at once that there may be more.
    pub is_behind: bool,
    /// The log gave nothing.
    is_at_end: bool,
    pub status: ArchiveStatus,
    _lock: Box<dyn Any + Send + Sync>,
}

impl ArchiveWriter {
    /// Goes on with the archive in the folder of backups `path`, or begins one with what the log
    /// still has.
    pub(crate) fn new(
        repository: &Repository,
        disk: Arc<dyn Disk>,
        path: &Path,
        hold_bytes_max: u64,
    ) -> Result<Self, ArchiveError> {
        let id = repository.store.id;
        let place = Place::new(disk, path);
        place.mark(&id)?;
        let folder = path.join(FOLDER);
        let io = BackupFolderError::io;
        place.disk.create_folder(&folder).map_err(io("create the folder", &folder))?;
        place.disk.sync_folder(path).map_err(io("sync", path))?;
        let lock = match place.disk.lock(&folder.join("lock")).map_err(io("lock", &folder))? {
            Lock::Held(lock) => lock,
            Lock::HeldBy(pid) => return Err(BackupFolderError::Locked { path: folder, pid }.into()),
        };
        let archived = settle(&place)?;
        let last = repository.store.views.visible();
        if let Some(archive) = archived.filter(|archived| *archived > last) {
            return Err(ArchiveError::Ahead { archive, repository: last });
        }
        let after = archived.unwrap_or_else(|| repository.retained().after);
        let hold = Hold { after, bytes_max: hold_bytes_max };
        let held = repository.hold_log(hold);
        let status = ArchiveStatus { archived: after, ..ArchiveStatus::default() };
        let (log, taken, named) = (repository.log(after), Vec::new(), Vec::new());
        let shelf = Shelf::new(&place.disk, path, "archive-");
        shelf.clear_incoming().map_err(BackupFolderError::Blob)?;
        Ok(Self {
            place,
            repository: id,
            log,
            hold,
            held,
            file: None,
            taken,
            named,
            shelf,
            is_behind: false,
            is_at_end: false,
            status,
            _lock: lock,
        })
    }

    /// Takes what the log has and writes it; waits for at most `wait` where it has nothing.
    /// `false`: the log has ended.
    pub(crate) fn step(&mut self, repository: &Repository, wait: Duration) -> bool {
        if self.taken.is_empty() {
            match self.log.next(wait) {
                Ok(records) => {
                    let records = records.into_iter();
                    self.taken = records.map(|record| (record.number, record.record)).collect();
                    let named = self.taken.iter().flat_map(|(_, record)| named_by_record(record));
                    self.named = named.collect();
                    let bytes: usize = self.taken.iter().map(|(_, record)| record.len()).sum();
                    self.is_behind = bytes >= FRAME_BYTES_TARGET / 2;
                    self.is_at_end = bytes == 0;
                }
                Err(LogError::Gone { after }) => {
                    self.skip(repository, after);
                    return true;
                }
                Err(LogError::Closed | LogError::Poisoned(_)) => return false,
                Err(error) => {
                    self.fail(error.to_string());
                    return true;
                }
            }
        }
        // Those that are large take long: not while somebody waits for the names.
        let copied = self.copy_blobs(repository);
        let written = copied.and_then(|()| {
            let _names = repository.store.archive_names.lock();
            // Some may have been removed before it was known that they are named.
            self.copy_blobs(repository)?;
            self.write().map_err(|error| error.to_string())
        });
        if let Err(why) = written {
            self.file = None;
            self.fail(why);
        }
        true
    }

    /// Copies the blobs that are named by what was taken.
    fn copy_blobs(&self, repository: &Repository) -> Result<(), String> {
        let go_on = &mut |_| ControlFlow::Continue(());
        for NamedBlob { document, blob } in &self.named {
            match take_named(repository, &self.shelf, *blob, go_on) {
                Ok(_) => {}
                // The others are not to wait for it.
                Err(error) if error.is_damage() => {
                    log::error!("{document} cannot be archived as it was written: {error}");
                    self.shelf.note_gone(&blob.hash).map_err(|error| error.to_string())?;
                }
                Err(error) => return Err(format!("{document}: {error}")),
            }
        }
        self.shelf.settle().map_err(|error| error.to_string())
    }

    fn fail(&mut self, why: String) {
        if self.status.failure.is_none() {
            log::error!("the archive does not go on, it will be tried again: {why}");
        }
        self.status.failure = Some(why);
    }

    /// The log has let go of commits that were not archived.
    fn skip(&mut self, repository: &Repository, after: CommitNumber) {
        let first = self.status.archived.next();
        log::error!(
            "the archive has a gap: the log has let go of the commits {first} to {after} before \
             they were archived; what comes later can be restored once there is a new full backup"
        );
        self.status.gap = Some((first, after));
        self.status.archived = after;
        self.file = None;
        self.log = repository.log(after);
        self.held = repository.hold_log(Hold { after, ..self.hold });
    }

    fn write(&mut self) -> Result<(), BackupFolderError> {
        let Some((last, _)) = self.taken.last() else { return Ok(()) };
        let last = *last;
        let after = self.status.archived;
        let (file, header, length) = match self.file.take() {
            Some(open) => open,
            None => self.begin(after)?,
        };
        let mut frames = Encoder::resume(&header, after.0);
        self.taken.iter().for_each(|(number, record)| frames.record(*number, record));
        let path = path(&self.place, header.commit);
        let is_full = length as usize + frames.len() >= BACKUP_FILE_BYTES;
        let bytes = if is_full { frames.finish() } else { frames.take() };
        let written = file.write(&bytes, length).and_then(|()| file.sync());
        written.map_err(BackupFolderError::io("write", &path))?;
        self.taken.clear();
        self.named.clear();
        if !is_full {
            self.file = Some((file, header, length + bytes.len() as u64));
        }
        self.status.archived = last;
        if self.status.failure.take().is_some() {
            log::info!("the archive goes on, at commit {last}");
        }
        self.held.advance(last);
        Ok(())
    }

    /// Begins a file after `after`; one of that name holds nothing that counts.
    fn begin(
        &self,
        after: CommitNumber,
    ) -> Result<(Box<dyn DiskFile>, Header, u64), BackupFolderError> {
        let path = path(&self.place, after);
        let (kind, time) = (Kind::Records, Timestamp(0));
        let header = Header { kind, repository: self.repository, commit: after, time, place: 0 };
        let begin = || {
            let file = self.place.disk.create(&path)?;
            let bytes = Encoder::new(&header, after.0).take();
            file.write(&bytes, 0)?;
            file.sync()?;
            self.place.disk.sync_folder(&self.place.path.join(FOLDER))?;
            Ok((file, header, bytes.len() as u64))
        };
        begin().map_err(BackupFolderError::io("write", &path))
    }
}

/// An archive that follows an open repository, on a thread of its own.
pub struct Archive {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: Mutex<bool>,
    stopped: Condvar,
}

impl Shared {
    /// Waits, unless it is to stop; whether it is.
    fn rest(&self, wait: Duration) -> bool {
        let mut stop = self.stop.lock();
        if !*stop {
            self.stopped.wait_for(&mut stop, wait);
        }
        *stop
    }
}

impl Archive {
    /// The last commit in the archive of the folder of backups `path`, if there is one: what an
    /// opening is to hold of the log.
    pub fn position(path: &Path) -> Result<Option<CommitNumber>, BackupFolderError> {
        let files = files(&Place::new(Arc::new(Files), path))?;
        Ok(files.last().map(|file| file.to))
    }

    /// Follows `repository` into the folder of backups `path`. For the archive the log keeps at
    /// most `hold_bytes_max` bytes. It is stopped before the repository is closed.
    pub fn start(
        repository: &Arc<Repository>,
        path: &Path,
        hold_bytes_max: u64,
    ) -> Result<Self, ArchiveError> {
        let mut writer = ArchiveWriter::new(repository, Arc::new(Files), path, hold_bytes_max)?;
        let shared = Arc::new(Shared::default());
        let (told, followed) = (Arc::clone(&shared), Arc::clone(repository));
        followed.store.tell_archive(&writer.status);
        let follow = move || {
            let every = Duration::from_millis(ARCHIVE_WRITE_MS);
            let (mut wait, mut is_ending) = (every, false);
            while writer.step(&followed, wait) {
                followed.store.tell_archive(&writer.status);
                // What is there when it is stopped is still archived, if that can be.
                if is_ending && (writer.is_at_end || writer.status.failure.is_some()) {
                    break;
                }
                // Few large writes, so that the log's own syncs are not held up.
                is_ending = told.rest(match writer.status.failure {
                    Some(_) => PAUSE_AFTER_FAILURE,
                    None if writer.is_behind => Duration::ZERO,
                    None => every,
                });
                wait = if is_ending { Duration::ZERO } else { every };
            }
            followed.store.tell_archive(&writer.status);
        };
        let thread = std::thread::Builder::new().name("archive".to_owned()).spawn(follow);
        Ok(Self { shared, thread: Some(thread.map_err(ArchiveError::Thread)?) })
    }

    /// Archives what is synced, and ends the thread.
    pub fn stop(&mut self) {
        *self.shared.stop.lock() = true;
        self.shared.stopped.notify_all();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            log::error!("the thread of the archive panicked");
        }
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Repository {
    /// How far its archive is, if it has one.
    pub fn archive(&self) -> Option<ArchiveStatus> {
        self.store.archive.lock().clone()
    }
}

impl Store {
    fn tell_archive(&self, status: &ArchiveStatus) {
        *self.archive.lock() = Some(status.clone());
    }
}
