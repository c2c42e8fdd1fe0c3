//! One load: how the lab, or wrk, is called, and what of its report goes into the table.

use super::BenchError;
use super::server::Running;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A load and its name in the table.
pub struct Load {
    /// The row it fills.
    pub name: &'static str,
    path: &'static str,
    flags: Vec<String>,
}

/// What one run gave. What its tool does not tell is nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Successful ones.
    pub requests_per_second: f64,
    /// Median service time.
    pub p50_ms: Option<f64>,
    /// 99 % of the requests took at most this long.
    pub p99_ms: Option<f64>,
    /// CPU time of the server for each request.
    pub server_us: Option<f64>,
    /// CPU time of the generator for each request.
    pub generator_us: Option<f64>,
}

impl Load {
    /// Requests to `path`.
    pub fn new(name: &'static str, path: &'static str) -> Self {
        Self { name, path, flags: Vec::new() }
    }

    /// The same with more flags of `sarsen bench`.
    pub fn with(mut self, flags: &[&str]) -> Self {
        self.flags.extend(flags.iter().map(ToString::to_string));
        self
    }

    /// As a user would type it; what differs from machine to machine is left out.
    pub fn command_line(&self) -> String {
        let quoted = self.flags.iter().map(|flag| match flag.as_str() {
            file if file.starts_with('@') => "@document.json".to_owned(),
            words if words.contains(' ') => format!("'{words}'"),
            word => word.to_owned(),
        });
        let flags: Vec<String> = quoted.collect();
        format!("sarsen bench URL{} {}", self.path, flags.join(" ")).trim_end().to_owned()
    }

    /// Has the lab apply it.
    pub fn run(&self, sarsen: &Path, server: &Running, seconds: u64) -> Result<Sample, BenchError> {
        let mut command = Command::new(sarsen);
        command.arg("bench").arg(format!("{}{}", server.origin, self.path)).args(&self.flags);
        command.args(["--warm-up", "1s", "-d", &format!("{seconds}s"), "--json", "-q"]);
        if server.is_one_process {
            command.args(["--pid", &server.pid().to_string()]);
        }
        run_lab(&mut command)
    }

    /// Has wrk apply it, which knows nothing of the flags.
    pub fn run_wrk(
        &self,
        server: &Running,
        connections: &str,
        seconds: u64,
    ) -> Result<Sample, BenchError> {
        let mut command = Command::new("wrk");
        command.args(["-t", "1", "-c", connections, "-d", &format!("{seconds}s")]);
        command.arg(format!("{}{}", server.origin, self.path));
        let said = output(&mut command)?;
        read_wrk(&said).map_err(|why| failed(&command, why))
    }
}

/// Runs a command of the lab that prints its report as JSON.
pub fn run_lab(command: &mut Command) -> Result<Sample, BenchError> {
    let said = output(command)?;
    read_report(&said).map_err(|why| failed(command, why))
}

fn failed(command: &Command, why: String) -> BenchError {
    BenchError::Load { command: format!("{command:?}"), why }
}

/// What a command of the lab prints.
pub(super) fn output(command: &mut Command) -> Result<String, BenchError> {
    let output = command.output().map_err(|error| failed(command, error.to_string()))?;
    // INVALID: the report says why, and `read_report` repeats it.
    if !output.status.success() && output.status.code() != Some(9) {
        // A run with errors ends with its report on stdout, any other failure with words on stderr.
        let said = [output.stderr, output.stdout].concat();
        return Err(failed(command, String::from_utf8_lossy(&said).trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn read_report(text: &str) -> Result<Sample, String> {
    let report: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if report["valid"] != true {
        eprintln!("bench: the run is doubtful: {}", report["reasons"]);
    }
    let rate = report["requests_per_second"].as_f64();
    Ok(Sample {
        requests_per_second: rate.ok_or("the report has no requests_per_second")?,
        p50_ms: report["latency_ms"]["p50"].as_f64(),
        p99_ms: report["latency_ms"]["p99"].as_f64(),
        server_us: report["cpu_us_per_request"]["server"].as_f64(),
        generator_us: report["cpu_us_per_request"]["generator"].as_f64(),
    })
}

fn read_wrk(text: &str) -> Result<Sample, String> {
    if let Some(line) = text.lines().find(|line| line.contains("Non-2xx")) {
        return Err(line.trim().to_owned());
    }
    let rate = text.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:"));
    let rate = rate.and_then(|rate| rate.trim().parse().ok());
    Ok(Sample {
        requests_per_second: rate.ok_or_else(|| format!("expected Requests/sec in: {text}"))?,
        p50_ms: None,
        p99_ms: None,
        server_us: None,
        generator_us: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_becomes_a_sample() {
        let text = "{\"valid\":true,\"requests_per_second\":1000.5,\
            \"latency_ms\":{\"p50\":0.5,\"p99\":null},\
            \"cpu_us_per_request\":{\"server\":7.5,\"generator\":4}}";
        let expected = Sample {
            requests_per_second: 1000.5,
            p50_ms: Some(0.5),
            p99_ms: None,
            server_us: Some(7.5),
            generator_us: Some(4.0),
        };
        assert_eq!(read_report(text), Ok(expected));
        assert!(read_report("{}").is_err());
        assert!(read_report("").is_err());
    }

    #[test]
    fn wrk_is_believed_only_without_errors() {
        let text = "  10 requests in 1s\nRequests/sec:  12345.67\nTransfer/sec: 1MB\n";
        assert_eq!(read_wrk(text).map(|sample| sample.requests_per_second), Ok(12345.67));
        assert!(read_wrk(&format!("{text}  Non-2xx or 3xx responses: 3\n")).is_err());
        assert!(read_wrk("").is_err());
    }

    #[test]
    fn the_command_line_can_be_typed() {
        let load = Load::new("x", "/a").with(&["--header", "A: b", "--body", "@some/where"]);
        let expected = "sarsen bench URL/a --header 'A: b' --body @document.json";
        assert_eq!(load.command_line(), expected);
    }
}
