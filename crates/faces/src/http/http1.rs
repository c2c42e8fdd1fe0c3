//! HTTP/1.1 and 1.0 (RFC 9112) on one connection.

use crate::http::connection::{Closing, Connection, split};
use crate::http::refused::{self, Own, Withholding};
use crate::http::visit::respond;
use crate::limits;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::rc::Rc;
use tokio::io::{AsyncRead, AsyncWrite};

/// Serves until the client, an error or `closing` ends it.
pub(crate) async fn serve(
    io: impl AsyncRead + AsyncWrite + Unpin,
    connection: Connection,
    mut closing: Closing,
) -> hyper::Result<()> {
    let protocol = protocol(&connection);
    let connection = Rc::new(connection);
    let (own, is_unread) = (Own::default(), Rc::clone(&connection.is_unread));
    let io = TokioIo::new(Withholding::new(io, own.clone()));
    let service = service_fn(move |request: Request<Incoming>| {
        let (connection, own) = (Rc::clone(&connection), own.clone());
        async move {
            let (parts, mut body) = split(request);
            let response = respond(parts, &mut body, &connection).await;
            connection.is_unread.set(body.is_some());
            own.see(&response);
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
    let Err(error) = ended else { return Ok(()) };
    let left = serving.into_parts();
    let socket = left.io.into_inner();
    if socket.has_refused {
        is_unread.set(true);
        let problem = refused::problem(&error, &left.read_buf);
        // Why the connection ends is in `error`; that its client has gone meanwhile adds nothing.
        let _sent = refused::reply(&mut socket.into_inner(), &problem).await;
    }
    Err(error)
}

fn protocol(connection: &Connection) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        .header_read_timeout(connection.reactor.timeouts.header)
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
