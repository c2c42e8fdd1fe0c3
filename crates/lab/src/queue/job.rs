//! A job of the queue: what was submitted, and how it stands.

use super::error::{QueueError, at};
use crate::archive::{RunId, utc};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Submission {
    /// What it is called.
    pub name: String,
    /// The scenario's file name and text.
    pub scenario: (String, String),
    /// Files that the scenario reads, with the place below its folder that it looks for them at.
    pub files: Vec<(PathBuf, PathBuf)>,
    /// More arguments of the run.
    pub arguments: Vec<String>,
    /// The folder of runs that it is archived in.
    pub runs: PathBuf,
    /// It is carried out only after this job has passed.
    pub after: Option<RunId>,
    /// It is not carried out before this.
    pub not_before: Option<SystemTime>,
}

/// How a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It waits for its turn.
    Queued,
    /// It is carried out.
    Running,
    /// It was carried out and kept its gates.
    Passed,
    /// It was carried out and did not keep a gate.
    Failed,
    /// It could not be carried out, or its figures cannot be believed.
    Invalid,
    /// Somebody did not want it any more.
    Cancelled,
    /// It ended without saying how.
    Killed,
}

impl JobState {
    const ALL: [Self; 7] = [
        Self::Queued,
        Self::Running,
        Self::Passed,
        Self::Failed,
        Self::Invalid,
        Self::Cancelled,
        Self::Killed,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Invalid => "invalid",
            Self::Cancelled => "cancelled",
            Self::Killed => "killed",
        }
    }

    /// Whether nothing will change any more.
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// A job of the queue. Its id is also that of its run.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its id.
    pub id: RunId,
    /// Its folder.
    pub folder: PathBuf,
    /// How it stands.
    pub state: JobState,
    /// Since when.
    pub since_utc: String,
    /// Why, if that is not plain.
    pub reason: Option<String>,
    /// How its process ended.
    pub exit_code: Option<i32>,
    /// Its process, while it runs.
    pub pid: Option<u32>,
    /// Whether somebody wants it to end.
    pub is_unwanted: bool,
    /// Whether it is to be killed then.
    pub is_forced: bool,
    /// What it is called.
    pub name: String,
    /// The scenario's file, below its folder.
    pub scenario: PathBuf,
    /// More arguments of the run.
    pub arguments: Vec<String>,
    /// The folder of runs that it is archived in.
    pub runs: PathBuf,
    /// The job that must have passed before.
    pub after: Option<RunId>,
    /// It is not carried out before this.
    pub not_before: Option<SystemTime>,
    /// When it was submitted.
    pub submitted_utc: String,
}

const SUBMITTED: &str = "job.json";
const STATE: &str = "state.json";

impl Job {
    /// The folder with the scenario and its files.
    pub(super) const FILES: &'static str = "files";

    /// Where what the run says is.
    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// The file that is locked as long as the run goes on.
    pub(super) fn lock(&self) -> PathBuf {
        self.folder.join("run.lock")
    }

    /// Writes what was submitted to a new folder.
    pub(super) fn create(
        folder: &Path,
        id: &RunId,
        submission: &Submission,
    ) -> Result<(), QueueError> {
        let files = folder.join(Self::FILES);
        fs::create_dir_all(&files).map_err(at(&files))?;
        let (name, text) = &submission.scenario;
        fs::write(files.join(name), text).map_err(at(&files))?;
        for (from, to) in &submission.files {
            let to = files.join(to);
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder).map_err(at(folder))?;
            }
            fs::copy(from, &to).map_err(at(from))?;
        }
        let submitted = json!({
            "id": id.as_str(),
            "name": submission.name,
            "scenario": name,
            "arguments": submission.arguments,
            "runs": submission.runs,
            "after": submission.after.as_ref().map(RunId::as_str),
            "not_before_utc": submission.not_before.map(utc::extended),
            "not_before_ms": submission.not_before.map(milliseconds),
            "submitted_utc": utc::extended(SystemTime::now()),
        });
        replace(&folder.join(SUBMITTED), &submitted)?;
        replace(&folder.join(STATE), &state_of(JobState::Queued, None))?;
        let path = folder.join("log");
        File::create(&path).map_err(at(&path)).map(drop)
    }

    /// Reads it back; nothing if it is not whole.
    pub(super) fn read(folder: &Path, id: RunId) -> Option<Self> {
        let value = |name: &str| -> Option<Value> {
            serde_json::from_str(&fs::read_to_string(folder.join(name)).ok()?).ok()
        };
        let (submitted, state) = (value(SUBMITTED)?, value(STATE)?);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let arguments = submitted["arguments"].as_array()?.iter().map(text).collect();
        Some(Self {
            id,
            state: JobState::of_name(state["state"].as_str()?)?,
            since_utc: text(&state["since_utc"]),
            reason: state["reason"].as_str().map(str::to_owned),
            exit_code: state["exit_code"].as_i64().map(|code| code as i32),
            pid: state["pid"].as_u64().map(|pid| pid as u32),
            is_unwanted: state["is_unwanted"].as_bool().unwrap_or(false),
            is_forced: state["is_forced"].as_bool().unwrap_or(false),
            name: text(&submitted["name"]),
            scenario: folder.join(Self::FILES).join(submitted["scenario"].as_str()?),
            arguments,
            runs: submitted["runs"].as_str()?.into(),
            after: submitted["after"].as_str().and_then(RunId::parse),
            not_before: submitted["not_before_ms"]
                .as_u64()
                .map(|ms| UNIX_EPOCH + Duration::from_millis(ms)),
            submitted_utc: text(&submitted["submitted_utc"]),
            folder: folder.to_owned(),
        })
    }

    /// Writes how it stands now.
    pub(super) fn turn(&mut self, state: JobState, reason: Option<&str>) -> Result<(), QueueError> {
        self.state = state;
        self.reason = reason.map(str::to_owned);
        let mut value = state_of(state, reason);
        value["exit_code"] = self.exit_code.into();
        value["pid"] = self.pid.into();
        value["is_unwanted"] = self.is_unwanted.into();
        value["is_forced"] = self.is_forced.into();
        replace(&self.folder.join(STATE), &value)
    }

    /// As one object.
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id.as_str(),
            "name": self.name,
            "state": self.state.name(),
            "since_utc": self.since_utc,
            "submitted_utc": self.submitted_utc,
            "reason": self.reason,
            "exit_code": self.exit_code,
            "after": self.after.as_ref().map(RunId::as_str),
            "not_before_utc": self.not_before.map(utc::extended),
            "runs": self.runs,
            "log": self.log(),
        })
    }
}

/// Since 1970.
fn milliseconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

fn state_of(state: JobState, reason: Option<&str>) -> Value {
    json!({
        "state": state.name(),
        "since_utc": utc::extended(SystemTime::now()),
        "reason": reason,
    })
}

/// Whoever reads it sees what was there or what is there now, after a crash too.
fn replace(path: &Path, value: &Value) -> Result<(), QueueError> {
    let new = path.with_extension("new");
    let write = || -> io::Result<()> {
        let mut file = File::create(&new)?;
        file.write_all(format!("{value:#}\n").as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().map_err(at(path))
}
