//! What a transaction sees of collections and their indexes, and reading an index from a place on.

use crate::harness::bench::Bench;
use crate::harness::indexes::{
    BY_N, build, configured, delete, must_commit, number, numbers, stage,
};
use crate::harness::{self, configure, key, notes};
use repository::{
    CollectionName, Direction, IndexPlace, IndexRange, IndexRangeError, IndexRead, IndexValue,
    Outcome, ReadError, Settings, Transaction,
};

use Direction::{Ascending, Descending};

fn name(name: &str) -> CollectionName {
    CollectionName::new(name).unwrap()
}

fn place(value: f64, at: &str) -> IndexPlace {
    IndexPlace { values: vec![number(value)], key: key(at) }
}

fn read(
    transaction: &mut Transaction,
    range: &IndexRange,
    after: Option<&IndexPlace>,
    direction: Direction,
) -> String {
    let read = IndexRead { range, after, direction, limit: 2 };
    let found = transaction.index_read(&notes(), "by_n", read).unwrap();
    found.iter().map(|entry| entry.key.to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn an_index_is_read_from_a_place_on() {
    let bench = configured(BY_N);
    for (at, n) in [("a", 1), ("b", 1), ("c", 1), ("d", 2), ("e", 3)] {
        stage(bench.repository(), at, &format!("{{\"n\":{n}}}"));
    }
    let mut transaction = bench.repository().begin().unwrap();
    let all = IndexRange::all();
    for (after, direction, expected) in [
        (None, Ascending, "a b"),
        (Some(place(1.0, "b")), Ascending, "c d"),
        (Some(place(1.0, "bb")), Ascending, "c d"),
        (Some(place(0.0, "z")), Ascending, "a b"),
        (Some(place(3.0, "e")), Ascending, ""),
        (None, Descending, "e d"),
        (Some(place(2.0, "d")), Descending, "c b"),
        (Some(place(9.0, "a")), Descending, "e d"),
        (Some(place(1.0, "a")), Descending, ""),
    ] {
        let got = read(&mut transaction, &all, after.as_ref(), direction);
        assert_eq!(got, expected, "after {after:?} {direction:?}");
    }
    let ones = IndexRange::equal(vec![number(1.0)]);
    for (after, direction, expected) in [
        (place(1.0, "b"), Ascending, "c"),
        (place(0.0, "z"), Ascending, "a b"),
        (place(2.0, "a"), Ascending, ""),
        (place(2.0, "a"), Descending, "c b"),
        (place(1.0, "b"), Descending, "a"),
    ] {
        let got = read(&mut transaction, &ones, Some(&after), direction);
        assert_eq!(got, expected, "ones after {after:?} {direction:?}");
    }
}

#[test]
fn own_writes_are_seen_from_a_place_on() {
    let bench = configured(BY_N);
    for (at, n) in [("a", 1), ("b", 2), ("c", 3)] {
        stage(bench.repository(), at, &format!("{{\"n\":{n}}}"));
    }
    let mut transaction = bench.repository().begin().unwrap();
    harness::put(&mut transaction, "d", "{\"n\":2.5}");
    harness::put(&mut transaction, "a", "{\"n\":4}");
    let range = numbers(0.0, 9.0);
    assert_eq!(read(&mut transaction, &range, Some(&place(1.0, "a")), Ascending), "b d");
    assert_eq!(read(&mut transaction, &range, Some(&place(2.5, "d")), Ascending), "c a");
    assert_eq!(read(&mut transaction, &range, Some(&place(3.0, "c")), Descending), "d b");
}

#[test]
fn only_what_comes_after_the_place_counts_as_read() {
    let bench = configured(BY_N);
    for (at, n) in [("a", 1), ("c", 3), ("e", 5)] {
        stage(bench.repository(), at, &format!("{{\"n\":{n}}}"));
    }
    let outcome = |between: f64| {
        let mut transaction = bench.repository().begin().unwrap();
        read(&mut transaction, &IndexRange::all(), Some(&place(2.0, "x")), Ascending);
        stage(bench.repository(), "new", &format!("{{\"n\":{between}}}"));
        harness::put(&mut transaction, "own", "1");
        let outcome = transaction.commit().unwrap();
        delete(bench.repository(), "new");
        outcome
    };
    assert!(matches!(outcome(1.5), Outcome::Committed(_)), "before the place");
    assert!(matches!(outcome(4.0), Outcome::Conflict(_)), "a phantom");
    assert!(matches!(outcome(6.0), Outcome::Committed(_)), "beyond the limit");
}

#[test]
fn a_place_must_be_one_of_the_index() {
    let bench =
        configured(r#"{"indexes":[{"name":"by_n","paths":[{"path":"/n","kind":"number"}]}]}"#);
    let mut transaction = bench.repository().begin().unwrap();
    let mut refused = |values: Vec<IndexValue>| {
        let after = IndexPlace { values, key: key("a") };
        let range = IndexRange::all();
        let read = IndexRead { range: &range, after: Some(&after), direction: Ascending, limit: 1 };
        match transaction.index_read(&notes(), "by_n", read) {
            Err(ReadError::IndexRange(error)) => error,
            other => panic!("expected a refusal, got {other:?}"),
        }
    };
    assert!(matches!(refused(vec![]), IndexRangeError::TooFewValues { columns: 1, got: 0, .. }));
    assert!(matches!(refused(vec![IndexValue::Null]), IndexRangeError::Kind { .. }));
    assert!(matches!(refused(vec![number(1.0); 2]), IndexRangeError::TooManyValues { .. }));
}

#[test]
fn collections_are_listed_by_name_and_without_those_of_sarsen() {
    let bench = Bench::new();
    for (collection, settings) in [("b", "{}"), ("a", "{\"expiry\":5}"), ("_own", "{}")] {
        configure(bench.repository(), collection, settings);
    }
    let mut transaction = bench.repository().begin().unwrap();
    let listed = |entries: Vec<repository::CollectionEntry>| -> Vec<String> {
        entries.iter().map(|e| format!("{} {}", e.name, e.settings.to_json())).collect()
    };
    let all = transaction.collections(None, 10).unwrap();
    assert_eq!(listed(all), ["a {\"expiry\":5}", "b {}"]);
    let first = transaction.collections(None, 1).unwrap();
    assert_eq!(listed(first), ["a {\"expiry\":5}"]);
    let rest = transaction.collections(Some(&name("a")), 10).unwrap();
    assert_eq!(listed(rest), ["b {}"]);
    let entry = transaction.collection(&name("a")).unwrap().unwrap();
    assert_eq!(entry.settings.expiry_ms, Some(5));
    assert_eq!(transaction.collection(&name("c")).unwrap(), None);
}

#[test]
fn a_collection_that_is_made_meanwhile_is_a_phantom() {
    let bench = Bench::new();
    for lists in [false, true] {
        let (mut transaction, made) = (bench.repository().begin().unwrap(), format!("c{lists}"));
        match lists {
            true => drop(transaction.collections(None, 10).unwrap()),
            false => drop(transaction.collection(&name(&made)).unwrap()),
        }
        configure(bench.repository(), &made, "{}");
        harness::put(&mut transaction, "own", "1");
        assert!(matches!(transaction.commit().unwrap(), Outcome::Conflict(_)), "lists: {lists}");
    }
}

#[test]
fn an_index_is_ready_for_views_that_see_all_of_it() {
    let bench = Bench::new();
    stage(bench.repository(), "a", "{\"n\":1}");
    let ready = |transaction: &mut Transaction| -> Option<Vec<bool>> {
        let indexes = transaction.indexes(&notes()).unwrap()?;
        Some(indexes.iter().map(|index| index.is_ready()).collect())
    };
    configure(bench.repository(), "notes", BY_N);
    let mut before = bench.repository().begin().unwrap();
    assert_eq!(ready(&mut before), Some(vec![false]));
    build(&bench);
    assert_eq!(ready(&mut before), Some(vec![false]));
    assert_eq!(ready(&mut bench.repository().begin().unwrap()), Some(vec![true]));
}

#[test]
fn a_view_does_not_see_later_settings() {
    let bench = configured(BY_N);
    let mut before = bench.repository().begin().unwrap();
    let names = |transaction: &mut Transaction| -> Vec<(String, bool)> {
        let indexes = transaction.indexes(&notes()).unwrap().unwrap();
        indexes.iter().map(|i| (i.definition.name.clone(), i.is_ready())).collect()
    };
    let more = r#"{"indexes":[{"name":"by_n","paths":[{"path":"/n"}]},
        {"name":"by_m","paths":[{"path":"/m"}]}]}"#;
    configure(bench.repository(), "notes", more);
    assert_eq!(names(&mut before), [("by_n".to_owned(), true)]);
    let mut between = bench.repository().begin().unwrap();
    configure(bench.repository(), "notes", "{}");
    assert_eq!(names(&mut before), [("by_n".to_owned(), false)], "it is gone");
    assert_eq!(names(&mut between).len(), 2);
    assert_eq!(names(&mut bench.repository().begin().unwrap()), []);
}

#[test]
fn a_staged_document_makes_its_collection() {
    let bench = Bench::new();
    let mut transaction = bench.repository().begin().unwrap();
    assert_eq!(transaction.indexes(&notes()).unwrap(), None);
    harness::put(&mut transaction, "a", "1");
    assert_eq!(transaction.indexes(&notes()).unwrap(), Some(vec![]));
}

#[test]
fn settings_are_changed_together_with_documents() {
    let bench = Bench::new();
    let mut transaction = bench.repository().begin().unwrap();
    transaction.configure(&notes(), &Settings::from_json(BY_N).unwrap()).unwrap();
    harness::put(&mut transaction, "a", "1");
    must_commit(transaction);
    assert_eq!(bench.repository().settings(&notes()).to_json(), BY_N);
    // Two changes of the same settings conflict: each has read what it changes.
    let mut first = bench.repository().begin().unwrap();
    first.configure(&notes(), &Settings::default()).unwrap();
    configure(bench.repository(), "notes", "{\"expiry\":7}");
    assert!(matches!(first.commit().unwrap(), Outcome::Conflict(_)));
}
