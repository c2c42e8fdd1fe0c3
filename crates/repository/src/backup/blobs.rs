//! The blobs of a folder of backups: each once, under its hash, as the repository has them. Rows
//! and records name them; `docs/backup.md`, "Blobs". Which of them stay is in `retention`.

use super::errors::BackupFolderError;
use super::file::Row;
use super::place::Place;
use crate::blobs::{
    self, BlobError, BlobHash, BlobReader, BlobReference, BlobSums, BlobWriter, Blobs, PinnedBlob,
    is_named,
};
use crate::catalog::BLOBS_ID;
use crate::disk::Disk;
use crate::document::Document;
use crate::errors::ReadError;
use crate::limits::BLOB_BYTES_MAX;
use crate::record::{self, Change};
use crate::repository::Repository;
use crate::rows;
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder of those that could not be had, each a name without content.
const GONE: &str = "gone";

/// Why a blob was not copied.
#[derive(Debug, thiserror::Error)]
pub(super) enum CopyError {
    /// It could not be read or written.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The stream could not be written.
    #[error(transparent)]
    Stream(#[from] std::io::Error),
    /// Whoever is told wants it no more.
    #[error("it was given up")]
    Stopped,
}

impl From<ReadError> for CopyError {
    fn from(error: ReadError) -> Self {
        Self::Blob(BlobError::Read(error))
    }
}

impl CopyError {
    /// Whether the content is not there, or is not what was written.
    pub(super) fn is_damage(&self) -> bool {
        matches!(self, Self::Blob(BlobError::Damaged { .. }))
    }
}

/// Is told how many bytes more were copied, and says whether to go on.
pub(super) type Told<'a> = &'a mut dyn FnMut(u64) -> ControlFlow<()>;

/// Gives the content of a blob, each chunk verified.
pub(super) fn pour(
    from: &BlobReader,
    told: Told<'_>,
    mut to: impl FnMut(&[u8]) -> Result<(), CopyError>,
) -> Result<(), CopyError> {
    let mut at = 0;
    while at < from.reference().length {
        let piece = from.read(at)?;
        to(&piece)?;
        at += piece.len() as u64;
        if told(piece.len() as u64).is_break() {
            return Err(CopyError::Stopped);
        }
    }
    Ok(())
}

/// Blobs in files, in a folder of backups or in the folder of a repository that is restored.
pub(super) struct Shelf {
    blobs: Arc<Blobs>,
    disk: Arc<dyn Disk>,
    root: PathBuf,
    /// What was to be put here and was damaged: why.
    refused: Mutex<BTreeMap<BlobHash, BlobError>>,
    /// Blobs that were there, one of each folder: their names may not be durable.
    relied_on: Mutex<BTreeMap<u8, BlobHash>>,
}

impl Shelf {
    /// Those in `root`. Whoever writes has a name of its own: there may be several at once.
    pub(super) fn new(disk: &Arc<dyn Disk>, root: &Path, writer: &'static str) -> Self {
        let blobs = Blobs::new(Arc::clone(disk), root, &Arc::default()).shared_as(writer);
        let (disk, refused, relied_on) = (Arc::clone(disk), Mutex::default(), Mutex::default());
        Self { blobs, disk, root: root.to_owned(), refused, relied_on }
    }

    /// Those of a folder of backups, only to be read.
    pub(super) fn of(place: &Place) -> Self {
        Self::new(&place.disk, &place.path, "")
    }

    /// Whether a file of the right length is there. It had its name only when it was whole; that
    /// the name is durable is known after `settle`.
    pub(super) fn holds(&self, blob: &BlobReference) -> Result<bool, BlobError> {
        let is_there = self.blobs.length(&blob.hash)? == Some(blob.length);
        if is_there {
            self.relied_on.lock().insert(blob.hash.0[0], blob.hash);
        }
        Ok(is_there)
    }

