//! The server: starts the reactors and the listener, and ends them. It serves nothing itself.

use crate::access::{Access, Guard, TokenFile, TokenFileError, reach};
use crate::atom::Atom;
use crate::doors::Doors;
use crate::feed::News;
use crate::gate::Gate;
use crate::http::body::Room;
use crate::http::cors::Origins;
use crate::http::forwarded::{Proxies, ProxyFields};
use crate::limits;
use crate::listener::{Arrival, Desk};
use crate::live::Live;
use crate::mailbox::Mailbox;
use crate::network::Network;
use crate::observe::{
    AccessLog, AccessLogTarget, LogWriter, Meter, Observer, OtherFigures, Watch, Watcher,
};
use crate::reactor::{self, Disk, Drain, Reactor};
use crate::replies::Replies;
use crate::tls::{Handshakes, Tls, TlsError, TlsOptions};
use repository::Repository;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};

/// Where and how to serve.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where and with what to speak TLS, besides.
    pub tls: Option<TlsOptions>,
    /// Threads that serve connections, 1 to [`limits::REACTORS_MAX`].
    pub reactors: usize,
    /// Who may ask; without it everybody, who then must be on this machine.
    pub tokens: Option<TokenFile>,
    /// Whether tokens may come from other machines without TLS.
    pub insecure_no_tls: bool,
    /// Where requests are written down, if they are.
    pub access_log: Option<AccessLogTarget>,
    /// Set by whoever wants the access log's file to be opened again.
    pub reopen_log: Arc<AtomicBool>,
    /// Whether clients see the message of a failed handler.
    pub development: bool,
    /// Connections that may be open; see [`limits::CONNECTIONS_MAX`].
    pub connections_max: usize,
    /// Connections of one client; see [`limits::CONNECTIONS_PER_CLIENT_MAX`].
    pub connections_per_client_max: usize,
    /// Proxies that are believed about the clients behind them; at most
    /// [`limits::TRUSTED_PROXIES_MAX`].
    pub trusted_proxies: Vec<Network>,
    /// What those proxies write.
    pub proxy_fields: ProxyFields,
    /// Replies in flight of one reactor, in bytes; see [`limits::REPLY_MEMORY_BYTES_MAX`].
    pub reply_memory_bytes: usize,
    /// How long a client may take.
    pub timeouts: Timeouts,
    /// Origins whose pages may read and write documents from a browser, such as
    /// `https://app.example`, or `*`; at most [`limits::CORS_ORIGINS_MAX`].
    pub cors_origins: Vec<String>,
    /// What pages are told while their application is edited, if it is.
    pub live: Option<Live>,
    /// Whether the first entry for a publication makes it; if not given, where only this machine
    /// can reach the server.
    pub atom_on_demand: Option<bool>,
    /// What is told among the metrics besides.
    pub others: Option<OtherFigures>,
}

/// How long a client may take.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For a TLS handshake.
    pub handshake: Duration,
    /// For a request head; also the longest idle time between requests.
    pub header: Duration,
    /// For a request body, besides what [`limits::BODY_BYTES_PER_S_MIN`] gives.
    pub body: Duration,
    /// A stretch in which [`limits::WRITE_BYTES_MIN`] of a reply have to be taken.
    pub write_stall: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: limits::HANDSHAKE_TIMEOUT,
            header: limits::HEADER_TIMEOUT,
            body: limits::BODY_TIMEOUT,
            write_stall: limits::WRITE_STALL_TIMEOUT,
        }
    }
}

