//! The thread that hands tasks to the gems when they are due, and notes how their runs ended. It
//! sleeps until the next of them is due; what it keeps in memory does not grow with how many wait.
//!
//! Of each name it knows the earliest time at which a task may be due, and reads the index from
//! there on: so it passes over what has run only once. Whoever commits a task says so (`started`);
//! a word that comes while the index is read is kept until after.

use super::ledger::{Count, Ledger, Noted, Stage};
use super::record::Record;
use super::{Definition, TaskError};
use crate::errors::{Failure, FailureKind};
use crate::exchange::{Reply, Respond};
use crate::limits::{
    TASK_LOOK_MAX, TASK_NAMES_REPORTED_MAX, TASK_PAUSE, TASK_QUANTUM, TASKS_IN_FLIGHT_MAX,
};
use crate::worker::panic_text;
use parking_lot::{Condvar, Mutex, MutexGuard};
use repository::{Key, Repository};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The status of a run that found its task gone; no client sees it.
pub(crate) const GONE: u16 = 410;

/// For how long there is nothing to do without tasks; a change of the application wakes.
const TASK_LOOK_EMPTY: Duration = Duration::from_secs(3_600);

/// Takes a task that is due to the gems, with what is to be called at its end. False: they have
/// stopped.
pub(crate) type Hand = Box<dyn Fn(Due, Respond) -> bool + Send + Sync>;

/// A task that is due.
#[derive(Clone, Debug)]
pub(crate) struct Due {
    pub(crate) place: Key,
    pub(crate) id: String,
    pub(crate) definition: Definition,
}

/// What the tasks of an application come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskFigures {
    /// Tasks that wait or run. Counted when the server starts and kept from then on; so, until it
    /// starts again, it may be a little off where tasks were dropped that nothing ran, or where it
    /// started with more than a thousand.
    pub waiting: u64,
    /// Those of them that are with the gems.
    pub running: u64,
    /// Tasks that failed for good, and are kept.
    pub dead: u64,
    /// Runs that ended well since the server was started.
    pub runs: u64,
    /// Runs that failed since then.
    pub failures: u64,
    /// For how long the task that has waited longest has been due, in milliseconds.
    pub lag_ms: u64,
}

/// The scheduler of a pool.
pub(crate) struct Scheduler {
    desk: Arc<Desk>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Desk {
    ledger: Ledger,
    repository: Arc<Repository>,
    hand: Hand,
    state: Mutex<State>,
    changed: Condvar,
    waiting: AtomicI64,
    dead: AtomicI64,
    runs: AtomicU64,
    failures: AtomicU64,
    /// Whether crons and index are there; `is_prepared` says so before they are.
    is_ready: AtomicBool,
}

#[derive(Default)]
struct State {
    names: Vec<Name>,
    /// Whether crons and index are as the definitions say.
    is_prepared: bool,
    count: Count,
    /// Tasks that are with the gems, or whose failure is not noted yet.
    in_flight: HashSet<Key>,
    finished: Vec<Finished>,
    /// The name that comes first in the next round.
    turn: usize,
    /// Nothing is tried before this: the repository has refused.
    pause: Option<Instant>,
    is_stopped: bool,
}

struct Name {
    definition: Definition,
    /// No task of the name that is not in flight is due before this; `None`: none waits.
    next: Option<u64>,
    /// No task of the name, in flight or not, is due before this.
    from: u64,
}

struct Finished {
    due: Due,
    outcome: Result<Reply, Failure>,
}

enum Step {
    Prepare(Vec<Definition>),
    Count,
    Note(Vec<Finished>),
    /// To read the tasks of a name that are due from this time on.
    Read(Definition, u64),
    Stop,
}

impl Scheduler {
    /// Starts it for the tasks in `definitions`.
    pub(crate) fn start(
        repository: Arc<Repository>,
        definitions: &[Definition],
        hand: Hand,
    ) -> std::io::Result<Self> {
        let desk = Arc::new(Desk {
            ledger: Ledger::new(Arc::clone(&repository)),
            repository,
            hand,
            state: Mutex::default(),
            changed: Condvar::new(),
            waiting: AtomicI64::new(0),
            dead: AtomicI64::new(0),
            runs: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            is_ready: AtomicBool::new(false),
        });
        desk.define(definitions);
        // What is more than one page is counted when there is nothing else to do.
        for _ in [Stage::Waiting, Stage::Dead] {
            if let Err(error) = desk.count() {
                log::debug!("tasks are counted later: {error}");
            }
        }
        let worked = Arc::clone(&desk);
        let thread =
            thread::Builder::new().name("tasks".to_owned()).spawn(move || worked.work())?;
        Ok(Self { desk, thread: Mutex::new(Some(thread)) })
    }

