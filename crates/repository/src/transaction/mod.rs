//! A transaction: reads on one view, and writes that are staged until it commits.

mod blobs;
mod collections;
mod outcome;
mod range;
mod resolved;
mod stage;

pub use collections::{CollectionEntry, KnownIndex};
pub use outcome::{Duplicate, Outcome};
pub use range::{IndexEntry, IndexPlace, IndexRead};

use crate::apply::Staged;
use crate::blobs::PinnedBlob;
use crate::conflict::{Place, Read};
use crate::document::{CommitNumber, Document, Timestamp};
use crate::durability::Durability;
use crate::errors::ReadError;
use crate::hot::{Collection, alive};
use crate::limits::{TRANSACTION_RANGES_MAX, TRANSACTION_READ_BYTES_MAX, TRANSACTION_READS_MAX};
use crate::name::{CollectionName, Key};
use crate::record::Change;
use crate::seeded::SeededMap;
use crate::store::{Found, Store};
use crate::views::View;
use resolved::Resolved;
use std::sync::Arc;

/// With more writes than these, a staged one is found by hash instead of by looking at all.
const WRITES_LOOKED_AT: usize = 8;

/// What must be as the view saw it when the transaction commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Everything that was read, ranges included.
    #[default]
    Serializable,
    /// The documents that are written (snapshot isolation; write skew is possible).
    Snapshot,
}

/// What a transaction has read and staged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Documents that were read, and keys at which there was none; what is read twice counts twice.
    pub documents_read: usize,
    /// The bytes of these documents.
    pub bytes_read: usize,
    /// Documents for which something is staged.
    pub documents_written: usize,
    /// At most the bytes that it takes in a record.
    pub bytes_written: usize,
}

/// One transaction on one view. Dropping it without `commit` discards its writes.
pub struct Transaction {
    store: Arc<Store>,
    view: View,
    isolation: Isolation,
    /// The collections that were asked for, if they were there.
    collections: Vec<(CollectionName, Option<Arc<Collection>>)>,
    /// What must still be as the view saw it when the transaction commits.
    reads: Vec<Read>,
    /// How many of them are ranges that were asked for.
    ranges: usize,
    /// What the last document that was read gave: mostly it is written next.
    last_read: Option<(CollectionName, Key, Found)>,
    writes: Vec<Staged>,
    /// Where in `writes` a document is, once there are many.
    staged: SeededMap<Place, usize>,
    /// At most the bytes of `writes` in a record.
    bytes: usize,
    /// What merge operations come to before the last of those staged on a document.
    resolved: Resolved,
    /// The rows in indexes of `writes`, and of what is in their place.
    rows: usize,
    /// A collection that is to end.
    ends: Option<CollectionName>,
    /// The documents that were read.
    read_size: ReadSize,
    /// What is staged and must stay until it is committed.
    pins: Vec<PinnedBlob>,
    /// The document that was read and is the first of those to expire.
    first_to_expire: Option<(Timestamp, Place)>,
}

