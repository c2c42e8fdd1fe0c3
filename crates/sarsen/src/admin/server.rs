//! The side of the server: it makes the socket, takes connections within their bound, and answers
//! their lines. What a request means is not known here.

use super::commands::Commands;
use super::exchange::Exchange;
use super::line::{self, LineError};
use super::place;
use crate::limits::{
    ADMIN_CONNECTIONS_MAX, ADMIN_IDLE_MAX, ADMIN_REQUEST_BYTES_MAX, ADMIN_WRITE_MAX,
};
use rustix::net::sockopt::socket_peercred;
use rustix::net::{Shutdown, shutdown};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::io::{self, BufReader, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, Scope};
use std::time::Duration;
use thiserror::Error;

/// Before it has its name and its mode.
const UNFINISHED: &str = "admin.sock.new";

/// Why there is no socket. The server goes on without.
#[derive(Debug, Error)]
pub enum AdminError {
    /// Somebody else could answer in its place.
    #[error("no admin socket: {0}")]
    Place(String),
    /// The operating system refused.
    #[error("no admin socket in {}: {source}", folder.display())]
    Io {
        /// The data folder.
        folder: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

/// The socket of a server that runs. It is gone once this is stopped or dropped.
pub struct AdminSocket {
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

struct Shared {
    folder: PathBuf,
    listener: UnixListener,
    commands: Commands,
    /// Open connections, so that they can be ended; no more than their bound.
    open: Mutex<HashMap<u64, UnixStream>>,
    is_stopping: AtomicBool,
}

impl AdminSocket {
    /// Makes the socket in the data folder, whose lock this process holds: one that is there was
    /// left by a server that is gone, and is replaced.
    pub fn start(folder: &Path, commands: Commands) -> Result<Self, AdminError> {
        let failed = |source| AdminError::Io { folder: folder.to_owned(), source };
        if let Some(objection) = place::objection(folder).map_err(failed)? {
            return Err(AdminError::Place(objection));
        }
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            listener: listen(folder).map_err(failed)?,
            commands,
            open: Mutex::default(),
            is_stopping: AtomicBool::new(false),
        });
        let listened = Arc::clone(&shared);
        let listening = thread::Builder::new()
            .name("admin".to_owned())
            .spawn(move || thread::scope(|scope| listened.take_connections(scope)))
            .map_err(failed)?;
        Ok(Self { shared, listening: Some(listening) })
    }

    /// Takes nothing more, ends the connections, and waits for what is being answered.
    pub fn stop(&mut self) {
        let Some(listening) = self.listening.take() else { return };
        self.shared.end();
        if listening.join().is_err() {
            log::error!("the admin socket's thread panicked");
        }
        self.shared.commands.cut_export.end();
    }
}

impl Drop for AdminSocket {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A listening socket with its name. It gets that last: nobody finds it with another mode.
fn listen(folder: &Path) -> io::Result<UnixListener> {
    let unfinished = folder.join(UNFINISHED);
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = place::with_path(folder, UNFINISHED, |path| UnixListener::bind(path))?;
    fs::set_permissions(&unfinished, Permissions::from_mode(0o600))?;
    fs::rename(&unfinished, folder.join(place::NAME))?;
    Ok(listener)
}

impl Shared {
    fn take_connections<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        for number in 0.. {
            let accepted = self.listener.accept();
            if self.is_stopping.load(Ordering::Acquire) {
                return;
            }
            let taken =
                accepted.and_then(|(stream, _)| self.take_connection(scope, number, stream));
            if let Err(error) = taken {
                log::warn!("a connection to the admin socket failed: {error}");
                // Such as too many open files: it does not pass by asking again at once.
                thread::sleep(Duration::from_millis(100));
            }
        }
    }

    fn take_connection<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        number: u64,
        mut stream: UnixStream,
    ) -> io::Result<()> {
        // The mode keeps others out; this does while the socket is being made, too.
        if !place::is_trusted(socket_peercred(&stream)?.uid.as_raw()) {
            return Ok(());
        }
        stream.set_read_timeout(Some(ADMIN_IDLE_MAX))?;
        stream.set_write_timeout(Some(ADMIN_WRITE_MAX))?;
        let known = stream.try_clone()?;
        let mut open = self.open();
        if open.len() >= ADMIN_CONNECTIONS_MAX {
            drop(open);
            let why = format!("the admin socket serves {ADMIN_CONNECTIONS_MAX} at once; try again");
            return line::write(&mut stream, &json!({ "error": why }));
        }
        open.insert(number, known);
        drop(open);
        let serve = move || {
            if let Err(error) = self.converse(stream) {
                log::debug!("a connection to the admin socket ended: {error}");
            }
            self.open().remove(&number);
        };
        let spawned = thread::Builder::new().name("admin".to_owned()).spawn_scoped(scope, serve);
        spawned.map(drop).inspect_err(|_error| drop(self.open().remove(&number)))
    }

    fn converse(&self, mut stream: UnixStream) -> io::Result<()> {
        let mut from = BufReader::new(stream.try_clone()?);
        loop {
            let request = match line::read(&mut from, ADMIN_REQUEST_BYTES_MAX) {
                Ok(Some(request)) => request,
                Ok(None) => return Ok(()),
                Err(LineError::Io(error)) => return Err(error),
                Err(error @ LineError::NotJson(_)) => {
                    line::write(&mut stream, &json!({ "error": error.to_string() }))?;
                    continue;
                }
                // Where the next line begins is not known.
                Err(error @ LineError::TooLong { .. }) => {
                    return line::write(&mut stream, &json!({ "error": error.to_string() }));
                }
            };
            if self.commands.is_stream(&request) {
                line::write(&mut stream, &json!({ "stream": true }))?;
                // It may have ended before all was read: nobody knows where a line would begin.
                return self.stream(&request, &mut from);
            }
            line::write(&mut stream, &self.reply(&request))?;
        }
    }

    fn stream(&self, request: &Value, from: &mut BufReader<UnixStream>) -> io::Result<()> {
        let exchange = Exchange::new(from, &self.is_stopping)?;
        let answered = catch_unwind(AssertUnwindSafe(|| self.commands.stream(request, &exchange)));
        match answered {
            Ok(Ok(result)) => exchange.end(Ok(&result)),
            Ok(Err(why)) => exchange.end(Err(&why.to_string())),
            Err(_panic) => exchange.end(Err("the command panicked; the server goes on")),
        }
    }

    fn reply(&self, request: &Value) -> Value {
        let answered = catch_unwind(AssertUnwindSafe(|| self.commands.answer(request)));
        match answered {
            Ok(Ok(answer)) => json!({ "ok": answer }),
            Ok(Err(why)) => json!({ "error": why.to_string() }),
            Err(_panic) => json!({ "error": "the command panicked; the server goes on" }),
        }
    }

    fn end(&self) {
        self.is_stopping.store(true, Ordering::Release);
        if let Err(error) = fs::remove_file(self.folder.join(place::NAME)) {
            log::warn!("the admin socket could not be removed: {error}");
        }
        // Wakes the thread that accepts.
        if let Err(error) = shutdown(&self.listener, Shutdown::Both) {
            log::error!("the admin socket cannot be shut down: {error}");
        }
        for stream in self.open().values() {
            // It may have ended by itself just now.
            let _gone = stream.shutdown(std::net::Shutdown::Read);
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, UnixStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
