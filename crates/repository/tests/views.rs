//! Views: listed while they are open, and refused when they hold back versions for too long.

use crate::harness::bench::Bench;
use crate::harness::random::Random;
use crate::harness::{self, Place, get, key, notes, put, wait_until, write};
use repository::limits::{VIEW_AGE_MAX_MS, VIEW_AGE_MAX_UNDER_PRESSURE_MS};
use repository::{
    CommitError, CommitNumber, Direction, IndexRange, KeyRange, OpenViews, Outcome, ReadError,
    Timestamp, Transaction,
};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

fn is_refused<T>(read: Result<T, ReadError>) -> bool {
    matches!(read, Err(ReadError::ViewTooOld(_)))
}

fn range(view: &mut Transaction) -> Result<Vec<(String, String)>, ReadError> {
    let found = view.range(&notes(), &KeyRange::all(), Direction::Ascending, 10_000)?;
    Ok(found.iter().map(|(key, document)| (key.to_string(), harness::text(document))).collect())
}

#[test]
fn open_views_are_listed() {
    let place = Place::new();
    let repository = place.open_only();
    assert!(repository.views().is_empty());
    write(&repository, "a", "1");
    let start = place.now.load(Ordering::Relaxed);
    let first = repository.begin().unwrap();
    place.now.fetch_add(5, Ordering::Relaxed);
    let second = repository.begin().unwrap();
    write(&repository, "a", "2");
    let third = repository.begin().unwrap();
    let listed = |number: u64, count, opened| OpenViews {
        number: CommitNumber(number),
        count,
        opened: Timestamp(opened),
    };
    assert_eq!(repository.views(), [listed(1, 2, start), listed(2, 1, start + 5)]);
    assert_eq!(repository.stats().views, 3);
    drop((first, third));
    assert_eq!(repository.views(), [listed(1, 1, start)]);
    drop(second);
    assert!(repository.views().is_empty());
}

#[test]
fn a_view_is_refused_past_its_bound_and_not_before() {
    let place = Place::new();
    let repository = place.open_only();
    let settings = r#"{"indexes":[{"name":"i","paths":[{"path":""}]}]}"#;
    harness::configure(&repository, "notes", settings);
    harness::wait_built(&repository);
    write(&repository, "a", "1");
    let mut old = repository.begin().unwrap();
    assert_eq!(get(&mut old, "a").as_deref(), Some("1"));
    put(&mut old, "b", "1");
    let mut snapshot = repository.begin().unwrap();
    let newest = {
        write(&repository, "a", "2");
        repository.begin().unwrap()
    };
    place.now.fetch_add(VIEW_AGE_MAX_MS, Ordering::Relaxed);
    let rounds = |count: usize| (0..count).for_each(|_| repository.checkpoint().unwrap());
    rounds(3);
    assert_eq!(get(&mut snapshot, "a").as_deref(), Some("1"), "at the bound");
    place.now.fetch_add(1, Ordering::Relaxed);
    wait_until("two views are refused", || repository.stats().refused_views == 2);
    assert!(is_refused(snapshot.get(&notes(), &key("a"))));
    assert!(is_refused(snapshot.peek(&notes(), &key("a"))));
    assert!(is_refused(range(&mut snapshot)));
    let by_index = snapshot.index_range(&notes(), "i", &IndexRange::all(), Direction::Ascending, 9);
    assert!(is_refused(by_index));
    let message = snapshot.get(&notes(), &key("a")).unwrap_err().to_string();
    assert!(message.contains("open for too long") && message.contains("5 minutes"), "{message}");
    let Err(CommitError::ViewTooOld(error)) = old.commit() else { panic!("it was committed") };
    assert_eq!(error.view, snapshot.view());
    let before = repository.stats().visible;
    assert_eq!(newest.view(), before, "of the newest commit, whatever its age");
    drop(newest);
    assert_eq!(repository.stats().views, 0, "those that are refused are not counted");
    drop(snapshot);
    assert_eq!(harness::read(&repository, "b"), None);
}

