//! Tells the service manager how far the server is, where it asks to be told: a datagram to the
//! socket that `NOTIFY_SOCKET` names (sd_notify(3), "Notes": the protocol is a stable interface).

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// What there is to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It serves requests.
    Ready,
    /// It finishes what is in flight, and ends.
    Stopping,
}

/// Tells it. Where nobody asks, this does nothing; what cannot be told is logged.
pub fn notify(state: State) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else { return };
    if let Err(error) = send(&socket, state) {
        let socket = socket.to_string_lossy();
        log::warn!("the service manager at {socket} could not be told {state:?}: {error}");
    }
}

fn send(socket: &OsStr, state: State) -> io::Result<()> {
    let message: &[u8] = match state {
        State::Ready => b"READY=1\n",
        State::Stopping => b"STOPPING=1\n",
    };
    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(message, &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_hears_it_by_either_kind_of_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notify");
        let name = format!("sarsen-notify-{}", std::process::id());
        let abstract_name = SocketAddr::from_abstract_name(&name).expect("a name");
        let heard = |manager: UnixDatagram, socket: &OsStr| {
            send(socket, State::Ready).expect("it is sent");
            send(socket, State::Stopping).expect("it is sent");
            let mut all = Vec::new();
            for _ in 0..2 {
                let mut message = [0; 64];
                let bytes = manager.recv(&mut message).expect("a message");
                all.extend_from_slice(&message[..bytes]);
            }
            assert_eq!(all, b"READY=1\nSTOPPING=1\n");
        };
        heard(UnixDatagram::bind(&path).expect("a socket"), path.as_os_str());
        let manager = UnixDatagram::bind_addr(&abstract_name).expect("a socket");
        heard(manager, OsStr::new(&format!("@{name}")));
        assert!(send(OsStr::new("/nowhere/at/all"), State::Ready).is_err());
    }
}
