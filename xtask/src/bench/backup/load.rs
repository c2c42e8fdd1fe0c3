//! What a backup or a restore does to commits that go on: the same load, alone and beside each,
//! taking turns.

use super::{Backup, BenchError, copy, ran};
use crate::bench::operation::{Operation, Phase, configure};
use crate::bench::server::Running;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The bound of a backup that has one.
pub(super) const RATE: &str = "20M";

/// Between two sets of commits.
const PAUSE: Duration = Duration::from_secs(1);

/// What goes on beside the load, again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    Nothing,
    /// Full backups, as fast as they can be.
    Full,
    /// Full backups, held back.
    Held,
    /// A log set each second.
    Commits,
    /// Restores to another folder, by a process of their own.
    Restore,
    /// Copies of the same bytes that a full backup has: what the disk does to commits.
    Copy,
}

impl Beside {
    const ALL: [Self; 6] =
        [Self::Nothing, Self::Full, Self::Held, Self::Commits, Self::Restore, Self::Copy];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "alone",
            Self::Full => "beside full backups",
            Self::Held => "beside full backups with --rate 20M",
            Self::Commits => "beside a log set each second",
            Self::Restore => "beside restores",
            Self::Copy => "beside cp -a and sync",
        }
    }
}

/// What was measured beside one thing.
pub(super) struct Row {
    pub beside: Beside,
    /// What the lab said, one for each round.
    pub phases: Vec<Phase>,
    /// How often it was done.
    pub done: u64,
    /// Megabytes that it wrote.
    pub megabytes: f64,
    /// The first failure.
    pub why: Option<String>,
}

/// Applies the load beside everything, round after round.
pub(super) fn measure(backup: &Backup, server: &Running) -> Result<Vec<Row>, BenchError> {
    let operation = Operation {
        seconds: backup.seconds,
        sarsen: backup.sarsen.clone(),
        folder: backup.folder.join("load"),
    };
    operation.clear()?;
    configure(server.origin.trim_start_matches("http://"))?;
    // What is restored and copied meanwhile.
    let source = backup.removed("backups")?;
    let made = ran(&mut backup.backup(&source, &["--full"]), None)?.result();
    let set = source.join(made["set"].as_str().unwrap_or_default());
    let bytes = made["bytes"].as_u64().unwrap_or_default();
    let row = |beside| Row { beside, phases: Vec::new(), done: 0, megabytes: 0.0, why: None };
    let mut rows: Vec<Row> = Beside::ALL.into_iter().map(row).collect();
    for round in 1..=backup.rounds {
        eprintln!("bench: load, round {round} of {}", backup.rounds);
        for row in &mut rows {
            let over = AtomicBool::new(false);
            let chore = Chore { backup, row, source: (&source, &set, bytes), over: &over };
            let phase = chore.beside(&operation, server)?;
            row.phases.push(phase);
        }
    }
    Ok(rows)
}

/// One phase of a row.
struct Chore<'a> {
    backup: &'a Backup,
    row: &'a mut Row,
    /// The folder of backups, its full set, and the bytes of that.
    source: (&'a Path, &'a Path, u64),
    over: &'a AtomicBool,
}

impl Chore<'_> {
    fn beside(self, operation: &Operation, server: &Running) -> Result<Phase, BenchError> {
        let (over, name) = (self.over, self.row.beside.name());
        std::thread::scope(|scope| {
            scope.spawn(move || self.repeat());
            let phase = operation.phase(name, operation.seconds, server);
            over.store(true, Ordering::Release);
            phase
        })
    }

    /// Does it until the load is over.
    fn repeat(self) {
        while self.row.beside != Beside::Nothing && !self.over.load(Ordering::Acquire) {
            match self.once() {
                Ok(bytes) => {
                    self.row.done += 1;
                    self.row.megabytes += bytes as f64 / 1e6;
                }
                Err(error) => {
                    // It would fail again.
                    self.row.why.get_or_insert(error.to_string());
                    return;
                }
            }
        }
    }

    /// Gives the bytes that were written.
    fn once(&self) -> Result<u64, BenchError> {
        let (source, set, bytes) = self.source;
        let to = self.backup.folder.join("beside");
        let backed_up = |more: &[&str]| {
            let made = ran(&mut self.backup.backup(&to, more), None)?.result();
            Ok(made["bytes"].as_u64().unwrap_or_default())
        };
        match self.row.beside {
            Beside::Nothing => Ok(0),
            Beside::Full => backed_up(&["--full", "--keep", "1"]),
            Beside::Held => backed_up(&["--full", "--keep", "1", "--rate", RATE]),
            Beside::Commits => {
                let made = backed_up(&["--keep", "1"]);
                std::thread::sleep(PAUSE);
                made
            }
            Beside::Restore => {
                let restored = self.backup.removed("restored")?;
                ran(&mut self.backup.restore(source, &restored), None).map(|_| bytes)
            }
            Beside::Copy => {
                let copied = self.backup.removed("copy")?;
                ran(&mut copy(set, &copied), None).map(|_| bytes)
            }
        }
    }
}
