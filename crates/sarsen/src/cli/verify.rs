//! The arguments of `sarsen verify`.

use super::UsageError;
use super::flag::{Flag, Spec, Takes};
use super::value;
use std::path::PathBuf;

/// What to verify.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct VerifyArguments {
    /// The repository's folder. There is no default: reading a whole repository is not something to
    /// do by accident.
    pub data: PathBuf,
}

/// How the arguments are written.
pub const SPEC: Spec<VerifyArguments> = Spec {
    name: "verify",
    usage: "--data DIR",
    about: "Read a whole repository and check it; change nothing.",
    arguments: &[],
    flags: &[Flag {
        long: "data",
        short: None,
        takes: Takes::Value("DIR", |arguments, value| {
            arguments.data = value::folder(value)?;
            Ok(())
        }),
        about: "the repository's folder; no server may have it open",
    }],
    check: |arguments| {
        if arguments.data.as_os_str().is_empty() {
            return Err(UsageError::Missing { command: "verify", what: "--data DIR" });
        }
        Ok(())
    },
};