    /// Goes over to the tasks of another version of the application.
    pub(crate) fn define(&self, definitions: &[Definition]) {
        self.desk.define(definitions);
    }

    /// Takes word of a task that was committed.
    pub(crate) fn started(&self, name: &str, due: u64) {
        self.desk.waiting.fetch_add(1, Ordering::Relaxed);
        self.desk.look_from(name, due);
    }

    /// Looks at the clock: somebody has moved it.
    pub(crate) fn look(&self) {
        let _held = self.desk.state.lock();
        self.desk.changed.notify_all();
    }

    /// Looks at everything: somebody has changed tasks by the ledger, `waiting` and `dead` more of
    /// each.
    pub(crate) fn changed(&self, waiting: i64, dead: i64) {
        self.desk.waiting.fetch_add(waiting, Ordering::Relaxed);
        self.desk.dead.fetch_add(dead, Ordering::Relaxed);
        let mut state = self.desk.state.lock();
        state.names.iter_mut().for_each(|name| (name.next, name.from) = (Some(0), 0));
        drop(state);
        self.desk.changed.notify_all();
    }

    /// Whether crons are there for the definitions that it has.
    pub(crate) fn is_ready(&self) -> bool {
        self.desk.is_ready.load(Ordering::Relaxed)
    }

    /// How it stands.
    pub(crate) fn figures(&self) -> TaskFigures {
        let desk = &self.desk;
        let (running, first) = {
            let state = desk.state.lock();
            let first = state.names.iter().filter_map(|name| name.next).min();
            (state.in_flight.len() as u64, first)
        };
        // Just now it may not be known when the first is due.
        let lag = |first: u64| desk.now().filter(|_| first > 0)?.checked_sub(first);
        let count = |counter: &AtomicI64| counter.load(Ordering::Relaxed).max(0).unsigned_abs();
        TaskFigures {
            waiting: count(&desk.waiting),
            running,
            dead: count(&desk.dead),
            runs: desk.runs.load(Ordering::Relaxed),
            failures: desk.failures.load(Ordering::Relaxed),
            lag_ms: first.and_then(lag).unwrap_or(0),
        }
    }

