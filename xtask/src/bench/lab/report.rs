//! The table of `docs/lab.md`: medians with their spread, and the lab as a share of each other
//! tool, round by round.

use super::Lab;
use super::tool::{Sample, Tool};
use crate::bench::table::{cell, machine, push_line, spread};
use serde_json::Value;

/// The runs of one tool on one server.
pub struct Row {
    pub target: &'static str,
    pub tool: Tool,
    /// One for each round.
    pub samples: Vec<Result<Sample, String>>,
}

impl Row {
    pub fn new(target: &'static str, tool: Tool) -> Self {
        Self { target, tool, samples: Vec::new() }
    }

    fn spread(&self, read: impl Fn(&Sample) -> Option<f64>) -> Option<[f64; 3]> {
        spread(self.samples.iter().flatten().filter_map(read).collect())
    }

    /// Requests a second.
    pub fn median_rate(&self) -> Option<f64> {
        self.spread(|sample| Some(sample.rate)).map(|[median, _, _]| median)
    }
}

/// One row for each tool and server.
pub fn table(rows: &[Row], lab: &Lab, absent: &[Tool]) -> String {
    let mut text = format!(
        "Medians of {} rounds of {} s, lowest and highest in brackets; 64 connections, one core \
         for the server and another for the generator. {}\n\n\
         | server | tool | requests/s | CPU µs/request | p50 ms | p99 ms | failed runs |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
        lab.rounds,
        lab.seconds,
        machine()
    );
    for row in rows {
        let rate = cell(row.spread(|sample| Some(sample.rate)), 0);
        let cpu = cell(row.spread(|sample| Some(sample.cpu_us)), 2);
        let p50 = cell(row.spread(|sample| sample.p50_ms), 3);
        let p99 = cell(row.spread(|sample| sample.p99_ms), 3);
        let failed = row.samples.iter().filter(|sample| sample.is_err()).count().to_string();
        let cells = [row.target, row.tool.name(), &rate, &cpu, &p50, &p99, &failed].join(" | ");
        push_line(&mut text, &format!("| {cells} |"));
    }
    push_line(&mut text, "");
    for tool in absent {
        let name = tool.name();
        push_line(&mut text, &format!("{name} was skipped: it is not installed, or does not run."));
    }
    text
}

/// The lab's rate as a share of each other tool's in the same round.
pub fn ratios(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows.iter().filter(|row| row.tool != Tool::Lab) {
        let own = rows.iter().find(|own| own.tool == Tool::Lab && own.target == row.target);
        let Some(own) = own else { continue };
        let pairs = own.samples.iter().zip(&row.samples);
        let ratio = |(own, other): (&Result<Sample, String>, &Result<Sample, String>)| {
            let (own, other) = (own.as_ref().ok()?, other.as_ref().ok()?);
            Some(own.rate / other.rate)
        };
        let ratios = cell(spread(pairs.filter_map(ratio).collect()), 3);
        let (name, target) = (row.tool.name(), row.target);
        push_line(
            &mut text,
            &format!("- requests/s on {target}, sarsen bench : {name} = {ratios}"),
        );
    }
    text
}

/// How each was called.
pub fn commands(lab: &Lab, tools: &[Tool]) -> String {
    let mut text = String::from("\n");
    for tool in tools {
        let version = tool.version(lab).unwrap_or_default();
        let folder = format!("{}/", lab.folder.display());
        let words = tool.arguments(lab, "URL").join(" ").replace(&folder, "");
        let is_ours = matches!(tool, Tool::Lab | Tool::State);
        let program = if is_ours { "sarsen" } else { tool.name() };
        push_line(&mut text, &format!("- {version}: `taskset -c 1 {program} {words}`"));
    }
    text
}

/// How late the lab sent.
pub fn lag(measured: Option<Result<(f64, Value), String>>) -> String {
    match measured {
        None => "\nSend lag: not measured, because no run of the lab went well\n".to_owned(),
        Some(Err(why)) => format!("\nSend lag: not measured: {why}\n"),
        Some(Ok((rate, report))) => {
            let ms = |name: &str| report["send_lag_ms"][name].as_f64().unwrap_or(f64::NAN);
            let words = format!("{} {}", report["outcome"], report["reasons"]);
            format!(
                "\nSend lag at half of the largest rate on the null server ({rate:.0}/s, Poisson): \
                 p50 {:.3} ms, p99 {:.3} ms; the run: {words}\n",
                ms("p50"),
                ms("p99")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(tool: Tool, rates: &[f64]) -> Row {
        let sample = |rate: &f64| {
            let rate = *rate;
            Ok(Sample { rate, requests: 1.0, cpu_us: 2.0, p50_ms: None, p99_ms: None })
        };
        Row { target: "nginx", tool, samples: rates.iter().map(sample).collect() }
    }

    #[test]
    fn ratios_are_those_of_the_same_round() {
        let mut wrk = row(Tool::Wrk, &[100.0, 10.0, 1.0]);
        let own = row(Tool::Lab, &[110.0, 20.0, 3.0]);
        let all = ratios(&[own, row(Tool::Oha, &[55.0, 20.0, 3.0])]);
        assert!(all.contains(": oha = 1.000 (1.000–2.000)"), "{all}");
        wrk.samples[1] = Err("x".to_owned());
        let all = ratios(&[row(Tool::Lab, &[110.0, 20.0, 3.0]), wrk]);
        assert!(all.contains(": wrk = 2.050 (1.100–3.000)"), "{all}");
    }
}
