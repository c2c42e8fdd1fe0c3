//! The server's own pages: whether it is well, what it counts, what it can do, and what its
//! problems mean.

use crate::http::forwarded::Asker;
use crate::http::outgoing::Outgoing;
use crate::http::{bearer, openapi, problems};
use crate::observe::{metrics, readiness};
use crate::problem::Problem;
use crate::reactor::Reactor;
use crate::surface::Template;
use bytes::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, VARY};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use std::sync::Arc;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    Health,
    Readiness,
    Metrics,
    /// What can be asked.
    Description,
    /// The list of problems.
    Problems,
    /// One of them, if there is one of that name.
    Problem,
}

impl Page {
    /// The page at `path`.
    pub(crate) fn at(path: &str) -> Option<Self> {
        match path {
            "/healthz" => Some(Self::Health),
            "/readyz" => Some(Self::Readiness),
            "/metrics" => Some(Self::Metrics),
            "/openapi.json" => Some(Self::Description),
            "/errors" | "/errors/" => Some(Self::Problems),
            _ => path.starts_with("/errors/").then_some(Self::Problem),
        }
    }

    pub(crate) fn template(self) -> Template {
        match self {
            Self::Health => Template::Health,
            Self::Readiness => Template::Readiness,
            Self::Metrics => Template::Metrics,
            Self::Description => Template::Description,
            Self::Problems => Template::Problems,
            Self::Problem => Template::Problem,
        }
    }
}

/// What GET gives; to HEAD hyper sends the head of it alone.
pub(crate) async fn serve(
    page: Page,
    parts: &Parts,
    asker: &Asker,
    reactor: &Reactor,
) -> Result<Response<Outgoing>, Problem> {
    match page {
        Page::Health => Ok(fresh(StatusCode::OK, "text/plain; charset=utf-8", "ok\n")),
        Page::Readiness => Ok(ready(parts, asker, reactor)),
        Page::Metrics => {
            let observer = Arc::clone(&reactor.observer);
            let text = reactor.off_thread(move || metrics::text(&observer)).await?;
            Ok(fresh(StatusCode::OK, metrics::MEDIA_TYPE, text))
        }
        Page::Description => Ok(lasting("application/json", openapi::document())),
        Page::Problems | Page::Problem => problem_page(parts),
    }
}

fn ready(parts: &Parts, asker: &Asker, reactor: &Reactor) -> Response<Outgoing> {
    let readiness = readiness::Readiness::check(&reactor.observer);
    let is_known = bearer::recognised(parts, &reactor.guard, asker.address).is_some();
    let status = if readiness.passes() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    fresh(status, readiness::MEDIA_TYPE, readiness.to_json(is_known))
}

fn problem_page(parts: &Parts) -> Result<Response<Outgoing>, Problem> {
    let (media_type, text) = problems::page(parts.uri.path(), &parts.headers)?;
    let mut response = lasting(media_type, text);
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}

/// The same for as long as the program runs.
fn lasting(media_type: &'static str, text: impl Into<Bytes>) -> Response<Outgoing> {
    let mut response = response(StatusCode::OK, media_type, text);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    response
}

/// True now, and perhaps not a moment later.
fn fresh(
    status: StatusCode,
    media_type: &'static str,
    text: impl Into<Bytes>,
) -> Response<Outgoing> {
    let mut response = response(status, media_type, text);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn response(
    status: StatusCode,
    media_type: &'static str,
    text: impl Into<Bytes>,
) -> Response<Outgoing> {
    let mut response = Response::new(Outgoing::from(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
