//! The arguments of the queue's commands: `submit`, `status`, `wait`, `cancel`, `log`, `queue`.

use super::flag::{Argument, Flag, Spec, Takes};
use super::value::{self, ValueError};
use super::{Command, RunArguments, UsageError, parse};
use lab::limits::QUEUE_AHEAD_MAX;
use lab::queue::parse_utc;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::SystemTime;

/// A run that is to wait for its turn.
#[derive(Debug, Default, PartialEq)]
pub struct SubmitArguments {
    /// What it is called, instead of the scenario's name.
    pub name: Option<String>,
    /// It is carried out only after this job has passed.
    pub after: Option<String>,
    /// It is not carried out before this.
    pub not_before: Option<SystemTime>,
    /// The queue's folder.
    pub queue: Option<PathBuf>,
    /// The folder of runs.
    pub runs: Option<PathBuf>,
    /// What is run.
    pub run: RunArguments,
    /// The same, as it was written.
    pub words: Vec<String>,
}

/// A job of the queue, or all of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct QueueArguments {
    /// What is to be done.
    pub action: Option<QueueAction>,
    /// The begin of the job's id.
    pub id: Option<String>,
    /// The queue's folder.
    pub queue: Option<PathBuf>,
    /// Whether to print JSON.
    pub json: bool,
    /// Whether to kill.
    pub force: bool,
    /// Whether to go on until the job is over.
    pub follow: bool,
    /// Whether to leave the terminal.
    pub detach: bool,
}

/// Which command it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueAction {
    /// `sarsen status`
    Status,
    /// `sarsen wait`
    Wait,
    /// `sarsen cancel`
    Cancel,
    /// `sarsen log`
    Log,
    /// `sarsen queue run`
    Run,
    /// `sarsen queue suspend`
    Suspend,
    /// `sarsen queue resume`
    Resume,
}

/// `sarsen submit`. What it does not know itself is for `sarsen run`.
pub const SUBMIT: Spec<SubmitArguments> = Spec {
    name: "submit",
    usage: "SCENARIO",
    about: "Queue a run; also: status, wait, cancel, log, queue.",
    arguments: &[],
    flags: &[
        Flag {
            long: "name",
            short: None,
            takes: Takes::Value("NAME", |arguments, value| {
                arguments.name = Some(value::text(value)?);
                Ok(())
            }),
            about: "what to call the job [the scenario's name]",
        },
        Flag {
            long: "after",
            short: None,
            takes: Takes::Value("ID", |arguments, value| {
                arguments.after = Some(value::text(value)?);
                Ok(())
            }),
            about: "only after this job has passed; if it does not, cancel this one",
        },
        Flag {
            long: "in",
            short: None,
            takes: Takes::Value("TIME", |arguments, value| {
                let time = value::duration(value, QUEUE_AHEAD_MAX)?;
                arguments.not_before = Some(SystemTime::now() + time);
                Ok(())
            }),
            about: "not before so long from now, as 90m or 12h",
        },
        Flag {
            long: "at",
            short: None,
            takes: Takes::Value("UTC", |arguments, value| {
                let at = value::parsed_by(value, parse_utc, "a time such as 2026-11-22T10:15Z")?;
                arguments.not_before = Some(at);
                Ok(())
            }),
            about: "not before this time, as 2026-11-22T10:15Z",
        },
        Flag {
            long: "runs",
            short: None,
            takes: Takes::Value("DIR", |arguments, value| {
                arguments.runs = Some(value::folder(value)?);
                Ok(())
            }),
            about: "the folder of runs [$SARSEN_RUNS, or ./runs]",
        },
        Flag {
            long: "queue",
            short: None,
            takes: Takes::Value("DIR", |arguments, value| {
                arguments.queue = Some(value::folder(value)?);
                Ok(())
            }),
            about: QUEUE_ABOUT,
        },
    ],
    check: |_| Ok(()),
};

const QUEUE_ABOUT: &str = "the queue's folder [$SARSEN_QUEUE, or ./queue]";

const ID: Argument<QueueArguments> = Argument {
    name: "ID",
    about: "which job; as much of its id as is needed to tell it",
    store: |arguments, value| {
        arguments.id = Some(value::text(value)?);
        Ok(())
    },
};

const QUEUE: Flag<QueueArguments> = Flag {
    long: "queue",
    short: None,
    takes: Takes::Value("DIR", |arguments, value| {
        arguments.queue = Some(value::folder(value)?);
        Ok(())
    }),
    about: QUEUE_ABOUT,
};

