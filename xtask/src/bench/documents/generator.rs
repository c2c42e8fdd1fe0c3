//! Measures one row on one side: by the lab where that can, which is HTTP/1.1 without TLS, and by
//! h2load for all else. The same tool for all sides within a row.

use super::h2load;
use super::request::Request;
use super::row::{Row, Transport};
use super::running::Running;
use super::{Documents, cpu};
use serde_json::Value;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Connections, each with one request at a time.
pub const CONNECTIONS: usize = 64;

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

/// The tools, before one server.
pub struct Generator<'a> {
    /// How long, and where files go.
    pub documents: &'a Documents,
    /// Whom they load.
    pub server: &'a Running,
}

impl Generator<'_> {
    /// Measures `row`, which asks for `request`.
    pub fn measure(&self, row: Row, request: &Request) -> Measured {
        if row.transport != Transport::Http1 {
            return h2load::measure(self, row, request);
        }
        let outcome = self.run_lab(row, request);
        Measured { command: command_line(request), outcome }
    }

    fn run_lab(&self, row: Row, request: &Request) -> Result<Sample, String> {
        let body = self.write("body.json", &request.body)?;
        let mut command = Command::new(&self.documents.sarsen);
        command.arg("bench").args(flags(request, &format!("@{}", body.display())));
        let url = format!("{}{}", self.server.origin(row.transport), request.path);
        command.arg(url).args(["-d", &format!("{}s", self.documents.seconds), "--json"]);
        let before = cpu::of_tree(self.server.pid());
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        let used = cpu::of_tree(self.server.pid()).saturating_sub(before);
        // A run with errors ends with its report too, any other failure with words on stderr.
        let said = String::from_utf8_lossy(&output.stdout);
        let is_success = |status| row.operation.is_success(status);
        let stderr = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let report: Value = serde_json::from_str(&said).map_err(|_no_json| stderr())?;
        read_report(&report, used, is_success).inspect(|_| {
            if report["valid"] != true {
                eprintln!("bench: the run is doubtful: {}", report["reasons"]);
            }
        })
    }

    /// A file for a tool to read.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.documents.folder.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// Where files go.
    pub fn folder(&self) -> &Path {
        &self.documents.folder
    }
}

fn flags(request: &Request, body: &str) -> Vec<String> {
    let mut flags = vec!["-c".to_owned(), CONNECTIONS.to_string()];
    if request.path.contains("{key}") {
        flags.extend(["--keys".into(), request.keys.to_string()]);
    }
    if request.method != "GET" {
        flags.extend(["--method".into(), request.method.into()]);
    }
    for (name, value) in &request.fields {
        flags.extend(["--header".into(), format!("{name}: {value}")]);
    }
    if !request.body.is_empty() {
        flags.extend(["--body".into(), body.into()]);
    }
    flags
}

fn command_line(request: &Request) -> String {
    let quoted = |flag: String| if flag.contains(' ') { format!("'{flag}'") } else { flag };
    let flags: Vec<String> = flags(request, "@body.json").into_iter().map(quoted).collect();
    format!("sarsen bench 'URL{}' {}", request.path, flags.join(" "))
}

fn read_report(
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

    #[test]
    fn the_command_line_can_be_typed() {
        let request = Request {
            method: "PUT",
            path: "/a/{key}".into(),
            keys: 5,
            fields: vec![("a", "b".into())],
            body: "x".into(),
        };
        let expected = "sarsen bench 'URL/a/{key}' -c 64 --keys 5 --method PUT --header 'a: b' \
            --body @body.json";
        assert_eq!(command_line(&request), expected);
    }
}
