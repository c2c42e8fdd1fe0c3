//! The live view of a run: counters the generator threads write, a tick about once per second,
//! and one line on a terminal. It measures nothing that ends up in a report.

use crate::engine::Phase;
use crate::engine::Timetable;
use std::io::{IsTerminal, Write};
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
}

/// Makes ticks from counters.
pub(crate) struct Meter {
    timetable: Timetable,
    counters: Vec<Arc<Counters>>,
    last: Instant,
    last_successes: u64,
}

impl Meter {
    pub(crate) fn new(timetable: Timetable, counters: Vec<Arc<Counters>>) -> Self {
        Self { timetable, counters, last: timetable.start, last_successes: 0 }
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
        let lately = (successes - self.last_successes) as f64 / (now - self.last).as_secs_f64();
        self.last = now;
        self.last_successes = successes;
        Some(Tick {
            phase,
            elapsed: now - self.timetable.start,
            planned: self.timetable.end - self.timetable.start,
            requests_per_second: lately,
            errors,
        })
    }
}

/// One line on stderr that is written over with every tick; nothing if stderr is no terminal.
pub struct Line {
    enabled: bool,
}

impl Line {
    /// The line on this process's stderr.
    pub fn stderr() -> Self {
        Self { enabled: std::io::stderr().is_terminal() }
    }

    /// Shows a tick.
    pub fn show(&mut self, tick: &Tick) {
        self.write(&format!("\r{}\x1b[K", render(tick)));
    }

    /// Removes the line.
    pub fn clear(&mut self) {
        self.write("\r\x1b[K");
    }

    fn write(&mut self, text: &str) {
        // A terminal that went away takes the progress with it, not the run.
        self.enabled = self.enabled && std::io::stderr().write_all(text.as_bytes()).is_ok();
    }
}

fn render(tick: &Tick) -> String {
    let phase = match tick.phase {
        Phase::RampUp => "ramp-up",
        Phase::Measured => "measuring",
        Phase::Drain => "waiting for the last replies",
    };
    format!(
        "{:.0} of {:.0} s, {phase}: {:.0} req/s, {} errors",
        tick.elapsed.as_secs_f64(),
        tick.planned.as_secs_f64(),
        tick.requests_per_second,
        tick.errors
    )
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
        assert_eq!(first.planned, plan.phases.ramp_up + plan.phases.measured);

        assert_eq!(meter.tick(start + 2 * PERIOD, Phase::Measured), None);
        let second = meter.tick(start + 3 * PERIOD, Phase::Measured).unwrap();
        assert_eq!((second.requests_per_second, second.errors), (0.0, 1));
    }

    #[test]
    fn the_line_says_where_the_run_is() {
        let tick = Tick {
            phase: Phase::Measured,
            elapsed: Duration::from_millis(4002),
            planned: Duration::from_secs(16),
            requests_per_second: 41234.4,
            errors: 3,
        };
        assert_eq!(render(&tick), "4 of 16 s, measuring: 41234 req/s, 3 errors");
    }
}
