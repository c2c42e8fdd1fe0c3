//! One exchange: the walk of a request from its head to its reply. How the bytes travel is in
//! `connection`; what a request means is in `rest`.

use crate::access::Principal;
use crate::dispatch::{Answer, Call, dispatch};
use crate::http::connection::Connection;
use crate::http::forwarded::Asker;
use crate::http::framing::Framed;
use crate::http::outgoing::Outgoing;
use crate::http::rest::{self, Route};
use crate::http::upload::{self, Arrived, Received};
use crate::http::{app, atom, body, download, feed, files, framing, live, page};
use crate::operation::{Executed, Outcome};
use crate::problem::Problem;
use crate::reactor::Reactor;
use crate::surface::Template;
use bytes::Bytes;
use hyper::Response;
use hyper::http::request::Parts;
use repository::MediaType;

/// What a request came to, before it is written.
pub(crate) enum Settled {
    /// What `dispatch` gave.
    Answer(Answer),
    /// What may be done with these URIs; `None`: with the server as a whole.
    Options(Option<Template>),
    /// One of the server's own pages.
    Page(Response<Outgoing>),
}

pub(super) async fn answer(
    parts: &Parts,
    body: &mut Option<Framed>,
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
        Route::Feed(wanted) => {
            let who = (principal, asker.address);
            return feed::serve(wanted, parts, who, &connection.reactor).await.map(Settled::Page);
        }
        Route::Operation(operation) => (Call::Native(operation), None),
        Route::Write(write) if write.is_upload() => {
            let Received { content, reserved } = upload::read(body, reactor).await?;
            let operation = match content {
                Arrived::Bytes(bytes) => write.with_body(bytes, reactor).await?,
                Arrived::Blob(blob) => write.with_blob(blob)?,
            };
            (Call::Native(operation), Some(reserved))
        }
        Route::Write(write) => {
            let read = body::read(body, reactor).await?;
            (Call::Native(write.with_body(read.bytes, reactor).await?), Some(read.reserved))
        }
        Route::Atom => {
            if !parts.method.is_safe() {
                reactor.replies.check_change()?;
            }
            let request = atom::Request { parts, asker, principal, reactor };
            return atom::serve(request, body).await.map(Settled::Page);
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
    if !parts.method.is_safe() {
        reactor.replies.check_change()?;
    }
    settle(dispatch(call, caller, reactor).await?, parts, reactor).await
}

/// What streams is made a reply here.
async fn settle(answer: Answer, parts: &Parts, reactor: &Reactor) -> Result<Settled, Problem> {
    let answer = match answer {
        Answer::App(mut reply) if reply.blob.is_some() => {
            let blob = reply.blob.take().expect("it was looked at");
            let response = download::of_application((reply, blob), parts, reactor).await;
            return response.map(Settled::Page);
        }
        answer => answer,
    };
    let Answer::Native(Executed { outcome, commit, time, .. }) = &answer else {
        return Ok(Settled::Answer(answer));
    };
    let read = (*commit, *time);
    match outcome {
        Outcome::FoundBlob(document, blob) => {
            let response = download::blob((document, blob.clone()), read, parts, reactor);
            response.await.map(Settled::Page)
        }
        Outcome::Found(document) if document.media_type != MediaType::Json => {
            Ok(Settled::Page(download::inline(document, read, parts)))
        }
        _ => Ok(Settled::Answer(answer)),
    }
}
