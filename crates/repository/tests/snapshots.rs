//! Snapshots: everything at one commit, whatever is committed, written and merged meanwhile.

use crate::harness::random::Random;
use crate::harness::{self, Place, commit, configure, key, notes, put, read, wait_until, write};
use repository::limits::{SNAPSHOT_PAGE_BYTES, SNAPSHOT_PAGE_DOCUMENTS_MAX};
use repository::{ReadError, Repository, Snapshot, SnapshotCollection, SnapshotError};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

fn collection(snapshot: &Snapshot, name: &str) -> SnapshotCollection {
    let all = snapshot.collections().unwrap();
    all.into_iter().find(|c| c.name.as_str() == name).unwrap()
}

/// Everything in `notes`, page by page.
fn read_all(snapshot: &Snapshot) -> Result<BTreeMap<String, String>, ReadError> {
    let notes = collection(snapshot, "notes");
    let mut documents = BTreeMap::new();
    let mut after = None;
    loop {
        let page = snapshot.page(&notes, after.as_ref())?;
        for (key, document) in &page.documents {
            assert!(document.version <= snapshot.commit());
            documents.insert(key.to_string(), harness::text(document));
        }
        if page.is_last {
            return Ok(documents);
        }
        after = page.documents.last().map(|(key, _)| key.clone());
    }
}

#[test]
fn a_snapshot_stays_as_it_was() {
    let place = Place::new();
    let repository = place.open_only();
    write(&repository, "a", "1");
    write(&repository, "b", "1");
    let number = write(&repository, "c", "1");
    let snapshot = repository.snapshot().unwrap();
    assert_eq!(snapshot.commit().0, number);
    assert_eq!(repository.oldest_snapshot(), Some(snapshot.commit()));
    write(&repository, "b", "2");
    write(&repository, "d", "2");
    let mut transaction = repository.begin().unwrap();
    transaction.delete(&notes(), &key("a")).unwrap();
    commit(&repository, transaction);
    for _ in 0..3 {
        repository.checkpoint().unwrap();
        let found: Vec<_> = read_all(&snapshot).unwrap().into_iter().collect();
        let expected = [("a", "1"), ("b", "1"), ("c", "1")];
        assert_eq!(found, expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
    }
    let later = repository.snapshot().unwrap();
    assert_eq!(read_all(&later).unwrap().len(), 3);
    assert!(later.commit() > snapshot.commit());
}

#[test]
fn collections_come_by_name_with_their_settings() {
    let place = Place::new();
    let repository = place.open_only();
    for name in ["zebra", "apple", "_own"] {
        configure(&repository, name, r#"{"expiry":1000}"#);
    }
    let snapshot = repository.snapshot().unwrap();
    configure(&repository, "apple", "{}");
    configure(&repository, "new", "{}");
    let collections = snapshot.collections().unwrap();
    let names: Vec<&str> = collections.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["_own", "apple", "zebra"]);
    assert!(collections.iter().all(|c| c.settings.expiry_ms == Some(1000)));
}

#[test]
fn pages_are_bounded() {
    let place = Place::new();
    let repository = place.open_only();
    let mut transaction = repository.begin().unwrap();
    for i in 0..=SNAPSHOT_PAGE_DOCUMENTS_MAX {
        put(&mut transaction, &format!("{i:05}"), "1");
    }
    commit(&repository, transaction);
    let large = format!("\"{}\"", "x".repeat(SNAPSHOT_PAGE_BYTES));
    write(&repository, "large", &large);
    write(&repository, "last", "1");
    let snapshot = repository.snapshot().unwrap();
    let notes = collection(&snapshot, "notes");
    let page = |after: &str| {
        let page = snapshot.page(&notes, Some(&key(after))).unwrap();
        (page.documents.len(), page.is_last)
    };
    let first = snapshot.page(&notes, None).unwrap();
    assert_eq!((first.documents.len(), first.is_last), (SNAPSHOT_PAGE_DOCUMENTS_MAX, false));
    assert_eq!(page(&format!("{:05}", SNAPSHOT_PAGE_DOCUMENTS_MAX - 1)), (2, false));
    assert_eq!(page("large"), (1, true));
    assert_eq!(page("last"), (0, true));
}

#[test]
fn one_that_is_given_up_says_so() {
    let place = Place::new();
    let repository = place.open_only();
    write(&repository, "a", "1");
    let snapshot = repository.snapshot().unwrap();
    assert_eq!(repository.give_up_snapshots(), 1);
    assert!(matches!(read_all_of(&snapshot), Err(ReadError::ViewTooOld(_))));
    assert_eq!(repository.oldest_snapshot(), None);
    drop(snapshot);
    assert!(read_all(&repository.snapshot().unwrap()).is_ok());
    repository.close().unwrap();
    assert!(matches!(repository.snapshot(), Err(SnapshotError::Closed)));
}

fn read_all_of(snapshot: &Snapshot) -> Result<usize, ReadError> {
    snapshot.collections().map(|all| all.len())
}

/// More is written while it is held than memory holds, and every commit is taken.
#[test]
fn it_holds_back_nothing_in_memory() {
    let place = Place { memory_bytes: 32 << 20, ..Place::new() };
    let repository = place.open_only();
    write(&repository, "a", "1");
    let snapshot = repository.snapshot().unwrap();
    let body = format!("\"{}\"", "x".repeat(1 << 20));
    for i in 0..100 {
        wait_until("there is room", || {
            let put = repository.run(|transaction| {
                put(transaction, &format!("b{}", i % 40), &body);
                Ok::<_, std::convert::Infallible>(())
            });
            put.is_ok()
        });
    }
    assert!(repository.stats().checkpoint > snapshot.commit(), "memory was written and left");
    let found: Vec<_> = read_all(&snapshot).unwrap().into_keys().collect();
    assert_eq!(found, ["a"]);
}

/// One writer keeps every document at the same value; snapshots must never see two.
#[test]
fn every_snapshot_is_one_commit() {
    let place = Place::new();
    let repository = place.open_only();
    let stop = AtomicBool::new(false);
    let write_all = |repository: &Repository, value: u64| {
        let mut transaction = repository.begin().unwrap();
        for i in 0..50 {
            put(&mut transaction, &format!("{i:02}"), &value.to_string());
        }
        commit(repository, transaction)
    };
    write_all(&repository, 0);
    std::thread::scope(|scope| {
        let _end = harness::SetAtEnd(&stop);
        scope.spawn(|| {
            let mut value = 0;
            while !stop.load(Ordering::Relaxed) {
                value += 1;
                write_all(&repository, value);
            }
        });
        scope.spawn(|| {
            let mut random = Random::new(1);
            while !stop.load(Ordering::Relaxed) {
                repository.checkpoint().unwrap();
                std::thread::sleep(std::time::Duration::from_millis(random.below(5) as u64));
            }
        });
        for _ in 0..50 {
            let snapshot = repository.snapshot().unwrap();
            let (first, second) = (read_all(&snapshot).unwrap(), read_all(&snapshot).unwrap());
            assert_eq!(first, second);
            let mut values: Vec<String> = first.into_values().collect();
            values.dedup();
            assert_eq!(values.len(), 1, "at {}", snapshot.commit());
        }
    });
    assert!(read(&repository, "00").is_some());
}
