//! The arguments of `sarsen run`.

use super::UsageError;
use super::flag::{Argument, Flag, Spec, Takes};
use super::lab_flags::{self, Common, HasCommon};
use super::load;
use super::value::{self, ValueError};
use lab::archive::RunId;
use lab::grid::{Axis, GridError};
use lab::limits::{DURATION_MAX, RATE_MAX, USERS_MAX};
use lab::plan::Gate;
use lab::scenario::{Overrides, SPEEDS};
use lab::target::TargetError;
use std::ffi::OsString;
use std::path::PathBuf;

/// Which scenario, what is different from its file, and what becomes of it.
#[derive(Debug, Default, PartialEq)]
pub struct RunArguments {
    /// A path, or the name of a scenario that ships; the server's URL if a log is replayed.
    pub scenario: String,
    /// The access log that is replayed.
    pub replay: Option<PathBuf>,
    /// What the command line says instead of the file.
    pub overrides: Overrides,
    /// Whether it is only read.
    pub check: bool,
    /// Whether its text is shown.
    pub show: bool,
    /// Number of times of `[[setup]]` that were done by an earlier run.
    pub setup_from: u64,
    /// The id of the run, if the queue has given it out.
    pub id: Option<RunId>,
    /// What is varied; a run for each combination.
    pub grid: Vec<Axis>,
    /// The bound under which the highest rate is searched for, also as it was written.
    pub max_rate: Option<(String, Gate)>,
    /// What other commands have, too; `overrides` has none of it.
    pub common: Common,
}

impl HasCommon for RunArguments {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }
}

impl RunArguments {
    /// All that the command line says instead of the file.
    ///
    /// # Errors
    /// A URL of metrics cannot be used.
    pub fn overrides(&self) -> Result<Overrides, TargetError> {
        let Common { seed, threads, timeout, trust, pids, .. } = &self.common;
        Ok(Overrides {
            seed: *seed,
            threads: *threads,
            timeout: *timeout,
            trust: trust.clone(),
            server_pid: pids.first().copied(),
            observe: self.common.observe()?,
            ..self.overrides.clone()
        })
    }
}

/// How the arguments are written.
pub const SPEC: Spec<RunArguments> = Spec {
    name: "run",
    usage: "SCENARIO",
    about: "Carry out a scenario, report on the servers. Or: replay.",
    arguments: &[Argument {
        name: "SCENARIO",
        about: "a file, or one that ships: see docs/scenarios.md",
        store: |arguments, value| {
            arguments.scenario = value::text(value)?;
            Ok(())
        },
    }],
    flags: FLAGS,
    check: |arguments| {
        if arguments.scenario.is_empty() {
            let what = match arguments.replay {
                None => "a scenario",
                Some(_) => "the URL of the server that the log is replayed to",
            };
            return Err(UsageError::Missing { command: "run", what });
        }
        if arguments.overrides.users.is_some() && arguments.overrides.rate.is_some() {
            return Err(UsageError::Missing {
                command: "run",
                what: "either --users or --rate, not both",
            });
        }
        if arguments.max_rate.is_some() && !arguments.grid.is_empty() {
            return Err(UsageError::Missing {
                command: "run",
                what: "either --grid or --max-rate, not both",
            });
        }
        if arguments.max_rate.is_some() && arguments.overrides.users.is_some() {
            return Err(UsageError::Missing {
                command: "run",
                what: "--max-rate without --users: it is of the open model; --at-once bounds it",
            });
        }
        if arguments.id.is_some() && (arguments.max_rate.is_some() || !arguments.grid.is_empty()) {
            return Err(UsageError::Missing {
                command: "run",
                what: "one run for its --id, without --grid and --max-rate",
            });
        }
        Ok(())
    },
};

const ID: &str = "an id such as 20261122T101500Z-counter-7f3a";

const SPEED: &str = "a number from 0.001 to 1000";

const RATE: &str = "a number of operations a second, up to 10 million";

