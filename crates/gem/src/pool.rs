//! The workers' threads and the bounded queue in front of them.

use crate::app::App;
use crate::current::{AppReader, Current};
use crate::errand::Errand;
use crate::errors::LoadError;
use crate::exchange::{Request, Respond};
use crate::limits::THREAD_STACK_BYTES;
use crate::queue::{Popped, Queue};
use crate::worker::{Shared, Worker, panic_text};
use parking_lot::Mutex;
use repository::Repository;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
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

/// How busy the workers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLoad {
    /// Requests that wait for a worker.
    pub queued: usize,
    /// As many as may wait.
    pub queue_max: usize,
    /// Workers that were started; none once the pool has stopped.
    pub workers: usize,
    /// Those whose threads run, whatever they are at.
    pub alive: usize,
}

enum Job {
    Request(Request, Respond),
    Errand(Errand),
}

/// The workers. They take requests in the order in which these came.
pub struct Pool {
    shared: Arc<Shared>,
    queue: Arc<Queue<Job>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Pool {
    /// Starts the workers, each with the application loaded.
    pub fn start(
        app: App,
        repository: Arc<Repository>,
        options: PoolOptions,
    ) -> Result<Self, LoadError> {
        let PoolOptions { cpu_limit, heap_limit, .. } = options;
        let current = Arc::new(Current::new(app));
        let shared = Arc::new(Shared { current, repository, cpu_limit, heap_limit });
        let queue = Arc::new(Queue::new(options.queue));
        // Dropped on an early return, which stops the workers that have started.
        let threads = Mutex::default();
        let pool = Self { shared: Arc::clone(&shared), queue: Arc::clone(&queue), threads };
        let workers = options.workers.max(1);
        let (started, outcomes) = sync_channel(workers);
        for number in 0..workers {
            let (shared, queue, started) = (shared.clone(), queue.clone(), started.clone());
            let thread = thread::Builder::new()
                .name(format!("gem-{number}"))
                .stack_size(THREAD_STACK_BYTES)
                .spawn(move || work(shared, &queue, &started))
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

    /// Serves `app` instead, if a worker can load it. Requests in flight finish with the one
    /// before; each submitted after this returns meets the new one. An error changes nothing.
    pub fn reload(&self, app: App) -> Result<(), LoadError> {
        app.check(self.shared.heap_limit(&app))?;
        self.shared.current.set(app);
        self.queue.change();
        Ok(())
    }

    /// The application that is served now.
    pub fn app(&self) -> Arc<App> {
        self.shared.current.get()
    }

    /// For a thread that reads it often.
    pub fn app_reader(&self) -> AppReader {
        AppReader::new(Arc::clone(&self.shared.current))
    }

    /// Hands a request over; `Err` gives it back when the queue is full or the pool has stopped.
    // A request that is refused goes back as it came; boxing it would cost those that are not.
    #[expect(clippy::result_large_err)]
    pub fn submit(&self, request: Request, respond: Respond) -> Result<(), (Request, Respond)> {
        match self.queue.push(Job::Request(request, respond)) {
            Err(Job::Request(request, respond)) => Err((request, respond)),
            // The queue gives back what it was given.
            Ok(()) | Err(Job::Errand(_)) => Ok(()),
        }
    }

    /// Hands over work of a face; `Err` gives it back when the queue is full or the pool has
    /// stopped. One that is dropped instead of being called was not begun.
    pub fn submit_errand(&self, errand: Errand) -> Result<(), Errand> {
        match self.queue.push(Job::Errand(errand)) {
            Err(Job::Errand(errand)) => Err(errand),
            Ok(()) | Err(Job::Request(..)) => Ok(()),
        }
    }

    /// How busy it is.
    pub fn load(&self) -> PoolLoad {
        let (queued, queue_max) = self.queue.length();
        let threads = self.threads.lock();
        let alive = threads.iter().filter(|thread| !thread.is_finished()).count();
        PoolLoad { queued, queue_max, workers: threads.len(), alive }
    }

    /// Finishes what is queued and stops the workers.
    pub fn stop(&self) {
        self.queue.close();
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

fn work(shared: Arc<Shared>, queue: &Queue<Job>, started: &SyncSender<Result<(), LoadError>>) {
    let (worker, outcome) = match Worker::start(shared) {
        Ok(worker) => (Some(worker), Ok(())),
        Err(error) => (None, Err(error)),
    };
    // Nobody listens if another worker has failed already; then the queue is closed, too.
    let _ = started.send(outcome);
    let Some(mut worker) = worker else { return };
    let mut generation = 0; // The queue's first.
    loop {
        match queue.pop(generation) {
            Popped::Item(job) => serve(&mut worker, job),
            Popped::Changed(newest) => {
                generation = newest;
                worker.change_over();
            }
            Popped::Closed => return,
        }
    }
}

fn serve(worker: &mut Worker, job: Job) {
    let (request, respond) = match job {
        Job::Request(request, respond) => (request, respond),
        Job::Errand(errand) => return worker.run_errand(errand),
    };
    let outcome = worker.serve(request);
    // The face's function is not ours; its panic must not cost the others their worker.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| respond(outcome))) {
        log::error!("a reply could not be handed over: {}", panic_text(&*panic));
    }
}
