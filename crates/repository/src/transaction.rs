//! A transaction: reads on one view, and writes that are staged until it commits.

use crate::conflict::{Conflict, Place};
use crate::document::{CommitNumber, Document, MediaType, Timestamp};
use crate::errors::{CommitError, ReadError, StageError};
use crate::limits::{
    DOCUMENT_BYTES_MAX, MEDIA_TYPE_BYTES_MAX, MERGE_PATH_BYTES_MAX, MERGES_MAX,
    TRANSACTION_BYTES_MAX, TRANSACTION_READS_MAX, TRANSACTION_WRITES_MAX,
};
use crate::merge::Merge;
use crate::name::{CollectionName, Key};
use crate::record::{Change, Write};
use crate::store::{Decision, Proposal, Store};
use crate::views::View;
use bytes::Bytes;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The version of a document that is staged and not committed yet.
const UNCOMMITTED: CommitNumber = CommitNumber(0);

/// One transaction on one view. Dropping it without `commit` discards its writes.
pub struct Transaction {
    store: Arc<Store>,
    view: View,
    /// What must still be as the view saw it when the transaction commits.
    reads: Vec<Place>,
    /// What the last of `reads` gave: mostly it is written next.
    last_read: Option<Arc<Document>>,
    writes: Vec<Write>,
    /// Per write: what the view sees there.
    bases: Vec<Option<Arc<Document>>>,
    /// Where in `writes` a document is.
    staged: FxHashMap<Place, usize>,
    /// At most the bytes of `writes` in a record.
    bytes: usize,
}

/// How a commit ended.
#[derive(Debug)]
pub enum Outcome {
    /// Committed under this number. A reply may leave when `durable >= number`.
    Committed(CommitNumber),
    /// There was nothing to write. A reply may leave when `durable >=` this number, the view's.
    Unchanged(CommitNumber),
    /// Something that was read has changed since the view. Nothing was committed.
    Conflict(Conflict),
    /// A transaction in the serial lane touches the same documents. Nothing was committed; the
    /// caller may try again on a fresh view.
    HeldBack,
}

