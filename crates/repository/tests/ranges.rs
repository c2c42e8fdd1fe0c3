//! Reading ranges of keys: bounds, directions and limits, own writes, memory and engine mixed,
//! phantoms, and a comparison with a map.

use crate::harness::bench::Bench;
use crate::harness::random::Random;
use crate::harness::{self, Place, commit, key, notes, put, text, write};
use repository::limits::{RECENT_CHANGES, TRANSACTION_RANGES_MAX};
use repository::{
    Direction, Isolation, Key, KeyRange, MediaType, Merge, Outcome, ReadError, Repository,
    Timestamp, Transaction,
};
use std::collections::BTreeMap;
use std::ops::Bound::{self, Excluded, Included, Unbounded};

use Direction::{Ascending, Descending};

type Found = Vec<(String, String)>;

fn range(
    transaction: &mut Transaction,
    range: &KeyRange,
    direction: Direction,
    limit: usize,
) -> Found {
    let found = transaction.range(&notes(), range, direction, limit).unwrap();
    found.iter().map(|(key, document)| (key.to_string(), text(document))).collect()
}

/// The keys of a range as one text.
fn keys(
    transaction: &mut Transaction,
    at: &KeyRange,
    direction: Direction,
    limit: usize,
) -> String {
    let found = range(transaction, at, direction, limit);
    found.into_iter().map(|(key, _)| key).collect::<Vec<_>>().join(" ")
}

fn between(from: Bound<&str>, to: Bound<&str>) -> KeyRange {
    KeyRange::new(from.map(key), to.map(key))
}

fn delete(repository: &Repository, at: &str) {
    let mut transaction = repository.begin().unwrap();
    transaction.delete(&notes(), &key(at)).unwrap();
    assert!(matches!(transaction.commit().unwrap(), Outcome::Committed(_)));
}

fn stage(repository: &Repository, at: &str, body: &str) {
    let mut transaction = repository.begin().unwrap();
    put(&mut transaction, at, body);
    assert!(matches!(transaction.commit().unwrap(), Outcome::Committed(_)));
}

#[test]
fn bounds_and_limits_are_kept_in_both_directions() {
    let place = Place::new();
    let repository = place.open_only();
    let mut nowhere = repository.begin().unwrap();
    assert_eq!(keys(&mut nowhere, &KeyRange::all(), Ascending, 9), "", "there is no collection");
    drop(nowhere);
    for at in ["a", "b", "c", "d", "ü"] {
        write(&repository, at, "1");
    }
    let check = |repository: &Repository| {
        let mut view = repository.begin().unwrap();
        let mut keys =
            |range: KeyRange, direction, limit| keys(&mut view, &range, direction, limit);
        assert_eq!(keys(KeyRange::all(), Ascending, 9), "a b c d ü");
        assert_eq!(keys(KeyRange::all(), Descending, 9), "ü d c b a");
        assert_eq!(keys(KeyRange::all(), Ascending, 2), "a b");
        assert_eq!(keys(KeyRange::all(), Descending, 2), "ü d");
        assert_eq!(keys(KeyRange::all(), Ascending, 0), "");
        assert_eq!(keys(between(Included("b"), Included("d")), Ascending, 9), "b c d");
        assert_eq!(keys(between(Excluded("b"), Excluded("d")), Descending, 9), "c");
        assert_eq!(keys(between(Included("b"), Unbounded), Ascending, 2), "b c");
        assert_eq!(keys(between(Unbounded, Excluded("c")), Descending, 9), "b a");
        assert_eq!(keys(between(Included("bb"), Excluded("cc")), Ascending, 9), "c");
        assert_eq!(keys(between(Included("c"), Included("b")), Ascending, 9), "");
        assert_eq!(keys(between(Excluded("c"), Excluded("c")), Ascending, 9), "");
        assert_eq!(keys(KeyRange::prefix("ü"), Descending, 9), "ü");
    };
    check(&repository);
    repository.close().unwrap();
    drop(repository);
    check(&place.open_only());
}

