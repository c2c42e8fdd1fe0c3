//! The way into the repository of a data folder: by the server that runs on it, or by opening it
//! where none does. What is asked there is the commands' business.

use crate::admin::{AskError, Running};
use crate::exit::Exit;
use crate::machine;
use crate::patience;
use crate::steady_clock::SteadyClock;
use repository::{CloseError, Kept, OpenError, Options, Repository};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Who has it open.
pub enum Door {
    /// A server.
    Server(Running),
    /// This process.
    Repository(Arc<Repository>),
}

/// Why there is no way in, or out.
#[derive(Debug, Error)]
pub enum DoorError {
    /// The folder cannot be read.
    #[error("cannot read {}: {source}", folder.display())]
    Folder {
        /// The data folder.
        folder: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The folder is empty, or not there.
    #[error("there is no repository in {}; expected the --data of a server", .0.display())]
    Empty(PathBuf),
    /// The server that runs cannot be asked.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// No server runs, and the repository does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The repository did not close.
    #[error("the repository did not close cleanly: {0}; it recovers when it is opened again")]
    Close(CloseError),
}

impl DoorError {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Folder { .. } | Self::Empty(_) | Self::Open(_) => Exit::Repository,
            Self::Ask(AskError::Refused(_)) | Self::Close(_) => Exit::Failure,
            Self::Ask(_) => Exit::Unreachable,
        }
    }
}

/// Whether another process has it, which may be a server that begins to serve.
fn is_locked(error: &DoorError) -> bool {
    matches!(error, DoorError::Open(OpenError::Locked { .. }))
}

impl Door {
    /// Of a repository that is there.
    pub fn find(folder: &Path) -> Result<Self, DoorError> {
        // Opening would make a repository.
        match std::fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
            Ok(false) => Self::find_or_make(folder),
            Ok(true) => Err(DoorError::Empty(folder.to_owned())),
            Err(e) if e.kind() == ErrorKind::NotFound => Err(DoorError::Empty(folder.to_owned())),
            Err(source) => Err(DoorError::Folder { folder: folder.to_owned(), source }),
        }
    }

    /// As `find`; a new one is made where there is nothing.
    pub fn find_or_make(folder: &Path) -> Result<Self, DoorError> {
        let tell = |waits: &str| eprintln!("sarsen: {waits}");
        patience::wait_for_lock(is_locked, tell, || Self::enter(folder))
    }

    fn enter(folder: &Path) -> Result<Self, DoorError> {
        let is_missing =
            matches!(std::fs::metadata(folder), Err(e) if e.kind() == ErrorKind::NotFound);
        if !is_missing && let Some(running) = Running::find(folder)? {
            return Ok(Self::Server(running));
        }
        let clock = SteadyClock::new(Arc::new(machine::now));
        let options = Options {
            folder: folder.to_owned(),
            memory_bytes: machine::default_memory(),
            clock: clock.clock(),
        };
        // What has expired may be the affair of an application that is not there.
        let (repository, _) = Repository::open_keeping(options, Kept::Everything)?;
        clock.go_on_after(repository.time());
        Ok(Self::Repository(repository))
    }

    /// Closes what was opened.
    pub fn close(repository: &Repository) -> Result<(), DoorError> {
        repository.close().map_err(DoorError::Close)
    }
}