impl ServerOptions {
    /// One reactor on `listen`, within the default limits.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            tls: None,
            reactors: 1,
            tokens: None,
            insecure_no_tls: false,
            access_log: None,
            reopen_log: Arc::default(),
            development: false,
            connections_max: limits::CONNECTIONS_MAX,
            connections_per_client_max: limits::CONNECTIONS_PER_CLIENT_MAX,
            trusted_proxies: Vec::new(),
            proxy_fields: ProxyFields::default(),
            reply_memory_bytes: limits::REPLY_MEMORY_BYTES_MAX,
            timeouts: Timeouts::default(),
            cors_origins: Vec::new(),
            live: None,
            atom_on_demand: None,
            others: None,
        }
    }
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The port is taken.
    #[error("{address} is in use by another program; stop it, or listen on another port")]
    Busy {
        /// What was asked for.
        address: SocketAddr,
    },
    /// The address belongs to no interface of this machine.
    #[error("{address} is not an address of this machine; listen on 127.0.0.1 or one that is")]
    NotHere {
        /// What was asked for.
        address: SocketAddr,
    },
    /// The port is one of those that only privileged programs may have.
    #[error("not permitted to listen on {address}; take a port of 1024 or above")]
    Denied {
        /// What was asked for.
        address: SocketAddr,
    },
    /// The address is not loopback, and no token is configured.
    #[error(
        "{address} can be reached from other machines, and no token is configured: whoever reaches \
         it could read and change everything. Make one with `sarsen token create --data {} --scope \
         admin`, or listen on 127.0.0.1", folder.display()
    )]
    Public {
        /// What was asked for.
        address: SocketAddr,
        /// The data folder.
        folder: PathBuf,
    },
    /// Tokens would come from other machines in the clear.
    #[error(
        "{address} can be reached from other machines and speaks no TLS: whoever is on the way \
         could read the tokens (RFC 6750, section 5.3). Listen on 127.0.0.1 and speak TLS to \
         others by --tls-listen, or say --insecure-no-tls if a proxy in front speaks TLS, or the \
         network is trusted"
    )]
    Unencrypted {
        /// What was asked for.
        address: SocketAddr,
    },
    /// The tokens cannot be read.
    #[error(transparent)]
    Tokens(#[from] TokenFileError),
    /// No such number of reactors.
    #[error("a server has 1 to {max} reactors; got {got}", max = limits::REACTORS_MAX)]
    Reactors {
        /// What was asked for.
        got: usize,
    },
    /// TLS cannot be spoken.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// More trusted proxies than there may be.
    #[error(
        "at most {max} networks of trusted proxies; got {got}. Take larger networks",
        max = limits::TRUSTED_PROXIES_MAX
    )]
    Proxies {
        /// What was asked for.
        got: usize,
    },
    /// Not an origin, or too many of them.
    #[error("CORS: {why}")]
    Origins {
        /// What was expected and what came.
        why: String,
    },
    /// Another call failed.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
}

/// A running server. Dropped without [`Server::drain`], it cuts off what is in flight.
pub struct Server {
    local_addr: SocketAddr,
    tls_addr: Option<SocketAddr>,
    drain: watch::Sender<Option<Instant>>,
    reactors: Vec<JoinHandle<usize>>,
    observer: Arc<Observer>,
    atom: Arc<Atom>,
    /// Ends once what the reactors gave it is written.
    log: LogWriter,
    _watch: Watch,
}

