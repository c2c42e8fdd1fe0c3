//! The rows that follow from documents: of indexes, of the table of what expires when, and of the
//! table of who names which blob. They are never staged; `apply` derives them, so that they are
//! always those of the documents.

use crate::blobs::{BlobHash, BlobReference};
use crate::document::{Document, Timestamp};
use crate::hot::{Collection, Hot, Index};
use crate::index::{self, IndexError};
use crate::name::Key;
use crate::range::KeyRange;
use bytes::Bytes;
use std::ops::Bound;
use std::sync::Arc;

/// Digits of a time and of a collection's id in a row of the table of what expires.
const TIME_DIGITS: usize = 16;
const ID_DIGITS: usize = 8;

/// Digits of a hash in a row of the table of blobs.
const HASH_DIGITS: usize = 64;

/// What a row of the table of what expires says of a document whose content is a blob: then there
/// is another row that goes with it.
const HAS_BLOB: &[u8] = b"b";

/// A row that appears or goes.
pub(crate) struct RowChange {
    pub is_added: bool,
    /// One like it may be there, in whose place it comes.
    pub may_be_there: bool,
    of: Of,
}

enum Of {
    /// The document expires then, and whether its content is a blob.
    Expiry(Timestamp, bool),
    /// The document names the blob.
    Blob(BlobReference),
    /// A row of an index.
    Index(Arc<Collection>, Key),
    /// A row of a history, with what it holds.
    Version(Arc<Collection>, Key, Option<Arc<Document>>),
    /// The row of the history with this id expires then, and whether its content is a blob.
    VersionExpiry(u32, Key, Timestamp, bool),
    /// The row of the history with this id names the blob.
    VersionBlob(u32, Key, BlobReference),
}

impl RowChange {
    /// A document that expired then goes, and has no other rows.
    pub(crate) fn expired(at: Timestamp) -> Self {
        Self { is_added: false, may_be_there: false, of: Of::Expiry(at, false) }
    }

    /// What the row holds beside its key.
    pub(crate) fn body(&self) -> Bytes {
        match &self.of {
            Of::Expiry(_, true) | Of::VersionExpiry(.., true) => Bytes::from_static(HAS_BLOB),
            Of::Blob(blob) | Of::VersionBlob(.., blob) => {
                Bytes::copy_from_slice(&blob.length.to_le_bytes())
            }
            Of::Expiry(..) | Of::Index(..) | Of::Version(..) | Of::VersionExpiry(..) => {
                Bytes::new()
            }
        }
    }

    /// The blob that has one name less.
    pub(crate) fn loses(&self) -> Option<BlobHash> {
        match &self.of {
            Of::Blob(blob) | Of::VersionBlob(.., blob) if !self.is_added => Some(blob.hash),
            _ => None,
        }
    }

    /// A row of a history with this content, or none any more.
    pub(crate) fn version(rows: Arc<Collection>, row: Key, content: Option<Document>) -> Self {
        let of = Of::Version(rows, row, content.map(Arc::new));
        Self { is_added: matches!(of, Of::Version(_, _, Some(_))), may_be_there: false, of }
    }

    /// The same, whether or not there is one already.
    pub(crate) fn floor(rows: Arc<Collection>, row: Key, content: Document) -> Self {
        Self { may_be_there: true, ..Self::version(rows, row, Some(content)) }
    }

    /// When a row of a history expires, if it does.
    pub(crate) fn version_expiry(
        rows: &Collection,
        row: &Key,
        content: &Document,
        is_added: bool,
    ) -> Option<Self> {
        let at = row_time(content)?;
        Some(Self {
            is_added,
            may_be_there: false,
            of: Of::VersionExpiry(rows.id, row.clone(), at, content.blob.is_some()),
        })
    }

    /// A row of a history that expired then goes.
    pub(crate) fn version_expired(rows: &Collection, row: &Key, at: Timestamp) -> Self {
        Self {
            is_added: false,
            may_be_there: false,
            of: Of::VersionExpiry(rows.id, row.clone(), at, false),
        }
    }

    /// A row of a history names a blob, or does no more.
    pub(crate) fn version_blob(
        rows: &Collection,
        row: &Key,
        blob: BlobReference,
        is_added: bool,
    ) -> Self {
        let of = Of::VersionBlob(rows.id, row.clone(), blob);
        Self { is_added, may_be_there: false, of }
    }

    /// What the row holds, which is nothing for most: `empty` then. `None`: it goes.
    pub(crate) fn content(&self, empty: impl FnOnce() -> Document) -> Option<Arc<Document>> {
        match &self.of {
            Of::Version(_, _, content) => content.clone(),
            _ => self.is_added.then(|| Arc::new(empty())),
        }
    }

