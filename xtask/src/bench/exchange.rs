//! `cargo xtask bench-exchange`: so many documents imported and exported, by the command alone and
//! through a server that runs, beside PostgreSQL's COPY in and out of the same lines. The sides
//! take turns. It asserts nothing about figures.

use super::pages::postgres;
use super::server::Running;
use super::{BenchError, write_error};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What is measured.
pub struct Exchange {
    /// How often, each side in turn.
    pub rounds: usize,
    /// How many documents.
    pub documents: u64,
    /// The release binary.
    pub sarsen: PathBuf,
    /// For files; emptied.
    pub folder: PathBuf,
}

/// Documents and megabytes a second.
type Sample = (f64, f64);

/// Prints the table.
pub fn run(bench: &Exchange) -> Result<bool, BenchError> {
    // It may not be there.
    let _removed = fs::remove_dir_all(&bench.folder);
    fs::create_dir_all(&bench.folder).map_err(|e| write_error(&bench.folder, e))?;
    let lines = bench.folder.join("lines.jsonl");
    write_lines(&lines, bench.documents).map_err(|e| write_error(&lines, e))?;
    let mut rows: Vec<(String, Vec<Sample>)> = Vec::new();
    for _ in 0..bench.rounds {
        for (title, sample) in bench.round(&lines)? {
            eprintln!("bench:   {title}: {:.0} documents/s", sample.0);
            match rows.iter_mut().find(|(known, _)| *known == title) {
                Some((_, samples)) => samples.push(sample),
                None => rows.push((title, vec![sample])),
            }
        }
    }
    show(&rows).map_err(|e| write_error("stdout", e))?;
    Ok(true)
}

/// Lines that PostgreSQL's text format takes as they are: a key, and JSON without backslashes.
pub(super) fn write_lines(path: &Path, documents: u64) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let text = "x".repeat(200);
    for i in 0..documents {
        // Keys come in no order, as they do elsewhere.
        let key = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        writeln!(file, "{{\"id\":\"{key:016x}\",\"n\":{i},\"text\":\"{text}\"}}")?;
    }
    file.into_inner()?.sync_all()
}

impl Exchange {
    fn round(&self, lines: &Path) -> Result<Vec<(String, Sample)>, BenchError> {
        let mut samples = Vec::new();
        let mut push = |name: &str, sample| samples.push((name.to_owned(), sample));
        let alone = self.emptied("alone")?;
        push("import, alone", self.import(&alone, lines)?);
        push("export, alone", self.export(&alone)?);
        let served = self.emptied("served")?;
        let server = Running::sarsen(&self.sarsen, None, &served)?;
        push("import, by a server", self.import(&served, lines)?);
        push("export, by a server", self.export(&served)?);
        drop(server);
        let folder = self.emptied("postgres")?;
        let database = postgres(&folder)?;
        let table = "CREATE TABLE notes (document jsonb); \
                     CREATE UNIQUE INDEX ON notes ((document->>'id'))";
        self.psql(&folder, table)?;
        let import = format!("\\copy notes FROM '{}'", lines.display());
        push("COPY FROM", self.psql(&folder, &import)?);
        push("COPY TO", self.psql(&folder, "\\copy notes TO '/dev/null'")?);
        drop(database);
        Ok(samples)
    }

    fn emptied(&self, name: &str) -> Result<PathBuf, BenchError> {
        let folder = self.folder.join(name);
        // Each round begins with nothing.
        let _removed = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|e| write_error(&folder, e))?;
        Ok(folder)
    }

    fn import(&self, data: &Path, lines: &Path) -> Result<Sample, BenchError> {
        let mut command = Command::new(&self.sarsen);
        command.arg("import").arg("--data").arg(data).arg(lines);
        self.timed(command.args(["--collection", "notes", "--key", "/id"]))
    }

    fn export(&self, data: &Path) -> Result<Sample, BenchError> {
        self.timed(Command::new(&self.sarsen).arg("export").arg("--data").arg(data))
    }

    fn psql(&self, socket: &Path, statement: &str) -> Result<Sample, BenchError> {
        let mut command = Command::new("psql");
        command.args(["-X", "-q", "-U", "postgres", "-h"]).arg(socket).args(["-c", statement]);
        self.timed(&mut command)
    }

    /// Runs a command that passes all documents once.
    fn timed(&self, command: &mut Command) -> Result<Sample, BenchError> {
        let program = PathBuf::from(command.get_program());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let begun = Instant::now();
        let output = command.output().map_err(|source| BenchError::Start { program, source })?;
        let took = begun.elapsed().as_secs_f64();
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(BenchError::Load { command: format!("{command:?}"), why });
        }
        let lines = fs::metadata(self.folder.join("lines.jsonl"));
        let bytes = lines.map_err(|e| write_error(&self.folder, e))?.len();
        Ok((self.documents as f64 / took, bytes as f64 / 1e6 / took))
    }
}

fn show(rows: &[(String, Vec<Sample>)]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{:<22} {:>32} {:>22}", "", "documents/s (least, most)", "MB/s of lines")?;
    for (title, samples) in rows {
        let (rate, bytes) = (spread(samples, |s| s.0), spread(samples, |s| s.1));
        let rate = format!("{:.0} ({:.0}, {:.0})", rate.1, rate.0, rate.2);
        writeln!(out, "{title:<22} {rate:>32} {:>22.0}", bytes.1)?;
    }
    Ok(())
}

/// The least, the median and the most.
fn spread(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> (f64, f64, f64) {
    let mut values: Vec<f64> = samples.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or_default();
    (at(0), at(values.len() / 2), at(values.len().saturating_sub(1)))
}
