//! `sarsen export` and `sarsen import`: the same work on a repository that this process opens, and
//! by the admin socket on one that a server has. `served` is the server's side, `message` what the
//! two say to each other, `kept` what a cut export leaves for a while, `progress` what a person
//! sees meanwhile. What a line says is `repository::exchange`'s business.

mod export;
mod import;
mod kept;
mod message;
mod progress;
mod served;

pub use export::run as export;
pub use import::run as import;
pub use kept::CutExport;
pub use served::{ServedError, export as serve_export, import as serve_import};

use crate::admin::AskError;
use crate::door::DoorError;
use crate::exit::Exit;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why an export or import did not do all of it.
#[derive(Debug, Error)]
pub enum ExchangeError {
    /// There is no way to the repository.
    #[error(transparent)]
    Door(#[from] DoorError),
    /// The server did not do it, or has gone.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// A file cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Nobody takes the output.
    #[error("cannot write to stdout: {0}")]
    Output(io::Error),
    /// The file cannot be gone on with.
    #[error("cannot go on with {}: {why}", path.display())]
    Resume {
        /// Which.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// It was begun and not finished.
    #[error("{0}")]
    Work(String),
}

impl ExchangeError {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Door(error) => error.exit(),
            Self::Ask(AskError::Connect { .. } | AskError::Place { .. }) => Exit::Unreachable,
            _ => Exit::Failure,
        }
    }
}
