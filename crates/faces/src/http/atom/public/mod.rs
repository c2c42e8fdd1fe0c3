//! What readers get: feeds and pages, by GET alone, without a token unless the publication is
//! private. Who has the newest version is told so before anything is written; what is written is
//! kept by its version (`atom::rendered`). `query` reads, `atom::reader` writes.

mod query;

use super::answer::{self, Reply};
use super::path::Resource;
use super::{Request, documents, is_current};
use crate::access::Need;
use crate::atom::reader::{feeds, pages};
use crate::atom::rendered::{Name, Rendering};
use crate::atom::{Edited, Publication, publication, run};
use crate::http::files::coding;
use crate::http::outgoing::Outgoing;
use crate::http::reply;
use crate::limits::ATOM_INLINE_BYTES_MAX;
use crate::problem::Problem;
use bytes::Bytes;
use gem::Coding;
use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap,
    HeaderValue, LAST_MODIFIED, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};
use query::{Format, Source, View};
use repository::{CommitNumber, Timestamp};
use std::sync::Arc;
use wire::atom::{FEED_TYPE, json_feed, opml, rss};

/// What a request for a document came to.
struct Shown {
    /// None: the asker has it already.
    rendering: Option<Arc<Rendering>>,
    format: Format,
    version: CommitNumber,
    updated: Timestamp,
    /// What the view was of, and when.
    read: (CommitNumber, Timestamp),
}

/// What was found in the transaction.
enum Found {
    Current,
    Ready(Arc<Rendering>),
    /// To be written.
    Read(Box<Source>),
}

/// Shows something of a publication.
pub(super) async fn serve(request: Request<'_>, resource: &Resource) -> Result<Reply, Problem> {
    let view = View::of(resource, request.parts.uri.query())?;
    let (atom, conditions) = (request.atom(), request.conditions()?);
    let origin = answer::absolute("", request.parts, request.asker);
    let name = Name {
        path: view.path(),
        // Atom and pages have paths, which hold whatever the server is called.
        origin: matches!(view.format, Format::Rss | Format::Json).then(|| origin.clone()),
    };
    let done = run::read(request.reactor, |tx| {
        let (publication, settings) = request.readable(tx, &view.publication)?;
        let subject = query::subject(tx, &atom.names, &view, &settings)?;
        let (version, updated) = (subject.tag.version, subject.tag.updated);
        let found = if is_current(&subject.tag, &conditions)? {
            Found::Current
        } else if let Some(kept) = atom.rendered.get(&name, version) {
            Found::Ready(kept)
        } else {
            Found::Read(Box::new(query::read(tx, &atom.names, (&view, publication), subject)?))
        };
        Ok((found, version, updated))
    });
    let done = done.await?;
    let (found, version, updated) = done.value;
    let rendering = match found {
        Found::Current => None,
        Found::Ready(rendering) => Some(rendering),
        Found::Read(source) => {
            let bytes = write(request, source, (view.format, origin)).await?;
            let rendering = Arc::new(Rendering::new(version, bytes));
            atom.rendered.put(name, &rendering);
            Some(rendering)
        }
    };
    let read = (done.commit, done.time);
    let shown = Shown { rendering, format: view.format, version, updated, read };
    reply(request, shown).await
}

/// Writes a document; a large one on another thread.
async fn write(
    request: Request<'_>,
    source: Box<Source>,
    (format, origin): (Format, String),
) -> Result<Bytes, Problem> {
    // Atom is put together of what is there, the others are made of it.
    let is_long = source.reading.bytes() > ATOM_INLINE_BYTES_MAX && format != Format::Atom;
    let write = move || {
        let reading = &source.reading;
        let text = match format {
            Format::Atom => feeds::atom(reading, source.of)?,
            Format::Rss => feeds::rss(reading, &origin)?,
            Format::Json => feeds::json(reading, &origin)?,
            Format::Home => pages::home(reading)?,
            Format::Entry => pages::entry(reading)?,
        };
        Ok(Bytes::from(text))
    };
    if is_long { request.reactor.off_thread(write).await? } else { write() }
}

