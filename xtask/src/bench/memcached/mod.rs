//! `cargo xtask bench-memcached`: Sarsen's cache beside Debian's memcached, driven by the lab in
//! one run. Both are there all the time, the one that is not measured is idle; they take turns,
//! round after round. It asserts nothing.

mod memory;
mod report;
mod row;
mod side;

use super::{BenchError, write_error};
use report::{Measured, Sample};
use row::{Mix, Row};
use serde_json::Value;
use side::Side;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;

/// The core of a server of one thread, and that of the generator then.
const CORES: [&str; 2] = ["0", "1"];

/// Items that are put in first.
const ITEMS: &str = "100000";

/// What is measured, and for how long.
pub struct Memcached {
    /// How often each row is measured on each side.
    pub rounds: usize,
    /// How long each time.
    pub seconds: u64,
    /// Which rows, by a part of their name.
    pub only: String,
    /// Whether memcached is measured beside itself: what the spread of this machine is.
    pub is_same: bool,
    /// The binary that is measured, and that has the lab.
    pub sarsen: PathBuf,
    /// A folder for data; what is in it is deleted.
    pub folder: PathBuf,
}

/// Measures and prints to stdout; progress goes to stderr. Whether all runs went well.
pub fn run(bench: &Memcached) -> Result<bool, BenchError> {
    bench.clear()?;
    let sides = Side::pair(bench);
    let rows: Vec<Row> = Row::all().filter(|row| row.name().contains(&bench.only)).collect();
    let mut measured: Vec<Measured> = rows.iter().map(|row| Measured::new(*row)).collect();
    for round in 0..bench.rounds {
        eprintln!("bench-memcached: round {} of {}", round + 1, bench.rounds);
        for (threads, mix) in Row::servers() {
            let is_its = |one: &&mut Measured| one.row.threads == threads && one.row.mix == mix;
            let mut its: Vec<&mut Measured> = measured.iter_mut().filter(is_its).collect();
            if !its.is_empty() {
                bench.round((threads, mix), &sides, round, &mut its)?;
            }
        }
    }
    let is_good = measured.iter().all(Measured::is_good);
    let mut text = report::render(&measured, bench, &sides);
    if bench.only.is_empty() {
        text.push_str(&memory::measure(bench, &sides));
    }
    io::stdout().write_all(text.as_bytes()).map_err(|source| write_error("stdout", source))?;
    Ok(is_good)
}

impl Memcached {
    fn clear(&self) -> Result<(), BenchError> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(|e| write_error(&self.folder, e))?;
        }
        fs::create_dir_all(&self.folder).map_err(|e| write_error(&self.folder, e))
    }

    /// The rows of one kind of server once on each side.
    fn round(
        &self,
        (threads, mix): (usize, Mix),
        sides: &[Side; 2],
        round: usize,
        rows: &mut [&mut Measured],
    ) -> Result<(), BenchError> {
        let mut servers = Vec::new();
        for (i, side) in sides.iter().enumerate() {
            let server = side.start(self, threads, i)?;
            let flags = [mix.flags(), vec!["-d".into(), "100ms".into()]].concat();
            self.load(&server.origin, threads, &flags)
                .map_err(|why| BenchError::Load { command: "populate".to_owned(), why })?;
            servers.push(server);
        }
        for (turn, measured) in rows.iter_mut().enumerate() {
            // Each side is first as often as the other.
            let first = (round + turn) % 2;
            for i in [first, 1 - first] {
                let flags = self.flags(&measured.row, servers[i].pid());
                let outcome = self.load(&servers[i].origin, threads, &flags);
                let outcome = outcome.and_then(|report| Sample::read(&report));
                let name = measured.row.name();
                eprintln!("bench-memcached:   {name}, {}: {}", sides[i].name(), shown(&outcome));
                measured.samples[i].push(outcome);
            }
        }
        Ok(())
    }

    fn flags(&self, row: &Row, pid: u32) -> Vec<String> {
        let mut flags = row.flags();
        let time = format!("{}s", self.seconds);
        let own = ["--setup-from", ITEMS, "--pid", &pid.to_string(), "-d", &time];
        flags.extend(own.map(str::to_owned));
        flags
    }

    /// Has the lab apply a load, and gives its report.
    fn load(&self, server: &str, threads: usize, flags: &[String]) -> Result<Value, String> {
        let mut command = match threads {
            1 => super::lab::pinned(CORES[1], &self.sarsen),
            _ => Command::new(&self.sarsen),
        };
        command.args(["run", "memcached-olio", "--server", server, "--set"]);
        command.arg(format!("items_count={ITEMS}")).args(flags);
        command.args(["--warm-up", "500ms", "--json", "-q", "--no-host", "--runs"]);
        command.arg(self.folder.join("runs"));
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        // 9: INVALID, as a generator is that has no core left.
        if !matches!(output.status.code(), Some(0 | 9)) {
            let said = [output.stderr, output.stdout].concat();
            return Err(format!("{}: {}", output.status, String::from_utf8_lossy(&said).trim()));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
    }
}

fn shown(outcome: &Result<Sample, String>) -> String {
    match outcome {
        Ok(Sample { rate, server_us, .. }) => {
            format!("{rate:.0} operations/s, {server_us:.2} us of CPU each")
        }
        Err(why) => format!("failed: {why}"),
    }
}
