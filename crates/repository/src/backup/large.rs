//! The blobs of a repository that is restored: just those that its documents name, each compared
//! with its name. Where they are in backups is known by `blobs`.

use super::blobs::{CopyError, Shelf, named_by_row, said};
use super::errors::{BackupFolderError, RestoreError};
use super::tar::TarReader;
use crate::at_rest::{AtRest, EngineState};
use crate::blobs::{self, BlobError, BlobHash, BlobReference};
use crate::catalog::BLOBS_ID;
use crate::errors::ReadError;
use crate::history;
use crate::hot::Hot;
use crate::range::Direction;
use crate::recovery;
use crate::rows;
use std::io::Read;
use std::ops::{Bound, ControlFlow};

/// Rows that are read at once.
const PAGE_ROWS: usize = 1024;

/// Content of a stream that is read at once.
const PIECE_BYTES: u64 = 256 << 10;

/// Who names blobs, at rest.
pub(super) struct Names<'a> {
    pub engine: &'a dyn AtRest,
    pub at: EngineState,
}

/// The first row of a blob, and the blob.
type Named = (String, BlobReference);

impl Names<'_> {
    /// The next blobs after the one with this hash, each once.
    fn page(&self, after: Option<BlobHash>) -> Result<Vec<Named>, ReadError> {
        let from = after.map(|hash| rows::blob_rows_end(&hash));
        let from = from.as_ref().map_or(Bound::Unbounded, |key| Bound::Excluded(key.as_str()));
        let mut page: Vec<Named> = Vec::new();
        let bounds = (from, Bound::Unbounded);
        self.engine.range(self.at, BLOBS_ID, bounds, Direction::Ascending, &mut |key, row| {
            let named = named_by_row(BLOBS_ID, key, &row);
            let is_new = |blob: &BlobReference| page.last().is_none_or(|(_, last)| last != blob);
            page.extend(named.filter(is_new).map(|blob| (key.to_owned(), blob)));
            match page.len() < PAGE_ROWS {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        Ok(page)
    }

    /// Gives each blob that is named, and a row that names it.
    fn each(
        &self,
        mut visit: impl FnMut(&str, BlobReference) -> Result<(), RestoreError>,
    ) -> Result<(), RestoreError> {
        let mut after = None;
        loop {
            let page = self.page(after).map_err(unreadable)?;
            page.iter().try_for_each(|(row, blob)| visit(row, *blob))?;
            match page.last() {
                Some((_, last)) => after = Some(last.hash),
                None => return Ok(()),
            }
        }
    }

    /// The document that a row is of.
    fn document(&self, row: &str) -> String {
        let document = || {
            let (id, key) = rows::named_by(row)?;
            let hot = Hot::new();
            recovery::load_collections(&hot, self.engine, self.at).ok()?;
            history::named_by(&hot, id, key)
        };
        document().unwrap_or_else(|| row.to_owned())
    }

    /// How many bytes the blobs have.
    pub(super) fn bytes(&self) -> Result<u64, RestoreError> {
        let mut bytes = 0;
        self.each(|_, blob| {
            bytes += blob.length;
            Ok(())
        })?;
        Ok(bytes)
    }

    /// Copies each blob that is not in `to` yet from the first of `from` that has it whole; gives
    /// how many are named, and their bytes.
    pub(super) fn copy(
        &self,
        from: &[Shelf],
        to: &Shelf,
        told: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(u64, u64), RestoreError> {
        let mut named = (0, 0);
        self.each(|row, blob| {
            named = (named.0 + 1, named.1 + blob.length);
            copy_one(from, to, blob, told).map_err(|error| match error {
                CopyError::Stopped => RestoreError::Stopped,
                CopyError::Stream(error) => RestoreError::Stream(error),
                CopyError::Blob(error) => {
                    let document = self.document(row);
                    RestoreError::Blob { document, why: said(&error) }
                }
            })
        })?;
        to.settle().map_err(BackupFolderError::from)?;
        Ok(named)
    }
}

fn unreadable(error: ReadError) -> RestoreError {
    RestoreError::Engine(error.to_string())
}

fn copy_one(
    from: &[Shelf],
    to: &Shelf,
    blob: BlobReference,
    told: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<(), CopyError> {
    if to.holds(&blob)? {
        return Ok(());
    }
    let missing = || {
        let why = "it is in no backup".to_owned();
        BlobError::Damaged { hash: blob.hash, why }
    };
    let mut failed = CopyError::Blob(to.refused(&blob.hash).unwrap_or_else(missing));
    for shelf in from {
        match shelf.open(blob).map_err(CopyError::from).and_then(|open| to.add(&open, told)) {
            Err(error) if error.is_damage() => {
                let is_there = shelf.holds(&blob)?;
                failed = match !is_there && shelf.is_gone(&blob.hash)? {
                    true => gone(&blob.hash),
                    false => error,
                };
            }
            copied => return copied,
        }
    }
    Err(failed)
}

fn gone(hash: &BlobHash) -> CopyError {
    let why = "no document named it any more when this commit was backed up, and it was removed; \
               restore to a commit after which the document is another, or to one before"
        .to_owned();
    CopyError::Blob(BlobError::Damaged { hash: *hash, why })
}

/// The blob that a file of a stream of tar holds, by the name of the file and its length.
pub(super) fn in_stream(name: &str, file_bytes: u64) -> Option<BlobReference> {
    let hex: String = name.strip_prefix(blobs::FOLDER)?.strip_prefix('/')?.split('/').collect();
    let hash = BlobHash::parse(&hex)?;
    let blob = BlobReference { hash, length: blobs::content_bytes(file_bytes) };
    (blob.hash.path().to_str() == Some(name) && blob.file_bytes() == file_bytes).then_some(blob)
}

/// Takes a blob out of a stream. One that is damaged is missed only if a document names it.
pub(super) fn take_from(
    tar: &mut TarReader<&mut dyn Read>,
    blob: BlobReference,
    to: &Shelf,
) -> Result<(), RestoreError> {
    let failed = |error: BlobError| {
        let document = "a document of the stream".to_owned();
        RestoreError::Blob { document, why: said(&error) }
    };
    let mut writer = to.writer();
    let mut left = blob.length;
    while left > 0 {
        let piece = tar.read(left.min(PIECE_BYTES)).map_err(RestoreError::Stream)?;
        writer.write(&piece).map_err(failed)?;
        left -= piece.len() as u64;
    }
    match writer.finish_as(&blob) {
        Err(error @ BlobError::Damaged { .. }) => {
            to.refuse(blob.hash, error);
            Ok(())
        }
        written => written.map_err(failed),
    }
}
