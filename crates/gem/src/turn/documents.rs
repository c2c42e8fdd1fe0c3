//! The documents that a run reads and stages.

use super::{Turn, TurnError};
use bytes::Bytes;
use repository::limits::JSON_DEPTH_MAX;
use repository::{CollectionName, Document, Key, MediaType, Merge, ReadError, Timestamp};
use std::sync::Arc;

impl Turn {
    /// The canonical text of a document.
    pub(crate) fn get(&mut self, collection: &str, key: &str) -> Result<Option<Bytes>, TurnError> {
        let (collection, key) = names(collection, key)?;
        let read = self.transaction()?.get(&collection, &key);
        self.text(&collection, &key, read)
    }

    /// As `get`, without noting the read.
    pub(crate) fn peek(&mut self, collection: &str, key: &str) -> Result<Option<Bytes>, TurnError> {
        let (collection, key) = names(collection, key)?;
        let read = self.transaction()?.peek(&collection, &key);
        self.text(&collection, &key, read)
    }

    pub(super) fn text(
        &mut self,
        collection: &CollectionName,
        key: &Key,
        read: Result<Option<Arc<Document>>, ReadError>,
    ) -> Result<Option<Bytes>, TurnError> {
        let Some(document) = self.readable(read)? else { return Ok(None) };
        match &document.media_type {
            MediaType::Json => Ok(Some(document.body.clone())),
            MediaType::Other(media_type) => Err(TurnError::NotJson {
                collection: collection.to_string(),
                key: key.to_string(),
                media_type: media_type.to_string(),
            }),
        }
    }

    /// Notes a failure of the repository, which the handler must not be able to hide.
    pub(super) fn readable<T>(&mut self, read: Result<T, ReadError>) -> Result<T, TurnError> {
        if let Err(error @ (ReadError::Engine(_) | ReadError::ViewTooOld(_))) = &read {
            self.unreadable = Some(error.clone());
        }
        Ok(read?)
    }

    /// Stages a new document, which does not expire.
    pub(crate) fn put(
        &mut self,
        collection: &str,
        key: &str,
        text: String,
    ) -> Result<(), TurnError> {
        let (collection, key) = names(collection, key)?;
        self.stage(&collection, &key, text, None)
    }

    /// Stages a change of a document that was read: it expires when it would have.
    pub(crate) fn change(
        &mut self,
        collection: &str,
        key: &str,
        text: String,
    ) -> Result<(), TurnError> {
        let (collection, key) = names(collection, key)?;
        let read = self.transaction()?.get(&collection, &key);
        let expires = self.readable(read)?.and_then(|document| document.expires);
        self.stage(&collection, &key, text, expires)
    }

    pub(super) fn stage(
        &mut self,
        collection: &CollectionName,
        key: &Key,
        text: String,
        expires: Option<Timestamp>,
    ) -> Result<(), TurnError> {
        if is_too_deep(&text) {
            let (collection, key) = (collection.to_string(), key.to_string());
            return Err(TurnError::TooDeep { collection, key });
        }
        self.transaction()?.put(collection, key, MediaType::Json, text.into(), expires)?;
        Ok(())
    }

    /// Stages a deletion.
    pub(crate) fn remove(&mut self, collection: &str, key: &str) -> Result<(), TurnError> {
        let (collection, key) = names(collection, key)?;
        self.transaction()?.delete(&collection, &key)?;
        Ok(())
    }

    /// Stages an addition to the number at `path`.
    pub(crate) fn add(
        &mut self,
        collection: &str,
        key: &str,
        path: String,
        delta: f64,
    ) -> Result<(), TurnError> {
        let (collection, key) = names(collection, key)?;
        self.transaction()?.merge(&collection, &key, Merge::Add { path, delta })?;
        Ok(())
    }
}

/// Checks the name of a collection that an application asks for.
pub(crate) fn collection(name: &str) -> Result<CollectionName, TurnError> {
    let collection = CollectionName::new(name)?;
    if collection.is_system() {
        return Err(TurnError::System(name.to_owned()));
    }
    Ok(collection)
}

pub(super) fn names(name: &str, key: &str) -> Result<(CollectionName, Key), TurnError> {
    Ok((collection(name)?, Key::new(key)?))
}

/// Whether a JSON text, known to be well-formed, nests deeper than the repository stores.
fn is_too_deep(text: &str) -> bool {
    let mut depth = 0usize;
    let mut in_string = false;
    let mut escaped = false;
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > JSON_DEPTH_MAX {
                    return true;
                }
            }
            b']' | b'}' if !in_string => depth -= 1,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_strings() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(!is_too_deep(&nested(JSON_DEPTH_MAX)));
        assert!(is_too_deep(&nested(JSON_DEPTH_MAX + 1)));
        assert!(!is_too_deep(&format!("[\"\\\"{}\\\\\",{{}}]", "[".repeat(JSON_DEPTH_MAX + 1))));
        assert!(!is_too_deep(&format!("[{}{{}}]", "{},".repeat(JSON_DEPTH_MAX + 1))));
    }

    #[test]
    fn system_collections_are_refused() {
        assert!(matches!(collection("_sessions"), Err(TurnError::System(_))));
        assert!(matches!(collection("Notes"), Err(TurnError::Name(_))));
        assert!(collection("notes").is_ok());
    }
}
