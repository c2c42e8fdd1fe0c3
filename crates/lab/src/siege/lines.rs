//! The report in siege's words: its lines in its order, with percentiles added. Times are response
//! times, which begin before the connection is opened, as siege's do.

use crate::measure::{ErrorClass, Latency};
use crate::report::Report;
use serde_json::{Value, json};

/// What siege's lines state.
struct Figures<'a> {
    /// Complete replies, as siege counts hits: those of redirects and of a page's parts, too.
    transactions: u64,
    successful: u64,
    /// Requests to which no complete reply came.
    lost: u64,
    elapsed_s: f64,
    bytes: u64,
    /// Of whole requests, with what they were redirected to.
    response: &'a Latency,
}

const MB: f64 = 1024.0 * 1024.0;

impl<'a> Figures<'a> {
    fn new(report: &'a Report) -> Self {
        let measured = &report.measured;
        let transactions = measured.statuses().iter().map(|(_, count)| count).sum();
        let good = measured.statuses().iter().filter(|(status, _)| *status < 400);
        let answered = [ErrorClass::Status4xx, ErrorClass::Status5xx];
        let lost = ErrorClass::ALL.iter().filter(|class| !answered.contains(class));
        Self {
            transactions,
            successful: good.map(|(_, count)| count).sum(),
            lost: lost.map(|class| measured.errors().count(*class)).sum(),
            elapsed_s: report.duration.as_secs_f64(),
            bytes: measured.bytes_received(),
            response: measured.response(),
        }
    }

    fn availability(&self) -> f64 {
        let all = self.transactions + self.lost;
        if all == 0 { 0.0 } else { self.transactions as f64 / all as f64 * 100.0 }
    }

    fn per_second(&self, of: f64) -> f64 {
        if self.elapsed_s > 0.0 { of / self.elapsed_s } else { 0.0 }
    }

    fn mean_s(&self) -> f64 {
        self.response.mean_ms().unwrap_or(0.0) / 1e3
    }

    /// The sum of all response times by the time that the run took.
    fn concurrency(&self) -> f64 {
        self.per_second(self.mean_s() * self.response.count() as f64)
    }

    fn deviation_s(&self) -> f64 {
        self.response.histogram().stdev() / 1e9
    }

    fn shortest_s(&self) -> f64 {
        if self.response.count() == 0 { 0.0 } else { self.response.histogram().min() as f64 / 1e9 }
    }

    fn longest_s(&self) -> f64 {
        self.response.max_ms().unwrap_or(0.0) / 1e3
    }
}

const PERCENTILES: [(&str, f64); 4] = [("50", 0.5), ("90", 0.9), ("99", 0.99), ("99.9", 0.999)];

/// Siege's twelve lines, those that it has not, and whether to believe them.
pub fn lines(report: &Report) -> String {
    let figures = Figures::new(report);
    let mut text = String::new();
    let mut row = |label: &str, value: String, unit: &str| {
        let line = format!("{label:24}{value:>12} {unit}");
        text.push_str(line.trim_end());
        text.push('\n');
    };
    row("Transactions:", figures.transactions.to_string(), "hits");
    row("Availability:", format!("{:.2}", figures.availability()), "%");
    row("Elapsed time:", format!("{:.2}", figures.elapsed_s), "secs");
    row("Data transferred:", format!("{:.2}", figures.bytes as f64 / MB), "MB");
    row("Response time:", format!("{:.6}", figures.mean_s()), "secs");
    let rate = figures.per_second(figures.transactions as f64);
    row("Transaction rate:", format!("{rate:.2}"), "trans/sec");
    let throughput = figures.per_second(figures.bytes as f64) / MB;
    row("Throughput:", format!("{throughput:.2}"), "MB/sec");
    row("Concurrency:", format!("{:.2}", figures.concurrency()), "");
    row("Successful transactions:", figures.successful.to_string(), "");
    row("Failed transactions:", figures.lost.to_string(), "");
    row("Longest transaction:", format!("{:.6}", figures.longest_s()), "");
    row("Shortest transaction:", format!("{:.6}", figures.shortest_s()), "");
    for (name, quantile) in PERCENTILES {
        let (value, unit) = match figures.response.percentile_ms(quantile) {
            Some(ms) => (format!("{:.6}", ms / 1e3), "secs".to_owned()),
            None => {
                let needed = Latency::samples_needed(quantile);
                ("n too small".to_owned(), format!("({} of {needed})", figures.response.count()))
            }
        };
        row(&format!("Percentile {name}:"), value, &unit);
    }
    row("Standard deviation:", format!("{:.6}", figures.deviation_s()), "secs");
    let errors = report.measured.errors();
    for class in ErrorClass::ALL {
        let Some(first) = errors.first(class) else { continue };
        let label = format!("Error {}:", class.name());
        text.push_str(&format!("{label:24}{:>12} first: {first}\n", errors.count(class)));
    }
    text.push_str(&report.verdict_text());
    text
}

/// The same as an object with siege's names, which have no units: seconds and megabytes. What siege
/// has not is added in the lab's way.
pub fn json(report: &Report) -> Value {
    let figures = Figures::new(report);
    let response = figures.response;
    json!({
        "transactions": figures.transactions,
        "availability": figures.availability(),
        "elapsed_time": figures.elapsed_s,
        "data_transferred": figures.bytes as f64 / MB,
        "response_time": figures.mean_s(),
        "transaction_rate": figures.per_second(figures.transactions as f64),
        "throughput": figures.per_second(figures.bytes as f64) / MB,
        "concurrency": figures.concurrency(),
        "successful_transactions": figures.successful,
        "failed_transactions": figures.lost,
        "longest_transaction": figures.longest_s(),
        "shortest_transaction": figures.shortest_s(),
        "response_ms": {
            "p50": response.percentile_ms(0.5),
            "p90": response.percentile_ms(0.9),
            "p99": response.percentile_ms(0.99),
            "p99_9": response.percentile_ms(0.999),
            "standard_deviation": figures.deviation_s() * 1e3,
        },
        "errors": errors(report),
        "outcome": report.outcome().name(),
        "valid": report.is_valid(),
        "reasons": report.verdict.doubts,
    })
}

/// By class: how many, and the first in words.
fn errors(report: &Report) -> Value {
    let errors = report.measured.errors();
    let one = |class: ErrorClass| {
        let first = errors.first(class)?;
        Some((class.name().to_owned(), json!({ "count": errors.count(class), "first": first })))
    };
    Value::Object(ErrorClass::ALL.into_iter().filter_map(one).collect())
}
