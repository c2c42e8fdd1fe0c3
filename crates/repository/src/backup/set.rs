//! Making a set: rows or records go in, files of bounded size come out, the manifest last. Where
//! the files go is the target's affair: into a folder of backups, or a stream of tar.

use super::Progress;
use super::blobs::{CopyError, Shelf, Taken, Told, pour, take_named};
use super::errors::{BackupError, BackupFolderError};
use super::file::{Encoder, FRAME_BYTES_TARGET, Header, Kind};
use super::manifest::{self, Manifest, ManifestFile};
use super::place::{FORMAT, Place, format_text};
use super::tar::TarWriter;
use crate::blobs::{BlobError, BlobReader, BlobReference, BlobSums};
use crate::document::{CommitNumber, Document};
use crate::limits::BACKUP_FILE_BYTES;
use crate::repository::Repository;
use bytes::Bytes;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Takes the files of one set.
pub(super) trait Target {
    /// Takes a file.
    fn put(&mut self, name: &str, content: &[u8]) -> Result<(), BackupError>;

    /// Whether it has a blob already.
    fn holds(&self, blob: &BlobReference) -> Result<bool, BlobError>;

    /// Takes a blob that it does not have.
    fn blob(&mut self, from: &BlobReader, told: Told<'_>) -> Result<(), CopyError>;

    /// Takes the manifest, with which the set is there.
    fn finish(self: Box<Self>, manifest: &Manifest) -> Result<(), BackupError>;
}

/// A set in a folder of backups.
pub(super) struct IntoFolder<'a> {
    place: &'a Place,
    shelf: &'a Shelf,
    folder: PathBuf,
}

impl<'a> IntoFolder<'a> {
    /// A set of this name, of which nothing is there.
    pub(super) fn new(
        (place, shelf): (&'a Place, &'a Shelf),
        set: &str,
    ) -> Result<Self, BackupError> {
        let folder = place.path.join(set);
        let made = place.disk.create_folder(&folder);
        made.map_err(BackupFolderError::io("create the folder", &folder))?;
        Ok(Self { place, shelf, folder })
    }
}

impl Target for IntoFolder<'_> {
    fn put(&mut self, name: &str, content: &[u8]) -> Result<(), BackupError> {
        let path = self.folder.join(name);
        let write = || {
            let file = self.place.disk.create(&path)?;
            file.write(content, 0)?;
            file.sync()
        };
        write().map_err(BackupFolderError::io("write", &path))?;
        Ok(())
    }

    fn holds(&self, blob: &BlobReference) -> Result<bool, BlobError> {
        self.shelf.holds(blob)
    }

    fn blob(&mut self, from: &BlobReader, told: Told<'_>) -> Result<(), CopyError> {
        self.shelf.add(from, told)
    }

    fn finish(self: Box<Self>, manifest: &Manifest) -> Result<(), BackupError> {
        self.shelf.settle().map_err(BackupFolderError::from)?;
        let names = (manifest::UNFINISHED, manifest::NAME);
        self.place.publish(&self.folder, names, manifest.to_text().as_bytes())?;
        let path = &self.place.path;
        self.place.disk.sync_folder(path).map_err(BackupFolderError::io("sync", path))?;
        Ok(())
    }
}

/// A set in a stream of tar, as a folder of backups would have it.
pub(super) struct IntoTar<'a> {
    tar: TarWriter<&'a mut dyn std::io::Write>,
    set: String,
}

impl<'a> IntoTar<'a> {
    pub(super) fn new(
        to: &'a mut dyn std::io::Write,
        repository: &[u8; 16],
        set: String,
    ) -> Result<Self, BackupError> {
        let mut tar = TarWriter::new(to);
        tar.file(FORMAT, format_text(repository).as_bytes()).map_err(BackupError::Stream)?;
        Ok(Self { tar, set })
    }
}

impl Target for IntoTar<'_> {
    fn put(&mut self, name: &str, content: &[u8]) -> Result<(), BackupError> {
        self.tar.file(&format!("{}/{name}", self.set), content).map_err(BackupError::Stream)
    }

    fn holds(&self, _blob: &BlobReference) -> Result<bool, BlobError> {
        Ok(false)
    }

    fn blob(&mut self, from: &BlobReader, told: Told<'_>) -> Result<(), CopyError> {
        let blob = from.reference();
        let mut sums = BlobSums::default();
        let path = blob.hash.path();
        self.tar.begin(&path.to_string_lossy(), blob.file_bytes())?;
        pour(from, told, |piece| {
            sums.update(piece);
            Ok(self.tar.write(piece)?)
        })?;
        Ok(self.tar.write(&sums.footer(&blob)?)?)
    }

    fn finish(mut self: Box<Self>, manifest: &Manifest) -> Result<(), BackupError> {
        self.put(manifest::NAME, manifest.to_text().as_bytes())?;
        self.tar.finish().map_err(BackupError::Stream)
    }
}

/// Is told how far a backup or restore is, and says whether to go on.
pub(super) type Report<'a> = &'a mut dyn FnMut(&Progress) -> ControlFlow<()>;

