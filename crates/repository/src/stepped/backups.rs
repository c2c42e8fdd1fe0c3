//! Backups, archives and restores without threads, on any disk. What they do is in `backup`.

use super::Stepped;
use crate::at_rest::AtRest;
use crate::backup::archiver::ArchiveWriter;
use crate::backup::{
    ArchiveError, ArchiveStatus, BackupError, BackupFolderError, BackupListing, BackupOptions,
    BackupReport, BackupSource, Progress, RestoreError, RestoreOptions, Restored, check, make,
    restore,
};
use crate::disk::Disk;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

impl Stepped {
    /// As [`crate::Repository::back_up`], to a folder of `disk`.
    pub fn back_up(
        &self,
        (disk, to): (Arc<dyn Disk>, &Path),
        options: &BackupOptions,
        report: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<BackupReport, BackupError> {
        make::to_folder(&self.repository, (disk, to), options, report)
    }

    /// Goes on with the archive in a folder of backups, or begins one.
    pub fn archive(
        &self,
        (disk, to): (Arc<dyn Disk>, &Path),
        hold_bytes_max: u64,
    ) -> Result<SteppedArchive, ArchiveError> {
        ArchiveWriter::new(&self.repository, disk, to, hold_bytes_max).map(SteppedArchive)
    }
}

/// An archive that does nothing by itself.
pub struct SteppedArchive(ArchiveWriter);

impl SteppedArchive {
    /// Takes what the log has and writes it.
    pub fn step(&mut self, of: &Stepped) {
        self.0.step(&of.repository, Duration::ZERO);
    }

    /// How far it is.
    pub fn status(&self) -> &ArchiveStatus {
        &self.0.status
    }
}

/// Opens what is at rest.
pub type OpenAtRest = Box<dyn Fn() -> Box<dyn AtRest>>;

/// Removes what is at rest.
pub type ClearAtRest = Box<dyn Fn() -> io::Result<()>>;

/// What a restored repository is made of.
pub struct RestoreParts {
    /// Its files.
    pub disk: Arc<dyn Disk>,
    /// The files of the backups.
    pub backups: Arc<dyn Disk>,
    /// Its documents at rest.
    pub open: OpenAtRest,
    /// Removes what an earlier restore has left of them.
    pub clear: ClearAtRest,
}

impl RestoreParts {
    /// As [`crate::restore`], of a folder of backups.
    pub fn restore(
        self,
        from: &Path,
        options: &RestoreOptions,
        report: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Restored, RestoreError> {
        let Self { disk, backups, open, clear } = self;
        let ground = restore::Ground {
            disk,
            open: Box::new(move |_| Ok(open())),
            clear: Box::new(move |_| clear()),
        };
        restore::on(ground, (BackupSource::Folder(from.to_owned()), backups), options, report)
    }
}

/// As [`crate::verify_backups`], on any disk.
pub fn verify_backups(
    disk: Arc<dyn Disk>,
    path: &Path,
) -> Result<BackupListing, BackupFolderError> {
    check::verify(disk, path)
}
