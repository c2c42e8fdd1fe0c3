//! A whole run, from the first connection to what was found.

use super::budget::Budget;
use super::desk::Brief;
use super::numbered::Numbers;
use super::prepared::Prepared;
use super::timetable::{Phase, Timetable};
use super::watch::Watch;
use super::worker::{Harvest, Signal, Worker};
use crate::audit::{self, Before, Found, Ledger};
use crate::cpu;
use crate::limits::{DURATION_MAX, SERVER_AWAY_MAX, START_LEAD};
use crate::measure::{ErrorClass, Interval, Tally, Totals};
use crate::observe::{Event, Mark, Observer, Summary};
use crate::plan::{Plan, PlanError};
use crate::progress::{Counters, Meter};
use crate::transport::{ReachError, reach};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, SystemTime};
use thiserror::Error;
use tokio::sync::watch as channel;
use tokio::time::Instant;

/// How often the one who watches is asked whether to stop.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Seconds of each thread for which there is room, so that sending does not wait.
const SECONDS_KEPT: usize = 16;

/// How long before its end a run can still be extended: every thread must hear of it.
const EXTEND_LEAD: Duration = Duration::from_secs(1);

/// Why a run could not be carried out.
#[derive(Debug, Error)]
pub enum RunError {
    /// The plan cannot be run.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A server cannot be spoken to.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// The server's CPU time cannot be read.
    #[error("cannot read the CPU time of process {pid}: {source}; check the server's process id")]
    ServerCpu {
        /// The process that was asked for.
        pid: u32,
        /// What the operating system said.
        source: io::Error,
    },
    /// What is to be audited is not as it must be before the run.
    #[error("the audit: {0}")]
    Audit(String),
    /// A generator thread could not be started.
    #[error("cannot start a generator thread: {0}; use fewer users or threads")]
    Thread(#[source] io::Error),
}

/// What a run found.
#[derive(Debug)]
pub struct Findings {
    /// What was measured.
    pub totals: Totals,
    /// How long the measured interval was: what was planned, or less if the planned number of
    /// operations was reached earlier.
    pub measured: Duration,
    /// The time that operations were in flight in it, summed over them, in seconds.
    pub in_flight_s: f64,
    /// Successes in each whole second of it.
    pub rates: Vec<u64>,
    /// Connections opened, ramp-up included.
    pub connections: u64,
    /// What each of the plan's servers calls its software, if it says so.
    pub software: Vec<Option<String>>,
    /// CPU time of each thread of the generator in it, and the time that it had; why not, if it
    /// cannot be read.
    pub generator_cpu: Result<Vec<(Duration, Duration)>, String>,
    /// CPU time of the server in it.
    pub server_cpu: ServerCpu,
    /// What was read once a second beside the load.
    pub observed: Vec<Summary>,
    /// What an audit found, if there was one.
    pub audit: Option<Found>,
    /// Why the server is taken to have gone, which ended the run.
    pub server_gone: Option<String>,
    /// Arithmetic mean of the latencies of each whole second of the interval, in ms; none where
    /// nothing succeeded. As long as `rates`.
    pub latencies_ms: Vec<Option<f64>>,
    /// How far the machine's clock moved against the one that never steps, over the run.
    pub clock_step: Duration,
    /// Of a numbered load: all numbers before this one are done.
    pub numbered_done: u64,
    /// Whether the run was ended before its time.
    pub stopped: bool,
    /// By how much the measured interval was made longer while it went on.
    pub extended: Duration,
}

/// CPU time of a server in the measured interval.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerCpu {
    /// No process was named.
    NotAsked,
    /// So much.
    Used(Duration),
    /// It could be read at first, and then not.
    Lost(String),
}