    /// Makes the names durable of all that were found: whoever gave them may have been killed
    /// before that, or have failed.
    pub(super) fn settle(&self) -> Result<(), BlobError> {
        let mut relied_on = self.relied_on.lock();
        for hash in relied_on.values() {
            self.blobs.settle(hash)?;
        }
        relied_on.clear();
        Ok(())
    }

    /// Opens one.
    pub(super) fn open(&self, blob: BlobReference) -> Result<BlobReader, BlobError> {
        PinnedBlob::new(&self.blobs, blob, false).open()
    }

    /// Reads all of one that is named; one that was gone before it could be copied is in order.
    pub(super) fn check(&self, blob: BlobReference) -> Result<(), BlobError> {
        if self.blobs.length(&blob.hash)?.is_none() {
            let why = || "its file is missing".to_owned();
            return match self.is_gone(&blob.hash)? {
                true => Ok(()),
                false => Err(BlobError::Damaged { hash: blob.hash, why: why() }),
            };
        }
        let (reader, mut sums) = (self.open(blob)?, BlobSums::default());
        let mut at = 0;
        while at < blob.length {
            let piece = reader.read(at)?;
            at += piece.len() as u64;
            sums.update(&piece);
        }
        sums.footer(&blob).map(drop)
    }

    /// Copies one, which is on disk with its name then, if it is what it is called.
    pub(super) fn add(&self, from: &BlobReader, told: Told<'_>) -> Result<(), CopyError> {
        let blob = from.reference();
        let mut to = self.writer();
        pour(from, told, |piece| Ok(to.write(piece)?))?;
        to.finish_as(&blob)?;
        self.come(&blob.hash)?;
        Ok(())
    }

    /// Takes content that comes from elsewhere.
    pub(super) fn writer(&self) -> BlobWriter {
        BlobWriter::new(Arc::clone(&self.blobs), BLOB_BYTES_MAX)
    }

    /// Says why one is not here that came from elsewhere.
    pub(super) fn refuse(&self, hash: BlobHash, why: BlobError) {
        self.refused.lock().insert(hash, why);
    }

    /// What was said so of one.
    pub(super) fn refused(&self, hash: &BlobHash) -> Option<BlobError> {
        self.refused.lock().remove(hash)
    }

    /// Removes what a writer of this name has left unfinished.
    pub(super) fn clear_incoming(&self) -> Result<(), BlobError> {
        self.blobs.clear_incoming()
    }

    /// Removes all of them.
    pub(super) fn clear(&self) -> Result<(), BlobError> {
        self.clear_incoming()?;
        self.list()?.keys().try_for_each(|hash| self.remove(hash))
    }

    /// Says that it was removed before it could be copied.
    pub(super) fn note_gone(&self, hash: &BlobHash) -> Result<(), BlobError> {
        let path = self.gone(hash);
        let folders = [self.gone_folder(), self.root.join(blobs::FOLDER), self.root.clone()];
        let note = || {
            self.disk.create_folder(&folders[0])?;
            self.disk.create(&path)?.sync()?;
            folders.iter().try_for_each(|folder| self.disk.sync_folder(folder))
        };
        note().map_err(io("write", &path))
    }

    /// Whether that was said.
    pub(super) fn is_gone(&self, hash: &BlobHash) -> Result<bool, BlobError> {
        let path = self.gone(hash);
        match self.disk.length(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(io("look at", &path)(error)),
        }
    }

    /// Says it no more.
    fn come(&self, hash: &BlobHash) -> Result<(), BlobError> {
        let path = self.gone(hash);
        match self.disk.remove(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(io("remove", &path)(error)),
            _ => Ok(()),
        }
    }

    /// All that are there, with their lengths.
    pub(super) fn list(&self) -> Result<BTreeMap<BlobHash, u64>, BlobError> {
        let mut there = BTreeMap::new();
        for folder in 0..=u8::MAX {
            for hash in self.blobs.list(folder)? {
                there.insert(hash, self.blobs.length(&hash)?.unwrap_or_default());
            }
        }
        Ok(there)
    }

