//! Documents that are not JSON, on their way out: all of one, or the part that Range asks for
//! (RFC 9110 §14). A blob is read piece by piece, each verified, on threads that may block, and
//! only as fast as its client takes it.

use crate::http::outgoing::Outgoing;
use crate::http::range::{self, Wanted};
use crate::http::{app, reply, upload};
use crate::problem::{Kind, Problem};
use crate::reactor::{Disk, Reactor};
use crate::replies::Replies;
use bytes::Bytes;
use hyper::header::{ACCEPT_RANGES, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use repository::{BlobReader, CommitNumber, Document, PinnedBlob, Timestamp};
use std::io;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::mpsc;

/// The document, whose content is in it, or the part of it that is wanted. `read`: on which view.
pub(super) fn inline(
    document: &Document,
    read: (Option<CommitNumber>, Timestamp),
    parts: &Parts,
) -> Response<Outgoing> {
    let (mut response, wanted) = describe(document, read, parts);
    *response.body_mut() = Outgoing::from(match wanted {
        Some(part) => document.body.slice(part),
        None => Bytes::new(),
    });
    response
}

/// The same of a document whose content is a blob.
pub(super) async fn blob(
    (document, blob): (&Document, PinnedBlob),
    read: (Option<CommitNumber>, Timestamp),
    parts: &Parts,
    reactor: &Reactor,
) -> Result<Response<Outgoing>, Problem> {
    let (mut response, wanted) = describe(document, read, parts);
    if let Some(part) = wanted {
        *response.body_mut() = pieces(blob, part, parts, reactor).await?;
    }
    Ok(response)
}

/// The application's reply, whose content is a document's.
pub(super) async fn of_application(
    (reply, blob): (gem::Reply, PinnedBlob),
    parts: &Parts,
    reactor: &Reactor,
) -> Result<Response<Outgoing>, Problem> {
    let mut response = app::response(reply, HeaderMap::new())?;
    let length = usize::try_from(blob.reference().length).unwrap_or(usize::MAX);
    *response.body_mut() = pieces(blob, 0..length, parts, reactor).await?;
    Ok(response)
}

/// A part of a blob, which is read as it is sent.
async fn pieces(
    blob: PinnedBlob,
    part: Range<usize>,
    parts: &Parts,
    reactor: &Reactor,
) -> Result<Outgoing, Problem> {
    let (sender, coming) = mpsc::channel(1);
    let length = (part.end - part.start) as u64;
    let body = Outgoing::pieces(coming, Some(length));
    if parts.method == Method::HEAD {
        return Ok(body);
    }
    if reactor.replies.are_full() {
        let detail = "too many replies wait for clients that take them slowly; try again";
        return Err(Problem::new(Kind::Busy, detail));
    }
    // What is damaged so far is a reply that says so; later it can only break off.
    let reader = reactor.disk.run(move || blob.open()).await?;
    let reader = reader.map_err(|error| upload::problem(&error))?;
    let sending = Sending {
        reader: Arc::new(reader),
        disk: reactor.disk.clone(),
        replies: Rc::clone(&reactor.replies),
    };
    tokio::task::spawn_local(sending.send(part, sender));
    Ok(body)
}

/// Status and fields, and what of the content is wanted; `None`: nothing that there is.
fn describe(
    document: &Document,
    read: (Option<CommitNumber>, Timestamp),
    parts: &Parts,
) -> (Response<Outgoing>, Option<Range<usize>>) {
    let mut response = Response::new(Outgoing::default());
    let headers = response.headers_mut();
    reply::describe_found(document, read, headers);
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let length = usize::try_from(document.length()).unwrap_or(usize::MAX);
    let tag = headers.get(ETAG).cloned();
    let content_range = |headers: &mut HeaderMap, range: String| {
        let range = HeaderValue::try_from(range).expect("digits and signs are allowed");
        headers.insert(CONTENT_RANGE, range);
    };
    let part = match range::asked(parts, tag.as_ref(), length) {
        Wanted::Whole => 0..length,
        Wanted::Part(part) => {
            content_range(headers, format!("bytes {}-{}/{length}", part.start, part.end - 1));
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            part
        }
        Wanted::Nothing => {
            content_range(headers, format!("bytes */{length}"));
            headers.remove(CONTENT_TYPE);
            *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
            return (response, None);
        }
    };
    (response, Some(part))
}

/// What it takes to send a blob.
struct Sending {
    reader: Arc<BlobReader>,
    disk: Disk,
    replies: Rc<Replies>,
}

impl Sending {
    /// Sends `part`, until its client is gone.
    async fn send(self, part: Range<usize>, sender: mpsc::Sender<io::Result<Bytes>>) {
        let (mut at, end) = (part.start as u64, part.end as u64);
        while at < end {
            // First, so that nothing is read that nobody has room for.
            let Ok(place) = sender.reserve().await else { return };
            let reader = Arc::clone(&self.reader);
            match self.disk.run(move || reader.read(at)).await {
                Ok(Ok(mut piece)) => {
                    piece.truncate(usize::try_from(end - at).unwrap_or(usize::MAX));
                    at += piece.len() as u64;
                    // Counted in any case: the reply has begun.
                    let piece = self.replies.count(piece, true).unwrap_or_default();
                    place.send(Ok(piece));
                }
                Ok(Err(error)) => {
                    log::error!("a reply was broken off: {error}");
                    return place.send(Err(io::Error::other(error)));
                }
                Err(problem) => return place.send(Err(io::Error::other(problem.detail))),
            }
        }
    }
}
