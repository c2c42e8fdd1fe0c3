//! The report as a table of at most 80 columns. It computes nothing that the report does not have.

use super::Report;
use crate::measure::{ErrorClass, Latency, StatusClass, Tally};
use crate::verdict::Outcome;

const LABEL_WIDTH: usize = 18;

/// Columns of a terminal.
const WIDTH: usize = 80;

/// What the closed model means for the latencies.
const CLOSED: &str = "closed loop: users wait for each reply, so a stall keeps them from asking; \
    the omission gap is what the 99th percentile would be longer if they had asked all the same";

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
        text.push('\n');
        text.push_str(&wrapped("", CLOSED, 0));
    }
    text.push_str(&validity(report));
    if let Some(hint) = report.hint() {
        text.push_str(&wrapped("next: ", &hint, 6));
    }
    text
}

/// Whether to believe it, and if not, why.
pub(super) fn validity(report: &Report) -> String {
    let outcome = report.outcome();
    let meaning = match outcome {
        Outcome::Passed if report.verdict.failures.is_empty() => "the figures can be believed",
        Outcome::Failed if !report.verdict.faults.is_empty() => "the server is at fault",
        Outcome::Passed | Outcome::Failed => "the figures can be believed; a gate was not kept",
        Outcome::Invalid => "the figures may not say what they seem to",
    };
    let mut text = format!("\n{}: {meaning}\n", outcome.name());
    let verdict = &report.verdict;
    for reason in verdict.faults.iter().chain(&verdict.doubts).chain(&verdict.failures) {
        text.push_str(&wrapped("- ", reason, 2));
    }
    for note in &verdict.notes {
        text.push_str(&wrapped("note: ", note, 2));
    }
    text
}

/// Rows of a label and a value.
struct Table(String);

impl Table {
    fn row(&mut self, label: &str, value: impl AsRef<str>) {
        let label = format!("{label:LABEL_WIDTH$}");
        self.0.push_str(&wrapped(&label, value.as_ref(), LABEL_WIDTH));
    }
}

