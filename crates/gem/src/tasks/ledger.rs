//! The transactions on tasks that are kept: those of the scheduler, and those that a person asks
//! for. Starting and completing one is not here: that is part of a handler's own transaction
//! (`turn/task.rs`).

use super::record::{CRON_KEY, Record, place_of};
use super::{Cron, Definition, backoff, dead, later, waiting};
use crate::limits::{TASK_DEAD_KEEP, TASK_LIST_MAX, TASK_RETRIES_MAX, TASK_WAIT_MAX};
use repository::{
    CollectionName, ConfigureError, Direction, Document, IndexDefinition, IndexEntry, IndexKind,
    IndexPath, IndexPlace, IndexRange, IndexRead, IndexValue, Key, KeyRange, MediaType, NameError,
    ReadError, Repository, RunError, Settings, StageError, Timestamp, Transaction,
};
use std::ops::Bound;
use std::sync::Arc;
use thiserror::Error;

/// The index by name and time.
const DUE: &str = "due";

/// Why tasks could not be read or changed.
#[derive(Debug, Error)]
pub enum TaskError {
    /// The repository could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A change could not be staged.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// A name or key breaks its rule.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The settings of the collection were refused.
    #[error(transparent)]
    Configure(#[from] ConfigureError),
    /// The repository took no transaction, or not this one.
    #[error("{0}")]
    Repository(String),
    /// There is no such task.
    #[error("there is no {kind} task {id}")]
    Unknown {
        /// "dead" or "waiting".
        kind: &'static str,
        /// What was asked for.
        id: String,
    },
    /// Another task with the same key waits.
    #[error("another task {name} with the key {key:?} waits; cancel that first")]
    KeyTaken {
        /// Its name.
        name: String,
        /// Its key.
        key: String,
    },
}

/// Which tasks to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Those that wait or run, the first due first within each name.
    Waiting,
    /// Those that failed for good, the first started first.
    Dead,
}

/// A task as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// By what it is retried or cancelled.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What makes it the only one of its name, if anything does.
    pub key: Option<String>,
    /// When it was started, in milliseconds since 1970.
    pub started_ms: u64,
    /// From when on it may run, or might have.
    pub due_ms: u64,
    /// Runs that failed.
    pub failures: u32,
    /// How the last of them failed.
    pub error: Option<String>,
    /// When it failed for good.
    pub died_ms: Option<u64>,
}

/// A list of tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskList {
    /// The tasks; no more than their bound.
    pub tasks: Vec<Listed>,
    /// Whether there are more.
    pub is_cut: bool,
}

/// What was retried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retried {
    /// How many wait again.
    pub tasks: usize,
    /// How many could not, because another with their key waits.
    pub keys_taken: usize,
}

/// What was cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancelled {
    /// Its name.
    pub name: String,
    /// What it was.
    pub was: Was,
}

/// What a task was that is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Was {
    /// It waited, or ran.
    Waiting,
    /// It had failed for good.
    Dead,
    /// A time of a cron, which waits for the next.
    Cron,
}

/// What failed for good, or will run again.
pub(crate) enum Noted {
    Again {
        due: u64,
    },
    Dead {
        failures: u32,
        next: Option<u64>,
    },
    /// It is gone, or was changed by somebody else.
    Gone,
}

/// How far tasks are counted, and what the last page came to.
#[derive(Default)]
pub(crate) struct Count {
    pub(crate) waiting: i64,
    pub(crate) dead: i64,
    pub(crate) stage: Stage,
    place: Option<IndexPlace>,
    key: Option<Key>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    #[default]
    Waiting,
    Dead,
    Done,
}

impl TaskError {
    /// Whether this passes by itself shortly: the index of a new collection is being built.
    pub(crate) fn is_of_the_beginning(&self) -> bool {
        matches!(self, Self::Read(ReadError::IndexNotReady { .. }))
    }
}

