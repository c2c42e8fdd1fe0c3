//! Backups: everything as of one commit, the commits after it, and a repository made of both. The
//! bytes, and why what is restored is exactly what was there, are in `docs/backup.md`.
//!
//! `place` is a folder of backups, `manifest` says what a set holds, `file` how its files look,
//! `tar` how a set becomes a stream; `blobs` are large content in files of their own, `large` what
//! of it a restore needs. `make` makes sets, `set` writes them, `retention` removes old
//! ones, `archive` are the files that `archiver` fills. `chain` finds what leads to a commit,
//! `restore` replays it. When backups are made is the caller's affair.

mod archive;
pub(crate) mod archiver;
mod blobs;
mod chain;
pub(crate) mod check;
mod commits;
mod errors;
pub(crate) mod file;
mod large;
pub(crate) mod make;
pub(crate) mod manifest;
mod place;
pub(crate) mod restore;
mod retention;
mod set;
mod tar;

pub use archiver::{Archive, ArchiveError, ArchiveStatus};
pub use check::{BackupListing, ListedSet, list_backups, verify_backups};
pub use errors::{BackupError, BackupFolderError, RestoreError};
pub use manifest::SetKind;
pub use restore::{BackupSource, RestoreGoal, RestoreOptions, Restored, restore};

use crate::disk::Files;
use crate::document::{CommitNumber, Timestamp};
use crate::repository::Repository;
use manifest::Manifest;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// What kind of set is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackupKind {
    /// The commits after the last set if the log still has them, and everything otherwise, or once
    /// commits were added for long.
    #[default]
    Automatic,
    /// Everything.
    Full,
    /// The commits after the last set; an error where that cannot be.
    Commits,
}

/// How a backup is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct BackupOptions {
    /// What kind of set.
    pub kind: BackupKind,
    /// How many full sets are kept, with what follows them; all, if it is not said.
    pub keep: Option<usize>,
}

/// How far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Rows or commits that are done.
    pub items: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// About how many there will be; 0 if that is not known.
    pub bytes_expected: u64,
}

/// What a backup has added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// Nothing: everything was there already.
    Nothing,
    /// A full set.
    Full,
    /// A set of commits.
    Commits,
}

/// What came of a backup.
#[derive(Clone, Debug)]
pub struct BackupReport {
    /// What was added.
    pub added: Added,
    /// The name of the set; of the last one, where nothing was added.
    pub set: String,
    /// The last commit that can be restored.
    pub commit: CommitNumber,
    /// Its time.
    pub time: Timestamp,
    /// Rows or commits in the set.
    pub items: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// Blobs that were copied for it: not those that were there already.
    pub blobs: u64,
    /// Bytes of them.
    pub blob_bytes: u64,
    /// Sets that earlier backups had left unfinished, and that are gone now.
    pub cleaned: Vec<String>,
    /// Sets and files of the archive that were no longer to be kept.
    pub removed: Vec<String>,
}

impl BackupReport {
    fn of(set: &Manifest, added: Added) -> Self {
        Self {
            added,
            set: set.folder(),
            commit: set.to,
            time: set.time,
            items: set.items,
            bytes: set.bytes(),
            blobs: set.blobs,
            blob_bytes: set.blob_bytes,
            cleaned: Vec::new(),
            removed: Vec::new(),
        }
    }
}

/// Reads any bytes as everything that a backup has: nothing may panic, and what is read as a
/// manifest is written as it was.
pub(crate) fn fuzz(input: &[u8]) {
    let Some((kind, rest)) = input.split_first() else { return };
    match kind {
        0 | 1 => {
            let count = rest.first().copied().unwrap_or_default();
            let _items = file::frame_items(*kind == 0, count.into(), rest.get(1..).unwrap_or(&[]));
        }
        2 => {
            let Ok(mut read) = file::Decoder::new(rest.to_vec().into()) else { return };
            while let Ok(Some(frame)) = read.next() {
                let _items = (frame.rows().map(drop), frame.records().map(drop));
            }
        }
        3 => {
            let text = String::from_utf8_lossy(rest);
            if let Ok(manifest) = Manifest::from_text(&manifest::with_sum(&text)) {
                let again = Manifest::from_text(&manifest.to_text());
                assert_eq!(again.as_ref(), Ok(&manifest));
            }
        }
        _ => {
            let mut tar = tar::TarReader::new(rest);
            while let Ok(Some((_, bytes))) = tar.next() {
                let Ok(content) = tar.read(bytes) else { return };
                assert!(content.len() <= rest.len());
            }
        }
    }
}

impl Repository {
    /// Adds a backup of this repository to the folder `to`, which is made if it is missing. Commits
    /// go on meanwhile. `report` is called about once a mebibyte; it may wait, which slows the
    /// backup down, or end it.
    pub fn back_up(
        &self,
        to: &Path,
        options: &BackupOptions,
        report: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<BackupReport, BackupError> {
        make::to_folder(self, (Arc::new(Files), to), options, report)
    }

    /// Writes a full backup to `to` as a stream of tar. What is written there is not synced.
    pub fn back_up_to_tar(
        &self,
        to: &mut dyn Write,
        report: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<BackupReport, BackupError> {
        make::to_tar(self, to, report)
    }
}
