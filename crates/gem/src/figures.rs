//! What each handler has done: how often, how long, and at what cost. Every worker counts for
//! itself, and only its thread writes there, so a count is a load and a store; what the workers
//! counted is put together when somebody asks.

use crate::limits::HANDLERS_MAX;
use parking_lot::Mutex;
use repository::{DurationCounts, Durations};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What handlers beyond the bound are counted as.
const OTHERS: &str = "others";

/// What one worker counts of one handler.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    failed: AtomicU64,
    conflicts: AtomicU64,
    reads: AtomicU64,
    writes: AtomicU64,
    cpu_ns: AtomicU64,
    queued: Durations,
    took: Durations,
}

/// What a request came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) failed: bool,
    pub(crate) conflicts: u32,
    /// Documents and ranges.
    pub(crate) reads: usize,
    pub(crate) writes: usize,
}

fn add(to: &AtomicU64, what: u64) {
    if what > 0 {
        to.store(to.load(Ordering::Relaxed).wrapping_add(what), Ordering::Relaxed);
    }
}

impl Meter {
    /// Counts a request. On the worker's thread only, as the others here.
    pub(crate) fn count(&self, ended: Outcome, queued: Option<Duration>, took: Duration) {
        add(&self.failed, u64::from(ended.failed));
        add(&self.conflicts, u64::from(ended.conflicts));
        add(&self.reads, ended.reads as u64);
        add(&self.writes, ended.writes as u64);
        self.took.record_alone(took);
        if let Some(queued) = queued {
            self.queued.record_alone(queued);
        }
    }

    /// Adds CPU time.
    pub(crate) fn add_cpu(&self, used: Duration) {
        add(&self.cpu_ns, u64::try_from(used.as_nanos()).unwrap_or(u64::MAX));
    }
}

/// What one handler has done since the server started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandlerFigures {
    /// `GET /notes/:id`, ...
    pub name: String,
    /// Requests that had no reply of the handler's making.
    pub failed: u64,
    /// Runs that lost to a conflict and were made again.
    pub conflicts: u64,
    /// Documents and ranges read in the last run of each request, and documents written.
    pub reads: u64,
    /// See `reads`.
    pub writes: u64,
    /// CPU time of the gems' threads, in nanoseconds; of each gem, its last request is not in it.
    pub cpu_ns: u64,
    /// How long requests had waited for a gem.
    pub queued: DurationCounts,
    /// How long they were in the gem, all runs together.
    pub took: DurationCounts,
}

/// The meters of one worker, and of whoever takes its place.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<BTreeMap<Arc<str>, Arc<Meter>>>);

impl Tally {
    /// The meter of the handler called `name`; beyond the bound, one for all others. Takes a lock:
    /// the worker keeps what it gets.
    pub(crate) fn meter(&self, name: &str) -> Arc<Meter> {
        let mut all = self.0.lock();
        let name = if all.len() < HANDLERS_MAX || all.contains_key(name) { name } else { OTHERS };
        Arc::clone(all.entry(name.into()).or_default())
    }
}

/// A worker's own way to its meters: without a lock once it has met a handler.
#[derive(Debug)]
pub(crate) struct Ledger {
    tally: Arc<Tally>,
    /// By the handler's place.
    meters: RefCell<Vec<Option<Arc<Meter>>>>,
    /// The handler of the last request, and the thread's CPU time at its begin.
    last: RefCell<Option<(Arc<Meter>, Duration)>>,
}

impl Ledger {
    pub(crate) fn new(tally: Arc<Tally>) -> Self {
        Self { tally, meters: RefCell::default(), last: RefCell::default() }
    }

    /// The meter of the handler at `place`; what is at no place is not called anything.
    pub(crate) fn meter<'a>(&self, place: usize, name: impl FnOnce() -> &'a str) -> Arc<Meter> {
        if place >= HANDLERS_MAX {
            return self.tally.meter(OTHERS);
        }
        let mut meters = self.meters.borrow_mut();
        if meters.len() <= place {
            meters.resize(place + 1, None);
        }
        Arc::clone(meters[place].get_or_insert_with(|| self.tally.meter(name())))
    }

    /// The meter of what has no place.
    pub(crate) fn meter_of(&self, name: &str) -> Arc<Meter> {
        self.tally.meter(name)
    }

    /// At `now` of the thread's CPU time something begins that is not a handler's.
    pub(crate) fn stop(&self, now: Duration) {
        if let Some((last, begun)) = self.last.take() {
            last.add_cpu(now.saturating_sub(begun));
        }
    }

    /// A request begins at `now` of the thread's CPU time, which is that of the one before as far
    /// as it is new: so the clock, which is a call of the system, is read once for both.
    pub(crate) fn start(&self, meter: Arc<Meter>, now: Duration) {
        self.stop(now);
        self.last.replace(Some((meter, now)));
    }

    /// Another application is served: at the same places are other handlers.
    pub(crate) fn forget(&self) {
        self.meters.take();
    }
}

/// What all workers counted, by name.
pub(crate) fn sum<'a>(tallies: impl Iterator<Item = &'a Tally>) -> Vec<HandlerFigures> {
    let mut sums = BTreeMap::<Arc<str>, HandlerFigures>::new();
    for tally in tallies {
        for (name, meter) in tally.0.lock().iter() {
            let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            let sum = sums.entry(Arc::clone(name)).or_default();
            sum.failed += load(&meter.failed);
            sum.conflicts += load(&meter.conflicts);
            sum.reads += load(&meter.reads);
            sum.writes += load(&meter.writes);
            sum.cpu_ns += load(&meter.cpu_ns);
            sum.queued.add(&meter.queued.counts());
            sum.took.add(&meter.took.counts());
        }
    }
    let named = |(name, sum): (Arc<str>, _)| HandlerFigures { name: name.to_string(), ..sum };
    sums.into_iter().map(named).filter(|figures| figures.took.count() > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_added_up_and_handlers_are_bounded() {
        let tallies = [Tally::default(), Tally::default()];
        for tally in &tallies {
            for number in 0..HANDLERS_MAX + 5 {
                let ended = Outcome { failed: true, conflicts: 2, reads: 3, writes: 1 };
                let took = Duration::from_micros(30);
                let meter = tally.meter(&format!("GET /{number}"));
                meter.count(ended, Some(Duration::ZERO), took);
                meter.add_cpu(Duration::from_nanos(7));
            }
        }
        let sums = sum(tallies.iter());
        assert_eq!(sums.len(), HANDLERS_MAX + 1);
        let others = sums.iter().find(|figures| figures.name == OTHERS).unwrap();
        assert_eq!((others.took.count(), others.cpu_ns), (10, 70));
        let one = sums.iter().find(|figures| figures.name == "GET /0").unwrap();
        assert_eq!((one.failed, one.conflicts, one.reads, one.writes), (2, 4, 6, 2));
        assert_eq!((one.took.buckets[1], one.queued.buckets[0]), (2, 2));
    }
}
