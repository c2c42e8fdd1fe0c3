//! The arguments of `sarsen errors`.

use super::data::{self, InFolder};
use super::flag::{Argument, Flag, Spec, Takes};
use super::value;
use std::path::PathBuf;

/// Which failed requests to show.
#[derive(Debug, PartialEq, Eq)]
pub struct ErrorsArguments {
    /// The one to show in full; a list if not given.
    pub id: Option<String>,
    /// The data folder.
    pub data: PathBuf,
    /// How many of the newest.
    pub limit: usize,
    /// Whether the output is JSON.
    pub json: bool,
}

impl Default for ErrorsArguments {
    fn default() -> Self {
        Self { id: None, data: "./sarsen-data".into(), limit: 20, json: false }
    }
}

impl InFolder for ErrorsArguments {
    fn data(&mut self) -> &mut PathBuf {
        &mut self.data
    }
}

/// How the arguments are written.
pub const SPEC: Spec<ErrorsArguments> = Spec {
    name: "errors",
    usage: "[ID] [flags]",
    about: "List requests that failed, or show one in full.",
    arguments: &[Argument {
        name: "ID",
        about: "the one to show in full [a list]",
        store: |arguments, value| {
            arguments.id = Some(value::text(value)?);
            Ok(())
        },
    }],
    flags: &[
        data::flag("the repository's folder [./sarsen-data]"),
        Flag {
            long: "limit",
            short: None,
            takes: Takes::Value("N", |arguments, value| {
                arguments.limit = value::count(value, 1..=1_000_000)? as usize;
                Ok(())
            }),
            about: "how many of the newest [20]",
        },
        Flag {
            long: "json",
            short: None,
            takes: Takes::Nothing(|arguments| arguments.json = true),
            about: "print lines of JSON",
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
            Ok(Command::Errors(arguments)) => arguments,
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(asked("errors"), ErrorsArguments::default());
        let expected =
            ErrorsArguments { id: Some("abc".into()), data: "/d".into(), limit: 3, json: true };
        assert_eq!(asked("errors abc --data /d --limit 3 --json"), expected);
    }
}
