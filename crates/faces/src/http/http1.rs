//! HTTP/1.1 and 1.0 (RFC 9112) on one connection.

use crate::http::connection::{Closing, Connection, split};
use crate::http::framing::{Ending, Framed};
use crate::http::refused::Withholding;
use crate::http::visit::respond;
use crate::limits;
use hyper::Request;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};

/// Serves until the client, an error or `closing` ends it.
pub(crate) async fn serve(
    io: impl AsyncRead + AsyncWrite + Unpin,
    connection: Connection,
    mut closing: Closing,
) -> hyper::Result<()> {
    let protocol = protocol(connection.reactor.timeouts.header);
    let connection = Rc::new(connection);
    let is_unread = Rc::clone(&connection.is_unread);
    let io = TokioIo::new(Withholding::new(io));
    let service = service_fn(move |request: Request<Incoming>| {
        let connection = Rc::clone(&connection);
        async move {
            let (parts, mut body) = split(request);
            let ending = watched(&parts, &mut body);
            let mut response = respond(parts, &mut body, &connection).await;
            connection.is_unread.set(body.is_some());
            close_unless_certain(ending, response.headers_mut());
            Ok::<_, Infallible>(response)
        }
    });
    let mut serving = protocol.serve_connection(io, service);
    let ended = tokio::select! {
        biased;
        ended = &mut serving => ended,
        _ = closing.wait_for(|closing| *closing) => {
            Pin::new(&mut serving).graceful_shutdown();
            (&mut serving).await
        }
    };
    let left = serving.into_parts();
    if left.io.into_inner().end(&ended, &left.read_buf).await {
        is_unread.set(true);
    }
    ended
}

/// Has a chunked body tell how it ends.
pub(crate) fn watched(parts: &Parts, body: &mut Option<Framed>) -> Option<Ending> {
    let chunked = body.as_mut().filter(|_| parts.headers.contains_key(TRANSFER_ENCODING));
    chunked.map(Framed::watch)
}

/// Has the connection closed after a reply to a chunked request whose end is in doubt: one with a
/// trailer section, and one that was not read to its end. hyper would look for the end itself, and
/// go on if it found one.
pub(crate) fn close_unless_certain(ending: Option<Ending>, headers: &mut HeaderMap) {
    if ending.is_some_and(|ending| !ending.is_certain()) {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
}

/// HTTP/1 within the bounds. A head may take so long.
pub(crate) fn protocol(header_timeout: Duration) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
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
