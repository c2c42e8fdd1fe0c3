//! One worker: its thread's engine, and a request's way through routes, transaction and handler.

use crate::app::App;
use crate::aside::Waiting;
use crate::cached::Cached;
use crate::current::Current;
use crate::engine::{Engine, Stop};
use crate::errand::{Errand, Host, Seen, Step};
use crate::errors::{Failure, FailureKind, Fault, LoadError};
use crate::exchange::{Reply, Request};
use crate::failed::{ErrorLog, Keeper, Report};
use crate::figures::{Ledger, Outcome, Tally};
use crate::reply::Answer;
use crate::route::{Found, Params, Steps};
use crate::seat::{NO_ROUTE, Seat};
use crate::tasks::{Due, GONE, Scheduler};
use crate::thrown::one_line;
use crate::turn::{Ended, Started, Turn};
use parking_lot::Mutex;
use repository::{CommitError, CommitNumber, Ran, Repository, RunError, Transaction};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The commit that a reply waits for if it reveals no committed state.
const NOTHING: CommitNumber = CommitNumber(0);

/// Cannot be: the slot holds the turn from the beginning of its run to the end.
const LOST: &str = "a handler waits whose turn is lost; please report this";

/// What workers have in common.
pub(crate) struct Shared {
    pub(crate) current: Arc<Current>,
    pub(crate) repository: Arc<Repository>,
    pub(crate) tasks: Scheduler,
    /// What applications have as `cache`, if anything.
    pub(crate) cached: Option<Arc<Cached>>,
    /// Unless the application has limits of its own.
    pub(crate) cpu_limit: Duration,
    pub(crate) heap_limit: usize,
    /// Where failed requests are kept, if they are.
    pub(crate) errors: Option<Arc<ErrorLog>>,
    /// What the handlers of the application are called, by place.
    pub(crate) names: Mutex<Vec<String>>,
}

impl Shared {
    pub(crate) fn cpu_limit(&self, app: &App) -> Duration {
        app.settings.cpu_limit.unwrap_or(self.cpu_limit)
    }

    /// Heap of a worker that has `app` loaded.
    pub(crate) fn heap_limit(&self, app: &App) -> usize {
        app.settings.heap_limit.unwrap_or(self.heap_limit)
    }
}

/// A worker. It stays on the thread that made it.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    /// The one that the engine has loaded.
    app: Arc<App>,
    /// `None` after a request that may have damaged it; the next request starts another.
    engine: Option<Engine>,
    seat: Arc<Seat>,
    ledger: Ledger,
}

/// What came of serving.
pub(crate) enum Served {
    /// It is done.
    Done(Result<Reply, Failure>),
    /// The handler waits, and is to run again.
    Waits(Box<Waiting>),
}

/// Why a run of the handler made nothing to commit.
enum RunStop {
    Handler(Stop),
    /// The repository failed; the message reveals nothing of a view.
    Repository(String),
    /// The watchdog has taken the seat, and has answered.
    Lost,
}

impl Worker {
    /// A worker with the application loaded.
    pub(crate) fn start(
        shared: Arc<Shared>,
        seat: Arc<Seat>,
        tally: Arc<Tally>,
    ) -> Result<Self, LoadError> {
        let app = shared.current.get();
        let engine = Engine::start(&app.sources, shared.heap_limit(&app), app.settings.freezes)?;
        *shared.names.lock() = engine.names().to_vec();
        Ok(Self { shared, app, engine: Some(engine), seat, ledger: Ledger::new(tally) })
    }

    /// Goes over to the application that is served now, if that is another one.
    pub(crate) fn change_over(&mut self) {
        let app = self.shared.current.get();
        if Arc::ptr_eq(&app, &self.app) {
            return;
        }
        self.app = app;
        self.ledger.forget();
        // First away with the old one, so that there are never two heaps. If the new one does not
        // start, which was tried before it was served, the next request says so.
        self.engine = None;
        let started = catch_unwind(AssertUnwindSafe(|| self.restart()));
        self.engine = started.ok().and_then(Result::ok);
        if let Some(engine) = &self.engine {
            *self.shared.names.lock() = engine.names().to_vec();
        }
    }

