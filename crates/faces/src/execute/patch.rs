//! PATCH in a transaction.
//!
//! A patch that computes the new document from the old one reads it, and so conflicts with whoever
//! changes it meanwhile. Merge operations are handed to the repository, which resolves them when it
//! applies the commit: they are not read, unless a condition or the wish to see the result asks.

use super::Thread;
use super::refusal::Refusal;
use super::stage::{Mode, check, pin, written};
use crate::limits::INLINE_JSON_BYTES_MAX;
use crate::operation::{Granted, Outcome, Place, Returns, Version, Written};
use crate::patch::Patch;
use crate::preconditions::{Preconditions, Verdict, Versions};
use repository::{CommitNumber, Document, MediaType, Merge, Transaction};
use std::sync::Arc;

pub(super) fn stage(
    tx: &mut Transaction,
    at: &Place,
    (patch, returns): (&Patch, Returns),
    conditions: &Preconditions,
    mode: Mode<'_>,
) -> Result<Outcome, Refusal> {
    if let Patch::Operations(operations) = patch {
        return merge(tx, at, (operations, returns), conditions, mode);
    }
    let current = tx.get(&at.collection, &at.key)?;
    // A merge patch of nothing makes a document (RFC 7396 §2), but only for those who say that they
    // expect nothing: everybody else has the wrong URI.
    let may_create =
        matches!(patch, Patch::Merge(_)) && conditions.none_matches == Some(Versions::Any);
    if current.is_none() && !may_create {
        return Err(Refusal::NotFound);
    }
    check(tx, at, (current.as_deref(), conditions), mode)?;
    let text = current.as_deref().map(json_text).transpose()?;
    check_length(text, patch, mode.work.thread)?;
    let next = match (patch, text) {
        (Patch::Merge(patch), text) => mode.work.merge_patch(patch, text)?,
        (Patch::Json(patch), Some(text)) => mode.work.json_patch(patch, text)?,
        (Patch::Json(_), None) | (Patch::Operations(_), _) => return Err(Refusal::NotFound),
    };
    if let Some(same) = current.as_ref().filter(|_| text == Some(&next)) {
        return Ok(Outcome::Written(unchanged(same, returns)));
    }
    let expires = current.as_ref().and_then(|current| current.expires);
    tx.put(&at.collection, &at.key, MediaType::Json, next.into(), expires)?;
    let written = written(tx, at, current.is_none(), returns)?;
    match patch {
        // What it looked at may have been elsewhere in the document.
        Patch::Json(_) => tx.pin(&at.collection, &at.key),
        Patch::Merge(_) | Patch::Operations(_) => pin(tx, at, conditions),
    }
    Ok(Outcome::Written(written))
}

fn json_text(document: &Document) -> Result<&str, Refusal> {
    match &document.media_type {
        MediaType::Json => std::str::from_utf8(&document.body)
            .map_err(|error| Refusal::Internal(format!("a JSON document is not UTF-8: {error}"))),
        is @ MediaType::Other(_) => Err(Refusal::NotJson { is: is.clone() }),
    }
}

fn check_length(text: Option<&str>, patch: &Patch, thread: Thread) -> Result<(), Refusal> {
    let patch_bytes = match patch {
        Patch::Merge(patch) => patch.bytes(),
        Patch::Json(patch) => patch.bytes(),
        Patch::Operations(_) => 0,
    };
    let is_long = text.map_or(0, str::len) + patch_bytes > INLINE_JSON_BYTES_MAX;
    if thread.is_reactor && is_long { Err(Refusal::Long) } else { Ok(()) }
}

/// The document is as the patch wants it: nothing is written.
fn unchanged(document: &Arc<Document>, returns: Returns) -> Written {
    let (shown, granted) = match returns {
        Returns::Unasked => (None, None),
        Returns::Minimal => (None, Some(Granted::Minimal)),
        Returns::Representation => (Some(Arc::clone(document)), Some(Granted::Representation)),
    };
    let version = Version::Known(document.version);
    Written { is_new: false, version, made_at: None, shown, granted }
}

fn merge(
    tx: &mut Transaction,
    at: &Place,
    (operations, returns): (&[Merge], Returns),
    conditions: &Preconditions,
    mode: Mode<'_>,
) -> Result<Outcome, Refusal> {
    let is_shown = returns == Returns::Representation;
    let is_read = is_shown || conditions.are_for_writes();
    let mut is_new = false;
    if is_read {
        let current = tx.get(&at.collection, &at.key)?;
        is_new = current.is_none();
        if !mode.is_listed && conditions.for_write(current.as_deref()) == Verdict::Failed {
            return Err(Refusal::PreconditionFailed { current: current.map(|d| d.version) });
        }
    }
    // One alone costs no more than a PUT would, and is not worth another look.
    let is_counted = mode.is_listed || operations.len() > 1;
    for (index, operation) in operations.iter().enumerate() {
        if is_counted {
            let current = tx.peek(&at.collection, &at.key)?;
            mode.work.merge(index, current.map_or(0, |document| document.body.len()))?;
        }
        tx.merge(&at.collection, &at.key, operation.clone())?;
    }
    // Taking something out of nothing makes nothing.
    let is_new = is_new && tx.peek(&at.collection, &at.key)?.is_some();
    let mut written = written(tx, at, is_new, returns)?;
    written.version = match &written.shown {
        Some(shown) if shown.version != CommitNumber(0) => Version::Known(shown.version),
        Some(_) => Version::Own,
        None => Version::Unknown,
    };
    Ok(Outcome::Written(written))
}
