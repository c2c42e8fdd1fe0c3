//! Views, conflicts, merge operations, expiry and the serial lane, on the real store.

use crate::harness::{Place, commit, get, key, notes, put, read, write};
use repository::{
    CommitNumber, MediaType, Merge, Outcome, Repository, RunError, StageError, Timestamp,
};
use std::convert::Infallible;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(120);

fn conflict_with(outcome: Outcome) -> (Vec<String>, u64) {
    match outcome {
        Outcome::Conflict(conflict) => {
            let keys = conflict.documents.iter().map(|d| d.key.to_string()).collect();
            (keys, conflict.competitor.0)
        }
        other => panic!("expected a conflict, got {other:?}"),
    }
}

fn add(at: &str, delta: f64) -> Merge {
    Merge::Add { path: at.to_owned(), delta }
}

#[test]
fn a_view_sees_one_moment() {
    let place = Place::new();
    let repository = place.open_only();
    write(&repository, "a", "1");
    let mut old = repository.begin().unwrap();
    assert_eq!(write(&repository, "a", "2"), 2);
    write(&repository, "b", "2");
    assert_eq!(get(&mut old, "a").as_deref(), Some("1"));
    assert_eq!(get(&mut old, "b"), None);
    assert_eq!(old.view(), CommitNumber(1));
    assert_eq!(read(&repository, "a").as_deref(), Some("2"));
}

#[test]
fn own_writes_are_read_and_discarded_with_the_transaction() {
    let place = Place::new();
    let repository = place.open_only();
    write(&repository, "a", "1");
    let mut transaction = repository.begin().unwrap();
    put(&mut transaction, "a", "2");
    assert_eq!(get(&mut transaction, "a").as_deref(), Some("2"));
    transaction.delete(&notes(), &key("a")).unwrap();
    assert_eq!(get(&mut transaction, "a"), None);
    transaction.merge(&notes(), &key("a"), add("", 5.0)).unwrap();
    assert_eq!(get(&mut transaction, "a").as_deref(), Some("5"));
    drop(transaction);
    assert_eq!(read(&repository, "a").as_deref(), Some("1"));
    assert_eq!(repository.stats().views, 0);
}

#[test]
fn a_read_that_changed_is_a_conflict_and_a_blind_write_is_none() {
    let place = Place::new();
    let repository = place.open_only();
    write(&repository, "a", "1");
    let mut reader = repository.begin().unwrap();
    get(&mut reader, "a");
    get(&mut reader, "missing");
    put(&mut reader, "b", "1");
    let mut blind = repository.begin().unwrap();
    put(&mut blind, "a", "7");
    write(&repository, "a", "2");
    write(&repository, "missing", "2");
    let (keys, competitor) = conflict_with(reader.commit().unwrap());
    assert_eq!((keys, competitor), (vec!["a".to_owned(), "missing".to_owned()], 3));
    assert_eq!(read(&repository, "b"), None, "nothing of it was committed");
    commit(&repository, blind);
    assert_eq!(read(&repository, "a").as_deref(), Some("7"));
}

#[test]
fn write_skew_is_refused() {
    let place = Place::new();
    let repository = place.open_only();
    write(&repository, "a", "1");
    write(&repository, "b", "1");
    let mut one = repository.begin().unwrap();
    let mut two = repository.begin().unwrap();
    for transaction in [&mut one, &mut two] {
        get(transaction, "a");
        get(transaction, "b");
    }
    put(&mut one, "a", "0");
    put(&mut two, "b", "0");
    commit(&repository, one);
    assert_eq!(conflict_with(two.commit().unwrap()).0, ["a"]);
}