    /// Where the row belongs and its key; `collection` has the document `key`.
    pub(crate) fn place(
        self,
        hot: &Hot,
        collection: &Collection,
        key: &Key,
    ) -> (Arc<Collection>, Key) {
        match self.of {
            Of::Index(rows, row) | Of::Version(rows, row, _) => (rows, row),
            Of::VersionExpiry(id, row, at, _) => {
                (Arc::clone(&hot.expiry), expiry_row(at, id, &row))
            }
            Of::VersionBlob(id, row, blob) => {
                (Arc::clone(&hot.blobs), blob_row(&blob.hash, id, &row))
            }
            Of::Blob(blob) => {
                let table = match collection.is_volatile {
                    true => &hot.volatile_blobs,
                    false => &hot.blobs,
                };
                (Arc::clone(table), blob_row(&blob.hash, collection.id, key))
            }
            Of::Expiry(at, _) => {
                (Arc::clone(expiry(hot, collection)), expiry_row(at, collection.id, key))
            }
        }
    }
}

/// The time of a document's row in the table of what expires: never before the commit that put it
/// there, so that whoever has passed a time need not look before it again.
pub(crate) fn row_time(document: &Document) -> Option<Timestamp> {
    document.expires.map(|at| at.max(document.updated))
}

/// The table of what expires in collections like this one.
pub(crate) fn expiry<'a>(hot: &'a Hot, collection: &Collection) -> &'a Arc<Collection> {
    if collection.is_volatile { &hot.volatile_expiry } else { &hot.expiry }
}

/// A row of the table of what expires: first by time.
pub(crate) fn expiry_row(at: Timestamp, id: u32, key: &Key) -> Key {
    Key::generated(format!("{:016x}{id:08x}{key}", at.0))
}

/// The time, the collection's id and the key of a row of the table of what expires.
pub(crate) fn split_expiry_row(row: &str) -> Option<(Timestamp, u32, &str)> {
    let (time, rest) = row.split_at_checked(TIME_DIGITS)?;
    let (id, key) = rest.split_at_checked(ID_DIGITS)?;
    let time = u64::from_str_radix(time, 16).ok()?;
    Some((Timestamp(time), u32::from_str_radix(id, 16).ok()?, key))
}

/// Whether a row of the table of what expires is that of a document whose content is a blob.
pub(crate) fn has_blob(row: &Document) -> bool {
    !row.body.is_empty()
}

/// A row of the table of blobs: first by hash.
fn blob_row(hash: &BlobHash, id: u32, key: &Key) -> Key {
    Key::generated(format!("{hash}{id:08x}{key}"))
}

/// The rows of a blob, as a range.
pub(crate) fn blob_rows(hash: &BlobHash) -> KeyRange {
    let from = Bound::Included(Key::generated(hash.to_string()));
    KeyRange::new(from, Bound::Excluded(blob_rows_end(hash)))
}

/// What comes after all rows of a blob, and before those of the next.
pub(crate) fn blob_rows_end(hash: &BlobHash) -> Key {
    Key::generated(format!("{hash}g"))
}

/// The blob that a row of the table of blobs is of.
pub(crate) fn split_blob_row(row: &str, document: &Document) -> Option<BlobReference> {
    let hash = BlobHash::parse(row.get(..HASH_DIGITS)?)?;
    let length = u64::from_le_bytes(document.body.as_ref().try_into().ok()?);
    Some(BlobReference { hash, length })
}

/// The collection's id and the key of the document by which a row of the table of blobs is.
pub(crate) fn named_by(row: &str) -> Option<(u32, &str)> {
    let (id, key) = row.get(HASH_DIGITS..)?.split_at_checked(ID_DIGITS)?;
    Some((u32::from_str_radix(id, 16).ok()?, key))
}

/// Whether all rows of the JSON text `merged` in unique indexes are rows of one of `sides`, which
/// were found to be unique.
pub(crate) fn are_checked(collection: &Collection, merged: &str, sides: [&str; 2]) -> bool {
    let shape = collection.shape();
    let mut unique = shape.indexes.iter().filter(|index| index.definition.unique);
    unique.all(|index| {
        let of = |text| index::text_values(&index.definition, text).unwrap_or_default();
        let checked = sides.map(of);
        of(merged).iter().all(|row| checked.iter().any(|rows| rows.contains(row)))
    })
}

