//! Staging writes: checked when they are staged, committed together.

use super::Transaction;
use crate::apply::Staged;
use crate::blobs::Content;
use crate::catalog::COLLECTIONS;
use crate::document::{CommitNumber, Document, MediaType, Timestamp, tight};
use crate::document_schema::DocumentSchema;
use crate::errors::StageError;
use crate::hot::{Collection, alive};
use crate::limits::{
    DOCUMENT_BYTES_MAX, MEDIA_TYPE_BYTES_MAX, MERGE_PATH_BYTES_MAX, MERGES_MAX,
    TRANSACTION_BYTES_MAX, TRANSACTION_ROWS_MAX, TRANSACTION_WRITES_MAX,
};
use crate::merge::Merge;
use crate::name::{CollectionName, Key};
use crate::record::{Change, TIMES_BYTES, Times, Write};
use crate::settings::Overwrite;
use crate::{index, json};
use bytes::Bytes;
use std::sync::Arc;

/// The version of a document that is staged and not committed yet.
pub(super) const UNCOMMITTED: CommitNumber = CommitNumber(0);

impl Transaction {
    /// Stages a document, whatever is there now. `expires` replaces an earlier expiry; without
    /// one, the collection's own applies, if it has one.
    /// A JSON body must already be canonical text ([`crate::json::canonicalize`]).
    pub fn put(
        &mut self,
        collection: &CollectionName,
        key: &Key,
        media_type: MediaType,
        body: Bytes,
        expires: Option<Timestamp>,
    ) -> Result<(), StageError> {
        check_document_bytes(body.len())?;
        check_media_type(&media_type)?;
        if media_type == MediaType::Json {
            check_names(&body)?;
        }
        let expires = expires.or_else(|| self.default_expiry(collection));
        let body = tight(&body);
        self.stage(collection, key, Change::Put { media_type, body, blob: None, expires })
    }

    /// As `put_content`, of a document that was created and updated elsewhere, which is kept: but
    /// neither is later than the commit, and what has expired by then was updated by it. Without
    /// `expires` it does not expire, whatever the collection's settings say.
    pub fn put_with_times(
        &mut self,
        collection: &CollectionName,
        key: &Key,
        document: &Document,
        content: &Content,
    ) -> Result<(), StageError> {
        let Document { media_type, expires, created, updated, .. } = document;
        self.put_content(collection, key, media_type.clone(), content, *expires)?;
        if let Some(at) = self.find_staged(collection, key) {
            let write = &mut self.writes[at].write;
            write.times = Some(Times { created: *created, updated: *updated });
            // The bound counts more for each write than it takes, so these have room.
            self.bytes += TIMES_BYTES;
            if let Change::Put { expires: staged, .. } = &mut write.change {
                *staged = *expires;
            }
        }
        Ok(())
    }

    /// Stages a deletion. Where nothing is there, that is a change all the same, which whoever
    /// found nothing there conflicts with.
    pub fn delete(&mut self, collection: &CollectionName, key: &Key) -> Result<(), StageError> {
        self.stage(collection, key, Change::Delete)
    }