#[test]
fn adds_never_conflict_and_all_count() {
    let place = Place::new();
    let repository = place.open_only();
    let mut open: Vec<_> = (0..10).map(|_| repository.begin().unwrap()).collect();
    for transaction in &mut open {
        transaction.merge(&notes(), &key("tally"), add("", 1.0)).unwrap();
        transaction.merge(&notes(), &key("tally"), add("", 0.5)).unwrap();
        transaction.merge(&notes(), &key("counts"), add("/n", 2.0)).unwrap();
    }
    for transaction in open {
        commit(&repository, transaction);
    }
    assert_eq!(read(&repository, "tally").as_deref(), Some("15"));
    assert_eq!(read(&repository, "counts").as_deref(), Some(r#"{"n":20}"#));
    drop(repository);
    let repository = place.open_only();
    assert_eq!(read(&repository, "tally").as_deref(), Some("15"), "replay resolves them alike");
}

#[test]
fn what_merges_are_seen_to_come_to_is_what_is_committed() {
    let place = Place::new();
    let repository = place.open_only();
    write(&repository, "a", r#"{"n":0.1,"l":[]}"#);
    let append = |value: &str| Merge::Append { path: "/l".to_owned(), value: value.to_owned() };
    let mut transaction = repository.begin().unwrap();
    // Sums that are taken in by the operation before, others between them, and another document.
    for _ in 0..3 {
        for delta in [1.0, 2.0, 0.7, 3.0, 4.0] {
            transaction.merge(&notes(), &key("a"), add("/n", delta)).unwrap();
            transaction.merge(&notes(), &key("b"), add("/n", delta)).unwrap();
        }
        transaction.merge(&notes(), &key("a"), append("1")).unwrap();
    }
    let seen = [get(&mut transaction, "a"), get(&mut transaction, "b")];
    assert!(seen[0].as_deref().unwrap().contains("[1,1,1]"), "{seen:?}");
    transaction.commit().unwrap();
    assert_eq!([read(&repository, "a"), read(&repository, "b")], seen);
}

#[test]
fn a_merge_that_was_read_is_validated_like_a_read() {
    let place = Place::new();
    let repository = place.open_only();
    let mut peeking = repository.begin().unwrap();
    let mut reading = repository.begin().unwrap();
    for transaction in [&mut peeking, &mut reading] {
        transaction.merge(&notes(), &key("tally"), add("", 1.0)).unwrap();
    }
    assert!(peeking.peek(&notes(), &key("tally")).unwrap().is_some());
    assert_eq!(get(&mut reading, "tally").as_deref(), Some("1"));
    write(&repository, "tally", "40");
    commit(&repository, peeking);
    assert_eq!(conflict_with(reading.commit().unwrap()).1, 2);
    assert_eq!(read(&repository, "tally").as_deref(), Some("41"));
}

#[test]
fn a_merge_that_does_not_fit_is_refused_when_staged_and_a_conflict_when_applied() {
    let place = Place::new();
    let repository = place.open_only();
    write(&repository, "a", "\"text\"");
    let mut transaction = repository.begin().unwrap();
    let error = transaction.merge(&notes(), &key("a"), add("", 1.0)).unwrap_err();
    assert_eq!(error.to_string(), "add cannot be applied to notes/a: \"\" holds no number");
    assert!(matches!(error, StageError::Merge { .. }));
    transaction.merge(&notes(), &key("b"), add("", 1.0)).unwrap();
    write(&repository, "b", "[]");
    assert_eq!(conflict_with(transaction.commit().unwrap()), (vec!["b".to_owned()], 2));
}

#[test]
fn expired_documents_are_invisible_at_once_and_may_be_made_anew() {
    let place = Place::new();
    let repository = place.open_only();
    let soon = Timestamp(place.now.load(Ordering::Relaxed) + 100);
    let mut transaction = repository.begin().unwrap();
    let body = bytes::Bytes::from("1");
    transaction.put(&notes(), &key("a"), MediaType::Json, body, Some(soon)).unwrap();
    commit(&repository, transaction);
    assert!(read(&repository, "a").is_some());
    let mut before = repository.begin().unwrap();
    place.now.fetch_add(100, Ordering::Relaxed);
    assert_eq!(read(&repository, "a"), None);
    assert!(get(&mut before, "a").is_some(), "a view's time stands still");
    let mut transaction = repository.begin().unwrap();
    transaction.merge(&notes(), &key("a"), add("", 1.0)).unwrap();
    commit(&repository, transaction);
    let again = repository.begin().unwrap().get(&notes(), &key("a")).unwrap().unwrap();
    assert_eq!((&again.body[..], again.expires), (&b"1"[..], None), "nothing of the old is left");
    assert_eq!(again.created, soon);
}

#[test]
fn nothing_written_commits_nothing() {
    let place = Place::new();
    let repository = place.open_only();
    write(&repository, "a", "1");
    let before = repository.stats();
    let mut transaction = repository.begin().unwrap();
    get(&mut transaction, "a");
    assert!(matches!(transaction.commit().unwrap(), Outcome::Unchanged(CommitNumber(1))));
    let after = repository.stats();
    assert_eq!(before.tranlog_bytes, after.tranlog_bytes);
    assert_eq!(before.visible, after.visible);
}

/// Loses as often as it takes to get into the serial lane, and there does `last`.
fn run_into_the_lane<E>(
    repository: &Repository,
    mut last: impl FnMut() -> Result<(), E>,
) -> Result<repository::Ran<()>, RunError<E>> {
    let mut tries = 0;
    repository.run(|transaction| {
        tries += 1;
        get(transaction, "a");
        put(transaction, "a", "\"mine\"");
        if tries > repository::limits::OPTIMISTIC_TRIES {
            return last();
        }
        write(repository, "a", "\"theirs\"");
        Ok(())
    })
}

#[test]
fn a_thread_that_is_abandoned_is_not_waited_for_in_the_serial_lane() {
    let place = Place::new();
    let repository = place.open_only();
    let (tell, told) = channel();
    let (release, released) = channel();
    std::thread::scope(|scope| {
        let shared = &repository;
        let stuck = scope.spawn(move || {
            run_into_the_lane(shared, || {
                tell.send(std::thread::current().id()).unwrap();
                released.recv_timeout(PATIENCE)
            })
        });
        let thread = told.recv_timeout(PATIENCE).unwrap();
        repository.abandon(thread);
        let ran = run_into_the_lane(&repository, || Ok::<_, Infallible>(()));
        assert!(ran.unwrap().committed.is_some());
        assert!(!stuck.is_finished(), "it stands where it stood");
        release.send(()).unwrap();
        drop(release);
        // It loses once more, to the one that went before, and runs again.
        let ran = stuck.join().unwrap();
        assert!(ran.is_err(), "nobody releases it a second time: {ran:?}");
    });
    assert_eq!(read(&repository, "a").as_deref(), Some("\"mine\""));
    assert_eq!(repository.stats().serial_lane, 2);
}

/// Every run must finish although each reads what all others write.
#[test]
fn a_storm_of_conflicts_finishes_through_the_serial_lane() {
    const THREADS: u64 = 8;
    const RUNS: u64 = 100;
    let place = Place::new();
    let repository = place.open_only();
    let increment = |repository: &Repository| {
        let ran = repository.run(|transaction| {
            let read: u64 = get(transaction, "a").map_or(0, |text| text.parse().unwrap());
            // Others get their turn between the read and the commit.
            std::thread::yield_now();
            put(transaction, "a", &(read + 1).to_string());
            Ok::<_, Infallible>(())
        });
        assert!(ran.unwrap().committed.is_some());
    };
    // One that always loses on its own shows that the lane is really entered.
    let mut tries = 0;
    let ran = repository.run(|transaction| {
        tries += 1;
        get(transaction, "b");
        put(transaction, "b", "1");
        if tries <= repository::limits::OPTIMISTIC_TRIES {
            write(&repository, "b", "0");
        }
        Ok::<_, Infallible>(())
    });
    assert_eq!(ran.unwrap().conflicts, repository::limits::OPTIMISTIC_TRIES);
    assert_eq!(repository.stats().serial_lane, 1);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..RUNS).for_each(|_| increment(&repository)));
        }
    });
    assert_eq!(read(&repository, "a"), Some((THREADS * RUNS).to_string()));
    assert!(repository.stats().conflicts > 0);
}

