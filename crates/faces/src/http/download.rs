//! Documents that are not JSON, on their way out: all of one, or the part that Range asks for
//! (RFC 9110 §14). A blob is read piece by piece, each verified, on threads that may block, and
//! only as fast as its client takes it.

use crate::http::outgoing::Outgoing;
use crate::http::range::{self, Wanted};
use crate::http::{app, reply, upload};
use crate::limits;
use crate::problem::Problem;
use crate::reactor::{Disk, Reactor};
use crate::replies::{Held, Replies};
use bytes::Bytes;
use hyper::header::{ACCEPT_RANGES, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use repository::{BlobReader, CommitNumber, Document, PinnedBlob, Timestamp};
use std::io;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{Notify, mpsc};

/// The document, whose content is in it, or the part of it that is wanted. `read`: on which view.
pub(super) fn inline(
    document: &Document,
    read: (Option<CommitNumber>, Timestamp),
    parts: &Parts,
) -> Response<Outgoing> {
    let (mut response, wanted) = describe(document, read, parts);
    *response.body_mut() = Outgoing::from(match wanted {
        Some(part) if part.len() == document.body.len() => document.body.clone(),
        // A copy: while a part is sent it is not to keep all of the document in memory.
        Some(part) => Bytes::copy_from_slice(&document.body[part]),
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
    let wanted = Rc::<Notify>::default();
    let length = (part.end - part.start) as u64;
    let body = Outgoing::wanted_pieces(coming, Rc::clone(&wanted), length);
    if parts.method == Method::HEAD {
        return Ok(body);
    }
    // A checksum of 4 bytes for each piece.
    let sums = blob.reference().length.div_ceil(limits::REPLY_PIECE_BYTES_MAX as u64) * 4;
    let admitted = limits::REPLY_ADMITTED_BYTES + usize::try_from(sums).unwrap_or(usize::MAX);
    let admitted = reactor.replies.admit(admitted)?;
    // What is damaged so far is a reply that says so; later it can only break off.
    let reader = reactor.disk.run(move || blob.open()).await?;
    let reader = reader.map_err(|error| upload::problem(&error))?;
    let sending = Sending {
        reader: Arc::new(reader),
        disk: reactor.disk.clone(),
        replies: Rc::clone(&reactor.replies),
        wanted,
        _admitted: admitted,
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

/// The piece from which on one is read ahead.
const READ_AHEAD_FROM: usize = 2;

/// Which piece of a reply is next, and how long it is where there is little room.
struct Next {
    nth: usize,
    small_bytes: usize,
}

/// What it takes to send a blob.
struct Sending {
    reader: Arc<BlobReader>,
    disk: Disk,
    replies: Rc<Replies>,
    /// Told when the client has taken what there was.
    wanted: Rc<Notify>,
    _admitted: Held,
}

impl Sending {
    /// Sends `part`, until its client is gone.
    async fn send(self, part: Range<usize>, sender: mpsc::Sender<io::Result<Bytes>>) {
        let (mut at, end) = (part.start as u64, part.end as u64);
        let mut next = Next { nth: 0, small_bytes: limits::REPLY_PIECE_BYTES_MIN };
        while at < end {
            let ready = tokio::select! {
                biased;
                () = sender.closed() => return,
                ready = self.ready(&mut next, &sender) => ready,
            };
            let Some((place, held, bytes)) = ready else { return };
            match self.read(at, end, (held, bytes)).await {
                Ok(piece) => {
                    at += piece.len() as u64;
                    place.send(Ok(piece));
                }
                Err(error) => return place.send(Err(error)),
            }
        }
    }

    /// Waits until a piece is wanted and there is room for it, so that nothing is read that would
    /// wait for its client in vain. Gives how long it may be.
    async fn ready<'a>(
        &self,
        next: &mut Next,
        sender: &'a mpsc::Sender<io::Result<Bytes>>,
    ) -> Option<(mpsc::Permit<'a, io::Result<Bytes>>, Held, usize)> {
        // A client that takes its pieces has one read ahead for it, while there is room enough.
        if next.nth < READ_AHEAD_FROM || self.replies.are_crowded() {
            self.wanted.notified().await;
        }
        let place = sender.reserve().await.ok()?;
        next.nth += 1;
        let bytes = match self.replies.are_crowded() {
            true => next.small_bytes,
            false => limits::REPLY_PIECE_BYTES_MAX,
        };
        let held = self.replies.room(bytes).await;
        next.small_bytes = (2 * bytes).min(limits::REPLY_PIECE_BYTES_MAX);
        Some((place, held, bytes))
    }

    /// Reads a piece from `at`, which goes no further than `end`, and counts what it keeps in
    /// memory.
    async fn read(&self, at: u64, end: u64, (mut held, bytes): (Held, usize)) -> io::Result<Bytes> {
        let reader = Arc::clone(&self.reader);
        let read = self.disk.run(move || reader.read(at)).await;
        let mut piece = match read {
            Ok(Ok(piece)) => piece,
            Ok(Err(error)) => {
                log::error!("a reply was broken off: {error}");
                return Err(io::Error::other(error));
            }
            Err(problem) => return Err(io::Error::other(problem.detail)),
        };
        let before = at % limits::REPLY_PIECE_BYTES_MAX as u64;
        let all = before as usize + piece.len();
        piece.truncate(usize::try_from(end - at).unwrap_or(usize::MAX));
        if all <= bytes {
            held.shrink(all);
        } else {
            // The part that goes is kept, and not all of which it is one.
            piece = Bytes::copy_from_slice(&piece[..piece.len().min(bytes)]);
            held.shrink(piece.len());
        }
        Ok(held.of(piece))
    }
}
