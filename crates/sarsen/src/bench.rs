//! `sarsen bench`: makes the lab's plan from the arguments, shows the run and prints its report.

use crate::cli::{BenchArguments, Body};
use crate::exit::Exit;
use lab::bench::{Plan, Request, run as run_plan};
use lab::limits::REQUEST_BODY_BYTES_MAX;
use lab::progress::Line;
use lab::report::Report;
use lab::target::TargetError;
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
    Run(#[from] lab::bench::BenchError),
}

impl BenchError {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        use lab::bench::BenchError as Run;
        match self {
            Self::Target(_) | Self::Body { .. } => Exit::Usage,
            Self::Run(Run::Plan(_) | Run::ServerCpu { .. }) => Exit::Usage,
            Self::Run(Run::Resolve { .. } | Run::Connect { .. }) => Exit::Unreachable,
            Self::Run(Run::Thread(_) | Run::NothingSucceeded { .. }) => Exit::Failure,
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
    let plan = plan(arguments)?;
    let mut line = Line::stderr();
    let outcome = run_plan(&plan, |tick| line.show(tick));
    line.clear();
    let report = outcome?;
    let exit = if report.errors_in_all() == 0 { Exit::Success } else { Exit::Failure };
    Ok(Finished { text: render(&report, json, glass), exit })
}

fn plan(arguments: BenchArguments) -> Result<Plan, BenchError> {
    let BenchArguments { method, headers, body, .. } = arguments;
    let request = Request { method, headers, body: read_body(body)? };
    Ok(Plan {
        request,
        users: arguments.users,
        threads: arguments.threads,
        duration: arguments.duration,
        new_session: arguments.new_session,
        keys: arguments.keys,
        server_pid: arguments.server_pid,
        ..Plan::new(arguments.url.parse()?)
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
