//! The runner: carries out the jobs of a queue, one after the other, until none is left. Only one
//! runner works on a queue, by a lock that the kernel takes away from one that dies; and only one
//! run goes on, by a lock that a run inherits and keeps when its runner dies.

use super::error::{QueueError, at};
use super::job::{Job, JobState};
use super::place::{Queue, end};
use crate::archive::Runs;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, SystemTime};

/// The program that carries out a run. It is called as `PROGRAM run SCENARIO --runs DIR --id ID`
/// with the arguments of the job, and says by its exit code what came of it.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program.
    pub path: PathBuf,
    /// Exit codes of a run that passed, failed, and is invalid. Any other one is invalid, too, and
    /// the log says why.
    pub codes: [i32; 3],
}

/// How often it looks while all that there is to do is to be done later.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What is to be done next.
enum Turn {
    /// To carry out a job.
    Run(Box<Job>),
    /// To cancel it, for a reason.
    Cancel(Box<Job>, String),
    /// To wait.
    Later,
    /// Nothing.
    None,
}

/// A runner, which has the queue as long as it exists.
pub struct Runner {
    queue: Queue,
    program: Program,
    lock: Option<File>,
}

impl Runner {
    /// Takes the queue.
    ///
    /// # Errors
    /// Another runner has it, or it cannot be written.
    pub fn take(queue: &Queue, program: Program) -> Result<Self, QueueError> {
        std::fs::create_dir_all(queue.folder()).map_err(at(queue.folder()))?;
        let path = queue.runner_lock();
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(at(&path))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_held| QueueError::Taken(queue.folder().to_owned()))?;
        Ok(Self { queue: queue.clone(), program, lock: Some(file) })
    }

    /// Carries out every job that waits, and those that come meanwhile. `tell` hears of each job
    /// when it begins and when it is over.
    ///
    /// # Errors
    /// The queue cannot be read or written.
    pub fn run(mut self, mut tell: impl FnMut(&Job)) -> Result<(), QueueError> {
        self.take_over(&mut tell)?;
        while let Some(mut job) = self.next()? {
            let mut child = match self.start(&mut job) {
                Ok(child) => child,
                Err(error) => {
                    self.close(job, JobState::Invalid, Some(&error.to_string()), &mut tell)?;
                    continue;
                }
            };
            tell(&job);
            let status = child.wait();
            job.exit_code = status.as_ref().ok().and_then(ExitStatus::code);
            let (state, reason) = self.outcome(&status);
            self.close(job, state, reason.as_deref(), &mut tell)?;
        }
        Ok(())
    }

    /// What a runner before this one left behind: a run may still go on, and is waited for.
    fn take_over(&self, tell: &mut dyn FnMut(&Job)) -> Result<(), QueueError> {
        let left = self.queue.list()?.into_iter().filter(|job| job.state == JobState::Running);
        for job in left {
            let path = job.lock();
            if let Ok(file) = File::open(&path) {
                // Until its process is gone.
                flock(&file, FlockOperation::LockExclusive)
                    .map_err(|error| at(&path)(error.into()))?;
            }
            let (state, reason) = archived(&job);
            self.close(job, state, Some(reason), tell)?;
        }
        Ok(())
    }

    /// The job whose turn it is; one that is not to begin yet is waited for. If there is none, or
    /// none may begin, the queue is free before anybody can change that: who does then finds no
    /// runner, and starts another.
    fn next(&mut self) -> Result<Option<Job>, QueueError> {
        loop {
            let lock = self.queue.lock()?;
            let jobs = self.queue.list()?;
            let turn = if self.queue.is_suspended() { Turn::None } else { turn(&jobs) };
            match turn {
                Turn::None => {
                    self.lock = None;
                    return Ok(None);
                }
                Turn::Run(mut job) => {
                    (job.pid, job.exit_code) = (None, None);
                    job.turn(JobState::Running, None)?;
                    return Ok(Some(*job));
                }
                // Others may follow this one.
                Turn::Cancel(mut job, why) => job.turn(JobState::Cancelled, Some(&why))?,
                Turn::Later => {
                    drop(lock);
                    std::thread::sleep(LOOK_EVERY);
                }
            }
        }
    }

    /// Starts the process of a job. Its standard input is the file with the lock, which so lasts as
    /// long as the process, whatever becomes of this one.
    fn start(&self, job: &mut Job) -> Result<Child, QueueError> {
        let path = job.lock();
        let lock = File::create(&path).map_err(at(&path))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| at(&path)(error.into()))?;
        let log = OpenOptions::new().create(true).append(true).open(job.log());
        let log = log.map_err(at(&job.log()))?;
        let errors = log.try_clone().map_err(at(&job.log()))?;
        let mut command = Command::new(&self.program.path);
        command.arg("run").arg(&job.scenario).args(&job.arguments);
        command.arg("--runs").arg(&job.runs).arg("--id").arg(job.id.as_str());
        command.stdin(Stdio::from(lock)).stdout(log).stderr(errors);
        let child = command.spawn().map_err(at(&self.program.path))?;
        let _lock = self.queue.lock()?;
        // Somebody may have wanted it to end before it had a process.
        let current = self.queue.find(job.id.as_str())?;
        (job.is_unwanted, job.is_forced) = (current.is_unwanted, current.is_forced);
        job.pid = Some(child.id());
        job.turn(JobState::Running, None)?;
        if job.is_unwanted {
            end(job, job.is_forced)?;
        }
        Ok(child)
    }

    /// What came of a process.
    fn outcome(&self, status: &std::io::Result<ExitStatus>) -> (JobState, Option<String>) {
        let [passed, failed, invalid] = self.program.codes;
        match status {
            Err(error) => (JobState::Killed, Some(error.to_string())),
            Ok(status) => match status.code() {
                Some(code) if code == passed => (JobState::Passed, None),
                Some(code) if code == failed => (JobState::Failed, None),
                Some(code) if code == invalid => (JobState::Invalid, None),
                Some(code) => (
                    JobState::Invalid,
                    Some(format!("it ended with exit code {code}; see its log")),
                ),
                None => (JobState::Killed, Some(status.to_string())),
            },
        }
    }

    fn close(
        &self,
        job: Job,
        state: JobState,
        reason: Option<&str>,
        tell: &mut dyn FnMut(&Job),
    ) -> Result<(), QueueError> {
        let _lock = self.queue.lock()?;
        let mut now = self.queue.find(job.id.as_str())?;
        (now.pid, now.exit_code) = (None, job.exit_code);
        match (now.is_unwanted, state) {
            // Others were over before they heard of it.
            (true, JobState::Invalid | JobState::Killed) => {
                now.turn(JobState::Cancelled, reason)?
            }
            _ => now.turn(state, reason)?,
        }
        tell(&now);
        Ok(())
    }
}

