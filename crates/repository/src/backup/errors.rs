//! Why a backup or a restore was not made.

use crate::blobs::BlobError;
use crate::document::CommitNumber;
use crate::errors::{OpenError, ReadError};
use crate::snapshot::SnapshotError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a folder of backups cannot be used, or its files cannot be read.
#[derive(Debug, Error)]
pub enum BackupFolderError {
    /// A file system call failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Another process writes to the folder.
    #[error(
        "another process makes a backup in {}{}; wait until it ends",
        path.display(),
        pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
    )]
    Locked {
        /// The folder of backups.
        path: PathBuf,
        /// The holder, if it could be read.
        pid: Option<u32>,
    },
    /// It holds something else.
    #[error("{} is no folder of backups: {why}", path.display())]
    NotBackups {
        /// The folder.
        path: PathBuf,
        /// What was expected and what was found.
        why: String,
    },
    /// It holds the backups of another repository.
    #[error(
        "{} holds backups of the repository {found}, expected {expected}; give each repository, \
         and each one that was restored, a folder of its own",
        path.display()
    )]
    AnotherRepository {
        /// The folder.
        path: PathBuf,
        /// The id that it names.
        found: String,
        /// The id of the repository.
        expected: String,
    },
    /// A blob in it could not be read or written.
    #[error("the blobs of the backups: {0}")]
    Blob(BlobError),
    /// A file of a backup is not what was written.
    #[error("the backup is damaged: {}: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was expected and what was found.
        why: String,
    },
}

impl BackupFolderError {
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    pub(super) fn damaged(path: &Path) -> impl FnOnce(String) -> Self {
        move |why| Self::Damaged { path: path.to_owned(), why }
    }
}

/// Why a backup was not made. What earlier ones hold is as it was.
#[derive(Debug, Error)]
pub enum BackupError {
    /// The folder of backups.
    #[error(transparent)]
    Folder(#[from] BackupFolderError),
    /// The stream of tar could not be written.
    #[error("the backup could not be written: {0}")]
    Stream(io::Error),
    /// What it begins with could not be made.
    #[error(transparent)]
    Checkpoint(#[from] SnapshotError),
    /// The repository could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Only commits were asked for, and there is nothing before them.
    #[error("{} has no full backup that commits could be added to; make one first", .0.display())]
    NothingBefore(PathBuf),
    /// The commits after the last backup are no longer in the log.
    #[error(
        "the commits {first} to {oldest} are no longer in the tranlog, so commits cannot be added \
         to the last backup; make a full one, or let the server keep more (`--retain`)"
    )]
    LogGone {
        /// The first one that is wanted.
        first: CommitNumber,
        /// The last one that is missing.
        oldest: CommitNumber,
    },
    /// The folder is ahead of the repository.
    #[error(
        "the last backup goes up to commit {backup}, but the repository only to {repository}: it \
         was put back to an earlier state by other means; use another folder"
    )]
    Ahead {
        /// The last commit in the folder.
        backup: CommitNumber,
        /// The last commit of the repository.
        repository: CommitNumber,
    },
    /// The log could not be read.
    #[error("the tranlog could not be read: {0}")]
    Log(String),
    /// Large content of a document is missing or damaged, or could not be copied.
    #[error("{document} could not be backed up, so nothing was added: {why}")]
    Blob {
        /// "collection/key".
        document: String,
        /// What is wrong, with the blob.
        why: String,
    },
    /// Whoever asked for it is gone or wants it no more.
    #[error("the backup was given up")]
    Stopped,
}

/// Why a restore failed. The new folder holds no repository then; the same restore may be tried
/// again and starts over.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// The backup.
    #[error(transparent)]
    Backup(#[from] BackupFolderError),
    /// The stream of tar.
    #[error("the stream of tar cannot be read: {0}")]
    Stream(io::Error),
    /// The stream of tar holds something else.
    #[error("the stream of tar is no backup, or is damaged: {0}")]
    NotABackup(String),
    /// The new folder could not be written, or is not empty.
    #[error(transparent)]
    Folder(#[from] OpenError),
    /// There is nothing that a restore could begin with.
    #[error("{} holds no full backup{}", path.display(), of(.earliest))]
    NoFull {
        /// The folder of backups.
        path: PathBuf,
        /// The earliest commit that could be restored, if there is any.
        earliest: Option<CommitNumber>,
    },
    /// Commits are missing between those that are there.
    #[error(
        "the commits {first} to {last} are in no backup and in no archive; the latest that can be \
         restored is {reachable}"
    )]
    Gap {
        /// The first commit that is missing.
        first: CommitNumber,
        /// The last one.
        last: CommitNumber,
        /// What `--to` can ask for at most.
        reachable: CommitNumber,
    },
    /// The backups do not go so far.
    #[error("the backups go up to commit {reachable}, expected them to hold {asked}")]
    Beyond {
        /// What was asked for.
        asked: CommitNumber,
        /// The last commit that is there.
        reachable: CommitNumber,
    },
    /// Large content of a document is in no backup as it was written.
    #[error("{document} cannot be restored: {why}")]
    Blob {
        /// "collection/key".
        document: String,
        /// What is wrong, with the blob.
        why: String,
    },
    /// The storage engine could not be written or read.
    #[error("the restored repository could not be written: {0}")]
    Engine(String),
    /// A commit could not be applied.
    #[error("the backup does not fit together: {0}")]
    Apply(String),
    /// What was restored is not in order.
    #[error("the restored repository is not in order: {0}")]
    Wrong(String),
    /// Whoever asked for it wants it no more.
    #[error("the restore was given up")]
    Stopped,
}

fn of(earliest: &Option<CommitNumber>) -> String {
    let of = |commit| format!(" at or before what was asked for; the earliest is commit {commit}");
    earliest.map(of).unwrap_or_default()
}