const JSON: Flag<QueueArguments> = Flag {
    long: "json",
    short: None,
    takes: Takes::Nothing(|arguments| arguments.json = true),
    about: "print a line of JSON for each job",
};

/// `sarsen status`
pub const STATUS: Spec<QueueArguments> = Spec {
    name: "status",
    usage: "[ID]",
    about: "List the jobs of the queue, or one.",
    arguments: &[ID],
    flags: &[JSON, QUEUE],
    check: |_| Ok(()),
};

/// `sarsen wait`
pub const WAIT: Spec<QueueArguments> = Spec {
    name: "wait",
    usage: "ID",
    about: "Wait until a job is over; end as its run did.",
    arguments: &[ID],
    flags: &[JSON, QUEUE],
    check: |arguments| needs_id("wait", arguments),
};

/// `sarsen cancel`
pub const CANCEL: Spec<QueueArguments> = Spec {
    name: "cancel",
    usage: "ID",
    about: "Take a job from the queue, or end its run.",
    arguments: &[ID],
    flags: &[
        Flag {
            long: "force",
            short: None,
            takes: Takes::Nothing(|arguments| arguments.force = true),
            about: "kill a run that does not end",
        },
        QUEUE,
    ],
    check: |arguments| needs_id("cancel", arguments),
};

/// `sarsen log`
pub const LOG: Spec<QueueArguments> = Spec {
    name: "log",
    usage: "ID",
    about: "Print what the run of a job has said.",
    arguments: &[ID],
    flags: &[
        Flag {
            long: "follow",
            short: Some('f'),
            takes: Takes::Nothing(|arguments| arguments.follow = true),
            about: "go on until the job is over",
        },
        QUEUE,
    ],
    check: |arguments| needs_id("log", arguments),
};

/// `sarsen queue`
pub const RUN: Spec<QueueArguments> = Spec {
    name: "queue",
    usage: "run|suspend|resume",
    about: "Carry out the jobs of the queue, let none begin, or let them again.",
    arguments: &[Argument {
        name: "ACTION",
        about: "run: here, until none is left; suspend: none begins until resume",
        store: action,
    }],
    flags: &[
        Flag {
            long: "detach",
            short: None,
            takes: Takes::Nothing(|arguments| arguments.detach = true),
            about: "leave the terminal, as the one does that submit starts",
        },
        QUEUE,
    ],
    check: |arguments| match arguments.action {
        Some(_) => Ok(()),
        None => Err(UsageError::Missing { command: "queue", what: "run, suspend or resume" }),
    },
};

fn action(arguments: &mut QueueArguments, value: OsString) -> Result<(), ValueError> {
    arguments.action = Some(match value::text(value)?.as_str() {
        "run" => QueueAction::Run,
        "suspend" => QueueAction::Suspend,
        "resume" => QueueAction::Resume,
        _ => return Err(ValueError::expected("run, suspend or resume")),
    });
    Ok(())
}

fn needs_id(command: &'static str, arguments: &QueueArguments) -> Result<(), UsageError> {
    match arguments.id {
        Some(_) => Ok(()),
        None => Err(UsageError::Missing { command, what: "the ID of a job" }),
    }
}

/// Reads what follows one of these commands but `submit`.
pub fn command(action: QueueAction, rest: Vec<OsString>) -> Result<Command, UsageError> {
    let spec = match action {
        QueueAction::Status => &STATUS,
        QueueAction::Wait => &WAIT,
        QueueAction::Cancel => &CANCEL,
        QueueAction::Log => &LOG,
        QueueAction::Run | QueueAction::Suspend | QueueAction::Resume => &RUN,
    };
    match parse::command(spec, rest, Command::Queue)? {
        Command::Queue(arguments) => {
            let action = arguments.action.or(Some(action));
            Ok(Command::Queue(QueueArguments { action, ..arguments }))
        }
        help => Ok(help),
    }
}

