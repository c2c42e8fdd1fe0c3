//! `sarsen serve`: starts the server, says where it is, and stops it when asked to.

use crate::assemble::{Application, AssembleError, Assembly, assemble, take_apart};
use crate::cli::ServeArguments;
use crate::exit::Exit;
use crate::lost;
use crate::machine;
use crate::memory_cache::MemoryCacheError;
use crate::notify::{State, notify};
use crate::private;
use crate::signals::{self, StopSignals};
use faces::ListenError;
use memcached::StartError;
use repository::{CloseError, OpenError, Recovery, Stats};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// Why the server did not start, or did not end well.
#[derive(Debug, Error)]
pub enum ServeError {
    /// It could not be put together.
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    /// Signals cannot be caught, so it could not be stopped cleanly.
    #[error("cannot catch signals: {0}")]
    Signals(io::Error),
    /// Nobody can read where it is.
    #[error("cannot write to stdout: {0}")]
    Announce(io::Error),
    /// Nobody would see that gems are lost.
    #[error("cannot watch for lost gems: {0}")]
    Lost(io::Error),
    /// The repository did not close. Nothing acknowledged is lost.
    #[error("the repository did not close cleanly: {0}; it recovers when it is opened again")]
    Close(CloseError),
}

impl ServeError {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Assemble(AssembleError::Application(_)) => Exit::Application,
            Self::Assemble(AssembleError::Repository(OpenError::MemoryTooSmall { .. })) => {
                Exit::Usage
            }
            Self::Assemble(AssembleError::Repository(_)) => Exit::Repository,
            Self::Assemble(AssembleError::Listen(ListenError::Tokens(_))) => Exit::Tokens,
            Self::Assemble(AssembleError::Archive(_)) => Exit::Failure,
            Self::Assemble(AssembleError::Listen(_)) => Exit::Listen,
            Self::Assemble(AssembleError::Cache(MemoryCacheError::Settings(_))) => Exit::Usage,
            Self::Assemble(AssembleError::Cache(MemoryCacheError::Thread(_))) => Exit::Failure,
            Self::Assemble(AssembleError::Memcached(StartError::Auth(_))) => Exit::Usage,
            Self::Assemble(AssembleError::Memcached(_)) => Exit::Listen,
            Self::Signals(_) | Self::Announce(_) | Self::Lost(_) | Self::Close(_) => Exit::Failure,
        }
    }
}

/// Runs the server until a signal asks it to stop.
pub fn run(arguments: &ServeArguments) -> Result<(), ServeError> {
    let mut stop = StopSignals::catch().map_err(ServeError::Signals)?;
    machine::raise_descriptor_limit();
    let reopen_log = match arguments.access_log {
        Some(_) => signals::hangup().map_err(ServeError::Signals)?,
        None => Arc::default(),
    };
    let assembly = assemble(arguments, &reopen_log)?;
    private::tell_of_wide_modes(arguments);
    if let (true, Some(application)) = (arguments.exit_when_lost, &assembly.application) {
        lost::watch(&application.pool).map_err(ServeError::Lost)?;
    }
    let announced = announce(arguments, &assembly);
    if announced.is_ok() {
        notify(State::Ready);
        let signal = stop.wait();
        log::info!("{signal}: finishing requests in flight; a second signal stops at once");
        notify(State::Stopping);
    }
    let repository = Arc::clone(&assembly.repository);
    take_apart(assembly).map_err(ServeError::Close)?;
    log::info!("stopped; the repository is closed: {}", work_done(&repository.stats()));
    announced.map_err(ServeError::Announce)
}

