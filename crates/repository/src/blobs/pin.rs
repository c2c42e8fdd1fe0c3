//! What keeps a blob: a pin, from when it is written or found until its commit is applied or its
//! reply is out.

use super::{BlobError, BlobReader, BlobReference, Blobs};
use crate::document::CommitNumber;
use bytes::Bytes;
use std::fmt;
use std::sync::Arc;

/// A blob that stays while this lives, whether or not a document names it.
pub struct PinnedBlob {
    pub(super) blobs: Arc<Blobs>,
    reference: BlobReference,
    /// It was written just now, so that perhaps nobody ever names it.
    is_new: bool,
}

impl PinnedBlob {
    /// Pins a blob that a view sees, or that was put there under this very pin.
    pub(crate) fn new(blobs: &Arc<Blobs>, reference: BlobReference, is_new: bool) -> Self {
        blobs.pin(&reference.hash);
        Self { blobs: Arc::clone(blobs), reference, is_new }
    }

    /// What it is.
    pub fn reference(&self) -> BlobReference {
        self.reference
    }

    /// Opens it to be read.
    pub fn open(&self) -> Result<BlobReader, BlobError> {
        BlobReader::open(self.clone())
    }
}

impl Clone for PinnedBlob {
    fn clone(&self) -> Self {
        Self::new(&self.blobs, self.reference, self.is_new)
    }
}

impl Drop for PinnedBlob {
    fn drop(&mut self) {
        self.blobs.unpin(&self.reference.hash);
        if self.is_new {
            self.blobs.unnamed.note(self.reference.hash, CommitNumber(0));
        }
    }
}

/// Two that are pins of the same blob.
impl PartialEq for PinnedBlob {
    fn eq(&self, other: &Self) -> bool {
        self.reference == other.reference
    }
}

impl Eq for PinnedBlob {}

impl fmt::Debug for PinnedBlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PinnedBlob").field(&self.reference).finish()
    }
}

/// Content for a document.
#[derive(Clone, Debug)]
pub enum Content {
    /// In the document itself.
    Inline(Bytes),
    /// In a file of its own.
    Blob(PinnedBlob),
}

impl Content {
    /// How many bytes it has.
    pub fn length(&self) -> u64 {
        match self {
            Self::Inline(bytes) => bytes.len() as u64,
            Self::Blob(blob) => blob.reference().length,
        }
    }
}
