//! `sarsen tasks`: lists, retries and cancels tasks, by the server that runs on the data folder, or
//! on the repository itself where none does.

use crate::admin::{AskError, Running, Tasks, TasksError};
use crate::cli::{TasksAction, TasksArguments};
use crate::door::{Door, DoorError};
use crate::exit::Exit;
use repository::Repository;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// How many are listed unless `--limit` says otherwise.
const LIMIT_DEFAULT: usize = 20;

/// Why the command could not be done.
#[derive(Debug, Error)]
pub enum TasksCommandError {
    /// There is no way to the repository.
    #[error(transparent)]
    Door(#[from] DoorError),
    /// The server that runs did not do it.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// It was refused.
    #[error(transparent)]
    Tasks(#[from] TasksError),
}

impl TasksCommandError {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Door(error) => error.exit(),
            Self::Ask(AskError::Refused(_)) | Self::Tasks(_) => Exit::Failure,
            Self::Ask(_) => Exit::Unreachable,
        }
    }
}

/// Who answers.
enum Answerer {
    Server(Running),
    Repository(Arc<Repository>, Tasks),
}

impl Answerer {
    fn find(folder: &Path) -> Result<Self, TasksCommandError> {
        Ok(match Door::find(folder)? {
            Door::Server(running) => Self::Server(running),
            Door::Repository(repository) => {
                let tasks = Tasks::new(Arc::clone(&repository), None);
                Self::Repository(repository, tasks)
            }
        })
    }

    fn ask(&mut self, arguments: &Value) -> Result<Value, TasksCommandError> {
        match self {
            Self::Server(running) => Ok(running.ask("tasks", arguments)?),
            Self::Repository(_, tasks) => Ok(tasks.answer(arguments)?),
        }
    }

    fn close(self) -> Result<(), TasksCommandError> {
        match self {
            Self::Server(_) => Ok(()),
            Self::Repository(repository, _) => Ok(Door::close(&repository)?),
        }
    }
}

/// What goes to stdout.
pub fn run(arguments: &TasksArguments) -> Result<String, TasksCommandError> {
    let mut answerer = Answerer::find(&arguments.data)?;
    let done = perform(&mut answerer, arguments);
    let closed = answerer.close();
    let text = done?;
    closed.map(|()| text)
}

fn perform(
    answerer: &mut Answerer,
    arguments: &TasksArguments,
) -> Result<String, TasksCommandError> {
    let id = arguments.id.as_deref().unwrap_or_default();
    match arguments.action {
        Some(TasksAction::Retry) if arguments.all_dead => {
            Ok(retried(&answerer.ask(&json!({ "action": "retry-all" }))?))
        }
        Some(TasksAction::Retry) => {
            answerer.ask(&json!({ "action": "retry", "id": id }))?;
            Ok(format!("the task {} waits, and is due now\n", shown(id)))
        }
        Some(TasksAction::Cancel) => {
            Ok(cancelled(id, &answerer.ask(&json!({ "action": "cancel", "id": id }))?))
        }
        Some(TasksAction::List) | None => list(answerer, arguments),
    }
}

fn list(answerer: &mut Answerer, arguments: &TasksArguments) -> Result<String, TasksCommandError> {
    let limit = arguments.limit.unwrap_or(LIMIT_DEFAULT);
    let mut text = String::new();
    for (which, is_asked) in [("waiting", !arguments.dead), ("dead", !arguments.waiting)] {
        if !is_asked {
            continue;
        }
        let mut answer =
            answerer.ask(&json!({ "action": "list", "which": which, "limit": limit }))?;
        let tasks = answer["tasks"].as_array_mut().map(std::mem::take).unwrap_or_default();
        let rows = tasks.into_iter().map(|mut task| {
            task["state"] = which.into();
            if arguments.json { format!("{task}\n") } else { row(&task) }
        });
        text.extend(rows);
        if answer["more"] == true && !arguments.json {
            text.push_str(&format!("more tasks are {which}; --limit N lists up to 1000\n"));
        }
    }
    match (arguments.waiting, arguments.dead) {
        _ if arguments.json || !text.is_empty() => Ok(text),
        (true, _) => Ok("no task waits\n".to_owned()),
        (_, true) => Ok("no task is dead\n".to_owned()),
        _ => Ok("no task waits, and none is dead\n".to_owned()),
    }
}

/// A line, and one more with the last error if there is one.
fn row(task: &Value) -> String {
    let text = |member: &str| shown(task[member].as_str().unwrap_or_default());
    let (id, state, name) = (text("id"), text("state"), text("name"));
    let when = match task["died"].as_str() {
        Some(died) => format!("died {}", shown(died)),
        None => format!("due {}", text("due")),
    };
    let failures = match task["failures"].as_u64().unwrap_or_default() {
        0 => String::new(),
        1 => "  1 failure".to_owned(),
        count => format!("  {count} failures"),
    };
    let error = task["error"].as_str().map(|error| format!("    {}\n", shown(error)));
    format!("{id}  {state}  {name}  {when}{failures}\n{}", error.unwrap_or_default())
}

fn retried(answer: &Value) -> String {
    let mut text = match answer["retried"].as_u64().unwrap_or_default() {
        1 => "1 dead task waits again\n".to_owned(),
        count => format!("{count} dead tasks wait again\n"),
    };
    let taken = answer["keys_taken"].as_u64().unwrap_or_default();
    if taken > 0 {
        text.push_str(&format!("{taken} stay dead, because others with their keys wait\n"));
    }
    text
}

fn cancelled(id: &str, answer: &Value) -> String {
    let name = shown(answer["name"].as_str().unwrap_or_default());
    match answer["was"].as_str() {
        Some("cron") => format!("the cron {name} waits for its next time\n"),
        was => {
            let was = was.map(|was| format!("{was} ")).unwrap_or_default();
            format!("cancelled the {was}task {name} {}\n", shown(id))
        }
    }
}

/// Without control characters: what an application wrote must not steer a terminal.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows() {
        let mut task = json!({
            "id": "send:\u{1b}[2Ja", "name": "send", "state": "waiting", "failures": 0,
            "due": "2026-11-21T10:00:00.000Z", "died": null, "error": null,
        });
        assert_eq!(row(&task), "send: [2Ja  waiting  send  due 2026-11-21T10:00:00.000Z\n");
        task["failures"] = 2.into();
        task["state"] = "dead".into();
        task["died"] = "2026-11-22T10:00:00.000Z".into();
        task["error"] = "app.js:1:2: a\nb".into();
        let expected = "send: [2Ja  dead  send  died 2026-11-22T10:00:00.000Z  2 failures\n    \
                        app.js:1:2: a b\n";
        assert_eq!(row(&task), expected);
    }

    #[test]
    fn what_was_done() {
        let all = json!({ "retried": 2, "keys_taken": 1 });
        let expected =
            "2 dead tasks wait again\n1 stay dead, because others with their keys wait\n";
        assert_eq!(retried(&all), expected);
        let cron = json!({ "name": "nightly", "was": "cron" });
        assert_eq!(cancelled("nightly:", &cron), "the cron nightly waits for its next time\n");
        let dead = json!({ "name": "send", "was": "dead" });
        assert_eq!(cancelled("01", &dead), "cancelled the dead task send 01\n");
    }
}
