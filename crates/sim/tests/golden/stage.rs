//! Plays statements on a real repository and compares what comes of them with what was expected.

use crate::names::Names;
use crate::script::{Action, Page, Place, Statement};
use repository::{
    CollectionName, Conflict, Contested, Document, Duplicate, IndexEntry, IndexState, IndexValue,
    Isolation, Key, MediaType, Options, Outcome, ReadError, Repository, Settings, StageError,
    Timestamp, Transaction, json,
};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// Where the documents are that a history begins with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Given {
    InMemory,
    /// In the engine only: the repository is closed and opened again.
    AtRest,
}

pub struct Stage {
    given: Given,
    folder: TempDir,
    now: Arc<AtomicU64>,
    /// `None` only while it is being reopened.
    repository: Option<Arc<Repository>>,
    names: Names,
    isolation: Isolation,
    open: BTreeMap<String, Transaction>,
    /// Which transaction made which commit of this history.
    commits: BTreeMap<u64, String>,
    finals: Vec<Final>,
}

/// What must be at a place when a history has ended.
struct Final {
    line: usize,
    shown: String,
    at: (CollectionName, Key),
    expected: String,
}

impl Stage {
    pub fn new(given: Given) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicU64::new(1_000_000));
        let repository = Some(open(&folder, &now));
        let (open, commits, finals) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let isolation = Isolation::default();
        Self {
            given,
            folder,
            now,
            repository,
            names: Names::default(),
            isolation,
            open,
            commits,
            finals,
        }
    }

    pub fn histories(&self) -> usize {
        self.names.history
    }

    /// Plays one statement. The error says what was expected and what came.
    pub fn play(&mut self, line: usize, statement: &Statement) -> Result<(), String> {
        match statement {
            Statement::History(isolation) => {
                self.end()?;
                self.names.history += 1;
                self.isolation = *isolation;
                self.commits.clear();
                Ok(())
            }
            Statement::Time(ms) => {
                self.now.fetch_add(*ms, Ordering::Relaxed);
                Ok(())
            }
            Statement::Settings(collection, settings) => self.configure(collection, settings),
            Statement::Given(pairs) => self.give(pairs),
            Statement::Step { transaction, action, expected } => {
                let got = self.step(transaction, action)?;
                let or_nothing = |text: &str| match text {
                    "" => "success without a word".to_owned(),
                    text => text.to_owned(),
                };
                match *expected == got {
                    true => Ok(()),
                    false => {
                        Err(format!("expected {}, got {}", or_nothing(expected), or_nothing(&got)))
                    }
                }
            }
            Statement::Finally(pairs) => {
                for (place, expected) in pairs {
                    let at = self.names.real(place)?;
                    let shown = self.names.shown(&at.0, &at.1);
                    let last = Final { line, shown, at, expected: canonical(expected)? };
                    self.check(&last)?;
                    self.finals.push(last);
                }
                Ok(())
            }
        }
    }

    /// Ends a history.
    pub fn end(&self) -> Result<(), String> {
        match self.open.keys().next() {
            Some(name) => Err(format!("{name} is still open")),
            None => Ok(()),
        }
    }

    /// Ends as a crash would, without a checkpoint unless it was closed, and replays the tranlog.
    pub fn reopen(&mut self) {
        self.repository = None;
        self.repository = Some(open(&self.folder, &self.now));
    }

    /// Everything that was expected at the end of a history, once more.
    pub fn check_again(&self) -> Result<(), (usize, String)> {
        self.finals.iter().try_for_each(|last| self.check(last).map_err(|why| (last.line, why)))
    }

    fn check(&self, last: &Final) -> Result<(), String> {
        let (collection, key) = &last.at;
        let got = text(self.begin()?.get(collection, key).map_err(|e| e.to_string())?.as_deref());
        let (shown, expected) = (&last.shown, &last.expected);
        if got == *expected {
            return Ok(());
        }
        Err(format!("expected {shown}={expected}, got {shown}={got}"))
    }

    fn repository(&self) -> &Repository {
        self.repository.as_ref().unwrap()
    }

    fn begin(&self) -> Result<Transaction, String> {
        let mut transaction = self.repository().begin().map_err(|error| error.to_string())?;
        transaction.set_isolation(self.isolation);
        Ok(transaction)
    }

    /// Gives a collection its settings and waits until its indexes can be read.
    fn configure(&mut self, collection: &str, settings: &Settings) -> Result<(), String> {
        let name = self.names.real_collection(collection)?;
        let number =
            self.repository().configure(&name, settings).map_err(|error| error.to_string())?;
        self.commits.insert(number.0, "settings".to_owned());
        for _ in 0..1_000 {
            let mut of_collection = self.repository().indexes();
            of_collection.retain(|index| index.collection == name);
            if of_collection.iter().all(|index| index.state == IndexState::Ready) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(format!("the indexes do not become ready: {:?}", self.repository().indexes()))
    }

    fn give(&mut self, pairs: &[(Place, String)]) -> Result<(), String> {
        let mut transaction = self.begin()?;
        for (place, value) in pairs {
            let (collection, key) = self.names.real(place)?;
            let staged = match value.as_str() {
                "none" => transaction.delete(&collection, &key),
                value => put(&mut transaction, &collection, &key, value)?,
            };
            staged.map_err(|error| error.to_string())?;
        }
        match self.commit("given", transaction)?.as_str() {
            "ok" if self.given == Given::AtRest && self.open.is_empty() => {
                self.repository().close().map_err(|error| error.to_string())?;
                self.reopen();
                Ok(())
            }
            "ok" => Ok(()),
            other => Err(format!("expected ok, got {other}")),
        }
    }

    /// What came of an action, as a history would write it.
    fn step(&mut self, name: &str, action: &Action) -> Result<String, String> {
        if let Action::Begin(isolation) = action {
            let mut transaction = self.begin()?;
            transaction.set_isolation(isolation.unwrap_or(self.isolation));
            return match self.open.insert(name.to_owned(), transaction) {
                Some(_) => Err(format!("{name} is still open")),
                None => Ok(String::new()),
            };
        }
        if let Action::Once(action) = action {
            let mut transaction = self.begin()?;
            return match self.act(&mut transaction, action)? {
                staged if staged.is_empty() => self.commit(name, transaction),
                refused => Ok(refused),
            };
        }
        let Some(mut transaction) = self.open.remove(name) else {
            return Err(format!("{name} has not begun"));
        };
        match action {
            Action::Commit => return self.commit(name, transaction),
            Action::Drop => return Ok(String::new()),
            _ => {}
        }
        let result = self.act(&mut transaction, action);
        self.open.insert(name.to_owned(), transaction);
        result
    }

    fn act(&self, transaction: &mut Transaction, action: &Action) -> Result<String, String> {
        match action {
            Action::Begin(_) | Action::Commit | Action::Drop | Action::Once(_) => {
                Err("this is no step of a transaction".to_owned())
            }
            Action::Get(place) => {
                let (collection, key) = self.names.real(place)?;
                let read = transaction.get(&collection, &key);
                Ok(self.told(read, |document| text(document.as_deref())))
            }
            Action::Peek(place) => {
                let (collection, key) = self.names.real(place)?;
                let read = transaction.peek(&collection, &key);
                Ok(self.told(read, |document| text(document.as_deref())))
            }
            Action::Range(collection, range, Page { direction, limit }) => {
                let collection = self.names.real_collection(collection)?;
                let read = transaction.range(&collection, range, *direction, *limit);
                let pair = |(key, document): &(Key, Arc<Document>)| {
                    format!("{}={}", self.names.shown(&collection, key), text(Some(document)))
                };
                Ok(self.told(read, |found| listed(found.iter().map(pair))))
            }
            Action::Index(collection, index, range, Page { direction, limit }) => {
                let collection = self.names.real_collection(collection)?;
                let read = transaction.index_range(&collection, index, range, *direction, *limit);
                Ok(self.told(read, |found| listed(found.iter().map(entry))))
            }
            Action::Put(place, value) => {
                let (collection, key) = self.names.real(place)?;
                Ok(self.staged(put(transaction, &collection, &key, value)?))
            }
            Action::Delete(place) => {
                let (collection, key) = self.names.real(place)?;
                Ok(self.staged(transaction.delete(&collection, &key)))
            }
            Action::Merge(place, operation) => {
                let (collection, key) = self.names.real(place)?;
                Ok(self.staged(transaction.merge(&collection, &key, operation.clone())))
            }
        }
    }

    fn commit(&mut self, name: &str, transaction: Transaction) -> Result<String, String> {
        Ok(match transaction.commit().map_err(|error| error.to_string())? {
            Outcome::Committed(number) => {
                self.commits.insert(number.0, name.to_owned());
                "ok".to_owned()
            }
            Outcome::Unchanged(_) => "unchanged".to_owned(),
            Outcome::Conflict(conflict) => self.tell_conflict(&conflict),
            Outcome::Duplicate(duplicate) => self.tell_duplicate(&duplicate),
            Outcome::HeldBack => "held back".to_owned(),
        })
    }

    /// `conflict x[/a,/b] y with T2`: the documents, the places in them if there are any but the
    /// whole, and who made the latest commit that competes.
    fn tell_conflict(&self, conflict: &Conflict) -> String {
        let contested = |Contested { collection, key, paths, .. }: &Contested| {
            let shown = self.names.shown(collection, key);
            match paths.join(",") {
                // What is where in the catalog is its own business.
                paths if paths.is_empty() || collection.is_system() => shown,
                paths => format!("{shown}[{paths}]"),
            }
        };
        let competitor = self.commits.get(&conflict.competitor.0);
        let competitor = competitor.map_or("another history", String::as_str);
        format!("conflict {} with {competitor}", listed(conflict.documents.iter().map(contested)))
    }

    fn tell_duplicate(&self, duplicate: &Duplicate) -> String {
        let Duplicate { collection, index, key, holder } = duplicate;
        let (key, holder) =
            (self.names.shown(collection, key), self.names.shown(collection, holder));
        format!("duplicate {key} with {holder} in {index}")
    }

    fn told<T>(&self, read: Result<T, ReadError>, tell: impl Fn(T) -> String) -> String {
        read.map_or_else(|error| self.refused(&error), tell)
    }

    /// What became of a staged write: nothing to say if it went well.
    fn staged(&self, result: Result<(), StageError>) -> String {
        match result {
            Ok(()) => String::new(),
            Err(StageError::Merge { why, .. }) => self.refused(&why),
            Err(error) => self.refused(&error),
        }
    }

    fn refused(&self, why: &dyn Display) -> String {
        format!("refused: {}", self.names.as_written(&why.to_string()))
    }
}

