//! The arguments of `sarsen new`.

use super::flag::{Argument, Flag, Spec, Takes};
use super::{UsageError, value};
use std::path::PathBuf;

/// What to make.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NewArguments {
    /// The folder to make it in.
    pub app: PathBuf,
    /// Whether it is in TypeScript.
    pub typescript: bool,
}

/// How the arguments are written.
pub const SPEC: Spec<NewArguments> = Spec {
    name: "new",
    usage: "APP",
    about: "Make a small application to begin with.",
    arguments: &[Argument {
        name: "APP",
        about: "its folder, which is made, and its name",
        store: |arguments, value| {
            arguments.app = value::folder(value)?;
            Ok(())
        },
    }],
    flags: &[Flag {
        long: "typescript",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.typescript = true),
        about: "write it in TypeScript",
    }],
    check: |arguments| {
        if arguments.app.as_os_str().is_empty() {
            return Err(UsageError::Missing { command: "new", what: "a folder" });
        }
        Ok(())
    },
};