impl Transaction {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        let view = store.views.open((store.clock)());
        Self {
            store,
            view,
            isolation: Isolation::default(),
            collections: Vec::new(),
            reads: Vec::new(),
            ranges: 0,
            last_read: None,
            writes: Vec::new(),
            staged: SeededMap::default(),
            bytes: 0,
            resolved: Resolved::default(),
            rows: 0,
            ends: None,
            read_size: ReadSize::default(),
            pins: Vec::new(),
            first_to_expire: None,
        }
    }

    /// Chooses what is checked when the transaction commits. To be called before the first read:
    /// what was read until now is checked in any case, or not at all.
    pub fn set_isolation(&mut self, isolation: Isolation) {
        self.isolation = isolation;
    }

    /// The number of the view: the last commit it sees.
    pub fn view(&self) -> CommitNumber {
        self.view.number
    }

    /// How much was done so far: documents and ranges that were read and noted, and documents that
    /// are staged.
    pub fn work(&self) -> (usize, usize) {
        (self.reads.len(), self.writes.len())
    }

    /// The time of the view.
    pub fn time(&self) -> Timestamp {
        self.view.time
    }

    /// What a reply to the commit of what is staged now will mean: the strongest durability of the
    /// collections that are written.
    pub fn durability(&self) -> Durability {
        let of = |staged: &Staged| match &staged.collection {
            Some(collection) => collection.durability(),
            None => Durability::default(),
        };
        self.writes.iter().map(of).max().unwrap_or_default()
    }

    /// Reads a document, own staged writes included, and notes the read: the transaction commits
    /// only if nobody has changed the document since its view.
    pub fn get(
        &mut self,
        collection: &CollectionName,
        key: &Key,
    ) -> Result<Option<Arc<Document>>, ReadError> {
        if let Some(at) = self.find_staged(collection, key) {
            if matches!(self.writes[at].write.change, Change::Merge(_)) {
                self.read(collection, key)?;
            }
            return Ok(self.staged_document(at));
        }
        let found = self.read(collection, key)?;
        let document = found.1.clone();
        self.last_read = Some((collection.clone(), key.clone(), found));
        Ok(alive(document, self.view.time))
    }

    /// The document at `key` if it has expired and is still there, so that nobody else sees it. As
    /// `get` it notes the read. None where something is staged.
    pub fn expired(
        &mut self,
        collection: &CollectionName,
        key: &Key,
    ) -> Result<Option<Arc<Document>>, ReadError> {
        if self.find_staged(collection, key).is_some() {
            return Ok(None);
        }
        let found = self.read(collection, key)?;
        let document = found.1.clone();
        self.last_read = Some((collection.clone(), key.clone(), found));
        let time = self.view.time;
        Ok(document.filter(|document| document.expires.is_some_and(|at| at <= time)))
    }

    /// Reads a document, own staged writes included, without noting the read: it may be older
    /// than the commit. For showing what everybody changes all the time, such as a tally.
    pub fn peek(
        &self,
        collection: &CollectionName,
        key: &Key,
    ) -> Result<Option<Arc<Document>>, ReadError> {
        if let Some(at) = self.find_staged(collection, key) {
            return Ok(self.staged_document(at));
        }
        let collection = self.store.hot.collection_at(collection, self.view.number);
        let Some(collection) = collection else { return Ok(None) };
        let (_, document) = self.store.find(&self.view, &collection, key)?;
        Ok(alive(document, self.view.time))
    }

    /// As `peek`, for what is written next.
    fn look(
        &mut self,
        collection: &CollectionName,
        key: &Key,
    ) -> Result<Option<Arc<Document>>, ReadError> {
        if let Some(at) = self.find_staged(collection, key) {
            return Ok(self.staged_document(at));
        }
        let at = self.known(collection);
        let Some(known) = &self.collections[at].1 else { return Ok(None) };
        let found = self.store.find(&self.view, known, key)?;
        self.count_bytes(&found)?;
        let document = found.1.clone();
        self.last_read = Some((collection.clone(), key.clone(), found));
        Ok(alive(document, self.view.time))
    }

    /// What the view has, expired or not, for what is staged next and bounded otherwise.
    pub(crate) fn present(
        &mut self,
        collection: &Arc<Collection>,
        key: &Key,
    ) -> Result<Option<Arc<Document>>, ReadError> {
        let found = self.store.find(&self.view, collection, key)?;
        let document = found.1.clone();
        self.last_read = Some((collection.name.clone(), key.clone(), found));
        Ok(document)
    }

    /// Reads what the view has, and notes it.
    fn read(&mut self, collection: &CollectionName, key: &Key) -> Result<Found, ReadError> {
        let at = self.known(collection);
        let found = match &self.collections[at].1 {
            Some(collection) => self.store.find(&self.view, collection, key)?,
            None => (None, None),
        };
        self.count_bytes(&found)?;
        if self.isolation == Isolation::Serializable {
            self.note(match &found.0 {
                Some(cell) => Read::Document(Arc::clone(cell)),
                None => Read::Missing(collection.clone(), key.clone()),
            })?;
            if let Some(document) = &found.1 {
                self.note_expiry(collection, key, document);
            }
        }
        Ok(found)
    }

    /// Counts what was read; a refusal leaves the count as it is.
    pub(crate) fn count_bytes(&mut self, found: &Found) -> Result<(), ReadError> {
        self.read_size.count(found.1.as_deref())
    }

    /// What was read and has not expired must not have when the transaction commits: others may
    /// have seen that it is gone.
    fn note_expiry(&mut self, collection: &CollectionName, key: &Key, document: &Document) {
        let Some(at) = document.expires.filter(|at| *at > self.view.time) else { return };
        if self.first_to_expire.as_ref().is_none_or(|(first, _)| at < *first) {
            self.first_to_expire = Some((at, (collection.clone(), key.clone())));
        }
    }

    /// As `note`, for a range that was asked for.
    fn note_range(&mut self, read: Read) -> Result<(), ReadError> {
        if self.ranges >= TRANSACTION_RANGES_MAX {
            return Err(ReadError::TooManyReads);
        }
        self.note(read)?;
        self.ranges += 1;
        Ok(())
    }

    fn note(&mut self, read: Read) -> Result<(), ReadError> {
        if self.reads.len() >= TRANSACTION_READS_MAX {
            return Err(ReadError::TooManyReads);
        }
        self.reads.push(read);
        Ok(())
    }

    /// The collection, if it was there when it was asked for first.
    pub(crate) fn collection_of(&mut self, name: &CollectionName) -> Option<Arc<Collection>> {
        let at = self.known(name);
        self.collections[at].1.clone()
    }

    /// What it reads from.
    pub(crate) fn ground(&self) -> (&Arc<Store>, &View) {
        (&self.store, &self.view)
    }

    /// Where in `collections` this one is. One that was not there at first stays so.
    fn known(&mut self, name: &CollectionName) -> usize {
        if let Some(at) = self.collections.iter().position(|(known, _)| known == name) {
            return at;
        }
        let collection = self.store.hot.collection_at(name, self.view.number);
        self.collections.push((name.clone(), collection));
        self.collections.len() - 1
    }

    fn find_staged(&self, collection: &CollectionName, key: &Key) -> Option<usize> {
        if self.writes.len() > WRITES_LOOKED_AT {
            return self.staged.get(&(collection.clone(), key.clone())).copied();
        }
        let is_it =
            |staged: &Staged| staged.write.key == *key && staged.write.collection == *collection;
        self.writes.iter().position(is_it)
    }

    fn push_staged(&mut self, staged: Staged) {
        self.writes.push(staged);
        if self.writes.len() <= WRITES_LOOKED_AT {
            return;
        }
        for at in self.staged.len()..self.writes.len() {
            self.staged.insert(self.writes[at].place(), at);
        }
    }

    /// What it has read and staged until now.
    pub fn usage(&self) -> Usage {
        Usage {
            documents_read: self.read_size.documents,
            bytes_read: self.read_size.bytes,
            documents_written: self.writes.len(),
            bytes_written: self.bytes,
        }
    }

    /// Whether nothing is staged.
    pub fn is_unchanged(&self) -> bool {
        self.writes.is_empty()
    }

    /// Every document that the transaction read or wrote; `None` if it read ranges, which cannot
    /// be told document by document.
    pub(crate) fn footprint(&self) -> Option<Vec<Place>> {
        let mut places: Vec<Place> = self.writes.iter().map(Staged::place).collect();
        for read in &self.reads {
            places.push(match read {
                Read::Document(cell) => (self.store.hot.name(cell.collection)?, cell.key.clone()),
                Read::Missing(collection, key) => (collection.clone(), key.clone()),
                Read::Range(..) | Read::MissingRange(..) => return None,
            });
        }
        Some(places)
    }
}

/// The documents that a transaction has read: by key, where nothing is counts too, in ranges, and
/// in the place of what it stages.
#[derive(Clone, Copy, Debug, Default)]
struct ReadSize {
    documents: usize,
    bytes: usize,
}

impl ReadSize {
    /// Counts a document; a refusal leaves the count as it is.
    fn count(&mut self, document: Option<&Document>) -> Result<(), ReadError> {
        let bytes = self.bytes + document.map_or(0, |document| document.body.len());
        if bytes > TRANSACTION_READ_BYTES_MAX {
            return Err(ReadError::TooManyBytes);
        }
        self.bytes = bytes;
        self.documents += 1;
        Ok(())
    }
}
