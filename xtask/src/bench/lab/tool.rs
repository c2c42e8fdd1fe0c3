//! The generators: how each is called for the same load, and what of its report is used.

use super::{CONNECTIONS, CORES, Lab, pinned};
use crate::bench::server::Running;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Lab,
    /// The lab again, with a scenario: state of users, and checks.
    State,
    Wrk,
    Oha,
    K6,
}

/// What one run gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Replies a second.
    pub rate: f64,
    /// Replies, those before and after the measured time included.
    pub requests: f64,
    /// Of the generator, for each request.
    pub cpu_us: f64,
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
}

/// k6 knows a load only as a script.
const SCRIPT: &str = "import http from 'k6/http';\n\
    export const options = { summaryTrendStats: ['med', 'p(99)'] };\n\
    export default function () { http.get(__ENV.URL); }\n";

/// Users with state of their own, and conditions on each reply.
const STATE: &str = include_str!("state.toml");

impl Tool {
    pub const ALL: [Self; 5] = [Self::Lab, Self::State, Self::Wrk, Self::Oha, Self::K6];

    pub fn name(self) -> &'static str {
        match self {
            Self::Lab => "sarsen bench",
            Self::State => "sarsen run, state and checks",
            Self::Wrk => "wrk",
            Self::Oha => "oha",
            Self::K6 => "k6",
        }
    }

    fn program(self, lab: &Lab) -> PathBuf {
        match self {
            Self::Lab | Self::State => lab.sarsen.clone(),
            Self::Wrk => "wrk".into(),
            Self::Oha => lab.tools.join("bin/oha"),
            Self::K6 => lab.tools.join("bin/k6"),
        }
    }

    /// What it says of itself; none: it is not installed.
    pub fn version(self, lab: &Lab) -> Option<String> {
        let argument = match self {
            Self::Lab | Self::State | Self::Oha => "--version",
            Self::Wrk => "-v",
            Self::K6 => "version",
        };
        let output = Command::new(self.program(lab)).arg(argument).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Some(text.lines().next().unwrap_or_default().trim().to_owned())
    }

    /// Its arguments for 64 connections, as long as they are wanted.
    pub fn arguments(self, lab: &Lab, url: &str) -> Vec<String> {
        let time = format!("{}s", lab.seconds);
        let words: &[&str] = match self {
            Self::Lab => {
                &["bench", url, "-c", CONNECTIONS, "-d", &time, "--warm-up", "1s", "-q", "--json"]
            }
            Self::State => {
                &["--server", url, "-c", CONNECTIONS, "-d", &time, "--no-host", "-q", "--json"]
            }
            Self::Wrk => &["-t", "1", "-c", CONNECTIONS, "-d", &time, "--latency", url],
            Self::Oha => {
                &["-c", CONNECTIONS, "-z", &time, "--no-tui", "--output-format", "json", url]
            }
            Self::K6 => {
                &["run", "--quiet", "--vus", CONNECTIONS, "--duration", &time, "--summary-export"]
            }
        };
        let mut words: Vec<String> = words.iter().map(ToString::to_string).collect();
        if self == Self::State {
            let scenario = lab.folder.join("state.toml").display().to_string();
            let runs = lab.folder.join("runs").display().to_string();
            words.splice(0..0, ["run".into(), scenario]);
            words.extend(["--runs".into(), runs]);
        }
        if self == Self::K6 {
            let summary = lab.folder.join("k6.json").display().to_string();
            let script = lab.folder.join("k6.js").display().to_string();
            words.extend([summary, "--env".into(), format!("URL={url}"), script]);
        }
        words
    }

    /// Its process, on the generator's core.
    pub fn command(self, lab: &Lab, url: &str) -> Command {
        let mut command = pinned(CORES[1], &self.program(lab));
        command.args(self.arguments(lab, url));
        // A tool whose file cannot be written says itself that it is not there.
        match self {
            Self::State => _ = fs::write(lab.folder.join("state.toml"), STATE),
            Self::Oha => _ = command.env("TOKIO_WORKER_THREADS", "1"),
            Self::K6 => {
                command.env("GOMAXPROCS", "1");
                _ = fs::write(lab.folder.join("k6.js"), SCRIPT);
            }
            Self::Lab | Self::Wrk => {}
        }
        command
    }

    /// What its report says; CPU time it does not know.
    pub fn read(self, lab: &Lab, said: &str) -> Result<Sample, String> {
        match self {
            Self::Wrk => read_wrk(said),
            Self::Lab | Self::State => read_lab(&json(said)?),
            Self::Oha => read_oha(&json(said)?),
            Self::K6 => {
                let summary = fs::read_to_string(lab.folder.join("k6.json"));
                read_k6(&json(&summary.map_err(|error| error.to_string())?)?)
            }
        }
    }
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("{error} in {text}"))
}

fn number(report: &Value, path: &str) -> Result<f64, String> {
    let found = report.pointer(path).and_then(Value::as_f64);
    found.ok_or_else(|| format!("the report has no number at {path}"))
}

fn read_lab(report: &Value) -> Result<Sample, String> {
    // Like the others it is judged by its requests: a generator that is measured at its limit is
    // INVALID by its own rules.
    if report["requests"] != report["successes"] {
        return Err(format!("{} {} {}", report["outcome"], report["reasons"], report["errors"]));
    }
    let all = ["/requests", "/outside/ramp_up/requests", "/outside/drain/requests"];
    Ok(Sample {
        rate: number(report, "/requests_per_second")?,
        requests: all.iter().map(|path| number(report, path)).sum::<Result<f64, String>>()?,
        cpu_us: 0.0,
        p50_ms: report["latency_ms"]["p50"].as_f64(),
        p99_ms: report["latency_ms"]["p99"].as_f64(),
    })
}

