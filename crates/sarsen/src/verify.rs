//! `sarsen verify`: has the repository read itself, by the server that runs on it or in this
//! process, and says what it found.

use crate::admin::{AskError, Exchange, Running};
use crate::cli::VerifyArguments;
use crate::exit::Exit;
use repository::{CommitNumber, OpenError, Repository, SnapshotError, VerifyReport};
use serde_json::{Value, json};
use std::io;
use thiserror::Error;

/// A finished check.
pub struct Verified {
    /// What goes to stdout: the findings, then a summary.
    pub text: String,
    /// Whether the repository is clean.
    pub exit: Exit,
}

/// Why nothing was checked.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// It is no repository, or another process that is no server has it open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The server did not do it.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The server answered something else.
    #[error("expected a report from the server, got {0}")]
    Report(String),
}

impl VerifyError {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Open(_) => Exit::Repository,
            Self::Ask(AskError::Refused(_)) | Self::Report(_) => Exit::Failure,
            Self::Ask(_) => Exit::Unreachable,
        }
    }
}

/// Reads everything.
pub fn run(arguments: &VerifyArguments) -> Result<Verified, VerifyError> {
    let is_there = arguments.data.is_dir();
    let running = if is_there { Running::find(&arguments.data)? } else { None };
    let (report, by_server) = match running {
        Some(running) => (ask(running)?, true),
        None => (repository::verify(&arguments.data)?, false),
    };
    let exit = if report.wrong == 0 { Exit::Success } else { Exit::Damaged };
    let text = match arguments.json {
        true => format!("{}\n", of_report(&report)),
        false => render(&report, by_server),
    };
    Ok(Verified { text, exit })
}

fn ask(running: Running) -> Result<VerifyReport, VerifyError> {
    let answer = running.stream("verify", &Value::Null)?.whole()?;
    let start = || answer.to_string().chars().take(200).collect();
    report(&answer).ok_or_else(|| VerifyError::Report(start()))
}

/// Why the server has no report.
#[derive(Debug, Error)]
pub enum ServeVerifyError {
    /// There is no snapshot.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The command has gone.
    #[error("{0}")]
    Stream(#[from] io::Error),
}

/// Has the repository of a server checked, and sends the report.
pub fn serve(repository: &Repository, exchange: &Exchange<'_>) -> Result<Value, ServeVerifyError> {
    let report = repository.snapshot()?.verify();
    exchange.data(of_report(&report).to_string().as_bytes())?;
    Ok(Value::Null)
}

fn of_report(report: &VerifyReport) -> Value {
    json!({
        "commit": report.last.0,
        "checkpoint": report.checkpoint.0,
        "replayed": report.replayed,
        "documents": report.documents,
        "blobs": report.blobs,
        "blob_bytes": report.blob_bytes,
        "blobs_unnamed": report.blobs_unnamed,
        "torn_tail": report.torn_tail,
        "wrong": report.wrong,
        "findings": report.findings,
    })
}

fn report(value: &Value) -> Option<VerifyReport> {
    let number = |name: &str| value[name].as_u64();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let documents = value["documents"].as_object()?;
    let count = |(name, count): (&String, &Value)| Some((name.clone(), count.as_u64()?));
    Some(VerifyReport {
        last: CommitNumber(number("commit")?),
        checkpoint: CommitNumber(number("checkpoint")?),
        replayed: number("replayed")?,
        documents: documents.iter().map(count).collect::<Option<_>>()?,
        blobs: number("blobs")?,
        blob_bytes: number("blob_bytes")?,
        blobs_unnamed: number("blobs_unnamed")?,
        torn_tail: text(&value["torn_tail"]),
        findings: value["findings"].as_array()?.iter().map(text).collect::<Option<_>>()?,
        wrong: number("wrong")?,
    })
}

fn render(report: &VerifyReport, by_server: bool) -> String {
    let mut lines: Vec<String> = report.findings.iter().map(|f| format!("wrong: {f}")).collect();
    let unlisted = report.wrong.saturating_sub(report.findings.len() as u64);
    if unlisted > 0 {
        lines.push(format!("wrong: {unlisted} more, not listed"));
    }
    let documents = report.documents.iter();
    lines.extend(documents.map(|(collection, count)| format!("{collection}: {count} documents")));
    let VerifyReport { last, checkpoint, replayed, .. } = report;
    lines.push(match by_server {
        true => {
            format!("commits up to {last} in the storage engine; not the tranlog: a server runs")
        }
        false => format!(
            "commits up to {last}: up to {checkpoint} in the storage engine, {replayed} in the \
             tranlog"
        ),
    });
    if report.blobs > 0 {
        lines.push(format!("{} blobs of {} bytes", report.blobs, report.blob_bytes));
    }
    if report.blobs_unnamed > 0 {
        let unnamed = report.blobs_unnamed;
        lines.push(format!("{unnamed} blobs have no name, and go while a server runs"));
    }
    if let Some(torn) = &report.torn_tail {
        lines.push(format!("an unfinished write ends the tranlog: {torn}"));
    }
    lines.push(summary(report.wrong));
    lines.join("\n") + "\n"
}

fn summary(wrong: u64) -> String {
    match wrong {
        0 => "clean".into(),
        1 => "1 thing is wrong".into(),
        wrong => format!("{wrong} things are wrong"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean() -> VerifyReport {
        VerifyReport {
            last: CommitNumber(12),
            checkpoint: CommitNumber(9),
            replayed: 3,
            documents: [("notes".to_owned(), 7)].into(),
            blobs: 2,
            blob_bytes: 5_000_000,
            blobs_unnamed: 1,
            ..VerifyReport::default()
        }
    }

    #[test]
    fn a_clean_repository() {
        let expected = "notes: 7 documents\n\
                        commits up to 12: up to 9 in the storage engine, 3 in the tranlog\n\
                        2 blobs of 5000000 bytes\n\
                        1 blobs have no name, and go while a server runs\nclean\n";
        assert_eq!(render(&clean(), false), expected);
        assert!(render(&clean(), true).contains("not the tranlog"));
    }

    #[test]
    fn what_is_wrong_comes_first_and_is_counted() {
        let report = VerifyReport {
            findings: vec!["notes/a: bad".into()],
            wrong: 3,
            torn_tail: Some("1.log at offset 4096".into()),
            ..VerifyReport::default()
        };
        let text = render(&report, false);
        assert!(text.starts_with("wrong: notes/a: bad\nwrong: 2 more, not listed\n"), "{text}");
        assert!(text.contains("unfinished write ends the tranlog: 1.log at offset 4096"), "{text}");
        assert!(text.ends_with("3 things are wrong\n"), "{text}");
        let again = super::report(&of_report(&report)).unwrap();
        assert_eq!(of_report(&again), of_report(&report));
    }
}
