//! The content of a request that writes: read, checked, and put into its operation.

use crate::access::{Need, Principal};
use crate::http::content::Format;
use crate::http::list::{self, Manner};
use crate::http::once::Name;
use crate::limits;
use crate::operation::{Content, NewKey, Operation, Place, Returns, SettingsChange, Transact};
use crate::patch::{self, JsonPatch, Malformed, MergePatch, Patch};
use crate::preconditions::{Preconditions, Verdict};
use crate::problem::{Kind, Problem};
use crate::reactor::Reactor;
use bytes::Bytes;
use repository::{CollectionName, Key, KeyRandomness, MediaType, PinnedBlob, json};

/// An operation that lacks its content.
#[derive(Debug)]
pub(crate) struct Write {
    pub target: Target,
    pub preconditions: Preconditions,
    pub returns: Returns,
    /// The request has a name and is to be performed once.
    pub once: Option<Name>,
}

/// What the content is for.
#[derive(Debug)]
pub(crate) enum Target {
    Document(Place, MediaType),
    Patch(Place, Format),
    /// With the key that is wished for.
    Collection(CollectionName, MediaType, Option<Key>),
    /// The settings of a collection; in this format if they are changed in part.
    Settings(CollectionName, Option<Format>),
    /// Of whoever asks.
    Transactions(Manner, Principal),
}

impl Write {
    /// Whether its content may be larger than fits into a document.
    pub(crate) fn is_upload(&self) -> bool {
        let (Target::Document(_, media_type) | Target::Collection(_, media_type, _)) = &self.target
        else {
            return false;
        };
        *media_type != MediaType::Json
    }

    /// The operation with its content, which is in a file of its own.
    pub(crate) fn with_blob(self, blob: PinnedBlob) -> Result<Operation, Problem> {
        let Self { target, preconditions, returns, once } = self;
        let hash = blob.reference().hash;
        let content = |media_type| Content { media_type, body: Bytes::new(), blob: Some(blob) };
        let operation = match target {
            Target::Document(place, media_type) => {
                let content = content(media_type);
                Operation::Put { place, content, preconditions, returns }
            }
            Target::Collection(collection, media_type, wish) => {
                let content = content(media_type);
                let name = NewKey { wish, randomness: draw_randomness()? };
                Operation::Create { collection, content, name, preconditions, returns }
            }
            Target::Patch(..) | Target::Settings(..) | Target::Transactions(..) => {
                unreachable!("`is_upload` said so")
            }
        };
        match once {
            // The hash stands for all of the content.
            Some(name) => name.of(operation, &hash.0),
            None => Ok(operation),
        }
    }

    /// The operation with its body.
    pub(crate) async fn with_body(
        self,
        body: Bytes,
        reactor: &Reactor,
    ) -> Result<Operation, Problem> {
        let Self { target, preconditions, returns, once } = self;
        let named = once.is_some().then(|| body.clone());
        let operation = match target {
            Target::Document(place, media_type) => {
                let content = content(media_type, body, reactor).await?;
                Operation::Put { place, content, preconditions, returns }
            }
            Target::Collection(collection, media_type, wish) => {
                let content = content(media_type, body, reactor).await?;
                let name = NewKey { wish, randomness: draw_randomness()? };
                Operation::Create { collection, content, name, preconditions, returns }
            }
            Target::Patch(place, format) => {
                let read = parse(body, reactor, move |body| patch(format, body)).await?;
                let patch = read.map_err(|error| malformed(Kind::InvalidPatch, &error))?;
                Operation::Patch { place, patch, preconditions, returns }
            }
            Target::Settings(collection, format) => {
                let change = settings(format, body, reactor).await?;
                Operation::Configure { collection, change, preconditions, returns }
            }
            Target::Transactions(manner, principal) => {
                check_list_conditions(&preconditions)?;
                let defaults = (returns, draw_randomness()?);
                let read =
                    move |body: &[u8]| list::parse(&patch::canonical(body)?, manner, defaults);
                let read = parse(body, reactor, read).await?;
                let list = read.map_err(|error| malformed(Kind::InvalidTransaction, &error))?;
                check_access(&list, &principal)?;
                Operation::Transact(list)
            }
        };
        match (once, named) {
            (Some(name), Some(body)) if body.len() > limits::INLINE_JSON_BYTES_MAX => {
                reactor.off_thread(move || name.of(operation, &body)).await?
            }
            (Some(name), Some(body)) => name.of(operation, &body),
            _ => Ok(operation),
        }
    }
}

