//! What a server can be asked, and its answers: the one match over the commands.

use super::figures::Sources;
use super::tasks::{Tasks, TasksError};
use serde_json::{Value, json};
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

    fn server(&self) -> Value {
        json!({
            "version": VERSION,
            "pid": std::process::id(),
            "application": self.application,
        })
    }
}

/// Enough of a request to know it again.
fn excerpt(request: &Value) -> String {
    request.to_string().chars().take(200).collect()
}
