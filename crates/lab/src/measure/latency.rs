//! Latencies in constant memory: an HDR histogram with 3 significant digits, and the rule that a
//! percentile is not stated from too few samples.

use crate::limits::LATENCY_MAX;
use hdrhistogram::Histogram;
use std::time::Duration;

/// Smallest latency told apart, in nanoseconds.
const LOWEST_NS: u64 = 1_000;
const SIGNIFICANT_DIGITS: u8 = 3;

/// The latencies of many requests.
#[derive(Clone, Debug)]
pub struct Latency {
    /// In nanoseconds.
    histogram: Histogram<u64>,
}

impl Latency {
    /// No latencies yet.
    pub(crate) fn new() -> Self {
        let highest = LATENCY_MAX.as_nanos() as u64;
        let histogram = Histogram::new_with_bounds(LOWEST_NS, highest, SIGNIFICANT_DIGITS)
            .expect("the bounds are constants that the histogram accepts");
        Self { histogram }
    }

    /// Adds one. Longer than [`LATENCY_MAX`] counts as that.
    pub(crate) fn record(&mut self, latency: Duration) {
        let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.histogram.saturating_record(nanoseconds);
    }

    /// Adds all of another's.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("all histograms have the same bounds");
    }

    /// The histogram itself, in nanoseconds.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }

    /// What the percentiles would be if everybody whom a stall kept from asking had asked every
    /// `interval` (Tene's correction for coordinated omission).
    pub fn corrected(&self, interval: Duration) -> Self {
        let interval = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        Self { histogram: self.histogram.clone_correct(interval) }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The latency in ms that the share `quantile` of all requests did not exceed; nothing if
    /// there are fewer than [`Latency::samples_needed`].
    pub fn percentile_ms(&self, quantile: f64) -> Option<f64> {
        let enough = self.count() >= Self::samples_needed(quantile);
        enough.then(|| milliseconds(self.histogram.value_at_quantile(quantile)))
    }

    /// The longest, in ms.
    pub fn max_ms(&self) -> Option<f64> {
        (self.count() > 0).then(|| milliseconds(self.histogram.max()))
    }

    /// The mean, in ms.
    pub fn mean_ms(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.histogram.mean() / 1e6)
    }

    /// Samples from which a percentile can be stated: with fewer, even the largest of them is
    /// not above it with 95 % confidence (quantile^n > 0.05).
    pub fn samples_needed(quantile: f64) -> u64 {
        (0.05f64.ln() / quantile.ln()).ceil() as u64
    }
}

fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_percentiles_within_a_thousandth() {
        let mut latency = Latency::new();
        (1..=10_000).for_each(|us| latency.record(Duration::from_micros(us)));
        let near = |got: Option<f64>, ms: f64| {
            let got = got.unwrap();
            assert!((got - ms).abs() <= ms / 1000.0, "{got} for {ms}");
        };
        near(latency.percentile_ms(0.5), 5.0);
        near(latency.percentile_ms(0.9), 9.0);
        near(latency.percentile_ms(0.99), 9.9);
        near(latency.percentile_ms(0.999), 9.99);
        near(latency.max_ms(), 10.0);
        near(latency.mean_ms(), 5.0005);
        assert_eq!(latency.count(), 10_000);
    }

    #[test]
    fn needs_enough_samples() {
        let needed = [0.9, 0.99, 0.999].map(Latency::samples_needed);
        assert_eq!(needed, [29, 299, 2995]);
        let mut latency = Latency::new();
        assert_eq!((latency.max_ms(), latency.mean_ms()), (None, None));
        (0..28).for_each(|_| latency.record(Duration::from_millis(1)));
        assert_eq!(latency.percentile_ms(0.9), None);
        latency.record(Duration::from_millis(1));
        assert!(latency.percentile_ms(0.9).is_some());
        assert_eq!(latency.percentile_ms(0.99), None);
    }

    #[test]
    fn saturates_at_its_bound() {
        let mut latency = Latency::new();
        latency.record(Duration::MAX);
        latency.record(Duration::ZERO);
        assert_eq!(latency.count(), 2);
        let bound = LATENCY_MAX.as_millis() as f64;
        let max = latency.max_ms().unwrap();
        assert!(max >= bound && max < bound * 1.2, "{max}");
    }

    #[test]
    fn merges_exactly() {
        let mut all = Latency::new();
        let mut other = Latency::new();
        all.record(Duration::from_millis(1));
        other.record(Duration::from_millis(3));
        all.merge(&other);
        assert_eq!(all.count(), 2);
        assert!(all.max_ms().unwrap() >= 3.0);
    }
}