async fn settings(
    format: Option<Format>,
    body: Bytes,
    reactor: &Reactor,
) -> Result<SettingsChange, Problem> {
    let Some(format) = format else {
        let text = canonical(body, reactor).await?;
        return Ok(SettingsChange::Put(String::from_utf8_lossy(&text).into_owned()));
    };
    let read = parse(body, reactor, move |body| patch(format, body)).await?;
    read.map(SettingsChange::Patch).map_err(|error| malformed(Kind::InvalidPatch, &error))
}

/// A list has no representation, so If-Match is false of it (RFC 9110 §13.1.1). Whoever sends it
/// means a document, which is better said than written over.
fn check_list_conditions(conditions: &Preconditions) -> Result<(), Problem> {
    if conditions.for_write(None) != Verdict::Failed {
        return Ok(());
    }
    let detail = "If-Match is about one document, and a list has none of its own: put \"if_match\" \
                  into the operation that it is for";
    Err(Problem::new(Kind::PreconditionFailed, detail))
}

/// The list needs what each of its operations would need by itself.
fn check_access(list: &Transact, principal: &Principal) -> Result<(), Problem> {
    for operation in &list.steps {
        let need = match operation {
            Operation::Get { .. } => Need::Read,
            _ => Need::Write,
        };
        if let Some(collection) = operation.collection() {
            principal.require(collection.as_str(), need)?;
        }
    }
    Ok(())
}

async fn content(
    media_type: MediaType,
    body: Bytes,
    reactor: &Reactor,
) -> Result<Content, Problem> {
    let body = match media_type {
        MediaType::Json => canonical(body, reactor).await?,
        // A copy, because the piece of the read buffer that came would keep all of the buffer in
        // memory for as long as the document is.
        MediaType::Other(_) => Bytes::copy_from_slice(&body),
    };
    Ok(Content { media_type, body, blob: None })
}

fn draw_randomness() -> Result<KeyRandomness, Problem> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).map_err(|error| Problem::internal(&error))?;
    Ok(KeyRandomness::new(u128::from_ne_bytes(bits)))
}

async fn canonical(body: Bytes, reactor: &Reactor) -> Result<Bytes, Problem> {
    let text = parse(body, reactor, json::canonicalize).await?;
    let text = text.map_err(|error| Problem::new(Kind::InvalidJson, error.to_string()))?;
    Ok(text.into())
}

/// Reads `body` here or, if that would hold up the reactor, on another thread.
async fn parse<T: Send + 'static>(
    body: Bytes,
    reactor: &Reactor,
    read: impl FnOnce(&[u8]) -> T + Send + 'static,
) -> Result<T, Problem> {
    if body.len() <= limits::INLINE_JSON_BYTES_MAX {
        return Ok(read(&body));
    }
    reactor.off_thread(move || read(&body)).await
}

fn patch(format: Format, body: &[u8]) -> Result<Patch, Malformed> {
    Ok(match format {
        Format::MergePatch => Patch::Merge(MergePatch::parse(body)?),
        Format::JsonPatch => Patch::Json(JsonPatch::parse(body)?),
        Format::MergeOperations => Patch::Operations(patch::operations::parse(body)?),
    })
}

fn malformed(kind: Kind, error: &Malformed) -> Problem {
    match error {
        Malformed::Json(error) => Problem::new(Kind::InvalidJson, error.to_string()),
        Malformed::Structure { at, .. } => {
            Problem::new(kind, error.to_string()).with("pointer", at.as_str())
        }
        Malformed::TooMany { .. } => Problem::new(kind, error.to_string()),
    }
}