const FLAGS: &[Flag<RunArguments>] = &[
    Flag {
        long: "server",
        short: None,
        takes: Takes::Value("NAME=URL", |arguments, value| {
            arguments.overrides.servers.push(server(value)?);
            Ok(())
        }),
        about: "send there what is for server NAME; URL alone: the first",
    },
    Flag {
        long: "set",
        short: None,
        takes: Takes::Value("NAME=VALUE", |arguments, value| {
            let text = value::text(value)?;
            let (name, value) = text
                .split_once('=')
                .ok_or_else(|| ValueError::expected("a variable and its value, NAME=VALUE"))?;
            arguments.overrides.variables.push((name.to_owned(), value.to_owned()));
            Ok(())
        }),
        about: "give a variable of the scenario another value",
    },
    Flag {
        long: "users",
        short: Some('c'),
        takes: Takes::Value("N", |arguments, value| {
            arguments.overrides.users = Some(value::count(value, 1..=USERS_MAX as u64)? as usize);
            Ok(())
        }),
        about: "closed model: N users; scales stages",
    },
    Flag {
        long: "rate",
        short: None,
        takes: Takes::Value("N", |arguments, value| {
            let rate: f64 = value::parsed(value, RATE)?;
            if !(rate.is_finite() && rate > 0.0 && rate <= RATE_MAX) {
                return Err(ValueError::expected(RATE));
            }
            arguments.overrides.rate = Some(rate);
            Ok(())
        }),
        about: "open model: N operations a second; scales stages",
    },
    Flag {
        long: "replay",
        short: None,
        takes: Takes::Value("LOG", |arguments, value| {
            arguments.replay = Some(value::file(value)?);
            Ok(())
        }),
        about: "replay this access log; SCENARIO is the server's URL",
    },
    Flag {
        long: "speed",
        short: None,
        takes: Takes::Value("N", |arguments, value| {
            let speed: f64 = value::parsed(value, SPEED)?;
            if !SPEEDS.contains(&speed) {
                return Err(ValueError::expected(SPEED));
            }
            arguments.overrides.speed = Some(speed);
            Ok(())
        }),
        about: "replay a recording N times as fast",
    },
    Flag {
        long: "at-once",
        short: None,
        takes: Takes::Value("N", |arguments, value| {
            arguments.overrides.at_once = Some(value::count(value, 1..=USERS_MAX as u64)? as usize);
            Ok(())
        }),
        about: "open model: at most N operations at the same time",
    },
    Flag {
        long: "warm-up",
        short: None,
        takes: Takes::Value("TIME", |arguments, value| {
            arguments.overrides.warm_up = Some(value::duration(value, DURATION_MAX)?);
            Ok(())
        }),
        about: "load for so long before it is measured",
    },
    Flag {
        long: "duration",
        short: Some('d'),
        takes: Takes::Value("TIME", |arguments, value| {
            arguments.overrides.duration = Some(value::duration(value, DURATION_MAX)?);
            Ok(())
        }),
        about: "measure for so long, as 500ms, 15s or 2m",
    },
    Flag {
        long: "instances",
        short: None,
        takes: Takes::Value("N", |arguments, value| {
            let instances = value::count(value, 1..=USERS_MAX as u64)? as usize;
            arguments.overrides.instances = Some(instances);
            Ok(())
        }),
        about: "use the first N instances of each cache",
    },
    Flag {
        long: "grid",
        short: None,
        takes: Takes::Value("NAME=A,B,...", |arguments, value| {
            let axis = Axis::parse(&value::text(value)?);
            arguments.grid.push(axis.map_err(|why| ValueError::expected(axis_of(&why)))?);
            Ok(())
        }),
        about: "a run for each value, repeated: for each combination",
    },
    Flag {
        long: "max-rate",
        short: None,
        takes: Takes::Value("GATE", |arguments, value| {
            let text = value::text(value.clone())?;
            arguments.max_rate = Some((text, load::gate(value)?));
            Ok(())
        }),
        about: "search for the highest rate with 'p99<1ms'; from --rate",
    },
    lab_flags::seed(),
    lab_flags::threads(),
    lab_flags::timeout(),
    lab_flags::pid(),
    lab_flags::observe(),
    lab_flags::metrics(),
    lab_flags::ca(),
    lab_flags::insecure(),
    Flag {
        long: "setup-from",
        short: None,
        takes: Takes::Value("N", |arguments, value| {
            arguments.setup_from = value::count(value, 0..=u64::MAX)?;
            Ok(())
        }),
        about: "go on with a setup that was stopped, from its Nth time on",
    },
    Flag {
        long: "check",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.check = true),
        about: "say what it would do, or all mistakes; send nothing",
    },
    Flag {
        long: "show",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.show = true),
        about: "print the scenario's text, to begin one of your own",
    },
    lab_flags::json(),
    lab_flags::quiet(),
    lab_flags::runs(),
    Flag {
        long: "id",
        short: None,
        takes: Takes::Value("ID", |arguments, value| {
            arguments.id = Some(value::parsed_by(value, RunId::parse, ID)?);
            Ok(())
        }),
        about: "keep it under this id, which the queue has given out",
    },
    lab_flags::no_host(),
];