    /// All of which it was said that they were removed before.
    pub(super) fn list_gone(&self) -> Result<Vec<BlobHash>, BlobError> {
        let folder = self.gone_folder();
        match self.disk.names(&folder) {
            Ok(names) => Ok(names.iter().filter_map(|name| BlobHash::parse(name)).collect()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(io("read the folder", &folder)(error)),
        }
    }

    /// Removes one, and what was said of it.
    pub(super) fn remove(&self, hash: &BlobHash) -> Result<(), BlobError> {
        self.blobs.remove(hash)?;
        self.come(hash)
    }

    fn gone_folder(&self) -> PathBuf {
        self.root.join(blobs::FOLDER).join(GONE)
    }

    fn gone(&self, hash: &BlobHash) -> PathBuf {
        self.gone_folder().join(hash.to_string())
    }
}

fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> BlobError {
    move |source| BlobError::Io { action, path: path.to_owned(), source }
}

/// What is wrong with a blob of a backup.
pub(super) fn said(error: &BlobError) -> String {
    match error {
        BlobError::Damaged { hash, why } => format!("the blob {hash} is damaged: {why}"),
        other => other.to_string(),
    }
}

/// A blob, and the document by which it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedBlob {
    /// "collection/key".
    pub document: String,
    pub blob: BlobReference,
}

/// The blobs that a record names; none, where it cannot be read: restoring tells that.
pub(super) fn named_by_record(record: &Bytes) -> Vec<NamedBlob> {
    let Ok((_, writes)) = record::decode(record) else { return Vec::new() };
    let named = writes.into_iter().filter_map(|write| match write.change {
        Change::Put { blob: Some(blob), .. } => {
            let document = format!("{}/{}", write.collection, write.key);
            Some(NamedBlob { document, blob })
        }
        _ => None,
    });
    named.collect()
}

/// The blob that a row names. These come last in a set, those of one blob one after the other.
pub(super) fn named_by_row(id: u32, key: &str, row: &Document) -> Option<BlobReference> {
    if id == BLOBS_ID { rows::split_blob_row(key, row) } else { None }
}

/// The blobs that rows name, each once.
pub(super) fn named_by_rows(rows: &[Row]) -> Vec<BlobReference> {
    let named = rows.iter().filter_map(|(id, key, row)| named_by_row(*id, key, row));
    let mut named: Vec<_> = named.collect();
    named.dedup();
    named
}

/// What became of a blob that a record names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It was there already.
    Known,
    /// It was copied.
    Copied,
    /// No document names it any more, and it was removed or is damaged.
    Gone,
}

/// Copies a blob that a record of the log names to `shelf`.
pub(super) fn take_named(
    repository: &Repository,
    shelf: &Shelf,
    blob: BlobReference,
    told: Told<'_>,
) -> Result<Taken, CopyError> {
    if shelf.holds(&blob)? {
        return Ok(Taken::Known);
    }
    let store = &repository.store;
    let pin = PinnedBlob::new(&store.blobs, blob, false);
    let open = || match store.blobs.length(&blob.hash)? {
        Some(_) => pin.open(),
        None => {
            let why = "its file is missing".to_owned();
            Err(BlobError::Damaged { hash: blob.hash, why })
        }
    };
    let copied = open().map_err(CopyError::from).and_then(|reader| shelf.add(&reader, told));
    match copied {
        Ok(()) => Ok(Taken::Copied),
        Err(error) if error.is_damage() => {
            if is_named(store, &blob.hash)? {
                return Err(error);
            }
            shelf.note_gone(&blob.hash)?;
            Ok(Taken::Gone)
        }
        Err(error) => Err(error),
    }
}

impl From<BlobError> for BackupFolderError {
    fn from(error: BlobError) -> Self {
        Self::Blob(error)
    }
}