fn read_oha(report: &Value) -> Result<Sample, String> {
    let statuses = report["statusCodeDistribution"].as_object();
    let statuses = statuses.ok_or("the report has no statusCodeDistribution")?;
    if statuses.keys().any(|status| status != "200") {
        return Err(format!("statuses: {}", report["statusCodeDistribution"]));
    }
    let ms = |name: &str| report["latencyPercentiles"][name].as_f64().map(|s| s * 1000.0);
    Ok(Sample {
        rate: number(report, "/summary/requestsPerSec")?,
        requests: statuses.values().filter_map(Value::as_f64).sum(),
        cpu_us: 0.0,
        p50_ms: ms("p50"),
        p99_ms: ms("p99"),
    })
}

fn read_k6(report: &Value) -> Result<Sample, String> {
    if number(report, "/metrics/http_req_failed/value")? > 0.0 {
        return Err("requests failed".to_owned());
    }
    let duration = &report["metrics"]["http_req_duration"];
    Ok(Sample {
        rate: number(report, "/metrics/http_reqs/rate")?,
        requests: number(report, "/metrics/http_reqs/count")?,
        cpu_us: 0.0,
        p50_ms: duration["med"].as_f64(),
        p99_ms: duration["p(99)"].as_f64(),
    })
}

fn read_wrk(said: &str) -> Result<Sample, String> {
    let bad = ["Non-2xx", "Socket errors"];
    if let Some(line) = said.lines().find(|line| bad.iter().any(|words| line.contains(words))) {
        return Err(line.trim().to_owned());
    }
    let after = |name: &str| {
        let line = said.lines().find_map(|line| line.trim().strip_prefix(name));
        line.map(|rest| rest.trim().to_owned())
    };
    let requests = said.lines().find(|line| line.contains(" requests in "));
    let requests = requests.and_then(|line| line.split_whitespace().next()?.parse().ok());
    Ok(Sample {
        rate: after("Requests/sec:")
            .and_then(|rate| rate.parse().ok())
            .ok_or_else(|| format!("expected Requests/sec in {said}"))?,
        requests: requests.ok_or_else(|| format!("expected a count of requests in {said}"))?,
        cpu_us: 0.0,
        p50_ms: after("50%").and_then(|time| milliseconds(&time)),
        p99_ms: after("99%").and_then(|time| milliseconds(&time)),
    })
}

/// A time as wrk writes it.
fn milliseconds(time: &str) -> Option<f64> {
    let units = [("us", 0.001), ("ms", 1.0), ("s", 1000.0)];
    let (number, unit) = units.iter().find_map(|(u, ms)| Some((time.strip_suffix(u)?, ms)))?;
    Some(number.parse::<f64>().ok()? * unit)
}

/// How late the lab sends at a rate: its report.
pub fn send_lag(lab: &Lab, server: &Running, rate: f64) -> Result<(f64, Value), String> {
    let url = format!("{}/", server.origin);
    let (rate_text, time) = (rate.to_string(), format!("{}s", lab.seconds));
    let mut command = pinned(CORES[1], &lab.sarsen);
    command.args(["bench", &url, "--rate", &rate_text, "-d", &time, "--json"]);
    let output = command.output().map_err(|error| error.to_string())?;
    json(&String::from_utf8_lossy(&output.stdout)).map(|report| (rate, report))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_become_samples() {
        let wrk = "  Latency Distribution\n     50%  500.00us\n     99%    1.21ms\n\
            \x20 151092 requests in 2.01s, 10MB read\nRequests/sec:  75546.5\n";
        let expected = Sample {
            rate: 75546.5,
            requests: 151_092.0,
            cpu_us: 0.0,
            p50_ms: Some(0.5),
            p99_ms: Some(1.21),
        };
        assert_eq!(read_wrk(wrk), Ok(expected));
        assert!(read_wrk(&format!("{wrk}  Non-2xx or 3xx responses: 3\n")).is_err());
        let oha = "{\"summary\":{\"requestsPerSec\":10.5},\"statusCodeDistribution\":{\"200\":21},\
            \"latencyPercentiles\":{\"p50\":0.001,\"p99\":null}}";
        let sample = read_oha(&json(oha).expect("JSON")).expect("a sample");
        assert_eq!((sample.rate, sample.requests, sample.p50_ms), (10.5, 21.0, Some(1.0)));
        assert!(read_oha(&json(&oha.replace("\"200\"", "\"500\"")).expect("JSON")).is_err());
        let k6 = "{\"metrics\":{\"http_reqs\":{\"count\":4,\"rate\":2.5},\
            \"http_req_failed\":{\"value\":0},\"http_req_duration\":{\"med\":0.5,\"p(99)\":2}}}";
        let sample = read_k6(&json(k6).expect("JSON")).expect("a sample");
        assert_eq!((sample.rate, sample.requests, sample.p99_ms), (2.5, 4.0, Some(2.0)));
        let lab = "{\"outcome\":\"PASSED\",\"requests_per_second\":9.5,\"requests\":19,\
            \"successes\":19,\
            \"outside\":{\"ramp_up\":{\"requests\":1},\"drain\":{\"requests\":2}},\
            \"latency_ms\":{\"p50\":1,\"p99\":2}}";
        let sample = read_lab(&json(lab).expect("JSON")).expect("a sample");
        assert_eq!((sample.rate, sample.requests), (9.5, 22.0));
        let saturated = json(&lab.replace("PASSED", "INVALID")).expect("JSON");
        assert_eq!(read_lab(&saturated), Ok(sample));
        let failed = lab.replace("\"successes\":19", "\"successes\":18");
        assert!(read_lab(&json(&failed).expect("JSON")).is_err());
    }
}
