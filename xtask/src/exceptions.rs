//! Exceptions from the house rules: one entry each, with its reason. An exception that excuses
//! nothing is a finding itself, so the list cannot outlive its causes.

use crate::finding::Rule;

/// One excused finding.
pub struct Exception {
    /// The rule that is not applied.
    pub rule: Rule,
    /// The file, from the root of the repository.
    pub file: &'static str,
    /// Words that the finding's text contains, to excuse one place and not the whole file.
    pub what: &'static str,
    /// Why the rule does more harm than good here.
    pub reason: &'static str,
}

/// All of them.
pub const EXCEPTIONS: &[Exception] = &[Exception {
    rule: Rule::FunctionLength,
    file: "crates/faces/src/problem.rs",
    what: "`told`",
    reason: "a table with a row for each problem, that the compiler holds to be complete",
}];
