//! A visit: what happens around every request, whatever it is for. Who asks is found out and
//! whether they may; the server's own pages are served; and what it came to is counted and, where
//! there is an access log, written down. What a request means is in `rest`.

use crate::access::{Need, Principal};
use crate::http::connection::Connection;
use crate::http::forwarded::{self, Asker};
use crate::http::framing::Framed;
use crate::http::outgoing::Outgoing;
use crate::http::{atom, basic, bearer, exchange, live, path, reply, wishes};
use crate::limits;
use crate::live::Live;
use crate::observe::access_log::Entry;
use crate::observe::{Kind, Method, Visit, request};
use crate::problem::Problem;
use crate::reactor::Reactor;
use hyper::header::{CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper::http::request::Parts;
use hyper::{Response, Uri, Version};
use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Answers a request. `body` is taken out when it has been read to its end.
pub(crate) async fn respond(
    mut parts: Parts,
    body: &mut Option<Framed>,
    connection: &Connection,
) -> Response<Outgoing> {
    let begun = Instant::now();
    let reactor = &*connection.reactor;
    let asker = forwarded::asker(&mut parts, connection);
    let client = asker.as_ref().map_or(connection.peer.ip(), |asker| asker.address);
    let visit = Visit { kind: Kind::of(parts.uri.path()), method: Method::of(&parts.method) };
    let described = reactor.log.is_on().then(|| Described::of(&parts, client));
    let id = request::id(&parts.headers).cloned();
    let grant = reactor.origins.grant(&parts);
    let principal = Principal::Anyone;
    let mut note = Note { reactor, visit, begun, described, principal, is_answered: false };
    let admitted = asker.and_then(|asker| {
        note.principal = identify(&parts, visit, client, reactor)?;
        admit(&note.principal, visit, parts.uri.path())?;
        Ok(asker)
    });
    let response = match admitted {
        Ok(asker) => settle(parts, body, (visit, &note.principal), (&asker, connection)).await,
        Err(problem) => reply::write(Err(problem), parts),
    };
    let mut response = counted(response, visit.method, reactor);
    if note.principal.token_id().is_some() {
        keep_private(response.headers_mut());
    }
    if visit.kind == Kind::Atom && response.status() == hyper::StatusCode::UNAUTHORIZED {
        atom::challenge(response.headers_mut());
    }
    grant.add(response.headers_mut());
    if let Some(id) = id {
        response.headers_mut().insert(request::X_REQUEST_ID, id);
    }
    note.answered(&response);
    response
}

/// Finds out who asks. What needs no token is asked by anyone.
fn identify(
    parts: &Parts,
    visit: Visit,
    client: IpAddr,
    reactor: &Reactor,
) -> Result<Principal, Problem> {
    match visit.kind {
        // A browser asks what may be done before it sends a token along (Fetch, "CORS-preflight").
        _ if visit.method == Method::Options => Ok(Principal::Anyone),
        Kind::Document
        | Kind::Collection
        | Kind::Collections
        | Kind::Transaction
        | Kind::Feed
        | Kind::Metrics => bearer::principal(parts, &reactor.guard, client),
        Kind::Atom => basic::principal(parts, &reactor.guard, client),
        _ => Ok(Principal::Anyone),
    }
}

/// Whether the principal may ask for this.
fn admit(principal: &Principal, visit: Visit, path: &str) -> Result<(), Problem> {
    if matches!(principal, Principal::Anyone) {
        return Ok(());
    }
    match visit.kind {
        // A path that names nothing says so itself.
        Kind::Document | Kind::Collection => match collection(path) {
            Some(collection) => principal.require(&collection, need(visit)),
            None => Ok(()),
        },
        Kind::Metrics => principal.require_all(),
        // Each collection, or operation, is looked at by itself, further on.
        _ => Ok(()),
    }
}

/// What a method needs of the collection: its settings are an administrator's.
fn need(visit: Visit) -> Need {
    match (visit.kind, visit.method) {
        (_, Method::Get | Method::Head | Method::Options) => Need::Read,
        (Kind::Collection, Method::Put | Method::Patch | Method::Delete) => Need::Admin,
        _ => Need::Write,
    }
}

/// The collection of a path below `/db/`. As names are written, it is there as it is.
fn collection(path: &str) -> Option<Cow<'_, str>> {
    let segment = path.strip_prefix("/db/")?.split('/').next()?;
    if !segment.contains('%') {
        return Some(Cow::Borrowed(segment));
    }
    match path::locate(path).ok()? {
        path::Resource::Document(place) => Some(place.collection.to_string().into()),
        path::Resource::Collection(name) => Some(name.to_string().into()),
        _ => None,
    }
}

async fn settle(
    mut parts: Parts,
    body: &mut Option<Framed>,
    (visit, principal): (Visit, &Principal),
    from: (&Asker, &Connection),
) -> Response<Outgoing> {
    let is_read = matches!(visit.method, Method::Get | Method::Head);
    let is_named = !is_read && parts.headers.contains_key(wishes::IDEMPOTENCY_KEY);
    let looks_again = matches!(visit.kind, Kind::Collections | Kind::Transaction);
    if is_named || looks_again {
        parts.extensions.insert(principal.clone());
    }
    let (asker, connection) = from;
    // As it was when the request came: what is made during a change is to be loaded again.
    let live = connection.reactor.live.as_ref().filter(|_| visit.kind == Kind::Other);
    let served = live.map(Live::served_id);
    let settled = exchange::answer(&parts, body, (asker, principal, connection)).await;
    let mut response = reply::write(settled, parts);
    if let Some(served) = served {
        live::inject(&mut response, &served);
    }
    response
}

