//! What tests of indexes share.

use super::bench::Bench;
use super::{configure, key, notes, put};
use repository::{
    Direction, IndexRange, IndexState, IndexValue, Merge, Outcome, Repository, Transaction,
};
use std::ops::Bound::{Excluded, Included};

use Direction::Ascending;

pub const BY_N: &str = r#"{"indexes":[{"name":"by_n","paths":[{"path":"/n"}]}]}"#;
pub const UNIQUE_N: &str = r#"{"indexes":[{"name":"by_n","paths":[{"path":"/n"}],"unique":true}]}"#;

pub fn number(value: f64) -> IndexValue {
    IndexValue::Number(value)
}

pub fn numbers(from: f64, to: f64) -> IndexRange {
    let (from, to) = (Included(number(from)), Excluded(number(to)));
    IndexRange { equal: Vec::new(), from, to }
}

/// The keys that an index finds, as one text.
pub fn find(
    transaction: &mut Transaction,
    index: &str,
    range: &IndexRange,
    direction: Direction,
    limit: usize,
) -> String {
    let found = transaction.index_range(&notes(), index, range, direction, limit).unwrap();
    found.iter().map(|entry| entry.key.to_string()).collect::<Vec<_>>().join(" ")
}

pub fn find_all(repository: &Repository, index: &str) -> String {
    find(&mut repository.begin().unwrap(), index, &IndexRange::all(), Ascending, 10_000)
}

pub fn stage(repository: &Repository, at: &str, body: &str) {
    let mut transaction = repository.begin().unwrap();
    put(&mut transaction, at, body);
    must_commit(transaction);
}

pub fn must_commit(transaction: Transaction) {
    let outcome = transaction.commit().unwrap();
    assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
}

pub fn delete(repository: &Repository, at: &str) {
    let mut transaction = repository.begin().unwrap();
    transaction.delete(&notes(), &key(at)).unwrap();
    must_commit(transaction);
}

pub fn add(at: &str, delta: f64) -> Merge {
    Merge::Add { path: at.to_owned(), delta }
}

pub fn refused(outcome: Outcome) -> (String, String) {
    match outcome {
        Outcome::Duplicate(duplicate) => (duplicate.key.to_string(), duplicate.holder.to_string()),
        other => panic!("expected a duplicate, got {other:?}"),
    }
}

/// A stepped repository whose `notes` have these settings.
pub fn configured(settings: &str) -> Bench {
    let bench = Bench::new();
    configure(bench.repository(), "notes", settings);
    build(&bench);
    bench
}

pub fn build(bench: &Bench) {
    let is_building = |bench: &Bench| {
        let all = bench.repository().indexes();
        all.iter().any(|status| matches!(status.state, IndexState::Building { .. }))
    };
    for _ in 0..100 {
        if !is_building(bench) {
            return;
        }
        bench.reap();
    }
    panic!("an index is never built: {:?}", bench.repository().indexes());
}
