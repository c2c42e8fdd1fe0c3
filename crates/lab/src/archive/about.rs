//! What is said about a run besides its plan: where it is kept, what it was made from, and by which
//! program.

use super::id::RunId;
use serde_json::Value;
use std::path::PathBuf;

/// What is said about a run besides its plan.
#[derive(Clone, Debug)]
pub struct About {
    /// The folder of runs.
    pub runs: PathBuf,
    /// What was given.
    pub spec: Spec,
    /// Files that it reads. Each is copied, unless it is larger than
    /// [`RUN_DATA_BYTES_MAX`](crate::limits::RUN_DATA_BYTES_MAX).
    pub data: Vec<PathBuf>,
    /// The command line, the program's name among it.
    pub arguments: Vec<String>,
    /// The program.
    pub build: Build,
    /// Whether a hash of this machine's name is kept.
    pub host: bool,
    /// The id of the run, if somebody has given it out already.
    pub id: Option<RunId>,
}

/// What the plan of a run was made from.
#[derive(Clone, Debug)]
pub enum Spec {
    /// A scenario's file.
    Toml(String),
    /// Arguments of a command.
    Json(Value),
}

/// Which program it is.
#[derive(Clone, Debug, Default)]
pub struct Build {
    /// Its version.
    pub version: String,
    /// The commit it was built from, if that is known.
    pub commit: Option<String>,
    /// Whether files differed from that commit.
    pub changed: Option<bool>,
}

impl Default for About {
    fn default() -> Self {
        Self {
            runs: PathBuf::from("runs"),
            spec: Spec::Json(Value::Null),
            data: Vec::new(),
            arguments: Vec::new(),
            build: Build::default(),
            host: true,
            id: None,
        }
    }
}

impl Spec {
    /// The file it is kept in, and its text.
    pub(super) fn file(&self) -> (&'static str, String) {
        match self {
            Self::Toml(text) => ("spec.toml", super::mask::text(text)),
            Self::Json(value) => ("spec.json", pretty(value)),
        }
    }
}

/// JSON for people, without secrets, ending with a newline.
pub(super) fn pretty(value: &Value) -> String {
    let mut value = value.clone();
    super::mask::json(&mut value);
    format!("{value:#}\n")
}
