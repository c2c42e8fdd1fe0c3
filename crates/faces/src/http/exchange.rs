//! One exchange: the walk of a request from its head to its reply. How the bytes travel is in
//! `connection`; what a request means is in `rest`.

use crate::access::Principal;
use crate::dispatch::{Answer, Call, dispatch};
use crate::http::connection::Connection;
use crate::http::forwarded::Asker;
use crate::http::rest::{self, Route};
use crate::http::{app, body, files, framing, live, page};
use crate::problem::Problem;
use crate::surface::Template;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use hyper::body::Incoming;
use hyper::http::request::Parts;

/// What a request came to, before it is written.
pub(crate) enum Settled {
    /// What `dispatch` gave.
    Answer(Answer),
    /// What may be done with these URIs; `None`: with the server as a whole.
    Options(Option<Template>),
    /// One of the server's own pages.
    Page(Response<Full<Bytes>>),
}

pub(super) async fn answer(
    parts: &Parts,
    body: &mut Option<Incoming>,
    (asker, principal, connection): (&Asker, &Principal, &Connection),
) -> Result<Settled, Problem> {
    let reactor = &*connection.reactor;
    if body.is_some() {
        framing::check(&parts.headers)?;
    }
    // Room for the body is kept until the request is done with.
    let (call, _room) = match rest::route(parts, connection.site(asker))? {
        Route::Options(template) => return Ok(Settled::Options(template)),
        Route::Page(page) => {
            return page::serve(page, parts, asker, reactor).await.map(Settled::Page);
        }
        Route::Operation(operation) => (Call::Native(operation), None),
        Route::Write(write) => {
            let read = body::read(body, reactor).await?;
            (Call::Native(write.with_body(read.bytes, reactor).await?), Some(read.reserved))
        }
        Route::App if reactor.live.is_some() && live::owns(parts.uri.path()) => {
            let live = reactor.live.as_ref().ok_or_else(Problem::not_found)?;
            return live::serve(live, parts, (asker, connection)).await.map(Settled::Page);
        }
        Route::App => {
            if let Some(file) = files::answer(parts, reactor).await {
                return file.map(Settled::Page);
            }
            let read = body::read(body, reactor).await?;
            (Call::App(app::request(parts, asker, read.bytes)), Some(read.reserved))
        }
    };
    let caller = || gem::Caller {
        request: app::request(parts, asker, Bytes::new()),
        principal: principal.token_id().map(str::to_owned),
    };
    dispatch(call, caller, reactor).await.map(Settled::Answer)
}
