//! What is in memory while it is short, and what one transaction may keep there.

use crate::harness::bench::Bench;
use crate::harness::{SetAtEnd, commit, configure, key, named, notes};
use bytes::Bytes;
use repository::limits::{BACKGROUND_BYTES_MAX, DOCUMENT_BYTES_MAX, TRANSACTION_READ_BYTES_MAX};
use repository::{
    Direction, IndexState, Isolation, KeyRange, MediaType, Outcome, ReadError, StageError,
    Timestamp, Transaction,
};
use std::sync::atomic::{AtomicBool, Ordering};

/// Their documents wait for eviction as soon as they are there.
#[test]
fn eviction_meets_collections_that_are_made_meanwhile() {
    const DOCUMENTS: usize = 20_000;
    let bench = Bench::with_memory(256 << 20);
    let volatile = r#"{"durability":"volatile"}"#;
    configure(bench.repository(), "volatile", volatile);
    let put = |name: &str, at: usize| {
        let mut transaction = bench.repository().begin().unwrap();
        let (at, body) = (key(&format!("k{at}")), Bytes::from("1"));
        transaction.put(&named(name), &at, MediaType::Json, body, None).unwrap();
        transaction.commit().unwrap();
    };
    (0..DOCUMENTS).for_each(|at| put("volatile", at));
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let evicting = scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                bench.evict();
                // What does not wait any more waits again with its next version.
                (0..DOCUMENTS).for_each(|at| put("volatile", at));
            }
        });
        let done = SetAtEnd(&is_done);
        for made in 0..3_000 {
            if evicting.is_finished() {
                break;
            }
            let name = format!("v{made}");
            configure(bench.repository(), &name, volatile);
            put(&name, 0);
        }
        drop(done);
        assert!(evicting.join().is_ok(), "eviction panicked");
    });
}

fn body(bytes: usize) -> Bytes {
    Bytes::from(format!("\"{}\"", "x".repeat(bytes - 2)))
}

fn at(number: usize) -> repository::Key {
    key(&format!("{number:02}"))
}

/// One document more than a transaction reads, of the largest ones.
fn large_documents(bench: &Bench) -> usize {
    let count = TRANSACTION_READ_BYTES_MAX / DOCUMENT_BYTES_MAX;
    for number in 0..=count {
        let mut transaction = bench.repository().begin().unwrap();
        let body = body(DOCUMENT_BYTES_MAX);
        transaction.put(&notes(), &at(number), MediaType::Json, body, None).unwrap();
        commit(bench.repository(), transaction);
    }
    count
}

fn is_too_much<T>(read: Result<T, ReadError>) -> bool {
    matches!(read, Err(ReadError::TooManyBytes))
}

/// Large documents, few of which take more than memory should; however they are read. A refusal
/// leaves the transaction as it was.
#[test]
fn bytes_that_a_transaction_reads() {
    let bench = Bench::with_memory(1 << 30);
    let count = large_documents(&bench);
    let begin = || bench.repository().begin().unwrap();
    let (all, ascending) = (KeyRange::all(), Direction::Ascending);
    let must_go_on = |mut transaction: Transaction, new: &str| {
        transaction.put(&notes(), &key(new), MediaType::Json, body(2), None).unwrap();
        let outcome = transaction.commit().unwrap();
        assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
    };

    let mut ranges = begin();
    assert_eq!(ranges.range(&notes(), &all, ascending, count).unwrap().len(), count);
    assert!(is_too_much(ranges.range(&notes(), &all, ascending, 1)));
    must_go_on(ranges, "a");
    assert!(is_too_much(begin().range(&notes(), &all, ascending, count + 1)));

    let mut gets = begin();
    gets.set_isolation(Isolation::Snapshot);
    (0..count).for_each(|number| assert!(gets.get(&notes(), &at(number)).unwrap().is_some()));
    assert!(is_too_much(gets.get(&notes(), &at(count))));
    assert!(gets.peek(&notes(), &at(count)).unwrap().is_some(), "nobody keeps that");
    must_go_on(gets, "b");

    let mut deletions = begin();
    (0..count).for_each(|number| deletions.delete(&notes(), &at(number)).unwrap());
    let beyond = deletions.delete(&notes(), &at(count));
    assert!(matches!(beyond, Err(StageError::Read(ReadError::TooManyBytes))), "{beyond:?}");
    must_go_on(deletions, "c");
    assert!(begin().get(&notes(), &at(count)).unwrap().is_some());
    assert!(begin().get(&notes(), &at(count - 1)).unwrap().is_none());
}

/// The reaper and the building of an index take few documents at a time, where those are large.
#[test]
fn bytes_that_a_background_commit_reads() {
    let bench = Bench::with_memory(1 << 30);
    let each = BACKGROUND_BYTES_MAX / 4;
    for number in 0..10 {
        let mut transaction = bench.repository().begin().unwrap();
        let expires = Some(Timestamp(bench.now() + 1_000));
        transaction.put(&notes(), &at(number), MediaType::Json, body(each), expires).unwrap();
        commit(bench.repository(), transaction);
    }
    let path = r#"{"indexes":[{"name":"i","paths":[{"path":"/a"}]}]}"#;
    configure(bench.repository(), "notes", path);
    let commits = || {
        bench.write_log();
        let before = bench.repository().stats().commits;
        bench.reap();
        bench.repository().stats().commits - before
    };
    assert_eq!(commits(), 3 + 1, "ten documents, four at a time, and it is ready");
    assert_eq!(bench.repository().indexes()[0].state, IndexState::Ready);
    bench.move_clock(1_001);
    assert_eq!(commits(), 3);
    assert_eq!(bench.repository().stats().reaped, 10);
}
