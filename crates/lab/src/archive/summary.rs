//! What is said of a run in a list of runs: its verdict and the few figures everybody asks for.

use crate::measure::Latency;
use crate::report::Report;
use crate::verdict::Outcome;
use serde_json::{Value, json};
use std::fmt::Display;

pub(super) fn of_report(report: &Report) -> Value {
    let p = |latency: &Latency, quantile| latency.percentile_ms(quantile);
    let (service, response) = (report.measured.service(), report.measured.response());
    json!({
        "id": null,
        "name": report.target,
        "outcome": report.outcome().name(),
        "reasons": report.verdict.doubts,
        "failures": report.verdict.failures,
        "faults": report.verdict.faults,
        "notes": report.verdict.notes,
        "started_utc": null,
        "ended_utc": null,
        "measured_s": report.duration.as_secs_f64(),
        "requests_per_second": report.requests_per_second(),
        "requests": report.measured.operations(),
        "errors": report.measured.errors().total(),
        "service_p50_ms": p(service, 0.5),
        "service_p99_ms": p(service, 0.99),
        "response_p50_ms": p(response, 0.5),
        "response_p99_ms": p(response, 0.99),
    })
}

/// Of a run that could not be carried out.
pub(super) fn of_failure(error: &dyn Display) -> Value {
    json!({
        "id": null,
        "outcome": Outcome::Invalid.name(),
        "reasons": [error.to_string()],
        "failures": [],
        "started_utc": null,
        "ended_utc": null,
    })
}
