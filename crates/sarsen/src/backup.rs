//! `sarsen backup`: has the server that runs on the data folder make a backup, or makes it of the
//! repository itself where none runs; shows and checks what a folder of backups holds.

use crate::admin::{AskError, BackupRequest, Event, Running};
use crate::cli::{BackupAction, BackupArguments};
use crate::door::{Door, DoorError};
use crate::exit::Exit;
use crate::progress::{Done, ProgressLine};
use repository::{
    BackupError, BackupFolderError, BackupListing, BackupOptions, ListedSet, Repository, SetKind,
    list_backups, verify_backups,
};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Why there is no backup.
#[derive(Debug, Error)]
pub enum BackupCommandError {
    /// There is no way to the repository.
    #[error(transparent)]
    Door(#[from] DoorError),
    /// The server that runs did not do it.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// It was not made.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// What is there cannot be read.
    #[error(transparent)]
    Folder(#[from] BackupFolderError),
    /// The file or the stream cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

impl BackupCommandError {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Door(error) => error.exit(),
            Self::Ask(AskError::Refused(_)) => Exit::Failure,
            Self::Ask(_) => Exit::Unreachable,
            Self::Backup(_) | Self::Folder(_) | Self::Write { .. } => Exit::Failure,
        }
    }
}

/// What goes to stdout, or to stderr where stdout has the backup.
pub struct Finished {
    /// The text.
    pub text: String,
    /// Whether everything is in order.
    pub exit: Exit,
}

/// Makes, lists or checks.
pub fn run(arguments: &BackupArguments) -> Result<Finished, BackupCommandError> {
    match arguments.action {
        BackupAction::Make => {
            let result = make(arguments)?;
            let text = if arguments.json { format!("{result}\n") } else { made(&result) };
            Ok(Finished { text, exit: Exit::Success })
        }
        BackupAction::List => Ok(shown(&list_backups(&arguments.to)?, arguments.json)),
        BackupAction::Verify => Ok(shown(&verify_backups(&arguments.to)?, arguments.json)),
    }
}

fn make(arguments: &BackupArguments) -> Result<Value, BackupCommandError> {
    if !arguments.is_stream() {
        return perform(arguments, None);
    }
    if arguments.to.as_os_str() == "-" {
        return perform(arguments, Some(&mut io::stdout().lock()));
    }
    // Under its name only when it is whole.
    let failed = |source| BackupCommandError::Write { path: arguments.to.clone(), source };
    let mut unfinished = arguments.to.clone().into_os_string();
    unfinished.push(".tmp");
    let mut file = File::create(&unfinished).map_err(failed)?;
    let result = perform(arguments, Some(&mut file))?;
    file.sync_all().map_err(failed)?;
    std::fs::rename(&unfinished, &arguments.to).map_err(failed)?;
    let above = arguments.to.parent().filter(|above| !above.as_os_str().is_empty());
    let synced = File::open(above.unwrap_or(Path::new("."))).and_then(|above| above.sync_all());
    synced.map_err(failed)?;
    Ok(result)
}

fn perform(
    arguments: &BackupArguments,
    stream: Option<&mut dyn Write>,
) -> Result<Value, BackupCommandError> {
    let absolute = std::path::absolute(&arguments.to);
    let to = absolute
        .map_err(|source| BackupCommandError::Write { path: arguments.to.clone(), source })?;
    let options = BackupOptions { kind: arguments.kind, keep: arguments.keep };
    let to = stream.is_none().then_some(to);
    let request = BackupRequest { to, options, rate: arguments.rate };
    let mut line = ProgressLine::new("backup");
    match Door::find(&arguments.data)? {
        Door::Server(running) => ask(running, &request, (stream, &arguments.to), &mut line),
        Door::Repository(repository) => make_here(&repository, &request, stream, &mut line),
    }
}

fn ask(
    running: Running,
    request: &BackupRequest,
    (mut stream, path): (Option<&mut dyn Write>, &Path),
    line: &mut ProgressLine,
) -> Result<Value, BackupCommandError> {
    let mut streaming = running.stream("backup", &request.to_json())?;
    loop {
        match streaming.next()? {
            Event::Data(bytes) => {
                if let Some(stream) = &mut stream {
                    stream.write_all(&bytes).map_err(|source| BackupCommandError::Write {
                        path: path.to_owned(),
                        source,
                    })?;
                }
            }
            Event::Progress(progress) => line.tell(&done(&progress)),
            Event::End(result) => return Ok(result),
        }
    }
}

fn done(progress: &Value) -> Done {
    let number = |name: &str| progress[name].as_u64().unwrap_or_default();
    Done {
        items: number("items"),
        of: "items",
        bytes: number("bytes"),
        bytes_expected: number("bytes_expected"),
    }
}

fn make_here(
    repository: &Repository,
    request: &BackupRequest,
    stream: Option<&mut dyn Write>,
    line: &mut ProgressLine,
) -> Result<Value, BackupCommandError> {
    let mut tell = |progress: &repository::Progress| {
        line.tell(&Done {
            items: progress.items,
            of: "items",
            bytes: progress.bytes,
            bytes_expected: progress.bytes_expected,
        });
        ControlFlow::Continue(())
    };
    let made = request.perform(repository, stream, &mut tell);
    let closed = Door::close(repository);
    let result = made?;
    closed?;
    Ok(result)
}

/// Holds a backup down to so many bytes a second, by waiting.
pub struct Pace {
    bytes_a_second: Option<u64>,
    begun: Instant,
}

impl Pace {
    /// From now on.
    pub fn new(bytes_a_second: Option<u64>) -> Self {
        Self { bytes_a_second, begun: Instant::now() }
    }

