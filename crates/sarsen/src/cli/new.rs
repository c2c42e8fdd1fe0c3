//! The arguments of `sarsen new`.

use super::flag::{Argument, Spec};
use super::{UsageError, value};
use std::path::PathBuf;

/// What to make.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NewArguments {
    /// The folder to make it in.
    pub app: PathBuf,
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
    flags: &[],
    check: |arguments| {
        if arguments.app.as_os_str().is_empty() {
            return Err(UsageError::Missing { command: "new", what: "a folder" });
        }
        Ok(())
    },
};
