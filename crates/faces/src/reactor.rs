//! A reactor: one thread with one current-thread runtime that serves the connections it is given.
//! It has what their requests need; nothing in it is shared with another reactor but the repository
//! and the workers. Which reactor gets a connection is decided in `listener`.

use crate::access::Guard;
use crate::atom::Atom;
use crate::feed::News;
use crate::gate::Gate;
use crate::http::body::Room;
use crate::http::connection;
use crate::http::cors::Origins;
use crate::http::forwarded::Proxies;
use crate::limits;
use crate::listener::Arrival;
use crate::live::Live;
use crate::mailbox::Mailbox;
use crate::observe::{AccessLog, Counted, Meter, Observer};
use crate::problem::Problem;
use crate::replies::Replies;
use crate::server::Timeouts;
use crate::tls::{Handshakes, Tls};
use repository::Repository;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::{JoinError, JoinHandle, JoinSet};

/// What the requests of one reactor share.
pub(crate) struct Reactor {
    pub repository: Arc<Repository>,
    /// The workers, if there is an application.
    pub pool: Option<Arc<gem::Pool>>,
    /// The application that they serve.
    pub app: Option<gem::AppReader>,
    /// What publishing shares.
    pub atom: Arc<Atom>,
    pub gate: Gate,
    pub mailbox: Arc<Mailbox>,
    /// What wakes those who read the feed.
    pub news: News,
    pub room: Room,
    pub replies: Rc<Replies>,
    /// Turns on the threads for work that would hold up the reactor.
    pub turns: Arc<Semaphore>,
    /// Threads for the files of blobs.
    pub disk: Disk,
    /// The tokens, as this reactor knows them.
    pub guard: Guard,
    pub meter: Arc<Meter>,
    pub log: AccessLog,
    pub observer: Arc<Observer>,
    /// What is needed to speak TLS, if it is spoken.
    pub tls: Option<Tls>,
    pub handshakes: Handshakes,
    pub timeouts: Timeouts,
    /// Whether a failed handler's message is shown to the client.
    pub development: bool,
    /// What pages are told while their application is edited, if it is.
    pub live: Option<Live>,
    /// Who is believed about the clients behind it.
    pub proxies: Arc<Proxies>,
    /// Whose pages may use the documents.
    pub origins: Arc<Origins>,
}

/// The time by which a drain must be over, once there is one.
pub(crate) type Drain = watch::Receiver<Option<Instant>>;

impl Reactor {
    /// Serves connections until the drain. Gives how many were cut off.
    pub(crate) async fn run(
        self: Rc<Self>,
        mut arrivals: mpsc::Receiver<Arrival>,
        mut drain: Drain,
    ) -> usize {
        let holder = Rc::clone(&self);
        let gate = tokio::task::spawn_local(async move { holder.gate.run().await });
        let holder = Rc::clone(&self);
        let tell = tokio::task::spawn_local(async move { holder.tell().await });
        let holder = Rc::clone(&self);
        let news = tokio::task::spawn_local(async move { holder.news.run().await });
        // A copy of the drain's signal for this reactor: its connections look at it often, and
        // would otherwise share its lock with those of all reactors.
        let (close, closing) = watch::channel(false);
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                _ = drain.wait_for(Option::is_some) => break,
                Some(ended) = connections.join_next() => report(ended),
                Some(arrival) = arrivals.recv() => {
                    let serve = connection::serve(arrival, Rc::clone(&self), closing.clone());
                    connections.spawn_local(serve);
                }
            }
        }
        drop(arrivals);
        close.send_replace(true);
        self.news.end();
        let deadline = drain.borrow().unwrap_or_else(Instant::now);
        let cut_off = finish(connections, deadline).await;
        gate.abort();
        tell.abort();
        news.abort();
        cut_off
    }

    /// Tells from time to time what others cannot see.
    async fn tell(&self) {
        loop {
            tokio::time::sleep(limits::WATCH_EVERY).await;
            self.meter.body_bytes.store(self.room.used_bytes(), Ordering::Relaxed);
            self.meter.reply_bytes.store(self.replies.waiting_bytes(), Ordering::Relaxed);
            self.log.flush();
        }
    }

    /// Whether `is_asked` says so of the application's services, if it has any.
    pub(crate) fn asks(&self, is_asked: impl FnOnce(&gem::Services) -> bool) -> bool {
        self.app.as_ref().is_some_and(|reader| {
            reader.with(|app| !app.services().is_empty() && is_asked(app.services()))
        })
    }

    /// Runs `work` on a thread that may block. Waits its turn when all are taken.
    pub(crate) async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = self.turn().await;
        self.with_turn(turn, work).await
    }

    /// Waits for a turn on such a thread.
    pub(crate) async fn turn(&self) -> BlockingTurn<'_> {
        let counted = Counted::new(&self.meter.off_thread);
        let turns = Arc::clone(&self.turns);
        let turn = turns.acquire_owned().await.expect("the semaphore is never closed");
        BlockingTurn { turn, _counted: counted }
    }

    /// Runs `work` when it is its turn.
    pub(crate) async fn with_turn<T: Send + 'static>(
        &self,
        turn: BlockingTurn<'_>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let BlockingTurn { turn, _counted } = turn;
        // The turn goes along: it is taken until the work is done, even if the client has gone.
        let work = move || {
            let _turn = turn;
            work()
        };
        tokio::task::spawn_blocking(work).await.map_err(|panic| Problem::internal(&panic))
    }
}