    /// Serves one request. It does not panic, and it does not wait for the disk.
    /// `since` is when it was handed over.
    pub(crate) fn serve(&mut self, request: Request, since: Instant) -> Served {
        let queued = since.elapsed();
        if let Err(message) = self.app.settings.csrf.check(&request) {
            return Served::Done(Err(FailureKind::CrossSite.with(Fault::new(message, NOTHING))));
        }
        self.serve_by(|worker, engine| match route(engine, &request) {
            Ok((found, params)) => {
                let mut turn = Turn::new(request, Params::new(), worker.app.settings.sessions)
                    .within(worker.app.settings.allowance)
                    .caching(worker.shared.cached.as_ref());
                turn.set_found(params, found.ending.clone());
                worker.run(engine, (&found, Some(queued)), turn)
            }
            Err(answer) => Served::Done(Ok(answer.reply(NOTHING))),
        })
    }

    /// As `serve`, for a request whose handler has waited. The application may have been loaded
    /// anew since.
    pub(crate) fn serve_again(&mut self, mut turn: Box<Turn>) -> Served {
        if turn.task_name().is_some() {
            return self.run_task(*turn);
        }
        self.serve_by(|worker, engine| match route(engine, turn.request()) {
            Ok((found, params)) => {
                turn.set_found(params, found.ending.clone());
                worker.run(engine, (&found, None), *turn)
            }
            Err(answer) => Served::Done(Ok(answer.reply(NOTHING))),
        })
    }

    /// Runs a task that is due.
    pub(crate) fn serve_task(&mut self, due: Due) -> Served {
        let settings = &self.app.settings;
        let turn = Turn::of_task(due, settings.sessions, self.app.client());
        self.run_task(turn.within(settings.allowance).caching(self.shared.cached.as_ref()))
    }

    fn run_task(&mut self, turn: Turn) -> Served {
        self.serve_by(|worker, engine| match turn.task_name().and_then(|name| engine.task(name)) {
            Some(found) => worker.run(engine, (&found, None), turn),
            // The application has changed since the task was handed over; the task waits on.
            None => Served::Done(Ok(Answer::page(GONE, "Gone").reply(NOTHING))),
        })
    }

    fn serve_by(&mut self, serve: impl FnOnce(&Self, &Engine) -> Served) -> Served {
        let served = catch_unwind(AssertUnwindSafe(|| self.try_serve(serve)));
        let served = served.unwrap_or_else(|panic| {
            // What the request saw is not known any more; it is at most what is visible now.
            let wait_for = self.shared.repository.stats().visible;
            let message = format!("the worker panicked: {}", panic_text(&*panic));
            Served::Done(Err(FailureKind::Handler.with(Fault::new(message, wait_for))))
        });
        let served = match served {
            Served::Done(Err(failure)) => Served::Done(Err(self.keeper().keep(failure, |_| {}))),
            served => served,
        };
        if let Served::Done(Err(failure)) = &served
            && matches!(failure.kind, FailureKind::CpuLimit | FailureKind::HeapLimit)
        {
            self.engine = None;
        }
        served
    }

    fn try_serve(&mut self, serve: impl FnOnce(&Self, &Engine) -> Served) -> Served {
        // Out of its place while it works: a panic leaves none behind.
        let engine = match self.engine.take().map_or_else(|| self.restart(), Ok) {
            Ok(engine) => engine,
            Err(failure) => return Served::Done(Err(failure)),
        };
        let served = serve(self, &engine);
        // Jobs that a failed run left behind must not run for another request.
        self.engine = engine.is_idle().then_some(engine);
        served
    }