/// The tasks of a repository.
pub struct Ledger {
    repository: Arc<Repository>,
}

/// What the collection of waiting tasks needs.
fn index_settings() -> Settings {
    let path = |path: &str, kind| IndexPath { path: path.to_owned(), kind, each: false };
    let paths = vec![path("/name", IndexKind::Text), path("/due", IndexKind::Number)];
    let index = IndexDefinition { name: DUE.to_owned(), paths, unique: false };
    Settings { indexes: vec![index], ..Settings::default() }
}

impl Ledger {
    /// Of `repository`.
    pub fn new(repository: Arc<Repository>) -> Self {
        Self { repository }
    }

    /// Sees to the index, to the crons of the application, and that no other cron is left.
    pub(crate) fn prepare(&self, definitions: &[Definition]) -> Result<(), TaskError> {
        let (collection, settings) = (waiting(), index_settings());
        if !definitions.is_empty() && self.repository.settings(&collection) != settings {
            self.repository.configure(&collection, &settings)?;
        }
        for definition in definitions {
            let place = place_of(&definition.name, CRON_KEY)?;
            self.write(|transaction| {
                let found = read(transaction, &collection, &place)?;
                let kept = found.as_ref().and_then(|record| record.cron.as_deref());
                let wanted = definition.cron.as_ref().map(|(text, _)| text.as_str());
                if kept == wanted {
                    return Ok(());
                }
                match first_of_cron(definition, transaction.time().0) {
                    Some(record) => put_waiting(transaction, &record),
                    None if kept.is_some() => Ok(transaction.delete(&collection, &place)?),
                    None => Ok(()),
                }
            })?;
        }
        Ok(())
    }

    /// The tasks of a name that are due first, not before `from`, at most `limit` of them; and the
    /// time of the view.
    pub(crate) fn first(
        &self,
        name: &str,
        from: u64,
        limit: usize,
    ) -> Result<(u64, Vec<(Key, Record)>), TaskError> {
        let mut transaction = self.begin()?;
        let mut range = IndexRange::equal(vec![IndexValue::Text(name.to_owned())]);
        range.from = Bound::Included(IndexValue::Number(from as f64));
        let found =
            transaction.index_range(&waiting(), DUE, &range, Direction::Ascending, limit)?;
        Ok((transaction.time().0, records(found)))
    }

    /// A name of which tasks wait, the first after `after`, and whether the first of them is a
    /// cron's.
    pub(crate) fn name_after(&self, after: Option<&str>) -> Result<Option<Record>, TaskError> {
        let mut transaction = self.begin()?;
        let mut range = IndexRange::all();
        if let Some(after) = after {
            range.from = Bound::Excluded(IndexValue::Text(after.to_owned()));
        }
        let found = match transaction.index_range(&waiting(), DUE, &range, Direction::Ascending, 1)
        {
            // No application has ever had tasks here.
            Err(ReadError::NoIndex { .. }) => Vec::new(),
            found => found?,
        };
        Ok(records(found).pop().map(|(_, record)| record))
    }

    /// Counts some of the tasks, those that wait before those that are dead.
    pub(crate) fn count(&self, count: &mut Count) -> Result<(), TaskError> {
        count.waiting = 0;
        count.dead = 0;
        if count.stage == Stage::Waiting {
            let page = self.waiting_after(count.place.as_ref(), TASK_LIST_MAX)?;
            count.waiting = page.iter().filter(|(_, record)| record.cron.is_none()).count() as i64;
            if page.len() < TASK_LIST_MAX {
                count.stage = Stage::Dead;
            }
            count.place = page.into_iter().last().map(|(place, _)| place);
        } else if count.stage == Stage::Dead {
            let after = count.key.clone().map_or(Bound::Unbounded, Bound::Excluded);
            let page = self.range(&dead(), after, TASK_LIST_MAX)?;
            count.dead = page.len() as i64;
            if page.len() < TASK_LIST_MAX {
                count.stage = Stage::Done;
            }
            count.key = page.into_iter().last().map(|(key, _)| key);
        }
        Ok(())
    }

