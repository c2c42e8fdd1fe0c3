//! Responses: status, header fields and body of every answer and problem.

mod list;

use crate::dispatch::Answer;
use crate::http::exchange::Settled;
use crate::http::outgoing::Outgoing;
use crate::http::path::Resource;
use crate::http::{app, failure, path};
use crate::operation::{Executed, Granted, Outcome, Written};
use crate::preconditions;
use crate::problem::{Kind, Problem};
use crate::status;
use crate::surface::{SERVER_METHODS, Template};
use bytes::Bytes;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_LOCATION, CONTENT_RANGE,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, LAST_MODIFIED,
    LINK, LOCATION, REFERRER_POLICY, RETRY_AFTER, VARY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode, Uri};
use query::Listed;
use repository::{CommitNumber, Document, Durability, MediaType, Timestamp};
use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Writes what the request came to. Its header map is used for the reply: hyper parses the next
/// request into the header map of this reply, so that saves an allocation each time.
///
/// A reply to HEAD is the same: hyper sends its head alone.
pub(crate) fn write(settled: Result<Settled, Problem>, parts: Parts) -> Response<Outgoing> {
    if let Err(Problem { more: Some(more), .. }) = &settled
        && more.failed.is_some()
    {
        return failed(settled.err().expect("it was looked at"), &parts);
    }
    let Parts { uri, headers: mut recycled, .. } = parts;
    recycled.clear();
    match settled {
        Ok(Settled::Answer(Answer::Native(executed))) => native(executed, &uri, recycled),
        Ok(Settled::Answer(Answer::App(reply))) => {
            app::response(reply, recycled).unwrap_or_else(|p| problem(p, HeaderMap::new()))
        }
        Ok(Settled::Page(response)) => explained(response),
        Ok(Settled::Options(template)) => options(template, recycled),
        Err(failed) => problem(failed, recycled),
    }
}

