//! The report as an aligned table. It computes nothing that the report does not have.

use super::Report;
use crate::latency::Latency;
use crate::tally::{ErrorClass, Tally};

const LABEL_WIDTH: usize = 18;

/// What the closed model means for the latencies.
const MODEL: &str = "\
closed loop: the generator waits for each reply, so these are service times, not what users
at a fixed arrival rate would see";

pub(super) fn render(report: &Report) -> String {
    let mut table = Table(String::new());
    describe_load(&mut table, report);
    describe_requests(&mut table, report);
    describe_latency(&mut table, report.measured.latency());
    describe_cost(&mut table, report);
    describe_errors(&mut table, report);
    let Table(mut text) = table;
    text.push_str(&format!("\n{MODEL}\n"));
    for reason in &report.reasons {
        text.push_str(&format!("warning: {reason}\n"));
    }
    text
}

/// Rows of a label and a value.
struct Table(String);

impl Table {
    fn row(&mut self, label: &str, value: impl AsRef<str>) {
        self.0.push_str(&format!("{label:LABEL_WIDTH$}{}\n", value.as_ref()));
    }
}

fn describe_load(table: &mut Table, report: &Report) {
    table.row("target", format!("{} {}", report.method, report.target));
    let sessions = if report.new_session { ", a new session in every hit" } else { "" };
    table.row("load", format!("{} users, closed loop{sessions}", report.users));
    let (duration, ramp_up) = (report.duration.as_secs_f64(), report.ramp_up_time.as_secs_f64());
    table.row("measured", format!("{duration:.3} s, after {ramp_up:.3} s of ramp-up"));
}

fn describe_requests(table: &mut Table, report: &Report) {
    let measured = &report.measured;
    table.row("requests/s", format!("{:.1} successful", report.requests_per_second()));
    let failed = grouped(measured.errors().total());
    table.row("requests", format!("{}, {failed} failed", grouped(measured.requests())));
}

fn describe_latency(table: &mut Table, latency: &Latency) {
    let percentiles = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];
    for (name, quantile) in percentiles {
        let value = latency.percentile_ms(quantile).map_or_else(
            || format!("n too small: {} of {}", latency.count(), Latency::samples_needed(quantile)),
            milliseconds,
        );
        table.row(&format!("latency {name}"), value);
    }
    for (name, value) in [("max", latency.max_ms()), ("mean", latency.mean_ms())] {
        table.row(&format!("latency {name}"), value.map_or("none".to_owned(), milliseconds));
    }
}

fn describe_cost(table: &mut Table, report: &Report) {
    let generator = microseconds(report.generator_us_per_request());
    let server = microseconds(report.server_us_per_request());
    table.row("CPU per request", format!("generator {generator}, server {server}"));
    let mib = report.measured.bytes_received() as f64 / f64::from(1 << 20);
    table.row("received", format!("{mib:.1} MiB"));
    table.row("connections", format!("{} opened", grouped(report.connections)));
}

fn describe_errors(table: &mut Table, report: &Report) {
    for (status, count) in report.measured.statuses().iter() {
        table.row(&format!("status {status}"), grouped(count));
    }
    let errors = report.measured.errors();
    for class in ErrorClass::ALL {
        let Some(first) = errors.first(class) else { continue };
        let count = grouped(errors.count(class));
        table.row(&format!("error {}", class.name()), format!("{count}, first: {first}"));
    }
    if report.ramp_up.errors().total() > 0 {
        table.row("in the ramp-up", outside(&report.ramp_up));
    }
    if report.drain.requests() > 0 {
        table.row("after the end", outside(&report.drain));
    }
}

fn outside(tally: &Tally) -> String {
    let requests = grouped(tally.requests());
    let slowest = tally
        .latency()
        .max_ms()
        .map_or(String::new(), |ms| format!(", slowest success {}", milliseconds(ms)));
    match tally.errors().total() {
        0 => format!("{requests} requests, none failed{slowest}"),
        _ => format!("{requests} requests, failed: {}{slowest}", tally.errors()),
    }
}

fn milliseconds(value: f64) -> String {
    format!("{value:.3} ms")
}

fn microseconds(value: Option<f64>) -> String {
    value.map_or("not measured".to_owned(), |value| format!("{value:.1} µs"))
}

/// A number with its digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::ServerCpu;
    use crate::report::tests::report;
    use std::time::Duration;

    #[test]
    fn is_an_aligned_table_with_units() {
        let used = ServerCpu::Used(Duration::from_micros(602 * 20));
        let mut report = report(|_| {}, used);
        report.reasons.push("of a reason".to_owned());
        let expected = "\
target            GET http://localhost:8080/counter
load              10 users, closed loop
measured          2.000 s, after 1.000 s of ramp-up
requests/s        300.0 successful
requests          602, 2 failed
latency p50       1.000 ms
latency p90       1.000 ms
latency p99       1.000 ms
latency p99.9     n too small: 600 of 2995
latency max       1.000 ms
latency mean      1.000 ms
CPU per request   generator 50.0 µs, server 20.0 µs
received          0.0 MiB
connections       3 opened
status 200        600
status 404        1
error timeout     1, first: no complete reply after 10.0s
error status_4xx  1, first: status 404

closed loop: the generator waits for each reply, so these are service times, not what users
at a fixed arrival rate would see
warning: of a reason
";
        assert_eq!(report.to_text(), expected);
    }

    #[test]
    fn says_what_happened_outside_the_interval() {
        let mut report = report(|_| {}, ServerCpu::NotAsked);
        report.new_session = true;
        report.drain = report.measured.clone();
        report.ramp_up = report.measured.clone();
        let text = report.to_text();
        assert!(text.contains("10 users, closed loop, a new session in every hit\n"), "{text}");
        assert!(text.contains("in the ramp-up    602 requests, failed: 1 timeout (first: "));
        assert!(text.contains("after the end     602 requests, failed: 1 timeout (first: "));
        assert!(text.contains("slowest success 1.000 ms\n"), "{text}");
        assert!(text.contains("server not measured\n"), "{text}");
    }

    #[test]
    fn groups_digits() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (1234567, "1,234,567")];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
    }
}
