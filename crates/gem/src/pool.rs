//! The workers' threads and the bounded queue in front of them.

use crate::app::App;
use crate::aside::{Back, Executor};
use crate::collections;
use crate::current::{AppReader, Current};
use crate::errand::Errand;
use crate::errors::LoadError;
use crate::exchange::{Request, Respond, hand_over};
use crate::expiry::Expiries;
use crate::failed::{ErrorLog, ErrorLogFigures};
use crate::limits::THREAD_STACK_BYTES;
use crate::queue::{Popped, Queue};
use crate::share::gems_for_tasks;
use crate::tasks::{Due, Scheduler, TaskFigures};
use crate::turn::Turn;
use crate::worker::{Served, Shared, Worker, panic_text};
use parking_lot::Mutex;
use repository::Repository;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

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
    /// Where failed requests are kept, if they are.
    pub errors: Option<Arc<ErrorLog>>,
}

/// How busy the workers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLoad {
    /// Requests that wait for a worker.
    pub queued: usize,
    /// As many as may wait.
    pub queue_max: usize,
    /// Requests whose handlers await something, such as the hash of a password.
    pub waiting: usize,
    /// Workers that were started; none once the pool has stopped.
    pub workers: usize,
    /// Those whose threads run, whatever they are at.
    pub alive: usize,
}

/// What a worker is asked to do.
pub(crate) enum Job {
    Request(Request, Respond),
    /// To run a handler again whose turn waited for asides; it has their answers.
    Again(Box<Turn>, Respond),
    Errand(Box<dyn Errand>),
    /// The same for an errand.
    ErrandAgain(Box<Turn>, Box<dyn Errand>),
    /// To run a task that is due.
    Task(Due, Respond),
}