    /// Runs an errand, with its turn if that has waited; gives it back if it waits. It does not
    /// panic; an errand that does is dropped.
    pub(crate) fn run_errand(
        &mut self,
        errand: Box<dyn Errand>,
        turn: Option<Box<Turn>>,
    ) -> Option<(Box<Waiting>, Box<dyn Errand>)> {
        let ran = catch_unwind(AssertUnwindSafe(|| self.try_errand(errand, turn)));
        ran.unwrap_or_else(|panic| {
            log::error!("an errand panicked: {}", panic_text(&*panic));
            None
        })
    }

    fn try_errand(
        &mut self,
        mut errand: Box<dyn Errand>,
        turn: Option<Box<Turn>>,
    ) -> Option<(Box<Waiting>, Box<dyn Errand>)> {
        let engine = match self.engine.take().map_or_else(|| self.restart(), Ok) {
            Ok(engine) => engine,
            Err(failure) => {
                errand.fail(failure);
                return None;
            }
        };
        if let Some(turn) = turn {
            engine.slot.fill(*turn);
        }
        let begun = Instant::now();
        let (step, is_broken) = {
            let host = Host {
                engine: &engine,
                repository: &self.shared.repository,
                cpu_limit: self.shared.cpu_limit(&self.app),
                sessions: self.app.settings.sessions,
                allowance: self.app.settings.allowance,
                cached: self.shared.cached.as_ref(),
                keeper: self.keeper(),
                seat: &self.seat,
                ledger: &self.ledger,
                seen: Seen::default(),
            };
            let step = errand.run(&host);
            if !matches!(step, Step::Waits(_)) {
                host.seen.count(begun);
            }
            (step, host.seen.is_broken.get())
        };
        let (mut turn, cpu_used) = (engine.slot.clear(), engine.cpu_used());
        if let (Step::Done, Some(turn)) = (step, &mut turn) {
            self.tell_started(turn);
            // At least its commit.
            turn.commit_cache(self.shared.repository.stats().visible);
        }
        self.engine = (engine.is_idle() && !is_broken).then_some(engine);
        let (Step::Waits(view), Some(turn)) = (step, turn) else { return None };
        match wait(turn, cpu_used, view) {
            Served::Waits(waiting) => return Some((waiting, errand)),
            Served::Done(Err(failure)) => errand.fail(failure),
            // There is no reply to an errand.
            Served::Done(Ok(_)) => {}
        }
        None
    }

    fn restart(&self) -> Result<Engine, Failure> {
        let heap_limit = self.shared.heap_limit(&self.app);
        let freezes = self.app.settings.freezes;
        Engine::start(&self.app.sources, heap_limit, freezes).map_err(|error| {
            let message = format!("the application could not be loaded again: {error}");
            FailureKind::Handler.with(Fault::new(message, NOTHING))
        })
    }