    /// The tasks of a collection after a key, in the order of their keys.
    fn range(
        &self,
        collection: &CollectionName,
        after: Bound<Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Record)>, TaskError> {
        let range = KeyRange::new(after, Bound::Unbounded);
        let found = self.begin()?.range(collection, &range, Direction::Ascending, limit)?;
        let record =
            |(key, document): (Key, Arc<Document>)| Some((key, Record::from_json(&document.body)?));
        Ok(found.into_iter().filter_map(record).collect())
    }

    fn waiting_after(
        &self,
        after: Option<&IndexPlace>,
        limit: usize,
    ) -> Result<Vec<(IndexPlace, Record)>, TaskError> {
        let mut transaction = self.begin()?;
        let range = IndexRange::all();
        let read = IndexRead { range: &range, after, direction: Direction::Ascending, limit };
        let found = match transaction.index_read(&waiting(), DUE, read) {
            // No application has ever had tasks here.
            Err(ReadError::NoIndex { .. }) => Vec::new(),
            found => found?,
        };
        let entry = |IndexEntry { values, key, document }: IndexEntry| {
            Some((IndexPlace { values, key }, Record::from_json(&document.body)?))
        };
        Ok(found.into_iter().filter_map(entry).collect())
    }

    /// Notes that a run of the task at `place` failed: it runs again later, or, after as many as it
    /// may have or where that `is_final`, is dead. Where those `is_full`, the oldest makes room.
    pub(crate) fn failed(
        &self,
        (place, id): (&Key, &str),
        definition: &Definition,
        error: &str,
        (is_final, is_full): (bool, bool),
    ) -> Result<Noted, TaskError> {
        let random = backoff::random();
        self.write(|transaction| {
            let Some(mut record) = read(transaction, &waiting(), place)?.filter(|r| r.id == id)
            else {
                return Ok(Noted::Gone);
            };
            let now = transaction.time().0;
            record.error = Some(error.to_owned());
            record.failures += u32::from(!is_final);
            if is_final || record.failures >= definition.attempts {
                let failures = record.failures;
                let next = bury(transaction, (place, record), is_full)?;
                return Ok(Noted::Dead { failures, next });
            }
            let wait = backoff::wait(definition.backoff, record.failures, random);
            record.due = later(now, wait);
            put_waiting(transaction, &record)?;
            Ok(Noted::Again { due: record.due })
        })
    }

    /// A list for a person.
    pub fn list(&self, which: List) -> Result<TaskList, TaskError> {
        let limit = TASK_LIST_MAX + 1;
        let mut tasks: Vec<Listed> = match which {
            List::Waiting => {
                let found = match self.waiting_after(None, limit) {
                    Err(error) if error.is_of_the_beginning() => {
                        self.range(&waiting(), Bound::Unbounded, limit)?
                    }
                    found => found?.into_iter().map(|(at, record)| (at.key, record)).collect(),
                };
                found.into_iter().map(|(key, record)| listed(&key, record)).collect()
            }
            List::Dead => {
                let found = self.range(&dead(), Bound::Unbounded, limit)?.into_iter();
                found.map(|(key, record)| listed(&key, record)).collect()
            }
        };
        let is_cut = tasks.len() > TASK_LIST_MAX;
        tasks.truncate(TASK_LIST_MAX);
        Ok(TaskList { tasks, is_cut })
    }

    /// Lets a dead task wait again, due now, as if it had never failed.
    pub fn retry(&self, id: &str) -> Result<(), TaskError> {
        let key = Key::new(id)?;
        self.write(|transaction| match revive(transaction, &key)? {
            Revived::Yes => Ok(()),
            Revived::Unknown => Err(TaskError::Unknown { kind: "dead", id: id.to_owned() }),
            Revived::KeyTaken { name, key } => Err(TaskError::KeyTaken { name, key }),
        })
    }

