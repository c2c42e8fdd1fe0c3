//! How long commits take, in nanoseconds.

use hdrhistogram::Histogram;

/// The longest that is told apart from longer ones.
const LONGEST_NS: u64 = 600_000_000_000;

/// What a thread measured since it was last asked.
pub struct Latencies {
    /// From begin to durable, what was tried again because of an overload or a conflict included.
    pub durable: Histogram<u64>,
    /// The commit call alone: the decision, without the disk.
    pub decision: Histogram<u64>,
}

impl Default for Latencies {
    fn default() -> Self {
        let empty = || Histogram::new_with_bounds(1, LONGEST_NS, 2).unwrap();
        Self { durable: empty(), decision: empty() }
    }
}

impl Latencies {
    pub fn add(&mut self, other: &Self) {
        self.durable.add(&other.durable).unwrap();
        self.decision.add(&other.decision).unwrap();
    }
}

/// The p-th percentile in milliseconds; 100 for the worst.
pub fn ms(histogram: &Histogram<u64>, percentile: f64) -> f64 {
    histogram.value_at_percentile(percentile) as f64 / 1e6
}