#[test]
fn the_lane_holds_back_whoever_would_write_what_it_reserved() {
    let place = Place::new();
    let repository = place.open_only();
    let mut tries = 0;
    repository
        .run(|transaction| {
            tries += 1;
            get(transaction, "b");
            put(transaction, "b", "1");
            let mut other = repository.begin().unwrap();
            put(&mut other, "b", "0");
            let mut elsewhere = repository.begin().unwrap();
            put(&mut elsewhere, "c", "0");
            let (other, elsewhere) = (other.commit().unwrap(), elsewhere.commit().unwrap());
            assert!(matches!(elsewhere, Outcome::Committed(_)), "only the same documents wait");
            match tries > repository::limits::OPTIMISTIC_TRIES {
                true => assert!(matches!(other, Outcome::HeldBack)),
                false => assert!(matches!(other, Outcome::Committed(_))),
            }
            Ok::<_, Infallible>(())
        })
        .unwrap();
    assert_eq!(read(&repository, "b").as_deref(), Some("1"));
    write(&repository, "b", "2");
}

/// It is told to whom it lost, and not that somebody else goes first.
#[test]
fn a_commit_in_turn_waits_for_the_lane_and_then_wins_or_loses() {
    for reads in [true, false] {
        let place = Place::new();
        let repository = &*place.open_only();
        thread::scope(|scope| {
            let mut waiting = None;
            let mut tries = 0;
            repository
                .run(|transaction| {
                    tries += 1;
                    get(transaction, "b");
                    put(transaction, "b", "1");
                    let mut other = repository.begin().unwrap();
                    if tries <= repository::limits::OPTIMISTIC_TRIES {
                        put(&mut other, "b", "0");
                        other.commit().unwrap();
                        return Ok(());
                    }
                    // This one is in the lane, and holds what the other is about to write.
                    if reads {
                        get(&mut other, "b");
                    }
                    put(&mut other, "b", "2");
                    let mut probe = repository.begin().unwrap();
                    put(&mut probe, "b", "3");
                    assert!(matches!(probe.commit().unwrap(), Outcome::HeldBack));
                    waiting = Some(scope.spawn(move || other.commit_in_turn().unwrap()));
                    // It is held back within this time, or comes later with the same outcome.
                    thread::sleep(Duration::from_millis(100));
                    Ok::<_, Infallible>(())
                })
                .unwrap();
            let outcome = waiting.expect("somebody waits").join().unwrap();
            match reads {
                true => assert!(matches!(outcome, Outcome::Conflict(_)), "{outcome:?}"),
                false => assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}"),
            }
            let expected = if reads { "1" } else { "2" };
            assert_eq!(read(repository, "b").as_deref(), Some(expected));
        });
    }
}

