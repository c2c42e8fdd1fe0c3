//! The runs of a folder: which there are, what is said of them, and the little that may be changed
//! afterwards. It never changes what was archived.

use super::draft::{RUNNING, content_hash};
use super::error::{ArchiveError, reading, writing};
use super::id::RunId;
use super::label::Label;
use super::sums;
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Behind the id in the name of a folder that is about to go.
const DELETED: &str = ".deleted";

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is whole, and does not change any more.
    Whole,
    /// It goes on.
    Running,
    /// What wrote it has ended before the run was whole.
    Killed,
}

/// A run of the archive.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Its folder.
    pub folder: PathBuf,
    /// How it stands.
    pub state: State,
    /// What `verdict.json` says; null if it is not whole.
    pub verdict: Value,
    /// Tags and note.
    pub label: Label,
}

impl Run {
    /// PASSED, FAILED, INVALID, RUNNING or KILLED.
    pub fn outcome(&self) -> &str {
        match self.state {
            State::Running => "RUNNING",
            State::Killed => "KILLED",
            State::Whole => self.verdict["outcome"].as_str().unwrap_or("INVALID"),
        }
    }

    /// When it began, as far as that is known: the id has the second.
    pub fn started_utc(&self) -> &str {
        self.verdict["started_utc"].as_str().unwrap_or(&self.id.as_str()[..16])
    }

    /// What was loaded.
    pub fn name(&self) -> String {
        let name = self.verdict["name"].as_str().map(str::to_owned);
        name.or_else(|| Some(self.json("plan.json").ok()?["name"].as_str()?.to_owned()))
            .unwrap_or_default()
    }

    /// The hash of all that is in it; nothing if it is not whole.
    pub fn content_sha256(&self) -> Option<String> {
        (self.state == State::Whole).then(|| content_hash(&self.folder).ok()).flatten()
    }

    /// The text of one of its files.
    ///
    /// # Errors
    /// There is none of that name, or it cannot be read.
    pub fn text(&self, name: &str) -> Result<String, ArchiveError> {
        let path = self.folder.join(name);
        fs::read_to_string(&path).map_err(reading(&path))
    }

    /// One of its files that is JSON.
    ///
    /// # Errors
    /// There is none of that name, or it is not JSON.
    pub fn json(&self, name: &str) -> Result<Value, ArchiveError> {
        let text = self.text(name)?;
        serde_json::from_str(&text)
            .map_err(|error| reading(&self.folder.join(name))(io::Error::other(error)))
    }
}

/// A folder of runs.
#[derive(Clone, Debug)]
pub struct Runs {
    folder: PathBuf,
}

