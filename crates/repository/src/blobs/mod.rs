//! Blobs: bytes that are too large to be in a document, kept in files of their own under the hash
//! of what they hold. `docs/blobs.md` has the argument; `docs/format.md` the bytes of a file.
//!
//! This knows files, and who is using them now. That a blob is *named* is known by the rows that
//! `rows` derives from documents; `reclaim` removes what no row names.

mod check;
mod error;
mod file;
mod kept;
mod pin;
mod reader;
mod reclaim;
mod shelf;
mod unnamed;
mod writer;

pub use error::BlobError;
pub use pin::{Content, PinnedBlob};
pub use reader::BlobReader;
pub use shelf::BlobStats;
pub use writer::BlobWriter;

pub(crate) use check::{CheckedBlobs, check};
pub(crate) use file::BlobSums;
pub(crate) use reclaim::{Sweeper, is_named};
pub(crate) use shelf::{Blobs, content_bytes};
pub(crate) use unnamed::Unnamed;

use crate::cursor::Cursor;
use crate::document::Timestamp;
use crate::errors::ReadError;
use crate::range::{Direction, KeyRange};
use crate::repository::Repository;
use crate::rows;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is called with a blob and the path of its file before that is removed.
pub type OnBlobRemoval = Box<dyn Fn(&BlobReference, &Path) -> std::io::Result<()> + Send + Sync>;

/// The BLAKE3 hash of a blob's content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobHash(pub [u8; 32]);

impl fmt::Display for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl BlobHash {
    /// The hash that `Display` has written: 64 hexadecimal digits in lower case.
    pub fn parse(hex: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if hex.len() != 64 || !hex.bytes().all(is_digit) {
            return None;
        }
        let mut hash = [0; 32];
        for (i, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).ok()?;
        }
        Some(Self(hash))
    }

    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Where its file is in the data folder: `blobs/ab/` and the other 62 digits.
    pub fn path(&self) -> PathBuf {
        let hex = self.to_string();
        let (folder, name) = hex.split_at(2);
        Path::new(FOLDER).join(folder).join(name)
    }
}

/// What a document says of its content if that is a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobReference {
    /// The hash of its bytes.
    pub hash: BlobHash,
    /// How many there are.
    pub length: u64,
}

/// Bytes of an encoded reference.
pub(crate) const REFERENCE_BYTES: usize = 40;

impl BlobReference {
    /// The hash, then the length, little-endian.
    pub(crate) fn encode(&self) -> [u8; REFERENCE_BYTES] {
        let mut bytes = [0; REFERENCE_BYTES];
        bytes[..32].copy_from_slice(&self.hash.0);
        bytes[32..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (hash, length) = bytes.split_first_chunk::<32>()?;
        let length = u64::from_le_bytes(length.try_into().ok()?);
        Some(Self { hash: BlobHash(*hash), length })
    }
}

/// The folder of blobs in the data folder, and the one in it of what is being written.
pub(crate) const FOLDER: &str = "blobs";
pub(crate) const INCOMING: &str = "incoming";

impl Repository {
    /// Begins to write content of at most `bytes_max` bytes. Blocks on the disk from 64 KiB on.
    pub fn blob_writer(&self, bytes_max: u64) -> BlobWriter {
        BlobWriter::new(Arc::clone(&self.store.blobs), bytes_max)
    }

    /// Blobs that documents name now, in the order of their hashes, after one of them: at most
    /// `most`. Fewer: these were the last.
    pub fn named_blobs(
        &self,
        after: Option<BlobHash>,
        most: usize,
    ) -> Result<Vec<BlobReference>, ReadError> {
        let store = &self.store;
        let view = store.views.pin(Timestamp(0));
        let mut named = BTreeMap::new();
        for table in [&store.hot.blobs, &store.hot.volatile_blobs] {
            let from =
                after.map_or(Bound::Unbounded, |hash| Bound::Excluded(rows::blob_rows_end(&hash)));
            let range = (KeyRange::new(from, Bound::Unbounded), Direction::Ascending);
            let mut cursor = Cursor::new(store, &view, table, range, most);
            let mut last = None;
            let mut count = 0;
            while let Some((row, document)) = cursor.next()? {
                let Some(reference) = rows::split_blob_row(row.as_str(), &document) else {
                    continue;
                };
                if last != Some(reference.hash) {
                    last = Some(reference.hash);
                    count += 1;
                    if count > most {
                        break;
                    }
                    named.insert(reference.hash, reference);
                }
            }
        }
        Ok(named.into_values().take(most).collect())
    }

    /// Has `hook` called before the file of a blob is removed, which nobody names any more. Where
    /// it fails the file stays, and it is tried again later.
    pub fn on_blob_removal(&self, hook: OnBlobRemoval) {
        self.store.blobs.set_hook(hook);
    }

    /// Figures about blobs.
    pub fn blob_stats(&self) -> BlobStats {
        self.store.blobs.stats()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_and_references_come_back_as_they_were() {
        let hash = BlobHash::of(b"abc");
        let hex = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85";
        assert_eq!(hash.to_string(), hex, "the BLAKE3 test vector");
        assert_eq!(BlobHash::parse(hex), Some(hash));
        for wrong in ["", &hex[1..], &hex.to_uppercase(), &format!("{}ü", &hex[2..])] {
            assert_eq!(BlobHash::parse(wrong), None, "{wrong}");
        }
        let path = format!("blobs/64/{}", &hex[2..]);
        assert_eq!(hash.path(), Path::new(&path));
        let reference = BlobReference { hash, length: 70_000 };
        assert_eq!(BlobReference::decode(&reference.encode()), Some(reference));
        assert_eq!(BlobReference::decode(&reference.encode()[1..]), None);
    }
}
