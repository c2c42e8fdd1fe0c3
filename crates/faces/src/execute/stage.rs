//! What each operation on one document does in its transaction.

use super::refusal::Refusal;
use super::work::Work;
use super::{Thread, collections, past, patch, transact};
use crate::acceptable::Acceptable;
use crate::limits::INLINE_JSON_BYTES_MAX;
use crate::operation::Written;
use crate::operation::{Content, Granted, NewKey, Operation, Outcome, Place, Returns, Version};
use crate::preconditions::{Preconditions, Verdict};
use query::Budget;
use repository::{CollectionName, Document, Key, Overwrite, StageError, Transaction};
use std::sync::Arc;

/// Performs `operation`, whose conditions it checks.
pub(super) fn stage(
    operation: &Operation,
    tx: &mut Transaction,
    thread: Thread,
) -> Result<Outcome, Refusal> {
    match operation {
        Operation::Transact(list) => transact::stage(list, tx, thread),
        Operation::Query(query) => {
            let budget = if thread.is_reactor { Budget::INLINE } else { Budget::FULL };
            Ok(Outcome::Page(query::run(tx, query, budget)?))
        }
        Operation::ListCollections(_)
        | Operation::DescribeCollection(_)
        | Operation::GetSettings { .. }
        | Operation::End { .. }
        | Operation::Configure { .. } => collections::stage(operation, tx, &Work::new(thread)),
        // Names are not nested.
        Operation::Once(once) => stage(&once.operation, tx, thread),
        _ => {
            check_create(operation)?;
            step(operation, tx, Mode { work: &Work::new(thread), is_listed: false })
        }
    }
}

/// The collection itself has no representation that a condition could be about.
pub(super) fn check_create(operation: &Operation) -> Result<(), Refusal> {
    match operation {
        Operation::Create { preconditions, .. }
            if preconditions.for_write(None) == Verdict::Failed =>
        {
            Err(Refusal::PreconditionFailed { current: None })
        }
        _ => Ok(()),
    }
}

/// How a step runs.
#[derive(Clone, Copy)]
pub(super) struct Mode<'a> {
    /// What it may cost.
    pub work: &'a Work,
    /// It is one of a list: its conditions hold, which was found out before the first of them.
    pub is_listed: bool,
}

/// Performs one operation on one document.
pub(super) fn step(
    operation: &Operation,
    tx: &mut Transaction,
    mode: Mode<'_>,
) -> Result<Outcome, Refusal> {
    match operation {
        Operation::Get { place, preconditions, acceptable } => {
            let found = get(found(tx, place, acceptable.as_deref())?, preconditions, mode)?;
            with_blob(tx, found, mode)
        }
        Operation::Past { place, at, preconditions, acceptable } => {
            let found = past::found(tx, place, *at, acceptable.as_deref())?;
            with_blob(tx, get(found, preconditions, mode)?, mode)
        }
        Operation::Versions { place, before, limit } => {
            Ok(Outcome::Page(past::versions(tx, place, *before, *limit)?))
        }
        Operation::Restore { place, from, preconditions, returns } => {
            let put = past::restored(tx, place, *from, (preconditions, *returns))?;
            step(&put, tx, mode)
        }
        Operation::Put { place, content, preconditions, returns } => {
            let current = tx.get(&place.collection, &place.key)?;
            check(tx, place, (current.as_deref(), preconditions), mode)?;
            check_thread(tx, &place.collection, content.body.len(), mode)?;
            write(tx, place, content)?;
            let written = written(tx, place, current.is_none(), *returns)?;
            pin(tx, place, preconditions);
            Ok(Outcome::Written(written))
        }
        Operation::Patch { place, patch, preconditions, returns } => {
            patch::stage(tx, place, (patch, *returns), preconditions, mode)
        }
        Operation::Delete { place, preconditions } => {
            let current = tx.get(&place.collection, &place.key)?.ok_or(Refusal::NotFound)?;
            check(tx, place, (Some(&current), preconditions), mode)?;
            tx.delete(&place.collection, &place.key)?;
            Ok(Outcome::Deleted)
        }
        Operation::Create { collection, content, name, returns, .. } => {
            check_thread(tx, collection, content.body.len(), mode)?;
            create(tx, collection, (content, *returns), name)
        }
        _ => {
            unreachable!("a list holds operations on documents only")
        }
    }
}

/// Checking a large document against a schema takes long.
fn check_thread(
    tx: &mut Transaction,
    collection: &CollectionName,
    bytes: usize,
    mode: Mode<'_>,
) -> Result<(), Refusal> {
    let is_long = mode.work.thread.is_reactor && bytes > INLINE_JSON_BYTES_MAX;
    if is_long && tx.has_schema(collection) { Err(Refusal::Long) } else { Ok(()) }
}

/// The document to be shown.
pub(super) fn found(
    tx: &mut Transaction,
    at: &Place,
    acceptable: Option<&Acceptable>,
) -> Result<Arc<Document>, Refusal> {
    let document = tx.get(&at.collection, &at.key)?.ok_or(Refusal::NotFound)?;
    if acceptable.is_some_and(|a| !a.admits(&document.media_type)) {
        return Err(Refusal::NotAcceptable { is: document.media_type.clone() });
    }
    Ok(document)
}

