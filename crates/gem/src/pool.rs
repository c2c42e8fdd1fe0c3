//! The workers' threads and the bounded queue in front of them.

use crate::app::App;
use crate::aside::Executor;
use crate::cached::Cached;
use crate::collections;
use crate::current::{AppReader, Current};
use crate::errand::Errand;
use crate::errors::LoadError;
use crate::exchange::{Request, Respond};
use crate::expiry::Expiries;
use crate::failed::{ErrorLog, ErrorLogFigures};
use crate::figures::HandlerFigures;
use crate::limits::LOST_WORKERS_MAX;
use crate::queue::Queue;
use crate::share::gems_for_tasks;
use crate::tasks::{Due, Scheduler, TaskFigures};
use crate::turn::Turn;
use crate::watchdog::Watchdog;
use crate::worker::Shared;
use crate::workforce::Workforce;
use cache::Cache;
use parking_lot::Mutex;
use repository::{ReadError, Repository};
use std::sync::Arc;
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
    /// What applications have as `cache`; without one, using it throws.
    pub cache: Option<Arc<Cache>>,
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
    /// Those that serve something.
    pub busy: usize,
    /// Workers that could not be stopped and were replaced, since the start.
    pub lost: usize,
    /// Those of them that still run.
    pub lost_running: usize,
    /// As many as may: the next that cannot be stopped is not replaced.
    pub lost_max: usize,
}

/// What a worker is asked to do.
pub(crate) enum Job {
    /// With the time at which it was handed over.
    Request(Request, Respond, Instant),
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
    workforce: Arc<Workforce>,
    expiries: Expiries,
    watchdog: Mutex<Option<Watchdog>>,
}

impl Pool {
    /// Starts the workers, each with the application loaded.
    pub fn start(
        app: App,
        repository: Arc<Repository>,
        options: PoolOptions,
    ) -> Result<Self, LoadError> {
        let PoolOptions { cpu_limit, heap_limit, errors, cache, .. } = options;
        let workers = options.workers.max(1);
        collections::apply(&app.settings.collections, &repository)?;
        warn(&app);
        let definitions = app.tasks().to_vec();
        let (current, names) = (Arc::new(Current::new(app)), Mutex::default());
        let queue = Arc::new(Queue::new(options.queue).with_tasks(gems_for_tasks(workers)));
        let tasks = Scheduler::start(repository.clone(), &definitions, hand_to(&queue));
        let tasks = tasks.map_err(|error| LoadError::Worker(error.to_string()))?;
        let asides = Arc::new(Executor::new(Arc::clone(&queue), Arc::clone(&repository)));
        let cached = cache.map(|cache| Arc::new(Cached::new(cache, Arc::clone(&repository))));
        let shared =
            Shared { current, repository, tasks, cached, cpu_limit, heap_limit, errors, names };
        let workforce = Arc::new(Workforce::new(Arc::new(shared), queue, asides));
        // Dropped on an early return, which stops the workers that have started.
        let shared = &workforce.shared;
        let expiries = Expiries::new(Arc::clone(&shared.repository), Arc::clone(&workforce.queue));
        let watchdog = Mutex::default();
        let pool = Self { workforce: Arc::clone(&workforce), expiries, watchdog };
        workforce.start(workers)?;
        let watchdog = Watchdog::start(workforce);
        *pool.watchdog.lock() = Some(watchdog.map_err(|e| LoadError::Worker(e.to_string()))?);
        pool.serve_expiries(&pool.app())?;
        Ok(pool)
    }

    /// Serves `app` instead, if a worker can load it. Requests in flight finish with the one
    /// before; each submitted after this returns meets the new one. An error changes nothing.
    pub fn reload(&self, app: App) -> Result<(), LoadError> {
        app.check(self.workforce.shared.heap_limit(&app))?;
        collections::apply(&app.settings.collections, &self.workforce.shared.repository)?;
        warn(&app);
        // First, so that of what expires from now on nothing is missed.
        self.serve_expiries(&app)?;
        let definitions = app.tasks().to_vec();
        self.workforce.shared.current.set(app);
        self.workforce.queue.change();
        self.workforce.shared.tasks.define(&definitions);
        Ok(())
    }

