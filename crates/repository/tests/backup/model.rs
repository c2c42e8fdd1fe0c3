//! What is compared: everything that a repository holds, and what writers know they wrote.

use crate::harness::{Place, key, notes};
use bytes::Bytes;
use repository::{
    BackupKind, BackupOptions, BackupReport, BackupSource, Document, Key, MediaType, Outcome,
    Repository, RestoreError, RestoreGoal, RestoreOptions, Restored, Snapshot, SnapshotCollection,
    restore,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// Every document of every collection, with versions and times, and the settings.
pub type Everything = BTreeMap<(String, String), String>;

/// All that is in a repository now.
pub fn everything(repository: &Repository) -> Everything {
    let snapshot = repository.snapshot().unwrap();
    let mut all = BTreeMap::new();
    for collection in snapshot.collections().unwrap() {
        let name = collection.name.to_string();
        each(&snapshot, &collection, |key, document| {
            all.insert((name.clone(), key.to_string()), format!("{document:?}"));
        });
        all.insert((name, String::new()), collection.settings.to_json());
    }
    all
}

fn each(
    snapshot: &Snapshot,
    collection: &SnapshotCollection,
    mut visit: impl FnMut(&Key, &Document),
) {
    let mut after = None;
    loop {
        let page = snapshot.page(collection, after.as_ref()).unwrap();
        page.documents.iter().for_each(|(key, document)| visit(key, document));
        if page.is_last {
            return;
        }
        after = page.documents.last().map(|(key, _)| key.clone());
    }
}

/// Never in the way.
pub fn go_on(_: &repository::Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

pub fn back_up(repository: &Repository, to: &Path, kind: BackupKind) -> BackupReport {
    let options = BackupOptions { kind, keep: None };
    repository.back_up(to, &options, &mut go_on).unwrap()
}

pub fn options(to: &Place, goal: Option<RestoreGoal>) -> RestoreOptions {
    RestoreOptions { folder: to.path().to_owned(), archive: None, goal, clock: to.options().clock }
}

pub fn restored(
    from: &Path,
    to: &Place,
    goal: Option<RestoreGoal>,
) -> Result<Restored, RestoreError> {
    let source = BackupSource::Folder(from.to_owned());
    restore(source, &options(to, goal), &mut go_on)
}

/// Restores into a new place, checks and opens what is there.
pub fn reopened(from: &Path, goal: Option<RestoreGoal>) -> (Place, Arc<Repository>, Restored) {
    let place = Place::new();
    let report = restored(from, &place, goal).unwrap();
    crate::harness::verified(&place);
    let repository = place.open_only();
    (place, repository, report)
}

/// What was in `notes` after each commit.
#[derive(Default)]
pub struct Written {
    commits: BTreeMap<u64, Vec<(String, Option<String>)>>,
}

impl Written {
    pub fn note(&mut self, number: u64, changes: Vec<(String, Option<String>)>) {
        self.commits.insert(number, changes);
    }

    pub fn extend(&mut self, other: Self) {
        self.commits.extend(other.commits);
    }

    pub fn numbers(&self) -> Vec<u64> {
        self.commits.keys().copied().collect()
    }

    pub fn at(&self, number: u64) -> BTreeMap<String, String> {
        let mut state = BTreeMap::new();
        for (key, value) in self.commits.range(..=number).flat_map(|(_, changes)| changes) {
            match value {
                Some(value) => state.insert(key.clone(), value.clone()),
                None => state.remove(key),
            };
        }
        state
    }
}

/// The same of a repository.
pub fn found(repository: &Repository) -> BTreeMap<String, String> {
    let snapshot = repository.snapshot().unwrap();
    let mut found = BTreeMap::new();
    for collection in snapshot.collections().unwrap() {
        if collection.name == notes() {
            each(&snapshot, &collection, |key, document| {
                found.insert(key.to_string(), crate::harness::text(document));
            });
        }
    }
    found
}

/// Commits some changes of `notes` and says which.
pub fn change(
    repository: &Repository,
    random: &mut crate::harness::random::Random,
    keys: usize,
) -> (u64, Vec<(String, Option<String>)>) {
    loop {
        let mut transaction = repository.begin().unwrap();
        let mut changes = BTreeMap::new();
        for _ in 0..1 + random.below(3) {
            let at = format!("k{}", random.below(keys));
            let value = (random.below(4) > 0).then(|| format!("{}", random.below(1 << 40)));
            match &value {
                Some(value) => {
                    let body = Bytes::from(value.clone());
                    transaction.put(&notes(), &key(&at), MediaType::Json, body, None).unwrap();
                }
                None => transaction.delete(&notes(), &key(&at)).unwrap(),
            }
            changes.insert(at, value);
        }
        if let Outcome::Committed(number) = transaction.commit().unwrap() {
            repository.wait_durable(number).unwrap();
            return (number.0, changes.into_iter().collect());
        }
    }
}
