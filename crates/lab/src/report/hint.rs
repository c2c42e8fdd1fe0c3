//! What to try next, in a line. It hangs on nothing but what the report has, and judges nothing.

use super::Report;
use crate::measure::Latency;
use crate::verdict::Outcome;

/// Share of what the closed model reached that is suggested for the open one: enough to show what
/// people would wait, and not so much that they could only queue up.
const OF_CLOSED: f64 = 0.8;

/// How much more is suggested where the server kept up.
const MORE: f64 = 1.5;

/// The one that helps most; nothing if the verdict's reasons say what to do already.
pub(super) fn of(report: &Report) -> Option<String> {
    if report.outcome() != Outcome::Passed {
        return None;
    }
    let successes = report.measured.successes();
    let needed = Latency::samples_needed(0.99);
    if successes < needed {
        let seconds = report.duration.as_secs_f64() * needed as f64 / successes.max(1) as f64;
        return Some(format!(
            "the 99th percentile needs {needed} successes; measure for {:.0} s or more",
            seconds.ceil()
        ));
    }
    if !report.is_open {
        let rate = rounded(report.requests_per_second() * OF_CLOSED);
        return Some(format!(
            "closed model; try --rate {rate} to see what users would see who wait for nobody"
        ));
    }
    let rate = rounded(report.rate? * MORE);
    Some(format!("the server kept up; try --rate {rate} to find where it does not"))
}

/// With two digits that count, so that nobody takes it for more than it is.
fn rounded(rate: f64) -> f64 {
    if rate <= 0.0 {
        return 1.0;
    }
    let unit = 10f64.powf(rate.log10().floor() - 1.0).max(0.1);
    ((rate / unit).round() * unit * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_round() {
        let rates = [41_234.0, 99_900.0, 150.0, 9.96, 1.04, 0.123, 0.0];
        assert_eq!(rates.map(rounded), [41_000.0, 100_000.0, 150.0, 10.0, 1.0, 0.1, 1.0]);
    }
}