/// A text after `first`, broken between words where the line would be too long, and then indented.
/// A word that is longer than a line keeps together.
fn wrapped(first: &str, text: &str, indent: usize) -> String {
    let mut out = first.to_owned();
    let mut column = first.chars().count();
    let mut is_first = true;
    // Not by white space at large: columns of a table are apart by more than one space.
    for word in text.split(' ') {
        let length = word.chars().count();
        if !is_first && !word.is_empty() && column + 1 + length > WIDTH {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else if !is_first {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
        is_first = false;
    }
    out.push('\n');
    out
}

fn describe_load(table: &mut Table, report: &Report) {
    let method = report.method.as_ref().map_or(String::new(), |method| format!("{method} "));
    table.row("target", format!("{method}{}", report.target));
    let sessions = if report.new_session { ", a new session in every hit" } else { "" };
    let load = match report.rate {
        Some(rate) => format!("{rate}/s, {}, at most {} at once", report.model, report.users),
        None if report.is_open => format!("{}, at most {} at once", report.model, report.users),
        None => format!("{} users, {} loop", report.users, report.model),
    };
    table.row("load", load + sessions);
    table.row("transport", report.transport.clone());
    let (duration, ramp_up) = (report.duration.as_secs_f64(), report.ramp_up_time.as_secs_f64());
    table.row("measured", format!("{duration:.3} s, after {ramp_up:.3} s of ramp-up"));
}

fn describe_requests(table: &mut Table, report: &Report) {
    let measured = &report.measured;
    table.row("requests/s", format!("{:.1} successful", report.requests_per_second()));
    let failed = grouped(measured.errors().total());
    table.row("requests", format!("{}, {failed} failed", grouped(measured.operations())));
    if let Some(ratio) = measured.hit_ratio() {
        let (hits, misses) = (grouped(measured.hits()), grouped(measured.misses()));
        table.row("hit ratio", format!("{:.2} %: {hits} hits, {misses} misses", ratio * 100.0));
    }
    if let Some(messages) = measured.messages() {
        let label = format!("{}, ", grouped(messages.count()));
        table.row("messages", label + &spread(messages));
    }
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

/// The middle and the end of times, in a line.
fn spread(latency: &Latency) -> String {
    let named = [("p50", latency.percentile_ms(0.5)), ("p99", latency.percentile_ms(0.99))];
    let named = named.into_iter().chain([("max", latency.max_ms())]);
    let cells = named.filter_map(|(name, ms)| Some(format!("{name} {}", milliseconds(ms?))));
    cells.collect::<Vec<_>>().join(", ")
}

/// A row for each operation: how many, how often, both latencies.
fn describe_operations(table: &mut Table, report: &Report) {
    let seconds = report.duration.as_secs_f64();
    for (title, operations) in
        [("operation", &report.operations), ("in the background", &report.background)]
    {
        if operations.is_empty() {
            continue;
        }
        table.row(title, format!("{:>24} {:^17}   {:^17}", "", "service ms", "response ms"));
        let cells = ["count", "/s", "failed", "p50", "p99", "p50", "p99"].map(str::to_owned);
        table.row("", columns(&cells));
        for (name, tally) in operations {
            let ms = |latency: &Latency, quantile| match latency.percentile_ms(quantile) {
                Some(ms) if ms < 1_000.0 => format!("{ms:.3}"),
                Some(ms) => format!("{ms:.0}"),
                None => format!("n<{}", Latency::samples_needed(quantile)),
            };
            let per_second = if seconds > 0.0 { tally.successes() as f64 / seconds } else { 0.0 };
            let (service, response) = (tally.service(), tally.response());
            let cells = [
                grouped(tally.operations()),
                if per_second < 10_000.0 {
                    format!("{per_second:.1}")
                } else {
                    format!("{per_second:.0}")
                },
                grouped(tally.errors().total()),
                ms(service, 0.5),
                ms(service, 0.99),
                ms(response, 0.5),
                ms(response, 0.99),
            ];
            let name: String = name.chars().take(LABEL_WIDTH - 3).collect();
            table.row(&format!("  {name}"), columns(&cells));
        }
    }
}

fn columns(cells: &[String; 7]) -> String {
    let [count, rate, failed, a, b, c, d] = cells;
    format!("{count:>9} {rate:>7} {failed:>6} {a:>8} {b:>8}   {c:>8} {d:>8}")
}

fn describe_cost(table: &mut Table, report: &Report) {
    let generator = microseconds(report.generator_us_per_request());
    let server = microseconds(report.server_us_per_request());
    table.row("CPU per request", format!("generator {generator}, server {server}"));
    let bytes = report.measured.bytes_received();
    let mib = bytes as f64 / f64::from(1 << 20);
    let each = bytes as f64 / report.measured.operations().max(1) as f64;
    table.row("received", format!("{mib:.1} MiB, {each:.0} bytes per request"));
    table.row("connections", format!("{} opened", grouped(report.connections)));
    for cost in report.costs.iter().filter(|cost| cost.name != "generator") {
        table.row(&format!("each, {}", cost.name), cost.to_line());
    }
    let counted = super::cost::counted(&report.observed, report.measured.operations());
    if !counted.is_empty() {
        let each = counted.iter().map(|(name, each)| format!("{each:.3} {name}"));
        table.row("each, counted", each.collect::<Vec<_>>().join(", "));
    }
    if let Some(audit) = &report.audit {
        let (checked, lost) = (grouped(audit.checked), grouped(audit.lost));
        table.row("audit", format!("{checked} promises looked at, {lost} not kept"));
    }
}

fn describe_errors(table: &mut Table, report: &Report) {
    for (status, count) in report.measured.statuses().iter() {
        table.row(&format!("status {status}"), grouped(count));
    }
    let times = |class| Some((class, report.measured.by_status(class)?));
    let classes: Vec<_> = StatusClass::ALL.into_iter().filter_map(times).collect();
    // Of one class alone the latency has been stated.
    for (class, latency) in classes.iter().filter(|_| classes.len() > 1) {
        table.row(&format!("time of {}", class.name()), spread(latency));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_between_words() {
        let text = "word ".repeat(30);
        let lines = wrapped("label   ", text.trim_end(), 8);
        assert!(lines.lines().count() > 1 && lines.ends_with("word\n"));
        assert!(lines.lines().all(|line| line.len() <= WIDTH && !line.ends_with(' ')), "{lines}");
        assert!(lines.lines().skip(1).all(|line| line.starts_with("        word")), "{lines}");
        let long = "x".repeat(100);
        assert_eq!(wrapped("a ", &long, 2), format!("a {long}\n"));
        assert_eq!(wrapped("a ", "b   c", 2), "a b   c\n");
    }

    #[test]
    fn digits_are_in_groups() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
