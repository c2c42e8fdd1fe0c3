//! The settings of collections: kept, read by every write, and what each of them does.

use crate::harness::bench::Bench;
use crate::harness::{
    self, Place, close_and_verify, configure, get, key, named, notes, put, read, text, verified,
    wait_until, write,
};
use bytes::Bytes;
use repository::limits::COLLECTIONS_MAX;
use repository::{
    CollectionName, CommitError, CommitNumber, ConfigureError, Conflict, Durability, MediaType,
    Merge, Outcome, Overwrite, Ran, Repository, RunError, Settings, Timestamp, Transaction, verify,
};
use std::convert::Infallible;
use std::sync::atomic::Ordering;

const VOLATILE: &str = r#"{"durability":"volatile"}"#;
const MERGE: &str = r#"{"conflict":"merge"}"#;

fn put_in(transaction: &mut Transaction, collection: &CollectionName, at: &str, body: &str) {
    let body = Bytes::copy_from_slice(body.as_bytes());
    transaction.put(collection, &key(at), MediaType::Json, body, None).unwrap();
}

fn ran(repository: &Repository, writes: &[(&str, &str)]) -> Ran<()> {
    let ran = repository.run(|transaction| {
        writes.iter().for_each(|(name, at)| put_in(transaction, &named(name), at, "1"));
        Ok::<_, Infallible>(())
    });
    ran.unwrap()
}

fn read_in(repository: &Repository, name: &str, at: &str) -> Option<String> {
    let document = repository.begin().unwrap().get(&named(name), &key(at)).unwrap();
    document.map(|document| text(&document))
}

fn must_commit(transaction: Transaction) -> CommitNumber {
    match transaction.commit().unwrap() {
        Outcome::Committed(number) => number,
        other => panic!("{other:?}"),
    }
}

fn conflict(transaction: Transaction) -> Conflict {
    match transaction.commit().unwrap() {
        Outcome::Conflict(conflict) => conflict,
        other => panic!("{other:?}"),
    }
}

#[test]
fn settings_come_back_after_a_crash_and_after_a_close() {
    let place = Place::new();
    let text = concat!(
        r#"{"durability":"written","conflict":"merge","expiry":5000,"#,
        r#""indexes":[{"name":"a","paths":[{"path":"/a"}]}]}"#
    );
    let settings = Settings::from_json(text).unwrap();
    let repository = place.open_only();
    assert_eq!(repository.settings(&notes()), Settings::default());
    configure(&repository, "notes", text);
    configure(&repository, "caches", VOLATILE);
    drop(repository);
    let repository = place.open_only();
    assert_eq!(repository.settings(&notes()), settings);
    assert_eq!(repository.settings(&named("caches")).durability, Durability::Volatile);
    repository.close().unwrap();
    drop(repository);
    let repository = place.open_only();
    assert_eq!(repository.settings(&notes()), settings);
    configure(&repository, "notes", "{}");
    close_and_verify(&place, repository);
    assert_eq!(place.open_only().settings(&notes()), Settings::default());
}