    /// Stages a merge operation. It must fit what the view sees; should it not fit what is there
    /// when the transaction commits, that is a conflict.
    ///
    /// Where it can change what a unique index looks at, or the collection has a schema, it counts
    /// as a read and a write instead: only a known value can be told to be unique, or to fit.
    pub fn merge(
        &mut self,
        collection: &CollectionName,
        key: &Key,
        operation: Merge,
    ) -> Result<(), StageError> {
        let path_bytes = operation.path().len();
        if path_bytes > MERGE_PATH_BYTES_MAX {
            return Err(StageError::MergePathTooLong { bytes: path_bytes });
        }
        let refused = |why| {
            let (collection, key) = (collection.to_string(), key.to_string());
            StageError::Merge { operation: operation.name(), collection, key, why }
        };
        operation.check().map_err(refused)?;
        let at = self.known(collection);
        let is_unique = self.collections[at].1.as_ref().is_some_and(|c| is_checked(c, &operation));
        let current = match is_unique {
            true => self.get(collection, key)?,
            false => self.look(collection, key)?,
        };
        let merged = match operation.resolve(current.as_deref()) {
            Ok(merged) => merged,
            Err(why) => {
                // The refusal tells what is there, so it is a read like any other.
                self.read(collection, key)?;
                return Err(refused(why));
            }
        };
        let mut rows = None;
        if let Some(body) = &merged {
            check_document_bytes(body.len())?;
            check_names(body)?;
            rows = Some(self.check_fit(at, &MediaType::Json, body)?);
        }
        let staged = self.find_staged(collection, key);
        let expires = match &current {
            Some(document) => document.expires,
            None => self.default_expiry(collection),
        };
        let total = staged.and_then(|at| Some(self.rows - self.writes[at].rows.0 + rows?));
        let change = match staged.map(|at| &mut self.writes[at].write.change) {
            Some(Change::Merge(operations)) if !is_unique => {
                check_rows(total.unwrap_or(0))?;
                let is_added = add_merge(operations, operation, &mut self.bytes)?;
                if let (Some(at), Some(rows), Some(total)) = (staged, rows, total) {
                    (self.writes[at].rows.0, self.rows) = (rows, total);
                }
                if let Some(at) = staged.filter(|_| is_added) {
                    self.resolved.keep(at, current);
                }
                return Ok(());
            }
            None if !is_unique => Change::Merge(vec![operation]),
            // Own writes before it, or a noted read: the result is known.
            _ => match merged {
                Some(body) => {
                    let media_type = MediaType::Json;
                    Change::Put { media_type, body, blob: None, expires }
                }
                None => return Ok(()),
            },
        };
        let is_computed = matches!(change, Change::Put { .. });
        self.stage_with_rows(collection, key, change, rows.unwrap_or(0))?;
        if let Some(at) = self.find_staged(collection, key) {
            self.writes[at].is_computed = is_computed;
        }
        Ok(())
    }

    /// Says that what is staged for the document depends on the version that was read: another's
    /// change meanwhile is a conflict, even where the collection wants changes merged. Where
    /// nothing is staged for it, this does nothing.
    pub fn pin(&mut self, collection: &CollectionName, key: &Key) {
        if let Some(at) = self.find_staged(collection, key) {
            self.writes[at].is_computed = true;
        }
    }

    /// Whether the collection wants a condition on replacing or removing a document.
    pub fn overwrite(&mut self, collection: &CollectionName) -> Overwrite {
        let at = self.known(collection);
        match self.collections[at].1.as_ref().filter(|collection| !collection.is_plain()) {
            Some(collection) => collection.shape().settings.overwrite,
            None => Overwrite::default(),
        }
    }

    /// Whether documents of the collection have to fit a schema.
    pub fn has_schema(&mut self, collection: &CollectionName) -> bool {
        let at = self.known(collection);
        let collection = self.collections[at].1.as_ref().filter(|c| !c.is_plain());
        collection.is_some_and(|collection| collection.shape().settings.schema.is_some())
    }

    pub(super) fn default_expiry(&mut self, collection: &CollectionName) -> Option<Timestamp> {
        let at = self.known(collection);
        self.collections[at].1.as_ref()?.default_expiry(self.view.time)
    }

    /// Whether a document with this body may be in its collection and in every index of it; its
    /// rows there. Every write of a document comes through here.
    fn check_fit(
        &self,
        collection: usize,
        media_type: &MediaType,
        body: &Bytes,
    ) -> Result<usize, StageError> {
        let collection = self.collections[collection].1.as_ref().filter(|c| !c.is_plain());
        let Some(collection) = collection else { return Ok(0) };
        let shape = collection.shape();
        if let Some(schema) = &shape.settings.schema {
            check_schema(schema, collection, (media_type, body))?;
        }
        let document = self.document(media_type.clone(), body.clone(), None, None);
        let mut rows = 0;
        for index in &shape.indexes {
            rows += index::values(&index.definition, &document)?.len();
        }
        Ok(rows)
    }