#[test]
fn own_writes_are_in_ranges() {
    let place = Place::new();
    let repository = place.open_only();
    for at in ["b", "d", "f", "h"] {
        write(&repository, at, "1");
    }
    let mut transaction = repository.begin().unwrap();
    put(&mut transaction, "a", "2");
    put(&mut transaction, "d", "2");
    put(&mut transaction, "e", "2");
    transaction.delete(&notes(), &key("f")).unwrap();
    transaction.delete(&notes(), &key("g")).unwrap();
    let add = Merge::Add { path: String::new(), delta: 4.0 };
    transaction.merge(&notes(), &key("h"), add.clone()).unwrap();
    transaction.merge(&notes(), &key("z"), add).unwrap();
    let all = range(&mut transaction, &KeyRange::all(), Ascending, 99);
    let all: Vec<String> = all.into_iter().map(|(key, body)| key + &body).collect();
    assert_eq!(all, ["a2", "b1", "d2", "e2", "h5", "z4"]);
    assert_eq!(keys(&mut transaction, &KeyRange::all(), Descending, 3), "z h e");
    let middle = between(Excluded("b"), Included("f"));
    assert_eq!(keys(&mut transaction, &middle, Ascending, 1), "d");
    assert_eq!(keys(&mut transaction, &middle, Descending, 9), "e d");
    commit(&repository, transaction);
    let mut after = repository.begin().unwrap();
    assert_eq!(keys(&mut after, &KeyRange::all(), Ascending, 99), "a b d e h z");
}

