//! The commands of the queue, and the runner that they start.

use crate::cli::{QueueAction, QueueArguments, SubmitArguments};
use crate::exit::Exit;
use crate::run::{ScenarioError, ScenarioFile};
use lab::archive;
use lab::queue::{self, Job, JobState, Program, Queue, QueueError, Runner, Submission};
use lab::scenario::Scenario;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use thiserror::Error;

/// Why a command of the queue could not be done.
#[derive(Debug, Error)]
pub enum QueueCommandError {
    /// The scenario cannot be run, so it is not queued.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The queue.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// A file.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

impl QueueCommandError {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Scenario(error) => error.exit(),
            Self::Queue(_) | Self::File { .. } => Exit::Failure,
        }
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> QueueCommandError {
    let path = path.to_owned();
    move |source| QueueCommandError::File { path, source }
}

/// What goes to stdout, and how the process ends.
pub struct Answer {
    /// Ends with a newline, or is empty.
    pub text: String,
    /// As the job did, for `wait`.
    pub exit: Exit,
}

/// Does what was asked for.
pub fn run(arguments: &QueueArguments) -> Result<Answer, QueueCommandError> {
    let queue = Queue::new(arguments.queue.clone().unwrap_or_else(queue::folder));
    let job = arguments.id.as_deref().map(|id| queue.find(id)).transpose()?;
    let text = match (arguments.action, job) {
        (Some(QueueAction::Run), _) => return carry_out(&queue, arguments.detach),
        (Some(QueueAction::Suspend), _) => {
            queue.suspend(true)?;
            String::new()
        }
        (Some(QueueAction::Resume), _) => {
            queue.suspend(false)?;
            let is_waiting = queue.list()?.iter().any(|job| job.state == JobState::Queued);
            if is_waiting && !queue.has_runner() {
                start_runner(&queue)?;
            }
            String::new()
        }
        (Some(QueueAction::Wait), Some(job)) => {
            let job = queue.wait(&job.id, |_| true)?;
            let text = listed(std::slice::from_ref(&job), arguments.json);
            return Ok(Answer { text, exit: exit(&job) });
        }
        (Some(QueueAction::Cancel), Some(job)) => {
            let job = queue.cancel(&job, arguments.force)?;
            let done = if job.state.is_over() { "cancelled" } else { "asked to end" };
            format!("{done} {}\n", job.id)
        }
        (Some(QueueAction::Log), Some(job)) => {
            print_log(&queue, &job, arguments.follow)?;
            String::new()
        }
        (_, Some(job)) => listed(&[job], arguments.json),
        (_, None) => listed(&queue.list()?, arguments.json),
    };
    Ok(Answer { text, exit: Exit::Success })
}

/// Puts a run into the queue, and starts a runner if none works on it.
pub fn submit(arguments: &SubmitArguments) -> Result<Answer, QueueCommandError> {
    let queue = Queue::new(arguments.queue.clone().unwrap_or_else(queue::folder));
    let file = ScenarioFile::find(&arguments.run.scenario)?;
    let scenario =
        Scenario::read(file.source(), &arguments.run.overrides().map_err(ScenarioError::Metrics)?);
    let scenario = scenario.map_err(ScenarioError::Mistakes)?;
    let runs = arguments.runs.clone().unwrap_or_else(archive::folder);
    fs::create_dir_all(&runs).map_err(at(&runs))?;
    let after = arguments.after.as_deref().map(|id| queue.find(id)).transpose()?;
    let submission = Submission {
        name: arguments.name.clone().unwrap_or_else(|| scenario.plan.name.clone()),
        scenario: (file.file_name(), file.text.clone()),
        files: scenario.files.iter().map(|path| (path.clone(), file.below(path))).collect(),
        arguments: arguments.words.clone(),
        // The runner may be started anywhere.
        runs: fs::canonicalize(&runs).map_err(at(&runs))?,
        after: after.map(|job| job.id),
        not_before: arguments.not_before,
    };
    let job = queue.submit(&submission)?;
    if !queue.has_runner() && !queue.is_suspended() {
        start_runner(&queue)?;
    }
    Ok(Answer { text: format!("{}\n", job.id), exit: Exit::Success })
}

/// A process of its own, which ends when nothing is left to do. If another one is faster, it ends
/// at once.
fn start_runner(queue: &Queue) -> Result<(), QueueCommandError> {
    let program = std::env::current_exe().map_err(at(Path::new("/proc/self/exe")))?;
    let path = queue.folder().join("runner.log");
    let log = OpenOptions::new().create(true).append(true).open(&path).map_err(at(&path))?;
    let errors = log.try_clone().map_err(at(&path))?;
    let mut command = Command::new(&program);
    command.args(["queue", "run", "--detach", "--queue"]).arg(queue.folder());
    command.stdin(Stdio::null()).stdout(log).stderr(errors);
    command.spawn().map_err(at(&program)).map(drop)
}

fn carry_out(queue: &Queue, detach: bool) -> Result<Answer, QueueCommandError> {
    if detach {
        // One that leads its session already has left.
        let _already = rustix::process::setsid();
    }
    let path = std::env::current_exe().map_err(at(Path::new("/proc/self/exe")))?;
    let codes = [Exit::Success, Exit::Failure, Exit::Invalid].map(|exit| i32::from(exit.code()));
    let runner = Runner::take(queue, Program { path, codes })?;
    runner.run(|job| {
        // Nobody may read it; the runs go on.
        let _unread = io::stdout().write_all(listed(std::slice::from_ref(job), false).as_bytes());
    })?;
    Ok(Answer { text: String::new(), exit: Exit::Success })
}

/// As its run ended.
fn exit(job: &Job) -> Exit {
    match job.state {
        JobState::Passed => Exit::Success,
        JobState::Invalid => Exit::Invalid,
        _ => Exit::Failure,
    }
}

/// A line for each.
fn listed(jobs: &[Job], json: bool) -> String {
    let line = |job: &Job| {
        if json {
            return format!("{}\n", job.to_json());
        }
        let since = job.since_utc.split('.').next().unwrap_or_default().replace('T', " ");
        let (name, reason) = (shown(&job.name), job.reason.as_deref().map(shown));
        let reason = reason.map(|reason| format!("  ({reason})")).unwrap_or_default();
        format!("{}  {:9}  {since}  {name}{reason}\n", job.id, job.state.name())
    };
    jobs.iter().map(line).collect()
}

/// Without control characters.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Copies the log to stdout, to its end or until the job is over.
fn print_log(queue: &Queue, job: &Job, follow: bool) -> Result<(), QueueCommandError> {
    let path = job.log();
    let mut log = File::open(&path).map_err(at(&path))?;
    let mut printed = 0;
    let mut print = |log: &mut File| -> io::Result<()> {
        log.seek(SeekFrom::Start(printed))?;
        printed += io::copy(&mut log.take(u64::MAX), &mut io::stdout())?;
        io::stdout().flush()
    };
    print(&mut log).map_err(at(&path))?;
    if follow {
        let mut result = Ok(());
        queue.wait(&job.id, |_| {
            result = print(&mut log);
            result.is_ok()
        })?;
        result.and_then(|()| print(&mut log)).map_err(at(&path))?;
    }
    Ok(())
}
