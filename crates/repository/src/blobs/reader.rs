//! Reading a blob: chunk by chunk, each verified.

use super::error::io_error;
use super::file::{CHUNK_BYTES, decode_footer, footer_bytes};
use super::{BlobError, BlobReference, PinnedBlob};
use bytes::Bytes;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// A blob that is open to be read. It holds the checksums (4 bytes for 256 KiB), and no content.
#[derive(Debug)]
pub struct BlobReader {
    pin: PinnedBlob,
    path: PathBuf,
    sums: Vec<u32>,
}

impl BlobReader {
    pub(super) fn open(pin: PinnedBlob) -> Result<Self, BlobError> {
        let reference = pin.reference();
        let path = pin.blobs.path(&reference.hash);
        let mut reader = Self { pin, path, sums: Vec::new() };
        // One byte more than there must be: whatever comes after it is wrong, too.
        let footer = reader.bytes(reference.length, footer_bytes(reference.length) + 1)?;
        let sums = decode_footer(&reference, &footer).map_err(|why| reader.damaged(why))?;
        reader.sums = sums;
        Ok(reader)
    }

    /// What it is.
    pub fn reference(&self) -> BlobReference {
        self.pin.reference()
    }

    /// The bytes from `at` to the end of their chunk, at most 256 KiB; none at the end of the blob.
    /// All of the chunk was verified.
    pub fn read(&self, at: u64) -> Result<Bytes, BlobError> {
        let length = self.reference().length;
        if at >= length {
            return Ok(Bytes::new());
        }
        let chunk = at / CHUNK_BYTES as u64;
        let from = chunk * CHUNK_BYTES as u64;
        let expected = (length - from).min(CHUNK_BYTES as u64);
        let bytes = self.bytes(from, expected)?;
        if bytes.len() as u64 != expected {
            let why = format!("expected {expected} bytes at {from}, found {}", bytes.len());
            return Err(self.damaged(why));
        }
        if self.sums.get(chunk as usize) != Some(&crc32c::crc32c(&bytes)) {
            return Err(self.damaged(format!("the checksum of its bytes from {from} on is wrong")));
        }
        Ok(Bytes::from(bytes).slice((at - from) as usize..))
    }

    fn bytes(&self, at: u64, bytes: u64) -> Result<Vec<u8>, BlobError> {
        match self.pin.blobs.disk.read(&self.path, at, bytes) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(self.damaged("its file is missing".to_owned()))
            }
            read => read.map_err(io_error("read", &self.path)),
        }
    }

    fn damaged(&self, why: String) -> BlobError {
        self.pin.blobs.counters.damaged.fetch_add(1, Ordering::Relaxed);
        BlobError::Damaged { hash: self.reference().hash, why }
    }
}