#[test]
fn a_body_that_refuses_writes_nothing_and_says_what_its_reply_must_wait_for() {
    let place = Place::new();
    let repository = place.open_only();
    write(&repository, "a", "1");
    let refused = repository.run(|transaction| {
        put(transaction, "a", "2");
        Err::<(), _>("no")
    });
    assert!(matches!(
        refused.unwrap_err(),
        RunError::Body { error: "no", wait_for: CommitNumber(1) }
    ));
    assert_eq!(read(&repository, "a").as_deref(), Some("1"));
}

#[test]
fn limits_are_reached_with_a_clear_error() {
    use repository::limits::{DOCUMENT_BYTES_MAX, MEDIA_TYPE_BYTES_MAX, TRANSACTION_WRITES_MAX};
    let place = Place::new();
    let repository = place.open_only();
    let mut transaction = repository.begin().unwrap();
    let png = MediaType::Other("image/png".into());
    let mut put = |at: &str, media_type: &MediaType, length: usize| {
        let body = vec![0; length].into();
        transaction.put(&notes(), &key(at), media_type.clone(), body, None)
    };
    let large = put("a", &png, DOCUMENT_BYTES_MAX + 1).unwrap_err().to_string();
    assert_eq!(large, "a document has at most 8388608 bytes; got 8388609");
    let long = MediaType::Other("x".repeat(MEDIA_TYPE_BYTES_MAX + 1).into());
    assert!(matches!(put("a", &long, 0), Err(StageError::MediaTypeTooLong { .. })));
    for i in 0..3 {
        put(&format!("large{i}"), &png, DOCUMENT_BYTES_MAX).unwrap();
    }
    let too_much = put("large3", &png, DOCUMENT_BYTES_MAX);
    assert!(matches!(too_much, Err(StageError::TransactionTooLarge)), "{too_much:?}");
    for i in 3..TRANSACTION_WRITES_MAX {
        put(&i.to_string(), &png, 1).unwrap();
    }
    assert!(matches!(put("one more", &png, 1), Err(StageError::TooManyWrites)));
    commit(&repository, transaction);
}

