//! `cargo xtask bench-pages`: the pages of `apps/pages` beside the same ones on Express and
//! PostgreSQL. Here is the order of things: rounds, in each round both sides with one gem and with
//! two, each alone, and on each every page. It asserts nothing about figures.

mod footprint;
mod report;
mod row;
mod server;

use super::measured::{Measured, Sample, read_report};
use super::{BenchError, write_error};
use footprint::Footprints;
use row::{Page, Row};
use server::Server;
pub use server::{Program, postgres};
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;

/// A stack that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The binary of this repository with `apps/pages`.
    Sarsen,
    /// `peers/express`.
    Express,
}

impl Side {
    const ALL: [Self; 2] = [Self::Sarsen, Self::Express];

    fn name(self) -> &'static str {
        match self {
            Self::Sarsen => "Sarsen",
            Self::Express => "Express, PostgreSQL",
        }
    }
}

/// What is measured, and for how long.
pub struct Pages {
    /// How often everything is measured.
    pub rounds: usize,
    /// How long each row is measured on each side.
    pub seconds: u64,
    /// Only rows whose name holds this.
    pub only: String,
    /// The binary that is measured, and whose lab measures.
    pub sarsen: PathBuf,
    /// `apps/pages`.
    pub application: PathBuf,
    /// `peers/express`, installed.
    pub express: PathBuf,
    /// A folder for data; what is in it is deleted.
    pub folder: PathBuf,
}

/// What a side is like beside its speed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Start {
    first_reply_ms: f64,
    idle_mib: f64,
    loaded_mib: f64,
}

/// Measures, prints the tables to stdout and says whether every run succeeded; progress goes to
/// stderr.
pub fn run(pages: &Pages) -> Result<bool, BenchError> {
    let mut samples = report::Samples::new(pages);
    let mut looks = Looks::default();
    let mut footprints = Footprints::default();
    for round in 0..pages.rounds {
        // Whoever comes first in one round does not in the next.
        let mut sides = Side::ALL;
        sides.rotate_left(round % Side::ALL.len());
        // One of the rows, too: `--only memory`.
        if footprint::NAME.contains(&pages.only) {
            eprintln!("bench: round {} of {}: {}", round + 1, pages.rounds, footprint::NAME);
            footprints.measure(pages)?;
        }
        for gems in [1, 2] {
            let rows: Vec<Row> = Row::of(gems).filter(|r| r.name().contains(&pages.only)).collect();
            for side in sides.into_iter().filter(|_| !rows.is_empty()) {
                let name = side.name();
                eprintln!("bench: round {} of {}: {name}, {gems}", round + 1, pages.rounds);
                pages.clear()?;
                pages.measure((side, gems), &rows, &mut samples, &mut looks)?;
            }
        }
    }
    pages.clear()?;
    let text = samples.render() + &footprints.render();
    io::stdout().write_all(text.as_bytes()).map_err(|e| write_error("stdout", e))?;
    Ok(samples.all_succeeded())
}

impl Pages {
    fn clear(&self) -> Result<(), BenchError> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(|e| write_error(&self.folder, e))?;
        }
        fs::create_dir_all(&self.folder).map_err(|e| write_error(&self.folder, e))
    }

    /// Every row on one side, which runs alone.
    fn measure(
        &self,
        (side, gems): (Side, usize),
        rows: &[Row],
        samples: &mut report::Samples,
        looks: &mut Looks,
    ) -> Result<(), BenchError> {
        let server = Server::start(side, gems, self)?;
        let idle_mib = server.memory_mib();
        looks.compare(&server)?;
        self.warm_up(&server, rows);
        for row in rows {
            let measured = self.load(&server, *row, self.seconds);
            eprintln!("bench:   {}: {measured}", row.name());
            samples.add(*row, side, measured);
        }
        let first_reply_ms = server.first_reply.as_secs_f64() * 1000.0;
        let loaded_mib = server.memory_mib();
        samples.started(side, gems, Start { first_reply_ms, idle_mib, loaded_mib });
        Ok(())
    }

    /// A second of each page: V8 compiles what it has seen often. What goes wrong will go wrong
    /// again, and is counted then.
    fn warm_up(&self, server: &Server, rows: &[Row]) {
        for row in rows.iter().filter(|row| row.users == 10) {
            let _unused = self.load(server, *row, 1);
        }
    }

    fn load(&self, server: &Server, row: Row, seconds: u64) -> Measured {
        let outcome = self.try_load(server, row, seconds);
        let quoted = |flag: String| {
            if flag.contains([' ', '&', '{']) { format!("'{flag}'") } else { flag }
        };
        let flags: Vec<String> = row.page.flags(row.users).into_iter().map(quoted).collect();
        let command = format!("sarsen bench 'URL{}' {}", row.page.path(), flags.join(" "));
        Measured { command, outcome }
    }

    fn try_load(&self, server: &Server, row: Row, seconds: u64) -> Result<Sample, String> {
        let mut command = Command::new(&self.sarsen);
        command.arg("bench").arg(format!("http://{}{}", server.authority, row.page.path()));
        command.args(row.page.flags(row.users));
        command.args(["--warm-up", "1s", "-d", &format!("{seconds}s"), "--json", "-q"]);
        let before = server.cpu();
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        let used = server.cpu().saturating_sub(before);
        // A run with errors ends with its report too, any other failure with words on stderr.
        let stderr = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let said = String::from_utf8_lossy(&output.stdout);
        let report: serde_json::Value = serde_json::from_str(&said).map_err(|_no_json| stderr())?;
        if report["valid"] != true {
            eprintln!("bench: the run is doubtful: {}", report["reasons"]);
        }
        read_report(&report, used, |status| (200..300).contains(&status))
    }
}

/// What each page looks like, as the first side showed it: the others must show the same.
#[derive(Default)]
struct Looks(Vec<String>);

impl Looks {
    fn compare(&mut self, server: &Server) -> Result<(), BenchError> {
        let fill = |text: &str| {
            text.replace("{key}", "77").replace("{other}", "99").replace("{nonce}", "0")
        };
        let look = |page: Page| server.ask(&fill(page.path()), page.form().map(fill).as_deref());
        let seen = Page::ALL.map(look).into_iter().collect::<Result<Vec<_>, _>>()?;
        if self.0.is_empty() {
            self.0.clone_from(&seen);
        }
        for ((page, first), now) in Page::ALL.iter().zip(&self.0).zip(&seen) {
            if first != now {
                let why = format!("expected the page\n{first}\ngot\n{now}");
                return Err(BenchError::Load { command: page.name().to_owned(), why });
            }
        }
        Ok(())
    }
}
