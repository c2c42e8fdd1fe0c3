//! The files of the application's `public/` as HTTP: which part of which representation a client
//! gets (RFC 9110 §8 to §15), and how long it may keep it. Reading them is `gem::Files`' affair.
//!
//! A file is there for GET and HEAD, and goes before the application's routes; all other methods
//! are the application's. There is no Last-Modified: the tag tells more, for it depends on the
//! bytes alone, where the time of a file changes with every copy of it. So the conditions on dates
//! are ignored, as RFC 9110 §13.1.3 and §13.1.4 ask.

pub(super) mod coding;
mod tags;

use crate::http::outgoing::Outgoing;
use crate::http::range::{self, Wanted};
use crate::problem::{Kind, Problem};
use crate::reactor::Reactor;
use bytes::Bytes;
use gem::{Coding, File, Found};
use hyper::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap,
    HeaderValue, IF_MATCH, IF_NONE_MATCH, LOCATION, RANGE, VARY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use std::sync::Arc;
use tags::Tag;

/// The answer to a request for a file; `None`: there is none, and the application may answer.
pub(super) async fn answer(
    parts: &Parts,
    reactor: &Reactor,
) -> Option<Result<Response<Outgoing>, Problem>> {
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        return None;
    }
    let path = parts.uri.path();
    let found = reactor.app.as_ref()?.with(|app| match app.files().find(path)? {
        Found::File(file) => Some(Some(Arc::clone(file))),
        Found::Folder => Some(None),
    })?;
    Some(match found {
        Some(file) => serve(file, parts, reactor).await,
        None => Ok(to_folder(parts)),
    })
}

/// To the same path with a slash at its end, from where the links in the index lead to its
/// neighbours. The path is one that is known, so this leads nowhere else.
fn to_folder(parts: &Parts) -> Response<Outgoing> {
    let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let location = format!("{}/{query}", parts.uri.path());
    let location = HeaderValue::try_from(location).expect("a URI is printable ASCII");
    let mut response = Response::new(Outgoing::default());
    *response.status_mut() = StatusCode::FOUND;
    response.headers_mut().insert(LOCATION, location);
    response.headers_mut().insert(CACHE_CONTROL, REVALIDATE);
    response
}

/// A cache may keep it and has to ask each time whether it is still that.
const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");

/// The URL holds the hash of the content, so at that URL it never changes (RFC 8246).
const FOREVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

async fn serve(
    file: Arc<File>,
    parts: &Parts,
    reactor: &Reactor,
) -> Result<Response<Outgoing>, Problem> {
    if reactor.live.is_some() && file.media_type.starts_with("text/html") {
        return Ok(live_page(&file));
    }
    let headers = &parts.headers;
    let range = headers.get(RANGE).filter(|_| parts.method == Method::GET);
    let codings = if file.is_codable() { coding::accepted(headers) } else { Vec::new() };
    let tag = |coding| Tag { hash: &file.hash, coding };
    let tags = || codings.iter().copied().map(Some).chain([None]).map(tag);
    if headers.contains_key(IF_MATCH) && !tags().any(|tag| tag.is_listed(headers, IF_MATCH)) {
        let detail = "the file is not what If-Match says; ask again without it";
        return Err(Problem::new(Kind::PreconditionFailed, detail));
    }
    if headers.contains_key(IF_NONE_MATCH)
        && let Some(tag) = tags().find(|tag| tag.is_listed(headers, IF_NONE_MATCH))
    {
        let mut response = Response::new(Outgoing::default());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response.headers_mut().insert(ETAG, tag.value());
        described(&file, parts, response.headers_mut());
        return Ok(response);
    }
    // A part is one of the file as it is: who has the first half of a coded one asks with If-Range,
    // and then gets the whole.
    let coded = match range {
        Some(_) => None,
        None => coded(&file, &codings, reactor).await?,
    };
    let wanted = range::asked(parts, Some(&tag(None).value()), file.bytes.len());
    let mut response = content(&file, wanted, coded);
    described(&file, parts, response.headers_mut());
    Ok(response)
}

/// The file in the best coding that makes it smaller. The first time it is compressed, on another
/// thread.
async fn coded(
    file: &Arc<File>,
    codings: &[Coding],
    reactor: &Reactor,
) -> Result<Option<(Coding, Bytes)>, Problem> {
    for &coding in codings {
        let coded = match file.coded_already(coding) {
            Some(coded) => coded,
            None => {
                let file = Arc::clone(file);
                reactor.off_thread(move || file.coded(coding)).await?
            }
        };
        if let Some(bytes) = coded {
            return Ok(Some((coding, bytes)));
        }
    }
    Ok(None)
}

/// A page while its application is edited: always the whole as it is, since a script is added to it
/// that names what is served.
fn live_page(file: &File) -> Response<Outgoing> {
    let mut response = Response::new(Outgoing::from(file.bytes.clone()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(file.media_type));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Status and content, with what describes the content.
fn content(file: &File, wanted: Wanted, coded: Option<(Coding, Bytes)>) -> Response<Outgoing> {
    let (bytes, coding) = match coded {
        Some((coding, bytes)) => (bytes, Some(coding)),
        None => (file.bytes.clone(), None),
    };
    let length = bytes.len();
    let (status, body, range) = match wanted {
        Wanted::Whole => (StatusCode::OK, bytes, None),
        Wanted::Part(part) => {
            let range = format!("bytes {}-{}/{length}", part.start, part.end - 1);
            (StatusCode::PARTIAL_CONTENT, bytes.slice(part), Some(range))
        }
        Wanted::Nothing => {
            let range = Some(format!("bytes */{length}"));
            (StatusCode::RANGE_NOT_SATISFIABLE, Bytes::new(), range)
        }
    };
    let mut response = Response::new(Outgoing::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if let Some(range) = range {
        let range = HeaderValue::try_from(range).expect("digits and signs are allowed");
        headers.insert(CONTENT_RANGE, range);
    }
    if status == StatusCode::RANGE_NOT_SATISFIABLE {
        return response;
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(file.media_type));
    headers.insert(ETAG, Tag { hash: &file.hash, coding }.value());
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if let Some(coding) = coding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    }
    response
}

/// What every reply about a file says.
fn described(file: &File, parts: &Parts, headers: &mut HeaderMap) {
    let asked = parts.uri.query().and_then(|query| query.strip_prefix("v="));
    let is_named = asked.is_some_and(|version| *version == *file.hash);
    headers.insert(CACHE_CONTROL, if is_named { FOREVER } else { REVALIDATE });
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if file.is_codable() {
        headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
}