/// Counts a reply that is large enough to matter while it is sent, whatever it is. One that can be
/// refused is, when there are too many.
fn counted(response: Response<Outgoing>, method: Method, reactor: &Reactor) -> Response<Outgoing> {
    let is_large = match response.body() {
        Outgoing::Whole(bytes) => bytes.len() > limits::REPLY_UNCOUNTED_BYTES_MAX,
        // Counted piece by piece where it is made.
        Outgoing::Pieces(_) => false,
    };
    if !is_large || method == Method::Head {
        return response;
    }
    let (head, body) = response.into_parts();
    match reactor.replies.count(body.into_whole(), method != Method::Get) {
        Ok(body) => Response::from_parts(head, Outgoing::from(body)),
        Err(too_many) => {
            let mut headers = head.headers;
            headers.clear();
            reply::problem(too_many.into(), headers)
        }
    }
}

/// A reply to a request with a token is for whoever sent it. Caches that others share keep to that
/// without being told (RFC 9111 §3.5); this tells those that do not.
fn keep_private(headers: &mut HeaderMap) {
    const PRIVATE: HeaderValue = HeaderValue::from_static("private");
    const PRIVATE_REVALIDATE: HeaderValue = HeaderValue::from_static("private, no-cache");
    match headers.get(CACHE_CONTROL).map(HeaderValue::as_bytes) {
        None => headers.insert(CACHE_CONTROL, PRIVATE),
        Some(b"no-cache") => headers.insert(CACHE_CONTROL, PRIVATE_REVALIDATE),
        Some(_) => None,
    };
}

/// What is noted of a request. Dropped before the request is answered, it notes that its client has
/// gone: what the request had changed by then stays changed, so it is not to vanish from the log.
struct Note<'a> {
    reactor: &'a Reactor,
    visit: Visit,
    begun: Instant,
    described: Option<Described>,
    principal: Principal,
    is_answered: bool,
}

impl Note<'_> {
    fn answered(mut self, response: &Response<Outgoing>) {
        self.is_answered = true;
        let took = self.begun.elapsed();
        self.reactor.meter.count(self.visit, response.status(), took);
        let Some(described) = &self.described else { return };
        let bytes = response.body().left().unwrap_or(0);
        let end = End {
            status: response.status().as_u16(),
            bytes: if self.visit.method == Method::Head { 0 } else { bytes },
            commit: response.headers().get(SARSEN_COMMIT),
            took,
        };
        described.write(&end, self.principal.token_id(), self.reactor);
    }
}

impl Drop for Note<'_> {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        self.reactor.meter.abandoned.fetch_add(1, Ordering::Relaxed);
        if let Some(described) = &self.described {
            let (status, took) = (STATUS_ABANDONED, self.begun.elapsed());
            let end = End { status, bytes: 0, commit: None, took };
            described.write(&end, self.principal.token_id(), self.reactor);
        }
    }
}

/// In the access log: the client went before there was a reply. No reply has it; nginx's logs have
/// made it known.
const STATUS_ABANDONED: u16 = 499;

/// How a request ended.
struct End<'a> {
    status: u16,
    bytes: u64,
    commit: Option<&'a HeaderValue>,
    took: Duration,
}

/// What the access log says of a request, kept until it is answered.
struct Described {
    client: IpAddr,
    method: hyper::Method,
    uri: Uri,
    version: Version,
    user_agent: Option<HeaderValue>,
    request_id: Option<HeaderValue>,
    trace: Option<String>,
}

const SARSEN_COMMIT: HeaderName = HeaderName::from_static("sarsen-commit");

impl Described {
    fn of(parts: &Parts, client: IpAddr) -> Self {
        Self {
            client,
            method: parts.method.clone(),
            uri: parts.uri.clone(),
            version: parts.version,
            user_agent: parts.headers.get(USER_AGENT).cloned(),
            request_id: request::id(&parts.headers).cloned(),
            trace: request::trace(&parts.headers).map(str::to_owned),
        }
    }

    fn write(&self, end: &End<'_>, principal: Option<&str>, reactor: &Reactor) {
        reactor.log.write(&Entry {
            client: self.client,
            method: self.method.as_str(),
            path: self.uri.path(),
            protocol: protocol(self.version),
            status: end.status,
            bytes: end.bytes,
            took: end.took,
            commit: end.commit.map(HeaderValue::as_bytes),
            principal,
            user_agent: self.user_agent.as_ref().map(HeaderValue::as_bytes),
            request_id: self.request_id.as_ref().map(HeaderValue::as_bytes),
            trace: self.trace.as_deref(),
        });
    }
}

fn protocol(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2",
        _ => "HTTP/1.1",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc9111_3_5_a_reply_to_a_token_is_private() {
        for (before, after) in [
            (None, "private"),
            (Some("no-cache"), "private, no-cache"),
            (Some("no-store"), "no-store"),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(before) = before {
                headers.insert(CACHE_CONTROL, HeaderValue::from_static(before));
            }
            keep_private(&mut headers);
            assert_eq!(headers.get(CACHE_CONTROL).unwrap(), after);
        }
    }

    #[test]
    fn what_each_method_needs() {
        let of = |kind, method| need(Visit { kind, method });
        for method in [Method::Get, Method::Head] {
            assert_eq!(of(Kind::Document, method), Need::Read);
            assert_eq!(of(Kind::Collection, method), Need::Read);
        }
        for method in [Method::Put, Method::Patch, Method::Delete, Method::Post, Method::Other] {
            assert_eq!(of(Kind::Document, method), Need::Write);
        }
        assert_eq!(of(Kind::Collection, Method::Post), Need::Write);
        for method in [Method::Put, Method::Patch, Method::Delete] {
            assert_eq!(of(Kind::Collection, method), Need::Admin);
        }
    }
}
