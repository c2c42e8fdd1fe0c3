//! The workers of a pool: their threads, seats and figures; who starts one, and puts another in the
//! place of one that cannot be stopped.

use crate::aside::{Back, Executor};
use crate::errand::Errand;
use crate::errors::{FailureKind, Fault, LoadError};
use crate::exchange::{Respond, hand_over};
use crate::failed::Keeper;
use crate::figures::{self, HandlerFigures, Tally};
use crate::limits::THREAD_STACK_BYTES;
use crate::pool::Job;
use crate::queue::{Popped, Queue};
use crate::seat::{Lost, Seat};
use crate::turn::Turn;
use crate::worker::{Served, Shared, Worker, panic_text};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SendError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What workers share, and the workers.
pub(crate) struct Workforce {
    pub(crate) shared: Arc<Shared>,
    pub(crate) queue: Arc<Queue<Job>>,
    pub(crate) asides: Arc<Executor>,
    places: Mutex<Vec<Place>>,
    lost: Arc<AtomicUsize>,
    lost_ever: AtomicUsize,
}

/// A worker, and what its successor takes over.
struct Place {
    seat: Arc<Seat>,
    tally: Arc<Tally>,
    thread: JoinHandle<()>,
}

type Started = SyncSender<Result<(), LoadError>>;

impl Workforce {
    pub(crate) fn new(shared: Arc<Shared>, queue: Arc<Queue<Job>>, asides: Arc<Executor>) -> Self {
        let (lost, lost_ever) = (Arc::default(), AtomicUsize::new(0));
        Self { shared, queue, asides, places: Mutex::default(), lost, lost_ever }
    }

    /// Starts `workers`, each with the application loaded, and waits for them.
    pub(crate) fn start(&self, workers: usize) -> Result<(), LoadError> {
        let (started, outcomes) = sync_channel(workers);
        for number in 0..workers {
            let place = self.hire(number, Arc::default(), &started)?;
            self.places.lock().push(place);
        }
        drop(started);
        for _ in 0..workers {
            let outcome = outcomes.recv();
            outcome.map_err(|_| LoadError::Worker("the engine panicked".to_owned()))??;
        }
        Ok(())
    }

    fn hire(
        &self,
        number: usize,
        tally: Arc<Tally>,
        started: &Started,
    ) -> Result<Place, LoadError> {
        let seat = Arc::<Seat>::default();
        let (shared, started) = (Arc::clone(&self.shared), started.clone());
        let (queue, asides) = (Arc::clone(&self.queue), Arc::clone(&self.asides));
        let (own, figures) = (Arc::clone(&seat), Arc::clone(&tally));
        let lost = Arc::clone(&self.lost);
        let thread = thread::Builder::new()
            .name(format!("gem-{number}"))
            .stack_size(THREAD_STACK_BYTES)
            .spawn(move || {
                let _left = Left(&own);
                let worker = Worker::start(shared, Arc::clone(&own), figures);
                if work(worker, (&queue, &asides), &own, started).is_err() {
                    lost.fetch_sub(1, Ordering::Relaxed);
                }
            })
            .map_err(|error| LoadError::Worker(error.to_string()))?;
        Ok(Place { seat, tally, thread })
    }

    /// Puts another in the place of the worker at `number`, which has lost its seat, and answers
    /// for it.
    pub(crate) fn replace(
        &self,
        (number, seat): (usize, &Seat),
        route: usize,
        respond: Option<Respond>,
    ) {
        self.lost.fetch_add(1, Ordering::Relaxed);
        self.lost_ever.fetch_add(1, Ordering::Relaxed);
        // The application may be at work on anything that is visible now.
        let view = self.shared.repository.stats().visible;
        let limit_ms = self.cpu_limit().as_millis();
        let message = format!(
            "the request used more than its limit of {limit_ms} ms of CPU time and cannot be \
             interrupted where it is; its gem was replaced"
        );
        let failure = FailureKind::CpuLimit.with(Fault::new(message, view));
        let app = self.shared.current.get();
        let keeper = Keeper { errors: self.shared.errors.as_deref(), sources: &app.sources };
        self.succeed(number, seat);
        let failure = keeper.keep(failure, |report| {
            let route = self.shared.names.lock().get(route).cloned();
            report.handler = route.unwrap_or_else(|| seat.function());
            report.cpu = self.cpu_limit();
        });
        if let Some(respond) = respond {
            hand_over(respond, Err(failure));
        }
    }

    fn succeed(&self, number: usize, seat: &Seat) {
        let mut places = self.places.lock();
        let Some(place) = places.get_mut(number) else { return };
        // It may be in the serial lane, where others would wait for it.
        self.shared.repository.abandon(place.thread.thread().id());
        if seat.is_at_task() {
            self.queue.task_done(self.cpu_limit());
        }
        let (started, _) = sync_channel(1);
        match self.hire(number, Arc::clone(&place.tally), &started) {
            // The thread of the one before goes on by itself.
            Ok(successor) => *place = successor,
            Err(error) => log::error!("a gem was lost and cannot be replaced: {error}"),
        }
        seat.leave();
    }

