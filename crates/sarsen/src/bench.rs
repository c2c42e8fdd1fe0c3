//! `sarsen bench`: makes the lab's plan from the arguments, shows the run and prints its report.

use crate::cli::{BenchArguments, Body};
use crate::exit::Exit;
use lab::engine::RunError;
use lab::hit::{Hit, HitError, Request};
use lab::limits::REQUEST_BODY_BYTES_MAX;
use lab::progress::Line;
use lab::report::Report;
use lab::target::TargetError;
use lab::transport::ReachError;
use lab::verdict::Outcome;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why there is no report.
#[derive(Debug, Error)]
pub enum BenchError {
    /// The URL cannot be used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The file with the body cannot be read.
    #[error("--body: cannot read {}: {source}", path.display())]
    Body {
        /// Which.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The run itself.
    #[error(transparent)]
    Run(#[from] HitError),
}

impl BenchError {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Target(_) | Self::Body { .. } => Exit::Usage,
            Self::Run(HitError::NothingSucceeded { .. }) => Exit::Failure,
            Self::Run(HitError::Run(error)) => match error {
                RunError::Plan(_) | RunError::ServerCpu { .. } => Exit::Usage,
                RunError::Reach(ReachError::Trust(_)) => Exit::Usage,
                RunError::Reach(_) => Exit::Unreachable,
                RunError::Thread(_) => Exit::Failure,
            },
        }
    }
}

/// A finished run.
pub struct Finished {
    /// What goes to stdout.
    pub text: String,
    /// Whether every request of the run succeeded.
    pub exit: Exit,
}

/// Runs to the end.
pub fn run(arguments: BenchArguments) -> Result<Finished, BenchError> {
    let (json, glass) = (arguments.json, arguments.glass);
    let hit = hit(arguments)?;
    let mut line = Line::stderr();
    let outcome = hit.run(|tick| line.show(tick));
    line.clear();
    let report = outcome?;
    let exit = match report.outcome() {
        Outcome::Invalid => Exit::Invalid,
        Outcome::Passed if report.errors_in_all() == 0 => Exit::Success,
        Outcome::Passed | Outcome::Failed => Exit::Failure,
    };
    Ok(Finished { text: render(&report, json, glass), exit })
}

/// Users of the open model come into being as they are needed, so there may be many.
const USERS_OPEN: usize = 1_000;

const USERS_CLOSED: usize = 10;

fn hit(arguments: BenchArguments) -> Result<Hit, BenchError> {
    let BenchArguments { method, headers, body, rate, .. } = arguments;
    let users = if rate.is_some() { USERS_OPEN } else { USERS_CLOSED };
    Ok(Hit {
        request: Request { method, headers, body: read_body(body)? },
        transport: arguments.transport,
        users: arguments.users.unwrap_or(users),
        rate,
        arrivals: arguments.arrivals,
        threads: arguments.threads,
        ramp_up: arguments.warm_up,
        duration: arguments.duration,
        count: arguments.requests,
        new_session: arguments.new_session,
        keys: arguments.keys,
        seed: arguments.seed,
        request_timeout: arguments.timeout,
        server_pid: arguments.server_pid,
        ..Hit::new(arguments.url.parse()?)
    })
}

fn read_body(body: Body) -> Result<Vec<u8>, BenchError> {
    match body {
        Body::Text(text) => Ok(text.into_bytes()),
        Body::File(path) => read_file(&path).map_err(|source| BenchError::Body { path, source }),
    }
}

/// One byte more than the lab takes at most: enough for it to refuse, however large the file is.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(REQUEST_BODY_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn render(report: &Report, json: bool, glass: bool) -> String {
    let mut text = if json { format!("{}\n", report.to_json()) } else { report.to_text() };
    if glass && !json {
        text.push('\n');
        text.push_str(&lab::glass::table(report));
    }
    text
}
