//! Writing a blob: what comes is hashed and written as it comes, so that memory is bounded whatever
//! its size; what stays small never reaches the disk.

use super::error::io_error;
use super::file::{CHUNK_BYTES, encode_footer};
use super::{BlobError, BlobHash, BlobReference, Blobs, Content, PinnedBlob};
use crate::disk::DiskFile;
use crate::limits::{BLOB_BYTES_MAX, DOCUMENT_INLINE_BYTES_MAX};
use bytes::Bytes;
use std::path::PathBuf;
use std::sync::Arc;

/// After so many bytes the file is synced, so that the disk never has much to do at once, which
/// those would wait for whose commits it syncs.
const SYNC_BYTES: u64 = 32 << 20;

/// A file that is being written.
struct Spilled {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    hasher: blake3::Hasher,
    /// Of the chunks that were written.
    sums: Vec<u32>,
    unsynced: u64,
}

/// Content on its way. Dropped without `finish`, it was never there.
pub struct BlobWriter {
    blobs: Arc<Blobs>,
    bytes_max: u64,
    length: u64,
    /// What is not yet written: less than a chunk.
    chunk: Vec<u8>,
    spilled: Option<Spilled>,
}

impl BlobWriter {
    pub(crate) fn new(blobs: Arc<Blobs>, bytes_max: u64) -> Self {
        let bytes_max = bytes_max.min(BLOB_BYTES_MAX);
        Self { blobs, bytes_max, length: 0, chunk: Vec::new(), spilled: None }
    }

    /// How many bytes have come.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Takes the next bytes. After an error there is nothing to do but to drop this.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), BlobError> {
        if bytes.len() as u64 > self.bytes_max.saturating_sub(self.length) {
            return Err(BlobError::TooLarge { max: self.bytes_max });
        }
        self.length += bytes.len() as u64;
        while !bytes.is_empty() {
            let (taken, rest) = bytes.split_at(bytes.len().min(CHUNK_BYTES - self.chunk.len()));
            self.chunk.extend_from_slice(taken);
            bytes = rest;
            if self.chunk.len() == CHUNK_BYTES {
                self.write_chunk()?;
            }
        }
        Ok(())
    }

    /// Makes it durable. A blob that this gives is on disk, with its name, and stays while it is
    /// pinned.
    pub fn finish(mut self) -> Result<Content, BlobError> {
        if self.length <= DOCUMENT_INLINE_BYTES_MAX as u64 && self.spilled.is_none() {
            return Ok(Content::Inline(Bytes::from(std::mem::take(&mut self.chunk))));
        }
        let reference = self.reference()?;
        // Before it has its name: from then on somebody might remove it.
        let pin = PinnedBlob::new(&self.blobs, reference, true);
        self.place(&reference)?;
        Ok(Content::Blob(pin))
    }

    /// Makes a copy of a blob durable, under its name, if it is one: otherwise nothing is left.
    pub(crate) fn finish_as(mut self, expected: &BlobReference) -> Result<(), BlobError> {
        let found = self.reference()?;
        if found != *expected {
            let (hash, length) = (found.hash, found.length);
            let why = format!("its content has the hash {hash} and {length} bytes");
            return Err(BlobError::Damaged { hash: expected.hash, why });
        }
        self.place(expected)
    }

    /// What has come, all of which is in the file then.
    fn reference(&mut self) -> Result<BlobReference, BlobError> {
        if !self.chunk.is_empty() || self.spilled.is_none() {
            self.write_chunk()?;
        }
        let hash = self.spilled.as_ref().map(|spilled| spilled.hasher.finalize());
        let hash = hash.unwrap_or_else(|| blake3::hash(&[]));
        Ok(BlobReference { hash: BlobHash(*hash.as_bytes()), length: self.length })
    }

    /// Completes the file, makes it durable and gives it its name.
    fn place(&mut self, reference: &BlobReference) -> Result<(), BlobError> {
        let Some(spilled) = &mut self.spilled else { return Ok(()) };
        let footer = encode_footer(reference, &spilled.sums);
        let path = &spilled.path;
        spilled.file.write(&footer, self.length).map_err(io_error("write", path))?;
        spilled.file.sync().map_err(io_error("sync", path))?;
        self.blobs.put(path, reference)?;
        if let Some(spilled) = self.spilled.take() {
            self.blobs.end_writing(&spilled.path);
        }
        Ok(())
    }

    fn write_chunk(&mut self) -> Result<(), BlobError> {
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            none => none.insert(begin(&self.blobs)?),
        };
        self.blobs.check_space()?;
        let at = spilled.sums.len() as u64 * CHUNK_BYTES as u64;
        let path = &spilled.path;
        spilled.file.write(&self.chunk, at).map_err(io_error("write", path))?;
        spilled.hasher.update(&self.chunk);
        spilled.sums.push(crc32c::crc32c(&self.chunk));
        spilled.unsynced += self.chunk.len() as u64;
        if spilled.unsynced >= SYNC_BYTES {
            spilled.file.sync().map_err(io_error("sync", path))?;
            spilled.unsynced = 0;
        }
        self.chunk.clear();
        Ok(())
    }
}

fn begin(blobs: &Blobs) -> Result<Spilled, BlobError> {
    let path = blobs.begin_writing()?;
    match blobs.disk.create(&path) {
        Ok(file) => {
            let (hasher, sums) = (blake3::Hasher::new(), Vec::new());
            Ok(Spilled { file, path, hasher, sums, unsynced: 0 })
        }
        Err(error) => {
            blobs.end_writing(&path);
            Err(io_error("create", &path)(error))
        }
    }
}

impl Drop for BlobWriter {
    fn drop(&mut self) {
        if let Some(spilled) = self.spilled.take() {
            // If it stays, the next look at the folder removes it.
            let _ = self.blobs.disk.remove(&spilled.path);
            self.blobs.end_writing(&spilled.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Files;

    #[test]
    fn the_largest_blob() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(Arc::new(Files), folder.path(), &Arc::default());
        let mut writer = BlobWriter::new(Arc::new(blobs), u64::MAX);
        // As if so much had come; to write it takes a minute and the space.
        writer.length = BLOB_BYTES_MAX - 2;
        writer.write(b"ab").unwrap();
        let refused = writer.write(b"c");
        let max = BLOB_BYTES_MAX;
        assert!(matches!(refused, Err(BlobError::TooLarge { max: m }) if m == max), "{refused:?}");
    }
}
