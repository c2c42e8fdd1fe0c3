//! The arguments of `sarsen stats`.

use super::UsageError;
use super::data::{self, InFolder};
use super::flag::{Flag, Spec, Takes};
use std::path::PathBuf;

/// What to tell, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatsArguments {
    /// The data folder.
    pub data: PathBuf,
    /// Whether documents are counted, which reads all of them.
    pub count: bool,
    /// Whether the answer is JSON.
    pub json: bool,
}

impl InFolder for StatsArguments {
    fn data(&mut self) -> &mut PathBuf {
        &mut self.data
    }
}

/// How the arguments are written.
pub const SPEC: Spec<StatsArguments> = Spec {
    name: "stats",
    usage: "--data DIR [--count] [--json]",
    about: "Tell what a repository holds and does; a server may run.",
    arguments: &[],
    flags: &[
        data::flag("the repository's folder; a server may run"),
        Flag {
            long: "count",
            short: None,
            takes: Takes::Nothing(|arguments| arguments.count = true),
            about: "count documents and their bytes: reads all of them",
        },
        Flag {
            long: "json",
            short: None,
            takes: Takes::Nothing(|arguments| arguments.json = true),
            about: "print JSON",
        },
    ],
    check: |arguments| match arguments.data.as_os_str().is_empty() {
        true => Err(UsageError::Missing { command: "stats", what: "--data DIR" }),
        false => Ok(()),
    },
};

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;

    #[test]
    fn every_flag_has_its_effect() {
        let words = |line: &str| parse(line.split_whitespace().map(Into::into));
        let expected = StatsArguments { data: "/d".into(), count: true, json: true };
        assert_eq!(words("stats --data /d --count --json"), Ok(Command::Stats(expected)));
        assert!(words("stats").is_err());
    }
}
