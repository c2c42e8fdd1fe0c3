//! The documents that a run reads and stages, one by one. `range` has those that are read in order.

use super::{Turn, TurnError};
use bytes::Bytes;
use repository::limits::JSON_DEPTH_MAX;
use repository::{
    CollectionName, Content, Document, Key, MediaType, Merge, ReadError, Timestamp, json,
};
use std::sync::Arc;

/// What a run knows of documents.
#[derive(Default)]
pub(super) struct Known {
    /// The collections that the handler named, by the number that `open` gave.
    collections: Vec<CollectionName>,
    /// What the transaction holds of the documents that the handler was given, by the number that
    /// `db.js` gave them.
    followed: Vec<Followed>,
}

/// What the transaction holds for a document that the handler was given.
#[derive(Clone, Default)]
struct Followed {
    text: Option<Bytes>,
    expires: Option<Timestamp>,
}

impl Known {
    pub(super) fn clear(&mut self) {
        self.collections.clear();
        self.followed.clear();
    }

    fn follow(&mut self, entry: usize, followed: Followed) {
        if entry >= self.followed.len() {
            self.followed.resize_with(entry + 1, Followed::default);
        }
        self.followed[entry] = followed;
    }
}

/// A document that is named by the number of its collection.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) collection: usize,
    pub(crate) key: &'a str,
}

impl Turn {
    /// Checks the name of a collection and gives it a number.
    pub(crate) fn open(&mut self, name: &str) -> Result<usize, TurnError> {
        let collection = collection(name)?;
        self.known.collections.push(collection);
        Ok(self.known.collections.len() - 1)
    }

    pub(super) fn collection(&self, number: usize) -> Result<CollectionName, TurnError> {
        self.known.collections.get(number).cloned().ok_or(TurnError::Over)
    }

    pub(super) fn names(&self, place: Place<'_>) -> Result<(CollectionName, Key), TurnError> {
        Ok((self.collection(place.collection)?, Key::new(place.key)?))
    }

    /// The document, and notes the read.
    fn document(&mut self, place: Place<'_>) -> Result<Option<Arc<Document>>, TurnError> {
        let (collection, key) = self.names(place)?;
        let read = self.transaction()?.get(&collection, &key);
        self.readable(read)
    }

    /// The canonical text of a document, from now on known as `entry`.
    pub(crate) fn get(
        &mut self,
        entry: usize,
        place: Place<'_>,
    ) -> Result<Option<Bytes>, TurnError> {
        let (collection, key) = self.names(place)?;
        let read = self.transaction()?.get(&collection, &key);
        let document = self.readable(read)?;
        let text = document.as_deref().map(|document| text(&collection, &key, document));
        let (text, expires) = (text.transpose()?, document.and_then(|document| document.expires));
        self.known.follow(entry, Followed { text: text.clone(), expires });
        Ok(text)
    }

    /// The canonical text of a document, and notes the read.
    pub(crate) fn read(&mut self, place: Place<'_>) -> Result<Option<Bytes>, TurnError> {
        let (collection, key) = self.names(place)?;
        let read = self.transaction()?.get(&collection, &key);
        self.text(&collection, &key, read)
    }

    /// The text that the transaction holds for `entry`.
    pub(crate) fn known(&self, entry: usize) -> Option<Bytes> {
        self.known.followed.get(entry)?.text.clone()
    }

    /// Holds no text for `entry` any more.
    pub(crate) fn forget(&mut self, entry: usize) {
        if let Some(followed) = self.known.followed.get_mut(entry) {
            *followed = Followed::default();
        }
    }

    /// As `get`, without noting the read.
    pub(crate) fn peek(&mut self, place: Place<'_>) -> Result<Option<Bytes>, TurnError> {
        let (collection, key) = self.names(place)?;
        let read = self.transaction()?.peek(&collection, &key);
        let document = self.readable(read)?;
        document.map(|document| text(&collection, &key, &document)).transpose()
    }

    /// Whether there is a document, whatever its media type; noted as a read.
    pub(crate) fn has(&mut self, place: Place<'_>) -> Result<bool, TurnError> {
        Ok(self.document(place)?.is_some())
    }

    /// The bytes of a document in memory, with its media type.
    pub(crate) fn bytes(&mut self, place: Place<'_>) -> Result<Option<Arc<Document>>, TurnError> {
        let document = self.look_at(place)?;
        if let Some(blob) = document.as_ref().and_then(|document| document.blob) {
            let (collection, key) = self.names(place)?;
            let (collection, key) = (collection.to_string(), key.to_string());
            return Err(TurnError::Stored { collection, key, bytes: blob.length });
        }
        Ok(document)
    }

    /// The document, whatever its media type.
    pub(crate) fn look_at(&mut self, place: Place<'_>) -> Result<Option<Arc<Document>>, TurnError> {
        self.document(place)
    }

    pub(super) fn text(
        &mut self,
        collection: &CollectionName,
        key: &Key,
        read: Result<Option<Arc<Document>>, ReadError>,
    ) -> Result<Option<Bytes>, TurnError> {
        let document = self.readable(read)?;
        document.map(|document| text(collection, key, &document)).transpose()
    }

    /// Notes a failure of the repository, which the handler must not be able to hide.
    pub(super) fn readable<T>(&mut self, read: Result<T, ReadError>) -> Result<T, TurnError> {
        if let Err(error @ (ReadError::Engine(_) | ReadError::ViewTooOld(_))) = &read {
            self.unreadable = Some(error.clone());
        }
        Ok(read?)
    }

