//! Tasks in a turn: a handler starts them with its commit, and the run of one is a turn itself,
//! whose commit removes it. `docs/tasks.md` has the argument.

use super::{Turn, TurnError};
use crate::aside::Aside;
use crate::aside::fetch::{Client, Fetch, Redirect};
use crate::exchange::Request;
use crate::limits::{FETCH_BODY_BYTES_MAX, TASK_KEY_BYTES_MAX, TASK_PAYLOAD_BYTES_MAX};
use crate::route::Params;
use crate::session::Rules as SessionRules;
use crate::tasks::{Due, Record, ends_at, next_of, place_of, put_waiting, waiting};
use bytes::Bytes;
use repository::Key;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// draft-ietf-httpapi-idempotency-key-header.
const IDEMPOTENCY: &str = "idempotency-key";

/// The run of a task.
pub(crate) struct TaskRun {
    due: Due,
    /// From when on a run fails that would go on.
    ends: Instant,
    client: Arc<Client>,
    /// Requests to other servers that this run has asked for.
    calls: u32,
}

/// A request to another server, as the handler asks for it.
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    pub(crate) timeout: Duration,
    pub(crate) redirect: Redirect,
}

/// A task that a run has started, for the scheduler.
pub(crate) struct Started {
    pub(crate) name: String,
    pub(crate) due: u64,
}

/// What the handler of a task is told.
pub(crate) struct TaskFacts {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) payload: String,
    /// 1 in the first run, and 1 more after each that failed.
    pub(crate) attempt: u32,
    /// When it was to run, in milliseconds since 1970.
    pub(crate) due: u64,
}

impl Turn {
    /// The run of a task that is due.
    pub(crate) fn of_task(due: Due, sessions: SessionRules, client: &Arc<Client>) -> Self {
        let request = Request {
            method: "TASK".to_owned(),
            path: due.definition.name.clone(),
            query: String::new(),
            headers: Vec::new(),
            body: Bytes::new(),
        };
        let ends = ends_at(&due.definition);
        let mut turn = Self::new(request, Params::new(), sessions);
        turn.task = Some(Box::new(TaskRun { due, ends, client: Arc::clone(client), calls: 0 }));
        turn
    }

    /// The name of the task that is run, if it is one.
    pub(crate) fn task_name(&self) -> Option<&str> {
        self.task.as_ref().map(|run| run.due.definition.name.as_str())
    }

    /// Stages the end of the task, which is so if this run commits: it is gone, or, if it is a
    /// cron's, waits for its next time. `None`: it was cancelled, has run, or is not due any more.
    pub(crate) fn begin_task(&mut self) -> Result<Option<TaskFacts>, TurnError> {
        let (place, id) = {
            let run = self.task.as_mut().ok_or(TurnError::NoTask)?;
            run.calls = 0;
            if Instant::now() >= run.ends {
                return Err(TurnError::TaskTimeout(run.due.definition.timeout.as_millis()));
            }
            (run.due.place.clone(), run.due.id.clone())
        };
        let now = self.time()?.0;
        let read = self.transaction()?.get(&waiting(), &place);
        let document = self.readable(read)?;
        let kept = document.and_then(|document| Record::from_json(&document.body));
        let Some(record) = kept.filter(|kept| kept.id == id && kept.due <= now) else {
            return Ok(None);
        };
        let transaction = self.transaction()?;
        match next_of(&record, now) {
            Some(next) => put_waiting(transaction, &next).map_err(Box::new)?,
            None => transaction.delete(&waiting(), &place)?,
        }
        let Record { id, name, payload, failures, due, .. } = record;
        Ok(Some(TaskFacts { id, name, payload, attempt: failures + 1, due }))
    }

    /// The aside that asks another server. What is no mere reading carries a key that is the same
    /// in each run of the task, so that the other server can tell a repetition.
    pub(crate) fn fetch(&mut self, call: Call) -> Result<Aside, TurnError> {
        let run = self.task.as_mut().ok_or(TurnError::NoTask)?;
        if call.body.len() > FETCH_BODY_BYTES_MAX {
            return Err(TurnError::FetchBody(call.body.len()));
        }
        run.calls += 1;
        let mut headers = call.headers;
        let is_reading = matches!(call.method.as_str(), "GET" | "HEAD" | "OPTIONS");
        let is_given = |(name, _): &(String, String)| name.eq_ignore_ascii_case(IDEMPOTENCY);
        if !is_reading && !headers.iter().any(is_given) {
            headers.push((IDEMPOTENCY.to_owned(), format!("{}-{}", run.due.id, run.calls)));
        }
        let left = run.ends.saturating_duration_since(Instant::now());
        Ok(Aside::Fetch(Fetch {
            method: call.method,
            url: call.url,
            headers,
            body: call.body,
            timeout: call.timeout.min(left),
            redirect: call.redirect,
            client: Arc::clone(&run.client),
        }))
    }

    /// Stages a task, which is there if this run commits, and gives its id. With a key, one that
    /// waits or runs already stays as it is, and its id is given.
    pub(crate) fn start_task(
        &mut self,
        name: &str,
        payload: String,
        delay_ms: u64,
        (key, expires_ms): (Option<String>, Option<u64>),
    ) -> Result<String, TurnError> {
        if payload.len() > TASK_PAYLOAD_BYTES_MAX {
            return Err(TurnError::TaskPayload { name: name.to_owned(), bytes: payload.len() });
        }
        if let Some(key) = &key {
            if !(1..=TASK_KEY_BYTES_MAX).contains(&key.len()) {
                return Err(TurnError::TaskKey { name: name.to_owned(), bytes: key.len() });
            }
            if let Some(waits) = self.task_with_key(&place_of(name, key)?)? {
                return Ok(waits);
            }
        }
        let now = self.time()?.0;
        let due = now.saturating_add(delay_ms);
        let id = self.new_key()?;
        let record = Record {
            id: id.clone(),
            name: name.to_owned(),
            key,
            started: now,
            due,
            deadline: expires_ms.map(|expires| due.saturating_add(expires)),
            failures: 0,
            error: None,
            died: None,
            cron: None,
            payload,
        };
        put_waiting(self.transaction()?, &record).map_err(Box::new)?;
        self.started.push(Started { name: record.name, due });
        Ok(id)
    }

    fn task_with_key(&mut self, place: &Key) -> Result<Option<String>, TurnError> {
        let read = self.transaction()?.get(&waiting(), place);
        let document = self.readable(read)?;
        Ok(document.and_then(|document| Record::from_json(&document.body)).map(|record| record.id))
    }

    /// The tasks that the last run has started, if it has committed.
    pub(crate) fn take_started(&mut self) -> Vec<Started> {
        std::mem::take(&mut self.started)
    }
}
