//! What a server can be asked, and its answers: the one match over the commands.

use super::backup::{self, BackupRequest};
use super::exchange::Exchange;
use super::figures::Sources;
use super::tasks::{Tasks, TasksError};
use crate::exchange::{CutExport, ServedError, serve_export, serve_import};
use crate::stats::{self, CountError};
use crate::verify::{self, ServeVerifyError};
use repository::{BackupError, Progress, Repository};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use thiserror::Error;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the answers are made of.
pub struct Commands {
    /// The application's name, if one is served.
    pub application: Option<String>,
    /// Who knows the tasks.
    pub tasks: Option<Tasks>,
    /// What `top` is told.
    pub figures: Option<Sources>,
    /// What streams come from and go to.
    pub repository: Option<Arc<Repository>>,
    /// Imports take turns: of one whose sender was killed the rest may still be coming in.
    pub importing: Mutex<()>,
    /// What an export that was cut off can be gone on with from.
    pub cut_export: CutExport,
}

/// Why a request has no answer.
#[derive(Debug, Error)]
pub enum Refusal {
    /// The request has not the form of one.
    #[error("expected {{\"command\": NAME, \"arguments\": {{...}}}}, got {0}")]
    Form(String),
    /// There is no such command here; the asking program may be of another version.
    #[error("this server (sarsen {VERSION}) has no command {command:?}")]
    Unknown {
        /// What came.
        command: String,
    },
    /// The other side has gone, or the server is being stopped.
    #[error("{0}")]
    Stream(#[from] io::Error),
    /// It is an export or import, which ended early.
    #[error(transparent)]
    Exchange(#[from] ServedError),
    /// Documents could not be counted.
    #[error(transparent)]
    Count(#[from] CountError),
    /// It is a check, which could not be done.
    #[error(transparent)]
    Verify(#[from] ServeVerifyError),
    /// A backup could not be made.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// It concerns tasks, and could not be done.
    #[error(transparent)]
    Tasks(#[from] TasksError),
}

impl Commands {
    /// The answer to a request.
    pub fn answer(&self, request: &Value) -> Result<Value, Refusal> {
        let Some(command) = request["command"].as_str() else {
            return Err(Refusal::Form(excerpt(request)));
        };
        match (command, &self.tasks, &self.figures) {
            ("server", ..) => Ok(self.server()),
            ("tasks", Some(tasks), _) => Ok(tasks.answer(&request["arguments"])?),
            ("top", _, Some(figures)) => Ok(figures.read()),
            _ => Err(Refusal::Unknown { command: command.to_owned() }),
        }
    }

    /// Whether `request` is answered by a stream.
    pub fn is_stream(&self, request: &Value) -> bool {
        matches!(
            request["command"].as_str(),
            Some("backup" | "echo" | "export" | "import" | "verify" | "stats")
        )
    }

    /// Answers by a stream; what this gives ends it.
    pub fn stream(&self, request: &Value, exchange: &Exchange<'_>) -> Result<Value, Refusal> {
        let command = request["command"].as_str().unwrap_or_default();
        let arguments = &request["arguments"];
        match (command, &self.repository) {
            ("backup", Some(repository)) => back_up(repository, &request["arguments"], exchange),
            ("echo", _) => Ok(echo(exchange)?),
            ("export", Some(repository)) => {
                Ok(serve_export((repository, &self.cut_export), arguments, exchange)?)
            }
            ("stats", Some(repository)) => Ok(stats::serve(repository, arguments, exchange)?),
            ("verify", Some(repository)) => Ok(verify::serve(repository, exchange)?),
            ("import", Some(repository)) => {
                let _turn = self.importing.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(serve_import(repository, arguments, exchange)?)
            }
            _ => Err(Refusal::Unknown { command: command.to_owned() }),
        }
    }

    fn server(&self) -> Value {
        json!({
            "version": VERSION,
            "pid": std::process::id(),
            "application": self.application,
        })
    }
}

/// Into a folder, or to the other side; ended if that goes away.
fn back_up(
    repository: &Repository,
    arguments: &Value,
    exchange: &Exchange<'_>,
) -> Result<Value, Refusal> {
    let request = BackupRequest::from_json(arguments);
    let request = request.ok_or_else(|| Refusal::Form(excerpt(arguments)))?;
    let mut out = exchange.output();
    let tell = &mut |done: &Progress| match exchange.progress(|| backup::progress(done)) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_gone) => ControlFlow::Break(()),
    };
    let result = request.perform(repository, Some(&mut out), tell)?;
    out.flush()?;
    Ok(result)
}

/// Sends back what comes: for finding out what the socket does.
fn echo(exchange: &Exchange<'_>) -> io::Result<Value> {
    let mut out = exchange.output();
    let bytes = io::copy(&mut exchange.input(), &mut out)?;
    out.flush()?;
    Ok(json!({ "bytes": bytes }))
}

/// Enough of a request to know it again.
fn excerpt(request: &Value) -> String {
    request.to_string().chars().take(200).collect()
}
