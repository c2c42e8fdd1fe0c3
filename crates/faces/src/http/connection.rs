//! One HTTP/1.1 or 1.0 connection, and the walk of each request on it. HTTP/2 and TLS will begin
//! here; what a request means is in `rest`.

use crate::dispatch::{Answer, Call, dispatch};
use crate::http::rest::{self, Route};
use crate::http::{app, body, reply};
use crate::limits;
use crate::listener::Arrival;
use crate::problem::Problem;
use crate::reactor::Reactor;
use crate::socket::Socket;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::cell::Cell;
use std::convert::Infallible;
use std::pin::pin;
use std::rc::Rc;
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Serves a connection to its end. When `closing` turns true it ends after the request in flight.
pub(crate) async fn serve(
    arrival: Arrival,
    reactor: Rc<Reactor>,
    mut closing: watch::Receiver<bool>,
) {
    let Arrival { stream, peer, seat: _seat } = arrival;
    let stream = match TcpStream::from_std(stream) {
        Ok(stream) => stream,
        Err(error) => return log::warn!("a connection from {peer} cannot be served: {error}"),
    };
    let is_unread = Rc::new(Cell::new(false));
    let socket = Socket::new(stream, reactor.timeouts.write_stall, Rc::clone(&is_unread));
    let protocol = protocol(&reactor);
    let service =
        service_fn(move |request| respond(request, Rc::clone(&reactor), Rc::clone(&is_unread)));
    let mut connection = pin!(protocol.serve_connection(TokioIo::new(socket), service));
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        _ = closing.wait_for(|closing| *closing) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        log::debug!("the connection from {peer} ended: {error}");
    }
}

fn protocol(reactor: &Reactor) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        .header_read_timeout(reactor.timeouts.header)
        .max_header_size(limits::HEADER_BYTES_MAX)
        .max_buf_size(limits::READ_BUFFER_BYTES_MAX)
        // A client may end its side after its last request and still wants the reply.
        //
        // `pipeline_flush` stays off: hyper then holds a reply back for as long as anything follows
        // its request in the read buffer, and so loses it where that is half a request, something
        // that is no request, or one too many on a connection that closes.
        .half_close(true);
    protocol
}

async fn respond(
    request: Request<Incoming>,
    reactor: Rc<Reactor>,
    is_unread: Rc<Cell<bool>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let mut body = Some(body).filter(|body| !body.is_end_stream());
    let answer = answer(&parts, &mut body, &reactor).await;
    // Whatever takes a body takes it out of the option when it has read it.
    is_unread.set(body.is_some());
    // hyper parses the next request into the header map of this reply, so handing it the one of
    // this request saves an allocation each time.
    Ok(reply::write(answer, parts.headers))
}

/// What a request came to, before it is written.
pub(crate) enum Settled {
    /// What `dispatch` gave.
    Answer(Answer),
    /// The methods a URI takes, as the Allow field lists them.
    Options(&'static str),
}

async fn answer(
    parts: &Parts,
    body: &mut Option<Incoming>,
    reactor: &Reactor,
) -> Result<Settled, Problem> {
    // Room for the body is kept until the request is done with.
    let (call, _room) = match rest::route(parts, reactor.site())? {
        Route::Options(allow) => return Ok(Settled::Options(allow)),
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
