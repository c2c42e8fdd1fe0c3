//! Where connections come in: the listening sockets, what is spoken at each, and who is let in.
//! What happens to a connection afterwards is `listener`'s and the reactors' affair.

use crate::http::forwarded::Proxies;
use crate::limits;
use crate::listener::{self, Clients, Desk, Door, Rules};
use crate::observe::Connections;
use crate::reactor::Drain;
use crate::server::{ListenError, ServerOptions};
use crate::tls::{self, Tls, Watch};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

/// The doors of a server, not open yet.
pub(crate) struct Doors {
    listeners: Vec<(TcpListener, Door)>,
    rules: Rules,
    watch: Option<Watch>,
    pub tls: Option<Tls>,
    pub local_addr: SocketAddr,
    pub tls_addr: Option<SocketAddr>,
    /// Whether only this machine can reach them.
    pub are_local: bool,
}

impl Doors {
    /// Opens the listening sockets and reads the certificate.
    pub(crate) fn new(
        options: &ServerOptions,
        proxies: Arc<Proxies>,
        counts: Arc<Connections>,
    ) -> Result<Self, ListenError> {
        if proxies.networks.len() > limits::TRUSTED_PROXIES_MAX {
            return Err(ListenError::Proxies { got: proxies.networks.len() });
        }
        let (plain, local_addr) = listen(options.listen, false)?;
        let plain_is_local = plain.1.is_local;
        let rules = Rules {
            connections_max: options.connections_max,
            per_client_max: options.connections_per_client_max,
            proxies,
            clients: Clients::default(),
            counts,
        };
        let mut doors = Self {
            listeners: vec![plain],
            rules,
            watch: None,
            tls: None,
            local_addr,
            tls_addr: None,
            are_local: plain_is_local,
        };
        if let Some(from) = &options.tls {
            let (tls, watch) = tls::start(from)?;
            let (secure, address) = listen(from.listen, true)?;
            doors.are_local &= secure.1.is_local;
            doors.listeners.push(secure);
            doors.tls_addr = Some(address);
            doors.tls = Some(tls);
            doors.watch = Some(watch);
        }
        Ok(doors)
    }

    /// Accepts for `desks` until the drain. To be called on a reactor.
    pub(crate) fn open(self, desks: &[Desk], drain: &Drain) {
        if let Some(watch) = self.watch {
            tokio::task::spawn_local(watch.run(drain.clone()));
        }
        for listener in self.listeners {
            let (desks, rules) = (desks.to_vec(), self.rules.clone());
            let accepting = listener::accept(listener, desks, rules, drain.clone());
            tokio::task::spawn_local(async {
                if let Err(error) = accepting.await {
                    log::error!("no connection can be accepted: {error}");
                }
            });
        }
    }
}

fn listen(
    address: SocketAddr,
    is_tls: bool,
) -> Result<((TcpListener, Door), SocketAddr), ListenError> {
    let listener = listener::bind(address)?;
    let local_addr = listener
        .local_addr()
        .map_err(|source| ListenError::Io { action: "read the listening address", source })?;
    let door = Door { is_tls, is_local: address.ip().to_canonical().is_loopback() };
    Ok(((listener, door), local_addr))
}
