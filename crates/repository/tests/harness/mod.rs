//! A repository in a temporary folder, with a clock that the test sets.

#![allow(dead_code, reason = "each test file uses its own part")]

use bytes::Bytes;
use repository::{
    CollectionName, Key, MediaType, Options, Outcome, Recovery, Repository, Timestamp, Transaction,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub struct Place {
    pub folder: tempfile::TempDir,
    pub now: Arc<AtomicU64>,
    pub memory_bytes: u64,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, now: Arc::new(AtomicU64::new(1_000_000)), memory_bytes: 64 << 20 }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn options(&self) -> Options {
        let now = Arc::clone(&self.now);
        Options {
            folder: self.path().to_owned(),
            memory_bytes: self.memory_bytes,
            clock: Arc::new(move || Timestamp(now.load(Ordering::Relaxed))),
        }
    }

    pub fn open(&self) -> (Arc<Repository>, Recovery) {
        Repository::open(self.options()).unwrap()
    }

    pub fn open_only(&self) -> Arc<Repository> {
        self.open().0
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
