//! `cargo xtask bench-atompub`: entries posted as mod_atom was measured in 2008, on Sarsen, on
//! Abdera's server and, as files, on Apache's mod_dav; feeds that are asked for again; and what a
//! feed costs in a publication that grows. The sides take turns, round after round, each on a
//! folder that is empty. It asserts nothing.

mod growth;
mod plot;
mod report;
mod side;

use super::{BenchError, write_error};
use report::{Row, Sample};
use serde_json::Value;
use side::{Running, Side};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The core of the server, and that of the generator.
const CORES: [&str; 2] = ["0", "1"];

/// Groups of ten workers.
const GROUPS: [usize; 5] = [1, 2, 3, 4, 5];

/// Workers of a group.
const WORKERS: usize = 10;

/// Users who ask for a feed again.
const READERS: usize = 32;

/// Publications and entries follow from the seed: those of the warm-up are others than those that
/// are measured.
const WARM_UP_SEED: &str = "1";
const SEED: &str = "2";

/// Scenarios that are only of use here.
const SCENARIOS: [(&str, &str); 3] = [
    ("dav.toml", include_str!("dav.toml")),
    ("feed.toml", include_str!("feed.toml")),
    ("fill.toml", include_str!("fill.toml")),
];

/// What is measured, and for how long.
pub struct AtomPub {
    /// How often each row is measured on each side.
    pub rounds: usize,
    /// How long feeds are read each time.
    pub seconds: u64,
    /// What may be said beside.
    pub options: Options,
    /// The binary that is measured, and that has the lab.
    pub sarsen: PathBuf,
    /// Where `peers/setup.sh atompub` has put Abdera.
    pub peers: PathBuf,
    /// A folder for data; what is in it is deleted.
    pub folder: PathBuf,
    /// Where the growth is written to, as CSV and as SVG.
    pub plots: PathBuf,
}

/// What may be said on the command line.
pub struct Options {
    /// Entries that each worker posts; 100 in 2008.
    pub posts: usize,
    /// The largest publication whose feed is read.
    pub largest: u64,
    /// Which sides.
    pub sides: Vec<Side>,
}

impl Options {
    /// From words of the command line.
    pub fn parse(mut words: &[&str]) -> Option<Self> {
        let mut options = Self { posts: 1_000, largest: 1_000_000, sides: Side::ALL.into() };
        loop {
            words = match words {
                [] => return Some(options),
                ["--posts", posts, rest @ ..] => {
                    options.posts = posts.parse().ok().filter(|posts| *posts > 0)?;
                    rest
                }
                ["--largest", largest, rest @ ..] => {
                    options.largest = largest.parse().ok()?;
                    rest
                }
                ["--sides", names, rest @ ..] => {
                    options.sides = names.split(',').map(Side::named).collect::<Option<_>>()?;
                    rest
                }
                _ => return None,
            }
        }
    }
}

/// What is done to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// So many groups of workers post.
    Post(usize),
    /// A feed is asked for by users who have it.
    Again,
}

/// Measures and prints to stdout; progress goes to stderr. Whether all runs went well.
pub fn run(bench: &AtomPub) -> Result<bool, BenchError> {
    bench.clear()?;
    let mut rows: Vec<Row> = Vec::new();
    for side in &bench.options.sides {
        rows.extend(GROUPS.map(|groups| Row::new(*side, Load::Post(groups))));
        if *side != Side::Dav {
            rows.push(Row::new(*side, Load::Again));
        }
    }
    for round in 0..bench.rounds {
        eprintln!("bench-atompub: round {} of {}", round + 1, bench.rounds);
        // Each side is first as often as the others.
        let mut sides = bench.options.sides.clone();
        let places = sides.len().max(1);
        sides.rotate_left(round % places);
        for side in sides {
            for row in rows.iter_mut().filter(|row| row.side == side) {
                let outcome = bench.measure(side, row.load);
                eprintln!("bench-atompub:   {}, {:?}: {}", side.name(), row.load, shown(&outcome));
                row.samples.push(outcome);
            }
        }
    }
    let growth = growth::measure(bench);
    let is_good = rows.iter().flat_map(|row| &row.samples).all(Result::is_ok) && growth.is_good();
    growth.write(&bench.plots)?;
    let text = report::render(&rows, bench) + &growth.render();
    io::stdout().write_all(text.as_bytes()).map_err(|source| write_error("stdout", source))?;
    Ok(is_good)
}

