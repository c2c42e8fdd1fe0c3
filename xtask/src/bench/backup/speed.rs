//! How long a backup and a restore take, round after round, each thing once a round.

use super::{Backup, BenchError, Ran, copy, ran};
use crate::bench::pages::{Program, postgres};
use crate::bench::server::Running;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What was measured of one command in one round.
pub(super) struct Sample {
    pub seconds: f64,
    pub cpu_s: f64,
    /// Bytes of the lines that the documents came from.
    pub document_bytes: u64,
    /// Bytes of what was written, where that can be told.
    pub written_bytes: Option<u64>,
}

/// The samples of one command.
pub(super) struct Row {
    pub name: &'static str,
    pub samples: Vec<Sample>,
}

/// Measures everything.
pub(super) fn measure(backup: &Backup, server: &Running) -> Result<Vec<Row>, BenchError> {
    let folder = backup.emptied("postgres")?;
    let database = Database { program: postgres(&folder)?, folder, backup };
    database.fill()?;
    let mut rows: Vec<Row> = Vec::new();
    for round in 1..=backup.rounds {
        eprintln!("bench: speed, round {round} of {}", backup.rounds);
        let mut samples = sarsen(backup, server)?;
        samples.extend(database.round()?);
        for (name, sample) in samples {
            eprintln!("bench:   {name}: {:.2} s", sample.seconds);
            match rows.iter_mut().find(|row| row.name == name) {
                Some(row) => row.samples.push(sample),
                None => rows.push(Row { name, samples: vec![sample] }),
            }
        }
    }
    Ok(rows)
}

type Samples = Vec<(&'static str, Sample)>;

fn sarsen(backup: &Backup, server: &Running) -> Result<Samples, BenchError> {
    let all = backup.line_bytes(&["notes", "added"])?;
    let added = backup.line_bytes(&["added"])?;
    let sample = |ran: &Ran, document_bytes, written_bytes| {
        let Ran { seconds, cpu_s, .. } = *ran;
        Sample { seconds, cpu_s, document_bytes, written_bytes }
    };
    let bytes = |ran: &Ran| ran.result()["bytes"].as_u64();
    let mut samples = Vec::new();
    let to = backup.removed("backups")?;
    let full = ran(&mut backup.backup(&to, &["--full"]), Some(server.pid()))?;
    samples.push(("backup, full", sample(&full, all, bytes(&full))));
    backup.import("added")?;
    let log = ran(&mut backup.backup(&to, &["--incremental"]), Some(server.pid()))?;
    samples.push(("backup, log set", sample(&log, added, bytes(&log))));
    let tar = backup.removed("backup.tar")?;
    let stream = ran(&mut backup.backup(&tar, &[]), Some(server.pid()))?;
    samples.push(("backup, file of tar", sample(&stream, all, bytes(&stream))));
    let commit = full.result()["commit"].to_string();
    let restored = backup.removed("restored")?;
    let ran_full = ran(backup.restore(&to, &restored).args(["--to", &commit]), None)?;
    samples.push(("restore, full", sample(&ran_full, all, size(&restored))));
    let restored = backup.removed("restored")?;
    let ran_both = ran(&mut backup.restore(&to, &restored), None)?;
    samples.push(("restore, full and log set", sample(&ran_both, all, size(&restored))));
    let restored = backup.removed("restored")?;
    let ran_tar = ran(&mut backup.restore(&tar, &restored), None)?;
    samples.push(("restore, file of tar", sample(&ran_tar, all, size(&restored))));
    let set = to.join(full.result()["set"].as_str().unwrap_or_default());
    let copied = backup.removed("copy")?;
    let plain = ran(&mut copy(&set, &copied), None)?;
    samples.push(("cp -a of the full set, and sync", sample(&plain, all, size(&copied))));
    Ok(samples)
}

/// Bytes of all files in a folder, or of a file.
fn size(path: &Path) -> Option<u64> {
    let here = fs::metadata(path).ok()?;
    if !here.is_dir() {
        return Some(here.len());
    }
    let entries = fs::read_dir(path).ok()?.flatten();
    Some(entries.filter_map(|entry| size(&entry.path())).sum())
}

/// PostgreSQL with the same documents.
struct Database<'a> {
    program: Program,
    folder: PathBuf,
    backup: &'a Backup,
}

impl Database<'_> {
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(["-U", "postgres", "-h"]).arg(&self.folder);
        command
    }

    fn psql(&self, statement: &str) -> Result<Ran, BenchError> {
        ran(self.command("psql").args(["-X", "-q", "-c", statement]), None)
    }

    fn fill(&self) -> Result<(), BenchError> {
        for name in ["notes", "added"] {
            self.psql(&format!(
                "CREATE TABLE {name} (document jsonb); \
                 CREATE UNIQUE INDEX ON {name} ((document->>'id'))"
            ))?;
            let lines = self.backup.lines(name);
            self.psql(&format!("\\copy {name} FROM '{}'", lines.display()))?;
        }
        self.psql("VACUUM ANALYZE").map(drop)
    }

    fn round(&self) -> Result<Samples, BenchError> {
        let document_bytes = self.backup.line_bytes(&["notes", "added"])?;
        let pid = self.program.pid();
        let timed = |command: &mut Command, written: &dyn Fn() -> Option<u64>| {
            let Ran { seconds, cpu_s, .. } = ran(command, Some(pid))?;
            Ok::<_, BenchError>(Sample { seconds, cpu_s, document_bytes, written_bytes: written() })
        };
        let base = self.backup.removed("base")?;
        let mut command = self.command("pg_basebackup");
        command.args(["-c", "fast", "-X", "stream", "-D"]).arg(&base);
        let physical = timed(&mut command, &|| size(&base))?;
        let dump = self.backup.removed("dump")?;
        let mut command = self.command("pg_dump");
        let logical =
            timed(command.args(["-F", "c", "-Z", "0", "-f"]).arg(&dump), &|| size(&dump))?;
        // Each is a statement of its own: neither may be in a transaction.
        self.psql("DROP DATABASE IF EXISTS restored")?;
        self.psql("CREATE DATABASE restored")?;
        let mut command = self.command("pg_restore");
        let restored = timed(command.args(["-d", "restored"]).arg(&dump), &|| None)?;
        Ok(vec![("pg_basebackup", physical), ("pg_dump", logical), ("pg_restore", restored)])
    }
}
