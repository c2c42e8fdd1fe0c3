//! Collections that are emptied and dropped: gone in one commit, for every view that comes after
//! and for none before, and nothing left of them in the end.

use crate::harness::bench::Bench;
use crate::harness::indexes::{BY_N, UNIQUE_N, build, configured, find_all, must_commit, stage};
use crate::harness::{
    self, Place, close_and_verify, commit, configure, get, key, named, notes, put, read, verified,
    wait_until, write,
};
use bytes::Bytes;
use repository::limits::{COLLECTIONS_MAX, REAP_DOCUMENTS_MAX};
use repository::{
    CommitError, ConfigureError, Direction, Ending, IndexRange, Isolation, Kept, KeyRange,
    MediaType, Merge, Outcome, Repository, StageError, Timestamp, Transaction, verify,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use Ending::{Drop, Empty};

fn fill(repository: &Repository, count: usize) {
    for from in (0..count).step_by(2_000) {
        let mut transaction = repository.begin().unwrap();
        for i in from..count.min(from + 2_000) {
            put(&mut transaction, &format!("k{i:06}"), &format!("{{\"n\":{i}}}"));
        }
        must_commit(transaction);
    }
}

fn count(transaction: &mut Transaction) -> usize {
    transaction.range(&notes(), &KeyRange::all(), Direction::Ascending, 10_000).unwrap().len()
}

fn end(repository: &Repository, ending: Ending) {
    assert!(repository.end(&notes(), ending).unwrap().is_some());
}

/// Lets the background work get to its end.
fn clear(bench: &Bench) {
    for _ in 0..1_000 {
        if bench.repository().stats().ending == 0 {
            return;
        }
        bench.reap();
    }
    panic!("what has ended is never cleared");
}

/// The documents of each collection that are on disk, in a repository without a mistake.
fn on_disk(place: &Place) -> BTreeMap<String, u64> {
    let report = verify(place.path()).unwrap();
    assert_eq!(report.findings, Vec::<String>::new());
    report.documents
}

#[test]
fn an_emptied_collection_keeps_its_settings_and_nothing_else() {
    let bench = configured(UNIQUE_N);
    let repository = bench.repository();
    fill(repository, 1_200);
    bench.checkpoint().unwrap();
    end(repository, Empty);
    assert_eq!(count(&mut repository.begin().unwrap()), 0);
    assert_eq!(find_all(repository, "by_n"), "", "the index is ready at once");
    // What was unique is free, and a key may be used again, before anything is cleared.
    stage(repository, "k000001", r#"{"n":7}"#);
    assert_eq!(find_all(repository, "by_n"), "k000001");
    assert!(repository.settings(&notes()).to_json().contains("by_n"));
    clear(&bench);
    assert_eq!(find_all(repository, "by_n"), "k000001");
    bench.checkpoint().unwrap();
    assert_eq!(verified(&bench.stop()), 1);
}

#[test]
fn a_dropped_collection_is_gone_and_its_name_is_free() {
    let bench = configured(BY_N);
    let repository = bench.repository();
    fill(repository, 700);
    end(repository, Drop);
    assert_eq!(repository.settings(&notes()).to_json(), "{}");
    let listed = repository.snapshot().unwrap().collections().unwrap();
    assert!(listed.iter().all(|collection| collection.name != notes()), "{listed:?}");
    let mut view = repository.begin().unwrap();
    assert!(view.collection(&notes()).unwrap().is_none());
    assert!(view.collections(None, 10).unwrap().is_empty(), "nor does the list have it");
    assert_eq!((count(&mut view), view.indexes(&notes()).unwrap()), (0, None));
    drop(view);
    assert!(repository.end(&notes(), Drop).unwrap().is_none(), "there is none any more");
    stage(repository, "new", "1");
    clear(&bench);
    assert_eq!(read(repository, "new").as_deref(), Some("1"));
    let place = bench.stop();
    // Two of the catalog: the collection, and the last id that was given.
    let expected = [("_collections", 2), ("notes", 1)].map(|(name, n)| (name.to_owned(), n));
    assert_eq!(on_disk(&place), BTreeMap::from(expected));
}

#[test]
fn views_from_before_see_what_was_there_to_the_end() {
    for ending in [Empty, Drop] {
        let bench = configured(BY_N);
        let repository = bench.repository();
        fill(repository, 600);
        bench.checkpoint().unwrap();
        bench.evict();
        let (mut seen, mut unseen) = (repository.begin().unwrap(), repository.begin().unwrap());
        assert_eq!(count(&mut seen), 600);
        let peeking = repository.begin().unwrap();
        end(repository, ending);
        stage(repository, "k000001", "\"new\"");
        clear(&bench);
        bench.checkpoint().unwrap();
        bench.compact().unwrap();
        bench.evict();
        bench.reap();
        for view in [&mut seen, &mut unseen] {
            assert_eq!(count(view), 600, "{ending:?}");
            assert_eq!(get(view, "k000001").as_deref(), Some("{\"n\":1}"));
            let all = (IndexRange::all(), Direction::Ascending);
            let found = view.index_range(&notes(), "by_n", &all.0, all.1, 1_000).unwrap();
            assert_eq!(found.len(), 600);
        }
        let peeked = peeking.peek(&notes(), &key("k000002")).unwrap();
        assert_eq!(&peeked.unwrap().body[..], b"{\"n\":2}");
        drop((seen, unseen, peeking));
        assert_eq!(count(&mut repository.begin().unwrap()), 1);
        assert_eq!(verified(&bench.stop()), 1);
    }
}

/// What a transaction does between its view and the end of the collection.
type Body = fn(&mut Transaction);

#[test]
fn whoever_read_or_wrote_before_conflicts() {
    let bodies: [(&str, Body); 6] = [
        ("a write", |t| put(t, "a", "2")),
        ("a new document", |t| put(t, "z", "2")),
        ("a merge operation", |t| {
            t.merge(&notes(), &key("n"), Merge::Add { path: String::new(), delta: 1.0 }).unwrap();
        }),
        ("a read", |t| {
            get(t, "a");
            t.put(&named("other"), &key("a"), MediaType::Json, Bytes::from("1"), None).unwrap();
        }),
        ("a range", |t| {
            count(t);
            t.put(&named("other"), &key("a"), MediaType::Json, Bytes::from("1"), None).unwrap();
        }),
        ("an index", |t| {
            let all = (IndexRange::all(), Direction::Ascending);
            t.index_range(&notes(), "by_n", &all.0, all.1, 10).unwrap();
            t.put(&named("other"), &key("a"), MediaType::Json, Bytes::from("1"), None).unwrap();
        }),
    ];
    for (ending, again) in [(Empty, false), (Empty, true), (Drop, false), (Drop, true)] {
        for (what, body) in bodies {
            let bench = configured(BY_N);
            let repository = bench.repository();
            stage(repository, "a", r#"{"n":1}"#);
            stage(repository, "n", "1");
            let mut transaction = repository.begin().unwrap();
            body(&mut transaction);
            end(repository, ending);
            if again {
                stage(repository, "b", "3");
                clear(&bench);
            }
            let outcome = transaction.commit().unwrap();
            let Outcome::Conflict(conflict) = outcome else {
                panic!("{what}, {ending:?}: {outcome:?}");
            };
            assert_eq!(conflict.documents[0].key, key("notes"), "{what}");
        }
    }
}

#[test]
fn what_was_not_read_there_does_not_conflict() {
    let bench = configured("{}");
    let repository = bench.repository();
    stage(repository, "a", "1");
    let mut transaction = repository.begin().unwrap();
    assert_eq!(get(&mut transaction, "nothing"), None);
    let other = (named("other"), key("a"));
    transaction.put(&other.0, &other.1, MediaType::Json, Bytes::from("1"), None).unwrap();
    end(repository, Drop);
    must_commit(transaction);
}

#[test]
fn under_snapshot_isolation_writes_conflict_too() {
    let bench = configured("{}");
    let repository = bench.repository();
    stage(repository, "a", "1");
    let mut transaction = repository.begin().unwrap();
    transaction.set_isolation(Isolation::Snapshot);
    put(&mut transaction, "z", "2");
    end(repository, Empty);
    assert!(matches!(transaction.commit().unwrap(), Outcome::Conflict(_)));
}

#[test]
fn merging_collections_do_not_merge_with_what_has_ended() {
    let bench = configured(r#"{"conflict":"merge"}"#);
    let repository = bench.repository();
    stage(repository, "a", r#"{"x":1,"y":1}"#);
    let mut transaction = repository.begin().unwrap();
    get(&mut transaction, "a");
    put(&mut transaction, "a", r#"{"x":2,"y":1}"#);
    end(repository, Empty);
    assert!(matches!(transaction.commit().unwrap(), Outcome::Conflict(_)));
}

#[test]
fn an_end_is_alone_with_its_collection() {
    let bench = configured("{}");
    let repository = bench.repository();
    stage(repository, "a", "1");
    let mut transaction = repository.begin().unwrap();
    put(&mut transaction, "b", "1");
    let refused = transaction.end(&notes(), Drop);
    assert!(matches!(refused, Err(ConfigureError::Unfit { .. })), "{refused:?}");
    let mut transaction = repository.begin().unwrap();
    assert!(transaction.end(&notes(), Drop).unwrap());
    assert!(transaction.end(&notes(), Empty).is_err());
    assert!(transaction.configure(&notes(), &repository.settings(&notes())).is_err());
    let body = Bytes::from("1");
    let refused = transaction.put(&notes(), &key("b"), MediaType::Json, body.clone(), None);
    assert!(matches!(refused, Err(StageError::Ended { .. })), "{refused:?}");
    assert_eq!(get(&mut transaction, "a").as_deref(), Some("1"), "it is there until the commit");
    transaction.put(&named("other"), &key("b"), MediaType::Json, body, None).unwrap();
    must_commit(transaction);
    assert_eq!(read(repository, "a"), None);
    for name in ["_collections", "_answers"] {
        let refused = repository.end(&named(name), Drop);
        assert!(matches!(refused, Err(ConfigureError::Unfit { .. })), "{refused:?}");
    }
}

#[test]
fn what_expires_goes_with_its_rows_and_is_shown_to_nobody() {
    let bench = configured(BY_N);
    let repository = bench.repository();
    let soon = bench.now() + 1_000;
    let mut transaction = repository.begin().unwrap();
    for i in 0..20 {
        let at = if i % 2 == 0 { soon } else { soon + 1_000_000 };
        let body = Bytes::from(format!("{{\"n\":{i}}}"));
        let at = Some(Timestamp(at));
        transaction.put(&notes(), &key(&i.to_string()), MediaType::Json, body, at).unwrap();
    }
    must_commit(transaction);
    repository.keep_expired(Kept::of([notes()]));
    end(repository, Empty);
    bench.move_clock(2_000);
    assert_eq!(repository.expired(None, 100).unwrap().documents, []);
    clear(&bench);
    assert_eq!(repository.stats().reaped, 0, "it went as a whole");
    assert_eq!(verified(&bench.stop()), 0);
}

#[test]
fn an_index_that_is_being_built_or_cleared_goes_along() {
    let bench = configured(BY_N);
    let repository = bench.repository();
    fill(repository, 900);
    // One index to clear, one to build, and neither is finished.
    configure(repository, "notes", r#"{"indexes":[{"name":"late","paths":[{"path":"/n"}]}]}"#);
    end(repository, Drop);
    clear(&bench);
    stage(repository, "a", "1");
    configure(repository, "notes", BY_N);
    build(&bench);
    assert_eq!(verified(&bench.stop()), 1);
}

#[test]
fn openings_in_between_go_on_with_it() {
    for ending in [Empty, Drop] {
        let mut bench = configured(BY_N);
        // More than one round removes.
        fill(bench.repository(), 64 * REAP_DOCUMENTS_MAX + 900);
        bench.checkpoint().unwrap();
        end(bench.repository(), ending);
        stage(bench.repository(), "new", "1");
        for checkpoint in [false, true, false] {
            bench.reap();
            if checkpoint {
                bench.checkpoint().unwrap();
            }
            bench.crash(true);
            assert_eq!(count(&mut bench.repository().begin().unwrap()), 1);
        }
        clear(&bench);
        let place = bench.stop();
        assert_eq!(verified(&place), 1);
    }
}

#[test]
fn no_id_is_given_twice() {
    let mut bench = configured("{}");
    for i in 0..6 {
        stage(bench.repository(), "a", &i.to_string());
        end(bench.repository(), if i % 2 == 0 { Drop } else { Empty });
        clear(&bench);
        bench.checkpoint().unwrap();
        bench.crash(true);
        assert_eq!(read(bench.repository(), "a"), None, "an id came back with its documents");
    }
    assert_eq!(verified(&bench.stop()), 0);
}

#[test]
fn volatile_collections_end_too() {
    let mut bench = configured(r#"{"durability":"volatile"}"#);
    let repository = bench.repository();
    fill(repository, 1_100);
    end(repository, Empty);
    assert_eq!(count(&mut repository.begin().unwrap()), 0);
    stage(repository, "a", "1");
    clear(&bench);
    assert_eq!(count(&mut repository.begin().unwrap()), 1);
    end(repository, Drop);
    bench.crash(true);
    clear(&bench);
    assert_eq!(verified(&bench.stop()), 0);
}

#[test]
fn collections_that_come_and_go_do_not_use_up_the_bound() {
    let place = Place::new();
    let repository = place.open_only();
    for i in 0..2 * COLLECTIONS_MAX / 100 {
        for j in 0..100 {
            let name = named(&format!("c{j}"));
            let mut transaction = repository.begin().unwrap();
            transaction.put(&name, &key("a"), MediaType::Json, Bytes::from("1"), None).unwrap();
            match transaction.commit() {
                Ok(outcome) => assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}"),
                // What has ended counts until it has left memory, too.
                Err(CommitError::TooManyCollections) => repository.checkpoint().unwrap(),
                Err(error) => panic!("{error}"),
            }
            repository.end(&name, Drop).unwrap();
        }
        if i % 20 == 19 {
            wait_until("what has ended is cleared", || repository.stats().ending == 0);
            repository.checkpoint().unwrap();
        }
    }
    close_and_verify(&place, repository);
}

/// Others commit between the commits that clear a large collection: theirs have numbers in between.
#[test]
fn others_commit_while_a_large_collection_is_cleared() {
    let place = Place::new();
    let repository = place.open_only();
    let size = 40 * REAP_DOCUMENTS_MAX;
    fill(&repository, size);
    let is_cleared = AtomicBool::new(false);
    let other = named("other");
    end(&repository, Empty);
    let between = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut numbers = Vec::new();
            while !is_cleared.load(Ordering::Relaxed) {
                let mut transaction = repository.begin().unwrap();
                let body = Bytes::from("1");
                transaction.put(&other, &key("a"), MediaType::Json, body, None).unwrap();
                numbers.push(commit(&repository, transaction));
            }
            numbers
        });
        let _set = harness::SetAtEnd(&is_cleared);
        wait_until("it is cleared", || repository.stats().ending == 0);
        is_cleared.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    let last = write(&repository, "a", "1");
    let others = last - between.len() as u64;
    assert!(others >= (size / REAP_DOCUMENTS_MAX) as u64, "it took many commits");
    assert!(!between.is_empty(), "and nobody waited for the last of them");
    assert_eq!(close_and_verify(&place, repository), 1);
}
