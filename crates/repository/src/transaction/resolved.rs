//! What merge operations that a transaction has staged come to, kept so that a list of them is not
//! resolved from its beginning for each one that is added. It only saves work: what is missing here
//! is found out again.

use crate::document::Document;
use crate::limits::RESOLVED_BYTES_MAX;
use crate::seeded::SeededMap;
use std::sync::Arc;

/// Documents before the last merge operation that is staged on them, by the index of the write. The
/// last is left out because another may yet be taken in by it, and a sum of doubles depends on what
/// is added first.
#[derive(Default)]
pub(super) struct Resolved {
    documents: SeededMap<usize, Option<Arc<Document>>>,
    bytes: usize,
}

impl Resolved {
    /// What the write at `at` comes to without its last operation, if that is known.
    pub(super) fn get(&self, at: usize) -> Option<&Option<Arc<Document>>> {
        self.documents.get(&at)
    }

    /// Keeps it; when there is no room, instead of all others.
    pub(super) fn keep(&mut self, at: usize, document: Option<Arc<Document>>) {
        let bytes = |document: &Option<Arc<Document>>| {
            document.as_ref().map_or(0, |document| document.body.len())
        };
        let added = bytes(&document);
        if let Some(replaced) = self.documents.insert(at, document) {
            self.bytes -= bytes(&replaced);
        }
        self.bytes += added;
        if self.bytes > RESOLVED_BYTES_MAX {
            self.documents.retain(|kept, _| *kept == at);
            self.bytes = added;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{CommitNumber, MediaType, Timestamp};
    use crate::limits::DOCUMENT_BYTES_MAX;
    use bytes::Bytes;

    fn document(bytes: usize) -> Option<Arc<Document>> {
        Some(Arc::new(Document {
            media_type: MediaType::Json,
            body: Bytes::from(vec![b'1'; bytes]),
            blob: None,
            version: CommitNumber(1),
            created: Timestamp(0),
            updated: Timestamp(0),
            expires: None,
        }))
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut resolved = Resolved::default();
        let fit = RESOLVED_BYTES_MAX / DOCUMENT_BYTES_MAX;
        for at in 0..fit {
            resolved.keep(at, document(DOCUMENT_BYTES_MAX));
        }
        resolved.keep(0, document(DOCUMENT_BYTES_MAX));
        assert!((0..fit).all(|at| resolved.get(at).is_some()), "replaced, and so not one more");
        resolved.keep(fit, document(1));
        assert!((0..fit).all(|at| resolved.get(at).is_none()) && resolved.get(fit).is_some());
        assert_eq!(resolved.bytes, 1);
    }
}