#[test]
fn what_was_open_when_settings_changed_conflicts() {
    let place = Place::new();
    let repository = place.open_only();
    write(&repository, "a", "1");
    let mut before = repository.begin().unwrap();
    put(&mut before, "b", "1");
    let mut nowhere = repository.begin().unwrap();
    put_in(&mut nowhere, &named("others"), "a", "1");
    configure(&repository, "notes", MERGE);
    configure(&repository, "others", VOLATILE);
    let mut late = nowhere.view();
    late.0 += 1;
    let lost = conflict(before);
    assert_eq!((lost.documents[0].collection.as_str(), lost.competitor), ("_collections", late));
    assert_eq!(lost.documents[0].key.as_str(), "notes");
    assert_eq!(conflict(nowhere).documents[0].key.as_str(), "others");
    let mut reading = repository.begin().unwrap();
    get(&mut reading, "a");
    configure(&repository, "notes", r#"{"conflict":"merge"}"#);
    put(&mut reading, "a", "2");
    must_commit(reading);
}

#[test]
fn replies_mean_what_the_strongest_collection_asks_for() {
    let place = Place::new();
    let repository = place.open_only();
    configure(&repository, "volatiles", VOLATILE);
    configure(&repository, "writtens", r#"{"durability":"written"}"#);
    for (writes, expected) in [
        (&[("volatiles", "a")][..], Durability::Volatile),
        (&[("writtens", "a")], Durability::Written),
        (&[("synceds", "a")], Durability::Synced),
        (&[("volatiles", "b"), ("writtens", "b")], Durability::Written),
        (&[("writtens", "c"), ("synceds", "c"), ("volatiles", "c")], Durability::Synced),
    ] {
        let ran = ran(&repository, writes);
        assert_eq!((ran.durability, ran.committed), (expected, Some(ran.wait_for)), "{writes:?}");
        repository.wait_durable(ran.wait_for).unwrap();
    }
    drop(repository);
    let repository = place.open_only();
    for (name, at, is_there) in [
        ("volatiles", "a", false),
        ("volatiles", "b", false),
        ("volatiles", "c", false),
        ("writtens", "a", true),
        ("writtens", "b", true),
        ("writtens", "c", true),
        ("synceds", "a", true),
        ("synceds", "c", true),
    ] {
        assert_eq!(read_in(&repository, name, at).is_some(), is_there, "{name}/{at}");
    }
    close_and_verify(&place, repository);
}

#[test]
fn numbers_of_volatile_commits_are_never_given_again() {
    let place = Place::new();
    let mut last = CommitNumber(0);
    for round in 0..4 {
        let repository = place.open_only();
        if round == 0 {
            configure(&repository, "volatiles", VOLATILE);
        }
        for i in 0..50 {
            let number = ran(&repository, &[("volatiles", &format!("{i}"))]).wait_for;
            assert!(number > last, "{number} after {last}");
            last = number;
        }
        if round % 2 == 1 {
            last = ran(&repository, &[("notes", "a")]).wait_for;
            repository.wait_durable(last).unwrap();
        }
        if round == 2 {
            repository.close().unwrap();
        }
        drop(repository);
        assert_eq!(verify(place.path()).unwrap().findings, Vec::<String>::new());
    }
    assert_eq!(read(&place.open_only(), "a").as_deref(), Some("1"));
}

#[test]
fn a_log_without_changes_is_let_go() {
    let mut bench = Bench::new();
    configure(bench.repository(), "volatiles", VOLATILE);
    for _ in 0..12 {
        ran(bench.repository(), &[("volatiles", "a")]);
        bench.mark();
        bench.checkpoint().unwrap();
        while bench.prepare_segment() {}
        bench.crash(true);
    }
    let segments = bench.place.segments().len();
    assert!(segments <= 8, "{segments} segments are kept, with nothing in them");
    verified(&bench.stop());
}

#[test]
fn a_collection_is_volatile_or_not_once_and_for_all() {
    let place = Place::new();
    let repository = place.open_only();
    configure(&repository, "volatiles", VOLATILE);
    write(&repository, "a", "1");
    for (name, settings) in
        [("volatiles", "{}"), ("volatiles", r#"{"durability":"written"}"#), ("notes", VOLATILE)]
    {
        let settings = Settings::from_json(settings).unwrap();
        let refused = repository.configure(&named(name), &settings).unwrap_err().to_string();
        assert!(refused.contains("once and for all"), "{refused}");
    }
    configure(&repository, "volatiles", r#"{"durability":"volatile","expiry":1000}"#);
    configure(&repository, "notes", r#"{"durability":"written"}"#);
    let of_collections = repository.configure(&named("_collections"), &Settings::default());
    assert!(of_collections.is_err());
}

#[test]
fn volatile_documents_fill_memory_and_leave_it_when_deleted() {
    let place = Place { memory_bytes: 32 << 20, ..Place::new() };
    let repository = place.open_only();
    configure(&repository, "volatiles", VOLATILE);
    let body = format!("\"{}\"", "x".repeat(100_000));
    let put = |at: usize| {
        repository.run(|transaction| {
            put_in(transaction, &named("volatiles"), &at.to_string(), &body);
            Ok::<_, Infallible>(())
        })
    };
    let mut kept = 0;
    wait_until("memory is full", || match put(kept) {
        Ok(_) => {
            kept += 1;
            false
        }
        Err(RunError::Commit(CommitError::Overloaded(_))) => true,
        Err(other) => panic!("{other:?}"),
    });
    // The steward goes on; it must not drop what is nowhere else.
    let rounds = repository.stats().checkpoint;
    wait_until("a checkpoint is tried", || repository.stats().checkpoint >= rounds);
    for at in 0..kept {
        let found = read_in(&repository, "volatiles", &at.to_string());
        assert_eq!(found.as_deref(), Some(&body[..]), "{at} of {kept}");
    }
    for at in 0..kept / 2 {
        let deleted = repository
            .run(|transaction| transaction.delete(&named("volatiles"), &key(&at.to_string())));
        deleted.unwrap();
    }
    wait_until("there is room again", || put(kept).is_ok());
    assert_eq!(read_in(&repository, "volatiles", "0"), None);
    let last = read_in(&repository, "volatiles", &(kept - 1).to_string());
    assert_eq!(last.as_deref(), Some(&body[..]));
}

#[test]
fn volatile_documents_that_expire_make_room() {
    let place = Place { memory_bytes: 32 << 20, ..Place::new() };
    let repository = place.open_only();
    configure(&repository, "volatiles", r#"{"durability":"volatile","expiry":1000}"#);
    let body = format!("\"{}\"", "x".repeat(100_000));
    let put = |at: usize| {
        repository.run(|transaction| {
            put_in(transaction, &named("volatiles"), &at.to_string(), &body);
            Ok::<_, Infallible>(())
        })
    };
    let mut at = 0;
    wait_until("memory is full", || {
        at += 1;
        put(at).is_err()
    });
    place.now.fetch_add(1001, Ordering::Relaxed);
    wait_until("there is room again", || put(0).is_ok());
    wait_until("all are gone", || repository.stats().reaped >= at as u64 - 1);
}

/// Both read `base`; the first commits `theirs`, the second `mine`.
fn merge_both(
    bench: &Bench,
    base: &str,
    theirs: Option<&str>,
    mine: &str,
) -> Result<Option<String>, Conflict> {
    let repository = bench.repository();
    let mut first = repository.begin().unwrap();
    put(&mut first, "a", base);
    must_commit(first);
    let mut second = repository.begin().unwrap();
    get(&mut second, "a");
    put(&mut second, "a", mine);
    let mut first = repository.begin().unwrap();
    match theirs {
        Some(theirs) => put(&mut first, "a", theirs),
        None => first.delete(&notes(), &key("a")).unwrap(),
    }
    must_commit(first);
    match second.commit().unwrap() {
        Outcome::Committed(_) => Ok(read(repository, "a")),
        Outcome::Conflict(conflict) => Err(conflict),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_same_merge_operation_by_two_counts_twice() {
    let bench = Bench::new();
    // The unique index turns additions into puts; no row of it says so, since there is no name.
    let settings = r#"{"conflict":"merge","indexes":[
        {"name":"two","unique":true,"paths":[{"path":"/name"},{"path":"/n"}]}]}"#;
    let repository = bench.repository();
    configure(repository, "notes", settings);
    let mut transaction = repository.begin().unwrap();
    put(&mut transaction, "a", r#"{"n":5}"#);
    must_commit(transaction);
    let add = || Merge::Add { path: "/n".to_owned(), delta: 1.0 };
    let (mut one, mut two) = (repository.begin().unwrap(), repository.begin().unwrap());
    one.merge(&notes(), &key("a"), add()).unwrap();
    two.merge(&notes(), &key("a"), add()).unwrap();
    must_commit(one);
    conflict(two);
    assert_eq!(read(repository, "a").as_deref(), Some(r#"{"n":6}"#));
}

#[test]
fn changes_at_different_places_are_merged_and_others_conflict() {
    let mut bench = Bench::new();
    configure(bench.repository(), "notes", MERGE);
    let base = r#"{"a":1,"b":{"c":1,"d":1}}"#;
    let merged = merge_both(
        &bench,
        base,
        Some(r#"{"a":1,"b":{"c":2,"d":1},"e":5}"#),
        r#"{"a":9,"b":{"c":1}}"#,
    );
    assert_eq!(merged.unwrap().as_deref(), Some(r#"{"a":9,"b":{"c":2},"e":5}"#));
    bench.crash(true);
    let after = read(bench.repository(), "a");
    assert_eq!(after.as_deref(), Some(r#"{"a":9,"b":{"c":2},"e":5}"#), "replay gives the same");
    let both = |theirs, mine| merge_both(&bench, base, theirs, mine).unwrap_err().documents;
    let lost = both(Some(r#"{"a":2,"b":{"c":1,"d":1}}"#), r#"{"a":3,"b":{"c":1,"d":1}}"#);
    assert_eq!((lost[0].key.as_str(), &lost[0].paths[..]), ("a", &["/a".to_owned()][..]));
    let lost = both(Some(r#"{"a":1,"b":7}"#), r#"{"a":1,"b":{"c":1,"d":2}}"#);
    assert!(lost[0].paths[0].starts_with("/b"), "{:?}", lost[0].paths);
    assert_eq!(both(None, r#"{"a":2}"#).len(), 1, "deleted meanwhile");
    bench.checkpoint().unwrap();
    bench.evict();
    let merged = merge_both(&bench, base, Some(r#"{"a":2,"b":{}}"#), base);
    assert_eq!(merged.unwrap().as_deref(), Some(r#"{"a":2,"b":{}}"#), "mine changes nothing");
    verified(&bench.stop());
}

#[test]
fn what_is_pinned_is_not_merged() {
    let bench = Bench::new();
    configure(bench.repository(), "notes", MERGE);
    let repository = bench.repository();
    let stage = |body: &str, is_pinned: bool| {
        let mut transaction = repository.begin().unwrap();
        get(&mut transaction, "a");
        put(&mut transaction, "a", body);
        if is_pinned {
            transaction.pin(&named("notes"), &key("a"));
        }
        transaction
    };
    must_commit(stage(r#"{"x":1}"#, false));
    let (merged, pinned) = (stage(r#"{"x":1,"y":1}"#, false), stage(r#"{"x":1,"z":1}"#, true));
    must_commit(stage(r#"{"x":2}"#, false));
    must_commit(merged);
    assert_eq!(conflict(pinned).documents[0].key.as_str(), "a");
    assert_eq!(read(repository, "a").as_deref(), Some(r#"{"x":2,"y":1}"#));
}

#[test]
fn overwriting_may_want_a_condition() {
    let place = Place::new();
    let repository = place.open_only();
    let asked = |name: &str| repository.begin().unwrap().overwrite(&named(name));
    assert_eq!(asked("notes"), Overwrite::Free);
    configure(&repository, "notes", r#"{"overwrite":"conditional"}"#);
    assert_eq!(asked("notes"), Overwrite::Conditional);
    assert_eq!(asked("others"), Overwrite::Free);
}

#[test]
fn merged_changes_leave_other_reads_to_be_checked() {
    let bench = Bench::new();
    configure(bench.repository(), "notes", MERGE);
    let repository = bench.repository();
    let stage = |at: &str, body: &str| {
        let mut transaction = repository.begin().unwrap();
        put(&mut transaction, at, body);
        must_commit(transaction);
    };
    stage("a", r#"{"x":1}"#);
    stage("b", r#"{"x":1}"#);
    let mut second = repository.begin().unwrap();
    get(&mut second, "a");
    get(&mut second, "b");
    put(&mut second, "a", r#"{"x":1,"y":1}"#);
    stage("a", r#"{"x":2}"#);
    stage("b", r#"{"x":2}"#);
    assert_eq!(conflict(second).documents[0].key.as_str(), "b", "it was read only");
    let mut deleting = repository.begin().unwrap();
    get(&mut deleting, "a");
    deleting.delete(&notes(), &key("a")).unwrap();
    stage("a", r#"{"x":3}"#);
    conflict(deleting);
}

/// Three transactions end up in one document, whatever their order.
#[test]
fn many_merge_into_one_document() {
    let mut bench = Bench::new();
    configure(bench.repository(), "notes", MERGE);
    let mut first = bench.repository().begin().unwrap();
    put(&mut first, "a", "{}");
    must_commit(first);
    let open: Vec<Transaction> = (0..10)
        .map(|i| {
            let mut transaction = bench.repository().begin().unwrap();
            get(&mut transaction, "a");
            put(&mut transaction, "a", &format!(r#"{{"k{i}":{i}}}"#));
            transaction
        })
        .collect();
    open.into_iter().for_each(|transaction| assert!(must_commit(transaction).0 > 0));
    let all: Vec<String> = (0..10).map(|i| format!(r#""k{i}":{i}"#)).collect();
    let expected = format!("{{{}}}", all.join(","));
    assert_eq!(read(bench.repository(), "a").as_deref(), Some(&expected[..]));
    bench.crash(true);
    assert_eq!(read(bench.repository(), "a").as_deref(), Some(&expected[..]));
}

/// What has expired was not there, so there is nothing to merge with.
#[test]
fn nothing_is_merged_over_an_expired_document() {
    let bench = Bench::new();
    configure(bench.repository(), "notes", MERGE);
    let repository = bench.repository();
    let mut brief = repository.begin().unwrap();
    let (body, soon) = (Bytes::from(r#"{"a":1,"b":2}"#), Some(Timestamp(bench.now() + 5)));
    brief.put(&notes(), &key("a"), MediaType::Json, body, soon).unwrap();
    must_commit(brief);
    bench.move_clock(5);
    let mut both = [r#"{"a":1}"#, r#"{"a":1,"b":2,"c":3}"#].map(|body| {
        let mut transaction = repository.begin().unwrap();
        assert_eq!(get(&mut transaction, "a"), None);
        put(&mut transaction, "a", body);
        transaction
    });
    both.reverse();
    let [second, first] = both;
    must_commit(first);
    conflict(second);
    // The other way round: what was there expires before the second commits.
    let put_brief = |body: &'static str, at: u64| {
        let mut transaction = repository.begin().unwrap();
        get(&mut transaction, "b");
        let (body, soon) = (Bytes::from(body), Some(Timestamp(at)));
        transaction.put(&notes(), &key("b"), MediaType::Json, body, soon).unwrap();
        transaction
    };
    must_commit(put_brief(r#"{"a":1}"#, bench.now() + 5));
    let mut late = repository.begin().unwrap();
    get(&mut late, "b");
    put(&mut late, "b", r#"{"a":1,"b":2}"#);
    must_commit(put_brief(r#"{"a":1,"c":2}"#, bench.now() + 5));
    bench.move_clock(5);
    let mut other = repository.begin().unwrap();
    put(&mut other, "clock", "1");
    must_commit(other);
    conflict(late);
}

#[test]
fn documents_expire_as_their_collection_says() {
    let mut bench = Bench::new();
    configure(bench.repository(), "notes", r#"{"expiry":100}"#);
    let start = bench.now();
    let repository = bench.repository();
    let mut transaction = repository.begin().unwrap();
    put(&mut transaction, "put", "1");
    let own = Some(Timestamp(start + 7));
    transaction.put(&notes(), &key("own"), MediaType::Json, Bytes::from("1"), own).unwrap();
    let add = || Merge::Add { path: String::new(), delta: 1.0 };
    transaction.merge(&notes(), &key("merged"), add()).unwrap();
    let staged = transaction.get(&notes(), &key("merged")).unwrap().unwrap();
    assert_eq!(staged.expires, Some(Timestamp(start + 100)));
    must_commit(transaction);
    let expires = |bench: &Bench, at: &str| {
        let document = bench.repository().begin().unwrap().get(&notes(), &key(at)).unwrap();
        document.and_then(|document| document.expires).map(|at| at.0 - start)
    };
    assert_eq!(expires(&bench, "put"), Some(100));
    assert_eq!(expires(&bench, "own"), Some(7));
    assert_eq!(expires(&bench, "merged"), Some(100), "what a merge operation makes, too");
    bench.move_clock(50);
    let mut again = bench.repository().begin().unwrap();
    put(&mut again, "put", "2");
    again.merge(&notes(), &key("merged"), add()).unwrap();
    must_commit(again);
    assert_eq!(expires(&bench, "put"), Some(150), "a put begins anew");
    assert_eq!(expires(&bench, "merged"), Some(100), "a change does not");
    bench.crash(true);
    assert_eq!(expires(&bench, "put"), Some(150));
    assert_eq!(expires(&bench, "merged"), Some(100));
    bench.move_clock(50);
    let mut unique = bench.repository().begin().unwrap();
    assert_eq!(get(&mut unique, "merged"), None);
    drop(unique);
    let indexed = r#"{"expiry":100,"indexes":
        [{"name":"n","paths":[{"path":""}],"unique":true}]}"#;
    configure(bench.repository(), "notes", indexed);
    let mut unique = bench.repository().begin().unwrap();
    unique.merge(&notes(), &key("other"), add()).unwrap();
    must_commit(unique);
    assert_eq!(expires(&bench, "other"), Some(200), "where it counts as a put");
    verified(&bench.stop());
}

#[test]
fn collections_and_indexes_are_bounded() {
    let bench = Bench::with_memory(1 << 30);
    let repository = bench.repository();
    let put = |names: &[String]| {
        let mut transaction = repository.begin().unwrap();
        for name in names {
            let body = Bytes::from("1");
            transaction.put(&named(name), &key("a"), MediaType::Json, body, None).unwrap();
        }
        transaction.commit()
    };
    let names: Vec<String> = (0..COLLECTIONS_MAX).map(|i| format!("c{i}")).collect();
    let is_refused =
        |end: Result<Outcome, CommitError>| matches!(end, Err(CommitError::TooManyCollections));
    assert!(is_refused(put(&names)), "that of all collections is one, too");
    assert!(put(&names[..COLLECTIONS_MAX - 2]).is_ok());
    bench.write_log();
    let two =
        r#"{"indexes":[{"name":"i","paths":[{"path":""}]},{"name":"j","paths":[{"path":""}]}]}"#;
    let two = Settings::from_json(two).unwrap();
    let beyond = repository.configure(&named("c0"), &two);
    let is_refused_too =
        matches!(beyond, Err(ConfigureError::Commit(CommitError::TooManyCollections)));
    assert!(is_refused_too, "{beyond:?}");
    assert!(put(&["last".to_owned()]).is_ok());
    assert!(is_refused(put(&["beyond".to_owned()])));
    assert!(put(&names[..10]).is_ok(), "those that are there can be written");
}

/// They are all planned before the first is made.
#[test]
fn collections_that_one_transaction_makes_have_ids_of_their_own() {
    let bench = Bench::new();
    let repository = bench.repository();
    let indexed = Settings::from_json(r#"{"indexes":[{"name":"by_n","paths":[{"path":"/n"}]}]}"#);
    let indexed = indexed.unwrap();
    let mut transaction = repository.begin().unwrap();
    let put = |transaction: &mut Transaction, name: &str| {
        let body = Bytes::from(format!("{{\"n\":\"{name}\"}}"));
        transaction.put(&named(name), &key("a"), MediaType::Json, body, None).unwrap();
    };
    put(&mut transaction, "first");
    for name in ["second", "third"] {
        transaction.configure(&named(name), &indexed).unwrap();
    }
    put(&mut transaction, "fourth");
    must_commit(transaction);
    let mut transaction = repository.begin().unwrap();
    for name in ["second", "third"] {
        put(&mut transaction, name);
    }
    must_commit(transaction);
    bench.checkpoint().unwrap();
    bench.evict();
    for name in ["first", "second", "third", "fourth"] {
        let read = repository.begin().unwrap().get(&named(name), &key("a")).unwrap().unwrap();
        assert_eq!(text(&read), format!("{{\"n\":\"{name}\"}}"));
    }
    harness::indexes::build(&bench);
    harness::verified(&bench.stop());
}