/// A turn on the threads for work that would hold up the reactor.
pub(crate) struct BlockingTurn<'a> {
    turn: OwnedSemaphorePermit,
    _counted: Counted<'a>,
}

/// Threads of a reactor that wait for the disk, so that it does not.
#[derive(Clone)]
pub(crate) struct Disk {
    turns: Arc<Semaphore>,
}

impl Default for Disk {
    fn default() -> Self {
        Self { turns: Arc::new(Semaphore::new(limits::DISK_THREADS_MAX)) }
    }
}

impl Disk {
    /// Begins `work` when it is its turn.
    pub(crate) async fn start<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let turn =
            Arc::clone(&self.turns).acquire_owned().await.expect("the semaphore is never closed");
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        })
    }

    /// Runs `work` when it is its turn.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        self.start(work).await.await.map_err(|panic| Problem::internal(&panic))
    }
}

/// The runtime of one reactor; it can only be used on the thread that makes it.
pub(crate) fn runtime() -> std::io::Result<tokio::runtime::LocalRuntime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(limits::BLOCKING_THREADS_MAX + limits::DISK_THREADS_MAX)
        .build_local(tokio::runtime::LocalOptions::default())
}

/// Ends the runtime of a reactor that has run. What still works off its thread was cut off with the
/// connections that wanted it, and is not waited for.
pub(crate) fn end(runtime: tokio::runtime::LocalRuntime) {
    runtime.shutdown_background();
}

/// Waits for the connections until `deadline`, then cuts off those that are left.
async fn finish(mut connections: JoinSet<()>, deadline: Instant) -> usize {
    let all = async {
        while let Some(ended) = connections.join_next().await {
            report(ended);
        }
    };
    // Late is not an error here: what is left is counted and cut off.
    let _ = tokio::time::timeout_at(deadline.into(), all).await;
    let cut_off = connections.len();
    connections.shutdown().await;
    cut_off
}

fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        log::error!("a connection's task ended badly: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_takes_long_does_not_hold_up_the_end() {
        let (release, released) = std::sync::mpsc::channel::<()>();
        let (finish, finished) = std::sync::mpsc::channel::<()>();
        let ending = std::thread::spawn(move || {
            let runtime = runtime().unwrap();
            runtime.block_on(async {
                tokio::task::spawn_blocking(move || {
                    let _finish = finish;
                    released.recv()
                });
            });
            end(runtime);
        });
        ending.join().unwrap();
        assert_eq!(finished.try_recv(), Err(std::sync::mpsc::TryRecvError::Empty), "it works on");
        drop(release);
        assert!(finished.recv().is_err(), "it ends by itself");
    }
}
