//! The face as a whole: starts its threads, and ends them.

use crate::acceptor::{Acceptor, Door};
use crate::auth::{AuthFile, AuthFileError};
use crate::bell::Bell;
use crate::executor::Executor;
use crate::figures::{FaceFigures, Shared};
use crate::limits::{self, BUFFER_BYTES_MAX, THREADS_MAX};
use crate::on_cache::OnCache;
use crate::on_collection::{Collection, OnCollection};
use crate::place::Place;
use crate::turn::Turn;
use cache::Cache;
use parking_lot::Mutex;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Where and how to serve.
#[derive(Clone, Debug)]
pub struct FaceOptions {
    /// Where to listen; at least one place.
    pub places: Vec<Place>,
    /// Threads that serve connections, 1 to [`THREADS_MAX`].
    pub threads: usize,
    /// Connections that may be open; see [`limits::CONNECTIONS_MAX`].
    pub connections_max: usize,
    /// After how long a connection is closed that sends nothing; none: never, as memcached does.
    pub idle_timeout: Option<Duration>,
    /// Names and passwords that clients must show.
    pub auth: Option<PathBuf>,
    /// Memory for commands that are not whole yet and for answers that clients have not taken, of
    /// all connections together, in bytes; see [`crate::buffer_bytes`].
    pub buffer_bytes: usize,
}

impl FaceOptions {
    /// One thread at `place`.
    pub fn new(place: Place) -> Self {
        Self {
            places: vec![place],
            threads: 1,
            connections_max: limits::CONNECTIONS_MAX,
            idle_timeout: None,
            auth: None,
            buffer_bytes: BUFFER_BYTES_MAX,
        }
    }
}

/// What every thread must keep to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub connections_max: usize,
    pub idle_timeout_s: Option<u32>,
    /// See [`FaceOptions::buffer_bytes`].
    pub buffer_bytes: usize,
    /// Whether clients must show who they are.
    pub is_locked: bool,
}

