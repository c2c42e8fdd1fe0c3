//! The workers' threads and the bounded queue in front of them.

use crate::app::App;
use crate::errors::LoadError;
use crate::exchange::{Request, Respond};
use crate::limits::THREAD_STACK_BYTES;
use crate::worker::{Shared, Worker, panic_text};
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use parking_lot::{Mutex, RwLock};
use repository::Repository;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How to run the workers. The application's own `[limits]` go before the two limits here.
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// Worker threads; at least one is started.
    pub workers: usize,
    /// Requests that may wait for a worker; more are refused.
    pub queue: usize,
    /// CPU time that one request may use, re-runs included.
    pub cpu_limit: Duration,
    /// Heap that one worker's engine may use, in bytes.
    pub heap_limit: usize,
}

struct Job {
    request: Request,
    respond: Respond,
}

/// The workers. They take requests in the order in which these came.
pub struct Pool {
    /// `None` once the pool is stopping.
    queue: RwLock<Option<Sender<Job>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Pool {
    /// Starts the workers, each with the application loaded.
    pub fn start(
        app: App,
        repository: Arc<Repository>,
        options: PoolOptions,
    ) -> Result<Self, LoadError> {
        let cpu_limit = app.settings.cpu_limit.unwrap_or(options.cpu_limit);
        let heap_limit = app.settings.heap_limit.unwrap_or(options.heap_limit);
        let shared = Arc::new(Shared { app, repository, cpu_limit, heap_limit });
        let (sender, jobs) = bounded(options.queue);
        // Dropped on an early return, which stops the workers that have started.
        let pool = Self { queue: RwLock::new(Some(sender)), threads: Mutex::default() };
        let workers = options.workers.max(1);
        let (started, outcomes) = bounded(workers);
        for number in 0..workers {
            let (shared, jobs, started) = (shared.clone(), jobs.clone(), started.clone());
            let thread = thread::Builder::new()
                .name(format!("gem-{number}"))
                .stack_size(THREAD_STACK_BYTES)
                .spawn(move || work(shared, &jobs, &started))
                .map_err(|error| LoadError::Worker(error.to_string()))?;
            pool.threads.lock().push(thread);
        }
        drop(started);
        for _ in 0..workers {
            let outcome = outcomes.recv();
            outcome.map_err(|_| LoadError::Worker("the engine panicked".to_owned()))??;
        }
        Ok(pool)
    }

    /// Hands a request over; `Err` gives it back when the queue is full or the pool has stopped.
    // A request that is refused goes back as it came; boxing it would cost those that are not.
    #[expect(clippy::result_large_err)]
    pub fn submit(&self, request: Request, respond: Respond) -> Result<(), (Request, Respond)> {
        let queue = self.queue.read();
        let Some(queue) = queue.as_ref() else { return Err((request, respond)) };
        queue.try_send(Job { request, respond }).map_err(|refused| {
            let (TrySendError::Full(job) | TrySendError::Disconnected(job)) = refused;
            (job.request, job.respond)
        })
    }

    /// Finishes what is queued and stops the workers.
    pub fn stop(&self) {
        drop(self.queue.write().take());
        for thread in self.threads.lock().drain(..) {
            if let Err(panic) = thread.join() {
                log::error!("a worker ended in a panic: {}", panic_text(&*panic));
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop();
    }
}

fn work(shared: Arc<Shared>, jobs: &Receiver<Job>, started: &Sender<Result<(), LoadError>>) {
    let (worker, outcome) = match Worker::start(shared) {
        Ok(worker) => (Some(worker), Ok(())),
        Err(error) => (None, Err(error)),
    };
    // Nobody listens if another worker has failed already; then the queue is closed, too.
    let _ = started.send(outcome);
    let Some(mut worker) = worker else { return };
    for Job { request, respond } in jobs {
        let outcome = worker.serve(request);
        // The face's function is not ours; its panic must not cost the others their worker.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| respond(outcome))) {
            log::error!("a reply could not be handed over: {}", panic_text(&*panic));
        }
    }
}
