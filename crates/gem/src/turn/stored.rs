//! The content of documents by reference: what is too large for the engine's memory is named under
//! other keys and sent, and never read.

use super::documents::other_type;
use super::{Place, Turn, TurnError};
use repository::{Content, MediaType, Timestamp};

impl Turn {
    /// The content of a document, by the number under which it is known during the run; notes the
    /// read.
    pub(crate) fn stored(&mut self, place: Place<'_>) -> Result<Option<usize>, TurnError> {
        let Some(document) = self.look_at(place)? else { return Ok(None) };
        let pinned = self.transaction()?.pin_blob(&document);
        let content = match self.readable(pinned)? {
            Some(blob) => Content::Blob(blob),
            None => Content::Inline(document.body.clone()),
        };
        self.stored.push(content);
        Ok(Some(self.stored.len() - 1))
    }

    /// What is known under a number.
    pub(crate) fn stored_at(&self, number: usize) -> Result<Content, TurnError> {
        self.stored.get(number).cloned().ok_or(TurnError::Over)
    }

    /// Stages a document with this content.
    pub(crate) fn put_stored(
        &mut self,
        place: Place<'_>,
        number: usize,
        (media_type, expires): (&str, Option<Timestamp>),
    ) -> Result<(), TurnError> {
        let (collection, key) = self.names(place)?;
        let media_type = MediaType::Other(other_type(media_type)?.into());
        let content = self.stored_at(number)?;
        let transaction = self.transaction()?;
        Ok(transaction.put_content(&collection, &key, media_type, &content, expires)?)
    }
}
