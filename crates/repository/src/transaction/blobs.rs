//! Blobs in a transaction: what its view sees can be pinned, and what is pinned can be named.

use super::Transaction;
use super::stage::check_media_type;
use crate::blobs::{Content, PinnedBlob};
use crate::document::{Document, MediaType, Timestamp};
use crate::errors::{ReadError, StageError};
use crate::name::{CollectionName, Key};
use crate::record::Change;
use crate::store::check_view;
use bytes::Bytes;

impl Transaction {
    /// Keeps the content of a document, which this transaction has read, from being removed for as
    /// long as the pin lives. `None`: the content is in the document itself.
    pub fn pin_blob(&self, document: &Document) -> Result<Option<PinnedBlob>, ReadError> {
        let Some(reference) = document.blob else { return Ok(None) };
        let pin = PinnedBlob::new(&self.store.blobs, reference, false);
        // As long as the view was not refused, nothing that it sees has gone.
        check_view(&self.view)?;
        Ok(Some(pin))
    }

    /// As [`Self::put`], with content that was written by a [`crate::BlobWriter`], or that another
    /// document has. JSON must be inline.
    pub fn put_content(
        &mut self,
        collection: &CollectionName,
        key: &Key,
        media_type: MediaType,
        content: &Content,
        expires: Option<Timestamp>,
    ) -> Result<(), StageError> {
        let pin = match content {
            Content::Inline(body) => {
                return self.put(collection, key, media_type, body.clone(), expires);
            }
            Content::Blob(pin) => pin,
        };
        if media_type == MediaType::Json {
            let bytes = usize::try_from(pin.reference().length).unwrap_or(usize::MAX);
            return Err(StageError::DocumentTooLarge { bytes });
        }
        check_media_type(&media_type)?;
        let expires = expires.or_else(|| self.default_expiry(collection));
        let (body, blob) = (Bytes::new(), Some(pin.reference()));
        self.stage(collection, key, Change::Put { media_type, body, blob, expires })?;
        self.pins.push(pin.clone());
        Ok(())
    }
}
