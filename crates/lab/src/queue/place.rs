//! The folder of a queue: its jobs, and the lock under which they change. It starts nothing.

use super::error::{QueueError, at};
use super::job::{Job, JobState, Submission};
use crate::archive::RunId;
use crate::limits::QUEUE_JOBS_MAX;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How often somebody who waits for a job looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Behind the id in the name of a job's folder that is not whole yet.
const NEW: &str = ".new";

/// Is in the folder while no job may begin.
const SUSPENDED: &str = "suspended";

/// A queue.
#[derive(Clone, Debug)]
pub struct Queue {
    folder: PathBuf,
}

impl Queue {
    /// The queue in a folder, which need not exist.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Copies what is submitted into the queue; gives its job.
    ///
    /// # Errors
    /// The queue is full or cannot be written, or a file cannot be copied.
    pub fn submit(&self, submission: &Submission) -> Result<Job, QueueError> {
        fs::create_dir_all(&self.folder).map_err(at(&self.folder))?;
        if let Some((from, _)) = submission.files.iter().find(|(_, to)| !is_below(to)) {
            return Err(QueueError::Outside(from.clone()));
        }
        let _lock = self.lock()?;
        let jobs = self.list()?;
        if jobs.iter().filter(|job| job.state == JobState::Queued).count() >= QUEUE_JOBS_MAX {
            return Err(QueueError::Full);
        }
        let id = self.free_id(&submission.name, submission);
        let (new, whole) = (self.folder.join(format!("{id}{NEW}")), self.folder.join(id.as_str()));
        let made = Job::create(&new, &id, submission)
            .and_then(|()| fs::rename(&new, &whole).map_err(at(&whole)));
        if let Err(error) = made {
            // What is left of it is no job, and goes with the next that cannot be made.
            let _gone = fs::remove_dir_all(&new);
            return Err(error);
        }
        self.find(id.as_str())
    }

    /// Every job, in the order they came.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn list(&self) -> Result<Vec<Job>, QueueError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(at(&self.folder))?,
        };
        let mut jobs = Vec::new();
        for entry in entries {
            let name = entry.map_err(at(&self.folder))?.file_name();
            let id = name.to_str().and_then(RunId::parse);
            jobs.extend(id.and_then(|id| Job::read(&self.folder.join(&name), id)));
        }
        jobs.sort_by(|a, b| (&a.submitted_utc, &a.id).cmp(&(&b.submitted_utc, &b.id)));
        Ok(jobs)
    }

    /// The job whose id begins so; no other may.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub fn find(&self, prefix: &str) -> Result<Job, QueueError> {
        let mut jobs = self.list()?;
        jobs.retain(|job| job.id.as_str().starts_with(prefix));
        match <[Job; 1]>::try_from(jobs) {
            Ok([job]) => Ok(job),
            Err(none) if none.is_empty() || prefix.is_empty() => {
                Err(QueueError::Unknown { id: prefix.to_owned(), folder: self.folder.clone() })
            }
            Err(several) => Err(QueueError::Ambiguous {
                prefix: prefix.to_owned(),
                ids: several.iter().map(|job| job.id.to_string()).collect(),
            }),
        }
    }

    /// Cancels a job. One that runs is asked to end, and closes its run as what it is; `by_force`
    /// it is killed.
    ///
    /// # Errors
    /// It is over, or the queue cannot be written.
    pub fn cancel(&self, job: &Job, by_force: bool) -> Result<Job, QueueError> {
        let _lock = self.lock()?;
        // As it stands now, under the lock.
        let mut job = self.find(job.id.as_str())?;
        match job.state {
            JobState::Queued => job.turn(JobState::Cancelled, None)?,
            JobState::Running => {
                (job.is_unwanted, job.is_forced) = (true, by_force);
                job.turn(JobState::Running, None)?;
                end(&job, by_force)?;
            }
            state => {
                return Err(QueueError::Over { id: job.id.to_string(), state: state.name() });
            }
        }
        Ok(job)
    }

    /// Waits until a job is over. `look` is asked each time, and false ends the wait.
    ///
    /// # Errors
    /// The queue cannot be read.
    pub fn wait(&self, id: &RunId, mut look: impl FnMut(&Job) -> bool) -> Result<Job, QueueError> {
        loop {
            let job = self.find(id.as_str())?;
            if job.state.is_over() || !look(&job) {
                return Ok(job);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Lets no job begin any more, or lets them begin again. A run that goes on is not touched.
    ///
    /// # Errors
    /// The queue cannot be written.
    pub fn suspend(&self, is_suspended: bool) -> Result<(), QueueError> {
        fs::create_dir_all(&self.folder).map_err(at(&self.folder))?;
        let path = self.folder.join(SUSPENDED);
        let _lock = self.lock()?;
        let done = match is_suspended {
            true => File::create(&path).map(drop),
            false => fs::remove_file(&path),
        };
        match done {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done.map_err(at(&path)),
        }
    }

    /// Whether no job may begin.
    pub fn is_suspended(&self) -> bool {
        self.folder.join(SUSPENDED).exists()
    }

    /// Whether a runner works on it.
    pub fn has_runner(&self) -> bool {
        is_held(&self.runner_lock())
    }

    pub(super) fn runner_lock(&self) -> PathBuf {
        self.folder.join("runner.lock")
    }

    /// Waits for the lock under which jobs change; it is held as long as the file is open.
    pub(super) fn lock(&self) -> Result<File, QueueError> {
        let path = self.folder.join("state.lock");
        let file = File::create(&path).map_err(at(&path))?;
        flock(&file, FlockOperation::LockExclusive).map_err(|error| at(&path)(error.into()))?;
        Ok(file)
    }

    /// One that no job and no run has.
    fn free_id(&self, name: &str, submission: &Submission) -> RunId {
        let drawn = std::iter::repeat_with(|| RunId::new(SystemTime::now(), name));
        let is_free = |id: &RunId| {
            !self.folder.join(id.as_str()).exists() && !submission.runs.join(id.as_str()).exists()
        };
        let mut free = drawn.filter(is_free);
        free.next().expect("it draws without end")
    }
}

/// Asks the process of a job to end, or kills it.
pub(super) fn end(job: &Job, by_force: bool) -> Result<(), QueueError> {
    // Its process is there as long as the lock is: then the pid is nobody else's.
    let pid = job.pid.filter(|_| is_held(&job.lock()));
    let pid = pid.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    let signal = if by_force { Signal::KILL } else { Signal::TERM };
    match pid.map(|pid| kill_process(pid, signal)) {
        None | Some(Ok(())) | Some(Err(Errno::SRCH)) => Ok(()),
        Some(Err(error)) => Err(at(&job.folder)(error.into())),
    }
}

/// Whether somebody holds the lock of a file.
pub(super) fn is_held(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    flock(&file, FlockOperation::NonBlockingLockShared).is_err()
}

fn is_below(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
