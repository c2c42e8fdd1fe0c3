//! `cargo xtask bench-backup`: how fast a repository is backed up and restored, beside PostgreSQL
//! with the same documents and a plain copy of the same bytes; and what a backup or a restore does
//! to the time of a commit. Whatever is compared takes turns. It asserts nothing about figures.

mod load;
mod report;
mod speed;

use super::exchange::write_lines;
use super::server::Running;
use super::{BenchError, cpu, write_error};
use serde_json::Value;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What is measured.
pub struct Backup {
    /// How often, each in turn.
    pub rounds: usize,
    /// How many documents.
    pub documents: u64,
    /// How long each load is applied; with 0, only the speed is measured.
    pub seconds: u64,
    /// The release binary.
    pub sarsen: PathBuf,
    /// For files; emptied.
    pub folder: PathBuf,
}

/// Of the documents, one of so many is written after the full backup, and the log keeps them all.
const ADDED_PART: u64 = 5;
const ADDED_MAX: u64 = 200_000;

/// One command.
struct Ran {
    seconds: f64,
    /// CPU time of the command and of the server that it asks.
    cpu_s: f64,
    stdout: Vec<u8>,
}

impl Ran {
    /// What it printed, which is JSON.
    fn result(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_default()
    }
}

/// Prints the tables to stdout; progress goes to stderr.
pub fn run(backup: &Backup) -> Result<bool, BenchError> {
    backup.emptied("")?;
    for (name, documents) in [("notes", backup.documents), ("added", backup.added())] {
        let path = backup.lines(name);
        write_lines(&path, documents).map_err(|e| write_error(&path, e))?;
    }
    let data = backup.emptied("data")?;
    let server = Running::sarsen(&backup.sarsen, None, &data)?;
    backup.import("notes")?;
    backup.import("added")?;
    let speed = speed::measure(backup, &server)?;
    let load = match backup.seconds {
        0 => Vec::new(),
        _ => load::measure(backup, &server)?,
    };
    let text = report::render(backup, &speed, &load);
    io::stdout().write_all(text.as_bytes()).map_err(|e| write_error("stdout", e))?;
    Ok(load.iter().all(|row| row.why.is_none()))
}

impl Backup {
    fn added(&self) -> u64 {
        (self.documents / ADDED_PART).clamp(1, ADDED_MAX)
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn lines(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.jsonl"))
    }

    /// Bytes of the lines that these collections came from.
    fn line_bytes(&self, names: &[&str]) -> Result<u64, BenchError> {
        let bytes = |name: &&str| {
            let path = self.lines(name);
            fs::metadata(&path).map(|file| file.len()).map_err(|e| write_error(&path, e))
        };
        names.iter().map(bytes).sum()
    }

    /// A folder with nothing in it.
    fn emptied(&self, name: &str) -> Result<PathBuf, BenchError> {
        let folder = self.folder.join(name);
        self.removed(name)?;
        fs::create_dir_all(&folder).map_err(|e| write_error(&folder, e))?;
        Ok(folder)
    }

    /// The path of something that is not there.
    fn removed(&self, name: &str) -> Result<PathBuf, BenchError> {
        let path = self.folder.join(name);
        let removed =
            if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(write_error(&path, error)),
            _ => Ok(path),
        }
    }

    /// Writes the documents of a collection, through the server.
    fn import(&self, name: &str) -> Result<Ran, BenchError> {
        let mut command = Command::new(&self.sarsen);
        command.arg("import").arg("--data").arg(self.data()).arg(self.lines(name));
        command.args(["--collection", name, "--key", "/id"]);
        ran(command.args(["--existing", "replace", "--restart"]), None)
    }

    fn backup(&self, to: &Path, more: &[&str]) -> Command {
        let mut command = Command::new(&self.sarsen);
        command.arg("backup").arg("--data").arg(self.data()).arg("--to").arg(to);
        command.args(more).arg("--json");
        command
    }

    fn restore(&self, from: &Path, to: &Path) -> Command {
        let mut command = Command::new(&self.sarsen);
        command.arg("restore").arg("--from").arg(from).arg("--data").arg(to).arg("--json");
        command
    }
}

/// A copy of all files, each synced.
fn copy(from: &Path, to: &Path) -> Command {
    let mut command = Command::new("sh");
    let script = "cp -a \"$0\" \"$1\" && find \"$1\" -type f -exec sync {} +";
    command.args(["-c", script]).arg(from).arg(to);
    command
}

/// Runs a command to its end. `server` is whoever works for it.
fn ran(command: &mut Command, server: Option<u32>) -> Result<Ran, BenchError> {
    let program = PathBuf::from(command.get_program());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let used = || server.map(cpu::of_tree).unwrap_or_default() + cpu::of_ended_children();
    let (before, begun) = (used(), Instant::now());
    let output = command.output().map_err(|source| BenchError::Start { program, source })?;
    let seconds = begun.elapsed().as_secs_f64();
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(BenchError::Load { command: format!("{command:?}"), why });
    }
    let cpu_s = used().saturating_sub(before).as_secs_f64();
    Ok(Ran { seconds, cpu_s, stdout: output.stdout })
}