/// What would have been an axis.
fn axis_of(why: &GridError) -> String {
    let why = why.to_string();
    why.strip_prefix("expected ").map_or(why.clone(), str::to_owned)
}

/// `NAME=URL`, or a URL alone, which may have a `=` in it but not before its scheme.
fn server(value: OsString) -> Result<(Option<String>, String), ValueError> {
    let text = value::text(value)?;
    let named = text.split_once('=').filter(|(name, _)| !name.contains([':', '/']));
    Ok(match named {
        Some((name, url)) => (Some(name.to_owned()), url.to_owned()),
        None => (None, text),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;
    use lab::plan::{Process, Trust};
    use std::time::Duration;

    fn parsed(line: &str) -> Result<RunArguments, String> {
        match parse(line.split_whitespace().map(OsString::from)) {
            Ok(Command::Run(arguments)) => Ok(*arguments),
            Ok(other) => panic!("{line}: {other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn every_flag_has_its_effect() {
        let line = "run bank.toml --server http://h/?a=b --server cache=http://c --set a=b=c \
                    --rate 5 --replay l --speed 2.5 --at-once 9 \
                    --warm-up 1s -d 2s --seed 3 --threads 2 --pid 7 \
                    --ca f --insecure --timeout 4s --observe db=8 --metrics m \
                    --setup-from 11 --check --show --json --instances 2 \
                    --quiet --runs r --no-host --id 20261122T101500Z-a-7f3a";
        let expected = RunArguments {
            scenario: "bank.toml".into(),
            replay: Some("l".into()),
            overrides: Overrides {
                servers: vec![
                    (None, "http://h/?a=b".into()),
                    (Some("cache".into()), "http://c".into()),
                ],
                variables: vec![("a".into(), "b=c".into())],
                users: None,
                rate: Some(5.0),
                at_once: Some(9),
                speed: Some(2.5),
                warm_up: Some(Duration::from_secs(1)),
                duration: Some(Duration::from_secs(2)),
                instances: Some(2),
                ..Overrides::default()
            },
            check: true,
            show: true,
            setup_from: 11,
            id: RunId::parse("20261122T101500Z-a-7f3a"),
            grid: Vec::new(),
            max_rate: None,
            common: Common {
                seed: Some(3),
                threads: Some(2),
                timeout: Some(Duration::from_secs(4)),
                trust: Trust { ca: Some("f".into()), insecure: true },
                pids: vec![7],
                observed: vec![Process { name: "db".into(), pid: 8, with_children: false }],
                metrics: vec!["m".into()],
                runs: Some("r".into()),
                no_host: true,
                quiet: true,
                json: true,
            },
        };
        assert_eq!(parsed(line), Ok(expected));
        assert_eq!(parsed("run x -c 4").map(|run| run.overrides.users), Ok(Some(4)));
        let grid = parsed("run x --grid pipeline=1,16 --grid threads=1").expect("a grid").grid;
        assert_eq!(grid, ["pipeline=1,16", "threads=1"].map(|text| Axis::parse(text).unwrap()));
        let max = parsed("run x --max-rate p99<1ms").expect("a bound").max_rate;
        let gate = Gate::Latency { operation: None, quantile: 0.99, at_most_ms: 1.0 };
        assert_eq!(max, Some(("p99<1ms".into(), gate)));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert_eq!(parsed("run"), Err("`run` needs a scenario".into()));
        let nowhere = parsed("run --replay l").unwrap_err();
        assert!(nowhere.contains("the URL of the server"), "{nowhere}");
        assert!(parsed("run --replay l u --speed 0").is_err());
        let both = parsed("run x --users 1 --rate 1");
        assert_eq!(both, Err("`run` needs either --users or --rate, not both".into()));
        let unset = parsed("run x --set a").unwrap_err();
        assert!(unset.contains("NAME=VALUE"), "{unset}");
        let axis = parsed("run x --grid threads=0").unwrap_err();
        assert!(axis.starts_with("--grid: expected threads: "), "{axis}");
        for both in [
            "--grid a=1 --max-rate p99<1ms",
            "--grid a=1 --id 20261122T101500Z-a-7f3a",
            "--max-rate p99<1ms --users 4",
        ] {
            let said = parsed(&format!("run x {both}")).unwrap_err();
            assert!(said.starts_with("`run` needs "), "{said}");
        }
    }
}
