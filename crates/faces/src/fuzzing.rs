//! Doors to private parts for the targets in `tests/fuzz`. Nothing else may use them.

use crate::atom::{clean, proposal, publication};
use crate::http::atom::path::{Resource, locate};
use crate::http::body::Arriving;
use crate::http::connection::split;
use crate::http::http1;
use crate::limits;
use crate::patch::{JsonPatch, MergePatch, Refused};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Why a patch came to nothing.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is none.
    Malformed(String),
    /// The document is not as it expects.
    Mismatch(String),
    /// Something is beyond its bound.
    Bound(String),
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        let why = refused.to_string();
        match refused {
            Refused::Mismatch { .. } => Self::Mismatch(why),
            Refused::Bound { .. } | Refused::Work { .. } => Self::Bound(why),
        }
    }
}

/// The canonical text `document` after a JSON Patch.
pub fn json_patch(document: &str, patch: &[u8]) -> Result<String, Refusal> {
    let patch = JsonPatch::parse(patch).map_err(|error| Refusal::Malformed(error.to_string()))?;
    Ok(patch.apply(document)?)
}

/// The canonical text `document` after a merge patch.
pub fn merge_patch(document: Option<&str>, patch: &[u8]) -> Result<String, Refusal> {
    let patch = MergePatch::parse(patch).map_err(|error| Refusal::Malformed(error.to_string()))?;
    Ok(patch.apply(document)?)
}

/// The publication and the name of the entry that a path names, and the path that the server gives
/// it.
pub fn atom_member(path: &str) -> Option<(String, String, String)> {
    let Ok(Resource::Entry(place)) = locate(path) else { return None };
    let of = format!("entries/{}", publication::segment(&place.member));
    let path = publication::path(&place.publication, &of);
    Some((place.publication, place.member, path))
}

/// The name that a publication gets by its title.
pub fn atom_name(title: &str) -> Option<String> {
    proposal::name_of(title)
}

/// What may be shown of HTML, resolved by a base.
pub fn clean_html(html: &str, base: &str) -> String {
    clean::html(html, Some(base))
}

/// The text of HTML.
pub fn text_of_html(html: &str) -> String {
    clean::text(html)
}

/// A request that a connection of HTTP/1 took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its method and target.
    pub what: String,
    /// Its content; none if it was broken off.
    pub content: Option<Vec<u8>>,
}

/// The requests that a connection of HTTP/1 takes from `bytes`, of which it gets at most `piece` at
/// a time. The content of each is read if `reads` says so.
pub fn http1_requests(bytes: &[u8], piece: usize, reads: bool) -> Vec<Taken> {
    let taken = RefCell::new(Vec::new());
    let service = service_fn(|request: Request<Incoming>| async {
        let (parts, mut body) = split(request);
        let ending = http1::watched(&parts, &mut body);
        let mut content = Some(Vec::new());
        if let Some(body) = body.as_mut().filter(|_| reads) {
            let mut arriving = Arriving::new(body, limits::BODY_TIMEOUT);
            content = loop {
                match arriving.next().await {
                    Ok(Some(piece)) => content.iter_mut().for_each(|all| all.extend(&piece)),
                    Ok(None) => break content,
                    Err(_) => break None,
                }
            };
        }
        let what = format!("{} {}", parts.method, parts.uri);
        taken.borrow_mut().push(Taken { what, content });
        let mut response = Response::new(Empty::<bytes::Bytes>::new());
        http1::close_unless_certain(ending, response.headers_mut());
        Ok::<_, Infallible>(response)
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a runtime without sockets needs nothing that could be missing");
    let wire = TokioIo::new(Wire { bytes, piece: piece.max(1) });
    let protocol = http1::protocol(limits::HEADER_TIMEOUT);
    // How it ends does not matter here.
    let _ended = runtime.block_on(async { protocol.serve_connection(wire, service).await });
    taken.take()
}

/// A connection whose client has sent all that it will send, and takes every reply.
struct Wire<'a> {
    bytes: &'a [u8],
    piece: usize,
}

impl AsyncRead for Wire<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let most = self.piece.min(buffer.remaining()).min(self.bytes.len());
        let (now, later) = self.bytes.split_at(most);
        buffer.put_slice(now);
        self.bytes = later;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire<'_> {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
