//! The report as an aligned table. It computes nothing that the report does not have.

use super::Report;
use crate::measure::{ErrorClass, Latency, Tally};
use crate::verdict::Outcome;

const LABEL_WIDTH: usize = 18;

/// What the closed model means for the latencies.
const CLOSED: &str = "\
closed loop: users wait for each reply, so a stall keeps them from asking; the omission gap is what
the 99th percentile would be longer if they had asked all the same";

pub(super) fn render(report: &Report) -> String {
    let mut table = Table(String::new());
    describe_load(&mut table, report);
    describe_requests(&mut table, report);
    describe_latency(&mut table, report);
    describe_operations(&mut table, report);
    describe_cost(&mut table, report);
    describe_errors(&mut table, report);
    let Table(mut text) = table;
    if !report.is_open {
        text.push_str(&format!("\n{CLOSED}\n"));
    }
    text.push_str(&validity(report));
    text
}

/// The last lines: whether to believe it, and if not, why.
fn validity(report: &Report) -> String {
    let outcome = report.outcome();
    let meaning = match outcome {
        Outcome::Passed if report.verdict.failures.is_empty() => "the figures can be believed",
        Outcome::Passed | Outcome::Failed => "the figures can be believed; a gate was not kept",
        Outcome::Invalid => "the figures may not say what they seem to",
    };
    let mut text = format!("\n{}: {meaning}\n", outcome.name());
    for reason in report.verdict.doubts.iter().chain(&report.verdict.failures) {
        text.push_str(&format!("- {reason}\n"));
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
    let method = report.method.as_ref().map_or(String::new(), |method| format!("{method} "));
    table.row("target", format!("{method}{}", report.target));
    let sessions = if report.new_session { ", a new session in every hit" } else { "" };
    let load = match report.rate {
        Some(rate) => format!("{rate}/s, {}, at most {} at once", report.model, report.users),
        None => format!("{} users, {} loop", report.users, report.model),
    };
    table.row("load", load + sessions);
    let (duration, ramp_up) = (report.duration.as_secs_f64(), report.ramp_up_time.as_secs_f64());
    table.row("measured", format!("{duration:.3} s, after {ramp_up:.3} s of ramp-up"));
}

fn describe_requests(table: &mut Table, report: &Report) {
    let measured = &report.measured;
    table.row("requests/s", format!("{:.1} successful", report.requests_per_second()));
    let failed = grouped(measured.errors().total());
    table.row("requests", format!("{}, {failed} failed", grouped(measured.operations())));
    if report.dropped > 0 {
        table.row("dropped", format!("{} arrivals, never sent", grouped(report.dropped)));
    }
}

/// The two latencies side by side.
fn describe_latency(table: &mut Table, report: &Report) {
    let (service, response) = (report.measured.service(), report.measured.response());
    table.row("latency", "service       response");
    let percentiles = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];
    for (name, quantile) in percentiles {
        let cell = |latency: &Latency| match latency.percentile_ms(quantile) {
            Some(ms) => milliseconds(ms),
            None => {
                format!("n too small: {} of {}", latency.count(), Latency::samples_needed(quantile))
            }
        };
        // Both have as many samples.
        let cells = match service.percentile_ms(quantile) {
            Some(_) => format!("{:14}{}", cell(service), cell(response)),
            None => cell(service),
        };
        table.row(&format!("  {name}"), cells);
    }
    for (name, read) in [("max", Latency::max_ms as Read), ("mean", Latency::mean_ms)] {
        let cell = |latency| read(latency).map_or("none".to_owned(), milliseconds);
        table.row(&format!("  {name}"), format!("{:14}{}", cell(service), cell(response)));
    }
    if let Some(gap) = report.omission_gap_ms {
        table.row("omission gap", format!("{} at p99", milliseconds(gap)));
    }
    if let [Some(p50), Some(p99)] = report.send_lag_ms {
        let (p50, p99) = (milliseconds(p50), milliseconds(p99));
        table.row("send lag", format!("p50 {p50}, p99 {p99}"));
    }
}

type Read = fn(&Latency) -> Option<f64>;

fn describe_operations(table: &mut Table, report: &Report) {
    for (title, operations) in
        [("operation", &report.operations), ("in the background", &report.background)]
    {
        if operations.is_empty() {
            continue;
        }
        let header = format!(
            "{:>10} {:>8} {:>10} {:>10} {:>10}",
            "", "failed", "p50 ms", "p90 ms", "p99 ms"
        );
        table.row(title, header);
        for (name, tally) in operations {
            let ms = |quantile| {
                let value = tally.response().percentile_ms(quantile);
                value.map_or("n too small".to_owned(), |ms| format!("{ms:.3}"))
            };
            let cells = format!(
                "{:>10} {:>8} {:>10} {:>10} {:>10}",
                grouped(tally.operations()),
                grouped(tally.errors().total()),
                ms(0.5),
                ms(0.9),
                ms(0.99)
            );
            table.row(&format!("  {name}"), cells);
        }
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
    if report.drain.operations() > 0 {
        table.row("after the end", outside(&report.drain));
    }
}

fn outside(tally: &Tally) -> String {
    let requests = grouped(tally.operations());
    let slowest = tally
        .service()
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