/// Begins a transaction that reads a range and writes elsewhere, lets others do something, and says
/// whether it lost, and to what.
fn loses(
    repository: &Repository,
    read: impl FnOnce(&mut Transaction),
    others: impl FnOnce(),
) -> Option<String> {
    let mut reader = repository.begin().unwrap();
    read(&mut reader);
    let elsewhere = bytes::Bytes::from("1");
    let at = (harness::named("elsewhere"), key("a"));
    reader.put(&at.0, &at.1, MediaType::Json, elsewhere, None).unwrap();
    others();
    match reader.commit().unwrap() {
        Outcome::Committed(_) => None,
        Outcome::Conflict(conflict) => Some(conflict.documents[0].key.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn phantoms_are_conflicts_and_what_lies_beyond_is_none() {
    let bench = Bench::new();
    let repository = bench.repository();
    for at in ["b", "d", "f", "h"] {
        stage(repository, at, "1");
    }
    let middle = between(Included("c"), Excluded("h"));
    for direction in [Ascending, Descending] {
        for at_rest in [false, true] {
            let loses = |limit, others: &dyn Fn()| {
                if at_rest {
                    bench.checkpoint().unwrap();
                    bench.evict();
                }
                let read = |t: &mut Transaction| drop(range(t, &middle, direction, limit));
                loses(repository, read, others)
            };
            let lost = |at: &str| Some(at.to_owned());
            assert_eq!(loses(99, &|| stage(repository, "e", "1")), lost("e"), "an insertion");
            assert_eq!(loses(99, &|| delete(repository, "e")), lost("e"), "a deletion");
            assert_eq!(loses(99, &|| stage(repository, "d", "2")), lost("d"), "an update");
            assert_eq!(loses(99, &|| stage(repository, "b", "2")), None, "before the range");
            assert_eq!(loses(99, &|| stage(repository, "h", "2")), None, "behind the range");
            assert_eq!(loses(0, &|| stage(repository, "d", "2")), None, "nothing was read");
            let (first, last) = if direction == Ascending { ("d", "f") } else { ("f", "d") };
            assert_eq!(loses(1, &|| stage(repository, last, "3")), None, "beyond the limit");
            assert_eq!(loses(1, &|| stage(repository, "e", "1")), None, "beyond the limit");
            delete(repository, "e");
            assert_eq!(loses(1, &|| stage(repository, first, "3")), lost(first));
            assert_eq!(loses(2, &|| stage(repository, "e", "1")), lost("e"), "between the two");
            delete(repository, "e");
        }
    }
}

#[test]
fn a_range_of_a_collection_that_comes_meanwhile_has_phantoms_too() {
    let place = Place::new();
    let repository = place.open_only();
    let read = |t: &mut Transaction| drop(range(t, &KeyRange::prefix("a"), Ascending, 9));
    let lost = loses(&repository, read, || stage(&repository, "a1", "1"));
    assert_eq!(lost.as_deref(), Some("a1"));
    let place = Place::new();
    let repository = place.open_only();
    let read = |t: &mut Transaction| drop(range(t, &KeyRange::prefix("a"), Ascending, 9));
    assert_eq!(loses(&repository, read, || stage(&repository, "b1", "1")), None);
}

#[test]
fn snapshots_do_not_note_ranges() {
    let place = Place::new();
    let repository = place.open_only();
    write(&repository, "a", "1");
    let read = |t: &mut Transaction| {
        t.set_isolation(Isolation::Snapshot);
        range(t, &KeyRange::all(), Ascending, 9);
    };
    assert_eq!(loses(&repository, read, || stage(&repository, "a", "2")), None);
}

#[test]
fn more_changes_than_are_remembered_are_still_found() {
    let bench = Bench::new();
    let repository = bench.repository();
    stage(repository, "a", "1");
    let others = |changed: &str| {
        stage(repository, changed, "2");
        for at in 0..RECENT_CHANGES / 1000 + 2 {
            let mut many = repository.begin().unwrap();
            for i in 0..1000 {
                put(&mut many, &format!("x{at}-{i}"), "1");
            }
            assert!(matches!(many.commit().unwrap(), Outcome::Committed(_)));
        }
    };
    let read = |t: &mut Transaction| drop(range(t, &KeyRange::prefix("a"), Ascending, 9));
    assert_eq!(loses(repository, read, || others("a")).as_deref(), Some("a"));
    assert_eq!(loses(repository, read, || others("b")), None, "what was forgotten lies elsewhere");
    let deleted = || {
        delete(repository, "a");
        others("b");
        bench.checkpoint().unwrap();
        bench.evict();
    };
    assert_eq!(loses(repository, read, deleted).as_deref(), Some("a"), "a deletion at rest, too");
}

#[test]
fn expired_documents_are_not_in_ranges() {
    let bench = Bench::new();
    let repository = bench.repository();
    for i in 0..1000 {
        let mut transaction = repository.begin().unwrap();
        let expires = (i % 10 != 0).then(|| Timestamp(bench.now() + 10));
        let (at, body) = (key(&format!("{i:04}")), bytes::Bytes::from("1"));
        transaction.put(&notes(), &at, MediaType::Json, body, expires).unwrap();
        assert!(matches!(transaction.commit().unwrap(), Outcome::Committed(_)));
        if i == 500 {
            bench.checkpoint().unwrap();
            bench.evict();
        }
    }
    let mut before = repository.begin().unwrap();
    bench.move_clock(10);
    let mut after = repository.begin().unwrap();
    assert_eq!(range(&mut before, &KeyRange::all(), Descending, 2000).len(), 1000);
    assert_eq!(range(&mut after, &KeyRange::all(), Descending, 2000).len(), 100);
    assert_eq!(keys(&mut after, &KeyRange::all(), Ascending, 3), "0000 0010 0020");
}

/// What the model holds: bodies and when they expire.
type Model = BTreeMap<String, (String, Option<u64>)>;

fn expected(model: &Model, now: u64, at: &KeyRange, direction: Direction, limit: usize) -> Found {
    let is_inside = |key: &Key| {
        let after = match &at.from {
            Included(from) => key >= from,
            Excluded(from) => key > from,
            Unbounded => true,
        };
        after
            && match &at.to {
                Included(to) => key <= to,
                Excluded(to) => key < to,
                Unbounded => true,
            }
    };
    let alive = model.iter().filter(|(_, (_, expires))| expires.is_none_or(|at| at > now));
    let inside = alive.filter(|(at, _)| is_inside(&key(at)));
    let mut all: Found = inside.map(|(key, (body, _))| (key.clone(), body.clone())).collect();
    if direction == Descending {
        all.reverse();
    }
    all.truncate(limit);
    all
}

fn random_key(random: &mut Random) -> String {
    format!("{:03}", random.below(300))
}

fn random_range(random: &mut Random) -> (KeyRange, Direction, usize) {
    let bound = |random: &mut Random| match random.below(3) {
        0 => Unbounded,
        1 => Included(key(&random_key(random))),
        _ => Excluded(key(&random_key(random))),
    };
    let at = KeyRange::new(bound(random), bound(random));
    let direction = if random.once_in(2) { Ascending } else { Descending };
    (at, direction, [1, 2, 16, 17, 64, 1000][random.below(6)])
}

/// Stages a few random changes, in the model as well.
fn change(random: &mut Random, now: u64, transaction: &mut Transaction, model: &mut Model) {
    for _ in 0..random.below(12) {
        let at = random_key(random);
        let alive = model.get(&at).filter(|(_, expires)| expires.is_none_or(|at| at > now));
        match random.below(5) {
            0 | 1 => {
                let expires = random.once_in(4).then(|| now + random.below(40) as u64);
                let body = random.below(1000).to_string();
                let bytes = bytes::Bytes::from(body.clone());
                let expiry = expires.map(Timestamp);
                transaction.put(&notes(), &key(&at), MediaType::Json, bytes, expiry).unwrap();
                model.insert(at, (body, expires));
            }
            2 => {
                let (body, expires) = alive.cloned().unwrap_or(("0".to_owned(), None));
                let body = (body.parse::<u64>().unwrap() + 1).to_string();
                let add = Merge::Add { path: String::new(), delta: 1.0 };
                transaction.merge(&notes(), &key(&at), add).unwrap();
                model.insert(at, (body, expires));
            }
            _ => {
                transaction.delete(&notes(), &key(&at)).unwrap();
                model.remove(&at);
            }
        }
    }
}

fn compare_with_a_map(seed: u64) {
    let mut random = Random::new(seed);
    let mut bench = Bench::new();
    let mut model = Model::new();
    let mut old: Vec<(Transaction, Model, u64)> = Vec::new();
    for _ in 0..120 {
        let mut transaction = bench.repository().begin().unwrap();
        let now = transaction.time().0;
        change(&mut random, now, &mut transaction, &mut model);
        let (at, direction, limit) = random_range(&mut random);
        let found = range(&mut transaction, &at, direction, limit);
        let wanted = expected(&model, now, &at, direction, limit);
        assert_eq!(found, wanted, "seed {seed}, {at:?} with own writes");
        assert!(!matches!(transaction.commit().unwrap(), Outcome::Conflict(_)));
        match random.below(16) {
            0..3 => bench.checkpoint().unwrap(),
            3..6 => bench.evict(),
            6 => bench.reap(),
            7 => bench.compact().unwrap(),
            8..12 => bench.move_clock(5),
            12 if old.len() < 5 => {
                let view = bench.repository().begin().unwrap();
                let now = view.time().0;
                old.push((view, model.clone(), now));
            }
            13 if !old.is_empty() => drop(old.remove(random.below(old.len()))),
            14 if random.once_in(4) => {
                old.clear();
                bench.crash(true);
            }
            _ => {}
        }
        for (view, model, now) in &mut old {
            let (at, direction, limit) = random_range(&mut random);
            let found = range(view, &at, direction, limit);
            let wanted = expected(model, *now, &at, direction, limit);
            assert_eq!(found, wanted, "seed {seed}, {at:?} on an old view");
        }
    }
    old.clear();
    harness::verified(&bench.stop());
}

#[test]
fn ranges_are_those_of_a_map() {
    (0..12).for_each(compare_with_a_map);
}

#[test]
fn ranges_of_a_transaction() {
    let place = Place::new();
    let repository = place.open_only();
    let begin = || {
        let mut transaction = repository.begin().unwrap();
        for at in 0..TRANSACTION_RANGES_MAX {
            let range = KeyRange::prefix(&format!("a{at:04}"));
            transaction.range(&notes(), &range, Direction::Ascending, 1).unwrap();
        }
        put(&mut transaction, "z", "1");
        transaction
    };
    write(&repository, "a", "1");
    let mut full = begin();
    let beyond = full.range(&notes(), &KeyRange::all(), Direction::Ascending, 1);
    assert!(matches!(beyond, Err(ReadError::TooManyReads)), "{beyond:?}");
    // Each of so many is still checked: the first, one in the middle, the last, and none.
    for (changed, is_conflict) in
        [("a0000", true), ("a0500x", true), ("a0999", true), ("a1000", false), ("a", false)]
    {
        let transaction = begin();
        write(&repository, changed, "1");
        let outcome = transaction.commit().unwrap();
        match outcome {
            Outcome::Conflict(conflict) if is_conflict => {
                assert_eq!(conflict.documents[0].key, key(changed));
            }
            Outcome::Committed(_) if !is_conflict => {}
            other => panic!("{changed}: {other:?}"),
        }
    }
}
