//! `sarsen restore`: makes a repository of a backup.

use crate::cli::RestoreArguments;
use crate::exit::Exit;
use crate::machine;
use crate::progress::{Done, ProgressLine};
use repository::{BackupSource, RestoreError, RestoreOptions, Restored, restore};
use serde_json::json;
use std::fs::File;
use std::io::{self, BufReader};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;

/// Why nothing was restored.
#[derive(Debug, Error)]
pub enum RestoreCommandError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file of tar.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The backup, or the new folder.
    #[error(transparent)]
    Restore(#[from] RestoreError),
}

impl RestoreCommandError {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Restore(RestoreError::Folder(_)) => Exit::Repository,
            Self::Read { .. } | Self::Restore(_) => Exit::Failure,
        }
    }
}

/// What goes to stdout.
pub fn run(arguments: &RestoreArguments) -> Result<String, RestoreCommandError> {
    let options = RestoreOptions {
        folder: arguments.data.clone(),
        archive: arguments.archive.clone(),
        goal: arguments.to,
        clock: Arc::new(machine::now),
    };
    let restored = if arguments.from.as_os_str() == "-" {
        from(BackupSource::Tar(&mut io::stdin().lock()), &options)?
    } else if arguments.from.is_dir() {
        from(BackupSource::Folder(arguments.from.clone()), &options)?
    } else {
        let path = arguments.from.clone();
        let file = File::open(&path);
        let file = file.map_err(|source| RestoreCommandError::Read { path, source })?;
        from(BackupSource::Tar(&mut BufReader::new(file)), &options)?
    };
    Ok(if arguments.json { as_json(&restored) } else { told(&restored, arguments) })
}

fn from(source: BackupSource<'_>, options: &RestoreOptions) -> Result<Restored, RestoreError> {
    let mut line = ProgressLine::new("restore");
    restore(source, options, &mut |progress| {
        line.tell(&Done {
            items: progress.items,
            of: "items",
            bytes: progress.bytes,
            bytes_expected: progress.bytes_expected,
        });
        ControlFlow::Continue(())
    })
}

fn told(restored: &Restored, arguments: &RestoreArguments) -> String {
    let Restored { repository, commit, time, rows, commits, documents, .. } = restored;
    let blobs = match restored.blobs {
        0 => String::new(),
        blobs => format!(", {blobs} blobs of {:.1} MB", restored.blob_bytes as f64 / 1e6),
    };
    format!(
        "restored {} up to commit {commit} of {}: {rows} rows of a full backup, {commits} commits \
         after it\nverified: {documents} documents{blobs}\nit is the repository {repository} from \
         now on; back it up to a folder of its own\n",
        arguments.data.display(),
        time.rfc3339()
    )
}

fn as_json(restored: &Restored) -> String {
    let Restored { repository, commit, time, rows, commits, documents, blobs, blob_bytes } =
        restored;
    let result = json!({
        "repository": repository,
        "commit": commit.0,
        "time": time.rfc3339(),
        "rows": rows,
        "commits": commits,
        "documents": documents,
        "blobs": blobs,
        "blob_bytes": blob_bytes,
    });
    format!("{result}\n")
}
