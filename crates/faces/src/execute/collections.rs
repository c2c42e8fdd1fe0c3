//! What operations on collections do in their transaction.

use super::refusal::Refusal;
use super::work::Work;
use crate::collections::{self, Refused};
use crate::limits::COLLECTIONS_PASSED_INLINE_MAX;
use crate::operation::{Granted, Operation, Outcome, Returns, SettingsChange, Version, Written};
use crate::patch::Patch;
use crate::preconditions::{Preconditions, Verdict};
use bytes::Bytes;
use repository::{CollectionName, Document, Ending, MediaType, Transaction};
use std::sync::Arc;

pub(super) fn stage(
    operation: &Operation,
    tx: &mut Transaction,
    work: &Work,
) -> Result<Outcome, Refusal> {
    match operation {
        Operation::ListCollections(listing) => {
            let is_reactor = work.thread.is_reactor;
            let passed_max = if is_reactor { COLLECTIONS_PASSED_INLINE_MAX } else { usize::MAX };
            let page = collections::list(tx, listing, passed_max)?;
            page.map(Outcome::Page).ok_or(Refusal::Long)
        }
        Operation::DescribeCollection(name) => match collections::status(tx, name)? {
            Some(status) => Ok(Outcome::Page(status)),
            None => Err(Refusal::NoCollection(name.clone())),
        },
        Operation::GetSettings { collection, preconditions } => get(tx, collection, preconditions),
        Operation::Configure { collection, change, preconditions, returns } => {
            configure(tx, collection, (change, *returns), (preconditions, work))
        }
        Operation::End { collection, ending, preconditions } => {
            end(tx, collection, *ending, preconditions)
        }
        _ => Err(Refusal::Internal("an operation that is not on collections".to_owned())),
    }
}

fn get(
    tx: &mut Transaction,
    name: &CollectionName,
    conditions: &Preconditions,
) -> Result<Outcome, Refusal> {
    let settings = collections::settings(tx, name)?;
    let settings = settings.ok_or_else(|| Refusal::NoCollection(name.clone()))?;
    match conditions.for_read(&settings) {
        Verdict::Proceed => Ok(Outcome::Found(Arc::new(settings))),
        Verdict::NotModified => Ok(Outcome::NotModified { version: settings.version }),
        Verdict::Failed => Err(Refusal::PreconditionFailed { current: Some(settings.version) }),
    }
}

fn configure(
    tx: &mut Transaction,
    name: &CollectionName,
    (change, returns): (&SettingsChange, Returns),
    (conditions, work): (&Preconditions, &Work),
) -> Result<Outcome, Refusal> {
    let current = collections::settings(tx, name)?;
    if conditions.for_write(current.as_ref()) == Verdict::Failed {
        let current = current.map(|settings| settings.version);
        return Err(Refusal::PreconditionFailed { current });
    }
    let text = current.as_ref().map(text);
    let next = match (change, text) {
        (SettingsChange::Put(next), _) => next.clone(),
        (SettingsChange::Patch(Patch::Merge(patch)), Some(text)) => {
            work.merge_patch(patch, Some(text))?
        }
        (SettingsChange::Patch(Patch::Json(patch)), Some(text)) => work.json_patch(patch, text)?,
        (SettingsChange::Patch(_), _) => return Err(Refusal::NoCollection(name.clone())),
    };
    let changes = match collections::configure(tx, name, current.as_ref(), &next) {
        Ok(changes) => changes,
        Err(Refused::Settings(error)) => return Err(Refusal::Settings(error)),
        Err(Refused::Configure(error)) => return Err(Refusal::Configure(error)),
    };
    let version = match &current {
        Some(settings) if !changes => Version::Known(settings.version),
        _ => Version::Own,
    };
    let (shown, granted) = match returns {
        Returns::Unasked => (None, None),
        Returns::Minimal => (None, Some(Granted::Minimal)),
        Returns::Representation => {
            (Some(Arc::new(shown(next, tx, current.as_ref())?)), Some(Granted::Representation))
        }
    };
    let is_new = current.is_none();
    Ok(Outcome::Written(Written { is_new, version, made_at: None, shown, granted }))
}

/// Conditions are about the settings, as those of a change of them are.
fn end(
    tx: &mut Transaction,
    name: &CollectionName,
    ending: Ending,
    conditions: &Preconditions,
) -> Result<Outcome, Refusal> {
    let settings = collections::settings(tx, name)?;
    let settings = settings.ok_or_else(|| Refusal::NoCollection(name.clone()))?;
    if conditions.for_write(Some(&settings)) == Verdict::Failed {
        return Err(Refusal::PreconditionFailed { current: Some(settings.version) });
    }
    match tx.end(name, ending).map_err(Refusal::Configure)? {
        true => Ok(Outcome::Deleted),
        false => Err(Refusal::NoCollection(name.clone())),
    }
}

fn text(settings: &Document) -> &str {
    std::str::from_utf8(&settings.body).unwrap_or_default()
}

/// The settings as a GET will show them.
fn shown(next: String, tx: &Transaction, current: Option<&Document>) -> Result<Document, Refusal> {
    let settings = repository::Settings::from_json(&next).map_err(Refusal::Settings)?;
    let version = current.map(|settings| settings.version).unwrap_or_default();
    let created = current.map_or(tx.time(), |settings| settings.created);
    Ok(Document {
        media_type: MediaType::Json,
        body: Bytes::from(settings.to_json()),
        blob: None,
        version,
        created,
        updated: tx.time(),
        expires: None,
    })
}