/// A set being made.
pub(super) struct SetWriter<'a> {
    target: Box<dyn Target + 'a>,
    header: Header,
    file: Encoder,
    files: Vec<ManifestFile>,
    progress: Progress,
    /// Bytes of the present file that were told of.
    told: usize,
    /// Blobs that were copied, and their bytes.
    blobs: (u64, u64),
    report: Report<'a>,
}

impl<'a> SetWriter<'a> {
    /// A set of rows, or records, that begins after `header.commit`.
    pub(super) fn new(
        target: Box<dyn Target + 'a>,
        header: Header,
        bytes_expected: u64,
        report: Report<'a>,
    ) -> Self {
        let previous = match header.kind {
            Kind::Rows => 0,
            Kind::Records => header.commit.0,
        };
        let file = Encoder::new(&header, previous);
        let progress = Progress { items: 0, bytes: 0, bytes_expected };
        let (files, told, blobs) = (Vec::new(), 0, (0, 0));
        Self { target, header, file, files, progress, told, blobs, report }
    }

    /// Adds a row.
    pub(super) fn row(
        &mut self,
        id: u32,
        key: &str,
        document: &Document,
    ) -> Result<(), BackupError> {
        self.file.row(id, key, document);
        self.added(self.progress.items + 1)
    }

    /// Adds a record.
    pub(super) fn record(
        &mut self,
        number: CommitNumber,
        record: &Bytes,
    ) -> Result<(), BackupError> {
        self.file.record(number, record);
        self.added(number.0)
    }

    /// Adds a blob, unless it is there; `open` is called if it is not.
    pub(super) fn blob(
        &mut self,
        blob: BlobReference,
        open: impl FnOnce() -> Result<BlobReader, CopyError>,
    ) -> Result<(), CopyError> {
        if self.target.holds(&blob)? {
            // It was expected among what is to be copied.
            let expected = &mut self.progress.bytes_expected;
            *expected = expected.saturating_sub(blob.length).max(1.min(*expected));
            return Ok(());
        }
        let from = open()?;
        let mut told = told(&mut self.progress, &mut self.report);
        self.target.blob(&from, &mut told)?;
        drop(told);
        self.blobs = (self.blobs.0 + 1, self.blobs.1 + blob.length);
        Ok(())
    }

    /// Adds a blob that a record names to the folder of backups, unless it is there.
    pub(super) fn named_blob(
        &mut self,
        repository: &Repository,
        shelf: &Shelf,
        blob: BlobReference,
    ) -> Result<(), CopyError> {
        let mut told = told(&mut self.progress, &mut self.report);
        if take_named(repository, shelf, blob, &mut told)? == Taken::Copied {
            drop(told);
            self.blobs = (self.blobs.0 + 1, self.blobs.1 + blob.length);
        }
        Ok(())
    }

    fn added(&mut self, last: u64) -> Result<(), BackupError> {
        self.progress.items += 1;
        if self.file.len() - self.told >= FRAME_BYTES_TARGET {
            self.tell()?;
        }
        match self.file.len() >= BACKUP_FILE_BYTES {
            true => self.end_file(last),
            false => Ok(()),
        }
    }

    fn tell(&mut self) -> Result<(), BackupError> {
        self.progress.bytes += (self.file.len() - self.told) as u64;
        self.told = self.file.len();
        match (self.report)(&self.progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(BackupError::Stopped),
        }
    }

    fn end_file(&mut self, last: u64) -> Result<(), BackupError> {
        self.header.place += 1;
        if self.header.kind == Kind::Records {
            self.header.commit = CommitNumber(last);
        }
        let next = Encoder::new(&self.header, last);
        let content = std::mem::replace(&mut self.file, next).finish();
        self.told = 0;
        let extension = match self.header.kind {
            Kind::Rows => "rows",
            Kind::Records => "records",
        };
        let name = format!("{:06}.{extension}", self.files.len());
        self.target.put(&name, &content)?;
        self.files.push(ManifestFile::of(&name, &content));
        Ok(())
    }

    /// Writes what is left, and the manifest, of which the files are filled in.
    pub(super) fn finish(mut self, manifest: Manifest) -> Result<Manifest, BackupError> {
        self.tell()?;
        self.end_file(self.progress.items)?;
        let (items, files, (blobs, blob_bytes)) = (self.progress.items, self.files, self.blobs);
        let manifest = Manifest { items, files, blobs, blob_bytes, ..manifest };
        self.target.finish(&manifest)?;
        Ok(manifest)
    }
}

/// Tells of the bytes of a blob.
pub(super) fn told<'a>(
    progress: &'a mut Progress,
    report: &'a mut Report<'_>,
) -> impl FnMut(u64) -> ControlFlow<()> + 'a {
    let mut untold = 0;
    move |bytes| {
        progress.bytes += bytes;
        untold += bytes;
        if untold < FRAME_BYTES_TARGET as u64 {
            return ControlFlow::Continue(());
        }
        untold = 0;
        report(progress)
    }
}