fn announce(arguments: &ServeArguments, assembly: &Assembly) -> io::Result<()> {
    let app = arguments.app.as_deref().zip(assembly.application.as_ref());
    // The URL comes last: who waits for it knows then that everything was said.
    let text = [
        data(&arguments.data, &assembly.recovery),
        recovery(&assembly.recovery),
        DURABILITY.to_owned(),
        application(app),
        watched(arguments),
        memcached(assembly),
        memcached_collections(arguments, assembly),
        secure_url(assembly.server.tls_addr()),
        url(assembly.server.local_addr()),
    ];
    let mut stdout = io::stdout().lock();
    for line in text.iter().filter(|line| !line.is_empty()) {
        writeln!(stdout, "{line}")?;
    }
    stdout.flush()
}

/// The default of every collection; there is no other setting yet.
const DURABILITY: &str =
    "durability  synced: a reply leaves after its commit is written and synced to the tranlog";

fn url(address: SocketAddr) -> String {
    format!("url         http://{address}/")
}

fn secure_url(address: Option<SocketAddr>) -> String {
    address.map(|address| format!("tls         https://{address}/")).unwrap_or_default()
}

/// The folder, in full if it can be told.
fn data(folder: &Path, recovery: &Recovery) -> String {
    let full = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let made = if recovery.created { " (new)" } else { "" };
    format!("data        {}{made}", full.display())
}

fn application(app: Option<(&Path, &Application)>) -> String {
    match app {
        None => "app         none: documents only, at /db/COLLECTION/KEY".into(),
        Some((folder, Application { name, gems, .. })) => {
            let gems = if *gems == 1 { "1 gem".into() } else { format!("{gems} gems") };
            format!("app         {name} ({}), {gems}", folder.display())
        }
    }
}

fn watched(arguments: &ServeArguments) -> String {
    match &arguments.app {
        Some(app) if arguments.watch => {
            format!("watch       edits of {} are served as they are saved", app.display())
        }
        _ => String::new(),
    }
}

/// Where memcached clients find the cache.
fn memcached(assembly: &Assembly) -> String {
    let Some(face) = &assembly.memcached else { return String::new() };
    let places: Vec<String> = face.places().iter().map(ToString::to_string).collect();
    let memory = assembly.cache.cache.memory_bytes() >> 20;
    format!("memcached   {}: a cache of {memory} MiB", places.join(", "))
}

/// Where they find collections.
fn memcached_collections(arguments: &ServeArguments, assembly: &Assembly) -> String {
    let names = arguments.memcached_collections.iter().map(|(name, _)| name);
    let lines = names.zip(&assembly.collections).map(|(name, face)| {
        let places: Vec<String> = face.places().iter().map(ToString::to_string).collect();
        format!("memcached   {}: the collection {name}", places.join(", "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What opening found; empty for a new repository, where there was nothing to find.
fn recovery(recovery: &Recovery) -> String {
    if recovery.created {
        return String::new();
    }
    let torn = recovery.torn_tail.as_ref().map(|torn| format!("; {torn}")).unwrap_or_default();
    match recovery.replayed {
        1 => format!("recovery    1 commit replayed from the tranlog{torn}"),
        replayed => format!("recovery    {replayed} commits replayed from the tranlog{torn}"),
    }
}

/// What the repository did since it was opened.
fn work_done(stats: &Stats) -> String {
    format!(
        "{} commits, {} bytes of tranlog in {} writes, {} conflicts, {} runs in the serial lane",
        stats.commits,
        stats.tranlog_bytes,
        stats.tranlog_batches,
        stats.conflicts,
        stats.serial_lane
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_is_one_line() {
        let mut found = Recovery { created: true, ..Recovery::default() };
        assert_eq!(recovery(&found), "");
        found.created = false;
        assert_eq!(recovery(&found), "recovery    0 commits replayed from the tranlog");
        found.replayed = 1;
        found.torn_tail = Some("torn tail dropped".into());
        let expected = "recovery    1 commit replayed from the tranlog; torn tail dropped";
        assert_eq!(recovery(&found), expected);
    }

    #[test]
    fn an_ipv6_address_is_a_url() {
        let address = "[::1]:80".parse().expect("an address");
        assert_eq!(url(address), "url         http://[::1]:80/");
    }
}