    fn serve_expiries(&self, app: &App) -> Result<(), LoadError> {
        let served = self.expiries.serve(app.services());
        served.map_err(|error| LoadError::Worker(error.to_string()))
    }

    /// The application that is served now.
    pub fn app(&self) -> Arc<App> {
        self.workforce.shared.current.get()
    }

    /// For a thread that reads it often.
    pub fn app_reader(&self) -> AppReader {
        AppReader::new(Arc::clone(&self.workforce.shared.current))
    }

    /// Hands a request over; `Err` gives it back when the queue is full or the pool has stopped.
    // A request that is refused goes back as it came; boxing it would cost those that are not.
    #[expect(clippy::result_large_err)]
    pub fn submit(&self, request: Request, respond: Respond) -> Result<(), (Request, Respond)> {
        match self.workforce.queue.push(Job::Request(request, respond, Instant::now())) {
            Err(Job::Request(request, respond, _)) => Err((request, respond)),
            // The queue gives back what it was given.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Hands over work of a face; `Err` gives it back when the queue is full or the pool has
    /// stopped.
    pub fn submit_errand(&self, errand: Box<dyn Errand>) -> Result<(), Box<dyn Errand>> {
        match self.workforce.queue.push(Job::Errand(errand)) {
            Err(Job::Errand(errand)) => Err(errand),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// How busy it is.
    pub fn load(&self) -> PoolLoad {
        let queue = &self.workforce.queue;
        let (queued, queue_max) = queue.length();
        let [workers, alive, busy] = self.workforce.count();
        let lost = self.workforce.lost_ever();
        let lost_running = self.workforce.lost();
        let (waiting, lost_max) = (queue.lent(), LOST_WORKERS_MAX);
        PoolLoad { queued, queue_max, waiting, workers, alive, busy, lost, lost_running, lost_max }
    }

    /// The failed requests that were given to be kept, if they are.
    pub fn errors(&self) -> Option<ErrorLogFigures> {
        self.workforce.shared.errors.as_ref().map(|errors| errors.figures())
    }

    /// What each handler has done, by name.
    pub fn handlers(&self) -> Vec<HandlerFigures> {
        self.workforce.handlers()
    }

    /// What its tasks come to.
    pub fn task_figures(&self) -> TaskFigures {
        self.workforce.shared.tasks.figures()
    }

    /// Whether each document that has expired has been seen to by its `onExpire`, or waits for
    /// another try of one that failed.
    pub fn are_expired_seen_to(&self) -> Result<bool, ReadError> {
        self.expiries.are_seen_to()
    }

    /// Looks what has expired and which tasks are due: somebody has moved the repository's clock.
    pub fn look_at_clock(&self) {
        self.expiries.look();
        self.workforce.shared.tasks.look();
    }

    /// Whether the crons of the application that is served have their next times.
    pub fn are_crons_ready(&self) -> bool {
        self.workforce.shared.tasks.is_ready()
    }

    /// Looks at all tasks: somebody has changed them by a [`crate::Ledger`], so that there are so
    /// many more that wait, and so many more that are dead.
    pub fn tasks_changed(&self, waiting: i64, dead: i64) {
        self.workforce.shared.tasks.changed(waiting, dead);
    }

    /// Finishes what is queued, and what waits for an aside, and stops the workers. Tasks that have
    /// not begun wait until the next start.
    pub fn stop(&self) {
        self.expiries.stop();
        self.workforce.queue.close();
        // While the workers finish, one may still have to be replaced.
        self.workforce.join();
        self.watchdog.lock().take();
        self.workforce.asides.stop();
        if let Some(cached) = &self.workforce.shared.cached {
            cached.stop();
        }
        self.workforce.shared.tasks.stop();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop();
    }
}

fn warn(app: &App) {
    app.warnings().iter().for_each(|warning| log::warn!("{warning}"));
}

/// How tasks get to the gems.
fn hand_to(queue: &Arc<Queue<Job>>) -> crate::tasks::Hand {
    let queue = Arc::clone(queue);
    Box::new(move |due, respond| queue.push_task(Job::Task(due, respond)).is_ok())
}