    /// The same for all dead tasks, some at a time.
    pub fn retry_all(&self) -> Result<Retried, TaskError> {
        let mut retried = Retried::default();
        let mut after = Bound::Unbounded;
        loop {
            let range = KeyRange::new(after, Bound::Unbounded);
            let (page, tasks, keys_taken) = self.write(|transaction| {
                let ascending = Direction::Ascending;
                let page = transaction.range(&dead(), &range, ascending, TASK_RETRIES_MAX)?;
                let (mut tasks, mut keys_taken) = (0, 0);
                for (key, _) in &page {
                    match revive(transaction, key)? {
                        Revived::Yes => tasks += 1,
                        Revived::KeyTaken { .. } => keys_taken += 1,
                        Revived::Unknown => {}
                    }
                }
                Ok((page, tasks, keys_taken))
            })?;
            retried.tasks += tasks;
            retried.keys_taken += keys_taken;
            match page.last() {
                Some((last, _)) if page.len() == TASK_RETRIES_MAX => {
                    after = Bound::Excluded(last.clone());
                }
                _ => return Ok(retried),
            }
        }
    }

    /// Removes a task, be it waiting or dead. One that runs has no effect on the repository then. A
    /// cron waits for its next time.
    pub fn cancel(&self, id: &str) -> Result<Cancelled, TaskError> {
        let key = Key::new(id)?;
        self.write(|transaction| {
            for (collection, was) in [(waiting(), Was::Waiting), (dead(), Was::Dead)] {
                if let Some(record) = read(transaction, &collection, &key)? {
                    let name = record.name.clone();
                    if let Some(next) = next_of(&record, transaction.time().0) {
                        put_waiting(transaction, &next)?;
                        return Ok(Cancelled { name, was: Was::Cron });
                    }
                    transaction.delete(&collection, &key)?;
                    return Ok(Cancelled { name, was });
                }
            }
            Err(TaskError::Unknown { kind: "waiting or dead", id: id.to_owned() })
        })
    }

    /// Removes a cron that no application has.
    pub(crate) fn forget_cron(&self, name: &str) -> Result<(), TaskError> {
        let place = place_of(name, CRON_KEY)?;
        self.write(|transaction| Ok(transaction.delete(&waiting(), &place)?))
    }

    /// Waits until what was read or changed is so after a crash, too.
    pub fn settle(&self) -> Result<(), TaskError> {
        let durable = self.repository.wait_durable(self.repository.stats().visible);
        durable.map_err(|poisoned| TaskError::Repository(poisoned.to_string()))
    }

    fn begin(&self) -> Result<Transaction, TaskError> {
        self.repository.begin().map_err(|error| TaskError::Repository(error.to_string()))
    }

    fn write<T>(
        &self,
        body: impl FnMut(&mut Transaction) -> Result<T, TaskError>,
    ) -> Result<T, TaskError> {
        let ran = self.repository.run(body).map_err(|error| match error {
            RunError::Body { error, .. } => error,
            RunError::Begin(error) => TaskError::Repository(error.to_string()),
            RunError::Commit(error) => TaskError::Repository(error.to_string()),
            RunError::Duplicate { duplicate, .. } => TaskError::Repository(duplicate.to_string()),
        })?;
        Ok(ran.value)
    }
}

enum Revived {
    Yes,
    Unknown,
    KeyTaken { name: String, key: String },
}

fn revive(transaction: &mut Transaction, key: &Key) -> Result<Revived, TaskError> {
    let Some(mut record) = read(transaction, &dead(), key)? else { return Ok(Revived::Unknown) };
    if let Some(taken) = &record.key
        && transaction.get(&waiting(), &record.place()?)?.is_some()
    {
        let (name, key) = (record.name.clone(), taken.clone());
        return Ok(Revived::KeyTaken { name, key });
    }
    transaction.delete(&dead(), key)?;
    record.due = transaction.time().0;
    (record.failures, record.error, record.died, record.deadline) = (0, None, None, None);
    put_waiting(transaction, &record)?;
    Ok(Revived::Yes)
}

