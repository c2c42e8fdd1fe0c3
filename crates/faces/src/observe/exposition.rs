//! The text of OpenMetrics 1.0: families, samples, labels, and how each is escaped. What is told is
//! in `metrics`.

use repository::{DURATION_BOUNDS_US, DurationCounts};
use std::fmt::{Display, Write};

/// What a family's samples are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Counter,
    Gauge,
    Histogram,
    Facts,
}

impl Sort {
    fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Facts => "info",
        }
    }
}

/// A label's name and value.
pub(super) type Label<'a> = (&'static str, &'a str);

/// The text as far as it is written.
#[derive(Default)]
pub(super) struct Exposition {
    text: String,
    /// The family whose samples are written now.
    family: &'static str,
}

impl Exposition {
    /// Begins a family. Its name ends with its unit, as the specification asks; `unit` is empty
    /// where there is none.
    pub(super) fn family(&mut self, name: &'static str, sort: Sort, unit: &str, help: &str) {
        debug_assert!(unit.is_empty() || name.ends_with(&format!("_{unit}")), "{name}");
        self.family = name;
        self.line(format_args!("# TYPE {name} {}", sort.name()));
        if !unit.is_empty() {
            self.line(format_args!("# UNIT {name} {unit}"));
        }
        self.line(format_args!("# HELP {name} {}", escaped(help)));
    }

    /// A family of one counter.
    pub(super) fn counter(
        &mut self,
        name: &'static str,
        unit: &str,
        help: &str,
        value: impl Display,
    ) {
        self.family(name, Sort::Counter, unit, help);
        self.sample("_total", &[], value);
    }

    /// A family of one gauge.
    pub(super) fn gauge(
        &mut self,
        name: &'static str,
        unit: &str,
        help: &str,
        value: impl Display,
    ) {
        self.family(name, Sort::Gauge, unit, help);
        self.sample("", &[], value);
    }

    /// A sample of the family that was begun last.
    pub(super) fn sample(&mut self, suffix: &str, labels: &[Label<'_>], value: impl Display) {
        let family = self.family;
        let mut inner = String::new();
        for (name, value) in labels {
            let comma = if inner.is_empty() { "" } else { "," };
            inner.push_str(&format!("{comma}{name}=\"{}\"", escaped(value)));
        }
        match inner.is_empty() {
            true => self.line(format_args!("{family}{suffix} {value}")),
            false => self.line(format_args!("{family}{suffix}{{{inner}}} {value}")),
        }
    }

    /// The samples of one histogram of the family that was begun last.
    pub(super) fn histogram(&mut self, labels: &[Label<'_>], counts: &DurationCounts) {
        let mut until_now = 0;
        for (at, count) in counts.buckets.iter().enumerate() {
            until_now += count;
            let bound = match DURATION_BOUNDS_US.get(at) {
                Some(bound) => canonical(*bound as f64 / 1e6),
                None => "+Inf".to_owned(),
            };
            let labels: Vec<Label<'_>> = labels.iter().copied().chain([("le", &*bound)]).collect();
            self.sample("_bucket", &labels, until_now);
        }
        self.sample("_count", labels, until_now);
        self.sample("_sum", labels, canonical(counts.total_ns as f64 / 1e9));
    }

    /// The whole text.
    pub(super) fn finish(mut self) -> String {
        self.text.push_str("# EOF\n");
        self.text
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{line}").expect("a string takes everything");
    }
}

/// A number as the specification writes bounds ("Canonical Numbers"): with a point where it is
/// whole, and with two digits in an exponent.
pub(super) fn canonical(number: f64) -> String {
    let text = format!("{number:?}");
    match text.split_once("e-") {
        Some((digits, exponent)) => format!("{digits}e-{exponent:0>2}"),
        None => text,
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use repository::Durations;
    use std::time::Duration;

    #[test]
    fn families_samples_and_the_end() {
        let mut page = Exposition::default();
        page.counter("sarsen_commits", "", "Commits.", 3);
        page.gauge("sarsen_memory_bytes", "bytes", "Memory.", 2);
        page.family("sarsen_build", Sort::Facts, "", "The \"build\".");
        page.sample("_info", &[("version", "a\"b\\c\nd"), ("x", "y")], 1);
        let expected = "# TYPE sarsen_commits counter\n\
            # HELP sarsen_commits Commits.\n\
            sarsen_commits_total 3\n\
            # TYPE sarsen_memory_bytes gauge\n\
            # UNIT sarsen_memory_bytes bytes\n\
            # HELP sarsen_memory_bytes Memory.\n\
            sarsen_memory_bytes 2\n\
            # TYPE sarsen_build info\n\
            # HELP sarsen_build The \\\"build\\\".\n\
            sarsen_build_info{version=\"a\\\"b\\\\c\\nd\",x=\"y\"} 1\n\
            # EOF\n";
        assert_eq!(page.finish(), expected);
    }

    #[test]
    fn buckets_of_a_histogram_add_up() {
        let durations = Durations::default();
        durations.record(Duration::from_micros(20));
        durations.record(Duration::from_secs(1));
        durations.record(Duration::from_secs(60));
        let mut page = Exposition::default();
        page.family("d_seconds", Sort::Histogram, "seconds", "D.");
        page.histogram(&[("a", "b")], &durations.counts());
        let text = page.finish();
        for line in [
            "d_seconds_bucket{a=\"b\",le=\"2.5e-05\"} 1",
            "d_seconds_bucket{a=\"b\",le=\"0.5\"} 1",
            "d_seconds_bucket{a=\"b\",le=\"1.0\"} 2",
            "d_seconds_bucket{a=\"b\",le=\"10.0\"} 2",
            "d_seconds_bucket{a=\"b\",le=\"+Inf\"} 3",
            "d_seconds_count{a=\"b\"} 3",
            "d_seconds_sum{a=\"b\"} 61.00002",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
