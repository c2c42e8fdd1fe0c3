//! What the users of one thread share: the plan, the measurements of the second, and the permission
//! to start. Everything on it belongs to one thread, so nothing is locked.

use super::budget::Budget;
use super::extract::Finder;
use super::numbered::Numbers;
use super::prepared::Prepared;
use super::timetable::{Phase, Timetable};
use crate::audit::Ledger;
use crate::limits::SAMPLES_MAX;
use crate::measure::{Done, Interval, Sample};
use crate::memcached;
use crate::plan::{Plan, Stage};
use crate::progress::Counters;
use crate::transport::{Route, Server};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// What every thread is given.
#[derive(Clone)]
pub(crate) struct Brief {
    pub(crate) plan: Arc<Plan>,
    pub(crate) prepared: Arc<Prepared>,
    /// To the plan's servers.
    pub(crate) routes: Arc<[Route]>,
    /// As it was planned; see [`Desk::timetable`].
    pub(crate) timetable: Timetable,
    pub(crate) budget: Option<Arc<Budget>>,
    /// What replies promised.
    pub(crate) ledger: Arc<Ledger>,
    /// Becomes true when the run ends before its time.
    pub(crate) ended: watch::Receiver<bool>,
    /// By how much the measured interval is longer than was planned.
    pub(crate) extended: watch::Receiver<Duration>,
    /// Of a numbered load.
    pub(crate) numbers: Option<Arc<Numbers>>,
}

/// See above.
pub(crate) struct Desk {
    pub(crate) brief: Brief,
    /// As it is now.
    timetable: Cell<Timetable>,
    /// The plan's servers.
    pub(crate) servers: Vec<Rc<Server>>,
    /// Connections to caches that users share.
    sharing: memcached::Sharing,
    counters: Arc<Counters>,
    interval: RefCell<Interval>,
    connections: Cell<u64>,
    /// Looks into replies, for whoever does.
    pub(crate) finder: RefCell<Finder>,
    /// Replies kept so far with the reason why they were not what they had to be.
    samples: Cell<usize>,
    in_flight: Cell<u32>,
    /// When `in_flight` changed last.
    changed: Cell<Instant>,
    /// Whether the run ends before its time.
    over: Cell<bool>,
    /// Wakes who sleeps when it does.
    wake: Notify,
}

impl Desk {
    pub(crate) fn new(brief: Brief, counters: Arc<Counters>) -> Self {
        let interval = Interval::new(0, brief.plan.operations.len());
        let changed = Cell::new(brief.timetable.start);
        let servers = brief.routes.iter().cloned().map(Server::new).collect();
        Self {
            timetable: Cell::new(brief.timetable),
            brief,
            servers,
            sharing: RefCell::default(),
            counters,
            interval: RefCell::new(interval),
            connections: Cell::new(0),
            finder: RefCell::default(),
            samples: Cell::new(0),
            in_flight: Cell::new(0),
            changed,
            over: Cell::new(false),
            wake: Notify::new(),
        }
    }

    /// The connections to caches of a user, if the plan has steps for them.
    pub(crate) fn caches(&self, user: usize) -> Option<memcached::Places> {
        let maker = self.brief.prepared.maker.as_ref()?;
        Some(memcached::Places::new(&self.servers, &self.sharing, maker, user))
    }

    /// The points in time the run goes by; all but the first two move if it is extended.
    pub(crate) fn timetable(&self) -> Timetable {
        self.timetable.get()
    }

    /// Makes the measured interval longer by so much than was planned.
    pub(crate) fn extend(&self, more: Duration) {
        self.timetable.set(self.brief.timetable.longer(more));
    }

    /// Whether an operation may start at `now`.
    pub(crate) fn may_start(&self, now: Instant) -> bool {
        let (timetable, budget) = (self.timetable(), &self.brief.budget);
        let counted = |budget: &Arc<Budget>| now < timetable.begin || budget.take();
        !self.over.get() && now < timetable.last && budget.as_ref().is_none_or(counted)
    }

    /// Ends the run before its time: nothing starts any more, and who sleeps is woken.
    pub(crate) fn finish(&self) {
        self.over.set(true);
        self.wake.notify_waiters();
    }

    /// Whether the run has ended before its time.
    pub(crate) fn is_over(&self) -> bool {
        self.over.get()
    }

    /// Sleeps until `at`, or until the run ends before its time.
    pub(crate) async fn sleep_until(&self, at: Instant) {
        if self.over.get() {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep_until(at) => {}
            () = self.wake.notified() => {}
        }
    }

