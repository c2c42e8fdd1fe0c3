//! Accepts connections for all threads, each for the one that has the fewest. It has a thread of
//! its own, so that many who come at once do not hold up those who are there.

use crate::auth::AuthFile;
use crate::connection::Connection;
use crate::face::StartError;
use crate::figures::{Shared, count};
use crate::limits::{ACCEPT_PAUSE, LISTEN_BACKLOG};
use crate::place::Place;
use crate::session::Session;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_reuseaddr, set_tcp_nodelay};
use rustix::net::{
    AddressFamily, SendFlags, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType,
    acceptfrom_with, bind, getsockname, listen, send, socket_with,
};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// memcached's words.
const TOO_MANY: &[u8] = b"ERROR Too many open connections\r\n";

/// A listening socket.
pub(crate) struct Door {
    socket: OwnedFd,
    /// Where it is; the port is known.
    pub place: Place,
}

impl Door {
    /// Opens it.
    pub fn open(place: &Place) -> Result<Self, StartError> {
        let opened = match place {
            Place::Address(address) => listen_at(*address),
            Place::Path(path) => listen_in(path),
        };
        opened.map_err(|source| StartError::Listen { place: place.clone(), source })
    }
}

fn listen_at(address: SocketAddr) -> io::Result<Door> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = stream(family)?;
    set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &address)?;
    listen(&socket, LISTEN_BACKLOG)?;
    let bound = SocketAddr::try_from(getsockname(&socket)?)?;
    Ok(Door { socket, place: Place::Address(bound) })
}

/// A socket that a server left behind is replaced; one that somebody listens at is not.
fn listen_in(path: &Path) -> io::Result<Door> {
    if let Ok(there) = path.symlink_metadata() {
        if !there.file_type().is_socket() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is another file"));
        }
        if UnixStream::connect(path).is_ok() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        std::fs::remove_file(path)?;
    }
    let socket = stream(AddressFamily::UNIX)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    // As memcached's `-a`: for this user only.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
    listen(&socket, LISTEN_BACKLOG)?;
    Ok(Door { socket, place: Place::Path(path.to_owned()) })
}

fn stream(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(family, SocketType::STREAM, flags, None)?)
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Place::Path(path) = &self.place
            && let Err(error) = std::fs::remove_file(path)
        {
            log::warn!("cannot remove {}: {error}", path.display());
        }
    }
}

/// Accepts at all doors.
pub(crate) struct Acceptor {
    pub doors: Vec<Door>,
    pub shared: Arc<Shared>,
    pub auth: Option<Arc<AuthFile>>,
    /// Becomes readable when it is to end.
    pub end: OwnedFd,
    /// Bad states are logged when they begin, not at each connection that meets them.
    pub is_full: bool,
    pub is_failing: bool,
}

impl Acceptor {
    /// Until the face ends; then the doors are closed.
    pub fn run(mut self) {
        let doors = std::mem::take(&mut self.doors);
        loop {
            let sockets = doors.iter().map(|door| &door.socket).chain([&self.end]);
            let mut polled: Vec<_> =
                sockets.map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
            match poll(&mut polled, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return log::error!("no connection can be accepted: {error}"),
            }
            let is_ready = |at: usize| !polled[at].revents().is_empty();
            if is_ready(doors.len()) {
                return;
            }
            let ready: Vec<usize> = (0..doors.len()).filter(|at| is_ready(*at)).collect();
            ready.into_iter().for_each(|at| self.accept(&doors[at]));
        }
    }

    /// As many as wait.
    fn accept(&mut self, door: &Door) {
        loop {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            match acceptfrom_with(&door.socket, flags) {
                Ok((socket, peer)) => self.admit(socket, peer, door),
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(error) => return self.pause_after(error),
            }
        }
    }

    fn admit(&mut self, socket: OwnedFd, peer: Option<SocketAddrAny>, door: &Door) {
        self.is_failing = false;
        self.shared.is_accepting.store(true, Ordering::Relaxed);
        count(&self.shared.counts.accepted, 1);
        if self.shared.open.load(Ordering::Relaxed) >= self.shared.limits.connections_max {
            return self.turn_away(&socket);
        }
        self.is_full = false;
        let address = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
        let peer = match (&door.place, address) {
            (Place::Address(_), Some(address)) => {
                // An answer must not wait for the acknowledgement of the one before.
                if set_tcp_nodelay(&socket, true).is_err() {
                    return;
                }
                format!("tcp:{address}")
            }
            _ => "unix".to_owned(),
        };
        let place = match &door.place {
            Place::Address(address) => format!("tcp:{address}"),
            Place::Path(path) => format!("unix:{}", path.display()),
        };
        let figures = self.shared.enter(peer, place);
        let session = Session::new(self.auth.clone());
        let connection = Connection::new(socket, figures, session);
        let fewest = self.shared.bells.iter().min_by_key(|bell| bell.open.load(Ordering::Relaxed));
        match fewest {
            Some(bell) => bell.deliver(connection),
            None => self.shared.leave(&connection.figures),
        }
    }

    fn turn_away(&mut self, socket: &OwnedFd) {
        count(&self.shared.counts.rejected, 1);
        // One that does not take it is closed all the same.
        let _ = send(socket, TOO_MANY, SendFlags::NOSIGNAL);
        if !self.is_full {
            let max = self.shared.limits.connections_max;
            log::warn!("{max} memcached connections are open, as many as may be: more are refused");
        }
        self.is_full = true;
    }

    /// Out of descriptors or memory, the connection stays in the backlog and would fail again at
    /// once: some connection may end in the pause.
    fn pause_after(&mut self, error: Errno) {
        if !self.is_failing {
            log::warn!(
                "cannot accept memcached connections: {error}; going on trying. If it is for want \
                 of file descriptors, raise their limit (ulimit -n)"
            );
            count(&self.shared.counts.accept_failures, 1);
        }
        self.is_failing = true;
        self.shared.is_accepting.store(false, Ordering::Relaxed);
        std::thread::sleep(ACCEPT_PAUSE);
        count(&self.shared.counts.accept_paused_us, ACCEPT_PAUSE.as_micros() as u64);
    }
}
