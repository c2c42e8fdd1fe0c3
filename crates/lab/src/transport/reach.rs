//! Looks before the run whether a server can be spoken to, so that what is wrong is one clear line
//! and not ten thousand errors. It blocks.

use super::route::{Route, check_alpn};
use super::trust::{self, Tls, TrustError, explain};
use crate::plan::{Protocol, Transport};
use crate::target::Origin;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio_rustls::rustls::ClientConnection;
use tokio_rustls::rustls::pki_types::ServerName;

/// Why a server cannot be spoken to.
#[derive(Debug, Error)]
pub enum ReachError {
    /// A host's name has no address.
    #[error("cannot find the address of \"{host}\": {source}; check the URL")]
    Resolve {
        /// The host.
        host: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// No connection could be made.
    #[error("cannot connect to {address} for {origin}: {source}; is the server running there?")]
    Connect {
        /// The server.
        origin: String,
        /// The last address that was tried.
        address: SocketAddr,
        /// What the operating system said.
        source: io::Error,
    },
    /// The server was reached, and TLS or the protocol could not be agreed on.
    #[error("cannot speak to {origin} at {address}: {reason}")]
    Speak {
        /// The server.
        origin: String,
        /// Where it is.
        address: SocketAddr,
        /// What is wrong and what can be done.
        reason: String,
    },
    /// It is not known whom to trust.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

/// The ways to all `origins`, each tried.
///
/// # Errors
/// See [`ReachError`].
pub(crate) fn reach(
    origins: &[Origin],
    transport: &Transport,
    timeout: Duration,
) -> Result<Vec<Route>, ReachError> {
    let config = match origins.iter().any(|origin| origin.tls) {
        true => Some(trust::config(transport)?),
        false => None,
    };
    let route = |origin: &Origin| {
        let tls = match &config {
            Some(config) if origin.tls => {
                let name = ServerName::try_from(origin.host.clone()).map_err(|_invalid| {
                    let source = io::Error::new(io::ErrorKind::InvalidInput, "no name for TLS");
                    ReachError::Resolve { host: origin.host.clone(), source }
                })?;
                Some(Tls { config: Arc::clone(config), name })
            }
            _ => None,
        };
        let find = |address| Route::new(address, tls.clone(), transport);
        try_addresses(origin, timeout, find)
    };
    origins.iter().map(route).collect()
}

/// A name may have several addresses, and the server may listen on one of them only.
fn try_addresses(
    origin: &Origin,
    timeout: Duration,
    route: impl Fn(SocketAddr) -> Route,
) -> Result<Route, ReachError> {
    let resolve = |source| ReachError::Resolve { host: origin.host.clone(), source };
    let addresses = (origin.host.as_str(), origin.port).to_socket_addrs().map_err(resolve)?;
    let mut refusal = resolve(io::Error::new(io::ErrorKind::NotFound, "it has none"));
    for address in addresses {
        let name = origin.authority();
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => {
                let route = route(address);
                let spoken = speak(stream, &route, timeout);
                let failed = |reason| ReachError::Speak { origin: name, address, reason };
                return spoken.map(|()| route).map_err(failed);
            }
            Err(source) => refusal = ReachError::Connect { origin: name, address, source },
        }
    }
    Err(refusal)
}

/// As far as is needed to see whether the protocol is spoken.
fn speak(mut stream: TcpStream, route: &Route, timeout: Duration) -> Result<(), String> {
    let is_http2 = matches!(route.protocol, Protocol::Http2 { .. });
    if route.tls.is_none() && !is_http2 {
        return Ok(());
    }
    let timed = stream.set_read_timeout(Some(timeout));
    timed.and_then(|()| stream.set_write_timeout(Some(timeout))).map_err(|e| e.to_string())?;
    if let Some(tls) = &route.tls {
        let connection = ClientConnection::new(Arc::clone(&tls.config), tls.name.clone());
        let mut connection = connection.map_err(|error| format!("TLS failed: {error}"))?;
        while connection.is_handshaking() {
            connection.complete_io(&mut stream).map_err(|error| explain(&error))?;
        }
        connection.send_close_notify();
        // Whether the server hears that it is over makes no difference.
        let _told = connection.complete_io(&mut stream);
        return check_alpn(route.protocol, connection.alpn_protocol());
    }
    let fault = |what: &str| {
        format!(
            "the server does not speak HTTP/2 without TLS: {what}; take https://, or leave out \
             --http2"
        )
    };
    greet(&mut stream).map_err(|error| fault(&error.to_string()))?.map_err(|got| fault(&got))
}

/// The connection preface of RFC 9113 §3.4, and an empty SETTINGS frame.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// The type of a SETTINGS frame (§6.5).
const SETTINGS: u8 = 4;

/// Whether the server's first frame is what it must be.
fn greet(stream: &mut TcpStream) -> io::Result<Result<(), String>> {
    stream.write_all(PREFACE)?;
    let mut header = [0; 9];
    stream.read_exact(&mut header)?;
    Ok(match header[3] {
        SETTINGS if header[4..] == [0; 5] => Ok(()),
        _ => Err(format!("it answered {:?}", String::from_utf8_lossy(&header))),
    })
}