    /// Whether `text` is what the transaction holds for `entry`.
    pub(crate) fn is_unchanged(&self, entry: usize, text: &str) -> bool {
        let followed = self.known.followed.get(entry).and_then(|known| known.text.as_ref());
        followed.is_some_and(|known| known == text.as_bytes())
    }

    /// Stages a document, whatever is there, from now on known as `entry`.
    pub(crate) fn put(
        &mut self,
        entry: usize,
        place: Place<'_>,
        text: String,
        expires: Option<Timestamp>,
    ) -> Result<(), TurnError> {
        let (collection, key) = self.names(place)?;
        let text = Bytes::from(text);
        self.transaction()?.put(&collection, &key, MediaType::Json, text.clone(), expires)?;
        self.known.follow(entry, Followed { text: Some(text), expires });
        Ok(())
    }

    /// Stages a change of the document that is known as `entry`: it expires when it would have.
    pub(crate) fn change(
        &mut self,
        entry: usize,
        place: Place<'_>,
        text: String,
    ) -> Result<(), TurnError> {
        let expires = self.known.followed.get(entry).and_then(|known| known.expires);
        self.put(entry, place, text, expires)
    }

    /// Stages bytes of another media type than JSON.
    pub(crate) fn put_bytes(
        &mut self,
        place: Place<'_>,
        media_type: &str,
        (bytes, expires): (Bytes, Option<Timestamp>),
    ) -> Result<(), TurnError> {
        let (collection, key) = self.names(place)?;
        let media_type = MediaType::Other(other_type(media_type)?.into());
        Ok(self.transaction()?.put(&collection, &key, media_type, bytes, expires)?)
    }

    /// Stages that the document expires at another time; false if there is none.
    pub(crate) fn expire(
        &mut self,
        entry: Option<usize>,
        place: Place<'_>,
        expires: Option<Timestamp>,
    ) -> Result<bool, TurnError> {
        let (collection, key) = self.names(place)?;
        let Some(document) = self.document(place)? else { return Ok(false) };
        if document.expires == expires {
            return Ok(true);
        }
        let pinned = self.transaction()?.pin_blob(&document);
        let content = match self.readable(pinned)? {
            Some(blob) => Content::Blob(blob),
            None => Content::Inline(document.body.clone()),
        };
        let media_type = document.media_type.clone();
        self.transaction()?.put_content(&collection, &key, media_type, &content, expires)?;
        if let Some(known) = entry.and_then(|entry| self.known.followed.get_mut(entry)) {
            known.expires = expires;
        }
        Ok(true)
    }

    pub(super) fn stage(
        &mut self,
        collection: &CollectionName,
        key: &Key,
        text: String,
        expires: Option<Timestamp>,
    ) -> Result<(), TurnError> {
        if json::depth(&text) > JSON_DEPTH_MAX {
            let (collection, key) = (collection.to_string(), key.to_string());
            return Err(TurnError::TooDeep { collection, key });
        }
        self.transaction()?.put(collection, key, MediaType::Json, text.into(), expires)?;
        Ok(())
    }

    /// Stages a deletion.
    pub(crate) fn remove(&mut self, place: Place<'_>) -> Result<(), TurnError> {
        let (collection, key) = self.names(place)?;
        Ok(self.transaction()?.delete(&collection, &key)?)
    }

    /// Stages a merge operation.
    pub(crate) fn merge(&mut self, place: Place<'_>, operation: Merge) -> Result<(), TurnError> {
        let (collection, key) = self.names(place)?;
        Ok(self.transaction()?.merge(&collection, &key, operation)?)
    }
}

fn text(collection: &CollectionName, key: &Key, document: &Document) -> Result<Bytes, TurnError> {
    match &document.media_type {
        MediaType::Json => Ok(document.body.clone()),
        MediaType::Other(media_type) => Err(TurnError::NotJson {
            collection: collection.to_string(),
            key: key.to_string(),
            media_type: media_type.to_string(),
        }),
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

/// Checks a media type (RFC 9110 §8.3.1) that is not JSON's: that is stored as a value.
pub(super) fn other_type(media_type: &str) -> Result<&str, TurnError> {
    let (essence, _) = media_type.split_once(';').unwrap_or((media_type, ""));
    let is_token = |text: &str| {
        let is_char = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        !text.is_empty() && text.bytes().all(is_char)
    };
    let names = essence.trim().split_once('/');
    let is_type = names.is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype));
    let is_json = essence.trim().eq_ignore_ascii_case("application/json");
    let is_visible = media_type.bytes().all(|b| (b' '..=b'~').contains(&b));
    match is_type && is_visible && !is_json {
        true => Ok(media_type),
        false => Err(TurnError::MediaType(media_type.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_collections_are_refused() {
        assert!(matches!(collection("_sessions"), Err(TurnError::System(_))));
        assert!(matches!(collection("Notes"), Err(TurnError::Name(_))));
        assert!(collection("notes").is_ok());
    }

    #[test]
    fn media_types_of_bytes() {
        for good in ["image/jpeg", "text/plain; charset=utf-8", "application/atom+xml"] {
            assert!(other_type(good).is_ok(), "{good}");
        }
        for bad in ["", "jpeg", "/x", "a/b/c", "a b/c", "application/JSON; x=y", "a/b\n", "a/b;ä"]
        {
            assert!(matches!(other_type(bad), Err(TurnError::MediaType(_))), "{bad}");
        }
    }
}
