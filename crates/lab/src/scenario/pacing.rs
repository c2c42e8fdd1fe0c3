//! Think and cycle times, and the distributions that they and pauses are drawn from.

use super::section::{Section, Value};
use crate::limits::DURATION_MAX;
use crate::plan::{Distribution, Pacing};
use std::time::Duration;

/// How many means an exponential time has at most, unless it is said (Faban's rule).
const EXPONENTIAL_CAP: u32 = 5;

/// How many medians a log-normal time has at most, unless it is said.
const LOG_NORMAL_CAP: u32 = 100;

const ANY: std::ops::RangeInclusive<Duration> = Duration::ZERO..=DURATION_MAX;

/// The pauses that a table asks for; none: it says nothing of them.
pub(super) fn pacing(section: &Section<'_>) -> Option<Pacing> {
    let (think, cycle) = (section.get("think"), section.get("cycle"));
    match (think, cycle) {
        (Some(think), Some(_)) => {
            think.wrong("expected either `think` or `cycle`; got both");
            None
        }
        (Some(think), None) => Some(match distribution(&think)? {
            Distribution::Fixed(Duration::ZERO) => Pacing::None,
            distribution => Pacing::Think(distribution),
        }),
        (None, Some(cycle)) => distribution(&cycle).map(Pacing::Cycle),
        (None, None) => None,
    }
}

const KINDS: [&str; 4] = ["fixed", "uniform", "exponential", "log_normal"];

/// A time as text, or a table of one of the distributions.
pub(super) fn distribution(value: &Value<'_>) -> Option<Distribution> {
    if value.is_text() {
        return value.duration(ANY).map(Distribution::Fixed);
    }
    if !value.is_table() {
        value.expected("a time like \"1s\", or a table like { exponential = \"5s\" }");
        return None;
    }
    let section = value.section()?;
    let kinds = section.which(&KINDS);
    let distribution = match kinds.as_slice() {
        ["fixed"] => section.duration("fixed", ANY).map(Distribution::Fixed),
        ["uniform"] => section.get("uniform").and_then(|bounds| uniform(&bounds)),
        ["exponential"] => exponential(&section),
        ["log_normal"] => log_normal(&section),
        _ => {
            value.wrong(format_args!("expected exactly one of {}", KINDS.join(", ")));
            // What else stands there hangs on the kind.
            return None;
        }
    };
    section.close();
    distribution
}

fn uniform(bounds: &Value<'_>) -> Option<Distribution> {
    let list = bounds.list()?;
    let [from, to] = list.as_slice() else {
        bounds.expected("two times, the least and the most");
        return None;
    };
    let from = from.duration(ANY)?;
    Some(Distribution::Uniform(from, to.duration(from..=DURATION_MAX)?))
}

fn exponential(section: &Section<'_>) -> Option<Distribution> {
    let mean = section.duration("exponential", ANY);
    let least = section.get("min");
    let most = section.get("max");
    let mean = mean?;
    let min = least.map_or(Some(Duration::ZERO), |least| least.duration(Duration::ZERO..=mean))?;
    let cap = (mean * EXPONENTIAL_CAP).min(DURATION_MAX);
    let cap = most.map_or(Some(cap), |most| most.duration(mean..=DURATION_MAX))?;
    Some(Distribution::Exponential { mean, min, cap })
}

fn log_normal(section: &Section<'_>) -> Option<Distribution> {
    let median = section.duration("log_normal", Duration::from_micros(1)..=DURATION_MAX);
    let sigma = section.need("sigma", "the standard deviation of the logarithm, like 0.8");
    let sigma = sigma.and_then(|sigma| sigma.number(0.001..=10.0));
    let most = section.get("max");
    let median = median?;
    let cap = (median * LOG_NORMAL_CAP).min(DURATION_MAX);
    let cap = most.map_or(Some(cap), |most| most.duration(median..=DURATION_MAX))?;
    Some(Distribution::LogNormal { median, sigma: sigma?, cap })
}
