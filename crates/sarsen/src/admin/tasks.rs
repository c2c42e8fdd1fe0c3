//! Tasks as the admin socket lists and changes them. `sarsen tasks` uses the same without a server,
//! on a repository that it opened itself. What a change means is the gem's business.

use gem::limits::TASK_LIST_MAX;
use gem::{Ledger, List, Listed, Pool, Retried, TaskError, Was};
use repository::{Repository, Timestamp};
use serde_json::{Value, json};
use std::sync::Arc;
use thiserror::Error;

/// The tasks of a repository, and the gems that run them, if any do.
pub struct Tasks {
    ledger: Ledger,
    pool: Option<Arc<Pool>>,
}

/// Why a request has no answer.
#[derive(Debug, Error)]
pub enum TasksError {
    /// The request has not the form of one.
    #[error(
        "expected the action list (with which: waiting or dead, and limit), retry (with id), \
         retry-all or cancel (with id); got {0}"
    )]
    Form(String),
    /// The tasks could not be read or changed.
    #[error(transparent)]
    Task(#[from] TaskError),
}

impl Tasks {
    /// Of `repository`, with `pool` if it runs them.
    pub fn new(repository: Arc<Repository>, pool: Option<Arc<Pool>>) -> Self {
        Self { ledger: Ledger::new(repository), pool }
    }

    /// The answer to a request. What it says, a refusal among it, is durable: nobody is told what a
    /// crash takes back.
    pub fn answer(&self, arguments: &Value) -> Result<Value, TasksError> {
        let answered = self.perform(arguments);
        self.ledger.settle()?;
        answered
    }

    fn perform(&self, arguments: &Value) -> Result<Value, TasksError> {
        let refused = || TasksError::Form(arguments.to_string().chars().take(200).collect());
        let id = || arguments["id"].as_str().ok_or_else(refused);
        match arguments["action"].as_str() {
            Some("list") => {
                let which = match arguments["which"].as_str() {
                    Some("waiting") => List::Waiting,
                    Some("dead") => List::Dead,
                    _ => return Err(refused()),
                };
                let limit = arguments["limit"].as_u64().ok_or_else(refused)?;
                self.list(which, usize::try_from(limit).unwrap_or(usize::MAX))
            }
            Some("retry") => {
                self.ledger.retry(id()?)?;
                Ok(self.retried(Retried { tasks: 1, keys_taken: 0 }))
            }
            Some("retry-all") => Ok(self.retried(self.ledger.retry_all()?)),
            Some("cancel") => self.cancel(id()?),
            _ => Err(refused()),
        }
    }

    fn list(&self, which: List, limit: usize) -> Result<Value, TasksError> {
        let mut list = self.ledger.list(which)?;
        let limit = limit.min(TASK_LIST_MAX);
        let is_cut = list.is_cut || list.tasks.len() > limit;
        list.tasks.truncate(limit);
        let tasks: Vec<Value> = list.tasks.into_iter().map(listed).collect();
        Ok(json!({ "tasks": tasks, "more": is_cut }))
    }

    fn retried(&self, retried: Retried) -> Value {
        let count = i64::try_from(retried.tasks).unwrap_or(i64::MAX);
        self.tell(count, -count);
        json!({ "retried": retried.tasks, "keys_taken": retried.keys_taken })
    }

    fn cancel(&self, id: &str) -> Result<Value, TasksError> {
        let cancelled = self.ledger.cancel(id)?;
        let (was, waiting, dead) = match cancelled.was {
            Was::Waiting => ("waiting", -1, 0),
            Was::Dead => ("dead", 0, -1),
            Was::Cron => ("cron", 0, 0),
        };
        self.tell(waiting, dead);
        Ok(json!({ "name": cancelled.name, "was": was }))
    }

    /// Tells who runs them that so many more wait, and so many more are dead.
    fn tell(&self, waiting: i64, dead: i64) {
        if let Some(pool) = &self.pool {
            pool.tasks_changed(waiting, dead);
        }
    }
}

fn listed(task: Listed) -> Value {
    let time = |ms: u64| Timestamp(ms).rfc3339();
    json!({
        "id": task.id,
        "name": task.name,
        "key": task.key,
        "started": time(task.started_ms),
        "due": time(task.due_ms),
        "died": task.died_ms.map(time),
        "failures": task.failures,
        "error": task.error,
    })
}