    pub(crate) fn seats(&self) -> Vec<Arc<Seat>> {
        self.places.lock().iter().map(|place| Arc::clone(&place.seat)).collect()
    }

    /// CPU time that a request may use.
    pub(crate) fn cpu_limit(&self) -> Duration {
        self.shared.cpu_limit(&self.shared.current.get())
    }

    /// Workers that lost their seats and have not ended.
    pub(crate) fn lost(&self) -> usize {
        self.lost.load(Ordering::Relaxed)
    }

    /// Those that ever did.
    pub(crate) fn lost_ever(&self) -> usize {
        self.lost_ever.load(Ordering::Relaxed)
    }

    /// Workers, those whose threads run, and those that serve something.
    pub(crate) fn count(&self) -> [usize; 3] {
        let places = self.places.lock();
        let count = |is: fn(&Place) -> bool| places.iter().filter(|place| is(place)).count();
        let alive = count(|place| !place.thread.is_finished());
        [places.len(), alive, count(|place| place.seat.is_busy())]
    }

    /// What the handlers have done.
    pub(crate) fn handlers(&self) -> Vec<HandlerFigures> {
        let tallies: Vec<_> =
            self.places.lock().iter().map(|place| Arc::clone(&place.tally)).collect();
        figures::sum(tallies.iter().map(|tally| &**tally))
    }

    /// Waits for the workers, once the queue is closed; not for those that lost their seats, but
    /// for who is put in their places. So these are there until the last has left.
    pub(crate) fn join(&self) {
        let next = || self.seats().into_iter().find(|seat| !seat.is_left());
        while let Some(seat) = next() {
            seat.wait_left();
        }
        let places = std::mem::take(&mut *self.places.lock());
        for place in places.into_iter().filter(|place| !place.seat.is_lost()) {
            if let Err(panic) = place.thread.join() {
                log::error!("a worker ended in a panic: {}", panic_text(&*panic));
            }
        }
    }
}

/// Leaves the seat at the end of its worker's thread, whatever that is.
struct Left<'a>(&'a Seat);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

fn work(
    worker: Result<Worker, LoadError>,
    (queue, asides): (&Queue<Job>, &Executor),
    seat: &Seat,
    started: Started,
) -> Result<(), Lost> {
    let (worker, outcome) = match worker {
        Ok(worker) => (Some(worker), Ok(())),
        Err(error) => (None, Err(error)),
    };
    seat.sit();
    // Nobody listens if another worker has failed already, which is an error as well, or if there
    // is no other to hear of it.
    if let Err(SendError(Err(error))) = started.send(outcome) {
        log::error!("a gem could not start: {error}");
    }
    drop(started);
    let Some(mut worker) = worker else { return Ok(()) };
    let mut generation = 0; // The queue's first.
    loop {
        match queue.pop(generation) {
            Popped::Item(job) if !queue.is_shared() => serve(&mut worker, job, (seat, asides))?,
            Popped::Item(job) => {
                let begun = Instant::now();
                let served = serve(&mut worker, job, (seat, asides));
                queue.item_took(begun.elapsed());
                served?;
            }
            Popped::Task(job) => {
                let begun = Instant::now();
                seat.note_task(true);
                // Who takes the seat says so instead.
                serve(&mut worker, job, (seat, asides))?;
                seat.note_task(false);
                queue.task_done(begun.elapsed());
            }
            Popped::Changed(newest) => {
                generation = newest;
                worker.change_over();
            }
            Popped::Closed => return Ok(()),
        }
    }
}

fn serve(worker: &mut Worker, job: Job, (seat, asides): (&Seat, &Executor)) -> Result<(), Lost> {
    let served = match job {
        Job::Request(request, respond, since) => {
            seat.begin(Some(respond));
            worker.serve(request, since)
        }
        Job::Again(turn, respond) => {
            seat.begin(Some(respond));
            worker.serve_again(turn)
        }
        Job::Task(due, respond) => {
            seat.begin(Some(respond));
            worker.serve_task(due)
        }
        Job::Errand(errand) => return run_errand(worker, (errand, None), (seat, asides)),
        Job::ErrandAgain(turn, errand) => {
            return run_errand(worker, (errand, Some(turn)), (seat, asides));
        }
    };
    let Some(respond) = seat.end()? else { return Ok(()) };
    match served {
        Served::Done(outcome) => hand_over(respond, outcome),
        Served::Waits(waiting) => asides.take(*waiting, Back::Reply(respond)),
    }
    Ok(())
}

/// An errand answers by itself, unless its worker loses the seat and it has somebody for that.
fn run_errand(
    worker: &mut Worker,
    (errand, turn): (Box<dyn Errand>, Option<Box<Turn>>),
    (seat, asides): (&Seat, &Executor),
) -> Result<(), Lost> {
    seat.begin(errand.answerer());
    let waits = worker.run_errand(errand, turn);
    let ended = seat.end();
    if let Some((waiting, errand)) = waits {
        asides.take(*waiting, Back::Errand(errand));
    }
    ended.map(|_| ())
}
