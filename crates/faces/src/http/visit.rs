//! A visit: what happens around every request, whatever it is for. Who asks is found out and
//! whether they may; the server's own pages are served; and what it came to is counted and, where
//! there is an access log, written down. What a request means is in `rest`.

use crate::access::{Need, Principal};
use crate::http::connection::Connection;
use crate::http::forwarded::{self, Asker};
use crate::http::{bearer, exchange, path, reply, wishes};
use crate::limits;
use crate::observe::access_log::Entry;
use crate::observe::{Kind, Method, Visit, request};
use crate::problem::{self, Problem};
use crate::reactor::Reactor;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::header::{CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper::http::request::Parts;
use hyper::{Response, Uri, Version};
use std::borrow::Cow;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Answers a request. `body` is taken out when it has been read to its end.
pub(crate) async fn respond(
    mut parts: Parts,
    body: &mut Option<Incoming>,
    connection: &Connection,
) -> Response<Full<Bytes>> {
    let begun = Instant::now();
    let reactor = &*connection.reactor;
    let asker = forwarded::asker(&mut parts, connection);
    let client = asker.as_ref().map_or(connection.peer.ip(), |asker| asker.address);
    let visit = Visit { kind: Kind::of(parts.uri.path()), method: Method::of(&parts.method) };
    let described = reactor.log.is_on().then(|| Described::of(&parts, client));
    let id = request::id(&parts.headers).cloned();
    let grant = reactor.origins.grant(&parts);
    let admitted = asker.and_then(|asker| Ok((asker, admit(&parts, visit, client, reactor)?)));
    let (mut response, holder) = match admitted {
        Ok((asker, principal)) => {
            let from = (&asker, connection);
            (settle(parts, body, (visit, &principal), from).await, principal.holder())
        }
        Err(problem) => (reply::write(Err(problem), parts), None),
    };
    if holder.is_some() {
        keep_private(response.headers_mut());
    }
    grant.add(response.headers_mut());
    if let Some(id) = id {
        response.headers_mut().insert(request::X_REQUEST_ID, id);
    }
    let took = begun.elapsed();
    reactor.meter.count(visit, response.status(), took);
    if let Some(described) = described {
        described.write(&response, holder.as_ref().map(|token| token.id.as_str()), took, reactor);
    }
    response
}

/// Finds out who asks, and whether they may. What needs no token is asked by anyone.
fn admit(
    parts: &Parts,
    visit: Visit,
    client: IpAddr,
    reactor: &Reactor,
) -> Result<Principal, Problem> {
    let guarded = match visit.kind {
        // A browser asks what may be done before it sends a token along (Fetch, "CORS-preflight").
        _ if visit.method == Method::Options => return Ok(Principal::Anyone),
        Kind::Document | Kind::Collection => Some(need(visit)),
        Kind::Collections | Kind::Transaction | Kind::Metrics => None,
        _ => return Ok(Principal::Anyone),
    };
    let principal = bearer::principal(parts, &reactor.guard, client)?;
    if matches!(principal, Principal::Anyone) {
        return Ok(principal);
    }
    match guarded {
        Some(need) => {
            // A path that names nothing says so itself.
            if let Some(collection) = collection(parts.uri.path()) {
                principal.require(&collection, need)?;
            }
        }
        None if visit.kind == Kind::Metrics => principal.require_all()?,
        // Each collection, or operation, is looked at by itself, further on.
        None => {}
    }
    Ok(principal)
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
    body: &mut Option<Incoming>,
    (visit, principal): (Visit, &Principal),
    from: (&Asker, &Connection),
) -> Response<Full<Bytes>> {
    let is_read = matches!(visit.method, Method::Get | Method::Head);
    let is_named = !is_read && parts.headers.contains_key(wishes::IDEMPOTENCY_KEY);
    if is_named || matches!(visit.kind, Kind::Collections | Kind::Transaction) {
        parts.extensions.insert(principal.clone());
    }
    let (_, connection) = from;
    let settled = exchange::answer(&parts, body, from).await;
    let response = reply::write(settled, parts);
    let bytes = response.body().size_hint().exact().unwrap_or(0);
    if bytes <= limits::REPLY_UNCOUNTED_BYTES_MAX as u64 || visit.method == Method::Head {
        return response;
    }
    counted(response, visit.method == Method::Get, connection)
}

/// Counts a reply that is large enough to matter while it is sent. One that can be refused is, when
/// there are too many.
fn counted(
    response: Response<Full<Bytes>>,
    may_refuse: bool,
    connection: &Connection,
) -> Response<Full<Bytes>> {
    let (head, body) = response.into_parts();
    let body = body.into_inner().unwrap_or_default();
    match connection.reactor.replies.count(body, !may_refuse) {
        Ok(body) => Response::from_parts(head, Full::new(body)),
        Err(_) => {
            let detail = "too many replies wait for clients that take them slowly; try again";
            let mut headers = head.headers;
            headers.clear();
            reply::problem(Problem::new(problem::Kind::Busy, detail), headers)
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

    fn write(
        &self,
        response: &Response<Full<Bytes>>,
        principal: Option<&str>,
        took: Duration,
        reactor: &Reactor,
    ) {
        let is_head = self.method == hyper::Method::HEAD;
        let bytes = response.body().size_hint().exact().filter(|_| !is_head);
        reactor.log.write(&Entry {
            client: self.client,
            method: self.method.as_str(),
            path: self.uri.path(),
            protocol: protocol(self.version),
            status: response.status().as_u16(),
            bytes: bytes.unwrap_or(0),
            took,
            commit: response.headers().get(SARSEN_COMMIT).map(HeaderValue::as_bytes),
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