    fn keeper(&self) -> Keeper<'_> {
        Keeper { errors: self.shared.errors.as_deref(), sources: &self.app.sources }
    }

    fn run(
        &self,
        engine: &Engine,
        (found, queued): (&Found, Option<Duration>),
        mut turn: Turn,
    ) -> Served {
        let begun = Instant::now();
        let place = found.steps.last().unwrap_or(NO_ROUTE);
        let meter = self.ledger.meter(place, || engine.name(found));
        let limit = self.shared.cpu_limit(&self.app);
        let now = engine.start_budget(limit, turn.notes_mut().cpu_used);
        self.ledger.start(Arc::clone(&meter), now);
        self.seat.note_route(place);
        engine.slot.fill(turn);
        let (mut runs, mut work): (u32, (usize, usize)) = (0, (0, 0));
        let ran = self.shared.repository.run_owned(|transaction| {
            runs = runs.saturating_add(1);
            let run = || engine.run(found, self.app.settings.reply_bytes);
            let (transaction, result) = self.lend(engine, run, transaction);
            work = transaction.work();
            (transaction, result)
        });
        let mut turn = engine.slot.clear();
        if let (Ok(ran), Some(turn)) = (&ran, &mut turn) {
            self.tell_started(turn);
            turn.commit_cache(ran.wait_for);
        }
        let served = self.finish((engine, found), (ran, turn), runs.saturating_sub(1));
        if let Served::Done(result) = &served {
            let (failed, conflicts) = (result.is_err(), runs.saturating_sub(1));
            let ended = Outcome { failed, conflicts, reads: work.0, writes: work.1 };
            meter.count(ended, queued, begun.elapsed());
        }
        served
    }

    /// What the runs of a handler came to: its reply, its failure, or that it waits.
    fn finish(
        &self,
        (engine, found): (&Engine, &Found),
        (ran, turn): (Result<Ran<Answer>, RunError<RunStop>>, Option<Turn>),
        conflicts: u32,
    ) -> Served {
        match (ran, turn) {
            (
                Err(RunError::Body { error: RunStop::Handler(Stop::Waits), wait_for }),
                Some(turn),
            ) => wait(turn, engine.cpu_used(), wait_for),
            (Ok(ran), turn) => Served::Done(self.end(Ok(ran), turn)),
            (Err(error), turn) => {
                let asked = turn.as_ref().map(Turn::request);
                let asked = asked.map(|request| (request.method.clone(), request.path.clone()));
                let know = |report: &mut Report| {
                    (report.method, report.path) = asked.unwrap_or_default();
                    report.handler = engine.name(found).to_owned();
                    report.conflicts = conflicts;
                    report.cpu = engine.cpu_used();
                };
                if let RunError::Body {
                    error: RunStop::Handler(Stop::Recovered(_, thrown)),
                    wait_for,
                } = &error
                {
                    // The client has its answer; who runs the application is to know, too.
                    let failure =
                        FailureKind::Handler.with(Fault::threw((**thrown).clone(), *wait_for));
                    let failure = self.keeper().keep(failure, know);
                    log::error!("the application failed, and its onError answered: {failure}");
                    return Served::Done(self.end(Err(error), turn));
                }
                Served::Done(self.end(Err(error), turn).map_err(|mut failure| {
                    failure.report_mut().map(know);
                    failure
                }))
            }
        }
    }

    /// Tells the scheduler what a run has started, which is committed.
    fn tell_started(&self, turn: &mut Turn) {
        for Started { name, due } in turn.take_started() {
            self.shared.tasks.started(&name, due);
        }
    }

    /// What the end of a run is to the client.
    fn end(
        &self,
        ran: Result<Ran<Answer>, RunError<RunStop>>,
        turn: Option<Turn>,
    ) -> Result<Reply, Failure> {
        match ran {
            Ok(ran) => {
                let cookies = turn.map(Turn::into_cookies).into_iter().flatten();
                let reply =
                    cookies.fold(ran.value, |reply, cookie| reply.with("set-cookie", cookie));
                Ok(reply.reply(ran.wait_for))
            }
            Err(RunError::Body { error, wait_for }) => stopped(error, wait_for),
            Err(RunError::Begin(error)) => Err(unavailable(error.to_string())),
            Err(RunError::Duplicate { duplicate, wait_for }) => {
                Err(FailureKind::Duplicate.with(Fault::new(duplicate.to_string(), wait_for)))
            }
            // That it came to a commit reveals something of the view, which is at most this.
            Err(RunError::Commit(error)) => {
                Err(uncommitted(&error, self.shared.repository.stats().visible))
            }
        }
    }

    /// Runs the handler while the turn in the engine's slot owns the transaction: what JavaScript
    /// calls outlives any borrow.
    fn lend(
        &self,
        engine: &Engine,
        run: impl FnOnce() -> Result<Answer, Stop>,
        transaction: Transaction,
    ) -> (Transaction, Result<Answer, RunStop>) {
        // A conflict may have brought it back here from its decision.
        if !self.seat.run() {
            return (transaction, Err(RunStop::Lost));
        }
        engine.slot.begin(transaction);
        let result = run();
        if result.is_ok() {
            engine.slot.prolong_session();
        }
        let (transaction, ended) = engine.slot.end();
        match ended {
            _ if !self.seat.decide() => (transaction, Err(RunStop::Lost)),
            Some(Ended::Unreadable(error)) => {
                (transaction, Err(RunStop::Repository(error.to_string())))
            }
            Some(Ended::Exceeded(why)) => {
                (transaction, Err(RunStop::Handler(Stop::exceeded(result.err(), why))))
            }
            None => (transaction, result.map_err(RunStop::Handler)),
        }
    }
}

