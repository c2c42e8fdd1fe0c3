//! Building indexes on documents that are there, and clearing away those that are dropped.

use crate::harness::bench::Bench;
use crate::harness::indexes::{BY_N, add, build, configured, delete, find_all, must_commit, stage};
use crate::harness::{
    self, Place, SetAtEnd, close_and_verify, commit, configure, key, named, notes, put, verified,
    wait_built,
};
use bytes::Bytes;
use repository::limits::{
    BUILD_DOCUMENTS_MAX, BUILD_ROWS_MAX, INDEX_ROWS_MAX, TRANSACTION_READS_MAX,
    TRANSACTION_ROWS_MAX,
};
use repository::{
    BuildFailure, Direction, IndexRange, IndexState, MediaType, Merge, Outcome, ReadError,
    StageError, Timestamp, Transaction,
};
use std::sync::atomic::{AtomicBool, Ordering};

use Direction::Ascending;

#[test]
fn a_view_from_before_an_index_does_not_take_it_for_empty() {
    let bench = Bench::new();
    let repository = bench.repository();
    stage(repository, "a", r#"{"n":1}"#);
    let mut old = repository.begin().unwrap();
    configure(repository, "notes", BY_N);
    let unready = |view: &mut Transaction| {
        let found = view.index_range(&notes(), "by_n", &IndexRange::all(), Ascending, 9);
        matches!(found, Err(ReadError::IndexNotReady { .. }))
    };
    let mut during = repository.begin().unwrap();
    assert!(unready(&mut old) && unready(&mut during));
    build(&bench);
    assert_eq!(find_all(repository, "by_n"), "a");
    assert!(unready(&mut old) && unready(&mut during), "its rows came after the view");
    let unknown =
        repository.begin().unwrap().index_range(&notes(), "by_m", &IndexRange::all(), Ascending, 9);
    let error = unknown.unwrap_err().to_string();
    assert_eq!(error, "the collection notes has no index by_m; it has: by_n");
}

#[test]
fn an_index_is_built_while_writers_go_on() {
    let place = Place::new();
    let repository = place.open_only();
    for i in 0..BUILD_DOCUMENTS_MAX * 4 {
        stage(&repository, &format!("{i:05}"), &format!(r#"{{"n":{}}}"#, i % 97));
    }
    let is_done = AtomicBool::new(false);
    let write_on = |thread: usize| {
        for i in 0.. {
            if is_done.load(Ordering::Relaxed) {
                return;
            }
            let at = format!("{:05}", (i * 7919 + thread * 13) % (BUILD_DOCUMENTS_MAX * 5));
            // It may lose to the change of the settings.
            let ran = repository.run(|transaction| match i % 3 {
                0 => transaction.delete(&notes(), &key(&at)),
                _ => {
                    put(transaction, &at, &format!(r#"{{"n":{},"t":{thread}}}"#, i % 89));
                    Ok(())
                }
            });
            ran.unwrap();
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..2 {
            scope.spawn(move || write_on(thread));
        }
        let _done = SetAtEnd(&is_done);
        configure(&repository, "notes", BY_N);
        wait_built(&repository);
    });
    assert_eq!(repository.indexes()[0].state, IndexState::Ready);
    let mut view = repository.begin().unwrap();
    let all = view.range(&notes(), &repository::KeyRange::all(), Ascending, 10_000).unwrap();
    let n = |body: &str| body[5..].split([',', '}']).next().unwrap().parse::<u32>().unwrap();
    let mut expected: Vec<_> =
        all.iter().map(|(key, document)| (n(&harness::text(document)), key.to_string())).collect();
    expected.sort();
    let expected: Vec<_> = expected.into_iter().map(|(_, key)| key).collect();
    assert_eq!(find_all(&repository, "by_n"), expected.join(" "));
    drop(view);
    close_and_verify(&place, repository);
}

#[test]
fn an_index_is_built_across_crashes() {
    let mut bench = Bench::new();
    for i in 0..100 {
        stage(bench.repository(), &format!("{i:05}"), &format!(r#"{{"n":{i}}}"#));
    }
    let mut many = bench.repository().begin().unwrap();
    (0..5_000).for_each(|i| put(&mut many, &format!("x{i:05}"), &format!(r#"{{"n":-{}}}"#, i + 1)));
    must_commit(many);
    configure(bench.repository(), "notes", BY_N);
    bench.checkpoint().unwrap();
    bench.crash(true);
    let state = bench.repository().indexes()[0].state.clone();
    assert_eq!(state, IndexState::Building { passed: 0 });
    stage(bench.repository(), "y", r#"{"n":7}"#);
    build(&bench);
    bench.crash(true);
    assert_eq!(bench.repository().indexes()[0].state, IndexState::Ready);
    let found = find_all(bench.repository(), "by_n");
    assert_eq!(found.split(' ').count(), 5_000 + 100 + 1);
    assert!(found.starts_with("x04999") && found.contains(" y "), "{found}");
    verified(&bench.stop());
}

#[test]
fn building_on_duplicates_fails_and_says_so_and_others_get_on() {
    let mut bench = Bench::new();
    for (at, body) in [("a", r#"{"n":1,"m":1}"#), ("b", r#"{"n":2,"m":1}"#)] {
        stage(bench.repository(), at, body);
    }
    let settings = r#"{"indexes":[
        {"name":"by_n","paths":[{"path":"/n"}],"unique":true},
        {"name":"by_m","paths":[{"path":"/m"}],"unique":true},
        {"name":"plain","paths":[{"path":"/m"}]}]}"#;
    configure(bench.repository(), "notes", settings);
    build(&bench);
    let states = |bench: &Bench| -> Vec<IndexState> {
        bench.repository().indexes().into_iter().map(|status| status.state).collect()
    };
    let built = states(&bench);
    assert_eq!((&built[0], &built[2]), (&IndexState::Ready, &IndexState::Ready));
    let IndexState::Failed(why) = &built[1] else { panic!("{built:?}") };
    assert_eq!(why.to_string(), "notes/b would have the same values in the index by_m as a");
    assert_eq!(find_all(bench.repository(), "plain"), "a b");
    stage(bench.repository(), "b", r#"{"n":2,"m":2}"#);
    bench.crash(true);
    build(&bench);
    assert_eq!(states(&bench)[1], IndexState::Ready, "it is tried again when opening");
    assert_eq!(find_all(bench.repository(), "by_m"), "a b");
    verified(&bench.stop());
}

#[test]
fn a_document_that_does_not_fit_stops_the_building_and_nothing_else() {
    let bench = Bench::new();
    let repository = bench.repository();
    let long = format!(r#"{{"n":"{}"}}"#, "x".repeat(2000));
    stage(repository, "a", &long);
    stage(repository, "b", &long);
    let mut brief = repository.begin().unwrap();
    let soon = Some(Timestamp(bench.now() + 5));
    let body = bytes::Bytes::from(long.clone());
    brief.put(&notes(), &key("c"), MediaType::Json, body, soon).unwrap();
    must_commit(brief);
    stage(repository, "d", r#"{"n":1,"m":1}"#);
    let settings = r#"{"indexes":[
        {"name":"by_n","paths":[{"path":"/n"}]},{"name":"by_m","paths":[{"path":"/m"}]}]}"#;
    configure(repository, "notes", settings);
    build(&bench);
    let states = repository.indexes();
    let IndexState::Failed(BuildFailure::Unfit { key: at, .. }) = &states[0].state else {
        panic!("{states:?}")
    };
    assert_eq!((at.as_str(), &states[1].state), ("a", &IndexState::Ready));
    let mut transaction = repository.begin().unwrap();
    let body = bytes::Bytes::from(long.clone());
    let unfit = transaction.put(&notes(), &key("e"), MediaType::Json, body, None);
    assert!(matches!(unfit, Err(StageError::Index(_))));
    drop(transaction);
    bench.move_clock(6);
    bench.reap();
    assert_eq!(repository.stats().reaped, 1, "what does not fit can expire");
    delete(repository, "a");
    stage(repository, "b", r#"{"n":2}"#);
    configure(repository, "notes", "{}");
    configure(repository, "notes", BY_N);
    build(&bench);
    assert_eq!(find_all(repository, "by_n"), "d b");
    verified(&bench.stop());
}

/// What has expired and is not removed yet has its rows, as any other document.
#[test]
fn building_passes_expired_documents_too() {
    let bench = Bench::new();
    let repository = bench.repository();
    let mut brief = repository.begin().unwrap();
    for i in 0..100 {
        let (at, expires) = (key(&format!("{i:03}")), Some(Timestamp(bench.now() + i)));
        let body = bytes::Bytes::from(r#"{"n":1}"#);
        brief.put(&notes(), &at, MediaType::Json, body, expires).unwrap();
    }
    must_commit(brief);
    configure(repository, "notes", BY_N);
    // Now some expire after the reaper has looked for what is due and before it builds.
    bench.place.tick.store(1, Ordering::Relaxed);
    bench.reap();
    assert_eq!(repository.indexes()[0].state, IndexState::Ready);
    verified(&bench.stop());
}

#[test]
fn what_is_left_of_a_dropped_index_goes() {
    let mut bench = configured(BY_N);
    for i in 0..1200 {
        stage(bench.repository(), &format!("{i:04}"), &format!(r#"{{"n":{i}}}"#));
    }
    bench.checkpoint().unwrap();
    let with_rows = bench.repository().stats().engine_bytes;
    let mut late = bench.repository().begin().unwrap();
    put(&mut late, "late", r#"{"n":1}"#);
    configure(bench.repository(), "notes", "{}");
    assert!(matches!(late.commit().unwrap(), Outcome::Conflict(_)), "it was to have a row");
    bench.crash(true);
    stage(bench.repository(), "0000", r#"{"n":-1}"#);
    (0..4).for_each(|_| bench.reap());
    bench.checkpoint().unwrap();
    bench.compact().unwrap();
    let without = bench.repository().stats().engine_bytes;
    assert!(without * 4 < with_rows * 3, "{with_rows} bytes became {without}");
    assert!(bench.repository().indexes().is_empty());
    configure(bench.repository(), "notes", BY_N);
    build(&bench);
    let found = find_all(bench.repository(), "by_n");
    assert_eq!(found.split(' ').count(), 1200);
    verified(&bench.stop());
}

#[test]
fn an_index_of_a_merge_commit_is_right_after_recovery() {
    let mut bench = configured(BY_N);
    let mut open: Vec<_> = (0..10).map(|_| bench.repository().begin().unwrap()).collect();
    for (i, transaction) in open.iter_mut().enumerate() {
        transaction.merge(&notes(), &key("a"), add("/n", i as f64)).unwrap();
        transaction.merge(&notes(), &key(&format!("b{i}")), add("/n", i as f64)).unwrap();
    }
    open.into_iter().for_each(must_commit);
    let before = find_all(bench.repository(), "by_n");
    assert_eq!(before, "b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 a");
    bench.crash(true);
    assert_eq!(find_all(bench.repository(), "by_n"), before);
    verified(&bench.stop());
}

fn list(from: usize, count: usize) -> String {
    let all: Vec<String> = (from..from + count).map(|value| value.to_string()).collect();
    format!("[{}]", all.join(","))
}

/// Together these documents have more unique values than a transaction may note.
#[test]
fn rows_that_building_adds_in_one_commit() {
    const DOCUMENTS: usize = 300;
    const EACH: usize = 500;
    const { assert!(BUILD_DOCUMENTS_MAX * EACH > TRANSACTION_READS_MAX) }
    let bench = Bench::with_memory(1 << 30);
    for at in 0..DOCUMENTS {
        let mut transaction = bench.repository().begin().unwrap();
        put(&mut transaction, &format!("{at:04}"), &list(at * EACH, EACH));
        commit(bench.repository(), transaction);
    }
    let index = r#"{"indexes":[{"name":"i","paths":[{"path":"","each":true}],"unique":true}]}"#;
    configure(bench.repository(), "notes", index);
    bench.write_log();
    let before = bench.repository().stats().commits;
    bench.reap();
    let commits = bench.repository().stats().commits - before;
    assert_eq!(bench.repository().indexes()[0].state, IndexState::Ready);
    assert_eq!(commits as usize, (DOCUMENTS * EACH).div_ceil(BUILD_ROWS_MAX) + 1);
    assert_eq!(verified(&bench.stop()), DOCUMENTS as u64);
}

fn indexed_lists() -> Bench {
    let bench = Bench::with_memory(1 << 30);
    let index = r#"{"indexes":[{"name":"i","paths":[{"path":"","each":true}]}]}"#;
    configure(bench.repository(), "notes", index);
    (0..3).for_each(|_| bench.reap());
    bench
}

#[test]
fn rows_of_merge_operations_count() {
    let bench = indexed_lists();
    let mut transaction = bench.repository().begin().unwrap();
    let insert = Merge::InsertIfAbsent { path: String::new(), value: list(0, INDEX_ROWS_MAX) };
    for at in 0..TRANSACTION_ROWS_MAX / INDEX_ROWS_MAX {
        transaction.merge(&notes(), &key(&at.to_string()), insert.clone()).unwrap();
    }
    let append = |value: &str| Merge::Append { path: String::new(), value: value.to_owned() };
    let beyond = transaction.merge(&notes(), &key("beyond"), append("1"));
    assert!(matches!(beyond, Err(StageError::TooManyRows)), "{beyond:?}");
    let small = Merge::InsertIfAbsent { path: String::new(), value: "{}".to_owned() };
    transaction.merge(&notes(), &key("small"), small).unwrap();
    commit(bench.repository(), transaction);
    let mut transaction = bench.repository().begin().unwrap();
    put(&mut transaction, "a", &list(0, INDEX_ROWS_MAX - 1));
    transaction.merge(&notes(), &key("b"), append("1")).unwrap();
    for value in 2..9 {
        transaction.merge(&notes(), &key("b"), append(&value.to_string())).unwrap();
    }
    commit(bench.repository(), transaction);
}

/// What is staged again counts once, and what is refused counts for nothing.
#[test]
fn a_refusal_for_rows_leaves_the_transaction() {
    let bench = indexed_lists();
    let full = TRANSACTION_ROWS_MAX / INDEX_ROWS_MAX;
    let mut transaction = bench.repository().begin().unwrap();
    for _ in 0..full + 2 {
        put(&mut transaction, "same", &list(0, INDEX_ROWS_MAX));
    }
    for at in 1..full {
        put(&mut transaction, &at.to_string(), &list(0, INDEX_ROWS_MAX));
    }
    for _ in 0..2 {
        let body = Bytes::from(list(0, INDEX_ROWS_MAX));
        let beyond = transaction.put(&notes(), &key("beyond"), MediaType::Json, body, None);
        assert!(matches!(beyond, Err(StageError::TooManyRows)), "{beyond:?}");
    }
    put(&mut transaction, "same", "{}");
    put(&mut transaction, "beyond", &list(0, INDEX_ROWS_MAX));
    transaction.put(&named("plain"), &key("x"), MediaType::Json, Bytes::from("1"), None).unwrap();
    commit(bench.repository(), transaction);
}