    /// Hands out nothing more, and notes what has ended. To be called when the gems have stopped.
    pub(crate) fn stop(&self) {
        self.desk.state.lock().is_stopped = true;
        self.desk.changed.notify_all();
        if let Some(thread) = self.thread.lock().take()
            && let Err(panic) = thread.join()
        {
            log::error!("the scheduler of tasks ended in a panic: {}", panic_text(&*panic));
        }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Desk {
    fn define(&self, definitions: &[Definition]) {
        let name = |definition: &Definition| Name {
            definition: definition.clone(),
            next: Some(0),
            from: 0,
        };
        let mut state = self.state.lock();
        state.names = definitions.iter().map(name).collect();
        state.is_prepared = false;
        self.is_ready.store(false, Ordering::Relaxed);
        drop(state);
        self.changed.notify_all();
    }

    fn look_from(&self, name: &str, due: u64) {
        let mut state = self.state.lock();
        let Some(known) = state.names.iter_mut().find(|known| known.definition.name == name) else {
            return;
        };
        known.from = known.from.min(due);
        if known.next.is_none_or(|next| due < next) {
            known.next = Some(due);
            drop(state);
            self.changed.notify_all();
        }
    }

    fn work(self: &Arc<Self>) {
        loop {
            let step = self.next_step();
            let done = match step {
                Step::Stop => return,
                Step::Prepare(definitions) => self.prepare(&definitions),
                Step::Count => self.count(),
                Step::Note(finished) => {
                    finished.into_iter().for_each(|finished| self.note(finished));
                    Ok(())
                }
                Step::Read(definition, from) => self.read(&definition, from),
            };
            if let Err(error) = done {
                let pause = if error.is_of_the_beginning() {
                    TASK_PAUSE / 50
                } else {
                    log::warn!("tasks wait, because the repository refuses: {error}");
                    TASK_PAUSE
                };
                self.state.lock().pause = Some(Instant::now() + pause);
            }
        }
    }

    /// Waits until there is something to do.
    fn next_step(&self) -> Step {
        let mut state = self.state.lock();
        loop {
            if !state.finished.is_empty() {
                return Step::Note(std::mem::take(&mut state.finished));
            }
            if state.is_stopped {
                return Step::Stop;
            }
            let wait = match self.choose(&mut state) {
                Ok(step) => return step,
                Err(wait) => wait,
            };
            self.changed.wait_for(&mut state, wait);
        }
    }

    /// What to do now, or for how long there is nothing.
    fn choose(&self, state: &mut MutexGuard<'_, State>) -> Result<Step, Duration> {
        let pause = state.pause.map(|until| until.saturating_duration_since(Instant::now()));
        if let Some(pause) = pause.filter(|pause| !pause.is_zero()) {
            return Err(pause);
        }
        state.pause = None;
        if !std::mem::replace(&mut state.is_prepared, true) {
            let all = state.names.iter().map(|name| name.definition.clone());
            return Ok(Step::Prepare(all.collect()));
        }
        // With half of the places free, so that a reading of the index fills several.
        let has_places = state.in_flight.len() <= TASKS_IN_FLIGHT_MAX / 2;
        let Some(now) = self.now() else { return Err(TASK_PAUSE) };
        let count = state.names.len();
        let is_due = |name: &Name| name.next.is_some_and(|next| next <= now);
        let order = (0..count).map(|place| (state.turn + place) % count.max(1));
        if has_places && let Some(place) = order.into_iter().find(|at| is_due(&state.names[*at])) {
            state.turn = place + 1;
            let name = &mut state.names[place];
            name.next = None;
            let from = std::mem::replace(&mut name.from, u64::MAX);
            return Ok(Step::Read(name.definition.clone(), from));
        }
        if state.count.stage != Stage::Done {
            return Ok(Step::Count);
        }
        if state.names.is_empty() {
            return Err(TASK_LOOK_EMPTY);
        }
        let first = state.names.iter().filter_map(|name| name.next).min();
        let wait = first.filter(|_| has_places).map(|first| first.saturating_sub(now).max(1));
        // Somebody may set the machine's clock.
        Err(wait.map_or(TASK_LOOK_MAX, Duration::from_millis).min(TASK_LOOK_MAX))
    }

    fn now(&self) -> Option<u64> {
        self.repository.begin().ok().map(|transaction| transaction.time().0)
    }

    fn prepare(&self, definitions: &[Definition]) -> Result<(), TaskError> {
        let prepared = self.ledger.prepare(definitions).and_then(|()| self.report(definitions));
        if prepared.is_err() {
            self.state.lock().is_prepared = false;
        }
        self.is_ready.store(prepared.is_ok(), Ordering::Relaxed);
        prepared
    }

    /// Reports names of tasks that no handler of the application has. They wait for one; but crons
    /// that are gone are gone.
    fn report(&self, definitions: &[Definition]) -> Result<(), TaskError> {
        let mut after: Option<String> = None;
        for _ in 0..TASK_NAMES_REPORTED_MAX {
            let Some(record) = self.ledger.name_after(after.as_deref())? else { return Ok(()) };
            let Record { name, cron, .. } = record;
            if definitions.iter().all(|definition| definition.name != name) {
                if cron.is_some() {
                    self.ledger.forget_cron(&name)?;
                    log::info!("the cron {name} is gone: the application has none of that name");
                    continue;
                }
                log::warn!(
                    "tasks called {name} wait, and the application has none of that name; they \
                     run when it has"
                );
            }
            after = Some(name);
        }
        Ok(())
    }

    /// Counts a page. Those that were started since the server was were counted then: what lies on
    /// later pages is counted twice, which only a server notices that starts with very many.
    fn count(&self) -> Result<(), TaskError> {
        let mut count = std::mem::take(&mut self.state.lock().count);
        let counted = self.ledger.count(&mut count);
        self.waiting.fetch_add(count.waiting, Ordering::Relaxed);
        self.dead.fetch_add(count.dead, Ordering::Relaxed);
        self.state.lock().count = count;
        counted
    }

    /// Hands over the tasks of a name that are due.
    fn read(self: &Arc<Self>, definition: &Definition, from: u64) -> Result<(), TaskError> {
        let limit = self.state.lock().in_flight.len() + TASK_QUANTUM + 1;
        let read = self.ledger.first(&definition.name, from, limit);
        let (now, found) = read.inspect_err(|_error| self.restore(definition, Some(0), 0))?;
        // What is committed from here on says so, and is due at the time of its view or later.
        let first = found.first().map_or(now, |(_, record)| record.due);
        let is_whole = found.len() < limit;
        let mut next = (!is_whole).then_some(now);
        let mut handed = 0;
        for (place, record) in found {
            if record.due > now {
                next = Some(record.due);
                break;
            }
            if self.state.lock().in_flight.contains(&place) {
                continue;
            }
            if handed == TASK_QUANTUM || self.is_full() {
                next = Some(record.due);
                break;
            }
            handed += 1;
            if !self.hand_over(definition, place, &record, now) {
                next = Some(record.due);
                break;
            }
        }
        self.restore(definition, next, first);
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.state.lock().in_flight.len() >= TASKS_IN_FLIGHT_MAX
    }

    /// Takes what a reading found out about a name together with what was said meanwhile.
    fn restore(&self, definition: &Definition, next: Option<u64>, from: u64) {
        let mut state = self.state.lock();
        let known = state.names.iter_mut().find(|name| name.definition == *definition);
        // After a change of the application everything is read anew anyway.
        let Some(known) = known else { return };
        known.from = known.from.min(from);
        known.next = match (known.next, next) {
            (Some(said), Some(found)) => Some(said.min(found)),
            (said, found) => said.or(found),
        };
    }

    /// False: the gems have stopped.
    fn hand_over(
        self: &Arc<Self>,
        definition: &Definition,
        place: Key,
        record: &Record,
        now: u64,
    ) -> bool {
        let due = Due { place, id: record.id.clone(), definition: definition.clone() };
        self.state.lock().in_flight.insert(due.place.clone());
        if record.deadline.is_some_and(|deadline| deadline < now) {
            let error = "it expired before it could run";
            self.fail(&due, error, true);
            self.land(&due);
            return true;
        }
        let (desk, ended) = (Arc::clone(self), due.clone());
        let place = due.place.clone();
        let respond: Respond = Box::new(move |outcome| desk.ended(ended, outcome));
        let is_taken = (self.hand)(due, respond);
        if !is_taken {
            self.state.lock().in_flight.remove(&place);
        }
        is_taken
    }

    /// Takes word that a run has ended, on the thread where it did.
    fn ended(&self, due: Due, outcome: Result<Reply, Failure>) {
        if let Ok(reply) = &outcome {
            if reply.status != GONE {
                self.runs.fetch_add(1, Ordering::Relaxed);
                if due.definition.cron.is_none() {
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                }
            }
            self.land(&due);
        } else {
            self.state.lock().finished.push(Finished { due, outcome });
            self.changed.notify_all();
        }
    }

    /// The task is with the gems no more.
    fn land(&self, due: &Due) {
        let mut state = self.state.lock();
        state.in_flight.remove(&due.place);
        let is_half = state.in_flight.len() <= TASKS_IN_FLIGHT_MAX / 2;
        // A cron's next time was committed with its run.
        if due.definition.cron.is_some() {
            let known = state.names.iter_mut().find(|name| name.definition == due.definition);
            if let Some(known) = known {
                known.next = Some(0);
            }
        }
        drop(state);
        if is_half {
            self.changed.notify_all();
        }
    }

    /// Notes that a run failed.
    fn note(&self, Finished { due, outcome }: Finished) {
        let failure = match outcome {
            Ok(_) => return self.land(&due),
            Err(failure) => failure,
        };
        match failure.kind {
            // The server's trouble, not the task's: it runs again when that is over.
            FailureKind::Busy | FailureKind::NoSpace | FailureKind::Unavailable => {
                self.look_from(&due.definition.name, 0);
                self.state.lock().pause = Some(Instant::now() + TASK_PAUSE);
            }
            _ => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                let fail = || self.fail(&due, &failure.to_string(), false);
                if catch_unwind(AssertUnwindSafe(fail)).is_err() {
                    log::error!("the failure of the task {} could not be noted", due.place);
                }
            }
        }
        self.land(&due);
    }

    /// Notes a failure, and says it in the log.
    fn fail(&self, due: &Due, error: &str, is_final: bool) {
        let (Due { place, id, definition }, name) = (due, &due.definition.name);
        let is_full = self.dead.load(Ordering::Relaxed) >= crate::limits::TASK_DEAD_MAX as i64;
        match self.ledger.failed((place, id), definition, error, (is_final, is_full)) {
            Ok(Noted::Again { due }) => {
                log::warn!("the task {name} {id} failed and runs again later: {error}");
                self.look_from(name, due);
            }
            Ok(Noted::Dead { failures, next }) => {
                log::error!("the task {name} {id} failed for good, after {failures} runs: {error}");
                self.dead.fetch_add(i64::from(!is_full), Ordering::Relaxed);
                match next {
                    Some(next) => self.look_from(name, next),
                    None => drop(self.waiting.fetch_sub(1, Ordering::Relaxed)),
                }
            }
            Ok(Noted::Gone) => {}
            Err(refused) => {
                log::error!(
                    "the task {name} {id} failed, and that could not be noted ({refused}), so it \
                     runs again: {error}"
                );
                self.look_from(name, 0);
                self.state.lock().pause = Some(Instant::now() + TASK_PAUSE);
            }
        }
    }
}

/// The end of a run that takes longer than it may.
pub(crate) fn ends_at(definition: &Definition) -> Instant {
    Instant::now() + definition.timeout
}