/// What a request is for, and the values in its path; or the reply if it is for no function.
fn route(engine: &Engine, request: &Request) -> Result<(Found, Params), Answer> {
    match engine.find(&request.method, &request.path) {
        Ok(Found { steps: Steps::None, ending, .. }) => Err(Answer::of(&ending, &request.query)),
        Ok(mut found) => {
            let params = std::mem::take(&mut found.params);
            Ok((found, params))
        }
        Err(error) => Err(Answer::page(400, &format!("Bad Request: {error}"))),
    }
}

/// Ends a run on `view` whose handler waits.
fn wait(mut turn: Turn, cpu_used: Duration, view: CommitNumber) -> Served {
    let notes = turn.notes_mut();
    notes.cpu_used = cpu_used;
    match notes.start_round() {
        Ok(asides) => Served::Waits(Box::new(Waiting { turn, asides, view })),
        Err(too_many) => {
            let fault = Fault::new(too_many.to_string(), view);
            Served::Done(Err(FailureKind::Handler.with(fault)))
        }
    }
}

fn stopped(stop: RunStop, wait_for: CommitNumber) -> Result<Reply, Failure> {
    match stop {
        RunStop::Handler(Stop::Refused(answer)) => Ok(answer.reply(wait_for)),
        RunStop::Handler(Stop::Recovered(answer, _)) => Ok(answer.reply(wait_for)),
        RunStop::Handler(Stop::Waits) => Err(FailureKind::Handler.with(Fault::new(LOST, wait_for))),
        RunStop::Handler(Stop::Failed(kind, thrown)) => {
            Err(kind.with(Fault::threw(thrown, wait_for)))
        }
        RunStop::Lost => Err(unavailable("the watchdog has answered".to_owned())),
        RunStop::Repository(message) => {
            // Here, not where it was noted: a request may run several times.
            log::error!("{message}");
            Err(unavailable(message))
        }
    }
}

fn uncommitted(error: &CommitError, wait_for: CommitNumber) -> Failure {
    let kind = match error {
        CommitError::Overloaded(_) | CommitError::ViewTooOld(_) => FailureKind::Busy,
        CommitError::NoSpace { .. } => FailureKind::NoSpace,
        CommitError::NoProgress | CommitError::TooManyCollections => FailureKind::Handler,
        CommitError::Poisoned(_) | CommitError::Closed | CommitError::Read(_) => {
            FailureKind::Unavailable
        }
    };
    kind.with(Fault::new(error.to_string(), wait_for))
}

fn unavailable(message: String) -> Failure {
    FailureKind::Unavailable.with(Fault::new(message, NOTHING))
}

/// What a panic says.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    one_line(text.unwrap_or("without a message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_refused_commit_is_to_the_client() {
        let busy = uncommitted(&CommitError::Overloaded("the tranlog"), CommitNumber(7));
        assert_eq!((busy.kind, busy.wait_for()), (FailureKind::Busy, CommitNumber(7)));
        assert!(busy.fault.message.contains("try again"), "{busy}");
        let full = CommitError::NoSpace { free_bytes: 3 << 20, reserve_bytes: 9 << 20 };
        let full = uncommitted(&full, NOTHING);
        assert_eq!(full.kind, FailureKind::NoSpace);
        assert!(full.fault.message.contains("3 MiB are free, 9 MiB"), "{full}");
        let mistake = uncommitted(&CommitError::NoProgress, NOTHING);
        assert_eq!(mistake.kind, FailureKind::Handler);
        assert!(mistake.fault.message.contains("report"), "{mistake}");
        assert_eq!(uncommitted(&CommitError::Closed, NOTHING).kind, FailureKind::Unavailable);
    }
}
