//! Plays statements on a real repository and compares what comes of them with what was expected.

use crate::script::{Action, Isolation, Place, Statement};
use repository::{
    CollectionName, Conflict, Document, Key, MediaType, Options, Outcome, Repository, StageError,
    Timestamp, Transaction, json,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use tempfile::TempDir;

pub struct Stage {
    folder: TempDir,
    /// `None` only while it is being reopened.
    repository: Option<Arc<Repository>>,
    /// How many histories have begun. Each has collections of its own, named after its number.
    histories: usize,
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
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repository = Some(open(&folder));
        let (open, commits, finals) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Self { folder, repository, histories: 0, open, commits, finals }
    }

    pub fn histories(&self) -> usize {
        self.histories
    }

    /// Plays one statement. The error says what was expected and what came.
    pub fn play(&mut self, line: usize, statement: &Statement) -> Result<(), String> {
        match statement {
            Statement::History(Isolation::Serializable) => {
                self.end()?;
                self.histories += 1;
                self.commits.clear();
                Ok(())
            }
            Statement::Given(pairs) => self.give(pairs),
            Statement::Step { transaction, action, expected } => {
                let got = self.step(transaction, action)?;
                if *expected == got {
                    return Ok(());
                }
                let or_nothing = |text: &str| match text {
                    "" => "success without a word".to_owned(),
                    text => text.to_owned(),
                };
                Err(format!("expected {}, got {}", or_nothing(expected), or_nothing(&got)))
            }
            Statement::Finally(pairs) => {
                for (place, expected) in pairs {
                    let (at, shown) = (self.names(place)?, shown(&place.collection, &place.key));
                    let expected = canonical(expected)?;
                    let last = Final { line, shown, at, expected };
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

    /// Closes as a crash would, without a checkpoint, and replays the tranlog.
    pub fn reopen(&mut self) {
        self.repository = None;
        self.repository = Some(open(&self.folder));
    }

    /// Everything that was expected at the end of a history, once more.
    pub fn check_again(&self) -> Result<(), (usize, String)> {
        self.finals.iter().try_for_each(|last| self.check(last).map_err(|why| (last.line, why)))
    }

    fn check(&self, last: &Final) -> Result<(), String> {
        let (collection, key) = &last.at;
        let got = text(self.begin()?.get(collection, key).map_err(|e| e.to_string())?);
        let (shown, expected) = (&last.shown, &last.expected);
        if got == *expected {
            return Ok(());
        }
        Err(format!("expected {shown}={expected}, got {shown}={got}"))
    }

    fn begin(&self) -> Result<Transaction, String> {
        self.repository.as_ref().unwrap().begin().map_err(|error| error.to_string())
    }

    fn give(&mut self, pairs: &[(Place, String)]) -> Result<(), String> {
        let mut transaction = self.begin()?;
        for (place, value) in pairs {
            let (collection, key) = self.names(place)?;
            let staged = match value.as_str() {
                "none" => transaction.delete(&collection, &key),
                value => put(&mut transaction, &collection, &key, value)?,
            };
            staged.map_err(|error| error.to_string())?;
        }
        match self.commit("given", transaction)?.as_str() {
            "ok" => Ok(()),
            other => Err(format!("expected ok, got {other}")),
        }
    }

    /// What came of an action, as a history would write it.
    fn step(&mut self, name: &str, action: &Action) -> Result<String, String> {
        if let Action::Begin = action {
            let before = self.open.insert(name.to_owned(), self.begin()?);
            return match before {
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
        let result = match action {
            Action::Begin | Action::Commit | Action::Drop | Action::Once(_) => {
                return Err("this is no step of a transaction".to_owned());
            }
            Action::Get(place) => {
                let (collection, key) = self.names(place)?;
                transaction.get(&collection, &key).map(text)
            }
            Action::Peek(place) => {
                let (collection, key) = self.names(place)?;
                transaction.peek(&collection, &key).map(text)
            }
            Action::Put(place, value) => {
                let (collection, key) = self.names(place)?;
                return Ok(staged(put(transaction, &collection, &key, value)?));
            }
            Action::Delete(place) => {
                let (collection, key) = self.names(place)?;
                return Ok(staged(transaction.delete(&collection, &key)));
            }
            Action::Merge(place, operation) => {
                let (collection, key) = self.names(place)?;
                return Ok(staged(transaction.merge(&collection, &key, operation.clone())));
            }
        };
        Ok(result.unwrap_or_else(|error| format!("refused: {error}")))
    }

    fn commit(&mut self, name: &str, transaction: Transaction) -> Result<String, String> {
        Ok(match transaction.commit().map_err(|error| error.to_string())? {
            Outcome::Committed(number) => {
                self.commits.insert(number.0, name.to_owned());
                "ok".to_owned()
            }
            Outcome::Unchanged(_) => "unchanged".to_owned(),
            Outcome::Conflict(conflict) => self.tell_conflict(&conflict),
            Outcome::HeldBack => "held back".to_owned(),
        })
    }

    /// `conflict x y with T2`: the documents, and who made the latest commit that competes.
    fn tell_conflict(&self, conflict: &Conflict) -> String {
        let mut documents = conflict.documents.clone();
        documents.sort();
        let documents = documents.iter().map(|(c, key)| shown(self.written(c), key.as_str()));
        let competitor = self.commits.get(&conflict.competitor.0);
        let competitor = competitor.map_or("another history", String::as_str);
        format!("conflict {} with {competitor}", documents.collect::<Vec<_>>().join(" "))
    }

    /// The real collection and key of a place.
    fn names(&self, place: &Place) -> Result<(CollectionName, Key), String> {
        let collection = format!("{}-{}", place.collection, self.histories);
        let collection = CollectionName::new(&collection).map_err(|error| error.to_string())?;
        Ok((collection, Key::new(&place.key).map_err(|error| error.to_string())?))
    }

    /// The name of a real collection as the history writes it.
    fn written<'a>(&self, collection: &'a CollectionName) -> &'a str {
        let suffix = format!("-{}", self.histories);
        collection.as_str().strip_suffix(&suffix).unwrap_or(collection.as_str())
    }
}

fn open(folder: &TempDir) -> Arc<Repository> {
    let options = Options {
        folder: folder.path().to_owned(),
        memory_bytes: 64 << 20,
        clock: Arc::new(|| Timestamp(1_000_000)),
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

/// What became of a staged write: nothing to say if it went well.
fn staged(result: Result<(), StageError>) -> String {
    match result {
        Ok(()) => String::new(),
        // The message's own head has the real name of the collection.
        Err(StageError::Merge { why, .. }) => format!("refused: {why}"),
        Err(error) => format!("refused: {error}"),
    }
}

fn canonical(value: &str) -> Result<String, String> {
    if value == "none" {
        return Ok(value.to_owned());
    }
    let text = json::canonicalize(value.as_bytes())
        .map_err(|error| format!("`{value}` is not JSON: {error}"))?;
    Ok(String::from_utf8(text).unwrap())
}

fn text(document: Option<Arc<Document>>) -> String {
    document.map_or("none".to_owned(), |d| String::from_utf8_lossy(&d.body).into_owned())
}

fn shown(collection: &str, key: &str) -> String {
    match collection {
        "notes" => key.to_owned(),
        other => format!("{other}:{key}"),
    }
}
