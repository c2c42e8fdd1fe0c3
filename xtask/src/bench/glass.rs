//! `cargo xtask bench-glass`: the counter benchmark of October 2007 (GLASS) on `apps/counter`, by
//! the scenario `counter`: 1, 5, 10 and 20 gems, 10 and 100 users, without a pause (siege's
//! benchmark mode) and with one (its internet mode). The rows of 2007 stand below. It asserts
//! nothing about figures.

use super::load::{Sample, run_lab};
use super::server::Running;
use super::table::{cell, machine, push_line, said, spread};
use super::{BenchError, write_error};
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;

/// What is measured, and for how long.
pub struct Glass {
    /// How often everything is measured.
    pub rounds: usize,
    /// How long each row is measured.
    pub seconds: u64,
    /// The binary that is measured, and whose lab measures.
    pub sarsen: PathBuf,
    /// `apps/counter`.
    pub application: PathBuf,
    /// A folder for data and runs; what is in it is deleted.
    pub folder: PathBuf,
}

const GEMS: [usize; 4] = [1, 5, 10, 20];

const USERS: [usize; 2] = [10, 100];

/// What users do between two hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Nothing.
    Benchmark,
    /// They pause, up to a second.
    Internet,
}

impl Mode {
    const ALL: [Self; 2] = [Self::Benchmark, Self::Internet];

    fn name(self) -> &'static str {
        match self {
            Self::Benchmark => "benchmark",
            Self::Internet => "internet",
        }
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Benchmark => &[],
            Self::Internet => &["--set", "think=1s"],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    gems: usize,
    users: usize,
    mode: Mode,
}

impl Row {
    fn all() -> Vec<Self> {
        let of = |gems| USERS.into_iter().map(move |users| (gems, users));
        let pairs = GEMS.into_iter().flat_map(of);
        pairs.flat_map(|(gems, users)| Mode::ALL.map(|mode| Self { gems, users, mode })).collect()
    }
}

/// The rows of 2007, on machines of 2007: a counter page, a new session in every hit, by siege.
const ROWS_2007: [(&str, &str, u32); 11] = [
    ("Squeak, 1 image", "1", 32),
    ("Squeak, 1 image", "10", 10),
    ("GemStone/S, 1 core, 1 gem, log on a raw partition", "10", 91),
    ("GemStone/S, 1 core, 5 gems, cache of 1 GB", "10", 50),
    ("GemStone/S, 1 core, 5 gems, cache of 5 GB", "10", 75),
    ("GemStone/S, 1 core, 5 gems", "100", 87),
    ("GemStone/S, 2 cores, 5 gems", "10", 140),
    ("GemStone/S, 3 cores, 5 gems", "10", 185),
    ("GemStone/S, 4 cores, 5 gems", "10", 230),
    ("GemStone/S, 1 core, log in a file", "10", 15),
    ("GemStone/S, 2 cores, log in a file", "10", 25),
];

/// Measures and prints the tables to stdout; progress goes to stderr.
pub fn run(glass: &Glass) -> Result<(), BenchError> {
    let mut samples: Vec<(Row, Sample)> = Vec::new();
    for round in 0..glass.rounds {
        // Whoever comes first in one round does not in the next.
        let mut gems = GEMS;
        gems.rotate_left(round % GEMS.len());
        for gems in gems {
            glass.clear()?;
            let data = glass.folder.join("data");
            let app = Some(glass.application.as_path());
            let server = Running::sarsen_with(&glass.sarsen, app, &data, gems)?;
            for row in Row::all().into_iter().filter(|row| row.gems == gems) {
                let sample = glass.measure(row, &server)?;
                let rate = sample.requests_per_second;
                eprintln!("bench: round {} of {}: {row:?}: {rate:.0}/s", round + 1, glass.rounds);
                samples.push((row, sample));
            }
        }
    }
    glass.clear()?;
    let text = render(glass, &samples);
    io::stdout().write_all(text.as_bytes()).map_err(|e| write_error("stdout", e))
}

impl Glass {
    fn clear(&self) -> Result<(), BenchError> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(|e| write_error(&self.folder, e))?;
        }
        fs::create_dir_all(&self.folder).map_err(|e| write_error(&self.folder, e))
    }

    fn measure(&self, row: Row, server: &Running) -> Result<Sample, BenchError> {
        let mut command = Command::new(&self.sarsen);
        command.args(["run", "counter", "--server", &format!("sarsen={}", server.origin)]);
        command.args(["--users", &row.users.to_string()]).args(row.mode.flags());
        command.args(["--duration", &format!("{}s", self.seconds), "--json", "-q", "--runs"]);
        command.arg(self.folder.join("runs")).args(["--pid", &server.pid().to_string()]);
        run_lab(&mut command)
    }
}

fn render(glass: &Glass, samples: &[(Row, Sample)]) -> String {
    let mut text = format!(
        "{}, commit {}. {} Medians of {} interleaved rounds of {} s, lowest and highest in \
         brackets.\n\n| gems | users | mode | requests/s | p50 ms | p99 ms | CPU µs, server |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
        said("date", &["-u", "+%Y-%m-%d"]),
        said("git", &["describe", "--always", "--dirty", "--abbrev=7"]),
        machine(),
        glass.rounds,
        glass.seconds,
    );
    for row in Row::all() {
        let ours = || samples.iter().filter(|(r, _)| *r == row).map(|(_, sample)| sample);
        let figures = |read: fn(&Sample) -> Option<f64>| {
            ours().map(read).collect::<Option<Vec<f64>>>().and_then(spread)
        };
        let cells = [
            cell(figures(|sample| Some(sample.requests_per_second)), 0),
            cell(figures(|sample| sample.p50_ms), 2),
            cell(figures(|sample| sample.p99_ms), 2),
            cell(figures(|sample| sample.server_us), 0),
        ];
        let Row { gems, users, mode } = row;
        let line = format!("| {gems} | {users} | {} | {} |", mode.name(), cells.join(" | "));
        push_line(&mut text, &line);
    }
    push_line(&mut text, "\nThe same page in October 2007:\n");
    push_line(&mut text, "| server | users | requests/s |\n| --- | --- | --- |");
    for (server, users, rate) in ROWS_2007 {
        push_line(&mut text, &format!("| {server} | {users} | {rate} |"));
    }
    push_line(
        &mut text,
        "\nThe machines differ: the rows show how far apart the results are, not why.\n\n\
         - benchmark: `sarsen run counter --users USERS`\n\
         - internet: `sarsen run counter --users USERS --set think=1s`",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_shown_with_what_was_measured() {
        let glass = Glass {
            rounds: 1,
            seconds: 1,
            sarsen: PathBuf::new(),
            application: PathBuf::new(),
            folder: PathBuf::new(),
        };
        let sample = Sample {
            requests_per_second: 1234.0,
            p50_ms: Some(0.5),
            p99_ms: None,
            server_us: Some(7.0),
            generator_us: None,
        };
        let row = Row { gems: 5, users: 100, mode: Mode::Internet };
        let text = render(&glass, &[(row, sample)]);
        let line = "| 5 | 100 | internet | 1234 (1234–1234) | 0.50 (0.50–0.50) | — | 7 (7–7) |";
        assert!(text.contains(line), "{text}");
        // What was not measured has no figure.
        assert!(text.contains("| 1 | 10 | benchmark | — | — | — | — |"), "{text}");
        assert_eq!(Row::all().len(), 16);
    }
}
