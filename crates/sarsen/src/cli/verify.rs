//! The arguments of `sarsen verify`.

use super::UsageError;
use super::data::{self, InFolder};
use super::flag::{Flag, Spec, Takes};
use std::path::PathBuf;

/// What to verify.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct VerifyArguments {
    /// The repository's folder. There is no default: reading a whole repository is not something to
    /// do by accident.
    pub data: PathBuf,
    /// Whether the report is JSON.
    pub json: bool,
}

impl InFolder for VerifyArguments {
    fn data(&mut self) -> &mut PathBuf {
        &mut self.data
    }
}

/// How the arguments are written.
pub const SPEC: Spec<VerifyArguments> = Spec {
    name: "verify",
    usage: "--data DIR",
    about: "Check a repository. Or: stats, export, import.",
    arguments: &[],
    flags: &[
        data::flag("the repository's folder; a server may run"),
        Flag {
            long: "json",
            short: None,
            takes: Takes::Nothing(|arguments| arguments.json = true),
            about: "print the report as JSON",
        },
    ],
    check: |arguments| {
        if arguments.data.as_os_str().is_empty() {
            return Err(UsageError::Missing { command: "verify", what: "--data DIR" });
        }
        Ok(())
    },
};
