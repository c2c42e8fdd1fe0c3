//! Replies of publishing: their status and fields. What they say is made elsewhere.

use crate::atom::run::Done;
use crate::http::forwarded::Asker;
use crate::http::outgoing::Outgoing;
use crate::http::reply;
use crate::problem::{Kind, Problem};
use bytes::Bytes;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_LOCATION, CONTENT_TYPE, ETAG, HOST, HeaderMap, HeaderName,
    HeaderValue, LAST_MODIFIED, LOCATION, X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use repository::{CommitNumber, Timestamp};

/// A reply.
pub(super) type Reply = Response<Outgoing>;

const ENTRY: HeaderValue = HeaderValue::from_static(wire::atom::ENTRY_TYPE);
const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// What was made.
pub(super) struct Made {
    /// Its path.
    pub path: String,
    pub media_type: &'static str,
    pub text: Bytes,
}

/// 201: it is there, and this is it (RFC 5023 §9.2).
pub(super) fn made(made: Done<Made>, parts: &Parts, asker: &Asker) -> Result<Reply, Problem> {
    let mut reply = Response::new(Outgoing::from(Bytes::new()));
    *reply.status_mut() = StatusCode::CREATED;
    let headers = reply.headers_mut();
    reply::describe_write(made.commit, made.durability, headers);
    headers.insert(ETAG, reply::etag(made.commit));
    let place = value(absolute(&made.value.path, parts, asker))?;
    if is_minimal(parts) {
        headers.insert(LOCATION, place);
        headers.insert(PREFERENCE_APPLIED, HeaderValue::from_static("return=minimal"));
        return Ok(reply);
    }
    headers.insert(LOCATION, place.clone());
    headers.insert(CONTENT_LOCATION, place);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(made.value.media_type));
    *reply.body_mut() = Outgoing::from(made.value.text);
    Ok(reply)
}

/// 200 with the entry as it is now, or 204.
pub(super) fn changed(done: Done<Option<Bytes>>, parts: &Parts) -> Reply {
    let mut reply = Response::new(Outgoing::from(Bytes::new()));
    let headers = reply.headers_mut();
    reply::describe_write(done.commit, done.durability, headers);
    headers.insert(ETAG, reply::etag(done.commit));
    match done.value.filter(|_| !is_minimal(parts)) {
        Some(text) => {
            headers.insert(CONTENT_TYPE, ENTRY);
            *reply.body_mut() = Outgoing::from(text);
        }
        None => {
            if is_minimal(parts) {
                let applied = HeaderValue::from_static("return=minimal");
                headers.insert(PREFERENCE_APPLIED, applied);
            }
            *reply.status_mut() = StatusCode::NO_CONTENT;
        }
    }
    reply
}

/// 204: it is gone.
pub(super) fn deleted(done: &Done<()>) -> Reply {
    let mut reply = Response::new(Outgoing::from(Bytes::new()));
    *reply.status_mut() = StatusCode::NO_CONTENT;
    reply::describe_write(done.commit, done.durability, reply.headers_mut());
    reply
}

/// What is shown.
pub(super) struct Shown {
    /// None: the asker has it already.
    pub text: Option<Bytes>,
    pub media_type: &'static str,
    pub version: CommitNumber,
    pub updated: Timestamp,
}

/// 200, or 304.
pub(super) fn shown(done: Done<Shown>) -> Reply {
    let Done { value: shown, commit, time, .. } = done;
    let mut reply = Response::new(Outgoing::from(Bytes::new()));
    let headers = reply.headers_mut();
    reply::describe_write(commit, None, headers);
    headers.insert(ETAG, reply::etag(shown.version));
    headers.insert(CACHE_CONTROL, REVALIDATE);
    match shown.text {
        Some(text) => {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(shown.media_type));
            headers.insert(LAST_MODIFIED, reply::last_modified(shown.updated, time));
            headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
            *reply.body_mut() = Outgoing::from(text);
        }
        None => *reply.status_mut() = StatusCode::NOT_MODIFIED,
    }
    reply
}

/// 304 of media.
pub(super) fn not_modified(version: Done<CommitNumber>) -> Reply {
    let updated = Timestamp(0);
    shown(version.map(|version| Shown { text: None, media_type: "", version, updated }))
}

/// 204 with the methods.
pub(super) fn options(allow: &'static str) -> Reply {
    let mut reply = Response::new(Outgoing::from(Bytes::new()));
    *reply.status_mut() = StatusCode::NO_CONTENT;
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
    reply
}

/// The method is not for this.
pub(super) fn not_allowed(method: &Method, allow: &'static str) -> Problem {
    let detail = format!("expected {allow}; got {method}");
    let mut problem = Problem::new(Kind::MethodNotAllowed, detail);
    problem.more().allow = Some(allow.to_owned());
    problem
}

/// Where a path is, by the name that the asker calls the server by. Old clients do not resolve a
/// Location that is relative.
pub(super) fn absolute(path: &str, parts: &Parts, asker: &Asker) -> String {
    let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    match host.or_else(|| parts.uri.authority().map(|authority| authority.as_str())) {
        Some(host) => format!("{}://{host}{path}", asker.scheme.as_str()),
        None => path.to_owned(),
    }
}

fn value(text: String) -> Result<HeaderValue, Problem> {
    HeaderValue::try_from(text).map_err(|error| Problem::internal(&error))
}

fn is_minimal(parts: &Parts) -> bool {
    crate::http::wishes::returns(&parts.headers) == crate::operation::Returns::Minimal
}

/// The challenge for clients that know no other (RFC 7617), beside that for tokens.
pub(in crate::http) fn challenge(headers: &mut HeaderMap) {
    const BASIC: HeaderValue =
        HeaderValue::from_static("Basic realm=\"sarsen\", charset=\"UTF-8\"");
    headers.append(hyper::header::WWW_AUTHENTICATE, BASIC);
}