fn response(status: StatusCode, headers: HeaderMap, body: Bytes) -> Response<Outgoing> {
    let mut response = Response::new(Outgoing::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

fn native(executed: Executed, uri: &Uri, mut headers: HeaderMap) -> Response<Outgoing> {
    let Executed { outcome, commit, time, durability } = executed;
    let status = status::of(&outcome);
    if let Some(commit) = commit {
        headers.insert(SARSEN_COMMIT, number(commit));
    }
    if let Some(durability) = durability {
        headers.insert(SARSEN_DURABILITY, HeaderValue::from_static(level(durability)));
    }
    let body = match outcome {
        Outcome::Found(document) => found(&document, time, &mut headers),
        Outcome::FoundBlob(..) => unreachable!("it is sent by `download`"),
        Outcome::NotModified { version } => {
            headers.insert(ETAG, etag(version));
            headers.insert(CACHE_CONTROL, REVALIDATE);
            Bytes::new()
        }
        Outcome::Written(done) => written(&done, (commit, uri), &mut headers),
        Outcome::Absent | Outcome::Deleted => Bytes::new(),
        Outcome::Page(page) => listed_page(page, &mut headers),
        Outcome::Listed(outcomes) => {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            list::write(&outcomes, commit).into()
        }
    };
    response(status, headers, body)
}

/// A reply to PUT has the new version's tag even where JSON was stored in canonical form and not
/// byte for byte as it came, which RFC 9110 §9.3.4 would not have: without it no client could make
/// its next change conditional on this one without another request.
fn written(
    written: &Written,
    (commit, uri): (Option<CommitNumber>, &Uri),
    headers: &mut HeaderMap,
) -> Bytes {
    if let Some(version) = written.version.known(commit) {
        headers.insert(ETAG, etag(version));
    }
    let made_at = written.made_at.as_ref().map(|place| location(&path::of(place)));
    if let Some(location) = &made_at {
        headers.insert(LOCATION, location.clone());
    }
    if let Some(granted) = written.granted {
        headers.insert(PREFERENCE_APPLIED, applied(granted));
    }
    let Some(document) = &written.shown else { return Bytes::new() };
    describe(&document.media_type, headers);
    // RFC 9110 §8.7: without it the content would be taken for a report on the request.
    headers.insert(CONTENT_LOCATION, made_at.unwrap_or_else(|| content_location(uri)));
    document.body.clone()
}

/// Where what was written can be read. The settings of a collection are not what its own URI gives.
fn content_location(uri: &Uri) -> HeaderValue {
    match path::locate(uri.path()) {
        Ok(Resource::Document(place)) => location(&path::of(&place)),
        Ok(Resource::Collection(name)) => location(&format!("/db/{name}?settings")),
        _ => location(uri.path()),
    }
}

/// The fields of a reply that shows a commit, and of one that made it.
pub(super) fn describe_write(
    commit: CommitNumber,
    durability: Option<Durability>,
    headers: &mut HeaderMap,
) {
    headers.insert(SARSEN_COMMIT, number(commit));
    if let Some(durability) = durability {
        headers.insert(SARSEN_DURABILITY, HeaderValue::from_static(level(durability)));
    }
}

/// RFC 7240 §3.
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

fn applied(granted: Granted) -> HeaderValue {
    HeaderValue::from_static(match granted {
        Granted::Minimal => "return=minimal",
        Granted::Representation => "return=representation",
    })
}

/// The commit that a reply shows: its own, or that of the view that it was read on.
const SARSEN_COMMIT: HeaderName = HeaderName::from_static("sarsen-commit");

/// What a reply to a write promises.
const SARSEN_DURABILITY: HeaderName = HeaderName::from_static("sarsen-durability");

fn level(durability: Durability) -> &'static str {
    match durability {
        Durability::Synced => "synced",
        Durability::Written => "written",
        Durability::Volatile => "volatile",
    }
}

/// A cache may keep the document but has to ask whether it is still the newest. With Last-Modified
/// alone it might guess (RFC 9111 §4.2.2).
const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");

/// The fields of a reply that shows a document, read on a view of `time`.
pub(super) fn describe_found(
    document: &Document,
    (commit, time): (Option<CommitNumber>, Timestamp),
    headers: &mut HeaderMap,
) {
    if let Some(commit) = commit {
        headers.insert(SARSEN_COMMIT, number(commit));
    }
    found(document, time, headers);
}

fn found(document: &Document, time: Timestamp, headers: &mut HeaderMap) -> Bytes {
    describe(&document.media_type, headers);
    headers.insert(ETAG, etag(document.version));
    headers.insert(LAST_MODIFIED, last_modified(document.updated, time));
    headers.insert(CACHE_CONTROL, REVALIDATE);
    document.body.clone()
}

/// RFC 8288: where the next page is.
fn listed_page(page: Listed, headers: &mut HeaderMap) -> Bytes {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, REVALIDATE);
    if let Some(next) = page.next {
        headers.insert(LINK, location(&format!("<{next}>; rel=\"next\"")));
    }
    page.body
}

/// A media type came in as a header field, or from the application's code as any text at all.
///
/// What is not JSON a browser may run as a page (HTML, SVG, XML), and it would run here, where the
/// application's sessions are. So it is told to take the bytes for what they are said to be (the
/// Fetch standard, "X-Content-Type-Options"), and to give a page of them no scripts and no origin
/// (Content Security Policy 3, "sandbox"). JSON is never run.
fn describe(media_type: &MediaType, headers: &mut HeaderMap) {
    const JSON: HeaderValue = HeaderValue::from_static("application/json");
    const UNKNOWN: HeaderValue = HeaderValue::from_static("application/octet-stream");
    let MediaType::Other(name) = media_type else {
        headers.insert(CONTENT_TYPE, JSON);
        return;
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_str(name).unwrap_or(UNKNOWN));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
}

fn number(number: CommitNumber) -> HeaderValue {
    number.0.into()
}

/// A strong entity tag: the version in quotes.
pub(super) fn etag(version: CommitNumber) -> HeaderValue {
    // Long enough for the quotes and the 20 digits of the largest number.
    let mut text = [0; 22];
    let mut rest = &mut text[..];
    write!(rest, "\"{version}\"").expect("the buffer has room for every version");
    let left = rest.len();
    HeaderValue::from_bytes(&text[..text.len() - left]).expect("digits and quotes are allowed")
}

