//! Media on their way in and out: in bounded memory, whatever their size.

use super::answer::{self, Reply};
use super::{Request, Sent, made, receive};
use crate::access::Need;
use crate::atom::media::{self, Medium};
use crate::atom::member::Write;
use crate::atom::{Place, run};
use crate::http::{download, upload};
use crate::problem::Problem;
use hyper::header::{CONTENT_DISPOSITION, HeaderValue};
use repository::{Content, Document, PinnedBlob};
use std::sync::Arc;
use wire::atom::media_type::{essence, is_composite, is_xml};

/// Creates media and its entry.
pub(super) async fn create(
    request: Request<'_>,
    publication: String,
    sent: Sent<'_>,
) -> Result<Reply, Problem> {
    let media_type = receive::medium(&request.parts.headers)?;
    let (new, conditions) = (request.drawn_for(publication)?, request.conditions()?);
    let title = receive::title(&request.parts.headers);
    let atom = request.atom();
    let received = upload::read(sent, request.reactor).await?;
    let medium = Medium { media_type, content: content(received.content), title };
    let done = run::run(request.reactor, false, move |runner| {
        let write = Write { atom: &atom, conditions: &conditions };
        Ok(runner.run(|tx| media::create(tx, (write, &new), &medium).map(made)))
    });
    answer::made(done.await?, request.parts, request.asker)
}

/// Replaces media.
pub(super) async fn replace(
    request: Request<'_>,
    place: Place,
    sent: Sent<'_>,
) -> Result<Reply, Problem> {
    let media_type = receive::medium(&request.parts.headers)?;
    let (atom, conditions) = (request.atom(), request.conditions()?);
    let received = upload::read(sent, request.reactor).await?;
    let medium = Medium { media_type, content: content(received.content), title: None };
    let done = run::run(request.reactor, false, move |runner| {
        let write = Write { atom: &atom, conditions: &conditions };
        Ok(runner.run(|tx| media::replace(tx, (write, &place), &medium).map(|()| None)))
    });
    Ok(answer::changed(done.await?, request.parts))
}

fn content(arrived: upload::Arrived) -> Content {
    match arrived {
        upload::Arrived::Bytes(bytes) => Content::Inline(bytes),
        upload::Arrived::Blob(blob) => Content::Blob(blob),
    }
}

/// What is to be sent of media.
struct Shown {
    document: Arc<Document>,
    blob: Option<PinnedBlob>,
    is_current: bool,
}

/// Shows media to whoever may see its entry: to all, if that is public.
pub(super) async fn show(request: Request<'_>, place: Place) -> Result<Reply, Problem> {
    let (atom, conditions) = (request.atom(), request.conditions()?);
    let done = run::read(request.reactor, |tx| {
        request.readable(tx, &place.publication)?;
        let found = match request.require(&place.publication, Need::Read) {
            Ok(()) => media::read(tx, &atom.names, &place)?,
            Err(_) => media::read_public(tx, &atom.names, &place)?,
        };
        let blob = tx.pin_blob(&found.document)?;
        let is_current = super::is_current(&found.document, &conditions)?;
        Ok(Shown { document: found.document, blob, is_current })
    });
    let done = done.await?;
    let read = (Some(done.commit), done.time);
    let Shown { document, blob, is_current } = &done.value;
    if *is_current {
        let version = document.version;
        return Ok(answer::not_modified(done.map(|_| version)));
    }
    let mut reply = match blob {
        Some(blob) => {
            download::blob((document, blob.clone()), read, request.parts, request.reactor).await?
        }
        None => download::inline(document, read, request.parts),
    };
    if is_active(document.media_type.as_str()) {
        let attachment = HeaderValue::from_static("attachment");
        reply.headers_mut().insert(CONTENT_DISPOSITION, attachment);
    }
    Ok(reply)
}

/// Whether a browser would run it, as a page of this server.
fn is_active(media_type: &str) -> bool {
    let essence = essence(media_type);
    essence.eq_ignore_ascii_case("text/html") || is_xml(essence) || is_composite(essence)
}
