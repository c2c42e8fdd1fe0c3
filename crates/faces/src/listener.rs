//! The listening socket: opening it, accepting within the bound on connections, and choosing the
//! reactor that serves each.
//!
//! One loop accepts for all reactors, and gives each connection to the one that has the fewest. The
//! kernel's own ways to share (a listening socket per reactor with SO_REUSEPORT, or one socket that
//! every reactor accepts from) place connections by a hash or by who wakes first: ten connections
//! on two reactors then often stand eight to two, and one core is idle for as long as they live.

use crate::http::forwarded::Proxies;
use crate::limits;
use crate::network;
use crate::observe::Connections;
use crate::reactor::Drain;
use crate::server::ListenError;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpSocket;
use tokio::sync::mpsc;

/// An accepted connection on its way to a reactor.
pub(crate) struct Arrival {
    pub stream: TcpStream,
    pub peer: SocketAddr,
    /// Where it came in.
    pub door: Door,
    /// Kept for as long as the connection lives.
    pub seat: Seat,
}

/// What is known of the connections that come to one listening socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Door {
    /// Whether TLS is spoken here.
    pub is_tls: bool,
    /// Whether only this machine can reach it.
    pub is_local: bool,
}

/// A connection's place among those of its reactor and of its client; given back when dropped.
pub(crate) struct Seat {
    open: Arc<AtomicUsize>,
    _client: Option<ClientSeat>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Open connections by client. Looked at when a connection begins and when it ends.
#[derive(Clone, Default)]
pub(crate) struct Clients(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// One of a client's connections.
struct ClientSeat {
    clients: Clients,
    client: IpAddr,
}

impl Clients {
    /// Counts one more, unless there are `max` already.
    fn admit(&self, client: IpAddr, max: usize) -> Option<ClientSeat> {
        let mut open = self.0.lock();
        let count = open.entry(client).or_default();
        if *count >= max {
            return None;
        }
        *count += 1;
        Some(ClientSeat { clients: self.clone(), client })
    }
}

impl Drop for ClientSeat {
    fn drop(&mut self) {
        let mut open = self.clients.0.lock();
        if let Entry::Occupied(mut count) = open.entry(self.client) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

/// The listener's end of a reactor.
#[derive(Clone)]
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

    fn take_seat(&self, client: Option<ClientSeat>) -> Seat {
        self.open.fetch_add(1, Ordering::Relaxed);
        Seat { open: Arc::clone(&self.open), _client: client }
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

/// Who is let in.
#[derive(Clone)]
pub(crate) struct Rules {
    pub connections_max: usize,
    pub per_client_max: usize,
    /// They are as many clients as stand behind them.
    pub proxies: Arc<Proxies>,
    pub clients: Clients,
    /// What is told of them.
    pub counts: Arc<Connections>,
}

/// Accepts until the drain; then the listening socket is closed.
pub(crate) async fn accept(
    (listener, door): (TcpListener, Door),
    desks: Vec<Desk>,
    rules: Rules,
    mut drain: Drain,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut porter = Porter { desks, rules, door, is_full: false, is_failing: false };
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

/// The client has as many connections as it may.
struct OneTooMany;

impl Rules {
    /// A seat for the client at `address`, or none if it is not counted.
    fn admit(&self, address: IpAddr) -> Result<Option<ClientSeat>, OneTooMany> {
        let address = address.to_canonical();
        if address.is_loopback() || self.proxies.trust(address) {
            return Ok(None);
        }
        let seat = self.clients.admit(network::client(address), self.per_client_max);
        seat.map(Some).ok_or(OneTooMany)
    }
}

/// Decides about each connection. A bad state is logged when it begins, not at each connection
/// that meets it.
struct Porter {
    desks: Vec<Desk>,
    rules: Rules,
    door: Door,
    is_full: bool,
    is_failing: bool,
}

impl Porter {
    async fn admit(&mut self, stream: tokio::net::TcpStream, peer: SocketAddr) {
        self.is_failing = false;
        self.rules.counts.accepted.fetch_add(1, Ordering::Relaxed);
        if self.desks.iter().map(Desk::open).sum::<usize>() >= self.rules.connections_max {
            self.turn_away();
            return;
        }
        self.is_full = false;
        let Ok(client) = self.rules.admit(peer.ip()) else {
            self.rules.counts.turned_away.fetch_add(1, Ordering::Relaxed);
            log::debug!("a connection from {peer} was one too many of its client");
            return;
        };
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
        let arrival = Arrival { stream, peer, door: self.door, seat: desk.take_seat(client) };
        if desk.arrivals.send(arrival).await.is_err() {
            log::debug!("a connection from {peer} came while the reactors were ending");
        }
    }

    fn turn_away(&mut self) {
        self.rules.counts.turned_away.fetch_add(1, Ordering::Relaxed);
        if !self.is_full {
            let max = self.rules.connections_max;
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
            seats.push(desk.take_seat(None));
        }
        assert_eq!(desks.iter().map(|(desk, _)| desk.open()).collect::<Vec<_>>(), [5, 5]);
        seats.clear();
        assert_eq!(desks.iter().map(|(desk, _)| desk.open()).sum::<usize>(), 0);
    }

    #[test]
    fn one_client_does_not_take_every_seat() {
        let networks = vec!["192.0.2.9".parse().unwrap()];
        let rules = Rules {
            connections_max: 100,
            per_client_max: 2,
            proxies: Arc::new(Proxies { networks, ..Proxies::default() }),
            clients: Clients::default(),
            counts: Arc::default(),
        };
        let admit = |address: &str| rules.admit(address.parse().unwrap());
        let first = admit("2001:db8::1").ok().flatten().unwrap();
        let second = admit("2001:db8::2").ok().flatten().unwrap();
        assert!(admit("2001:db8::3").is_err(), "the same /64");
        assert!(admit("198.51.100.1").is_ok_and(|seat| seat.is_some()), "another client");
        for uncounted in ["127.0.0.1", "::1", "::ffff:127.0.0.1", "192.0.2.9"] {
            assert!(admit(uncounted).is_ok_and(|seat| seat.is_none()), "{uncounted}");
        }
        drop(first);
        assert!(admit("2001:db8::3").is_ok());
        drop(second);
        assert!(rules.clients.0.lock().is_empty(), "who has left is not remembered");
    }
}
