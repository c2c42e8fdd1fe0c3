//! `cargo xtask bench-operation`: a constant load of commits alone, and then the same while the
//! server is backed up, exported, verified, indexed and followed, all at once. It shows what that
//! does to the time of a commit, and looks afterwards whether everything is whole. It asserts
//! nothing about figures; what fails is a failure.

mod chores;
mod report;

use super::load::output;
use super::server::Running;
use super::{BenchError, client, write_error};
use chores::{Chore, Tally};
use serde_json::Value;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What is measured, and for how long.
pub struct Operation {
    /// How long the load is applied beside everything else.
    pub seconds: u64,
    /// The binary that is measured, and whose lab measures.
    pub sarsen: PathBuf,
    /// A folder for data; what is in it is deleted.
    pub folder: PathBuf,
}

/// What the lab said of one phase.
pub(super) struct Phase {
    pub name: &'static str,
    pub seconds: u64,
    pub report: Value,
}

/// Measures and prints the tables to stdout; progress goes to stderr.
pub fn run(operation: &Operation) -> Result<bool, BenchError> {
    operation.clear()?;
    let data = operation.folder.join("data");
    let server = Running::sarsen(&operation.sarsen, None, &data)?;
    let authority = server.origin.trim_start_matches("http://").to_owned();
    configure(&authority)?;
    let quiet = (operation.seconds / 5).max(5);
    let alone = operation.phase("alone", quiet, &server)?;
    let over = AtomicBool::new(false);
    let (beside, tallies) = std::thread::scope(|scope| {
        let place = chores::Place { operation, authority: &authority, over: &over };
        let works: Vec<_> =
            Chore::ALL.map(|chore| scope.spawn(move || chore.repeat(place))).into_iter().collect();
        let beside = operation.phase("with everything", operation.seconds, &server);
        over.store(true, std::sync::atomic::Ordering::Release);
        let tallies: Vec<Tally> =
            works.into_iter().map(|work| work.join().unwrap_or_else(Tally::panicked)).collect();
        (beside, tallies)
    });
    let beside = beside?;
    drop(server);
    let checks = operation.checks(&data);
    let is_whole = checks.iter().all(|(_, outcome)| outcome.is_ok());
    let is_well = is_whole && tallies.iter().all(|tally| tally.failed == 0);
    let text = report::render(operation, &[alone, beside], &tallies, &checks);
    io::stdout().write_all(text.as_bytes()).map_err(|e| write_error("stdout", e))?;
    Ok(is_well)
}

/// Sessions expire after ten seconds.
pub(super) fn configure(authority: &str) -> Result<(), BenchError> {
    let reply = client::send(authority, "PUT", "/db/sessions?settings", "{\"expiry\":10000}");
    let reply = reply.and_then(client::Reply::success);
    reply.map(drop).map_err(|why| BenchError::Fill(io::Error::other(why)))
}

impl Operation {
    pub(super) fn clear(&self) -> Result<(), BenchError> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(|e| write_error(&self.folder, e))?;
        }
        fs::create_dir_all(&self.folder).map_err(|e| write_error(&self.folder, e))?;
        let load = self.folder.join("load.toml");
        fs::write(&load, include_str!("load.toml")).map_err(|e| write_error(&load, e))
    }

    pub(super) fn phase(
        &self,
        name: &'static str,
        seconds: u64,
        server: &Running,
    ) -> Result<Phase, BenchError> {
        eprintln!("bench: {name}, {seconds} s");
        let mut command = Command::new(&self.sarsen);
        command.arg("run").arg(self.folder.join("load.toml"));
        command.args(["--server", &format!("sarsen={}", server.origin), "--json", "-q", "--runs"]);
        command.arg(self.folder.join("runs")).args(["--duration", &format!("{seconds}s")]);
        command.args(["--pid", &server.pid().to_string()]);
        let said = output(&mut command)?;
        let report = serde_json::from_str(&said).map_err(|error| BenchError::Load {
            command: format!("{command:?}"),
            why: error.to_string(),
        })?;
        Ok(Phase { name, seconds, report })
    }

    /// Whether what is left is whole: the repository, and the newest backup of it.
    fn checks(&self, data: &Path) -> Vec<(&'static str, Result<(), String>)> {
        let restored = self.folder.join("restored");
        let backup = self.folder.join("backup");
        let path = |path: &Path| path.display().to_string();
        let (data, restored, backup) = (path(data), path(&restored), path(&backup));
        vec![
            ("the repository is verified", self.sarsen(&["verify", "--data", &data])),
            (
                "the backup is restored",
                self.sarsen(&["restore", "--from", &backup, "--data", &restored]),
            ),
            ("what was restored is verified", self.sarsen(&["verify", "--data", &restored])),
        ]
    }

    /// Runs a command of the binary to its end, and lets go of what it prints.
    pub(super) fn sarsen(&self, arguments: &[&str]) -> Result<(), String> {
        let mut command = Command::new(&self.sarsen);
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
        let output = command.output().map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(format!("sarsen {}: {}: {said}", arguments.join(" "), output.status))
    }
}

/// A pause between two of a chore, so that none of them is all that happens.
const PAUSE: Duration = Duration::from_millis(500);
