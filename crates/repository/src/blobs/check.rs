//! Verifying blobs: every one that is named is there and whole, and what is there without a name.

use super::file::{CHUNK_BYTES, chunks};
use super::{BlobHash, BlobReader, BlobReference, Blobs, PinnedBlob};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a look at all blobs came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CheckedBlobs {
    /// Blobs that are named, and their bytes.
    pub named: u64,
    pub bytes: u64,
    /// Files of blobs that nobody names; they go some time after the next opening.
    pub unnamed: u64,
    /// What is wrong, with who names it.
    pub wrong: Vec<String>,
}

/// Reads all of each blob in `named`, which says who names it.
pub(crate) fn check(blobs: &Arc<Blobs>, named: &BTreeMap<BlobReference, String>) -> CheckedBlobs {
    let mut checked = CheckedBlobs::default();
    for (reference, by) in named {
        checked.named += 1;
        checked.bytes += reference.length;
        if let Err(why) = read_all(blobs, *reference) {
            checked.wrong.push(format!("{by}: {why}"));
        }
    }
    let is_named = |hash: &BlobHash| {
        let first = BlobReference { hash: *hash, length: 0 };
        named.range(first..).next().is_some_and(|(reference, _)| reference.hash == *hash)
    };
    for folder in 0..=u8::MAX {
        match blobs.list(folder) {
            Ok(there) => {
                checked.unnamed += there.iter().filter(|hash| !is_named(hash)).count() as u64
            }
            Err(error) => checked.wrong.push(error.to_string()),
        }
    }
    checked
}

fn read_all(blobs: &Arc<Blobs>, reference: BlobReference) -> Result<(), String> {
    let reader = BlobReader::open(PinnedBlob::new(blobs, reference, false));
    let reader = reader.map_err(|error| error.to_string())?;
    let mut hasher = blake3::Hasher::new();
    for chunk in 0..chunks(reference.length) {
        let bytes = reader.read(chunk * CHUNK_BYTES as u64).map_err(|error| error.to_string())?;
        hasher.update(&bytes);
    }
    match BlobHash(*hasher.finalize().as_bytes()) {
        hash if hash == reference.hash => Ok(()),
        hash => Err(format!("the blob {}: its content has the hash {hash}", reference.hash)),
    }
}