/// The workers. They take requests in the order in which these came.
pub struct Pool {
    shared: Arc<Shared>,
    queue: Arc<Queue<Job>>,
    asides: Arc<Executor>,
    expiries: Expiries,
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
        let workers = options.workers.max(1);
        collections::apply(&app.settings.collections, &repository)?;
        let definitions = app.tasks().to_vec();
        let current = Arc::new(Current::new(app));
        let queue = Arc::new(Queue::new(options.queue).with_tasks(gems_for_tasks(workers)));
        let tasks = Scheduler::start(repository.clone(), &definitions, hand_to(&queue));
        let tasks = tasks.map_err(|error| LoadError::Worker(error.to_string()))?;
        let asides = Arc::new(Executor::new(Arc::clone(&queue), Arc::clone(&repository)));
        let errors = options.errors;
        let shared = Shared { current, repository, tasks, cpu_limit, heap_limit, errors };
        let shared = Arc::new(shared);
        // Dropped on an early return, which stops the workers that have started.
        let threads = Mutex::default();
        let pool = Self {
            expiries: Expiries::new(Arc::clone(&shared.repository), Arc::clone(&queue)),
            shared: Arc::clone(&shared),
            queue: Arc::clone(&queue),
            asides: Arc::clone(&asides),
            threads,
        };
        let (started, outcomes) = sync_channel(workers);
        for number in 0..workers {
            let (shared, started) = (shared.clone(), started.clone());
            let (queue, asides) = (queue.clone(), asides.clone());
            let thread = thread::Builder::new()
                .name(format!("gem-{number}"))
                .stack_size(THREAD_STACK_BYTES)
                .spawn(move || work(shared, (&queue, &asides), &started))
                .map_err(|error| LoadError::Worker(error.to_string()))?;
            pool.threads.lock().push(thread);
        }
        drop(started);
        for _ in 0..workers {
            let outcome = outcomes.recv();
            outcome.map_err(|_| LoadError::Worker("the engine panicked".to_owned()))??;
        }
        pool.serve_expiries()?;
        Ok(pool)
    }

    /// Serves `app` instead, if a worker can load it. Requests in flight finish with the one
    /// before; each submitted after this returns meets the new one. An error changes nothing.
    pub fn reload(&self, app: App) -> Result<(), LoadError> {
        app.check(self.shared.heap_limit(&app))?;
        collections::apply(&app.settings.collections, &self.shared.repository)?;
        let definitions = app.tasks().to_vec();
        self.shared.current.set(app);
        self.queue.change();
        self.shared.tasks.define(&definitions);
        self.serve_expiries()
    }

    fn serve_expiries(&self) -> Result<(), LoadError> {
        let served = self.expiries.serve(self.app().services());
        served.map_err(|error| LoadError::Worker(error.to_string()))
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
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Hands over work of a face; `Err` gives it back when the queue is full or the pool has
    /// stopped.
    pub fn submit_errand(&self, errand: Box<dyn Errand>) -> Result<(), Box<dyn Errand>> {
        match self.queue.push(Job::Errand(errand)) {
            Err(Job::Errand(errand)) => Err(errand),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// How busy it is.
    pub fn load(&self) -> PoolLoad {
        let (queued, queue_max) = self.queue.length();
        let threads = self.threads.lock();
        let alive = threads.iter().filter(|thread| !thread.is_finished()).count();
        PoolLoad { queued, queue_max, waiting: self.queue.lent(), workers: threads.len(), alive }
    }

    /// The failed requests that were given to be kept, if they are.
    pub fn errors(&self) -> Option<ErrorLogFigures> {
        self.shared.errors.as_ref().map(|errors| errors.figures())
    }

    /// What its tasks come to.
    pub fn task_figures(&self) -> TaskFigures {
        self.shared.tasks.figures()
    }

    /// Looks which tasks are due: somebody has moved the repository's clock.
    pub fn look_at_clock(&self) {
        self.shared.tasks.look();
    }

    /// Whether the crons of the application that is served have their next times.
    pub fn are_crons_ready(&self) -> bool {
        self.shared.tasks.is_ready()
    }

    /// Looks at all tasks: somebody has changed them by a [`crate::Ledger`], so that there are so
    /// many more that wait, and so many more that are dead.
    pub fn tasks_changed(&self, waiting: i64, dead: i64) {
        self.shared.tasks.changed(waiting, dead);
    }

    /// Finishes what is queued, and what waits for an aside, and stops the workers. Tasks that have
    /// not begun wait until the next start.
    pub fn stop(&self) {
        self.expiries.stop();
        self.queue.close();
        for thread in self.threads.lock().drain(..) {
            if let Err(panic) = thread.join() {
                log::error!("a worker ended in a panic: {}", panic_text(&*panic));
            }
        }
        self.asides.stop();
        self.shared.tasks.stop();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop();
    }
}

fn work(
    shared: Arc<Shared>,
    (queue, asides): (&Queue<Job>, &Executor),
    started: &SyncSender<Result<(), LoadError>>,
) {
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
            Popped::Item(job) if !queue.is_shared() => serve(&mut worker, job, asides),
            Popped::Item(job) => queue.item_took(timed(|| serve(&mut worker, job, asides))),
            Popped::Task(job) => queue.task_done(timed(|| serve(&mut worker, job, asides))),
            Popped::Changed(newest) => {
                generation = newest;
                worker.change_over();
            }
            Popped::Closed => return,
        }
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// How tasks get to the gems.
fn hand_to(queue: &Arc<Queue<Job>>) -> crate::tasks::Hand {
    let queue = Arc::clone(queue);
    Box::new(move |due, respond| queue.push_task(Job::Task(due, respond)).is_ok())
}

fn serve(worker: &mut Worker, job: Job, asides: &Executor) {
    let (served, respond) = match job {
        Job::Request(request, respond) => (worker.serve(request), respond),
        Job::Again(turn, respond) => (worker.serve_again(turn), respond),
        Job::Errand(errand) => return run_errand(worker, (errand, None), asides),
        Job::ErrandAgain(turn, errand) => {
            return run_errand(worker, (errand, Some(turn)), asides);
        }
        Job::Task(due, respond) => (worker.serve_task(due), respond),
    };
    match served {
        Served::Done(outcome) => hand_over(respond, outcome),
        Served::Waits(waiting) => asides.take(*waiting, Back::Reply(respond)),
    }
}

fn run_errand(
    worker: &mut Worker,
    (errand, turn): (Box<dyn Errand>, Option<Box<Turn>>),
    asides: &Executor,
) {
    if let Some((waiting, errand)) = worker.run_errand(errand, turn) {
        asides.take(*waiting, Back::Errand(errand));
    }
}