    pub(crate) fn stage(
        &mut self,
        collection: &CollectionName,
        key: &Key,
        change: Change,
    ) -> Result<(), StageError> {
        let rows = match &change {
            Change::Put { media_type, body, .. } => {
                let known = self.known(collection);
                self.check_fit(known, media_type, body)?
            }
            _ => 0,
        };
        self.stage_with_rows(collection, key, change, rows)
    }

    /// Stages a change that makes so many rows. A refusal leaves everything as it is.
    fn stage_with_rows(
        &mut self,
        collection: &CollectionName,
        key: &Key,
        change: Change,
        rows: usize,
    ) -> Result<(), StageError> {
        let is_configured =
            matches!(change, Change::Configure(_) | Change::Clear { .. } | Change::Trim(_));
        if collection.as_str() == COLLECTIONS && !is_configured {
            return Err(StageError::Reserved { collection: collection.to_string() });
        }
        if !is_configured && self.ends(collection) {
            return Err(StageError::Ended { collection: collection.to_string() });
        }
        let staged = self.find_staged(collection, key);
        let before = staged.map_or(0, |at| self.writes[at].write.bytes());
        let (name, times) = (collection.clone(), None);
        let write = Write { collection: name, key: key.clone(), change, times };
        let bytes = self.bytes - before + write.bytes();
        if bytes > TRANSACTION_BYTES_MAX {
            return Err(StageError::TransactionTooLarge);
        }
        if let Some(at) = staged {
            let total = self.rows - self.writes[at].rows.0 + rows;
            check_rows(total)?;
            self.writes[at].write = write;
            self.writes[at].is_computed = false;
            self.writes[at].rows.0 = rows;
            (self.bytes, self.rows) = (bytes, total);
            return Ok(());
        }
        if self.writes.len() >= TRANSACTION_WRITES_MAX {
            return Err(StageError::TooManyWrites);
        }
        // What apply needs of the present document is fetched here, outside of the commit.
        let known = self.known(collection);
        let collection = self.collections[known].1.clone();
        let (cell, base) = match (self.last_read.take(), &collection) {
            (Some((name, last, found)), _) if last == *key && name == write.collection => found,
            (_, Some(collection)) => {
                let found = self.store.find(&self.view, collection, key)?;
                self.count_bytes(&found)?;
                found
            }
            (_, None) => (None, None),
        };
        let rows = match collection.as_ref().filter(|c| !c.is_plain()) {
            None => (rows, 0),
            Some(indexed) => match &write.change {
                Change::Reindex => (indexed.shape().count_rows_to_build(base.as_deref()), 0),
                // What it clears is no row of a document that is there.
                Change::Clear { .. } | Change::Trim(_) => (0, 0),
                _ => (rows, indexed.shape().count_rows(base.as_deref())),
            },
        };
        let total = self.rows + rows.0 + rows.1;
        check_rows(total)?;
        (self.bytes, self.rows) = (bytes, total);
        let (is_computed, merges) = (false, false);
        self.push_staged(Staged { write, collection, base, cell, rows, is_computed, merges });
        Ok(())
    }

    /// What a staged write makes of the document, as far as the view knows.
    pub(super) fn staged_document(&self, at: usize) -> Option<Arc<Document>> {
        let base = alive(self.writes[at].base.clone(), self.view.time);
        let staged = match &self.writes[at].write.change {
            Change::Delete => None,
            Change::Put { media_type, body, blob, expires } => {
                let (media_type, body) = (media_type.clone(), body.clone());
                let document = self.document(media_type, body, *expires, base.as_deref());
                Some(Arc::new(Document { blob: *blob, ..document }))
            }
            Change::Merge(operations) => self.merged_document(at, operations, base),
            Change::Expire(_)
            | Change::Reindex
            | Change::Clear { .. }
            | Change::Trim(_)
            | Change::Configure(_)
            | Change::Remove(_) => base,
        };
        // A document may be put that has expired already.
        alive(staged, self.view.time)
    }

