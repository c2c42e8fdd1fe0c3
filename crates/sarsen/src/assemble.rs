//! Puts the server together from its parts and takes it apart again. Every part gets what it needs
//! here, as an argument; what the parts do is their own business.

use crate::admin::{AdminSocket, Commands, Sources, Tasks};
use crate::cli::ServeArguments;
use crate::exchange::CutExport;
use crate::limits::{DRAIN_MAX, GEM_HEAP_BYTES, QUEUE_PER_GEM, REQUEST_CPU_MAX};
use crate::machine;
use crate::memcached_faces;
use crate::memory_cache::{self, MemoryCache, MemoryCacheError};
use crate::patience;
use crate::steady_clock::SteadyClock;
use crate::watch::{Watch, Watched};
use cache::Cache;
use faces::access::TokenFile;
use faces::limits::REACTORS_MAX;
use faces::{ListenError, Live, Server, ServerOptions, TlsOptions};
use gem::{App, ErrorLog, LoadError, Pool, PoolOptions};
use memcached::{Face, StartError};
use repository::{
    Archive, ArchiveError, Clock, CloseError, Hold, Kept, OpenError, Opening, Options, Recovery,
    Repository, Retention, Timestamp,
};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use thiserror::Error;

/// A running server.
pub struct Assembly {
    /// The repository it serves.
    pub repository: Arc<Repository>,
    /// What opening it found.
    pub recovery: Recovery,
    /// The application, if there is one.
    pub application: Option<Application>,
    /// The faces.
    pub server: Server,
    /// The face of the cache, if memcached clients are served.
    pub memcached: Option<Face>,
    /// Those of collections.
    pub collections: Vec<Face>,
    /// The cache.
    pub cache: MemoryCache,
    /// Who sees edits of the application, if it is watched.
    pub watch: Option<Watch>,
    /// What copies commits elsewhere, if that is asked for.
    archive: Option<Archive>,
    /// Where commands on this machine ask it; a server without one has logged why.
    admin: Option<AdminSocket>,
}

/// The application and what runs it.
pub struct Application {
    /// Its name.
    pub name: String,
    /// Its gems.
    pub pool: Arc<Pool>,
    /// How many they are.
    pub gems: usize,
}