impl Server {
    /// Starts to serve `repository` and, if there is one, the application of `pool`.
    pub fn start(
        options: ServerOptions,
        repository: Arc<Repository>,
        pool: Option<Arc<gem::Pool>>,
    ) -> Result<Self, ListenError> {
        if !(1..=limits::REACTORS_MAX).contains(&options.reactors) {
            return Err(ListenError::Reactors { got: options.reactors });
        }
        let access = Arc::new(Access::open(options.tokens.clone())?);
        reach::check(options.listen, &access, options.insecure_no_tls)?;
        if let Some(tls) = &options.tls {
            reach::check(tls.listen, &access, true)?;
        }
        let origins = Origins::new(&options.cors_origins);
        let origins = Arc::new(origins.map_err(|why| ListenError::Origins { why })?);
        let (drain, draining) = watch::channel(None);
        let meters: Vec<_> = (0..options.reactors).map(|_| Arc::new(Meter::new())).collect();
        let observed = (Arc::clone(&repository), pool.clone());
        let observer = Arc::new(Observer::new(observed, access, meters, options.others.clone()));
        let drops = Arc::clone(&observer.log_drops);
        let reopen = Arc::clone(&options.reopen_log);
        let log = LogWriter::start(options.access_log.as_ref(), reopen, drops)
            .map_err(|source| ListenError::Io { action: "open the access log", source })?;
        let looker = Arc::clone(&observer);
        let watch = Watch::start(move || looker.look())
            .map_err(|source| ListenError::Io { action: "start a thread", source })?;
        // From here on a failure drops the server, which ends the reactors that have started.
        let networks = options.trusted_proxies.clone();
        let proxies = Arc::new(Proxies { networks, fields: options.proxy_fields });
        let counts = Arc::clone(&observer.connections);
        let doors = Doors::new(&options, Arc::clone(&proxies), counts)?;
        let (local_addr, tls_addr) = (doors.local_addr, doors.tls_addr);
        let atom = Arc::new(Atom::new(options.atom_on_demand.unwrap_or(doors.are_local)));
        let reactors = Vec::new();
        let mut server =
            Self { local_addr, tls_addr, drain, reactors, observer, atom, log, _watch: watch };
        let mut desks = Vec::new();
        let mut seeds = Vec::new();
        for number in 0..options.reactors {
            let (desk, arrivals) = Desk::new();
            server.observer.connections.open.lock().push(desk.gauge());
            desks.push(desk);
            seeds.push(Seed {
                proxies: Arc::clone(&proxies),
                tls: doors.tls.clone(),
                is_local: doors.are_local,
                ..Seed::new(&options, (&server, number), Arc::clone(&origins), arrivals)
            });
        }
        wake_on_advance(&repository, &seeds);
        let mut accept = Some((doors, desks));
        for seed in seeds {
            let reactor = seed.start(accept.take(), draining.clone())?;
            server.reactors.push(reactor);
        }
        Ok(server)
    }

    /// The address it listens on.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Reads its figures, for whoever watches it from within the process.
    pub fn watcher(&self) -> Watcher {
        Watcher::new(&self.observer)
    }

    /// The address at which it speaks TLS, if it does.
    pub fn tls_addr(&self) -> Option<SocketAddr> {
        self.tls_addr
    }

    /// Stops accepting, closes idle connections, and waits for requests in flight up to `limit`.
    /// Gives the number of connections that were cut off then.
    pub fn drain(mut self, limit: Duration) -> usize {
        self.end(Instant::now() + limit)
    }

    fn end(&mut self, deadline: Instant) -> usize {
        self.observer.is_draining.store(true, Ordering::Relaxed);
        self.drain.send_replace(Some(deadline));
        let ended = self.reactors.drain(..).map(JoinHandle::join);
        ended
            .map(|cut_off| {
                cut_off.unwrap_or_else(|_| {
                    log::error!("a reactor's thread had ended by a panic");
                    0
                })
            })
            .sum()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end(Instant::now());
    }
}

/// One listener for all reactors. It outlives the server, and then finds nobody who waits.
fn wake_on_advance(repository: &Repository, seeds: &[Seed]) {
    let bells = seeds.iter().flat_map(|seed| [seed.mailbox.bell(), seed.news.bell()]);
    let bells: Vec<_> = bells.collect();
    repository.on_durable(Box::new(move || bells.iter().for_each(|bell| bell.advanced())));
}

/// What the first reactor is given to accept for all.
type Accept = (Doors, Vec<Desk>);

