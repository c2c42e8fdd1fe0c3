//! What operations on the past of a document do in their transaction.

use super::refusal::Refusal;
use crate::acceptable::Acceptable;
use crate::operation::{Content, Operation, Place, Returns};
use crate::preconditions::Preconditions;
use query::Listed;
use repository::{CommitNumber, Document, Moment, Past, Transaction, VersionEntry};
use serde_json::json;
use std::sync::Arc;

/// The version to be shown.
pub(super) fn found(
    tx: &mut Transaction,
    at: &Place,
    moment: Moment,
    acceptable: Option<&Acceptable>,
) -> Result<Arc<Document>, Refusal> {
    let document = match tx.past(&at.collection, &at.key, moment)? {
        Past::Document(document) => document,
        Past::Absent => return Err(Refusal::NotFound),
        Past::NotKept(since) => return Err(Refusal::NotKept { since }),
        Past::NotYet(newest, time) => return Err(Refusal::NotYet { newest, time }),
    };
    if acceptable.is_some_and(|a| !a.admits(&document.media_type)) {
        return Err(Refusal::NotAcceptable { is: document.media_type.clone() });
    }
    Ok(document)
}

/// Writing a version again, as the write that it is.
pub(super) fn restored(
    tx: &mut Transaction,
    place: &Place,
    from: CommitNumber,
    (preconditions, returns): (&Preconditions, Returns),
) -> Result<Operation, Refusal> {
    let document = found(tx, place, Moment::Commit(from), None)?;
    let Document { media_type, body, .. } = &*document;
    // What the view sees stays, and this until the write is done.
    let blob = tx.pin_blob(&document)?;
    let content = Content { media_type: media_type.clone(), body: body.clone(), blob };
    let (place, preconditions) = (place.clone(), preconditions.clone());
    Ok(Operation::Put { place, content, preconditions, returns })
}

/// A page of the versions of a document.
pub(super) fn versions(
    tx: &mut Transaction,
    place: &Place,
    before: Option<CommitNumber>,
    limit: usize,
) -> Result<Listed, Refusal> {
    let found = tx.versions(&place.collection, &place.key, before, limit)?;
    if found.entries.is_empty() && before.is_none() {
        return Err(Refusal::NotFound);
    }
    let after = found.entries.last().filter(|_| found.has_more).map(|last| last.commit.0);
    let next = after.map(|after| format!("?versions&limit={limit}&after={after}"));
    let mut page = json!({
        "versions": found.entries.iter().map(entry).collect::<Vec<_>>(),
        "since": found.since.map(|since| since.0),
    });
    if let Some(after) = after {
        page["next"] = json!(after);
    }
    Ok(Listed { body: page.to_string().into(), next })
}

fn entry(entry: &VersionEntry) -> serde_json::Value {
    let mut shown = json!({ "commit": entry.commit.0, "updated": entry.time.rfc3339() });
    match &entry.document {
        Some(document) => {
            shown["etag"] = json!(format!("\"{}\"", document.version));
            shown["media_type"] = json!(document.media_type.as_str());
            shown["size"] = json!(document.length());
        }
        None => shown["deleted"] = json!(true),
    }
    shown
}