/// Why a face did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// It cannot listen.
    #[error("cannot listen for memcached clients on {place}: {source}")]
    Listen {
        /// What was asked for.
        place: Place,
        /// What the operating system said.
        source: io::Error,
    },
    /// Others could reach it, and nobody would have to show who they are.
    #[error(
        "{place} can be reached from other machines, and the cache would be open to all of them. \
         Give names and passwords by --memcached-auth FILE (lines user:password), or listen on \
         127.0.0.1 or unix:PATH"
    )]
    Public {
        /// What was asked for.
        place: Place,
    },
    /// The collection is Sarsen's own.
    #[error("{name} belongs to Sarsen itself; serve a collection whose name begins with a letter")]
    System {
        /// Its name.
        name: String,
    },
    /// The names and passwords.
    #[error(transparent)]
    Auth(#[from] AuthFileError),
    /// No such number of threads.
    #[error("the cache has 1 to {THREADS_MAX} threads; got {got}")]
    Threads {
        /// What was asked for.
        got: usize,
    },
    /// Another call failed.
    #[error("cannot start the memcached face: {0}")]
    Io(#[from] io::Error),
}

/// A face that runs. Dropped without [`Face::drain`], it cuts off what is under way.
pub struct Face {
    shared: Arc<Shared>,
    /// Where it listens, with the ports that were taken.
    places: Vec<Place>,
    end: OwnedFd,
    acceptor: Option<JoinHandle<()>>,
    threads: Vec<JoinHandle<usize>>,
}

impl Face {
    /// Starts to serve a cache.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start(options: &FaceOptions, cache: Arc<Cache>) -> Result<Self, StartError> {
        Self::start_with(options, |shared, _| OnCache::new(Arc::clone(&cache), shared))
    }

    /// Starts to serve a collection of a repository: each answer is held until what it reveals is
    /// durable. To be ended before the repository is closed.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start_on(options: &FaceOptions, collection: Collection) -> Result<Self, StartError> {
        if collection.name.is_system() {
            return Err(StartError::System { name: collection.name.to_string() });
        }
        let collection = Arc::new(collection);
        let waiting = Mutex::new(Vec::new());
        let face = Self::start_with(options, |shared, bell| {
            let executor = OnCollection::new(Arc::clone(&collection), shared, bell);
            waiting.lock().push(executor.waiting());
            executor
        })?;
        // The listener lives as long as the repository, and must not be what keeps it.
        let waiting = waiting.into_inner();
        let ring = move || waiting.iter().for_each(|thread| thread.advanced());
        collection.repository.on_durable(Box::new(ring));
        Ok(face)
    }

    fn start_with<E: Executor + Send + 'static>(
        options: &FaceOptions,
        executor: impl Fn(Arc<Shared>, Arc<Bell>) -> E,
    ) -> Result<Self, StartError> {
        if !(1..=THREADS_MAX).contains(&options.threads) {
            return Err(StartError::Threads { got: options.threads });
        }
        if options.auth.is_none()
            && let Some(place) = options.places.iter().find(|place| !place.is_local())
        {
            return Err(StartError::Public { place: place.clone() });
        }
        let auth = options.auth.as_deref().map(AuthFile::read).transpose()?.map(Arc::new);
        let doors: Vec<Door> = options.places.iter().map(Door::open).collect::<Result<_, _>>()?;
        let places = doors.iter().map(|door| door.place.clone()).collect();
        let bells = (0..options.threads).map(|_| Bell::new().map(Arc::new));
        let bells = bells.collect::<io::Result<Vec<_>>>()?;
        let idle = options.idle_timeout.map(|idle| idle.as_secs().max(1));
        let limits = Limits {
            connections_max: options.connections_max,
            idle_timeout_s: idle.map(|idle| u32::try_from(idle).unwrap_or(u32::MAX)),
            buffer_bytes: options.buffer_bytes,
            is_locked: auth.is_some(),
        };
        let shared = Arc::new(Shared::new(limits, bells));
        let end = eventfd(0, EventfdFlags::CLOEXEC).map_err(io::Error::from)?;
        let told_to_end = end.try_clone()?;
        // From here on a failure drops the face, which ends the threads that have started.
        let (acceptor, threads) = (None, Vec::new());
        let mut face = Self { shared, places, end, acceptor, threads };
        for number in 0..options.threads {
            let shared = Arc::clone(&face.shared);
            let executor = executor(Arc::clone(&shared), Arc::clone(&shared.bells[number]));
            let turn = Turn::new(number, shared, executor)?;
            let thread = std::thread::Builder::new().name("memcached".into());
            face.threads.push(thread.spawn(move || serve(turn))?);
        }
        let acceptor = Acceptor {
            doors,
            shared: Arc::clone(&face.shared),
            auth,
            end: told_to_end,
            is_full: false,
            is_failing: false,
        };
        let thread = std::thread::Builder::new().name("memcached-accept".into());
        face.acceptor = Some(thread.spawn(move || acceptor.run())?);
        Ok(face)
    }

    /// Where it listens. Port 0 has become the port that was taken.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Figures now.
    pub fn figures(&self) -> FaceFigures {
        self.shared.read()
    }

    /// Reads its figures, for whoever tells them.
    pub fn reader(&self) -> FaceReader {
        FaceReader { shared: Arc::clone(&self.shared) }
    }

    /// Stops accepting, closes connections that have their answers, and waits for the others up to
    /// `limit`. Gives how many were cut off then.
    pub fn drain(mut self, limit: Duration) -> usize {
        self.end(Instant::now() + limit)
    }

    fn end(&mut self, deadline: Instant) -> usize {
        // It cannot be full: it is written once or twice.
        let _ = rustix::io::write(&self.end, &1_u64.to_ne_bytes());
        if self.acceptor.take().is_some_and(|thread| thread.join().is_err()) {
            log::error!("the thread that accepts memcached connections had ended by a panic");
        }
        self.shared.bells.iter().for_each(|bell| bell.end(deadline));
        let ended = self.threads.drain(..).map(JoinHandle::join);
        ended
            .map(|cut_off| {
                cut_off.unwrap_or_else(|_| {
                    log::error!("a thread of the memcached face had ended by a panic");
                    0
                })
            })
            .sum()
    }
}

/// Reads the figures of a face.
#[derive(Clone)]
pub struct FaceReader {
    shared: Arc<Shared>,
}

impl FaceReader {
    /// Figures now.
    pub fn read(&self) -> FaceFigures {
        self.shared.read()
    }
}

impl Drop for Face {
    fn drop(&mut self) {
        self.end(Instant::now());
    }
}

fn serve<E: Executor>(turn: Turn<E>) -> usize {
    turn.run().unwrap_or_else(|error| {
        log::error!("a thread of the memcached face cannot go on: {error}");
        0
    })
}
