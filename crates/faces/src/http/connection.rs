//! One HTTP/1.1 or 1.0 connection. HTTP/2 and TLS will begin here; the walk of each request on it
//! is in `exchange`.

use crate::http::exchange;
use crate::limits;
use crate::listener::Arrival;
use crate::reactor::Reactor;
use crate::socket::Socket;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::cell::Cell;
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
    let service = service_fn(move |request| {
        exchange::respond(request, Rc::clone(&reactor), Rc::clone(&is_unread), peer.ip())
    });
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