/// Every row that a document has, and why it cannot have those of an index that is ready. One
/// that is being built may meet documents that do not fit it.
pub(crate) fn of_document(
    collection: &Collection,
    key: &Key,
    document: &Document,
) -> (Vec<RowChange>, Option<IndexError>) {
    let mut rows = own_changes(None, Some(document));
    let mut unfit = None;
    for index in &collection.shape().indexes {
        match index::values(&index.definition, document) {
            Ok(values) => push(index, key, &mut rows, (&values, &[]), true),
            Err(error) if index.is_ready() => unfit = Some(error),
            Err(_) => {}
        }
    }
    (rows, unfit)
}

/// The rows that change when `before` becomes `after`. With `again`, all rows of `after` in
/// indexes that are being built. A document that was there before an index, and does not fit it,
/// has no rows in it; no other may come.
pub(crate) fn changes(
    collection: &Collection,
    key: &Key,
    (before, after, again): (Option<&Document>, Option<&Document>, bool),
) -> Result<Vec<RowChange>, IndexError> {
    let mut rows = own_changes(before, after);
    if collection.is_plain() {
        return Ok(rows);
    }
    let shape = collection.shape();
    for index in &shape.indexes {
        let of = |document: Option<&Document>| match document {
            Some(document) => index::values(&index.definition, document),
            None => Ok(Vec::new()),
        };
        let (old, new) = match again {
            true if index.is_ready() => continue,
            true => (Vec::new(), of(after).unwrap_or_default()),
            false => (of(before).unwrap_or_default(), of(after)?),
        };
        push(index, key, &mut rows, (&old, &new), false);
        push(index, key, &mut rows, (&new, &old), true);
    }
    Ok(rows)
}

/// Pushes those of `values` that are not in `others`; both are sorted.
fn push(
    index: &Index,
    key: &Key,
    rows: &mut Vec<RowChange>,
    (values, others): (&[String], &[String]),
    is_added: bool,
) {
    for values in values.iter().filter(|values| others.binary_search(values).is_err()) {
        let row = Key::generated(index::row_key(values, key.as_str()));
        let of = Of::Index(Arc::clone(&index.rows), row);
        rows.push(RowChange { is_added, may_be_there: false, of });
    }
}

/// The rows that change when `before` becomes `after` and that every document has, whatever indexes
/// its collection has.
pub(crate) fn own_changes(before: Option<&Document>, after: Option<&Document>) -> Vec<RowChange> {
    let mut rows = expiry_changes(before, after);
    rows.extend(blob_changes(before, after));
    rows
}

/// The rows in the table of what expires that change when `before` becomes `after`.
fn expiry_changes(before: Option<&Document>, after: Option<&Document>) -> Vec<RowChange> {
    let is_blob = |document: Option<&Document>| document.is_some_and(|d| d.blob.is_some());
    let (old, new) = (before.and_then(row_time), after.and_then(row_time));
    let row = |at, is_added, may_be_there| {
        let of = Of::Expiry(at, is_added && is_blob(after));
        RowChange { is_added, may_be_there, of }
    };
    match (old, new) {
        (old, Some(at)) if old == new && is_blob(before) != is_blob(after) => {
            vec![row(at, true, true)]
        }
        _ if old == new => Vec::new(),
        _ => {
            let old = old.map(|at| row(at, false, false));
            old.into_iter().chain(new.map(|at| row(at, true, false))).collect()
        }
    }
}

/// The rows in the table of blobs that change when `before` becomes `after`, which are placed by
/// the collection and key of what names the blob.
pub(crate) fn blob_changes(
    before: Option<&Document>,
    after: Option<&Document>,
) -> impl Iterator<Item = RowChange> + use<> {
    let of = |document: Option<&Document>| document.and_then(|document| document.blob);
    let (old, new) = (of(before), of(after));
    let row = |blob, is_added| RowChange { is_added, may_be_there: false, of: Of::Blob(blob) };
    let old_row = old.filter(|_| old != new).map(|blob| row(blob, false));
    let new_row = new.filter(|_| old != new).map(|blob| row(blob, true));
    old_row.into_iter().chain(new_row)
}

/// The removal of `rows` of the index with this id.
pub(crate) fn cleared(hot: &Hot, index: u32, rows: &[Key]) -> Vec<RowChange> {
    let Some(of) = hot.rows_by_id(index) else { return Vec::new() };
    let row = |row: &Key| {
        let of = Of::Index(Arc::clone(&of), row.clone());
        RowChange { is_added: false, may_be_there: false, of }
    };
    rows.iter().map(row).collect()
}