    /// What `operations`, which are staged, make of `base`.
    fn merged_document(
        &self,
        at: usize,
        operations: &[Merge],
        base: Option<Arc<Document>>,
    ) -> Option<Arc<Document>> {
        let (before, left) = match (self.resolved.get(at), operations.split_last()) {
            (Some(before), Some((last, _))) => (before.clone(), std::slice::from_ref(last)),
            _ => (base.clone(), operations),
        };
        left.iter().fold(before, |current, operation| {
            let of_its_own = || self.writes[at].collection.as_ref()?.default_expiry(self.view.time);
            let expires = current.as_ref().map_or_else(of_its_own, |document| document.expires);
            match operation.resolve(current.as_deref()) {
                Ok(Some(body)) => {
                    let document = self.document(MediaType::Json, body, expires, base.as_deref());
                    Some(Arc::new(document))
                }
                // Nothing to do, or it no longer fits; it fitted when it was staged.
                Ok(None) | Err(_) => current,
            }
        })
    }

    /// A document that is not committed yet, in the place of `base`.
    fn document(
        &self,
        media_type: MediaType,
        body: Bytes,
        expires: Option<Timestamp>,
        base: Option<&Document>,
    ) -> Document {
        Document {
            media_type,
            body,
            blob: None,
            version: UNCOMMITTED,
            created: base.map_or(self.view.time, |base| base.created),
            updated: self.view.time,
            expires,
        }
    }
}

/// Whether something has to be known of what `operation` makes: a unique index looks at what it can
/// change, or there is a schema.
fn is_checked(collection: &Collection, operation: &Merge) -> bool {
    if collection.is_plain() {
        return false;
    }
    let shape = collection.shape();
    if shape.settings.schema.is_some() {
        return true;
    }
    let mut unique = shape.indexes.iter().filter(|index| index.definition.unique);
    unique.any(|index| index.definition.paths.iter().any(|path| operation.may_change(&path.path)))
}

fn check_schema(
    schema: &DocumentSchema,
    collection: &Collection,
    (media_type, body): (&MediaType, &Bytes),
) -> Result<(), StageError> {
    let name = collection.name.as_str();
    match (media_type, std::str::from_utf8(body)) {
        (MediaType::Json, Ok(text)) => Ok(schema.check(name, text).map_err(Box::new)?),
        _ => Err(StageError::NotJson {
            collection: name.to_owned(),
            media_type: media_type.as_str().to_owned(),
        }),
    }
}

fn check_rows(rows: usize) -> Result<(), StageError> {
    match rows > TRANSACTION_ROWS_MAX {
        true => Err(StageError::TooManyRows),
        false => Ok(()),
    }
}

pub(super) fn check_media_type(media_type: &MediaType) -> Result<(), StageError> {
    let bytes = media_type.as_str().len();
    match bytes > MEDIA_TYPE_BYTES_MAX {
        true => Err(StageError::MediaTypeTooLong { bytes }),
        false => Ok(()),
    }
}

/// Canonical text is UTF-8.
fn check_names(body: &[u8]) -> Result<(), StageError> {
    Ok(std::str::from_utf8(body).map_or(Ok(()), json::check_names)?)
}

fn check_document_bytes(bytes: usize) -> Result<(), StageError> {
    if bytes > DOCUMENT_BYTES_MAX {
        return Err(StageError::DocumentTooLarge { bytes });
    }
    Ok(())
}

/// Adds `operation` to those staged on a document; false if the last of them took it in. A refusal
/// leaves them as they are.
fn add_merge(
    operations: &mut Vec<Merge>,
    operation: Merge,
    bytes: &mut usize,
) -> Result<bool, StageError> {
    if operations.last_mut().is_some_and(|last| last.absorb(&operation)) {
        return Ok(false);
    }
    if operations.len() >= MERGES_MAX {
        return Err(StageError::TooManyMerges);
    }
    let after = *bytes + operation.bytes();
    if after > TRANSACTION_BYTES_MAX {
        return Err(StageError::TransactionTooLarge);
    }
    *bytes = after;
    operations.push(operation);
    Ok(true)
}
