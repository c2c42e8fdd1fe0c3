//! Where a server is and how it is spoken to: what is known of it before the run, and what the
//! users of one thread share.

use super::failure::Failure;
use super::stream::Stream;
use super::trust::{Tls, alpn, explain};
use crate::http1::{HeadCache, Pipeline};
use crate::http2::Channel;
use crate::limits::READ_BUFFER_BYTES;
use crate::plan::{Protocol, Transport};
use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// The way to a server.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) address: SocketAddr,
    pub(crate) tls: Option<Tls>,
    pub(crate) protocol: Protocol,
    pub(crate) keep_alive: bool,
}

impl Route {
    pub(crate) fn new(address: SocketAddr, tls: Option<Tls>, transport: &Transport) -> Self {
        let Transport { protocol, keep_alive, .. } = *transport;
        Self { address, tls, protocol, keep_alive }
    }
}

/// A server, as the users of one thread see it.
pub(crate) struct Server {
    pub(crate) route: Route,
    /// What is read goes through here, whoever reads: one buffer stays in the processor's cache,
    /// those of thousands of users would not.
    pub(crate) buffer: RefCell<Box<[u8]>>,
    pub(crate) heads: RefCell<HeadCache>,
    shared: RefCell<HashMap<usize, Shared>>,
}

/// A connection that users share, opened when one needs it.
#[derive(Clone)]
pub(crate) enum Shared {
    Pipeline(Rc<Pipeline>),
    Channel(Rc<Channel>),
}

impl Server {
    pub(crate) fn new(route: Route) -> Rc<Self> {
        Rc::new(Self {
            route,
            buffer: RefCell::new(vec![0; READ_BUFFER_BYTES].into_boxed_slice()),
            heads: RefCell::default(),
            shared: RefCell::default(),
        })
    }

    /// What a user shares with others; none: it has a connection of its own.
    pub(crate) fn shared(&self, user: usize) -> Option<Shared> {
        let group = user / self.route.protocol.users_per_connection();
        let mut shared = self.shared.borrow_mut();
        let made = match self.route.protocol {
            Protocol::Http1 { pipeline: 1 } => return None,
            Protocol::Http1 { .. } => {
                shared.entry(group).or_insert_with(|| Shared::Pipeline(Rc::default()))
            }
            Protocol::Http2 { .. } => {
                shared.entry(group).or_insert_with(|| Shared::Channel(Rc::default()))
            }
        };
        Some(made.clone())
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// [`Failure::Connect`] or [`Failure::Tls`].
    pub(crate) async fn open(&self) -> Result<Stream, Failure> {
        let stream = TcpStream::connect(self.route.address).await.map_err(Failure::Connect)?;
        stream.set_nodelay(true).map_err(Failure::Connect)?;
        let Some(tls) = &self.route.tls else { return Ok(Stream::Plain(stream)) };
        let connector = TlsConnector::from(tls.config.clone());
        let stream = connector.connect(tls.name.clone(), stream).await;
        let stream = stream.map_err(|error| Failure::Tls(explain(&error)))?;
        check_alpn(self.route.protocol, stream.get_ref().1.alpn_protocol())
            .map_err(Failure::Tls)?;
        Ok(Stream::Tls(Box::new(stream)))
    }
}

/// Whether the server agreed to the protocol. One that knows nothing of ALPN speaks HTTP/1.1.
///
/// # Errors
/// It did not, and what can be done.
pub(super) fn check_alpn(protocol: Protocol, chosen: Option<&[u8]>) -> Result<(), String> {
    let wanted = alpn(protocol);
    match chosen {
        Some(chosen) if chosen == wanted => Ok(()),
        None if matches!(protocol, Protocol::Http1 { .. }) => Ok(()),
        chosen => Err(format!(
            "the server does not speak {} over TLS: by ALPN it chose {}",
            String::from_utf8_lossy(wanted),
            chosen.map_or("nothing".into(), String::from_utf8_lossy)
        )),
    }
}
