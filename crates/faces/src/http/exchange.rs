//! One exchange: the walk of a request from its head to its reply. How the bytes travel is in
//! `connection`; what a request means is in `rest`.

use crate::dispatch::{Answer, Call, dispatch};
use crate::http::rest::{self, Route};
use crate::http::{app, body, page, visit};
use crate::problem::Problem;
use crate::reactor::Reactor;
use crate::surface::Template;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use std::cell::Cell;
use std::convert::Infallible;
use std::net::IpAddr;
use std::rc::Rc;

/// Answers a request. `is_unread` is told whether some of its content was left unread.
pub(crate) async fn respond(
    request: Request<Incoming>,
    reactor: Rc<Reactor>,
    is_unread: Rc<Cell<bool>>,
    client: IpAddr,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let mut body = Some(body).filter(|body| !body.is_end_stream());
    let response = visit::respond(parts, &mut body, client, &reactor).await;
    // Whatever takes a body takes it out of the option when it has read it.
    is_unread.set(body.is_some());
    Ok(response)
}

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
    reactor: &Reactor,
) -> Result<Settled, Problem> {
    // Room for the body is kept until the request is done with.
    let (call, _room) = match rest::route(parts, reactor.site())? {
        Route::Options(template) => return Ok(Settled::Options(template)),
        Route::Page(page) => return page::serve(page, parts, reactor).await.map(Settled::Page),
        Route::Operation(operation) => (Call::Native(operation), None),
        Route::Write(write) => {
            let read = body::read(body, reactor).await?;
            (Call::Native(write.with_body(read.bytes, reactor).await?), Some(read.reserved))
        }
        Route::App => {
            let read = body::read(body, reactor).await?;
            (Call::App(app::request(parts, read.bytes)), Some(read.reserved))
        }
    };
    dispatch(call, reactor).await.map(Settled::Answer)
}
