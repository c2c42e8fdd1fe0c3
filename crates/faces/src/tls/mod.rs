//! TLS 1.2 and 1.3 (RFC 5246, RFC 8446) by rustls: the handshake, with the certificate that is in
//! its files now. `files` reads it, `validity` its dates, `watch` notices that it was replaced.
//! What is spoken afterwards is `http/connection`.

mod files;
mod handshakes;
mod validity;
mod watch;

pub use files::TlsError;
pub(crate) use handshakes::Handshakes;
pub(crate) use watch::Watch;

use crate::reactor::Reactor;
use crate::socket::Socket;
use files::Loaded;
use parking_lot::RwLock;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{ServerConfig, version};
use tokio_rustls::server::TlsStream;

/// The name of HTTP/2 in the handshake (RFC 9113 §3.1).
const ALPN_HTTP2: &[u8] = b"h2";
const ALPN_HTTP1: &[u8] = b"http/1.1";

/// Where and with what to speak TLS.
#[derive(Clone, Debug)]
pub struct TlsOptions {
    /// The address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The certificate and after it the certificates of those who signed it, in PEM.
    pub certificate: PathBuf,
    /// The certificate's private key, in PEM and not encrypted.
    pub key: PathBuf,
}

/// The certificate and key that handshakes use; replaced when the files change. Sessions from
/// before go on, and can be resumed.
#[derive(Debug)]
pub(super) struct Keys(RwLock<Arc<CertifiedKey>>);

impl Keys {
    fn replace(&self, key: CertifiedKey) {
        *self.0.write() = Arc::new(key);
    }
}

impl ResolvesServerCert for Keys {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read()))
    }
}

/// What the reactors need to speak TLS.
#[derive(Clone)]
pub(crate) struct Tls {
    acceptor: TlsAcceptor,
}

/// A connection after its handshake.
pub(crate) struct Spoken {
    pub stream: TlsStream<Socket>,
    /// Whether client and server agreed on HTTP/2.
    pub is_http2: bool,
}

fn provider() -> CryptoProvider {
    ring::default_provider()
}

/// Reads the files of `options`. A certificate that clients will refuse is logged. The watch is to
/// be run for as long as TLS is spoken.
pub(crate) fn start(options: &TlsOptions) -> Result<(Tls, Watch), TlsError> {
    // Before they are read: a change in between is seen later, and not lost.
    let stamps = watch::stamps(options);
    let Loaded { key, warning } = files::load(options, &provider())?;
    if let Some(warning) = warning {
        log::warn!("{warning}");
    }
    let keys = Arc::new(Keys(RwLock::new(Arc::new(key))));
    let config = config(Arc::clone(&keys)).map_err(TlsError::Library)?;
    let tls = Tls { acceptor: TlsAcceptor::from(Arc::new(config)) };
    Ok((tls, Watch::new(options.clone(), keys, stamps)))
}

impl Tls {
    /// Performs the handshake.
    pub(crate) async fn accept(&self, socket: Socket, reactor: &Reactor) -> io::Result<Spoken> {
        let under_way = reactor.handshakes.begin();
        let handshake = timeout(reactor.timeouts.handshake, self.acceptor.accept(socket));
        let stream = tokio::select! {
            biased;
            done = handshake => done??,
            () = under_way.displaced() => {
                let error = "its handshake had to make room for others";
                return Err(io::Error::new(io::ErrorKind::TimedOut, error));
            }
        };
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(ALPN_HTTP2);
        Ok(Spoken { stream, is_http2 })
    }
}

fn config(keys: Arc<Keys>) -> Result<ServerConfig, tokio_rustls::rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(&[&version::TLS13, &version::TLS12])?
        .with_no_client_auth()
        .with_cert_resolver(keys);
    config.alpn_protocols = vec![ALPN_HTTP2.to_vec(), ALPN_HTTP1.to_vec()];
    // A session is kept by its client, encrypted, and resumed on whichever reactor it comes to.
    config.ticketer = ring::Ticketer::new()?;
    Ok(config)
}
