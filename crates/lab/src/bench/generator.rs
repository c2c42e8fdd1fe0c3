//! One generator thread: its users, its single-threaded runtime, what they measured together,
//! and the CPU time that took. It knows nothing of the other threads but the shared budget.

use super::budget::Budget;
use super::plan::Plan;
use super::timetable::{Phase, Timetable};
use super::user::User;
use crate::cpu;
use crate::http1::{Failure, Reply, Template};
use crate::progress::Counters;
use crate::tally::Tally;
use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// What a thread is started with.
pub(crate) struct Generator {
    pub(crate) plan: Arc<Plan>,
    pub(crate) address: SocketAddr,
    pub(crate) timetable: Timetable,
    /// The numbers of its users.
    pub(crate) users: Range<usize>,
    pub(crate) budget: Option<Arc<Budget>>,
    pub(crate) counters: Arc<Counters>,
}

/// What the users of one thread share.
pub(crate) struct Shared {
    pub(crate) plan: Arc<Plan>,
    pub(crate) address: SocketAddr,
    pub(crate) timetable: Timetable,
    pub(crate) template: Template,
    budget: Option<Arc<Budget>>,
    counters: Arc<Counters>,
    phases: RefCell<Phases>,
    connections: Cell<u64>,
}

/// A tally for each phase.
pub(crate) struct Phases {
    pub(crate) ramp_up: Tally,
    pub(crate) measured: Tally,
    pub(crate) drain: Tally,
}

/// What a thread has to say in the end.
pub(crate) struct Harvest {
    pub(crate) phases: Phases,
    pub(crate) connections: u64,
    /// When the measured interval was over for its users.
    pub(crate) closed: Instant,
    pub(crate) cpu: io::Result<ThreadCpu>,
}

/// CPU time of the thread around the measured interval.
#[derive(Clone, Copy)]
pub(crate) struct ThreadCpu {
    pub(crate) used: Duration,
    /// Time between the two readings.
    pub(crate) elapsed: Duration,
}

impl Generator {
    /// Runs to the end of the drain. `on_closed` is called when the measured interval is over
    /// for the users of this thread.
    ///
    /// # Errors
    /// The runtime could not be built.
    pub(crate) fn run(self, on_closed: impl FnOnce()) -> io::Result<Harvest> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build_local(Default::default())?;
        Ok(runtime.block_on(self.conduct(on_closed)))
    }

    async fn conduct(self, on_closed: impl FnOnce()) -> Harvest {
        let Timetable { begin, end, .. } = self.timetable;
        let numbers = self.users.clone();
        let shared = Rc::new(self.into_shared());
        let mut users = JoinSet::new();
        for number in numbers {
            users.spawn_local(User::new(Rc::clone(&shared), number).run());
        }
        tokio::time::sleep_until(begin).await;
        let opened = Instant::now();
        let before = cpu::this_thread();
        let early = tokio::time::timeout_at(end, join(&mut users)).await.is_ok();
        let closed = Instant::now();
        let after = cpu::this_thread();
        on_closed();
        join(&mut users).await;
        Harvest {
            phases: shared.phases.replace(Phases::new()),
            connections: shared.connections.get(),
            closed: if early { closed.min(end) } else { end },
            cpu: thread_cpu(before, after, closed - opened),
        }
    }

    fn into_shared(self) -> Shared {
        Shared {
            template: Template::new(&self.plan.target, &self.plan.request),
            plan: self.plan,
            address: self.address,
            timetable: self.timetable,
            budget: self.budget,
            counters: self.counters,
            phases: RefCell::new(Phases::new()),
            connections: Cell::new(0),
        }
    }
}

async fn join(users: &mut JoinSet<()>) {
    while let Some(user) = users.join_next().await {
        if let Err(error) = user {
            // Users are never cancelled, so this is a panic, and a bug.
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

fn thread_cpu(
    before: io::Result<Duration>,
    after: io::Result<Duration>,
    elapsed: Duration,
) -> io::Result<ThreadCpu> {
    let used = after?.saturating_sub(before?);
    Ok(ThreadCpu { used, elapsed })
}

impl Phases {
    pub(crate) fn new() -> Self {
        Self { ramp_up: Tally::new(), measured: Tally::new(), drain: Tally::new() }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.ramp_up.merge(&other.ramp_up);
        self.measured.merge(&other.measured);
        self.drain.merge(&other.drain);
    }
}

impl Shared {
    /// The time, if a user may send a request now.
    pub(crate) fn next_hit(&self) -> Option<Instant> {
        let now = Instant::now();
        let counted = |budget: &Arc<Budget>| now < self.timetable.begin || budget.take();
        let allowed = now < self.timetable.end && self.budget.as_ref().is_none_or(counted);
        allowed.then_some(now)
    }

    /// Notes what became of a request that ends now.
    pub(crate) fn record(&self, sent: Instant, result: &Result<Reply, Failure>, bytes: u64) {
        let finished = Instant::now();
        let mut phases = self.phases.borrow_mut();
        let tally = match self.timetable.phase(sent, finished) {
            Phase::RampUp => &mut phases.ramp_up,
            Phase::Measured => &mut phases.measured,
            Phase::Drain => &mut phases.drain,
        };
        tally.receive(bytes);
        let success = tally.record(result, finished - sent);
        self.counters.add(success);
    }

    /// Notes that a user has gone, having opened so many connections.
    pub(crate) fn leave(&self, connections: u64) {
        self.connections.set(self.connections.get() + connections);
    }
}