impl Transaction {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        let view = store.views.open((store.clock)());
        Self {
            store,
            view,
            reads: Vec::new(),
            last_read: None,
            writes: Vec::new(),
            bases: Vec::new(),
            staged: FxHashMap::default(),
            bytes: 0,
        }
    }

    /// The number of the view: the last commit it sees.
    pub fn view(&self) -> CommitNumber {
        self.view.number
    }

    /// The time of the view.
    pub fn time(&self) -> Timestamp {
        self.view.time
    }

    /// Reads a document, own staged writes included, and notes the read: the transaction commits
    /// only if nobody has changed the document since its view.
    pub fn get(
        &mut self,
        collection: &CollectionName,
        key: &Key,
    ) -> Result<Option<Arc<Document>>, ReadError> {
        let place = (collection.clone(), key.clone());
        if let Some(&at) = self.staged.get(&place) {
            if matches!(self.writes[at].change, Change::Merge(_)) {
                self.note(place)?;
            }
            return Ok(self.staged_document(at));
        }
        let document = self.store.read(&self.view, collection, key)?;
        self.note(place)?;
        self.last_read.clone_from(&document);
        Ok(document)
    }

    /// Reads a document, own staged writes included, without noting the read: it may be older
    /// than the commit. For showing what everybody changes all the time, such as a tally.
    pub fn peek(
        &self,
        collection: &CollectionName,
        key: &Key,
    ) -> Result<Option<Arc<Document>>, ReadError> {
        match self.staged.get(&(collection.clone(), key.clone())) {
            Some(&at) => Ok(self.staged_document(at)),
            None => self.store.read(&self.view, collection, key),
        }
    }

    fn note(&mut self, place: Place) -> Result<(), ReadError> {
        if self.reads.len() >= TRANSACTION_READS_MAX {
            return Err(ReadError::TooManyReads);
        }
        self.reads.push(place);
        Ok(())
    }

    /// Stages a document, whatever is there now. `expires` replaces an earlier expiry.
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
        let media_type_bytes = media_type.as_str().len();
        if media_type_bytes > MEDIA_TYPE_BYTES_MAX {
            return Err(StageError::MediaTypeTooLong { bytes: media_type_bytes });
        }
        let change = Change::Put { media_type, body, expires };
        self.stage(collection, key, change)
    }

    /// Stages a deletion; deleting what is not there is nothing.
    pub fn delete(&mut self, collection: &CollectionName, key: &Key) -> Result<(), StageError> {
        self.stage(collection, key, Change::Delete)
    }

    /// Stages a merge operation. It must fit what the view sees; should it not fit what is there
    /// when the transaction commits, that is a conflict.
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
        let place = (collection.clone(), key.clone());
        let refused = |why| {
            let (collection, key) = (collection.to_string(), key.to_string());
            StageError::Merge { operation: operation.name(), collection, key, why }
        };
        operation.check().map_err(refused)?;
        let current = self.peek(collection, key)?;
        let merged = match operation.resolve(current.as_deref()) {
            Ok(merged) => merged,
            Err(why) => {
                // The refusal tells what is there, so it is a read like any other.
                self.note(place)?;
                return Err(refused(why));
            }
        };
        check_document_bytes(merged.as_ref().map_or(0, Bytes::len))?;
        let Some(&at) = self.staged.get(&place) else {
            return self.stage(collection, key, Change::Merge(vec![operation]));
        };
        let change = match (&mut self.writes[at].change, merged) {
            (Change::Merge(operations), _) => {
                return add_merge(operations, operation, &mut self.bytes);
            }
            // Own writes before it: the result is known.
            (_, None) => return Ok(()),
            (Change::Put { media_type, expires, .. }, Some(body)) => {
                Change::Put { media_type: media_type.clone(), body, expires: *expires }
            }
            (Change::Delete, Some(body)) => {
                Change::Put { media_type: MediaType::Json, body, expires: None }
            }
        };
        self.stage(collection, key, change)
    }

    fn stage(
        &mut self,
        collection: &CollectionName,
        key: &Key,
        change: Change,
    ) -> Result<(), StageError> {
        let place = (collection.clone(), key.clone());
        let staged = self.staged.get(&place).copied();
        let before = staged.map_or(0, |at| write_bytes(&place, &self.writes[at].change));
        let bytes = self.bytes - before + write_bytes(&place, &change);
        if bytes > TRANSACTION_BYTES_MAX {
            return Err(StageError::TransactionTooLarge);
        }
        if let Some(at) = staged {
            self.writes[at].change = change;
            self.bytes = bytes;
            return Ok(());
        }
        if self.writes.len() >= TRANSACTION_WRITES_MAX {
            return Err(StageError::TooManyWrites);
        }
        // What apply needs of the present document is fetched here, outside of the commit.
        let base = match self.reads.last() {
            Some(last) if *last == place => self.last_read.clone(),
            _ => self.store.read(&self.view, collection, key)?,
        };
        self.bytes = bytes;
        self.staged.insert(place, self.writes.len());
        self.writes.push(Write { collection: collection.clone(), key: key.clone(), change });
        self.bases.push(base);
        Ok(())
    }

    /// What a staged write makes of the document, as far as the view knows.
    fn staged_document(&self, at: usize) -> Option<Arc<Document>> {
        let base = self.bases[at].as_ref();
        let created = base.map_or(self.view.time, |d| d.created);
        let document = |media_type: &MediaType, body: &Bytes, expires| Document {
            media_type: media_type.clone(),
            body: body.clone(),
            version: UNCOMMITTED,
            created,
            updated: self.view.time,
            expires,
        };
        match &self.writes[at].change {
            Change::Delete => None,
            Change::Put { media_type, body, expires } => {
                Some(Arc::new(document(media_type, body, *expires)))
            }
            Change::Merge(operations) => operations.iter().fold(base.cloned(), |current, op| {
                let expires = current.as_ref().and_then(|d| d.expires);
                match op.resolve(current.as_deref()) {
                    Ok(Some(body)) => Some(Arc::new(document(&MediaType::Json, &body, expires))),
                    // It fitted when it was staged, on the same view.
                    Ok(None) | Err(_) => current,
                }
            }),
        }
    }

    /// Whether nothing is staged.
    pub fn is_unchanged(&self) -> bool {
        self.writes.is_empty()
    }

    /// Decides. Never blocks on the disk.
    pub fn commit(self) -> Result<Outcome, CommitError> {
        self.decide(false)
    }

    /// As `commit`; `in_lane` says that the caller is in the serial lane.
    pub(crate) fn decide(&self, in_lane: bool) -> Result<Outcome, CommitError> {
        if self.is_unchanged() {
            return Ok(Outcome::Unchanged(self.view.number));
        }
        let proposal = Proposal {
            view: &self.view,
            reads: &self.reads,
            writes: &self.writes,
            bases: &self.bases,
            in_lane,
        };
        Ok(match self.store.commit(&proposal)? {
            Decision::Committed(number) => Outcome::Committed(number),
            Decision::Conflict(conflict) => Outcome::Conflict(conflict),
            Decision::HeldBack => Outcome::HeldBack,
        })
    }

    /// Every document that the transaction read or wrote.
    pub(crate) fn footprint(&self) -> impl Iterator<Item = Place> {
        let writes = self.writes.iter().map(|w| (w.collection.clone(), w.key.clone()));
        self.reads.iter().cloned().chain(writes)
    }
}

/// At most the bytes that a write takes in a record beside its names, body and merge operations.
const WRITE_OVERHEAD_BYTES: usize = 32 + MEDIA_TYPE_BYTES_MAX;

/// At most the bytes that a write takes in a record.
fn write_bytes((collection, key): &Place, change: &Change) -> usize {
    let content = match change {
        Change::Put { body, .. } => body.len(),
        Change::Delete => 0,
        Change::Merge(operations) => operations.iter().map(Merge::bytes).sum(),
    };
    WRITE_OVERHEAD_BYTES + collection.as_str().len() + key.as_str().len() + content
}

fn check_document_bytes(bytes: usize) -> Result<(), StageError> {
    if bytes > DOCUMENT_BYTES_MAX {
        return Err(StageError::DocumentTooLarge { bytes });
    }
    Ok(())
}

/// Adds `operation` to those staged on a document. A refusal leaves them as they are.
fn add_merge(
    operations: &mut Vec<Merge>,
    operation: Merge,
    bytes: &mut usize,
) -> Result<(), StageError> {
    if operations.last_mut().is_some_and(|last| last.absorb(&operation)) {
        return Ok(());
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
    Ok(())
}