/// Reads what follows `submit`: its own flags, and the rest as `run` would.
pub fn submit(rest: Vec<OsString>) -> Result<Command, UsageError> {
    let is_own = |word: &str| {
        let name = word.split('=').next().unwrap_or_default();
        let is_flag = SUBMIT.flags.iter().any(|flag| name.strip_prefix("--") == Some(flag.long));
        is_flag || ["-h", "--help"].contains(&word)
    };
    let (mut own, mut others) = (Vec::new(), Vec::new());
    let mut words = rest.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy().into_owned();
        if !is_own(&text) {
            others.push(word);
            continue;
        }
        own.push(word);
        if !text.contains('=') {
            own.extend(words.next());
        }
    }
    let submitted = parse::command(&SUBMIT, own, |own| Command::Submit(Box::new(own)))?;
    let Command::Submit(mut submit) = submitted else { return Ok(submitted) };
    let words = others.iter().map(|word| value::text(word.clone()));
    submit.words = words.collect::<Result<_, _>>().map_err(|error| UsageError::BadValue {
        place: "submit".to_owned(),
        expected: error.expected,
        got: "other bytes".to_owned(),
    })?;
    let run = std::iter::once("run".into()).chain(others);
    match super::parse(run)? {
        Command::Run(run) if run.max_rate.is_some() || !run.grid.is_empty() => {
            let what = "one run for a job, without --grid and --max-rate";
            return Err(UsageError::Missing { command: "submit", what });
        }
        Command::Run(run) => submit.run = *run,
        other => return Ok(other),
    }
    // The file is named apart from the rest.
    let scenario = submit.words.iter().position(|word| *word == submit.run.scenario);
    if let Some(place) = scenario {
        submit.words.remove(place);
    }
    Ok(Command::Submit(submit))
}

#[cfg(test)]
mod tests {
    use super::super::parse as parse_all;
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse_all(line.split_whitespace().map(OsString::from)).map_err(|error| error.to_string())
    }

    #[test]
    fn what_submit_does_not_know_is_for_run() {
        let line = "submit --name a x.toml --after=2026 --rate 5 --queue /q --runs /r --seed 3";
        let Ok(Command::Submit(submit)) = parsed(line) else { panic!("{:?}", parsed(line)) };
        assert_eq!((submit.name.as_deref(), submit.after.as_deref()), (Some("a"), Some("2026")));
        assert_eq!((submit.queue, submit.runs), (Some("/q".into()), Some("/r".into())));
        assert_eq!(submit.words, ["--rate", "5", "--seed", "3"]);
        assert_eq!(submit.run.scenario, "x.toml");
        for (line, told) in [
            ("submit", "a scenario"),
            ("submit x --rate much", "--rate"),
            ("submit x --name", "--name"),
            ("submit x --what", "--what"),
        ] {
            let error = parsed(line).expect_err(line);
            assert!(error.contains(told), "{line}: {error}");
        }
    }

    #[test]
    fn every_flag_has_its_effect() {
        let with = |action| QueueArguments {
            action: Some(action),
            id: Some("2026".into()),
            ..QueueArguments::default()
        };
        let queue = |arguments| Ok(Command::Queue(arguments));
        let json = QueueArguments { json: true, ..with(QueueAction::Status) };
        assert_eq!(parsed("status 2026 --json"), queue(json));
        assert_eq!(parsed("wait 2026"), queue(with(QueueAction::Wait)));
        let force = QueueArguments { force: true, ..with(QueueAction::Cancel) };
        assert_eq!(parsed("cancel 2026 --force"), queue(force));
        let follow = QueueArguments { follow: true, ..with(QueueAction::Log) };
        assert_eq!(parsed("log -f 2026"), queue(follow));
        let run = QueueArguments {
            id: None,
            detach: true,
            queue: Some("/q".into()),
            ..with(QueueAction::Run)
        };
        assert_eq!(parsed("queue run --detach --queue /q"), queue(run));
        for (line, action) in
            [("queue suspend", QueueAction::Suspend), ("queue resume", QueueAction::Resume)]
        {
            assert_eq!(parsed(line), queue(QueueArguments { id: None, ..with(action) }));
        }
        let Ok(Command::Submit(submit)) = parsed("submit x --at 2026-11-22T10:15Z") else {
            panic!("it is understood")
        };
        assert_eq!(submit.not_before, parse_utc("2026-11-22T10:15Z"));
        for (line, told) in [
            ("wait", "the ID of a job"),
            ("cancel", "the ID of a job"),
            ("log", "the ID of a job"),
            ("queue", "run, suspend or resume"),
            ("queue stop", "expected run, suspend or resume"),
            ("submit x --at soon", "2026-11-22T10:15Z"),
            ("submit x --in 0s", "a duration"),
        ] {
            let error = parsed(line).expect_err(line);
            assert!(error.contains(told), "{line}: {error}");
        }
    }
}