fn open(folder: &TempDir, now: &Arc<AtomicU64>) -> Arc<Repository> {
    let now = Arc::clone(now);
    let options = Options {
        folder: folder.path().to_owned(),
        memory_bytes: 64 << 20,
        clock: Arc::new(move || Timestamp(now.load(Ordering::Relaxed))),
    };
    Repository::open(options).unwrap().0
}

fn put(
    transaction: &mut Transaction,
    collection: &CollectionName,
    key: &Key,
    value: &str,
) -> Result<Result<(), StageError>, String> {
    let body = canonical(value)?;
    Ok(transaction.put(collection, key, MediaType::Json, body.into(), None))
}

fn canonical(value: &str) -> Result<String, String> {
    if value == "none" {
        return Ok(value.to_owned());
    }
    let text = json::canonicalize(value.as_bytes())
        .map_err(|error| format!("`{value}` is not JSON: {error}"))?;
    Ok(String::from_utf8(text).unwrap())
}

fn text(document: Option<&Document>) -> String {
    document.map_or("none".to_owned(), |d| String::from_utf8_lossy(&d.body).into_owned())
}

/// `anna["Bonn",30]`: a key and the values by which it was found.
fn entry(IndexEntry { values, key, .. }: &IndexEntry) -> String {
    let value = |value: &IndexValue| match value {
        IndexValue::Null => "null".to_owned(),
        IndexValue::Boolean(value) => value.to_string(),
        IndexValue::Number(value) => value.to_string(),
        IndexValue::Text(value) => format!("\"{value}\""),
    };
    format!("{key}[{}]", values.iter().map(value).collect::<Vec<_>>().join(","))
}

fn listed(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    if words.is_empty() { "nothing".to_owned() } else { words.join(" ") }
}
