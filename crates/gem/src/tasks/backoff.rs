//! How long a task that failed waits before it runs again.

use crate::limits::TASK_BACKOFF_MAX;
use std::time::Duration;

/// The wait after `failures` failures: `first` after one, twice as long after each more, at most
/// the bound; times a number from a half to one, which `random`, from 0 to 1, chooses. So tasks
/// that failed together do not all come back together (Brooker, "Exponential Backoff And Jitter",
/// AWS 2015: "equal jitter").
pub(crate) fn wait(first: Duration, failures: u32, random: f64) -> Duration {
    let doublings = failures.saturating_sub(1).min(31);
    let whole = first.saturating_mul(1 << doublings).min(TASK_BACKOFF_MAX);
    whole.mul_f64(0.5 + random.clamp(0.0, 1.0) / 2.0)
}

/// A number from 0 to 1 from the operating system.
pub(crate) fn random() -> f64 {
    // Without randomness tasks come back together, no more.
    getrandom::u32().map_or(1.0, |bits| f64::from(bits) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_within_its_bounds() {
        let first = Duration::from_secs(5);
        for (failures, seconds) in [(1, 5), (2, 10), (3, 20), (8, 640)] {
            assert_eq!(wait(first, failures, 1.0), Duration::from_secs(seconds));
            assert_eq!(wait(first, failures, 0.0), Duration::from_secs(seconds) / 2);
        }
        for failures in [20, 100, u32::MAX] {
            assert_eq!(wait(first, failures, 1.0), TASK_BACKOFF_MAX);
        }
        let drawn = random();
        assert!((0.0..=1.0).contains(&drawn), "{drawn}");
    }
}
