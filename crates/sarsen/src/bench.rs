//! `sarsen bench`: makes the lab's plan from the arguments, shows the run and prints its report.

use crate::cli::{BenchArguments, Body, Common};
use crate::exit::Exit;
use crate::record::{self, RecordError};
use lab::archive::{self, About, Spec};
use lab::engine::RunError;
use lab::hit::{Hit, Request};
use lab::limits::REQUEST_BODY_BYTES_MAX;
use lab::plan::{Gate, Transport};
use lab::report::Report;
use lab::target::TargetError;
use lab::transport::ReachError;
use lab::verdict::Outcome;
use serde_json::json;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::Duration;
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
    Run(#[from] RecordError),
}

impl BenchError {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Target(_) | Self::Body { .. } => Exit::Usage,
            Self::Run(error) => error.exit(),
        }
    }
}

/// How a process ends whose run could not be carried out.
pub fn exit_of(error: &RunError) -> Exit {
    match error {
        RunError::Plan(_) | RunError::ServerCpu { .. } => Exit::Usage,
        RunError::Reach(ReachError::Trust(_)) => Exit::Usage,
        RunError::Reach(_) => Exit::Unreachable,
        RunError::Thread(_) | RunError::Audit(_) => Exit::Failure,
    }
}

/// How a process ends with a report.
pub fn exit_with(report: &Report) -> Exit {
    match report.outcome() {
        Outcome::Passed => Exit::Success,
        Outcome::Failed => Exit::Failure,
        Outcome::Invalid => Exit::Invalid,
    }
}

/// A finished run.
pub struct Finished {
    /// What goes to stdout.
    pub text: String,
    /// What the verdict is.
    pub exit: Exit,
}

/// Runs to the end.
pub fn run(arguments: BenchArguments) -> Result<Finished, BenchError> {
    let (json, glass, quiet) = (arguments.common.json, arguments.glass, arguments.common.quiet);
    let about = about(&arguments);
    let observe = arguments.common.observe()?;
    let mut plan = hit(arguments)?.plan();
    plan.observe = observe;
    let report = record::carry_out(&plan, quiet, about.as_ref())?;
    Ok(Finished { text: render(&report, json, glass), exit: exit_with(&report) })
}

/// What the archive is told, if it is to keep the run.
fn about(arguments: &BenchArguments) -> Option<About> {
    let runs = match (&arguments.common.runs, arguments.archive) {
        (Some(runs), _) => runs.clone(),
        (None, true) => archive::folder(),
        (None, false) => return None,
    };
    let words = record::command_line();
    let data = match &arguments.body {
        Body::File(path) => vec![path.clone()],
        Body::Text(_) | Body::Stdin => Vec::new(),
    };
    Some(About {
        runs,
        spec: Spec::Json(json!({ "command": "bench", "arguments": words.get(2..) })),
        data,
        arguments: words,
        build: record::build(),
        host: !arguments.common.no_host,
        ..About::default()
    })
}

/// Users of the open model come into being as they are needed, so there may be many.
const USERS_OPEN: usize = 1_000;

const USERS_CLOSED: usize = 10;

/// Of a request, if nothing is said.
const TIMEOUT: Duration = Duration::from_secs(10);

fn hit(arguments: BenchArguments) -> Result<Hit, BenchError> {
    let BenchArguments { method, headers, body, rate, users, mut gates, .. } = arguments;
    let Common { seed, threads, timeout, trust, pids, .. } = arguments.common;
    let default = if rate.is_empty() { USERS_CLOSED } else { USERS_OPEN };
    let most = |levels: &[(f64, f64)]| {
        levels.iter().map(|(from, to)| from.max(*to)).reduce(f64::max).map(f64::ceil)
    };
    // Whoever says nothing about errors wants none.
    if !gates.iter().any(|gate| matches!(gate, Gate::Errors { .. })) {
        gates.push(Gate::Errors { at_most: 0.0 });
    }
    Ok(Hit {
        request: Request { method, headers, body: read_body(body)? },
        transport: Transport { trust, ..arguments.transport },
        users: most(&users).map_or(default, |users| users as usize),
        rate: most(&rate),
        levels: if rate.is_empty() { users } else { rate },
        arrivals: arguments.arrivals,
        threads: threads.unwrap_or(1),
        ramp_up: arguments.warm_up,
        duration: arguments.duration,
        count: arguments.requests,
        new_session: arguments.new_session,
        keys: arguments.keys,
        seed: seed.unwrap_or(1),
        request_timeout: timeout.unwrap_or(TIMEOUT),
        server_pid: pids.first().copied(),
        gates,
        ..Hit::new(arguments.url.parse()?)
    })
}

fn read_body(body: Body) -> Result<Vec<u8>, BenchError> {
    match body {
        Body::Text(text) => Ok(text.into_bytes()),
        Body::File(path) => {
            File::open(&path).and_then(read_all).map_err(|source| BenchError::Body { path, source })
        }
        Body::Stdin => read_all(io::stdin().lock())
            .map_err(|source| BenchError::Body { path: "-".into(), source }),
    }
}

/// One byte more than the lab takes at most: enough for it to refuse, however much there is.
fn read_all(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(REQUEST_BODY_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
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
