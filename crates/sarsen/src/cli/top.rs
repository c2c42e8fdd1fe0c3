//! The arguments of `sarsen top`.

use super::data::{self, InFolder};
use super::flag::{Flag, Spec, Takes};
use super::value;
use std::path::PathBuf;
use std::time::Duration;

/// What to watch, and how.
#[derive(Debug, PartialEq, Eq)]
pub struct TopArguments {
    /// The data folder of the server.
    pub data: PathBuf,
    /// How often to look.
    pub every: Duration,
    /// Whether to show it once and end.
    pub once: bool,
    /// Whether to print JSON, once.
    pub json: bool,
}

impl Default for TopArguments {
    fn default() -> Self {
        let every = Duration::from_secs(1);
        Self { data: "./sarsen-data".into(), every, once: false, json: false }
    }
}

impl InFolder for TopArguments {
    fn data(&mut self) -> &mut PathBuf {
        &mut self.data
    }
}

/// How the arguments are written.
pub const SPEC: Spec<TopArguments> = Spec {
    name: "top",
    usage: "[flags]",
    about: "Watch a server that runs: its load and its handlers.",
    arguments: &[],
    flags: &[
        data::flag("the server's data folder [./sarsen-data]"),
        Flag {
            long: "every",
            short: None,
            takes: Takes::Value("TIME", |arguments, value| {
                arguments.every = value::duration(value, Duration::from_secs(3_600))?;
                Ok(())
            }),
            about: "how often to look, as 1s or 10s [1s]",
        },
        Flag {
            long: "once",
            short: None,
            takes: Takes::Nothing(|arguments| arguments.once = true),
            about: "show one look and end, as where stdout is no terminal",
        },
        Flag {
            long: "json",
            short: None,
            takes: Takes::Nothing(|arguments| arguments.json = true),
            about: "print one look as JSON: totals since the start, and rates",
        },
    ],
    check: |_| Ok(()),
};

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;

    #[test]
    fn every_flag_has_its_effect() {
        let asked = |line: &str| match parse(line.split_whitespace().map(Into::into)) {
            Ok(Command::Top(arguments)) => arguments,
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(asked("top"), TopArguments::default());
        let every = Duration::from_secs(10);
        let expected = TopArguments { data: "/d".into(), every, once: true, json: true };
        assert_eq!(asked("top --data /d --every 10s --once --json"), expected);
    }
}
