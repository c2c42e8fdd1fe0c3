//! What one run of the lab gave, read from its report.

use serde_json::Value;
use std::fmt;
use std::time::Duration;

/// What a run gave. Anything but the replies that were asked for makes it a failed one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// In the measured time.
    pub requests_per_second: f64,
    /// Median time from request to reply.
    pub p50_ms: f64,
    /// 99 % of the requests took at most this long; nothing if there were too few to tell.
    pub p99_ms: Option<f64>,
    /// CPU time of the server and its children for each request.
    pub server_us: f64,
}

/// A sample with how it was taken, or why there is none.
#[derive(Clone, Debug)]
pub struct Measured {
    /// As one could type it; empty if it was not run.
    pub command: String,
    /// What came of it.
    pub outcome: Result<Sample, String>,
}

impl Measured {
    /// One that was not run.
    pub fn failed(why: String) -> Self {
        Self { command: String::new(), outcome: Err(why) }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Ok(sample) => write!(f, "{:.0} requests/s", sample.requests_per_second),
            Err(why) => write!(f, "FAILED: {why}"),
        }
    }
}

/// The sample of a run in which the server used so much CPU time; why there is none, if a reply was
/// not what it should be.
pub fn read_report(
    report: &Value,
    used: Duration,
    is_success: impl Fn(u16) -> bool,
) -> Result<Sample, String> {
    let statuses = report["statuses"].as_object().ok_or("the report has no statuses")?;
    let wrong = statuses.iter().find(|(s, _)| !s.parse().is_ok_and(&is_success));
    if let Some((status, count)) = wrong {
        return Err(format!("{count} of {} replies were {status}", report["requests"]));
    }
    if report["requests"] != report["successes"] {
        return Err(format!("errors: {}", report["errors"]));
    }
    let outside = ["ramp_up", "drain"].map(|phase| &report["outside"][phase]["requests"]);
    let count = |value: &Value| value.as_f64().unwrap_or_default();
    let requests = count(&report["requests"]) + count(outside[0]) + count(outside[1]);
    let figure = |value: &Value, name| value.as_f64().ok_or(format!("the report has no {name}"));
    Ok(Sample {
        requests_per_second: figure(&report["requests_per_second"], "requests_per_second")?,
        p50_ms: figure(&report["latency_ms"]["p50"], "p50")?,
        p99_ms: report["latency_ms"]["p99"].as_f64(),
        server_us: used.as_secs_f64() * 1e6 / requests,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(statuses: Value, requests: u64, successes: u64) -> Value {
        json!({"statuses": statuses, "requests": requests, "successes": successes,
            "requests_per_second": 10.5, "latency_ms": {"p50": 1.5, "p99": 2.5},
            "errors": {"closed": requests - successes},
            "outside": {"ramp_up": {"requests": 6}, "drain": {"requests": 4}}})
    }

    #[test]
    fn a_report_becomes_a_sample() {
        let used = Duration::from_micros(1000);
        let sample = read_report(&report(json!({"200": 90}), 90, 90), used, |s| s == 200);
        let expected =
            Sample { requests_per_second: 10.5, p50_ms: 1.5, p99_ms: Some(2.5), server_us: 10.0 };
        assert_eq!(sample, Ok(expected));
    }

    #[test]
    fn what_is_no_success_is_no_sample() {
        let read = |report: &Value| read_report(report, Duration::ZERO, |status| status == 200);
        let wrong = read(&report(json!({"200": 89, "304": 1}), 90, 90)).unwrap_err();
        assert!(wrong.contains("1 of 90 replies were 304"), "{wrong}");
        assert!(read(&report(json!({"200": 89}), 90, 89)).unwrap_err().contains("closed"));
        assert!(read(&json!({})).is_err());
    }
}