/// What came of a run whose runner died: what the archive says.
fn archived(job: &Job) -> (JobState, &'static str) {
    let run = Runs::new(&job.runs).find(job.id.as_str());
    let outcome = run.as_ref().map(|run| run.outcome()).unwrap_or("none");
    let state = match outcome {
        "PASSED" => JobState::Passed,
        "FAILED" => JobState::Failed,
        "INVALID" => JobState::Invalid,
        _ => JobState::Killed,
    };
    (state, "its runner died; this is what the archive says")
}

/// The first job for which something is to be done: it is carried out, or cancelled for a reason.
fn turn(jobs: &[Job]) -> Turn {
    let now = SystemTime::now();
    let mut is_later = false;
    for job in jobs.iter().filter(|job| job.state == JobState::Queued) {
        let before = job.after.as_ref().map(|after| {
            let before = jobs.iter().find(|job| job.id == *after);
            (after, before.map_or(JobState::Cancelled, |job| job.state))
        });
        match before {
            Some((_, JobState::Queued | JobState::Running)) => continue,
            None | Some((_, JobState::Passed)) => {}
            Some((after, over)) => {
                let why = format!("it was to follow {after}, which is {}", over.name());
                return Turn::Cancel(Box::new(job.clone()), why);
            }
        }
        if job.not_before.is_some_and(|not_before| now < not_before) {
            is_later = true;
            continue;
        }
        return Turn::Run(Box::new(job.clone()));
    }
    if is_later { Turn::Later } else { Turn::None }
}
