//! A clock that goes on: durations pass by the machine's monotonic clock, whatever happens to the
//! time of day. `docs/transactions.md`, "Time", has the rules.

use repository::{Clock, Timestamp};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// So many parts of the time that passes are given while the clock is ahead of the time of day, of
/// one part more: an hour is caught up with within eight.
const PARTS_WHEN_AHEAD: u32 = 7;

/// In a millisecond.
const NANOS: u64 = 1_000_000;

/// The last time that was told, and when.
#[derive(Clone, Copy)]
struct Told {
    /// In nanoseconds since 1970: what is left of a millisecond must not be lost each time.
    time_ns: u64,
    at: Instant,
}

/// A clock that is the time of day, and never goes back or stands still: where the time of day was
/// set back, it goes on from where it was, a little more slowly, until they are the same again.
#[derive(Clone)]
pub struct SteadyClock {
    time_of_day: Clock,
    told: Arc<Mutex<Told>>,
}

impl SteadyClock {
    pub fn new(time_of_day: Clock) -> Self {
        let time_ns = time_of_day().0.saturating_mul(NANOS);
        let told = Arc::new(Mutex::new(Told { time_ns, at: Instant::now() }));
        Self { time_of_day, told }
    }

    /// Goes on after `time`, if that is later than it is: what was written then may be there.
    pub fn go_on_after(&self, time: Timestamp) {
        let mut told = self.lock();
        let now = told.after(Instant::now(), (self.time_of_day)());
        let ahead_ms = time.0.saturating_sub((self.time_of_day)().0);
        if ahead_ms >= 1_000 {
            log::warn!(
                "the machine's clock is {} s behind the latest commit, {}: time goes on after \
                 that, and more slowly until the clock has caught up",
                ahead_ms / 1_000,
                time.rfc3339()
            );
        }
        *told = Told { time_ns: now.time_ns.max(time.0.saturating_mul(NANOS)), ..now };
    }

    /// What is there is whole, whoever panicked.
    fn lock(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As the repository reads it.
    pub fn clock(&self) -> Clock {
        let clock = self.clone();
        Arc::new(move || clock.now())
    }

    fn now(&self) -> Timestamp {
        let mut told = self.lock();
        // Read while it is locked, so that what is told later is later.
        *told = told.after(Instant::now(), (self.time_of_day)());
        Timestamp(told.time_ns / NANOS)
    }
}

impl Told {
    /// What is told `at` so late, when it is `time_of_day`.
    fn after(self, at: Instant, time_of_day: Timestamp) -> Self {
        let passed = at.saturating_duration_since(self.at);
        let slower = passed / (PARTS_WHEN_AHEAD + 1) * PARTS_WHEN_AHEAD;
        let least_ns = self.time_ns.saturating_add(nanos(slower));
        Self { time_ns: least_ns.max(time_of_day.0.saturating_mul(NANOS)), at }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: u64 = 3_600_000;

    #[test]
    fn an_hour_that_is_set_back_is_caught_up_with_and_nothing_stands_still() {
        let begun = Instant::now();
        let noon = 12 * HOUR_MS;
        let mut told = Told { time_ns: noon * NANOS, at: begun };
        let mut before = told;
        // Each second, and the clock says an hour less from the first on.
        for second in 1..=9 * 3_600_u64 {
            let at = begun + Duration::from_secs(second);
            let time_of_day = noon + second * 1_000 - HOUR_MS;
            told = told.after(at, Timestamp(time_of_day));
            let passed = told.time_ns - before.time_ns;
            assert!(
                (875_000_000..=1_000_000_000).contains(&passed),
                "{passed} ns in second {second}"
            );
            assert!(told.time_ns >= time_of_day * NANOS);
            before = told;
        }
        assert_eq!(told.time_ns, (noon + 8 * HOUR_MS) * NANOS, "it is the time of day again");
        // Set forward, it is followed at once; and asked often, no time is lost.
        told = told.after(told.at, Timestamp(noon + 20 * HOUR_MS));
        assert_eq!(told.time_ns, (noon + 20 * HOUR_MS) * NANOS);
        let (from, at) = (told.time_ns, told.at);
        for step in 1..=1_000_u32 {
            told = told.after(at + Duration::from_micros(80) * step, Timestamp(0));
        }
        assert_eq!(told.time_ns - from, 70_000_000, "seven eighths of 80 ms");
    }

    #[test]
    fn it_goes_on_after_what_was_written() {
        let day = Arc::new(|| Timestamp(1_000_000));
        let clock = SteadyClock::new(day);
        let first = clock.now();
        assert!(first >= Timestamp(1_000_000));
        clock.go_on_after(Timestamp(5_000_000));
        assert!(clock.now() >= Timestamp(5_000_000));
        clock.go_on_after(Timestamp(2_000_000));
        assert!(clock.now() >= Timestamp(5_000_000));
        let (now, begun) = (clock.now(), Instant::now());
        while clock.now() == now {
            assert!(begun.elapsed() < Duration::from_secs(60), "it stands still");
        }
    }
}
