//! The arguments of `sarsen tasks`.

use super::UsageError;
use super::data::{self, InFolder};
use super::flag::{Argument, Flag, Spec, Takes};
use super::value::{self, ValueError};
use gem::limits::TASK_LIST_MAX;
use std::ffi::OsString;
use std::path::PathBuf;

/// What to do with the tasks of a data folder.
#[derive(Debug, PartialEq, Eq)]
pub struct TasksArguments {
    /// What is to be done.
    pub action: Option<TasksAction>,
    /// Which task; for `retry` and `cancel`.
    pub id: Option<String>,
    /// Whether to retry all that are dead.
    pub all_dead: bool,
    /// Whether to list those that wait only.
    pub waiting: bool,
    /// Whether to list those that are dead only.
    pub dead: bool,
    /// How many of each to list.
    pub limit: Option<usize>,
    /// Whether the list is JSON.
    pub json: bool,
    /// The data folder.
    pub data: PathBuf,
}

/// The first word after `tasks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TasksAction {
    /// Show some.
    List,
    /// Let dead ones run again.
    Retry,
    /// Remove one.
    Cancel,
}

impl Default for TasksArguments {
    fn default() -> Self {
        Self {
            action: None,
            id: None,
            all_dead: false,
            waiting: false,
            dead: false,
            limit: None,
            json: false,
            data: "./sarsen-data".into(),
        }
    }
}

const ACTIONS: &str = "list, retry or cancel";

impl InFolder for TasksArguments {
    fn data(&mut self) -> &mut PathBuf {
        &mut self.data
    }
}

/// How the arguments are written.
pub const SPEC: Spec<TasksArguments> = Spec {
    name: "tasks",
    usage: "ACTION [ID]",
    about: "List tasks, retry dead ones, cancel one.",
    arguments: &[
        Argument { name: "ACTION", about: ACTIONS, store: action },
        Argument {
            name: "ID",
            about: "which task to retry or cancel, as the list names it",
            store: |arguments, value| {
                arguments.id = Some(value::text(value)?);
                Ok(())
            },
        },
    ],
    flags: FLAGS,
    check,
};

const FLAGS: &[Flag<TasksArguments>] = &[
    data::flag("the repository's folder; a server may run [./sarsen-data]"),
    Flag {
        long: "waiting",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.waiting = true),
        about: "list those only that wait or run",
    },
    Flag {
        long: "dead",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.dead = true),
        about: "list those only that failed for good",
    },
    Flag {
        long: "limit",
        short: None,
        takes: Takes::Value("N", |arguments, value| {
            arguments.limit = Some(value::count(value, 1..=TASK_LIST_MAX as u64)? as usize);
            Ok(())
        }),
        about: "how many of each to list, at most 1000 [20]",
    },
    Flag {
        long: "json",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.json = true),
        about: "print lines of JSON; for list",
    },
    Flag {
        long: "all-dead",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.all_dead = true),
        about: "retry all dead tasks, without an ID",
    },
];

fn action(arguments: &mut TasksArguments, value: OsString) -> Result<(), ValueError> {
    arguments.action = Some(match value.to_str() {
        Some("list") => TasksAction::List,
        Some("retry") => TasksAction::Retry,
        Some("cancel") => TasksAction::Cancel,
        _ => return Err(ValueError::expected(ACTIONS)),
    });
    Ok(())
}

/// Nothing is to be given that would be ignored.
fn check(arguments: &TasksArguments) -> Result<(), UsageError> {
    let missing = |what| Err(UsageError::Missing { command: "tasks", what });
    let useless =
        |got: &str| Err(UsageError::UnexpectedArgument { command: "tasks", got: got.to_owned() });
    let TasksArguments { action, id, all_dead, waiting, dead, limit, json, .. } = arguments;
    let Some(action) = *action else { return missing(ACTIONS) };
    let is_list = action == TasksAction::List;
    match (action, id, all_dead) {
        (TasksAction::List, Some(id), _) | (TasksAction::Retry, Some(id), true) => {
            return useless(id);
        }
        (TasksAction::Retry, None, false) => return missing("the ID of a task, or --all-dead"),
        (TasksAction::Cancel, None, _) => return missing("the ID of a task"),
        _ => {}
    }
    let given = [
        ("--waiting", *waiting, is_list && !dead),
        ("--dead", *dead, is_list),
        ("--limit", limit.is_some(), is_list),
        ("--json", *json, is_list),
        ("--all-dead", *all_dead, action == TasksAction::Retry),
    ];
    given.iter().find(|(_, given, useful)| *given && !useful).map_or(Ok(()), |(f, ..)| useless(f))
}

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;

    fn parsed(line: &str) -> Result<TasksArguments, String> {
        match parse(line.split_whitespace().map(Into::into)) {
            Ok(Command::Tasks(arguments)) => Ok(arguments),
            Err(error) => Err(error.to_string()),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn every_flag_has_its_effect() {
        let with = |action| TasksArguments { action: Some(action), ..TasksArguments::default() };
        assert_eq!(parsed("tasks list"), Ok(with(TasksAction::List)));
        let dead = TasksArguments {
            dead: true,
            limit: Some(3),
            json: true,
            data: "/d".into(),
            ..with(TasksAction::List)
        };
        assert_eq!(parsed("tasks list --dead --limit 3 --json --data /d"), Ok(dead));
        let waiting = TasksArguments { waiting: true, ..with(TasksAction::List) };
        assert_eq!(parsed("tasks list --waiting"), Ok(waiting));
        let all = TasksArguments { all_dead: true, ..with(TasksAction::Retry) };
        assert_eq!(parsed("tasks retry --all-dead"), Ok(all));
        let one = |action| TasksArguments { id: Some("abc".into()), ..with(action) };
        assert_eq!(parsed("tasks retry abc"), Ok(one(TasksAction::Retry)));
        assert_eq!(parsed("tasks cancel abc"), Ok(one(TasksAction::Cancel)));
    }

    #[test]
    fn what_is_missing_or_would_be_ignored_is_refused() {
        for (line, word) in [
            ("tasks", ACTIONS),
            ("tasks drop", ACTIONS),
            ("tasks retry", "--all-dead"),
            ("tasks cancel", "ID"),
            ("tasks list abc", "\"abc\""),
            ("tasks retry abc --all-dead", "\"abc\""),
            ("tasks cancel abc --all-dead", "--all-dead"),
            ("tasks cancel abc --json", "--json"),
            ("tasks retry abc --limit 2", "--limit"),
            ("tasks list --waiting --dead", "--waiting"),
            ("tasks list --limit 1001", "from 1 to 1000"),
        ] {
            let error = parsed(line).expect_err(line);
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