#[test]
fn merge_limits_leave_what_was_staged() {
    use repository::limits::{MERGE_PATH_BYTES_MAX, MERGES_MAX};
    let place = Place::new();
    let repository = place.open_only();
    let mut transaction = repository.begin().unwrap();
    let mut merge = |operation| transaction.merge(&notes(), &key("a"), operation);
    let long = add(&format!("/{}", "x".repeat(MERGE_PATH_BYTES_MAX)), 1.0);
    assert!(matches!(merge(long), Err(StageError::MergePathTooLong { .. })));
    for _ in 0..100_000 {
        merge(add("/whole", 1.0)).unwrap();
    }
    for _ in 1..MERGES_MAX {
        merge(add("/half", 0.5)).unwrap();
    }
    assert!(matches!(merge(add("/half", 0.5)), Err(StageError::TooManyMerges)));
    commit(&repository, transaction);
    drop(repository);
    let expected = format!(r#"{{"whole":100000,"half":{}}}"#, (MERGES_MAX - 1) as f64 / 2.0);
    assert_eq!(read(&place.open_only(), "a"), Some(expected), "also after a replay");
}

#[test]
fn a_merge_may_not_make_a_document_too_large() {
    use repository::limits::DOCUMENT_BYTES_MAX;
    let place = Place::new();
    let repository = place.open_only();
    let full = format!(r#"{{"x":"{}"}}"#, "x".repeat(DOCUMENT_BYTES_MAX - 8));
    write(&repository, "a", &full);
    let refused =
        repository.run(|transaction| transaction.merge(&notes(), &key("a"), add("/n", 1.0)));
    assert!(matches!(
        refused.unwrap_err(),
        RunError::Body { error: StageError::DocumentTooLarge { .. }, .. }
    ));
    let mut transaction = repository.begin().unwrap();
    put(&mut transaction, "b", &full);
    assert!(
        transaction.merge(&notes(), &key("b"), add("/n", 1.0)).is_err(),
        "on an own write, too"
    );
}

/// The refusal of a merge tells the body what is there; so it is a read.
#[test]
fn a_refused_merge_is_a_read() {
    let place = Place::new();
    let repository = place.open_only();
    write(&repository, "a", "\"text\"");
    let mut teller = repository.begin().unwrap();
    assert!(teller.merge(&notes(), &key("a"), add("", 1.0)).is_err());
    put(&mut teller, "verdict", "\"no number\"");
    write(&repository, "a", "1");
    assert_eq!(conflict_with(teller.commit().unwrap()).0, ["a"]);
}

#[test]
fn time_does_not_run_backwards_with_the_clock() {
    let place = Place::new();
    let repository = place.open_only();
    let start = place.now.load(Ordering::Relaxed);
    let mut transaction = repository.begin().unwrap();
    let body = bytes::Bytes::from(r#"{"a":{}}"#);
    let expires = Some(Timestamp(start + 500));
    transaction.put(&notes(), &key("a"), MediaType::Json, body, expires).unwrap();
    commit(&repository, transaction);
    place.now.store(start + 600, Ordering::Relaxed);
    write(&repository, "b", "1");
    place.now.store(start, Ordering::Relaxed);
    assert_eq!(read(&repository, "a"), None, "what has expired stays so");
    let ran = repository.run(|transaction| transaction.merge(&notes(), &key("a"), add("/n", 1.0)));
    assert!(ran.is_ok(), "staging and applying agree on what is there");
    drop(repository);
    let repository = place.open_only();
    assert_eq!(repository.begin().unwrap().time(), Timestamp(start + 600), "also after opening");
}