impl AtomPub {
    fn clear(&self) -> Result<(), BenchError> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(|e| write_error(&self.folder, e))?;
        }
        fs::create_dir_all(&self.folder).map_err(|e| write_error(&self.folder, e))?;
        for (name, text) in SCENARIOS {
            let path = self.folder.join(name);
            fs::write(&path, text).map_err(|e| write_error(&path, e))?;
        }
        Ok(())
    }

    /// A server of this side with nothing in it, and warm.
    fn start(&self, side: Side) -> Result<Running, String> {
        let data = self.folder.join("data");
        if data.exists() {
            fs::remove_dir_all(&data).map_err(|error| error.to_string())?;
        }
        fs::create_dir_all(&data).map_err(|error| error.to_string())?;
        let server = Running::start(side, self, &data).map_err(|error| error.to_string())?;
        // What is compiled when it is first used has been used.
        self.post(&server, 1, if side == Side::Abdera { 200 } else { 100 }, WARM_UP_SEED)?;
        Ok(server)
    }

    fn measure(&self, side: Side, load: Load) -> Result<Sample, String> {
        let server = self.start(side)?;
        match load {
            Load::Post(groups) => self.post(&server, groups, self.posts(side), SEED),
            Load::Again => self.read(&server, 100, true),
        }
    }

    /// How many entries each worker posts: fewer where each takes much longer.
    fn posts(&self, side: Side) -> usize {
        match side {
            Side::Sarsen => self.options.posts,
            Side::Abdera | Side::Dav => self.options.posts.div_ceil(5),
        }
    }

    /// So many entries by each worker of these groups, in publications of their own.
    fn post(
        &self,
        server: &Running,
        groups: usize,
        posts: usize,
        seed: &str,
    ) -> Result<Sample, String> {
        let (users, posts) = ((groups * WORKERS).to_string(), format!("posts={posts}"));
        let dav = self.folder.join("dav.toml");
        let scenario = match server.side {
            Side::Dav => dav.as_path(),
            Side::Sarsen | Side::Abdera => Path::new("atompub-post"),
        };
        self.lab(server, scenario, &["--users", &users, "--set", &posts, "--seed", seed])
    }

    /// The feed of a publication of so many entries, by users who have it, or who have not.
    fn read(&self, server: &Running, size: u64, is_again: bool) -> Result<Sample, String> {
        self.fill(server, 0, size)?;
        self.read_filled(server, is_again, READERS)
    }

    fn read_filled(
        &self,
        server: &Running,
        is_again: bool,
        readers: usize,
    ) -> Result<Sample, String> {
        let feed = format!("feed={}", server.side.feed());
        let (time, again) = (format!("{}s", self.seconds), format!("again={is_again}"));
        let users = readers.to_string();
        let flags = ["--set", &feed, "--set", &again, "-d", &time, "--users", &users];
        self.lab(server, &self.folder.join("feed.toml"), &flags)
    }

    /// Adds entries to the publication that is read, from the number `from` on up to `to`.
    fn fill(&self, server: &Running, from: u64, to: u64) -> Result<(), String> {
        let times = format!("entries={}", to.saturating_sub(from).div_ceil(50).max(1));
        let seed = (1000 + from).to_string();
        let flags = ["--users", "50", "--set", &times, "--seed", &seed];
        self.lab(server, &self.folder.join("fill.toml"), &flags).map(|_| ())
    }

    /// Has the lab apply a load.
    fn lab(&self, server: &Running, scenario: &Path, flags: &[&str]) -> Result<Sample, String> {
        let mut command = super::lab::pinned(CORES[1], &self.sarsen);
        command.arg("run").arg(scenario).args(["--server", &server.origin]).args(flags);
        for (name, pid) in server.observed() {
            command.args([name, &pid]);
        }
        command.args(["--json", "-q", "--no-host", "--runs"]).arg(self.folder.join("runs"));
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        // 9: INVALID, as a generator is that has no core left, or a run that is over in a moment.
        if !matches!(output.status.code(), Some(0 | 9)) {
            let said = String::from_utf8_lossy(&output.stderr);
            let (failures, faults) = (&report["failures"], &report["faults"][0]);
            return Err(format!("{}: {} {failures} {faults}", output.status, said.trim()));
        }
        Sample::read(&report)
    }
}

fn shown(outcome: &Result<Sample, String>) -> String {
    match outcome {
        Ok(Sample { rate, server_us, .. }) => {
            format!("{rate:.0}/s, {server_us:.1} us of CPU each")
        }
        Err(why) => format!("failed: {why}"),
    }
}