/// Runs a plan to its end. Takes the phases and at most the drain.
///
/// # Errors
/// See [`RunError`].
pub fn run(plan: &Plan, watch: &mut dyn Watch) -> Result<Findings, RunError> {
    plan.check()?;
    let routes = reach(&plan.origins, &plan.transport, plan.request_timeout)?;
    check_server(plan.server_pid)?;
    let ledger = Arc::new(Ledger::new(&plan.audit));
    let before = look_before(plan)?;
    let timetable = Timetable::new(plan, Instant::now() + START_LEAD);
    let counters: Vec<Arc<Counters>> = (0..plan.threads).map(|_| Arc::default()).collect();
    let ((ending, ended), (extending, extended)) =
        (channel::channel(false), channel::channel(Duration::ZERO));
    let numbers = Numbers::of(&plan.load);
    let brief = Brief {
        prepared: Arc::new(Prepared::new(plan)),
        plan: Arc::new(plan.clone()),
        routes: routes.into(),
        timetable,
        budget: plan.phases.count.map(|count| Arc::new(Budget::new(count))),
        ledger: Arc::clone(&ledger),
        ended,
        extended,
        numbers: numbers.clone(),
    };
    let (sender, signals) = sync_channel(SECONDS_KEPT * plan.threads);
    let mut conductor = Conductor {
        timetable,
        meter: Meter::new(timetable, counters.clone()),
        watch,
        server: plan.server_pid.map(ServerReadings::new),
        open: plan.threads,
        threads: plan.threads,
        harvests: Vec::with_capacity(plan.threads),
        pages: BTreeMap::new(),
        totals: Totals::new(plan.operations.len()),
        operations: plan.operations.len(),
        in_flight_s: 0.0,
        rates: Vec::new(),
        ending,
        extending,
        stopped: false,
        latencies_ms: Vec::new(),
        observer: Some(Observer::start(plan, timetable.start).map_err(RunError::Thread)?),
        observed: Vec::new(),
        away: 0,
        server_gone: None,
    };
    let clocks = (SystemTime::now(), Instant::now());
    conductor.watch.begin(clocks.0 + timetable.start.saturating_duration_since(clocks.1));
    std::thread::scope(|scope| {
        let first_user = |thread: usize| thread * plan.load.users_max() / plan.threads;
        for (thread, counters) in counters.iter().enumerate() {
            let worker = Worker {
                brief: brief.clone(),
                place: (thread, plan.threads),
                users: first_user(thread)..first_user(thread + 1),
                counters: Arc::clone(counters),
                signals: sender.clone(),
            };
            std::thread::Builder::new().name("lab".into()).spawn_scoped(scope, || worker.run())?;
        }
        drop(sender);
        conductor.attend(&signals)
    })
    .map_err(RunError::Thread)?;
    let mut findings = conductor.found(clock_step(clocks));
    findings.numbered_done = numbers.map_or(0, |numbers| numbers.done());
    // Of a server that has gone nothing can be asked.
    let before = before.filter(|_| findings.server_gone.is_none());
    findings.audit = before.map(|before| audit::verify(plan, &ledger, &before));
    Ok(findings)
}

/// Whether the CPU time of the server can be read.
fn check_server(pid: Option<u32>) -> Result<(), RunError> {
    let Some(pid) = pid else { return Ok(()) };
    cpu::process(pid).map(|_| ()).map_err(|source| RunError::ServerCpu { pid, source })
}

/// What an audit must know of before the run.
fn look_before(plan: &Plan) -> Result<Option<Before>, RunError> {
    let before = (!plan.audit.is_empty()).then(|| Before::read(plan));
    before.transpose().map_err(RunError::Audit)
}

/// How far the wall clock moved against the monotonic one.
fn clock_step((wall, steady): (SystemTime, Instant)) -> Duration {
    let steady = steady.elapsed();
    let wall = wall.elapsed().unwrap_or_default();
    wall.abs_diff(steady)
}

/// What the calling thread does while the generator runs.
struct Conductor<'a> {
    timetable: Timetable,
    meter: Meter,
    watch: &'a mut dyn Watch,
    server: Option<ServerReadings>,
    /// Threads for which the measured interval is not over.
    open: usize,
    threads: usize,
    harvests: Vec<Harvest>,
    /// Seconds that not all threads have told yet, with how many have.
    pages: BTreeMap<u64, (usize, Interval)>,
    totals: Totals,
    operations: usize,
    in_flight_s: f64,
    rates: Vec<u64>,
    /// Tells the threads that the run ends before its time.
    ending: channel::Sender<bool>,
    /// Tells them by how much it is longer than was planned.
    extending: channel::Sender<Duration>,
    /// Whether it did, with something left to measure.
    stopped: bool,
    latencies_ms: Vec<Option<f64>>,
    /// Until the run is over.
    observer: Option<Observer>,
    observed: Vec<Summary>,
    /// Seconds in a row in which connections were refused or broken, and nothing else.
    away: u64,
    server_gone: Option<String>,
}

