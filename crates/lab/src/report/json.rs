//! The report as one JSON object. It computes nothing that the report does not have.

use super::Report;
use crate::latency::Latency;
use crate::tally::{ErrorClass, Errors, Statuses, Tally};
use serde_json::{Map, Value, json};

pub(super) fn render(report: &Report) -> Value {
    let measured = &report.measured;
    json!({
        "target": report.target,
        "method": report.method,
        "model": "closed",
        "users": report.users,
        "new_session": report.new_session,
        "ramp_up_s": report.ramp_up_time.as_secs_f64(),
        "duration_s": report.duration.as_secs_f64(),
        "requests_per_second": report.requests_per_second(),
        "requests": measured.requests(),
        "successes": measured.successes(),
        "latency_ms": latency(measured.latency()),
        "errors": errors(measured.errors()),
        "statuses": statuses(measured.statuses()),
        "bytes_received": measured.bytes_received(),
        "connections": report.connections,
        "cpu_us_per_request": {
            "generator": report.generator_us_per_request(),
            "server": report.server_us_per_request(),
        },
        "outside": {
            "ramp_up": outside(&report.ramp_up),
            "drain": outside(&report.drain),
        },
        "valid": report.is_valid(),
        "reasons": report.reasons,
    })
}

fn latency(latency: &Latency) -> Value {
    json!({
        "p50": latency.percentile_ms(0.5),
        "p90": latency.percentile_ms(0.9),
        "p99": latency.percentile_ms(0.99),
        "p99_9": latency.percentile_ms(0.999),
        "max": latency.max_ms(),
        "mean": latency.mean_ms(),
    })
}

fn errors(errors: &Errors) -> Value {
    let count = |class: ErrorClass| (class.name().to_owned(), errors.count(class).into());
    Value::Object(ErrorClass::ALL.into_iter().map(count).collect())
}

fn statuses(statuses: &Statuses) -> Value {
    let counted = statuses.iter().map(|(status, count)| (status.to_string(), count.into()));
    Value::Object(counted.collect::<Map<_, _>>())
}

/// What is stated of requests outside the measured interval.
fn outside(tally: &Tally) -> Value {
    json!({
        "requests": tally.requests(),
        "errors": errors(tally.errors()),
        "max_ms": tally.latency().max_ms(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::ServerCpu;
    use crate::report::tests::report;
    use std::time::Duration;

    #[test]
    fn is_one_object_with_every_figure() {
        let used = ServerCpu::Used(Duration::from_micros(602 * 20));
        let mut value = report(|_| {}, used).to_json();
        let latency = value["latency_ms"].take();
        let near = |key: &str| (latency[key].as_f64().unwrap() - 1.0).abs() < 0.001;
        assert!(["p50", "p90", "p99", "max", "mean"].iter().all(|key| near(key)), "{latency}");
        assert_eq!(latency["p99_9"], Value::Null);
        let cpu = value["cpu_us_per_request"].take();
        assert_eq!(cpu["generator"].as_f64().unwrap().round(), 50.0);
        assert_eq!(cpu["server"].as_f64().unwrap().round(), 20.0);
        let none = json!({"connect": 0, "timeout": 0, "closed": 0, "malformed": 0,
            "status_4xx": 0, "status_5xx": 0});
        let quiet = json!({"requests": 0, "errors": none, "max_ms": null});
        let expected = json!({
            "target": "http://localhost:8080/counter",
            "method": "GET",
            "model": "closed",
            "users": 10,
            "new_session": false,
            "ramp_up_s": 1.0,
            "duration_s": 2.0,
            "requests_per_second": 300.0,
            "requests": 602,
            "successes": 600,
            "latency_ms": null,
            "errors": {"connect": 0, "timeout": 1, "closed": 0, "malformed": 0,
                "status_4xx": 1, "status_5xx": 0},
            "statuses": {"200": 600, "404": 1},
            "bytes_received": 6010,
            "connections": 3,
            "cpu_us_per_request": null,
            "outside": {"ramp_up": quiet, "drain": quiet},
            "valid": true,
            "reasons": [],
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn what_was_not_measured_is_null() {
        let value = report(|_| {}, ServerCpu::NotAsked).to_json();
        assert_eq!(value["cpu_us_per_request"]["server"], Value::Null);
    }
}
