//! Documents that have expired and are kept: nobody sees them, the reaper leaves them alone, and
//! whoever sees to them removes them.

use crate::harness::bench::Bench;
use crate::harness::indexes::UNIQUE_N;
use crate::harness::{Place, configure, key, named, wait_until};
use bytes::Bytes;
use repository::{
    ExpiredPage, Kept, MediaType, Outcome, Repository, Timestamp, Transaction, verify,
};
use std::sync::atomic::Ordering;

fn put(repository: &Repository, name: &str, at: &str, expires: u64) {
    let mut transaction = repository.begin().unwrap();
    stage(&mut transaction, (name, at), Some(expires));
    commit(transaction);
}

fn stage(transaction: &mut Transaction, (name, at): (&str, &str), expires: Option<u64>) {
    let (body, expires) = (Bytes::from(r#"{"n":1}"#), expires.map(Timestamp));
    transaction.put(&named(name), &key(at), MediaType::Json, body, expires).unwrap();
}

fn commit(transaction: Transaction) {
    assert!(matches!(transaction.commit().unwrap(), Outcome::Committed(_)));
}

fn keeping(name: &str) -> Kept {
    Kept::of([named(name)])
}

/// The keys of what waits, read in pages that look at so many.
fn waiting(repository: &Repository, rows_max: usize) -> Vec<String> {
    let mut keys = Vec::new();
    let mut next = None;
    loop {
        let page: ExpiredPage = repository.expired(next.as_ref(), rows_max).unwrap();
        keys.extend(page.documents.iter().map(|e| format!("{} {}", e.collection, e.key)));
        next = page.next;
        if next.is_none() {
            return keys;
        }
    }
}

/// Checks everything that is on disk; gives the documents of `orders`.
fn left(place: &Place) -> u64 {
    let report = verify(place.path()).unwrap();
    assert_eq!(report.findings, Vec::<String>::new());
    report.documents.get("orders").copied().unwrap_or_default()
}

/// Removes a document as whoever sees to it does; whether it was there.
fn see_to(repository: &Repository, name: &str, at: &str) -> bool {
    let mut transaction = repository.begin().unwrap();
    let found = transaction.expired(&named(name), &key(at)).unwrap();
    if found.is_some() {
        transaction.delete(&named(name), &key(at)).unwrap();
        commit(transaction);
    }
    found.is_some()
}

#[test]
fn what_is_kept_stays_unseen_until_somebody_has_seen_to_it() {
    let bench = Bench::new();
    let repository = bench.repository();
    repository.keep_expired(keeping("orders"));
    let end = bench.now() + 10;
    for at in ["a", "b", "c"] {
        put(repository, "orders", at, end);
        put(repository, "notes", at, end);
    }
    bench.checkpoint().unwrap();
    bench.evict();
    put(repository, "orders", "d", end + 5);
    put(repository, "orders", "later", end + 1_000);
    assert_eq!(waiting(repository, 100), Vec::<String>::new());
    bench.move_clock(20);
    bench.reap();
    assert_eq!(repository.stats().reaped, 3, "those of others");
    let all = ["orders a", "orders b", "orders c", "orders d"];
    for rows_max in [1, 2, 100] {
        assert_eq!(waiting(repository, rows_max), all, "{rows_max}");
    }
    let mut reader = repository.begin().unwrap();
    assert_eq!(reader.get(&named("orders"), &key("a")).unwrap(), None);
    assert!(reader.expired(&named("orders"), &key("a")).unwrap().is_some());
    assert!(reader.expired(&named("orders"), &key("later")).unwrap().is_none());
    assert!(reader.expired(&named("orders"), &key("absent")).unwrap().is_none());
    drop(reader);
    assert!(see_to(repository, "orders", "a") && see_to(repository, "orders", "d"));
    assert!(!see_to(repository, "orders", "a"));
    bench.reap();
    assert_eq!(waiting(repository, 100), ["orders b", "orders c"]);
    assert_eq!(left(&bench.stop()), 3);
}

#[test]
fn it_survives_and_goes_when_it_is_kept_no_longer() {
    let mut bench = Bench::new();
    bench.repository().keep_expired(keeping("orders"));
    put(bench.repository(), "orders", "a", bench.now() + 10);
    bench.checkpoint().unwrap();
    put(bench.repository(), "orders", "b", bench.now() + 10);
    bench.move_clock(20);
    bench.reap();
    bench.crash(true);
    bench.repository().keep_expired(Kept::Everything);
    bench.reap();
    assert_eq!(waiting(bench.repository(), 100), ["orders a", "orders b"]);
    bench.repository().keep_expired(keeping("others"));
    bench.reap();
    assert_eq!(bench.repository().stats().reaped, 2, "the reaper had passed them");
    assert_eq!(waiting(bench.repository(), 100), Vec::<String>::new());
    assert_eq!(left(&bench.stop()), 0);
}

#[test]
fn a_repository_is_opened_keeping() {
    let place = Place::new();
    let repository = place.open_only();
    let end = place.now.load(Ordering::Relaxed) + 10;
    put(&repository, "orders", "a", end);
    put(&repository, "notes", "a", end);
    drop(repository);
    place.now.store(end + 1, Ordering::Relaxed);
    let (repository, _) = Repository::open_keeping(place.options(), keeping("orders")).unwrap();
    wait_until("the other goes", || repository.stats().reaped == 1);
    assert_eq!(waiting(&repository, 100), ["orders a"]);
    repository.close().unwrap();
    drop(repository);
    assert_eq!(left(&place), 1);
}

/// Whoever sees to it reads it, so nobody can have written it anew meanwhile.
#[test]
fn who_writes_it_anew_and_who_sees_to_it_conflict() {
    let bench = Bench::new();
    let repository = bench.repository();
    repository.keep_expired(keeping("orders"));
    put(repository, "orders", "a", bench.now() + 10);
    bench.move_clock(11);
    let mut first = repository.begin().unwrap();
    assert!(first.expired(&named("orders"), &key("a")).unwrap().is_some());
    first.delete(&named("orders"), &key("a")).unwrap();
    let mut second = repository.begin().unwrap();
    assert_eq!(second.get(&named("orders"), &key("a")).unwrap(), None);
    stage(&mut second, ("orders", "a"), None);
    commit(second);
    assert!(matches!(first.commit().unwrap(), Outcome::Conflict(_)));
    let mut third = repository.begin().unwrap();
    assert!(third.expired(&named("orders"), &key("a")).unwrap().is_none());
    assert!(third.get(&named("orders"), &key("a")).unwrap().is_some());
    stage(&mut third, ("orders", "staged"), Some(1));
    assert!(third.expired(&named("orders"), &key("staged")).unwrap().is_none());
    assert_eq!(waiting(repository, 100), Vec::<String>::new());
}

#[test]
fn volatile_documents_and_those_in_indexes_are_kept_too() {
    let bench = Bench::new();
    let repository = bench.repository();
    repository.keep_expired(Kept::of([named("brief"), named("orders")]));
    configure(repository, "brief", r#"{"durability":"volatile"}"#);
    configure(repository, "orders", UNIQUE_N);
    bench.reap();
    let end = bench.now() + 10;
    put(repository, "brief", "a", end);
    put(repository, "orders", "a", end);
    bench.move_clock(11);
    bench.reap();
    assert_eq!(waiting(repository, 1), ["orders a", "brief a"]);
    put(repository, "orders", "b", end + 1_000);
    assert!(see_to(repository, "brief", "a") && see_to(repository, "orders", "a"));
    assert_eq!(left(&bench.stop()), 1, "it has the unique value of the one that had expired");
}

/// However many are kept before them, others go.
#[test]
fn what_is_kept_holds_up_nothing_else() {
    let bench = Bench::new();
    let repository = bench.repository();
    repository.keep_expired(keeping("orders"));
    let end = bench.now() + 10;
    let mut transaction = repository.begin().unwrap();
    for i in 0..repository::limits::REAP_DOCUMENTS_MAX * 2 {
        stage(&mut transaction, ("orders", &format!("{i}")), Some(end));
    }
    stage(&mut transaction, ("notes", "a"), Some(end + 1));
    commit(transaction);
    bench.move_clock(12);
    bench.reap();
    assert_eq!(repository.stats().reaped, 1);
}