impl Conductor<'_> {
    /// Attends the run until every thread has finished.
    fn attend(&mut self, signals: &Receiver<Signal>) -> io::Result<()> {
        loop {
            let now = Instant::now();
            let phase = self.phase(now);
            if phase != Phase::RampUp {
                self.server.iter_mut().for_each(ServerReadings::begin);
                self.mark(Mark::Begin);
            }
            self.observe();
            if let Some(tick) = self.meter.tick(now, phase) {
                self.watch.tick(&tick);
            }
            self.ask(phase);
            self.ask_for_more(now);
            match signals.recv_timeout(self.next_wake(phase, now).saturating_duration_since(now)) {
                Ok(Signal::Second(page)) => self.take_page(*page),
                Ok(Signal::Closed) => self.close_one(),
                Ok(Signal::Finished(harvest)) => self.harvests.push(*harvest?),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    while let Some((_, (_, page))) = self.pages.pop_first() {
                        self.add(&page);
                    }
                    self.end_observing();
                    return Ok(());
                }
            }
        }
    }

    /// Ends the run if the one who watches wants it, or there is nobody left to load.
    fn ask(&mut self, phase: Phase) {
        if !*self.ending.borrow() && (self.watch.stops() || self.server_gone.is_some()) {
            self.ending.send_replace(true);
            self.stopped = phase != Phase::Drain;
        }
    }

    /// Makes the measured interval longer if the one who watches wants it, and all threads can hear
    /// of it in time.
    fn ask_for_more(&mut self, now: Instant) {
        let more = self.watch.extends();
        let longer = self.timetable.longer(more);
        let is_late = now + EXTEND_LEAD > self.timetable.end || *self.ending.borrow();
        if more.is_zero() || is_late || longer.end - self.timetable.begin > DURATION_MAX {
            return;
        }
        self.timetable = longer;
        self.meter.extend(longer);
        self.extending.send_modify(|all| *all += more);
    }

    fn phase(&self, now: Instant) -> Phase {
        match () {
            () if now < self.timetable.begin => Phase::RampUp,
            () if self.open > 0 => Phase::Measured,
            () => Phase::Drain,
        }
    }

    fn next_wake(&self, phase: Phase, now: Instant) -> Instant {
        let next = self.meter.next().min(now + ASK_EVERY);
        match phase {
            Phase::RampUp => self.timetable.begin.min(next),
            Phase::Measured | Phase::Drain => next,
        }
    }

    fn take_page(&mut self, page: Interval) {
        let empty = || (0, Interval::new(page.second, self.operations));
        let (told, sum) = self.pages.entry(page.second).or_insert_with(empty);
        *told += 1;
        sum.merge(&page);
        // Every thread tells each second, in order.
        while let Some(first) = self.pages.first_entry() {
            if first.get().0 < self.threads {
                break;
            }
            let (_, page) = first.remove();
            self.add(&page);
        }
    }

    fn add(&mut self, page: &Interval) {
        self.totals.add(page);
        self.in_flight_s += page.in_flight_s;
        let measured = (0..self.operations).filter_map(|o| page.get(Phase::Measured, o));
        let measured: Vec<&Tally> = measured.collect();
        let successes = measured.iter().map(|tally| tally.successes()).sum();
        let mean = |tally: &&Tally| Some(tally.service().mean_ms()? * tally.successes() as f64);
        let sum: f64 = measured.iter().filter_map(mean).sum();
        self.rates.push(successes);
        self.latencies_ms.push((successes > 0).then(|| sum / successes as f64));
        self.look_for_server(page);
        self.watch.second(page);
    }

    /// A server that is away for long is taken to have gone for good.
    fn look_for_server(&mut self, page: &Interval) {
        let places = (0..self.operations).flat_map(|o| Phase::ALL.map(|phase| (phase, o)));
        let tallies: Vec<&Tally> =
            places.filter_map(|(phase, operation)| page.get(phase, operation)).collect();
        let sum = |count: fn(&Tally) -> u64| tallies.iter().map(|tally| count(tally)).sum::<u64>();
        let broken = sum(|tally| {
            let errors = tally.errors();
            errors.count(ErrorClass::Connect) + errors.count(ErrorClass::Closed)
        });
        match sum(Tally::operations) {
            0 => {}
            operations if operations == broken => self.away += 1,
            _ => self.away = 0,
        }
        if self.away >= SERVER_AWAY_MAX {
            let from = page.second + 1 - self.away;
            self.server_gone.get_or_insert_with(|| {
                format!("from second {from} on every connection was refused or broken")
            });
        }
    }

    fn mark(&self, mark: Mark) {
        self.observer.iter().for_each(|observer| observer.mark(mark));
    }

    /// Passes on what observers have told.
    fn observe(&mut self) {
        let events = self.observer.as_ref().map(|observer| observer.told().collect::<Vec<_>>());
        events.into_iter().flatten().for_each(|event| self.take_event(event));
    }

    fn end_observing(&mut self) {
        let Some(observer) = self.observer.take() else { return };
        let (observed, rest) = observer.finish();
        rest.into_iter().for_each(|event| self.take_event(event));
        self.observed = observed;
    }

    fn take_event(&mut self, event: Event) {
        match event {
            Event::Row(head, row) => self.watch.observed(&head, &row),
            Event::ServerGone(second) => {
                self.server_gone.get_or_insert_with(|| {
                    format!("its process was not there any more at second {second}")
                });
            }
        }
    }

    fn close_one(&mut self) {
        self.open -= 1;
        if self.open == 0 {
            self.server.iter_mut().for_each(ServerReadings::end);
            self.mark(Mark::End);
        }
    }

    fn found(self, clock_step: Duration) -> Findings {
        let closed = self.harvests.iter().map(|harvest| harvest.closed).max();
        let closed = closed.unwrap_or(self.timetable.begin);
        let measured = closed.saturating_duration_since(self.timetable.begin);
        let ramp_up = (self.timetable.begin - self.timetable.start).as_secs_f64().ceil() as usize;
        let whole = measured.as_secs() as usize;
        let cpus = self.harvests.iter().map(|harvest| match &harvest.cpu {
            Ok(cpu) => Ok((cpu.used, cpu.elapsed)),
            Err(error) => Err(error.to_string()),
        });
        let said = |server: usize| {
            let of = |harvest: &Harvest| harvest.software.get(server)?.clone();
            self.harvests.iter().find_map(of)
        };
        let servers = self.harvests.first().map_or(0, |harvest| harvest.software.len());
        let software = (0..servers).map(said).collect();
        Findings {
            totals: self.totals,
            measured,
            in_flight_s: self.in_flight_s,
            rates: self.rates.into_iter().skip(ramp_up).take(whole).collect(),
            latencies_ms: self.latencies_ms.into_iter().skip(ramp_up).take(whole).collect(),
            connections: self.harvests.iter().map(|harvest| harvest.connections).sum(),
            software,
            generator_cpu: cpus.collect(),
            server_cpu: self.server.map_or(ServerCpu::NotAsked, ServerReadings::used),
            observed: self.observed,
            audit: None,
            server_gone: self.server_gone,
            clock_step,
            numbered_done: 0,
            stopped: self.stopped,
            extended: *self.extending.borrow(),
        }
    }
}

/// The server's CPU time when the measured interval began and when it ended.
struct ServerReadings {
    pid: u32,
    begin: Option<io::Result<Duration>>,
    end: Option<io::Result<Duration>>,
}

impl ServerReadings {
    fn new(pid: u32) -> Self {
        Self { pid, begin: None, end: None }
    }

    fn begin(&mut self) {
        self.begin.get_or_insert_with(|| cpu::process(self.pid));
    }

    fn end(&mut self) {
        self.end.get_or_insert_with(|| cpu::process(self.pid));
    }

    fn used(self) -> ServerCpu {
        match (self.begin, self.end) {
            (Some(Ok(begin)), Some(Ok(end))) => ServerCpu::Used(end.saturating_sub(begin)),
            (Some(Err(error)), _) | (_, Some(Err(error))) => ServerCpu::Lost(error.to_string()),
            (None, _) | (_, None) => ServerCpu::Lost("the interval was never open".to_owned()),
        }
    }
}
