//! The arguments of `sarsen test`.

use super::flag::{Argument, Flag, Spec, Takes};
use super::{UsageError, value};
use crate::limits::{TEST_TIMEOUT, TEST_TIMEOUT_MAX};
use std::path::PathBuf;
use std::time::Duration;

/// What to test, and how.
#[derive(Debug, PartialEq, Eq)]
pub struct TestArguments {
    /// The application's folder.
    pub app: PathBuf,
    /// Only tests that have it in their title or their file's name.
    pub filter: Option<String>,
    /// Whether the report is JSON.
    pub json: bool,
    /// How long one test may take.
    pub timeout: Duration,
}

impl Default for TestArguments {
    fn default() -> Self {
        Self { app: PathBuf::new(), filter: None, json: false, timeout: TEST_TIMEOUT }
    }
}

/// How the arguments are written.
pub const SPEC: Spec<TestArguments> = Spec {
    name: "test",
    usage: "APP [FILTER]",
    about: "Run an application's own tests.",
    arguments: &[
        Argument {
            name: "APP",
            about: "the application's folder; its tests are *.test.js or *.test.ts",
            store: |arguments, value| {
                arguments.app = value::folder(value)?;
                Ok(())
            },
        },
        Argument {
            name: "FILTER",
            about: "only tests with this in their title or file name",
            store: |arguments, value| {
                arguments.filter = Some(value::text(value)?);
                Ok(())
            },
        },
    ],
    flags: &[
        Flag {
            long: "timeout",
            short: None,
            takes: Takes::Value("TIME", |arguments, value| {
                arguments.timeout = value::duration(value, TEST_TIMEOUT_MAX)?;
                Ok(())
            }),
            about: "how long one test may take [10s]",
        },
        Flag {
            long: "json",
            short: None,
            takes: Takes::Nothing(|arguments| arguments.json = true),
            about: "report as JSON",
        },
    ],
    check: |arguments| {
        if arguments.app.as_os_str().is_empty() {
            return Err(UsageError::Missing { command: "test", what: "the application's folder" });
        }
        Ok(())
    },
};