/// What a reply that was read at `seen` tells of what was written at `updated`. Never later than
/// the machine's clock, which Date tells (RFC 9110 §8.8.2.1): that may have been set back since.
pub(super) fn last_modified(updated: Timestamp, seen: Timestamp) -> HeaderValue {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    // The last second of the year 9999: HTTP dates have no later one.
    const LAST_S: u64 = 253_402_300_799;
    let second = preconditions::last_modified_s(updated, seen).min(LAST_S).min(now);
    let time = UNIX_EPOCH + Duration::from_secs(second);
    let text = httpdate::fmt_http_date(time);
    HeaderValue::try_from(text).expect("a date is printable ASCII")
}

fn location(path: &str) -> HeaderValue {
    HeaderValue::try_from(path).expect("a path is printable ASCII")
}

fn options(template: Option<Template>, mut headers: HeaderMap) -> Response<Outgoing> {
    let allow = template.map_or_else(|| SERVER_METHODS.to_owned(), Template::allow);
    headers.insert(ALLOW, listed(allow));
    if let Some(accepts) = template.map(|t| t.accepts(&Method::PATCH)).filter(|a| !a.is_empty()) {
        headers.insert(ACCEPT_PATCH, listed(accepts));
    }
    response(StatusCode::NO_CONTENT, headers, Bytes::new())
}

/// RFC 5789 §3.1.
const ACCEPT_PATCH: HeaderName = HeaderName::from_static("accept-patch");

fn listed(list: String) -> HeaderValue {
    HeaderValue::try_from(list).expect("the surface's table is printable ASCII")
}

/// A failure of the application: a browser gets a page, all others the problem.
fn failed(failed: Problem, parts: &Parts) -> Response<Outgoing> {
    const VARY_ACCEPT: HeaderValue = HeaderValue::from_static("Accept");
    const POLICY: HeaderValue = HeaderValue::from_static(failure::CONTENT_SECURITY_POLICY);
    let report = failed.more.as_ref().and_then(|more| more.failed.as_ref());
    let page = report
        .filter(|_| failure::wants_page(&parts.headers))
        .map(|(report, developing)| failure::page(&failed, report, developing.then_some(parts)));
    let mut response = problem(failed, HeaderMap::new());
    let headers = response.headers_mut();
    headers.insert(VARY, VARY_ACCEPT);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(page) = page {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(CONTENT_SECURITY_POLICY, POLICY);
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        *response.body_mut() = Outgoing::from(page);
    }
    response
}

/// Says why a range cannot be had, whatever it is of. Content-Range and what else the reply says of
/// the whole stays (RFC 9110 §15.5.17).
fn explained(response: Response<Outgoing>) -> Response<Outgoing> {
    let is_told = response.body().left() != Some(0);
    if response.status() != StatusCode::RANGE_NOT_SATISFIABLE || is_told {
        return response;
    }
    let (head, _) = response.into_parts();
    let range = head.headers.get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
    let length = range.and_then(|range| range.strip_prefix("bytes */")).unwrap_or("fewer");
    let detail = format!("there are {length} bytes, and none of them in the range");
    problem(Problem::new(Kind::RangeNotSatisfiable, detail), head.headers)
}

pub(super) fn problem(problem: Problem, mut headers: HeaderMap) -> Response<Outgoing> {
    let status = StatusCode::from_u16(problem.status())
        .expect("the table has statuses of 400 to 599 only, which a test checks, services 4xx");
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    if let Some(seconds) = problem.kind.retry_after_s() {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    if let Some(challenge) = problem.kind.challenge() {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    if problem.kind.closes() {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let body = problem.to_json().into();
    if let Some(more) = problem.more {
        let fields =
            [(ALLOW, more.allow), (ACCEPT, more.accept), (ACCEPT_PATCH, more.accept_patch)];
        for (name, list) in fields {
            list.map(|list| headers.insert(name, listed(list)));
        }
        if let Some(codings) = more.accept_encoding {
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(codings));
        }
        if more.varies_by_accept {
            headers.insert(VARY, HeaderValue::from_static("Accept"));
        }
        more.commit.map(|commit| headers.insert(SARSEN_COMMIT, number(commit)));
    }
    response(status, headers, body)
}