#[test]
fn a_checkpoint_does_not_keep_views_from_being_refused() {
    let place = Place::new();
    let repository = place.open_only();
    write(&repository, "a", "1");
    let mut old = repository.begin().unwrap();
    repository.checkpoint().unwrap();
    write(&repository, "a", "2");
    repository.checkpoint().unwrap();
    place.now.fetch_add(VIEW_AGE_MAX_MS + 1, Ordering::Relaxed);
    wait_until("the view is refused", || repository.stats().refused_views == 1);
    assert!(is_refused(old.get(&notes(), &key("a"))));
}

#[test]
fn views_are_refused_earlier_while_memory_is_short() {
    let place = Place { memory_bytes: 32 << 20, ..Place::new() };
    let repository = place.open_only();
    write(&repository, "a", "1");
    let mut old = repository.begin().unwrap();
    write(&repository, "a", "2");
    place.now.fetch_add(VIEW_AGE_MAX_UNDER_PRESSURE_MS + 1, Ordering::Relaxed);
    repository.checkpoint().unwrap();
    assert_eq!(get(&mut old, "a").as_deref(), Some("1"), "memory is not short");
    // The view holds back every version of this, so memory cannot get below its bound.
    let body = format!("\"{}\"", "x".repeat(1 << 20));
    let mut i = 0;
    wait_until("the view is refused", || {
        i += 1;
        let written = repository.run(|transaction| {
            put(transaction, &format!("large{i}"), &body);
            Ok::<_, std::convert::Infallible>(())
        });
        drop(written);
        repository.stats().refused_views > 0
    });
    assert!(is_refused(old.get(&notes(), &key("a"))));
    wait_until("commits are taken again", || {
        let ran = repository.run(|transaction| {
            put(transaction, "b", "1");
            Ok::<_, std::convert::Infallible>(())
        });
        ran.is_ok()
    });
}

/// A view that is refused may miss what it saw; it must say so, and never give something else.
fn read_on_through_refusals(seed: u64) {
    let mut random = Random::new(seed);
    let bench = Bench::new();
    let repository = bench.repository();
    let mut model = BTreeMap::new();
    let mut old: Vec<(Transaction, BTreeMap<String, String>)> = Vec::new();
    let mut refused = 0;
    for round in 0..400 {
        let mut transaction = repository.begin().unwrap();
        for _ in 0..random.below(4) {
            let at = format!("{:02}", random.below(40));
            if random.once_in(3) {
                transaction.delete(&notes(), &key(&at)).unwrap();
                model.remove(&at);
            } else {
                put(&mut transaction, &at, &round.to_string());
                model.insert(at, round.to_string());
            }
        }
        assert!(!matches!(transaction.commit().unwrap(), Outcome::Conflict(_)));
        match random.below(10) {
            0 => bench.checkpoint().unwrap(),
            1 | 2 => bench.evict(),
            3 => bench.compact().unwrap(),
            4 => bench.move_clock(VIEW_AGE_MAX_MS / 3),
            5 => bench.refuse_old_views(),
            6 | 7 if old.len() < 12 => old.push((repository.begin().unwrap(), model.clone())),
            8 if !old.is_empty() => drop(old.remove(random.below(old.len()))),
            _ => {}
        }
        for (view, model) in &mut old {
            match range(view) {
                Ok(found) => {
                    let expected: Vec<_> =
                        model.iter().map(|(key, body)| (key.clone(), body.clone())).collect();
                    assert_eq!(found, expected, "seed {seed}");
                }
                Err(ReadError::ViewTooOld(_)) => refused += 1,
                Err(other) => panic!("{other}"),
            }
            let at = format!("{:02}", random.below(40));
            match view.get(&notes(), &key(&at)) {
                Ok(found) => {
                    let found = found.map(|document| harness::text(&document));
                    assert_eq!(found.as_ref(), model.get(&at), "seed {seed}");
                }
                Err(ReadError::ViewTooOld(_)) => refused += 1,
                Err(other) => panic!("{other}"),
            }
        }
    }
    assert!(refused > 0, "seed {seed} refuses nothing");
}

#[test]
fn what_a_refused_view_gives_is_never_wrong() {
    (0..8).for_each(read_on_through_refusals);
}
