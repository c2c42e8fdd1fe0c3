//! Runs every rule over the repository and sorts what they find. The rules are in the files of
//! this folder, one for each kind of thing they read; none is here.

mod files;
mod invariants;
mod licence;
mod map;
mod metadata;
mod source;
mod text;
mod tokens;

use crate::exceptions::{EXCEPTIONS, Exception};
use crate::finding::{Finding, Rule};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The map of the repository, which two rules read.
const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// Why the rules could not be applied.
#[derive(Debug, Error)]
pub enum TidyError {
    /// A file or folder could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A program that is needed did not do its work.
    #[error("`{command}` failed: {why}")]
    Command {
        /// The command line.
        command: String,
        /// What it said.
        why: String,
    },
}

/// What a run found.
pub struct Report {
    /// Text files looked at.
    pub files: usize,
    /// Violations, by file and line.
    pub findings: Vec<Finding>,
}

/// Applies every rule to the repository at `root`.
pub fn check(root: &Path) -> Result<Report, TidyError> {
    let files = files::read_all(root)?;
    let mut findings: Vec<Finding> = files.iter().flat_map(check_file).collect();
    findings.extend(check_map(root, &files)?);
    findings.extend(licence::check(&metadata::packages(root)?, files::find(&files, "Cargo.lock")));
    findings = excuse(findings, EXCEPTIONS);
    findings.sort();
    Ok(Report { files: files.len(), findings })
}

fn check_file(file: &files::TextFile) -> Vec<Finding> {
    let mut findings = text::check(&file.path, &file.text);
    if file.path.ends_with(".rs") {
        findings.extend(source::check(&file.path, &file.text));
    }
    findings
}

fn check_map(root: &Path, files: &[files::TextFile]) -> Result<Vec<Finding>, TidyError> {
    let Some(architecture) = files.iter().find(|file| file.path == ARCHITECTURE) else {
        let what = "missing: it holds the table of dependencies and the invariants";
        return Ok(vec![Finding::new(ARCHITECTURE, 1, Rule::Dependency, what)]);
    };
    let mut findings = map::check(&architecture.text, &metadata::crates(root)?);
    findings.extend(invariants::check(&architecture.text, |path| files::find(files, path)));
    Ok(findings)
}

/// Takes the excused findings out, and adds one for each exception that excuses nothing.
fn excuse(findings: Vec<Finding>, exceptions: &[Exception]) -> Vec<Finding> {
    let excuses = |exception: &Exception, finding: &Finding| {
        exception.rule == finding.rule
            && exception.file == finding.file
            && finding.what.contains(exception.what)
    };
    let unused = exceptions.iter().filter(|e| !findings.iter().any(|f| excuses(e, f))).map(|e| {
        let what = format!("excuses nothing ({}: {}); remove it", e.rule, e.reason);
        Finding::new(e.file, 1, Rule::Exception, what)
    });
    let unused: Vec<Finding> = unused.collect();
    let kept = findings.into_iter().filter(|f| !exceptions.iter().any(|e| excuses(e, f)));
    kept.chain(unused).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCEPTION: Exception =
        Exception { rule: Rule::FileLength, file: "a.rs", what: "700", reason: "a table" };

    #[test]
    fn an_exception_excuses_its_finding_only() {
        let long = Finding::new("a.rs", 1, Rule::FileLength, "700 lines");
        let other = Finding::new("b.rs", 1, Rule::FileLength, "700 lines");
        assert_eq!(excuse(vec![long, other.clone()], &[EXCEPTION]), [other]);
    }

    #[test]
    fn an_exception_that_excuses_nothing_is_a_finding() {
        let found = excuse(Vec::new(), &[EXCEPTION]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].rule, Rule::Exception);
    }
}