    /// Waits until so many bytes are due.
    pub fn wait(&self, bytes: u64) {
        let Some(rate) = self.bytes_a_second else { return };
        let due = Duration::from_secs_f64(bytes as f64 / rate as f64);
        std::thread::sleep(due.saturating_sub(self.begun.elapsed()));
    }
}

fn made(result: &Value) -> String {
    let number = |name: &str| result[name].as_u64().unwrap_or_default();
    let text = |name: &str| result[name].as_str().unwrap_or_default().to_owned();
    let (items, megabytes) = (number("items"), number("bytes") as f64 / 1e6);
    let blobs = blobs(number("blobs"), number("blob_bytes"));
    let mut lines = match text("added").as_str() {
        "full" => format!("full backup {}: {items} rows, {megabytes:.1} MB{blobs}\n", text("set")),
        "commits" => format!(
            "incremental backup {}: {items} commits, {megabytes:.1} MB{blobs}\n",
            text("set")
        ),
        _ => format!("nothing is new since {}\n", text("set")),
    };
    lines.push_str(&format!(
        "it can be restored up to commit {} of {}\n",
        number("commit"),
        text("time")
    ));
    for (name, what) in [("cleaned", "unfinished, removed"), ("removed", "no longer kept")] {
        for set in result[name].as_array().into_iter().flatten() {
            lines.push_str(&format!("{what}: {}\n", set.as_str().unwrap_or_default()));
        }
    }
    lines
}

/// The blobs that were new to the folder.
fn blobs(count: u64, bytes: u64) -> String {
    match count {
        0 => String::new(),
        _ => format!(" and {count} blobs of {:.1} MB", bytes as f64 / 1e6),
    }
}

fn shown(listing: &BackupListing, json: bool) -> Finished {
    let exit = if listing.findings.is_empty() { Exit::Success } else { Exit::Failure };
    let text = if json { format!("{}\n", listed_json(listing)) } else { listed(listing) };
    Finished { text, exit }
}

fn kind(set: &ListedSet) -> &'static str {
    match set.kind {
        SetKind::Full => "full",
        SetKind::Log => "incremental",
    }
}

fn listed(listing: &BackupListing) -> String {
    let mut text = format!("backups of the repository {}\n", listing.repository);
    for set in &listing.sets {
        let of = match set.kind {
            SetKind::Full => format!("{} rows", set.items),
            SetKind::Log => format!("commits {} to {}", set.after.0 + 1, set.to),
        };
        text.push_str(&format!(
            "{:<11}  commit {} of {}: {of}, {:.1} MB{}, made {}\n",
            kind(set),
            set.to,
            set.time.rfc3339(),
            set.bytes as f64 / 1e6,
            blobs(set.blobs, set.blob_bytes),
            set.made.rfc3339()
        ));
    }
    for set in &listing.unfinished {
        text.push_str(&format!("unfinished   {set}: the next backup removes it\n"));
    }
    if let Some((after, to)) = listing.archive {
        text.push_str(&format!("archive      commits {} to {to}\n", after.0 + 1));
    }
    if listing.blobs > 0 {
        let megabytes = listing.blob_bytes as f64 / 1e6;
        text.push_str(&format!("blobs        {}, {megabytes:.1} MB\n", listing.blobs));
    }
    if listing.blobs_gone > 0 {
        text.push_str(&format!(
            "not there    {} blobs, removed before they could be copied: commits that name them \
             cannot be restored, later ones can\n",
            listing.blobs_gone
        ));
    }
    for finding in &listing.findings {
        text.push_str(&format!("wrong: {finding}\n"));
    }
    match listing.reachable {
        Some(commit) => text + &format!("everything up to commit {commit} can be restored\n"),
        None => text,
    }
}

fn listed_json(listing: &BackupListing) -> Value {
    let set = |set: &ListedSet| {
        json!({
            "name": set.name,
            "kind": kind(set),
            "after": set.after.0,
            "to": set.to.0,
            "time": set.time.rfc3339(),
            "made": set.made.rfc3339(),
            "items": set.items,
            "bytes": set.bytes,
            "blobs": set.blobs,
            "blob_bytes": set.blob_bytes,
        })
    };
    json!({
        "repository": listing.repository,
        "sets": listing.sets.iter().map(set).collect::<Vec<_>>(),
        "unfinished": listing.unfinished,
        "archive": listing.archive.map(|(after, to)| json!({ "after": after.0, "to": to.0 })),
        "blobs": listing.blobs,
        "blob_bytes": listing.blob_bytes,
        "blobs_gone": listing.blobs_gone,
        "reachable": listing.reachable.map(|commit| commit.0),
        "findings": listing.findings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_is_told_in_two_lines() {
        let result = json!({
            "added": "full", "set": "full-7", "items": 3, "bytes": 1_500_000, "commit": 7,
            "time": "2026-10-04T12:00:00.000Z", "cleaned": ["log-1-2"], "removed": [],
        });
        let expected = "full backup full-7: 3 rows, 1.5 MB\n\
                        it can be restored up to commit 7 of 2026-10-04T12:00:00.000Z\n\
                        unfinished, removed: log-1-2\n";
        assert_eq!(made(&result), expected);
    }

    #[test]
    fn no_rate_is_no_wait() {
        Pace::new(None).wait(u64::MAX);
        Pace::new(Some(1 << 30)).wait(1);
    }
}
