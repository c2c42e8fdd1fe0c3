//! One connection: what is spoken on it, and what its requests share. How HTTP/1 and HTTP/2 are
//! spoken is in `http1` and `http2`; the walk of each request begins in `visit`.

use crate::http::forwarded::{Asker, Scheme};
use crate::http::framing::Framed;
use crate::http::rest::Site;
use crate::http::{http1, http2, refused};
use crate::listener::Arrival;
use crate::problem::{Kind, Problem};
use crate::reactor::Reactor;
use crate::socket::{Opening, Socket};
use crate::tls::Tls;
use hyper::Request;
use hyper::body::{Body, Incoming};
use hyper::http::request::Parts;
use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Turns true when the connections are to end.
pub(crate) type Closing = watch::Receiver<bool>;

/// What the requests of one connection share.
pub(crate) struct Connection {
    pub reactor: Rc<Reactor>,
    /// The other end of the connection: the client, or a proxy.
    pub peer: SocketAddr,
    pub scheme: Scheme,
    /// Whether only this machine can reach the address that the connection came to.
    pub is_local: bool,
    /// HTTP/1: whether the last reply was made without reading its request to the end.
    pub is_unread: Rc<Cell<bool>>,
    /// Bytes that the socket has taken, since somebody last looked.
    pub sent_bytes: Rc<Cell<usize>>,
}

/// Serves a connection to its end. When `closing` turns true it ends after the requests in flight.
pub(crate) async fn serve(arrival: Arrival, reactor: Rc<Reactor>, closing: Closing) {
    let peer = arrival.peer;
    if let Err(error) = speak(arrival, reactor, closing).await {
        log::debug!("the connection from {peer} ended: {error}");
    }
}

/// Why a connection ended otherwise than by the client's will.
type Ended = Box<dyn std::error::Error>;

async fn speak(arrival: Arrival, reactor: Rc<Reactor>, mut closing: Closing) -> Result<(), Ended> {
    let Arrival { stream, peer, door, seat: _seat } = arrival;
    let is_unread = Rc::new(Cell::new(false));
    let sent_bytes = Rc::<Cell<usize>>::default();
    let (stall, replies) = (reactor.timeouts.write_stall, Rc::clone(&reactor.replies));
    let stream = TcpStream::from_std(stream)?;
    let told = (Rc::clone(&is_unread), Rc::clone(&sent_bytes));
    let mut socket = Socket::new(stream, stall, replies, told);
    let patience = reactor.timeouts.header;
    let opening = tokio::select! {
        biased;
        opening = tokio::time::timeout(patience, socket.opening()) => opening??,
        _ = closing.wait_for(|closing| *closing) => Opening::Nothing,
    };
    let tls = reactor.tls.clone().filter(|_| door.is_tls);
    let (scheme, is_local) = (Scheme::Http, door.is_local);
    let connection = Connection { reactor, peer, scheme, is_local, is_unread, sent_bytes };
    match (opening, tls) {
        (Opening::Nothing, _) => Ok(()),
        (Opening::Tls, Some(tls)) => Box::pin(secure(socket, connection, &tls, closing)).await,
        (_, Some(_)) => {
            let detail = "this port speaks TLS: expected a TLS handshake; use https://";
            refuse(socket, &connection, detail).await
        }
        // In a box, so that the many connections of HTTP/1 need not have room for it.
        (Opening::Http2, None) => Box::pin(http2::serve(socket, connection, closing)).await,
        (Opening::Http1, None) => Ok(http1::serve(socket, connection, closing).await?),
        (Opening::Tls, None) => {
            tell_of_tls(&connection);
            let detail = "this port speaks HTTP without TLS: use http://";
            refuse(socket, &connection, detail).await
        }
    }
}

/// A connection to the port of TLS. It is in a box, as HTTP/2 is.
async fn secure(
    socket: Socket,
    mut connection: Connection,
    tls: &Tls,
    mut closing: Closing,
) -> Result<(), Ended> {
    let spoken = tokio::select! {
        biased;
        spoken = tls.accept(socket, &connection.reactor) => spoken?,
        _ = closing.wait_for(|closing| *closing) => return Ok(()),
    };
    connection.scheme = Scheme::Https;
    if spoken.is_http2 {
        return Box::pin(http2::serve(spoken.stream, connection, closing)).await;
    }
    Ok(http1::serve(spoken.stream, connection, closing).await?)
}

/// Tells a client that speaks TLS where HTTP is spoken, or the other way round, what it should do.
async fn refuse(
    mut socket: Socket,
    connection: &Connection,
    detail: &'static str,
) -> Result<(), Ended> {
    connection.is_unread.set(true);
    refused::reply(&mut socket, &Problem::new(Kind::BadRequest, detail)).await?;
    Err(misbehaved(detail).into())
}

/// One line a server, because such clients come again and again.
fn tell_of_tls(connection: &Connection) {
    let counts = &connection.reactor.observer.connections;
    if !counts.told_of_tls.swap(true, Ordering::Relaxed) {
        let peer = connection.peer;
        log::warn!(
            "{peer} speaks TLS on the port of plain HTTP, and is answered 400; --tls-listen opens \
             a port for TLS. This is not said again"
        );
    }
}

impl Connection {
    /// What a request of `asker` may be for.
    pub(crate) fn site(&self, asker: &Asker) -> Site<'_> {
        Site {
            has_app: self.reactor.pool.is_some(),
            // A proxy that is trusted has the names that it answers to in its own configuration.
            is_local: self.is_local && !asker.is_forwarded,
            origins: &self.reactor.origins,
        }
    }
}

/// A request's body, unless it has none.
pub(crate) fn split(request: Request<Incoming>) -> (Parts, Option<Framed>) {
    let (parts, body) = request.into_parts();
    (parts, Some(body).filter(|body| !body.is_end_stream()).map(Framed::new))
}

/// The error of a client that speaks HTTP/2 and does not keep to the bounds.
pub(crate) fn misbehaved(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, what)
}
