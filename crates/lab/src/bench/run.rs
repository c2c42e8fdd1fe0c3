//! A whole run: reaches the server, starts the generator threads, keeps the progress going,
//! reads the server's CPU time at the right moments and gathers the report.

use super::budget::Budget;
use super::generator::{Generator, Harvest};
use super::plan::{Plan, PlanError};
use super::timetable::{Phase, Timetable};
use crate::cpu;
use crate::limits::START_LEAD;
use crate::progress::{Counters, Meter, Tick};
use crate::report::{Report, ServerCpu};
use crate::tally::Errors;
use crate::target::Target;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;
use thiserror::Error;
use tokio::time::Instant;

/// Why a run gives no report.
#[derive(Debug, Error)]
pub enum BenchError {
    /// The plan cannot be run.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The host's name has no address.
    #[error("cannot find the address of \"{host}\": {source}; check the URL")]
    Resolve {
        /// The host.
        host: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// No connection could be made before the run.
    #[error("cannot connect to {address} for {target}: {source}; is the server running there?")]
    Connect {
        /// The URL.
        target: String,
        /// The last address that was tried.
        address: SocketAddr,
        /// What the operating system said.
        source: io::Error,
    },
    /// The server's CPU time cannot be read.
    #[error("cannot read the CPU time of process {pid}: {source}; check the server's process id")]
    ServerCpu {
        /// The process that was asked for.
        pid: u32,
        /// What the operating system said.
        source: io::Error,
    },
    /// A generator thread could not be started.
    #[error("cannot start a generator thread: {0}; use fewer users or threads")]
    Thread(#[source] io::Error),
    /// The server was reached, and not one request succeeded.
    #[error("no request to {target} succeeded; {sent} were sent: {errors}")]
    NothingSucceeded {
        /// The URL.
        target: String,
        /// Requests that were sent or for which no connection could be made.
        sent: u64,
        /// What became of them.
        errors: Box<Errors>,
    },
}

/// Runs a plan to its end and reports. Takes the ramp-up, the duration and at most the drain.
/// `watch` is called about once per second.
///
/// # Errors
/// See [`BenchError`].
pub fn run(plan: &Plan, watch: impl FnMut(&Tick)) -> Result<Report, BenchError> {
    plan.check()?;
    let address = reach(&plan.target, plan.request_timeout)?;
    if let Some(pid) = plan.server_pid {
        cpu::process(pid).map_err(|source| BenchError::ServerCpu { pid, source })?;
    }
    let timetable = Timetable::new(plan, Instant::now() + START_LEAD);
    let counters: Vec<Arc<Counters>> = (0..plan.threads).map(|_| Arc::default()).collect();
    let generators = generators(plan, address, timetable, &counters);
    // Two signals a thread: sending never waits.
    let (sender, signals) = sync_channel(2 * plan.threads);
    let mut conductor = Conductor {
        timetable,
        meter: Meter::new(timetable, counters),
        watch,
        server: plan.server_pid.map(ServerReadings::new),
        open: plan.threads,
        harvests: Vec::with_capacity(plan.threads),
    };
    std::thread::scope(|scope| {
        for generator in generators {
            let sender = sender.clone();
            std::thread::Builder::new()
                .name("lab".to_owned())
                .spawn_scoped(scope, move || run_generator(generator, &sender))?;
        }
        drop(sender);
        conductor.attend(&signals)
    })
    .map_err(BenchError::Thread)?;
    let server_cpu = conductor.server.map_or(ServerCpu::NotAsked, ServerReadings::used);
    let report = Report::new(plan, timetable.begin, conductor.harvests, server_cpu);
    refuse_nothing(report)
}

/// An address of the target that accepts connections: a name may have several, and the server
/// may listen on one of them only.
fn reach(target: &Target, timeout: Duration) -> Result<SocketAddr, BenchError> {
    let resolve = |source| BenchError::Resolve { host: target.host().to_owned(), source };
    let addresses = (target.host(), target.port()).to_socket_addrs().map_err(resolve)?;
    let mut refusal = resolve(io::Error::new(io::ErrorKind::NotFound, "it has none"));
    for address in addresses {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(_) => return Ok(address),
            Err(source) => {
                let target = target.to_string();
                refusal = BenchError::Connect { target, address, source };
            }
        }
    }
    Err(refusal)
}

fn generators(
    plan: &Plan,
    address: SocketAddr,
    timetable: Timetable,
    counters: &[Arc<Counters>],
) -> Vec<Generator> {
    let shared_plan = Arc::new(plan.clone());
    let budget = plan.count.map(Budget::new).map(Arc::new);
    let first_user = |thread: usize| thread * plan.users / plan.threads;
    let generator = |(thread, counters): (usize, &Arc<Counters>)| Generator {
        plan: Arc::clone(&shared_plan),
        address,
        timetable,
        users: first_user(thread)..first_user(thread + 1),
        budget: budget.clone(),
        counters: Arc::clone(counters),
    };
    counters.iter().enumerate().map(generator).collect()
}

/// What a generator thread tells the conductor.
enum Signal {
    /// The measured interval is over for its users.
    Closed,
    /// It is done.
    Finished(io::Result<Box<Harvest>>),
}

fn run_generator(generator: Generator, signals: &SyncSender<Signal>) {
    // The conductor leaves before its threads only when one of them could not be started, and
    // then nobody asks for what the others measured.
    let tell = |signal| drop(signals.send(signal));
    let harvest = generator.run(|| tell(Signal::Closed));
    tell(Signal::Finished(harvest.map(Box::new)));
}

/// What the calling thread does while the generators run.
struct Conductor<W> {
    timetable: Timetable,
    meter: Meter,
    watch: W,
    server: Option<ServerReadings>,
    /// Threads for which the measured interval is not over.
    open: usize,
    harvests: Vec<Harvest>,
}

impl<W: FnMut(&Tick)> Conductor<W> {
    /// Attends the run until every thread has finished.
    fn attend(&mut self, signals: &Receiver<Signal>) -> io::Result<()> {
        loop {
            let now = Instant::now();
            let phase = self.phase(now);
            if phase != Phase::RampUp {
                self.server.iter_mut().for_each(ServerReadings::begin);
            }
            if let Some(tick) = self.meter.tick(now, phase) {
                (self.watch)(&tick);
            }
            match signals.recv_timeout(self.next_wake(phase).saturating_duration_since(now)) {
                Ok(Signal::Closed) => self.close_one(),
                Ok(Signal::Finished(harvest)) => self.harvests.push(*harvest?),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    fn phase(&self, now: Instant) -> Phase {
        match () {
            () if now < self.timetable.begin => Phase::RampUp,
            () if self.open > 0 => Phase::Measured,
            () => Phase::Drain,
        }
    }

    fn next_wake(&self, phase: Phase) -> Instant {
        match phase {
            Phase::RampUp => self.timetable.begin.min(self.meter.next()),
            Phase::Measured | Phase::Drain => self.meter.next(),
        }
    }

    fn close_one(&mut self) {
        self.open -= 1;
        if self.open == 0 {
            self.server.iter_mut().for_each(ServerReadings::end);
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

/// A report of a run in which nothing succeeded would be figures about nothing.
fn refuse_nothing(report: Report) -> Result<Report, BenchError> {
    let phases = [&report.ramp_up, &report.measured, &report.drain];
    if phases.iter().any(|tally| tally.successes() > 0) {
        return Ok(report);
    }
    let mut errors = Box::new(Errors::default());
    phases.iter().for_each(|tally| errors.merge(tally.errors()));
    Err(BenchError::NothingSucceeded { target: report.target, sent: errors.total(), errors })
}