/// The list of publications that everybody may read, and of those that the asker may.
pub(super) async fn opml(request: Request<'_>) -> Result<Reply, Problem> {
    let (atom, conditions) = (request.atom(), request.conditions()?);
    let origin = answer::absolute("", request.parts, request.asker);
    let done = run::read(request.reactor, |tx| {
        let (mut all, head) = publication::list(tx, &atom.names)?;
        let may_read = |one: &Publication| {
            let at = format!("atom/{}", one.name);
            !one.is_private || request.principal.allows(&at, Need::Read)
        };
        all.retain(may_read);
        let list = documents::List::of(&all, head.as_deref());
        let (version, updated) = (list.tag.version, list.tag.updated);
        let is_known = is_current(&list.tag, &list.conditions(&conditions))?;
        let date = Edited(updated.0.saturating_mul(1_000)).date();
        let text = (!is_known).then(|| feeds::opml(&all, date, &origin));
        Ok((text, version, updated))
    });
    let done = done.await?;
    let (text, version, updated) = done.value;
    let rendering = text.map(|text| Arc::new(Rendering::new(version, Bytes::from(text))));
    let read = (done.commit, done.time);
    let mut reply = fields(request, (version, updated, read), opml::OPML_TYPE);
    // It says nothing of who may see what.
    reply.headers_mut().remove(LAST_MODIFIED);
    fill(request, &mut reply, rendering).await?;
    Ok(reply)
}

async fn reply(request: Request<'_>, shown: Shown) -> Result<Reply, Problem> {
    let media_type = match shown.format {
        Format::Atom => FEED_TYPE,
        Format::Rss => rss::RSS_TYPE,
        Format::Json => json_feed::JSON_FEED_TYPE,
        Format::Home | Format::Entry => "text/html; charset=utf-8",
    };
    let mut reply = fields(request, (shown.version, shown.updated, shown.read), media_type);
    if matches!(shown.format, Format::Home | Format::Entry) {
        const POLICY: HeaderValue = HeaderValue::from_static(pages::CONTENT_SECURITY_POLICY);
        let headers = reply.headers_mut();
        headers.insert(CONTENT_SECURITY_POLICY, POLICY);
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    }
    fill(request, &mut reply, shown.rendering).await?;
    Ok(reply)
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    coding::accepted(headers).contains(&Coding::Gzip)
}

/// The fields of a reply, whether it has a body or not.
///
/// Compressed bytes are others, so that the strong tag of the document is not theirs (RFC 9110
/// §8.8.1): who takes them gets a weak one, which If-None-Match compares as well.
fn fields(
    request: Request<'_>,
    (version, updated, (commit, time)): (CommitNumber, Timestamp, (CommitNumber, Timestamp)),
    media_type: &'static str,
) -> Reply {
    let mut reply = Response::new(Outgoing::default());
    let headers = reply.headers_mut();
    reply::describe_write(commit, None, headers);
    let tag = match takes_gzip(&request.parts.headers) {
        true => HeaderValue::try_from(format!("W/\"{version}\""))
            .expect("digits and quotes are allowed"),
        false => reply::etag(version),
    };
    headers.insert(ETAG, tag);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    headers.insert(LAST_MODIFIED, reply::last_modified(updated, time));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    reply
}

/// Puts in what is shown, compressed if that is wanted and helps; 304 if there is nothing to show.
async fn fill(
    request: Request<'_>,
    reply: &mut Reply,
    rendering: Option<Arc<Rendering>>,
) -> Result<(), Problem> {
    let Some(rendering) = rendering else {
        *reply.status_mut() = StatusCode::NOT_MODIFIED;
        reply.headers_mut().remove(CONTENT_TYPE);
        return Ok(());
    };
    let gzip = match takes_gzip(&request.parts.headers) {
        false => None,
        true if rendering.is_compressed() || rendering.plain.len() <= ATOM_INLINE_BYTES_MAX => {
            rendering.gzip()
        }
        true => {
            let rendering = Arc::clone(&rendering);
            request.reactor.off_thread(move || rendering.gzip()).await?
        }
    };
    let body = match gzip {
        Some(coded) => {
            reply.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            coded
        }
        None => rendering.plain.clone(),
    };
    *reply.body_mut() = Outgoing::from(body);
    Ok(())
}