/// Why a server could not be put together. What was started is stopped again.
#[derive(Debug, Error)]
pub enum AssembleError {
    /// The application does not load.
    #[error(transparent)]
    Application(#[from] LoadError),
    /// The repository does not open.
    #[error(transparent)]
    Repository(#[from] OpenError),
    /// The address cannot be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The archive cannot be gone on with.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// There is no cache.
    #[error(transparent)]
    Cache(#[from] MemoryCacheError),
    /// Memcached clients cannot be served.
    #[error(transparent)]
    Memcached(#[from] StartError),
}

/// Starts everything that `arguments` ask for. The application is read first, so that a mistake in
/// it leaves no trace. `reopen_log` asks for the access log's file to be opened again.
pub fn assemble(
    arguments: &ServeArguments,
    reopen_log: &Arc<AtomicBool>,
) -> Result<Assembly, AssembleError> {
    let clock = SteadyClock::new(Arc::new(machine::now));
    assemble_at(arguments, reopen_log, (clock.clock(), &|time| clock.go_on_after(time)))
}

/// The same with another clock. What it is told once the repository is open is the time of the
/// latest commit.
pub fn assemble_at(
    arguments: &ServeArguments,
    reopen_log: &Arc<AtomicBool>,
    (clock, opened_at): (Clock, &dyn Fn(Timestamp)),
) -> Result<Assembly, AssembleError> {
    let app = arguments.app.as_deref().map(App::load).transpose()?;
    let cache = MemoryCache::start(arguments, Arc::clone(&clock))?;
    let memcached = memcached_faces::of_cache(arguments, &cache)?;
    let options = Options {
        folder: arguments.data.clone(),
        memory_bytes: arguments.memory.unwrap_or_else(machine::default_memory),
        clock,
    };
    // What expired while nothing ran is the application's affair, too.
    let kept = Kept::of(app.iter().flat_map(|app| app.services().expiring().cloned()));
    let retention = Retention { bytes: arguments.retain, hold: hold(arguments)? };
    let opening = Opening { kept, retention, reserve_bytes: arguments.reserve };
    let (repository, recovery) = patience::wait_for_lock(
        |error| matches!(error, OpenError::Locked { .. }),
        |waits| log::warn!("{waits}"),
        || Repository::open_with(options.clone(), opening.clone()),
    )?;
    opened_at(repository.time());
    let archive = archive(arguments, &repository).inspect_err(|_error| close(&repository))?;
    // A page may still be open that another process made.
    let live = arguments.watch.then(|| Live::new(machine::now().0));
    let others = Some(memory_cache::figures(&cache.cache, memcached.as_ref()));
    let options = ServerOptions {
        reopen_log: Arc::clone(reopen_log),
        live: live.clone(),
        others,
        ..server_options(arguments)
    };
    match serve(arguments, app, (&repository, &cache.cache), options) {
        Ok((application, server)) => {
            let served = (&server.watcher(), application.as_ref());
            let collections = memcached_faces::of_collections(arguments, &repository, served);
            let collections = match collections {
                Ok(collections) => collections,
                Err(error) => {
                    drop(server);
                    application.into_iter().for_each(|application| application.pool.stop());
                    close(&repository);
                    return Err(error.into());
                }
            };
            let admin = admin_socket(arguments, (&repository, &server), application.as_ref());
            let watch = watch(arguments, application.as_ref(), live);
            let assembly = Assembly {
                repository,
                recovery,
                application,
                server,
                memcached,
                collections,
                cache,
                watch,
                archive,
                admin,
            };
            Ok(assembly)
        }
        Err(error) => {
            close(&repository);
            Err(error)
        }
    }
}

/// A reactor carries about 100,000 requests a second; the gems and the tranlog need cores, too.
const CORES_PER_REACTOR: usize = 2;

fn serve(
    arguments: &ServeArguments,
    app: Option<App>,
    (repository, cache): (&Arc<Repository>, &Arc<Cache>),
    options: ServerOptions,
) -> Result<(Option<Application>, Server), AssembleError> {
    let gems = arguments.gems.unwrap_or_else(machine::cores);
    let application =
        app.map(|app| start_gems(app, (&arguments.data, repository, cache), gems)).transpose()?;
    let pool = application.as_ref().map(|application| Arc::clone(&application.pool));
    match Server::start(options, Arc::clone(repository), pool) {
        Ok(server) => Ok((application, server)),
        Err(error) => {
            if let Some(application) = application {
                application.pool.stop();
            }
            Err(error.into())
        }
    }
}

/// What the log is to keep from the first moment on.
fn hold(arguments: &ServeArguments) -> Result<Option<Hold>, ArchiveError> {
    let Some(folder) = &arguments.archive else { return Ok(None) };
    let position = Archive::position(folder)?;
    Ok(position.map(|after| Hold { after, bytes_max: arguments.archive_hold }))
}

fn archive(
    arguments: &ServeArguments,
    repository: &Arc<Repository>,
) -> Result<Option<Archive>, ArchiveError> {
    let Some(folder) = &arguments.archive else { return Ok(None) };
    Archive::start(repository, folder, arguments.archive_hold).map(Some)
}

fn watch(
    arguments: &ServeArguments,
    application: Option<&Application>,
    live: Option<Live>,
) -> Option<Watch> {
    let (live, application, app) = (live?, application?, arguments.app.clone()?);
    let pool = Arc::clone(&application.pool);
    let started = Watch::start(Watched { app, data: arguments.data.clone(), pool, live });
    started.inspect_err(|error| log::error!("edits are not seen: {error}")).ok()
}

fn admin_socket(
    arguments: &ServeArguments,
    (repository, server): (&Arc<Repository>, &Server),
    application: Option<&Application>,
) -> Option<AdminSocket> {
    let pool = application.map(|app| Arc::clone(&app.pool));
    let tasks = Some(Tasks::new(Arc::clone(repository), pool.clone()));
    let figures = Sources {
        repository: Arc::clone(repository),
        pool,
        watcher: server.watcher(),
        begun: Instant::now(),
    };
    let application = application.map(|app| app.name.clone());
    let repository = Some(Arc::clone(repository));
    let commands = Commands {
        application,
        tasks,
        figures: Some(figures),
        repository,
        importing: Mutex::default(),
        cut_export: CutExport::default(),
    };
    let started = AdminSocket::start(&arguments.data, commands);
    started.inspect_err(|error| log::warn!("{error}; the server goes on without")).ok()
}

fn server_options(arguments: &ServeArguments) -> ServerOptions {
    let files = arguments.tls_cert.clone().zip(arguments.tls_key.clone());
    let listen = arguments.tls_listen;
    ServerOptions {
        reactors: machine::cores().div_ceil(CORES_PER_REACTOR).min(REACTORS_MAX),
        tls: files.map(|(certificate, key)| TlsOptions { listen, certificate, key }),
        trusted_proxies: arguments.trusted_proxies.clone(),
        proxy_fields: arguments.proxy_fields,
        connections_max: memcached_faces::connections(arguments).0,
        tokens: Some(TokenFile::of(&arguments.data)),
        atom_on_demand: arguments.atom_on_demand.then_some(true),
        insecure_no_tls: arguments.insecure_no_tls,
        cors_origins: arguments.cors_origins.clone(),
        access_log: arguments.access_log.clone(),
        development: arguments.development || arguments.watch,
        ..ServerOptions::new(arguments.listen)
    }
}

fn start_gems(
    app: App,
    (data, repository, cache): (&Path, &Arc<Repository>, &Arc<Cache>),
    gems: usize,
) -> Result<Application, LoadError> {
    let name = app.name().to_owned();
    let options = PoolOptions {
        workers: gems,
        queue: gems * QUEUE_PER_GEM,
        cpu_limit: REQUEST_CPU_MAX,
        heap_limit: GEM_HEAP_BYTES,
        errors: error_log(data),
        cache: Some(Arc::clone(cache)),
    };
    let pool = Arc::new(Pool::start(app, Arc::clone(repository), options)?);
    Ok(Application { name, pool, gems })
}

/// Where failed requests are kept. A server that cannot keep them serves all the same.
fn error_log(data: &Path) -> Option<Arc<ErrorLog>> {
    let started = ErrorLog::start(data);
    let started = started.inspect_err(|error| {
        log::warn!("failed requests are not kept: {error}");
    });
    started.ok().map(Arc::new)
}

/// Finishes what is in flight, within the bound, and closes. Each part stops before what it uses.
pub fn take_apart(assembly: Assembly) -> Result<(), CloseError> {
    // First, so that no page is kept waiting for edits.
    drop(assembly.watch);
    let faces = assembly.memcached.into_iter().chain(assembly.collections);
    let memcached: usize = faces.map(|face| face.drain(DRAIN_MAX)).sum();
    let cut_off = assembly.server.drain(DRAIN_MAX) + memcached;
    if cut_off > 0 {
        log::warn!("{cut_off} connections were cut off after {DRAIN_MAX:?}");
    }
    drop(assembly.admin);
    if let Some(application) = assembly.application {
        application.pool.stop();
    }
    drop(assembly.cache);
    // After the last commit.
    drop(assembly.archive);
    assembly.repository.close()
}

/// Closes after a failed start, whose reason is reported rather than this one's.
fn close(repository: &Repository) {
    if let Err(error) = repository.close() {
        log::error!("the repository did not close cleanly: {error}");
    }
}
