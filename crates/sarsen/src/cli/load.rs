//! How much load, and what it must keep to, as people write it on a command line.

use super::value::{self, ValueError};
use lab::limits::{LATENCY_MAX, LEVELS_MAX};
use lab::plan::Gate;
use std::ffi::OsString;

/// Levels of a load: a number, or several one after the other, each for the same time; `A..B` moves
/// evenly from one to the other.
pub fn levels(value: OsString, max: f64, whole: bool) -> Result<Vec<(f64, f64)>, ValueError> {
    let most = LEVELS_MAX;
    let expected = || {
        ValueError::expected(format!(
            "a number up to {max}, as 100, or levels as 100,200,400 or 0..400 (at most {most})"
        ))
    };
    let text = value::text(value)?;
    let number = |text: &str| {
        let number: f64 = text.parse().ok()?;
        let is_in = number.is_finite() && number >= 0.0 && number <= max;
        (is_in && (!whole || number.fract() == 0.0)).then_some(number)
    };
    let level = |text: &str| match text.split_once("..") {
        Some((from, to)) => Some((number(from)?, number(to)?)),
        None => number(text).map(|level| (level, level)),
    };
    let levels: Option<Vec<(f64, f64)>> = text.split(',').map(level).collect();
    let is_some = |levels: &Vec<(f64, f64)>| {
        levels.len() <= most && levels.iter().any(|(from, to)| *from > 0.0 || *to > 0.0)
    };
    levels.filter(is_some).ok_or_else(expected)
}

/// A bound that a run must keep: `p99<50ms`, `errors<1%`, `rate>1000`.
pub fn gate(value: OsString) -> Result<Gate, ValueError> {
    let text = value::text(value)?;
    parse_gate(&text).ok_or_else(|| {
        ValueError::expected("a gate such as 'p99<50ms', 'p99.9<1s', 'errors<1%' or 'rate>1000'")
    })
}

fn parse_gate(text: &str) -> Option<Gate> {
    if let Some((name, bound)) = text.split_once('>') {
        let at_least: f64 = number(bound.strip_prefix('=').unwrap_or(bound))?;
        return (name.trim() == "rate").then_some(Gate::Rate { at_least });
    }
    let (name, bound) = text.split_once('<')?;
    let (name, bound) = (name.trim(), bound.strip_prefix('=').unwrap_or(bound).trim());
    if name == "errors" {
        let at_most = match bound.strip_suffix('%') {
            Some(percent) => number(percent)? / 100.0,
            None => number(bound)?,
        };
        return (at_most <= 1.0).then_some(Gate::Errors { at_most });
    }
    let quantile = number(name.strip_prefix('p')?)? / 100.0;
    let at_most_ms = milliseconds(bound)?;
    let is_in = quantile > 0.0 && quantile < 1.0 && at_most_ms > 0.0;
    is_in.then_some(Gate::Latency { operation: None, quantile, at_most_ms })
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

fn milliseconds(text: &str) -> Option<f64> {
    let units = [("ms", 1.0), ("us", 0.001), ("µs", 0.001), ("s", 1_000.0)];
    let found = units.iter().find_map(|(unit, ms)| Some((text.strip_suffix(unit)?, ms)));
    let (text, ms) = found?;
    number(text).map(|number| number * ms).filter(|ms| *ms <= LATENCY_MAX.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_numbers_steps_and_ramps() {
        let read = |text: &str| levels(text.into(), 1000.0, false).ok();
        assert_eq!(read("100"), Some(vec![(100.0, 100.0)]));
        assert_eq!(read("0.5"), Some(vec![(0.5, 0.5)]));
        assert_eq!(read("0..1000"), Some(vec![(0.0, 1000.0)]));
        assert_eq!(read("10,20..30"), Some(vec![(10.0, 10.0), (20.0, 30.0)]));
        for bad in ["", "0", "0,0", "x", "1001", "-1", "nan", "1..", "1,,2", "inf", "1..2..3"] {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert_eq!(levels("1.5".into(), 10.0, true).ok(), None);
        assert!(read(&vec!["1"; LEVELS_MAX].join(",")).is_some());
        assert!(read(&vec!["1"; LEVELS_MAX + 1].join(",")).is_none());
    }

    #[test]
    fn gates_are_read() {
        let latency =
            |quantile, at_most_ms| Gate::Latency { operation: None, quantile, at_most_ms };
        for (text, expected) in [
            ("p99<50ms", latency(0.99, 50.0)),
            ("p50 <= 1.5s", latency(0.5, 1500.0)),
            ("p99.9<800us", latency(0.999, 0.8)),
            ("errors<1%", Gate::Errors { at_most: 0.01 }),
            ("errors<=0", Gate::Errors { at_most: 0.0 }),
            ("rate>1000", Gate::Rate { at_least: 1000.0 }),
        ] {
            let read = gate(text.into()).expect(text);
            match (&read, &expected) {
                (
                    Gate::Latency { quantile: a, at_most_ms: b, .. },
                    Gate::Latency { quantile: c, at_most_ms: d, .. },
                ) => assert!((a - c).abs() < 1e-12 && (b - d).abs() < 1e-9, "{read:?}"),
                _ => assert_eq!(read, expected),
            }
        }
        let bad =
            ["", "p99", "p99<50", "p0<1ms", "p100<1ms", "p99>1ms", "errors<101%", "rate<1", "x<1"];
        for bad in bad {
            assert!(gate(bad.into()).is_err(), "{bad}");
        }
    }
}
