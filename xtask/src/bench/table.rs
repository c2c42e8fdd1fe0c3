//! The table of `docs/performance.md`: medians with their spread, and on what they were measured.

use super::load::{Load, Sample};
use std::process::Command;

/// One load with what its runs gave.
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// How it is called.
    pub command_line: String,
    /// One for each round.
    pub samples: Vec<Sample>,
}

impl Row {
    /// A row with its first sample.
    pub fn new(load: &Load, sample: Sample) -> Self {
        Self { name: load.name, command_line: load.command_line(), samples: vec![sample] }
    }

    /// The median, lowest and highest of what `read` finds; nothing if a run lacks it.
    fn spread(&self, read: fn(&Sample) -> Option<f64>) -> Option<[f64; 3]> {
        let mut values: Vec<f64> = self.samples.iter().map(read).collect::<Option<_>>()?;
        values.sort_by(f64::total_cmp);
        Some([median(&values)?, *values.first()?, *values.last()?])
    }
}

/// The middle of sorted `values`, or the mean of the two in the middle.
fn median(values: &[f64]) -> Option<f64> {
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len().is_multiple_of(2) { (values[middle - 1] + upper) / 2.0 } else { upper })
}

/// The whole text, in Markdown.
pub fn render(rows: &[Row], rounds: usize) -> String {
    let mut text = format!(
        "Medians of {rounds} rounds, lowest and highest in brackets. {}\n\n\
         | load | requests/s | p50 ms | p99 ms | CPU µs, server | CPU µs, generator |\n\
         | --- | --- | --- | --- | --- | --- |\n",
        machine()
    );
    for row in rows {
        let rate = cell(row.spread(|sample| Some(sample.requests_per_second)), 0);
        let p50 = cell(row.spread(|sample| sample.p50_ms), 3);
        let p99 = cell(row.spread(|sample| sample.p99_ms), 3);
        let server = cell(row.spread(|sample| sample.server_us), 1);
        let generator = cell(row.spread(|sample| sample.generator_us), 1);
        let cells = [row.name, &rate, &p50, &p99, &server, &generator].join(" | ");
        push_line(&mut text, &format!("| {cells} |"));
    }
    push_line(&mut text, "");
    for row in rows.iter().filter(|row| !row.name.contains("wrk")) {
        push_line(&mut text, &format!("- {}: `{}`", row.name, row.command_line));
    }
    text
}

pub(super) fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

pub(super) fn cell(spread: Option<[f64; 3]>, digits: usize) -> String {
    let Some([median, lowest, highest]) = spread else { return "—".into() };
    format!("{median:.digits$} ({lowest:.digits$}–{highest:.digits$})")
}

pub(super) fn machine() -> String {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(": ")).map_or("unknown CPU", |(_, m)| m);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("Server and generator share {cores} cores ({model}), Linux {}.", kernel.trim())
}

/// Median, lowest and highest.
pub(super) fn spread(mut values: Vec<f64>) -> Option<[f64; 3]> {
    values.sort_by(f64::total_cmp);
    Some([median(&values)?, *values.first()?, *values.last()?])
}

/// The first line that a program says, or nothing.
pub(super) fn said(program: &str, arguments: &[&str]) -> String {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
    let output = Command::new(program).env("PATH", path).args(arguments).output();
    let Ok(output) = output else { return "unknown".into() };
    // nginx tells its version on stderr.
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines().next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rates: &[f64], p99_ms: Option<f64>) -> Row {
        let sample = |rate: &f64| Sample {
            requests_per_second: *rate,
            p50_ms: None,
            p99_ms,
            server_us: None,
            generator_us: None,
        };
        let samples = rates.iter().map(sample).collect();
        Row { name: "a", command_line: "b".into(), samples }
    }

    #[test]
    fn a_row_shows_the_median_and_the_spread() {
        let text = render(&[row(&[30.0, 10.0, 21.0], Some(0.5))], 3);
        let expected = "| a | 21 (10–30) | — | 0.500 (0.500–0.500) | — | — |";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("- a: `b`"), "{text}");
    }

    #[test]
    fn an_even_number_of_runs_has_its_median_between_two() {
        assert_eq!(
            row(&[4.0, 1.0, 2.0, 3.0], None).spread(|s| Some(s.requests_per_second)),
            Some([2.5, 1.0, 4.0])
        );
        assert_eq!(median(&[]), None);
    }
}
