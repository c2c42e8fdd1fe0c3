//! The arguments of `sarsen replay`.

use super::UsageError;
use super::flag::{Argument, Flag, Spec, Takes};
use super::value::{self, ValueError};
use lab::trace::Replay;
use std::path::PathBuf;
use std::time::Duration;

/// Which trace is replayed, where, and how it is told.
#[derive(Debug, PartialEq, Eq)]
pub struct ReplayArguments {
    /// The trace; `-`: what comes on stdin.
    pub trace: PathBuf,
    /// Where, and how.
    pub replay: Replay,
    /// Whether to print lines of JSON.
    pub json: bool,
}

impl Default for ReplayArguments {
    fn default() -> Self {
        let replay = Replay { server: String::new(), fill: false, every_s: 1 };
        Self { trace: PathBuf::new(), replay, json: false }
    }
}

/// Longest time that is told in one line.
const EVERY_MAX: Duration = Duration::from_secs(30 * 86_400);

const ADDRESS: &str = "an address such as 127.0.0.1:11211";

/// How the arguments are written.
pub const SPEC: Spec<ReplayArguments> = Spec {
    name: "replay",
    usage: "FILE HOST:PORT [flags]",
    about: "Replay a trace of requests to a cache; print its hit ratio.",
    arguments: &[
        Argument {
            name: "FILE",
            about: "the trace, or - for stdin (docs/lab.md)",
            store: |arguments, value| {
                arguments.trace = value::file(value)?;
                Ok(())
            },
        },
        Argument {
            name: "HOST:PORT",
            about: "a server that speaks memcached's protocol",
            store: |arguments, value| {
                let text = value::text(value)?;
                let address = text.strip_prefix("memcached://").unwrap_or(&text);
                let port = address.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
                if !matches!(port, Some(Ok(1..))) {
                    return Err(ValueError::expected(ADDRESS));
                }
                arguments.replay.server = address.to_owned();
                Ok(())
            },
        },
    ],
    flags: &[
        Flag {
            long: "fill",
            short: None,
            takes: Takes::Nothing(|arguments| arguments.replay.fill = true),
            about: "store what a get does not find, with its length of value",
        },
        Flag {
            long: "every",
            short: None,
            takes: Takes::Value("TIME", |arguments, value| {
                let every = value::duration(value, EVERY_MAX)?;
                if every.subsec_nanos() != 0 {
                    return Err(ValueError::expected("whole seconds"));
                }
                arguments.replay.every_s = every.as_secs();
                Ok(())
            }),
            about: "the trace's time that a line is about, as 1s or 1h [1s]",
        },
        Flag {
            long: "json",
            short: None,
            takes: Takes::Nothing(|arguments| arguments.json = true),
            about: "print each line as JSON",
        },
    ],
    check: |arguments| match arguments.replay.server.is_empty() {
        true => Err(UsageError::Missing { command: "replay", what: "a trace and HOST:PORT" }),
        false => Ok(()),
    },
};

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;

    fn parsed(line: &str) -> Result<ReplayArguments, String> {
        match parse(line.split_whitespace().map(Into::into)) {
            Ok(Command::Replay(arguments)) => Ok(arguments),
            Ok(other) => panic!("{line}: {other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn every_argument_has_its_effect() {
        let replay = Replay { server: "localhost:11211".into(), fill: true, every_s: 3_600 };
        let expected = ReplayArguments { trace: "t.csv".into(), replay, json: true };
        let line = "replay t.csv memcached://localhost:11211 --fill --every 1h --json";
        assert_eq!(parsed(line), Ok(expected));
        let plain = parsed("replay - 127.0.0.1:1").map(|it| (it.replay.fill, it.replay.every_s));
        assert_eq!(plain, Ok((false, 1)));
    }

    #[test]
    fn what_it_cannot_do_is_refused() {
        for line in ["replay", "replay t.csv", "replay t.csv host", "replay t.csv host:0"] {
            parsed(line).expect_err(line);
        }
        let error = parsed("replay t h:1 --every 1500ms").expect_err("parts of a second");
        assert!(error.starts_with("--every: expected whole seconds"), "{error}");
    }
}
