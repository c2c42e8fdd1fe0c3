//! Expiry: invisible at once, removed in the background, and nothing of it left.

use crate::harness::bench::Bench;
use crate::harness::{
    Place, close_and_verify, configure, key, named, notes, put, verified, wait_until,
};
use bytes::Bytes;
use repository::limits::REAP_DOCUMENTS_MAX;
use repository::{Direction, KeyRange, MediaType, Outcome, Repository, Timestamp, verify};
use std::sync::atomic::Ordering;

/// Puts documents into a collection; they expire then.
fn put_until(repository: &Repository, name: &str, keys: &[String], expires: Option<u64>) {
    for keys in keys.chunks(5_000) {
        let mut transaction = repository.begin().unwrap();
        for at in keys {
            let (body, expires) = (Bytes::from("1"), expires.map(Timestamp));
            transaction.put(&named(name), &key(at), MediaType::Json, body, expires).unwrap();
        }
        assert!(matches!(transaction.commit().unwrap(), Outcome::Committed(_)));
    }
}

fn keys(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|i| format!("{prefix}{i:05}")).collect()
}

fn is_there(repository: &Repository, name: &str, at: &str) -> bool {
    repository.begin().unwrap().get(&named(name), &key(at)).unwrap().is_some()
}

#[test]
fn what_expires_is_gone_at_once_and_removed_soon() {
    let place = Place::new();
    let repository = place.open_only();
    configure(&repository, "volatiles", r#"{"durability":"volatile"}"#);
    let end = place.now.load(Ordering::Relaxed) + 1000;
    put_until(&repository, "notes", &keys("a", 1200), Some(end));
    put_until(&repository, "notes", &keys("b", 10), None);
    put_until(&repository, "volatiles", &keys("a", 700), Some(end));
    repository.checkpoint().unwrap();
    put_until(&repository, "notes", &keys("c", 100), Some(end));
    put_until(&repository, "notes", &keys("a", 100), Some(end + 9000));
    assert!(is_there(&repository, "notes", "a01000"));
    place.now.store(end, Ordering::Relaxed);
    assert!(!is_there(&repository, "notes", "a01000"));
    assert!(!is_there(&repository, "volatiles", "a00100"));
    assert!(is_there(&repository, "notes", "a00099"), "it was refreshed");
    place.now.store(end + 1, Ordering::Relaxed);
    wait_until("they are removed", || repository.stats().reaped == 1200 + 700);
    put_until(&repository, "notes", &keys("a", 1), None);
    place.now.store(end + 9001, Ordering::Relaxed);
    wait_until("so are those", || repository.stats().reaped == 1200 + 700 + 99);
    assert!(is_there(&repository, "notes", "a00000"), "it was put anew without an expiry");
    assert_eq!(close_and_verify(&place, repository), 11);
}

#[test]
fn what_is_put_before_the_reaper_comes_stays() {
    let bench = Bench::new();
    let repository = bench.repository();
    let end = bench.now() + 10;
    put_until(repository, "notes", &keys("a", 3), Some(end));
    bench.checkpoint().unwrap();
    bench.evict();
    bench.move_clock(11);
    put_until(repository, "notes", &["a00000".to_owned()], None);
    put_until(repository, "notes", &["a00001".to_owned()], Some(end + 10));
    bench.reap();
    assert_eq!(repository.stats().reaped, 1);
    assert!(is_there(repository, "notes", "a00000") && is_there(repository, "notes", "a00001"));
    bench.move_clock(11);
    bench.reap();
    assert_eq!(repository.stats().reaped, 2);
    assert_eq!(verified(&bench.stop()), 1);
}

#[test]
fn what_expired_before_a_crash_is_removed_after_it() {
    let mut bench = Bench::new();
    let end = bench.now() + 10;
    put_until(bench.repository(), "notes", &keys("a", 700), Some(end));
    bench.checkpoint().unwrap();
    put_until(bench.repository(), "notes", &keys("b", 700), Some(end));
    put_until(bench.repository(), "notes", &keys("c", 1), None);
    bench.crash(true);
    bench.move_clock(11);
    assert!(!is_there(bench.repository(), "notes", "a00000"));
    bench.reap();
    assert_eq!(bench.repository().stats().reaped, 1400);
    bench.crash(true);
    bench.reap();
    assert_eq!(bench.repository().stats().reaped, 0, "nothing is left to be removed");
    assert_eq!(verified(&bench.stop()), 1);
}

/// Disk space too: neither the documents nor the rows that say when they expire stay.
#[test]
fn nothing_is_left_on_disk() {
    let bench = Bench::new();
    let repository = bench.repository();
    put_until(repository, "notes", &keys("b", 1), None);
    bench.checkpoint().unwrap();
    let before = repository.stats().engine_bytes;
    put_until(repository, "notes", &keys("a", 20_000), Some(bench.now() + 10));
    bench.checkpoint().unwrap();
    assert!(repository.stats().engine_bytes > before * 10);
    bench.move_clock(11);
    (0..2).for_each(|_| bench.reap());
    assert_eq!(repository.stats().reaped, 20_000);
    bench.checkpoint().unwrap();
    bench.compact().unwrap();
    let after = repository.stats().engine_bytes;
    assert!(after < before * 2 + 4096, "{before} bytes became {after}");
    let place = bench.stop();
    let report = verify(place.path()).unwrap();
    assert_eq!((report.wrong, report.documents["notes"]), (0, 1));
}

/// The reaper does not look again at what it has passed; so it must hear of what comes later.
#[test]
fn what_is_put_when_it_has_expired_already_is_removed_too() {
    for settings in ["{}", r#"{"durability":"volatile"}"#] {
        let bench = Bench::new();
        let repository = bench.repository();
        configure(repository, "brief", settings);
        let end = bench.now() + 10;
        put_until(repository, "brief", &keys("a", 3), Some(end));
        let mut slow = repository.begin().unwrap();
        let at = (named("brief"), key("slow"));
        let expires = Some(Timestamp(end - 1));
        slow.put(&at.0, &at.1, MediaType::Json, Bytes::from("1"), expires).unwrap();
        bench.move_clock(11);
        bench.reap();
        assert_eq!(repository.stats().reaped, 3);
        assert!(matches!(slow.commit().unwrap(), Outcome::Committed(_)));
        put_until(repository, "brief", &keys("b", 2), Some(1));
        assert!(!is_there(repository, "brief", "slow") && !is_there(repository, "brief", "b00000"));
        bench.move_clock(1);
        bench.reap();
        assert_eq!(repository.stats().reaped, 6, "{settings}");
        verified(&bench.stop());
    }
}

#[test]
fn what_one_commit_removes_is_bounded() {
    let bench = Bench::new();
    let repository = bench.repository();
    put_until(repository, "notes", &keys("a", 2 * REAP_DOCUMENTS_MAX + 1), Some(bench.now() + 10));
    bench.move_clock(11);
    let before = repository.stats().commits;
    bench.reap();
    let stats = repository.stats();
    assert_eq!((stats.commits - before, stats.reaped), (3, 2 * REAP_DOCUMENTS_MAX as u64 + 1));
}

#[test]
fn a_removal_is_a_change_that_readers_do_not_see() {
    let bench = Bench::new();
    let repository = bench.repository();
    put_until(repository, "notes", &keys("a", 1), Some(bench.now() + 10));
    let mut old = repository.begin().unwrap();
    assert!(old.get(&named("notes"), &key("a00000")).unwrap().is_some());
    put(&mut old, "result", "1");
    bench.move_clock(11);
    bench.reap();
    assert!(old.get(&named("notes"), &key("a00000")).unwrap().is_some(), "its time stands still");
    assert!(matches!(old.commit().unwrap(), Outcome::Conflict(_)), "what it saw is gone");
}

/// One reads a session before it expires, the other finds it gone and reads what the first writes:
/// neither can be before the other, so the first must not commit.
#[test]
fn what_has_expired_by_the_commit_is_a_conflict() {
    let place = Place::new();
    let repository = place.open_only();
    let end = place.now.load(Ordering::Relaxed) + 1000;
    let sessions = KeyRange::prefix("session");
    for (is_range, end) in [(false, end), (true, end + 1000)] {
        place.now.store(end - 1, Ordering::Relaxed);
        put_until(&repository, "notes", &["session".to_owned()], Some(end));
        let mut first = repository.begin().unwrap();
        match is_range {
            true => {
                let found = first.range(&notes(), &sessions, Direction::Ascending, 10).unwrap();
                assert_eq!(found.len(), 1);
            }
            false => assert!(first.get(&notes(), &key("session")).unwrap().is_some()),
        }
        let at = format!("first {is_range}");
        put(&mut first, &at, "1");
        place.now.store(end, Ordering::Relaxed);
        let mut second = repository.begin().unwrap();
        assert_eq!(second.get(&notes(), &key("session")).unwrap(), None);
        assert_eq!(second.get(&notes(), &key(&at)).unwrap(), None);
        put(&mut second, "second", "1");
        assert!(matches!(second.commit().unwrap(), Outcome::Committed(_)));
        match first.commit().unwrap() {
            Outcome::Conflict(conflict) => {
                assert_eq!(conflict.documents[0].key, key("session"), "{conflict:?}");
            }
            other => panic!("expected a conflict, got {other:?}"),
        }
    }
}

/// As above, but the other writes nothing.
#[test]
fn what_a_reader_has_seen_expired_is_a_conflict() {
    let place = Place::new();
    let repository = place.open_only();
    let end = place.now.load(Ordering::Relaxed) + 1000;
    put_until(&repository, "notes", &["session".to_owned()], Some(end));
    place.now.store(end - 1, Ordering::Relaxed);
    let mut first = repository.begin().unwrap();
    assert!(first.get(&notes(), &key("session")).unwrap().is_some());
    put(&mut first, "first", "1");
    place.now.store(end, Ordering::Relaxed);
    let mut second = repository.begin().unwrap();
    assert_eq!(second.get(&notes(), &key("session")).unwrap(), None);
    assert_eq!(second.get(&notes(), &key("first")).unwrap(), None);
    assert!(matches!(second.commit().unwrap(), Outcome::Unchanged(_)));
    place.now.store(end - 1, Ordering::Relaxed);
    let outcome = first.commit().unwrap();
    assert!(matches!(outcome, Outcome::Conflict(_)), "{outcome:?}");
    let third = repository.begin().unwrap();
    assert_eq!(third.time(), Timestamp(end), "a clock that is set back does not take time along");
}

#[test]
fn own_documents_may_expire_before_the_commit() {
    let place = Place::new();
    let repository = place.open_only();
    let now = place.now.load(Ordering::Relaxed);
    let mut own = repository.begin().unwrap();
    let body = Bytes::from("1");
    own.put(&notes(), &key("s"), MediaType::Json, body, Some(Timestamp(now + 5))).unwrap();
    let all = own.range(&notes(), &KeyRange::all(), Direction::Ascending, 10).unwrap();
    assert_eq!(all.len(), 1);
    place.now.store(now + 6, Ordering::Relaxed);
    put_until(&repository, "other", &["x".to_owned()], None);
    let outcome = own.commit().unwrap();
    assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
}