    /// Whether the closed model has this user at `now`; and if not, whether it is worth waiting.
    pub(crate) fn is_active(&self, users: &[Stage], number: usize, now: Instant) -> bool {
        let offset = now.saturating_duration_since(self.brief.timetable.begin);
        (number as f64) < Stage::value_at(users, offset).round()
    }

    /// Notes that an operation starts.
    pub(crate) fn begin(&self, now: Instant) {
        self.count_in_flight(now);
        self.in_flight.set(self.in_flight.get() + 1);
    }

    /// Notes an operation that is over.
    pub(crate) fn end(&self, operation: usize, from: Instant, now: Instant, done: &Done<'_>) {
        self.count_in_flight(now);
        self.in_flight.set(self.in_flight.get() - 1);
        let phase = self.phase(from, now);
        self.interval.borrow_mut().tally(phase, operation).record(done);
        self.counters.add(done.failure.is_none());
    }

    /// Notes a message that came at `at` and was waited for since `since`.
    pub(crate) fn note_message(&self, operation: usize, since: Instant, at: Instant) {
        let phase = self.phase(since, at);
        let mut interval = self.interval.borrow_mut();
        interval.tally(phase, operation).record_message(at.saturating_duration_since(since));
    }

    /// The open model measures all that came in the interval, and waits for it: what is slow is
    /// over late, and would be left out otherwise.
    fn phase(&self, from: Instant, now: Instant) -> Phase {
        let is_open = self.brief.plan.load.is_open();
        self.timetable().phase(from, if is_open { from } else { now })
    }

    /// When a request that is made now must be over.
    pub(crate) fn deadline(&self) -> Instant {
        self.timetable().deadline(Instant::now(), self.brief.plan.request_timeout)
    }

    /// Whether replies are kept with the reason why they are not what they have to be.
    pub(crate) fn wants_samples(&self) -> bool {
        self.samples.get() < SAMPLES_MAX
    }

    /// Keeps a reply with the reason, if there is room.
    pub(crate) fn note_sample(&self, sample: impl FnOnce() -> Sample) {
        if self.wants_samples() {
            self.samples.set(self.samples.get() + 1);
            self.interval.borrow_mut().samples.push(sample());
        }
    }

    /// Notes how late an operation of the open model was sent.
    pub(crate) fn lagged(&self, from: Instant, lag: Duration) {
        let Timetable { begin, end, .. } = self.timetable();
        if from >= begin && from < end {
            self.interval.borrow_mut().send_lag.record(lag);
        }
    }

    /// Notes that the thread was to wake at one time and did at the other.
    pub(crate) fn paused(&self, due: Instant, woke: Instant) {
        let Timetable { begin, end, .. } = self.timetable();
        if due >= begin && due < end {
            let pause = woke.saturating_duration_since(due);
            let mut interval = self.interval.borrow_mut();
            interval.pause = interval.pause.max(pause);
        }
    }

    /// Notes an arrival that found no user free.
    pub(crate) fn dropped(&self, at: Instant) {
        if self.timetable().phase(at, at) == Phase::Measured {
            self.interval.borrow_mut().dropped += 1;
        }
    }

    /// Notes that a user has gone, having opened so many connections.
    pub(crate) fn leave(&self, connections: u64) {
        self.connections.set(self.connections.get() + connections);
    }

    /// What each server calls its software, if it has said so.
    pub(crate) fn software(&self) -> Vec<Option<String>> {
        let of = |server: &Rc<Server>| server.heads.borrow().software().map(str::to_owned);
        self.servers.iter().map(of).collect()
    }

    pub(crate) fn connections(&self) -> u64 {
        self.connections.get()
    }

    /// What was measured since the last call; from now on it is second `next`.
    pub(crate) fn turn_page(&self, now: Instant, next: u64) -> Interval {
        self.count_in_flight(now);
        let empty = Interval::new(next, self.brief.plan.operations.len());
        self.interval.replace(empty)
    }

    /// Adds up the time that operations were in flight within the measured interval.
    fn count_in_flight(&self, now: Instant) {
        let Timetable { begin, end, .. } = self.timetable();
        let since = self.changed.replace(now).max(begin);
        let measured = now.min(end).saturating_duration_since(since).as_secs_f64();
        if measured > 0.0 && self.in_flight.get() > 0 {
            let seconds = measured * f64::from(self.in_flight.get());
            self.interval.borrow_mut().in_flight_s += seconds;
        }
    }
}
