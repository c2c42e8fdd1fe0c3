//! The listening socket: opening it, accepting within the bound on connections, and choosing the
//! reactor that serves each.
//!
//! One loop accepts for all reactors, and gives each connection to the one that has the fewest. The
//! kernel's own ways to share (a listening socket per reactor with SO_REUSEPORT, or one socket that
//! every reactor accepts from) place connections by a hash or by who wakes first: ten connections
//! on two reactors then often stand eight to two, and one core is idle for as long as they live.

use crate::limits;
use crate::observe::Connections;
use crate::reactor::Drain;
use crate::server::ListenError;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpSocket;
use tokio::sync::mpsc;

/// An accepted connection on its way to a reactor.
pub(crate) struct Arrival {
    pub stream: TcpStream,
    pub peer: SocketAddr,
    /// Kept for as long as the connection lives.
    pub seat: Seat,
}

/// A connection's place among those of its reactor; given back when dropped.
pub(crate) struct Seat(Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The listener's end of a reactor.
pub(crate) struct Desk {
    arrivals: mpsc::Sender<Arrival>,
    /// Connections given to this reactor that still live.
    open: Arc<AtomicUsize>,
}

impl Desk {
    /// A desk, and the reactor's end of it.
    pub(crate) fn new() -> (Self, mpsc::Receiver<Arrival>) {
        let (arrivals, receiver) = mpsc::channel(limits::ARRIVALS_MAX);
        (Self { arrivals, open: Arc::default() }, receiver)
    }

    /// The count of open connections, for those who only look.
    pub(crate) fn gauge(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.open)
    }

    fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    fn take_seat(&self) -> Seat {
        self.open.fetch_add(1, Ordering::Relaxed);
        Seat(Arc::clone(&self.open))
    }
}

/// Opens the listening socket. Whether `address` may be listened on is decided in `access/reach`.
pub(crate) fn bind(address: SocketAddr) -> Result<TcpListener, ListenError> {
    listen(address).map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => ListenError::Busy { address },
        io::ErrorKind::AddrNotAvailable => ListenError::NotHere { address },
        io::ErrorKind::PermissionDenied => ListenError::Denied { address },
        _ => ListenError::Io { action: "listen", source },
    })
}

/// The standard library's `bind` has a backlog of 128: a thousand clients that connect at once
/// would wait for retries. tokio's takes the length, but wants a runtime at hand to register with.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _entered = runtime.enter();
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(limits::LISTEN_BACKLOG)?.into_std()
}

/// Accepts until the drain; then the listening socket is closed.
pub(crate) async fn accept(
    listener: TcpListener,
    desks: Vec<Desk>,
    connections_max: usize,
    counts: Arc<Connections>,
    mut drain: Drain,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut porter = Porter { desks, connections_max, counts, is_full: false, is_failing: false };
    let accepting = async {
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => porter.admit(stream, peer).await,
                Err(error) => porter.pause_after(&error).await,
            }
        }
    };
    tokio::select! {
        _ = drain.wait_for(Option::is_some) => Ok(()),
        () = accepting => Ok(()),
    }
}

/// Decides about each connection. A bad state is logged when it begins, not at each connection
/// that meets it.
struct Porter {
    desks: Vec<Desk>,
    connections_max: usize,
    counts: Arc<Connections>,
    is_full: bool,
    is_failing: bool,
}

impl Porter {
    async fn admit(&mut self, stream: tokio::net::TcpStream, peer: SocketAddr) {
        self.is_failing = false;
        self.counts.accepted.fetch_add(1, Ordering::Relaxed);
        if self.desks.iter().map(Desk::open).sum::<usize>() >= self.connections_max {
            self.turn_away();
            return;
        }
        self.is_full = false;
        // A segment of a reply must not wait for the acknowledgement of the one before. `into_std`
        // takes the socket from the accepting reactor, so that another can have it.
        let stream = match stream.set_nodelay(true).and_then(|()| stream.into_std()) {
            Ok(stream) => stream,
            Err(error) => {
                log::debug!("a connection from {peer} was lost before its first request: {error}");
                return;
            }
        };
        let Some(desk) = self.desks.iter().min_by_key(|desk| desk.open()) else { return };
        let arrival = Arrival { stream, peer, seat: desk.take_seat() };
        if desk.arrivals.send(arrival).await.is_err() {
            log::debug!("a connection from {peer} came while the reactors were ending");
        }
    }

    fn turn_away(&mut self) {
        self.counts.turned_away.fetch_add(1, Ordering::Relaxed);
        if !self.is_full {
            let max = self.connections_max;
            log::warn!("{max} connections are open, as many as may be: more are closed at once");
        }
        self.is_full = true;
    }

    /// Out of descriptors or memory, the connection stays in the backlog and `accept` would fail
    /// again at once: the pause keeps the loop from spinning, and some connection may end in it.
    async fn pause_after(&mut self, error: &io::Error) {
        if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted) {
            log::debug!("a connection was lost before it was accepted: {error}");
            return;
        }
        if !self.is_failing {
            log::warn!(
                "cannot accept connections: {error}; going on trying. If it is for want of file \
                 descriptors, raise their limit (ulimit -n)"
            );
        }
        self.is_failing = true;
        tokio::time::sleep(limits::ACCEPT_PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loopback(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn a_busy_port_is_named() {
        let first = bind(loopback(0)).unwrap();
        let address = first.local_addr().unwrap();
        let error = bind(address).unwrap_err();
        assert!(matches!(error, ListenError::Busy { .. }), "{error}");
        assert!(error.to_string().contains(&address.to_string()), "{error}");
    }

    #[test]
    fn an_address_of_another_machine_is_refused() {
        // 192.0.2.0/24 is for documentation (RFC 5737): no machine has it.
        let error = bind(SocketAddr::from(([192, 0, 2, 1], 0))).unwrap_err();
        assert!(matches!(error, ListenError::NotHere { .. }), "{error}");
    }

    #[test]
    fn connections_spread_evenly_and_seats_come_back() {
        let desks: Vec<_> = (0..2).map(|_| Desk::new()).collect();
        let mut seats = Vec::new();
        for _ in 0..10 {
            let (desk, _) = desks.iter().min_by_key(|(desk, _)| desk.open()).unwrap();
            seats.push(desk.take_seat());
        }
        assert_eq!(desks.iter().map(|(desk, _)| desk.open()).collect::<Vec<_>>(), [5, 5]);
        seats.clear();
        assert_eq!(desks.iter().map(|(desk, _)| desk.open()).sum::<usize>(), 0);
    }
}