/// As `get`, for a document that may look different each time it is shown: nobody can be told that
/// what they have is the same.
pub(super) fn get_anew(
    document: Arc<Document>,
    conditions: &Preconditions,
    mode: Mode<'_>,
) -> Result<Outcome, Refusal> {
    match get(Arc::clone(&document), conditions, mode)? {
        Outcome::NotModified { .. } => Ok(Outcome::Found(document)),
        other => Ok(other),
    }
}

/// A precondition counts only where the answer would otherwise be a success (RFC 9110 §13.2.1): a
/// document that is not there is 404, whatever the conditions.
fn get(
    document: Arc<Document>,
    conditions: &Preconditions,
    mode: Mode<'_>,
) -> Result<Outcome, Refusal> {
    match conditions.for_read(&document) {
        Verdict::NotModified => Ok(Outcome::NotModified { version: document.version }),
        Verdict::Failed if !mode.is_listed => {
            Err(Refusal::PreconditionFailed { current: Some(document.version) })
        }
        Verdict::Proceed | Verdict::Failed => Ok(Outcome::Found(document)),
    }
}

/// Keeps the blob of a document that is to be sent. A list only tells that there is one.
fn with_blob(tx: &Transaction, found: Outcome, mode: Mode<'_>) -> Result<Outcome, Refusal> {
    match found {
        Outcome::Found(document) if !mode.is_listed => Ok(match tx.pin_blob(&document)? {
            Some(blob) => Outcome::FoundBlob(document, blob),
            None => Outcome::Found(document),
        }),
        other => Ok(other),
    }
}

/// Checks whether what is there may be written over.
pub(super) fn check(
    tx: &mut Transaction,
    at: &Place,
    (current, conditions): (Option<&Document>, &Preconditions),
    mode: Mode<'_>,
) -> Result<(), Refusal> {
    if !mode.is_listed && conditions.for_write(current) == Verdict::Failed {
        return Err(Refusal::PreconditionFailed { current: current.map(|found| found.version) });
    }
    let mut is_asked = || tx.overwrite(&at.collection) == Overwrite::Conditional;
    match current {
        Some(found) if !conditions.are_for_writes() && is_asked() => {
            Err(Refusal::PreconditionRequired { current: found.version })
        }
        _ => Ok(()),
    }
}

/// A write whose conditions were about one version must not be merged with another.
pub(super) fn pin(tx: &mut Transaction, at: &Place, conditions: &Preconditions) {
    if conditions.are_for_writes() {
        tx.pin(&at.collection, &at.key);
    }
}

/// What is told of a document that was staged.
pub(super) fn written(
    tx: &mut Transaction,
    at: &Place,
    is_new: bool,
    returns: Returns,
) -> Result<Written, Refusal> {
    let (shown, granted) = match returns {
        Returns::Unasked => (None, None),
        Returns::Minimal => (None, Some(Granted::Minimal)),
        Returns::Representation => {
            // What is in a file of its own is not shown, but by GET.
            let shown = tx.get(&at.collection, &at.key)?.filter(|shown| shown.blob.is_none());
            // What is shown must be what is committed.
            tx.pin(&at.collection, &at.key);
            let granted = shown.as_ref().map(|_| Granted::Representation);
            (shown, granted)
        }
    };
    Ok(Written { is_new, version: Version::Own, made_at: None, shown, granted })
}

/// Most keys that are tried beside the one that was wished for.
const SUFFIXES: u32 = 9;

fn create(
    tx: &mut Transaction,
    collection: &CollectionName,
    (content, returns): (&Content, Returns),
    name: &NewKey,
) -> Result<Outcome, Refusal> {
    let key = free_key(tx, collection, name)?;
    let place = Place { collection: collection.clone(), key };
    create_at(tx, &place, (content, returns)).map(Outcome::Written)
}

/// Writes a document where none is.
pub(super) fn create_at(
    tx: &mut Transaction,
    at: &Place,
    (content, returns): (&Content, Returns),
) -> Result<Written, Refusal> {
    write(tx, at, content)?;
    let mut written = written(tx, at, true, returns)?;
    written.made_at = Some(at.clone());
    Ok(written)
}

/// A taken key gets a suffix. A generated one that is taken is next to impossible, but overwriting
/// its document would be a lost update.
pub(super) fn free_key(
    tx: &mut Transaction,
    collection: &CollectionName,
    name: &NewKey,
) -> Result<Key, Refusal> {
    let mut randomness = name.randomness;
    let mut tried = 0;
    loop {
        let generated = || randomness.key_at(tx.time());
        let key = match (&name.wish, tried) {
            (None, _) => generated(),
            (Some(wish), 0) => wish.clone(),
            (Some(wish), 1..=SUFFIXES) => suffixed(wish, &(tried + 1).to_string())?,
            (Some(wish), _) => suffixed(wish, generated().as_str())?,
        };
        if tx.get(collection, &key)?.is_none() {
            return Ok(key);
        }
        tried += 1;
        if name.wish.is_none() || tried > SUFFIXES + 1 {
            randomness = randomness.next();
        }
    }
}

fn suffixed(wish: &Key, suffix: &str) -> Result<Key, Refusal> {
    Key::new(&format!("{wish}-{suffix}")).map_err(|error| Refusal::Name(error.to_string()))
}

fn write(tx: &mut Transaction, at: &Place, content: &Content) -> Result<(), StageError> {
    let Content { media_type, body, blob } = content;
    let stored = match blob {
        Some(blob) => repository::Content::Blob(blob.clone()),
        None => repository::Content::Inline(body.clone()),
    };
    tx.put_content(&at.collection, &at.key, media_type.clone(), &stored, None)
}
