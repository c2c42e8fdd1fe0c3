//! A repository in a temporary folder, with a clock that the test sets.

#![allow(dead_code, reason = "each test file uses its own part")]

pub mod bench;
pub mod indexes;
pub mod random;

use bytes::Bytes;
use repository::{
    CollectionName, Document, IndexState, IndexStatus, Key, MediaType, Opening, Options, Outcome,
    Recovery, Repository, Retention, Settings, Timestamp, Transaction, verify,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub struct Place {
    pub folder: tempfile::TempDir,
    pub now: Arc<AtomicU64>,
    /// By how much looking at the clock moves it.
    pub tick: Arc<AtomicU64>,
    pub memory_bytes: u64,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (now, tick) = (Arc::new(AtomicU64::new(1_000_000)), Arc::default());
        Self { folder, now, tick, memory_bytes: 64 << 20 }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn options(&self) -> Options {
        let (now, tick) = (Arc::clone(&self.now), Arc::clone(&self.tick));
        let look =
            move || Timestamp(now.fetch_add(tick.load(Ordering::Relaxed), Ordering::Relaxed));
        Options {
            folder: self.path().to_owned(),
            memory_bytes: self.memory_bytes,
            clock: Arc::new(look),
        }
    }

    pub fn open(&self) -> (Arc<Repository>, Recovery) {
        Repository::open(self.options()).unwrap()
    }

    pub fn open_only(&self) -> Arc<Repository> {
        self.open().0
    }

    /// Opens, and keeps nothing of the log for those who read it.
    pub fn open_retaining_nothing(&self) -> Arc<Repository> {
        let retention = Retention { bytes: 0, hold: None };
        let opening = Opening { retention, ..Opening::default() };
        Repository::open_with(self.options(), opening).unwrap().0
    }

    /// The tranlog's segments, in order.
    pub fn segments(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path().join("tranlog")).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
        paths.sort();
        paths
    }
}

pub fn notes() -> CollectionName {
    CollectionName::new("notes").unwrap()
}

pub fn key(key: &str) -> Key {
    Key::new(key).unwrap()
}

pub fn put(transaction: &mut Transaction, at: &str, body: &str) {
    let body = Bytes::copy_from_slice(body.as_bytes());
    transaction.put(&notes(), &key(at), MediaType::Json, body, None).unwrap();
}

pub fn get(transaction: &mut Transaction, at: &str) -> Option<String> {
    let document = transaction.get(&notes(), &key(at)).unwrap();
    document.map(|d| String::from_utf8(d.body.to_vec()).unwrap())
}

/// Reads one document in a transaction of its own.
pub fn read(repository: &Repository, at: &str) -> Option<String> {
    get(&mut repository.begin().unwrap(), at)
}

/// Writes one document in a transaction of its own and waits until it is durable.
pub fn write(repository: &Repository, at: &str, body: &str) -> u64 {
    let mut transaction = repository.begin().unwrap();
    put(&mut transaction, at, body);
    commit(repository, transaction)
}

/// Commits, which must succeed, and waits until it is durable.
pub fn commit(repository: &Repository, transaction: Transaction) -> u64 {
    match transaction.commit().unwrap() {
        Outcome::Committed(number) => {
            repository.wait_durable(number).unwrap();
            number.0
        }
        other => panic!("expected a commit, got {other:?}"),
    }
}

pub fn named(name: &str) -> CollectionName {
    CollectionName::new(name).unwrap()
}

pub fn text(document: &Document) -> String {
    String::from_utf8(document.body.to_vec()).unwrap()
}

/// Gives a collection the settings that a text says.
pub fn configure(repository: &Repository, name: &str, settings: &str) {
    repository.configure(&named(name), &Settings::from_json(settings).unwrap()).unwrap();
}

/// Waits, within a generous bound, until something is so.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < end, "it did not come to this: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sets a flag at its end, however that comes: who works on until then must not work on for ever.
pub struct SetAtEnd<'a>(pub &'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits until no index is being built.
pub fn wait_built(repository: &Repository) {
    let is_building = |status: &IndexStatus| matches!(status.state, IndexState::Building { .. });
    wait_until("indexes are built", || !repository.indexes().iter().any(is_building));
}

/// Closes, and checks everything that is on disk; gives the documents of `notes`.
pub fn close_and_verify(place: &Place, repository: Arc<Repository>) -> u64 {
    repository.close().unwrap();
    drop(repository);
    verified(place)
}

/// Checks everything that is on disk; gives the documents of `notes`.
pub fn verified(place: &Place) -> u64 {
    let report = verify(place.path()).unwrap();
    assert_eq!(report.findings, Vec::<String>::new());
    report.documents.get("notes").copied().unwrap_or_default()
}
