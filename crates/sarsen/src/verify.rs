//! `sarsen verify`: has the repository read itself, and says what it found.

use crate::cli::VerifyArguments;
use crate::exit::Exit;
use repository::{OpenError, VerifyReport};

/// A finished check.
pub struct Verified {
    /// What goes to stdout: the findings, then a summary.
    pub text: String,
    /// Whether the repository is clean.
    pub exit: Exit,
}

/// Reads everything.
pub fn run(arguments: &VerifyArguments) -> Result<Verified, OpenError> {
    let report = repository::verify(&arguments.data)?;
    let exit = if report.wrong == 0 { Exit::Success } else { Exit::Repository };
    Ok(Verified { text: render(&report), exit })
}

fn render(report: &VerifyReport) -> String {
    let mut lines: Vec<String> = report.findings.iter().map(|f| format!("wrong: {f}")).collect();
    let unlisted = report.wrong.saturating_sub(report.findings.len() as u64);
    if unlisted > 0 {
        lines.push(format!("wrong: {unlisted} more, not listed"));
    }
    let documents = report.documents.iter();
    lines.extend(documents.map(|(collection, count)| format!("{collection}: {count} documents")));
    let VerifyReport { last, checkpoint, replayed, .. } = report;
    lines.push(format!(
        "commits up to {last}: up to {checkpoint} in the storage engine, {replayed} in the tranlog"
    ));
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
    use repository::CommitNumber;

    #[test]
    fn a_clean_repository() {
        let report = VerifyReport {
            last: CommitNumber(12),
            checkpoint: CommitNumber(9),
            replayed: 3,
            documents: [("notes".to_owned(), 7)].into(),
            blobs: 2,
            blob_bytes: 5_000_000,
            blobs_unnamed: 1,
            ..VerifyReport::default()
        };
        let expected = "notes: 7 documents\n\
                        commits up to 12: up to 9 in the storage engine, 3 in the tranlog\n\
                        2 blobs of 5000000 bytes\n\
                        1 blobs have no name, and go while a server runs\nclean\n";
        assert_eq!(render(&report), expected);
    }

    #[test]
    fn what_is_wrong_comes_first_and_is_counted() {
        let report = VerifyReport {
            findings: vec!["notes/a: bad".into()],
            wrong: 3,
            torn_tail: Some("1.log at offset 4096".into()),
            ..VerifyReport::default()
        };
        let text = render(&report);
        assert!(text.starts_with("wrong: notes/a: bad\nwrong: 2 more, not listed\n"), "{text}");
        assert!(text.contains("unfinished write ends the tranlog: 1.log at offset 4096"), "{text}");
        assert!(text.ends_with("3 things are wrong\n"), "{text}");
    }
}
