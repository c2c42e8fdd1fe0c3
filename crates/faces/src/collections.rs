//! The collections as resources: the list of them, how far their indexes are, and their settings.
//! Nothing here knows HTTP; each function is the body of a transaction, or a part of one.

use crate::access::{Need, Principal};
use crate::limits::COLLECTIONS_DEFAULT;
use bytes::Bytes;
use query::{Listed, Pairs, ParameterError, limit, pairs, reference};
use repository::{
    CollectionEntry, CollectionName, ConfigureError, Document, IndexState, KnownIndex, MediaType,
    ReadError, Settings, SettingsError, Transaction, json,
};
use std::fmt::Write;
use thiserror::Error;

/// Which collections are listed.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    /// Who asks: only what they may read is listed.
    principal: Principal,
    limit: usize,
    /// The last one of the page before, or any other name.
    after: Option<CollectionName>,
    /// The parameters but `after`, for the reference to the next page.
    echo: Pairs,
}

/// Why settings were not changed.
#[derive(Debug, Error)]
pub(crate) enum Refused {
    /// What should become of them is not settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The collection cannot have them, or they could not be read.
    #[error(transparent)]
    Configure(#[from] ConfigureError),
}

impl Listing {
    /// The list that the query component of a URI asks for.
    pub(crate) fn parse(
        component: Option<&str>,
        principal: Principal,
    ) -> Result<Self, ParameterError> {
        let mut echo = pairs(component, &["limit", "after"])?;
        let value = |name| echo.iter().find(|(known, _)| *known == name).map(|(_, v)| v.as_str());
        let limit = value("limit").map_or(Ok(crate::limits::COLLECTIONS_DEFAULT), |text| {
            limit(text, crate::limits::COLLECTIONS_MAX)
        })?;
        let after = value("after").map(|text| {
            let name = CollectionName::new(text).ok().filter(|name| !name.is_system());
            name.ok_or_else(|| ParameterError::value("after", "the name of a collection", text))
        });
        let after = after.transpose()?;
        echo.retain(|(name, _)| *name != "after");
        Ok(Self { principal, limit, after, echo })
    }
}

/// A page of the list of collections; `None` if more than `passed_max` have to be looked at for it.
pub(crate) fn list(
    transaction: &mut Transaction,
    listing: &Listing,
    passed_max: usize,
) -> Result<Option<Listed>, ReadError> {
    // One more tells whether there is a next page.
    let wanted = listing.limit + 1;
    let Some(mut entries) = readable(transaction, listing, (wanted, passed_max))? else {
        return Ok(None);
    };
    let has_more = entries.len() > listing.limit;
    entries.truncate(listing.limit);
    let next = entries.last().filter(|_| has_more).map(|entry| entry.name.to_string());
    let mut out = String::from("{\"collections\":[");
    for (i, entry) in entries.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        append_status(transaction, entry, &mut out)?;
    }
    out.push(']');
    if let Some(next) = &next {
        out.push_str(",\"next\":");
        out.push_str(&json::quote(next));
    }
    out.push('}');
    let next = next.map(|next| {
        let echo = listing.echo.iter().map(|(name, value)| (*name, value.as_str()));
        reference(echo.chain([("after", next.as_str())]))
    });
    Ok(Some(Listed { body: out.into(), next }))
}

/// The first `wanted` collections that the asker may read, or a few more. Those in between are
/// passed over here and not by an empty page, whose `next` would tell a name.
fn readable(
    transaction: &mut Transaction,
    listing: &Listing,
    (wanted, passed_max): (usize, usize),
) -> Result<Option<Vec<CollectionEntry>>, ReadError> {
    let size = wanted.max(COLLECTIONS_DEFAULT);
    let mut readable = Vec::new();
    let mut passed = 0;
    let mut after = listing.after.clone();
    loop {
        let entries = transaction.collections(after.as_ref(), size)?;
        let is_last = entries.len() < size;
        after = entries.last().map(|entry| entry.name.clone());
        passed += entries.len();
        let is_readable =
            |entry: &CollectionEntry| listing.principal.allows(entry.name.as_str(), Need::Read);
        readable.extend(entries.into_iter().filter(is_readable));
        if is_last || readable.len() >= wanted {
            return Ok(Some(readable));
        } else if passed > passed_max {
            return Ok(None);
        }
    }
}

/// What the list says of one collection; `None` if it is not there.
pub(crate) fn status(
    transaction: &mut Transaction,
    name: &CollectionName,
) -> Result<Option<Listed>, ReadError> {
    let Some(entry) = transaction.collection(name)? else { return Ok(None) };
    let mut out = String::new();
    append_status(transaction, &entry, &mut out)?;
    Ok(Some(Listed { body: out.into(), next: None }))
}

fn append_status(
    transaction: &mut Transaction,
    entry: &CollectionEntry,
    out: &mut String,
) -> Result<(), ReadError> {
    let indexes = transaction.indexes(&entry.name)?.unwrap_or_default();
    let indexes: Vec<String> = indexes.iter().map(index_json).collect();
    out.write_fmt(format_args!(
        "{{\"name\":{},\"version\":{},\"settings\":{},\"indexes\":[{}]}}",
        json::quote(entry.name.as_str()),
        entry.version,
        entry.settings.to_json(),
        indexes.join(","),
    ))
    .expect("a string takes all that is written to it");
    Ok(())
}

fn index_json(index: &KnownIndex) -> String {
    let state = match &index.state {
        IndexState::Ready => "\"ready\"".to_owned(),
        IndexState::Building { passed } => format!("\"building\",\"passed\":{passed}"),
        IndexState::Failed(failure) => {
            format!("\"failed\",\"why\":{}", json::quote(&failure.to_string()))
        }
    };
    format!("{{\"name\":{},\"state\":{state}}}", json::quote(&index.definition.name))
}

/// The settings of a collection as a document: canonical JSON, and the version that conditions are
/// about. `None` if it is not there.
pub(crate) fn settings(
    transaction: &mut Transaction,
    name: &CollectionName,
) -> Result<Option<Document>, ReadError> {
    let entry = transaction.collection(name)?;
    Ok(entry.map(|CollectionEntry { settings, version, created, updated, .. }| Document {
        media_type: MediaType::Json,
        body: Bytes::from(settings.to_json()),
        blob: None,
        version,
        created,
        updated,
        expires: None,
    }))
}

/// Stages the settings with the text `next` for a collection that has those of `current`. True if
/// that changes something; what does not is not staged.
pub(crate) fn configure(
    transaction: &mut Transaction,
    name: &CollectionName,
    current: Option<&Document>,
    next: &str,
) -> Result<bool, Refused> {
    let next = Settings::from_json(next)?;
    let is_same = current.is_some_and(|document| document.body == next.to_json());
    if !is_same {
        transaction.configure(name, &next)?;
    }
    Ok(!is_same)
}

#[cfg(test)]
#[path = "collections/tests.rs"]
mod tests;
