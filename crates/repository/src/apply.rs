//! The one door to committed state: live commits and recovery both come through [`apply`].

use crate::conflict::{Conflict, Place};
use crate::document::{CommitNumber, Document, MediaType, Timestamp};
use crate::hot::{Collection, Hot, Version, alive};
use crate::limits::DOCUMENT_BYTES_MAX;
use crate::name::{CollectionName, Key};
use crate::record::{Change, Write};
use crate::views::Views;
use bytes::Bytes;
use std::sync::Arc;

/// The collection of collections: one document each, with its id.
pub(crate) const COLLECTIONS: &str = "_collections";

/// Its own id; it is there from the start and describes itself.
pub(crate) const COLLECTIONS_ID: u32 = 1;

/// A document that a commit changed, and the commit that had changed it before, if memory knows.
pub(crate) struct Changed {
    pub collection: Arc<Collection>,
    pub key: Key,
    pub before: Option<CommitNumber>,
}

/// What a commit is applied to.
pub(crate) struct State<'a> {
    pub hot: &'a Hot,
    pub views: &'a Views,
}

/// Applies `writes` as commit `number` at `time`, all or nothing. `base` gives the document that a
/// write found in the engine; it counts only where memory holds no version, since then nothing
/// newer exists. Deterministic: the same commits in the same order give the same documents.
///
/// A merge operation that does not fit what is there now is a conflict with whoever put it there.
pub(crate) fn apply(
    state: &State<'_>,
    (number, time): (CommitNumber, Timestamp),
    writes: &[Write],
    base: impl Fn(usize) -> Option<Arc<Document>>,
) -> Result<Vec<Changed>, Conflict> {
    let mut resolved = Vec::with_capacity(writes.len());
    for (i, write) in writes.iter().enumerate() {
        let newest = state.hot.collection(&write.collection).and_then(|c| c.newest(&write.key));
        let (competitor, current) = match newest {
            Some(version) => (version.number, version.document),
            None => (CommitNumber(0), base(i)),
        };
        match resolve((number, time), write, alive(current, time)) {
            Ok(document) => resolved.push(document),
            Err(_) => {
                let place: Place = (write.collection.clone(), write.key.clone());
                return Err(Conflict { documents: vec![place], competitor });
            }
        }
    }
    let mut changed = Vec::with_capacity(writes.len());
    for (write, document) in writes.iter().zip(resolved) {
        let collection = match state.hot.collection(&write.collection) {
            Some(collection) => collection,
            None => create(state, (number, time), &write.collection, &mut changed),
        };
        install(state, number, (collection, write.key.clone()), document, &mut changed);
    }
    Ok(changed)
}

fn install(
    state: &State<'_>,
    number: CommitNumber,
    (collection, key): (Arc<Collection>, Key),
    document: Option<Document>,
    changed: &mut Vec<Changed>,
) {
    let version = Version { number, document: document.map(Arc::new) };
    let before = collection.install(key.clone(), version, state.views);
    changed.push(Changed { collection, key, before });
}

/// What the document becomes; `None`: it is deleted.
fn resolve(
    (number, time): (CommitNumber, Timestamp),
    write: &Write,
    current: Option<Arc<Document>>,
) -> Result<Option<Document>, String> {
    let created = current.as_ref().map_or(time, |d| d.created);
    let document = |media_type, body, expires| Document {
        media_type,
        body,
        version: number,
        created,
        updated: time,
        expires,
    };
    match &write.change {
        Change::Delete => Ok(None),
        Change::Put { media_type, body, expires } => {
            Ok(Some(document(media_type.clone(), body.clone(), *expires)))
        }
        Change::Merge(operations) => {
            let expires = current.as_ref().and_then(|d| d.expires);
            let mut merged = current;
            for operation in operations {
                let Some(body) = operation.resolve(merged.as_deref())? else { continue };
                if body.len() > DOCUMENT_BYTES_MAX {
                    return Err("the document would become too large".to_owned());
                }
                merged = Some(Arc::new(document(MediaType::Json, body, expires)));
            }
            Ok(merged.map(Arc::unwrap_or_clone))
        }
    }
}

/// Creates a collection on its first write, with the document that describes it.
fn create(
    state: &State<'_>,
    (number, time): (CommitNumber, Timestamp),
    name: &CollectionName,
    changed: &mut Vec<Changed>,
) -> Arc<Collection> {
    let id = state.hot.next_id();
    let collection = state.hot.add_collection(name, id);
    let (Ok(catalog), Ok(key)) = (CollectionName::new(COLLECTIONS), Key::new(name.as_str())) else {
        unreachable!("both names keep to the rule for names");
    };
    if let Some(catalog) = state.hot.collection(&catalog) {
        let document = Document {
            media_type: MediaType::Json,
            body: Bytes::from(format!("{{\"id\":{id}}}")),
            version: number,
            created: time,
            updated: time,
            expires: None,
        };
        install(state, number, (catalog, key), Some(document), changed);
    }
    collection
}

/// The id in a document of the collection of collections.
pub(crate) fn collection_id(document: &Document) -> Option<u32> {
    let text = std::str::from_utf8(&document.body).ok()?;
    text.strip_prefix("{\"id\":")?.strip_suffix('}')?.parse().ok()
}
