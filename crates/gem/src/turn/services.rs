//! What services ask for beside what handlers do, and the transaction's way to and from a face.

use super::documents::names;
use super::{Turn, TurnError};
use bytes::Bytes;
use repository::Transaction;

impl Turn {
    /// For the holder of a token with this id.
    pub(crate) fn asked_by(self, principal: Option<String>) -> Self {
        Self { principal, ..self }
    }

    /// The id of the token that the request came with.
    pub(crate) fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    /// Takes the transaction of a run that has begun, for one call.
    pub(crate) fn lend(&mut self, transaction: Transaction) {
        self.transaction = Some(transaction);
        self.known.clear();
    }

    /// The text of a document that has expired and is still there.
    pub(crate) fn expired(
        &mut self,
        collection: &str,
        key: &str,
    ) -> Result<Option<Bytes>, TurnError> {
        let (collection, key) = names(collection, key)?;
        let read = self.transaction()?.expired(&collection, &key);
        self.text(&collection, &key, read)
    }
}
