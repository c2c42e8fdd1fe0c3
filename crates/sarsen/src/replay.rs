//! `sarsen replay`: reads a trace, has the lab replay it, and prints how much was found.

use crate::cli::ReplayArguments;
use crate::exit::Exit;
use lab::trace::{self, ReplayError, Tally};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use thiserror::Error;

/// Why the trace is not replayed.
#[derive(Debug, Error)]
pub enum ReplayCommandError {
    /// The trace cannot be opened.
    #[error("cannot read {}: {source}", path.display())]
    Open {
        /// Which.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// It was begun, and not ended.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// Nobody takes the figures.
    #[error("cannot write to stdout: {0}")]
    Write(io::Error),
}

impl ReplayCommandError {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Open { .. } | Self::Replay(ReplayError::Line { .. }) => Exit::Usage,
            Self::Replay(ReplayError::Connect { .. }) => Exit::Unreachable,
            Self::Replay(_) | Self::Write(_) => Exit::Failure,
        }
    }
}

/// Replays it to its end; prints a line for each part of the trace's time, and one for all.
pub fn run(arguments: &ReplayArguments) -> Result<(), ReplayCommandError> {
    let input: Box<dyn BufRead> = match arguments.trace.as_os_str() == "-" {
        true => Box::new(io::stdin().lock()),
        false => {
            let opened = File::open(&arguments.trace);
            let path = arguments.trace.clone();
            let opened = opened.map_err(|source| ReplayCommandError::Open { path, source })?;
            Box::new(BufReader::new(opened))
        }
    };
    let mut out = io::stdout().lock();
    let mut written = Ok(());
    if !arguments.json {
        written = writeln!(out, "{}", heading());
    }
    let line = |second, tally: &Tally| match arguments.json {
        true => json(second, tally),
        false => row(second, tally),
    };
    let total = trace::replay(&arguments.replay, input, |second, tally| {
        if written.is_ok() {
            written = writeln!(out, "{}", line(Some(second), tally));
        }
    })?;
    written.map_err(ReplayCommandError::Write)?;
    writeln!(out, "{}", line(None, &total)).map_err(ReplayCommandError::Write)
}

fn heading() -> String {
    format!(
        "{:>10} {:>12} {:>12} {:>12} {:>9} {:>10} {:>8}",
        "second", "requests", "gets", "hits", "hit ratio", "fills", "errors"
    )
}

fn row(second: Option<u64>, tally: &Tally) -> String {
    let Tally { requests, gets, hits, fills, errors } = tally;
    let second = second.map_or("total".to_owned(), |second| second.to_string());
    let ratio = tally.hit_ratio().map_or("-".to_owned(), |ratio| format!("{:.2} %", ratio * 100.0));
    format!("{second:>10} {requests:>12} {gets:>12} {hits:>12} {ratio:>9} {fills:>10} {errors:>8}")
}

fn json(second: Option<u64>, tally: &Tally) -> String {
    let Tally { requests, gets, hits, fills, errors } = tally;
    serde_json::json!({
        "second": second, "requests": requests, "gets": gets, "hits": hits,
        "hit_ratio": tally.hit_ratio(), "fills": fills, "errors": errors,
    })
    .to_string()
}
