//! How a run stands: counters the generator threads write, and a tick about once per second. It
//! measures nothing that ends up in a report.

use crate::cpu;
use crate::engine::Phase;
use crate::engine::Timetable;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Time between two ticks.
const PERIOD: Duration = Duration::from_secs(1);

/// What one generator thread has done so far. On a cache line of its own, so that the threads
/// do not slow each other down.
#[derive(Default)]
#[repr(align(64))]
pub(crate) struct Counters {
    successes: AtomicU64,
    errors: AtomicU64,
}

impl Counters {
    /// Counts a request. Relaxed: the numbers are looked at one by one.
    pub(crate) fn add(&self, success: bool) {
        let counter = if success { &self.successes } else { &self.errors };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tick {
    /// Where it is.
    pub phase: Phase,
    /// Time since the first user started.
    pub elapsed: Duration,
    /// Ramp-up and duration together, as planned.
    pub planned: Duration,
    /// Successful requests per second since the last tick.
    pub requests_per_second: f64,
    /// Errors since the start.
    pub errors: u64,
    /// Cores that this process used since the last tick; nothing if that cannot be read.
    pub generator_cores: Option<f64>,
}

/// Makes ticks from counters.
pub(crate) struct Meter {
    timetable: Timetable,
    counters: Vec<Arc<Counters>>,
    last: Instant,
    last_successes: u64,
    last_cpu: Option<Duration>,
}

impl Meter {
    pub(crate) fn new(timetable: Timetable, counters: Vec<Arc<Counters>>) -> Self {
        Self { timetable, counters, last: timetable.start, last_successes: 0, last_cpu: used() }
    }

    /// Goes by another timetable from now on.
    pub(crate) fn extend(&mut self, timetable: Timetable) {
        self.timetable = timetable;
    }

    /// When the next tick is due.
    pub(crate) fn next(&self) -> Instant {
        self.last + PERIOD
    }

    /// The tick that is due, if one is.
    pub(crate) fn tick(&mut self, now: Instant, phase: Phase) -> Option<Tick> {
        if now < self.next() {
            return None;
        }
        let sum = |read: fn(&Counters) -> &AtomicU64| -> u64 {
            self.counters.iter().map(|thread| read(thread).load(Ordering::Relaxed)).sum()
        };
        let successes = sum(|thread| &thread.successes);
        let errors = sum(|thread| &thread.errors);
        let seconds = (now - self.last).as_secs_f64();
        let lately = (successes - self.last_successes) as f64 / seconds;
        let (before, cpu) = (self.last_cpu, used());
        let cores = before.zip(cpu).map(|(a, b)| b.saturating_sub(a).as_secs_f64() / seconds);
        self.last_cpu = cpu;
        self.last = now;
        self.last_successes = successes;
        Some(Tick {
            phase,
            elapsed: now - self.timetable.start,
            planned: self.timetable.end - self.timetable.start,
            requests_per_second: lately,
            errors,
            generator_cores: cores,
        })
    }
}

/// CPU time of this process so far.
fn used() -> Option<Duration> {
    cpu::process(std::process::id()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    #[test]
    fn ticks_state_the_rate_since_the_last_one() {
        let plan = Plan::hit("http://a/".parse().unwrap());
        let start = Instant::now();
        let counters: Vec<Arc<Counters>> = vec![Arc::default(), Arc::default()];
        let mut meter = Meter::new(Timetable::new(&plan, start), counters.clone());

        (0..60).for_each(|_| counters[0].add(true));
        (0..40).for_each(|_| counters[1].add(true));
        counters[1].add(false);
        assert_eq!(meter.tick(start + PERIOD / 2, Phase::RampUp), None);
        let first = meter.tick(start + 2 * PERIOD, Phase::Measured).unwrap();
        assert_eq!(first.requests_per_second, 50.0);
        assert_eq!((first.errors, first.elapsed), (1, 2 * PERIOD));
        assert!(first.generator_cores.is_some_and(|cores| cores >= 0.0));
        assert_eq!(first.planned, plan.phases.ramp_up + plan.phases.measured);

        assert_eq!(meter.tick(start + 2 * PERIOD, Phase::Measured), None);
        let second = meter.tick(start + 3 * PERIOD, Phase::Measured).unwrap();
        assert_eq!((second.requests_per_second, second.errors), (0.0, 1));
    }
}