impl Runs {
    /// The runs of a folder. One that does not exist has none.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Every run, the newest first.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn list(&self) -> Result<Vec<Run>, ArchiveError> {
        let runs = self.ids()?.into_iter().map(|(id, is_whole)| self.read(id, is_whole));
        let mut runs: Vec<Run> = runs.collect();
        let time = |run: &Run| run.started_utc().replace(['-', ':'], "");
        runs.sort_by(|a, b| (time(b), &b.id).cmp(&(time(a), &a.id)));
        Ok(runs)
    }

    /// The run whose id begins so; no other may.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub fn find(&self, prefix: &str) -> Result<Run, ArchiveError> {
        let mut found = self.ids()?;
        found.retain(|(id, _)| id.as_str().starts_with(prefix));
        match <[_; 1]>::try_from(found) {
            Ok([(id, is_whole)]) => Ok(self.read(id, is_whole)),
            Err(none) if none.is_empty() || prefix.is_empty() => {
                Err(ArchiveError::Unknown { id: prefix.to_owned(), folder: self.folder.clone() })
            }
            Err(several) => Err(ArchiveError::Ambiguous {
                prefix: prefix.to_owned(),
                ids: several.iter().map(|(id, _)| id.to_string()).collect(),
            }),
        }
    }

    /// Adds tags and takes some away; gives what there is then.
    ///
    /// # Errors
    /// A tag cannot be one, there would be too many, or they cannot be written.
    pub fn tag(&self, run: &Run, add: &[String], remove: &[String]) -> Result<Label, ArchiveError> {
        self.change(run, |label| label.retag(add, remove))
    }

    /// Sets the note; an empty one takes it away.
    ///
    /// # Errors
    /// It is too long, or cannot be written.
    pub fn note(&self, run: &Run, text: &str) -> Result<Label, ArchiveError> {
        self.change(run, |label| label.renote(text))
    }

    /// What is not as it was archived, one line each.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn verify(&self, run: &Run) -> Result<Vec<String>, ArchiveError> {
        match run.state {
            State::Whole => sums::changes(&self.folder, run.id.as_str()),
            State::Running => Ok(vec!["it goes on".to_owned()]),
            State::Killed => Ok(vec!["it was killed: what there is has no sums".to_owned()]),
        }
    }

    /// Deletes a run with its tags and note.
    ///
    /// # Errors
    /// It goes on, or cannot be deleted.
    pub fn delete(&self, run: &Run) -> Result<(), ArchiveError> {
        if run.state == State::Running {
            return Err(ArchiveError::Running(run.id.to_string()));
        }
        // Under another name first: a run of which a part is gone is none.
        let gone = self.folder.join(format!("{}{DELETED}", run.id));
        make_writable(&run.folder).map_err(writing(&run.folder))?;
        fs::rename(&run.folder, &gone).map_err(writing(&run.folder))?;
        for beside in [sums::BESIDE, Label::BESIDE] {
            let path = self.folder.join(format!("{}{beside}", run.id));
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(writing(&path)(error));
                }
                _ => {}
            }
        }
        fs::remove_dir_all(&gone).map_err(writing(&gone))
    }

    /// Every id, with whether its run is whole.
    fn ids(&self) -> Result<Vec<(RunId, bool)>, ArchiveError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(reading(&self.folder))?,
        };
        let mut ids = Vec::new();
        for entry in entries {
            let name = entry.map_err(reading(&self.folder))?.file_name();
            let Some(name) = name.to_str() else { continue };
            let id = name.strip_suffix(RUNNING).unwrap_or(name);
            ids.extend(RunId::parse(id).map(|found| (found, id == name)));
        }
        Ok(ids)
    }

    fn read(&self, id: RunId, is_whole: bool) -> Run {
        let suffix = if is_whole { "" } else { RUNNING };
        let folder = self.folder.join(format!("{id}{suffix}"));
        let state = match is_whole {
            true => State::Whole,
            false if is_locked(&folder) => State::Running,
            false => State::Killed,
        };
        let label = Label::read(&self.folder, &id);
        let mut run = Run { id, folder, state, verdict: Value::Null, label };
        run.verdict = run.json("verdict.json").unwrap_or_default();
        run
    }

    fn change(
        &self,
        run: &Run,
        change: impl FnOnce(&mut Label) -> Result<(), ArchiveError>,
    ) -> Result<Label, ArchiveError> {
        // Two that change it at the same time do so one after the other.
        let lock = File::open(&self.folder).map_err(writing(&self.folder))?;
        flock(&lock, FlockOperation::LockExclusive)
            .map_err(|error| writing(&self.folder)(error.into()))?;
        let mut label = Label::read(&self.folder, &run.id);
        change(&mut label)?;
        label.write(&self.folder, &run.id)?;
        Ok(label)
    }
}

/// Whether somebody writes the run that is in this folder.
fn is_locked(folder: &Path) -> bool {
    let Ok(file) = File::open(folder) else { return false };
    flock(&file, FlockOperation::NonBlockingLockShared).is_err()
}

/// What is read-only cannot be deleted.
fn make_writable(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            make_writable(&path)?;
        }
    }
    Ok(())
}
