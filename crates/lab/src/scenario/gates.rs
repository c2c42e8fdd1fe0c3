//! `[gates]`, which make a run FAILED, and `[validity]`, which make it INVALID.

use super::operations::Names;
use super::section::{Entry, Section};
use crate::limits::{DURATION_MAX, RATE_MAX};
use crate::plan::{Gate, LIMITS, Validity};
use std::time::Duration;

const PERCENT: std::ops::RangeInclusive<f64> = 0.0..=100.0;

/// The gates; a mistake leaves its gate out.
pub(super) fn read(section: &Section<'_>, names: &Names) -> Vec<Gate> {
    let percent = |key| section.number(key, PERCENT);
    let simple = [
        Some(Gate::Errors { at_most: percent("errors_percent").map_or(0.0, |most| most / 100.0) }),
        section.number("rate_at_least", 0.0..=RATE_MAX).map(|rate| Gate::Rate { at_least: rate }),
        percent("mix_points").map(|points| Gate::Mix { at_most_points: points }),
        percent("cycle_percent").map(|most| Gate::Cycle { at_most: most / 100.0 }),
    ];
    let latency = section.section("latency").map_or_else(Vec::new, |section| {
        let gates = section.entries().into_iter().flat_map(|entry| latencies(&entry, names));
        gates.collect()
    });
    simple.into_iter().flatten().chain(latency).collect()
}

/// Percentiles by operation or of `all`: `home = { p90 = "1s", p99 = "2s" }`.
fn latencies(entry: &Entry<'_>, names: &Names) -> Vec<Gate> {
    let operation = match entry.key.as_str() {
        "all" => Ok(None),
        name => names.find(name).map(Some),
    };
    if let Err(why) = &operation {
        entry.wrong_key(format_args!("{why}, or `all`"));
    }
    let Some(section) = entry.value.section() else { return Vec::new() };
    let least = Duration::from_micros(1);
    let gate = |percentile: &Entry<'_>| {
        let quantile = quantile(&percentile.key);
        if quantile.is_none() {
            let what = "expected a percentile like p90, p99 or \"p99.9\"";
            section.book.wrong(&percentile.span, format!("{what}; got `{}`", percentile.key));
        }
        let at_most = percentile.value.duration(least..=DURATION_MAX);
        let at_most_ms = at_most?.as_secs_f64() * 1000.0;
        let operation = operation.clone().ok()?;
        Some(Gate::Latency { operation, quantile: quantile?, at_most_ms })
    };
    section.entries().iter().filter_map(gate).collect()
}

/// "p99.9", or "p99_9", which needs no quotes.
fn quantile(name: &str) -> Option<f64> {
    let digits = name.strip_prefix('p')?.replace('_', ".");
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let percent: f64 = digits.parse().ok().filter(|_| is_plain)?;
    // Whole numbers are divided exactly: 99.9 / 100.0 is not the nearest to 0.999.
    (percent > 0.0 && percent < 100.0).then_some((percent * 1e9).round() / 1e11)
}

/// From where on figures are not believed.
pub(super) fn validity(section: &Section<'_>) -> Validity {
    let mut validity = Validity::default();
    for limit in LIMITS {
        if let Some(value) = section.number(limit.name, 0.0..=f64::MAX)
            && let Err(error) = validity.set(limit.name, value)
        {
            section.book.wrong(&section.span, error.to_string());
        }
    }
    validity
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles() {
        assert_eq!(quantile("p50"), Some(0.5));
        assert_eq!(quantile("p99.9"), Some(0.999));
        assert_eq!(quantile("p99_9"), Some(0.999));
        for bad in ["99", "p", "p0", "p100", "pmax", "p1e1", "p-5", "p9.9.9"] {
            assert_eq!(quantile(bad), None, "{bad}");
        }
    }
}
