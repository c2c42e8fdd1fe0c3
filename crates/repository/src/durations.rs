//! How long something took, counted in buckets: what is asked of a running server by those who
//! watch it. Recording is two additions; nothing is allocated and nobody is waited for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of the buckets, in microseconds, each inclusive. What takes longer than the
/// last is counted in one more bucket.
pub const DURATION_BOUNDS_US: [u64; 18] = [
    25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000,
];

/// Buckets, the one without an upper bound among them.
const BUCKETS: usize = DURATION_BOUNDS_US.len() + 1;

/// Durations of one kind of work.
#[derive(Debug, Default)]
pub struct Durations {
    buckets: [AtomicU64; BUCKETS],
    total_ns: AtomicU64,
}

/// A copy of [`Durations`] at one moment. Copies of several can be added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurationCounts {
    /// How many fell into each bucket; not cumulative.
    pub buckets: [u64; BUCKETS],
    /// All of them together, in nanoseconds.
    pub total_ns: u64,
}

impl Durations {
    /// Counts one. Several threads may do so at once.
    pub fn record(&self, took: Duration) {
        let (bucket, ns) = place(took);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.total_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// As `record`, for durations that only one thread ever records: without the cost of an
    /// addition that others could meet.
    pub fn record_alone(&self, took: Duration) {
        let (bucket, ns) = place(took);
        let add = |to: &AtomicU64, what| {
            to.store(to.load(Ordering::Relaxed).wrapping_add(what), Ordering::Relaxed);
        };
        add(&self.buckets[bucket], 1);
        add(&self.total_ns, ns);
    }

    /// What was counted until now. While others record, the total may be one ahead or behind.
    pub fn counts(&self) -> DurationCounts {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        DurationCounts {
            buckets: std::array::from_fn(|at| load(&self.buckets[at])),
            total_ns: load(&self.total_ns),
        }
    }
}

fn place(took: Duration) -> (usize, u64) {
    let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    (DURATION_BOUNDS_US.partition_point(|bound| bound * 1_000 < ns), ns)
}

impl DurationCounts {
    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Adds what another has counted.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.buckets.iter_mut().zip(other.buckets) {
            *mine += theirs;
        }
        self.total_ns += other.total_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        let durations = Durations::default();
        durations.record(Duration::ZERO);
        durations.record_alone(Duration::from_micros(25));
        durations.record(Duration::from_nanos(25_001));
        durations.record_alone(Duration::from_secs(10));
        durations.record(Duration::from_secs(11));
        let mut counts = durations.counts();
        let (last, first) = (counts.buckets.len() - 1, counts.buckets[0]);
        assert_eq!((first, counts.buckets[1]), (2, 1));
        assert_eq!((counts.buckets[last - 1], counts.buckets[last]), (1, 1));
        assert_eq!(counts.total_ns, 50_001 + 21_000_000_000);
        counts.add(&durations.counts());
        assert_eq!(counts.count(), 10);
    }

    #[test]
    fn the_bounds_rise() {
        assert!(DURATION_BOUNDS_US.windows(2).all(|two| two[0] < two[1]));
    }
}