/// What a reactor is made from, on its own thread.
struct Seed {
    repository: Arc<Repository>,
    pool: Option<Arc<gem::Pool>>,
    origins: Arc<Origins>,
    mailbox: Arc<Mailbox>,
    news: News,
    arrivals: tokio::sync::mpsc::Receiver<Arrival>,
    observer: Arc<Observer>,
    meter: Arc<Meter>,
    log: AccessLog,
    timeouts: Timeouts,
    development: bool,
    live: Option<Live>,
    proxies: Arc<Proxies>,
    tls: Option<Tls>,
    /// Whether only this machine can reach the server.
    is_local: bool,
    reply_memory_bytes: usize,
    atom: Arc<Atom>,
}

impl Seed {
    /// For the reactor with this number.
    fn new(
        options: &ServerOptions,
        (server, number): (&Server, usize),
        origins: Arc<Origins>,
        arrivals: tokio::sync::mpsc::Receiver<Arrival>,
    ) -> Self {
        let observer = Arc::clone(&server.observer);
        let durable = Arc::clone(&observer.repository);
        let read_durable = move || durable.durable();
        Self {
            repository: Arc::clone(&observer.repository),
            pool: observer.pool.clone(),
            meter: Arc::clone(&observer.meters[number]),
            log: server.log.end(),
            origins,
            observer,
            mailbox: Arc::new(Mailbox::new(Box::new(read_durable))),
            news: News::default(),
            arrivals,
            timeouts: options.timeouts,
            development: options.development,
            live: options.live.clone(),
            proxies: Arc::default(),
            tls: None,
            is_local: true,
            reply_memory_bytes: options.reply_memory_bytes,
            atom: Arc::clone(&server.atom),
        }
    }

    /// Starts the reactor's thread and waits until it serves.
    fn start(self, accept: Option<Accept>, drain: Drain) -> Result<JoinHandle<usize>, ListenError> {
        let (started, has_started) = mpsc::sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("reactor".into())
            .spawn(move || self.serve(accept, drain, &started))
            .map_err(|source| ListenError::Io { action: "start a thread", source })?;
        match has_started.recv() {
            Ok(Ok(())) => Ok(thread),
            Ok(Err(source)) => Err(ListenError::Io { action: "start a reactor", source }),
            Err(gone) => {
                let source = io::Error::other(gone);
                Err(ListenError::Io { action: "start a reactor", source })
            }
        }
    }

    fn serve(
        self,
        accept: Option<Accept>,
        drain: Drain,
        started: &mpsc::SyncSender<io::Result<()>>,
    ) -> usize {
        let (runtime, outcome) = match reactor::runtime() {
            Ok(runtime) => (Some(runtime), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // If nobody waits to hear it, the server has been given up, and the drain says so.
        let _ = started.send(outcome);
        let Some(runtime) = runtime else { return 0 };
        let (reactor, arrivals) = self.grow();
        let cut_off = runtime.block_on(async {
            if let Some((doors, desks)) = accept {
                doors.open(&desks, &drain);
            }
            Rc::new(reactor).run(arrivals, drain).await
        });
        reactor::end(runtime);
        cut_off
    }

    fn grow(self) -> (Reactor, tokio::sync::mpsc::Receiver<Arrival>) {
        let reactor = Reactor {
            repository: self.repository,
            app: self.pool.as_ref().map(|pool| pool.app_reader()),
            pool: self.pool,
            atom: self.atom,
            gate: Gate::new(Arc::clone(&self.mailbox)),
            mailbox: self.mailbox,
            news: self.news,
            room: Room::new(limits::BODY_MEMORY_BYTES_MAX),
            replies: Rc::new(Replies::new(self.reply_memory_bytes)),
            guard: Guard::new(Arc::clone(&self.observer.access), self.is_local),
            meter: self.meter,
            log: self.log,
            observer: self.observer,
            turns: Arc::new(Semaphore::new(limits::BLOCKING_THREADS_MAX)),
            disk: Disk::default(),
            timeouts: self.timeouts,
            development: self.development,
            live: self.live,
            proxies: self.proxies,
            origins: self.origins,
            tls: self.tls,
            handshakes: Handshakes::default(),
        };
        (reactor, self.arrivals)
    }
}