/// Moves a task to those that have failed for good; a cron waits for its next time, which is given.
fn bury(
    transaction: &mut Transaction,
    (place, mut record): (&Key, Record),
    is_full: bool,
) -> Result<Option<u64>, TaskError> {
    let now = transaction.time();
    let next = next_of(&record, now.0);
    match &next {
        Some(next) => put_waiting(transaction, next)?,
        None => transaction.delete(&waiting(), place)?,
    }
    // Of what failed for good it is known that it was a cron's; it is retried on its own.
    if record.cron.is_some() {
        (record.key, record.cron) = (None, None);
    }
    record.died = Some(now.0);
    if is_full {
        let oldest = transaction.range(&dead(), &KeyRange::all(), Direction::Ascending, 1)?;
        oldest.iter().try_for_each(|(key, _)| transaction.delete(&dead(), key))?;
    }
    let expires = Some(Timestamp(later(now.0, TASK_DEAD_KEEP)));
    put(transaction, (&dead(), &Key::new(&record.id)?), &record, expires)?;
    Ok(next.map(|next| next.due))
}

/// The first task of a cron; `None` if the definition is no cron's.
fn first_of_cron(definition: &Definition, now: u64) -> Option<Record> {
    let (text, cron) = definition.cron.as_ref()?;
    Some(cron_at(&definition.name, text, now, cron.next(now)?))
}

/// The task that comes after one of a cron; `None` if it is no cron's.
pub(crate) fn next_of(record: &Record, now: u64) -> Option<Record> {
    let text = record.cron.as_deref()?;
    let due = Cron::parse(text).ok()?.next(now)?;
    Some(cron_at(&record.name, text, now, due))
}

fn cron_at(name: &str, text: &str, now: u64, due: u64) -> Record {
    Record {
        // One time of it is one task.
        id: format!("{name}-{due}"),
        name: name.to_owned(),
        key: Some(CRON_KEY.to_owned()),
        started: now,
        due,
        deadline: None,
        failures: 0,
        error: None,
        died: None,
        cron: Some(text.to_owned()),
        payload: "null".to_owned(),
    }
}

/// Stages a task that waits. It is dropped where nothing runs it for a very long time.
pub(crate) fn put_waiting(transaction: &mut Transaction, record: &Record) -> Result<(), TaskError> {
    let expires = Some(Timestamp(later(record.due.max(transaction.time().0), TASK_WAIT_MAX)));
    put(transaction, (&waiting(), &record.place()?), record, expires)
}

fn put(
    transaction: &mut Transaction,
    (collection, key): (&CollectionName, &Key),
    record: &Record,
    expires: Option<Timestamp>,
) -> Result<(), TaskError> {
    let text = record.to_json().into();
    Ok(transaction.put(collection, key, MediaType::Json, text, expires)?)
}

/// The task that is kept there, if one is.
pub(crate) fn read(
    transaction: &mut Transaction,
    collection: &CollectionName,
    key: &Key,
) -> Result<Option<Record>, ReadError> {
    let document = transaction.get(collection, key)?;
    Ok(document.and_then(|document| Record::from_json(&document.body)))
}

fn records(entries: Vec<IndexEntry>) -> Vec<(Key, Record)> {
    let record = |entry: IndexEntry| Some((entry.key, Record::from_json(&entry.document.body)?));
    entries.into_iter().filter_map(record).collect()
}

fn listed(key: &Key, record: Record) -> Listed {
    Listed {
        id: key.as_str().to_owned(),
        name: record.name,
        key: record.key.filter(|_| record.cron.is_none()),
        started_ms: record.started,
        due_ms: record.due,
        failures: record.failures,
        error: record.error,
        died_ms: record.died,
    }
}
