//! Versions that are kept: what was there at any moment, what is trimmed and never taken for what
//! never was, and that nothing of a history is left once it is not wanted.

use crate::harness::bench::Bench;
use crate::harness::random::Random;
use crate::harness::{
    self, Place, close_and_verify, configure, key, notes, text, verified, wait_until,
};
use bytes::Bytes;
use repository::limits::TRIM_ROWS_MAX;
use repository::{
    CommitNumber, Content, Ending, MediaType, Moment, Outcome, Past, Repository, Timestamp,
    Versions,
};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

fn put_all(repository: &Repository, puts: &[(&str, Option<u64>)]) -> u64 {
    let mut transaction = repository.begin().unwrap();
    for (at, value) in puts {
        match value {
            Some(value) => {
                let body = Bytes::from(value.to_string());
                transaction.put(&notes(), &key(at), MediaType::Json, body, None).unwrap();
            }
            None => transaction.delete(&notes(), &key(at)).unwrap(),
        }
    }
    match transaction.commit().unwrap() {
        Outcome::Committed(number) => number.0,
        other => panic!("{other:?}"),
    }
}

fn put(repository: &Repository, at: &str, value: u64) -> u64 {
    put_all(repository, &[(at, Some(value))])
}

fn past(repository: &Repository, at: &str, moment: Moment) -> Past {
    repository.begin().unwrap().past(&notes(), &key(at), moment).unwrap()
}

fn at(repository: &Repository, name: &str, number: u64) -> Past {
    past(repository, name, Moment::Commit(CommitNumber(number)))
}

/// The value at a commit; "-": none; "?": not kept.
fn value(past: Past) -> String {
    match past {
        Past::Document(document) => text(&document),
        Past::Absent => "-".to_owned(),
        Past::NotKept(_) => "?".to_owned(),
        Past::NotYet(..) => "!".to_owned(),
    }
}

fn values(repository: &Repository, name: &str, numbers: &[u64]) -> String {
    let all = numbers.iter().map(|&number| value(at(repository, name, number)));
    all.collect::<Vec<_>>().join(" ")
}

fn versions(repository: &Repository, name: &str, before: Option<u64>, limit: usize) -> Versions {
    let before = before.map(CommitNumber);
    repository.begin().unwrap().versions(&notes(), &key(name), before, limit).unwrap()
}

/// The commits of versions, and "-" after those that removed it.
fn list(versions: &Versions) -> Vec<(u64, bool)> {
    versions.entries.iter().map(|entry| (entry.commit.0, entry.document.is_some())).collect()
}

#[test]
fn every_version_is_found_at_every_moment() {
    let bench = Bench::new();
    let repository = bench.repository();
    let unknown = put(repository, "a", 1);
    configure(repository, "notes", r#"{"history":{"versions":10}}"#);
    let since = unknown + 1;
    bench.move_clock(10);
    let second = put(repository, "a", 2);
    bench.move_clock(10);
    let third = put(repository, "a", 3);
    let gone = put_all(repository, &[("a", None)]);
    bench.move_clock(10);
    let again = put(repository, "a", 4);
    bench.move_clock(10);
    let check = |repository: &Repository| {
        // The version that was there when the history began is kept as well.
        let numbers = [unknown - 1, unknown, since, second, third, gone, again, again + 1];
        assert_eq!(values(repository, "a", &numbers), "? 1 1 2 3 - 4 !");
        assert_eq!(values(repository, "b", &[unknown, since, again]), "? - -");
        assert_eq!(at(repository, "a", 0), Past::NotKept(Some(CommitNumber(since))));
        let everything = versions(repository, "a", None, 100);
        let expected =
            [(again, true), (gone, false), (third, true), (second, true), (unknown, true)];
        assert_eq!(list(&everything), expected);
        assert_eq!((everything.since, everything.has_more), (Some(CommitNumber(since)), false));
        // Page by page it is the same, wherever a page ends.
        for limit in 1..5 {
            let (mut before, mut all) = (None, Vec::new());
            loop {
                let page = versions(repository, "a", before, limit);
                assert!(page.entries.len() <= limit);
                before = page.entries.last().map(|entry| entry.commit.0);
                all.extend(list(&page));
                if !page.has_more {
                    break;
                }
            }
            assert_eq!(all, expected, "{limit} at a time");
        }
    };
    check(repository);
    bench.checkpoint().unwrap();
    check(repository);
    bench.evict();
    check(repository);
    // By time: what all commits up to then left.
    let by_time = |repository: &Repository, ms: u64| {
        value(past(repository, "a", Moment::Time(Timestamp(1_000_000 + ms))))
    };
    let times: Vec<String> =
        [0, 9, 10, 19, 20, 29, 30, 39, 40].map(|ms| by_time(repository, ms)).into();
    assert_eq!(times.join(" "), "1 1 2 2 - - 4 4 !");
    assert_eq!(by_time(repository, 0), "1");
    // Nothing of it is a read that could conflict, and own writes are not the past.
    let mut transaction = repository.begin().unwrap();
    let body = Bytes::from("9");
    transaction.put(&notes(), &key("a"), MediaType::Json, body, None).unwrap();
    let now = CommitNumber(again);
    let found = transaction.past(&notes(), &key("a"), Moment::Commit(now)).unwrap();
    assert_eq!(value(found), "4");
    drop(transaction);
    let mut bench = bench;
    for is_written in [true, true] {
        bench.crash(is_written);
        check(bench.repository());
    }
    assert_eq!(verified(&bench.stop()), 1);
}

#[test]
fn a_collection_without_a_history_knows_the_present_only() {
    let place = Place::new();
    let repository = place.open_only();
    let first = put(&repository, "a", 1);
    let second = put(&repository, "a", 2);
    assert_eq!(values(&repository, "a", &[first, second]), "? 2");
    assert_eq!(at(&repository, "a", first), Past::NotKept(None));
    assert_eq!(list(&versions(&repository, "a", None, 9)), [(second, true)]);
    assert_eq!(versions(&repository, "a", None, 9).since, None);
    let other = harness::named("other");
    let mut transaction = repository.begin().unwrap();
    let moment = Moment::Commit(CommitNumber(first));
    let found = transaction.past(&other, &key("a"), moment).unwrap();
    assert_eq!(found, Past::NotKept(None), "it may have been there and dropped");
}

#[test]
fn what_is_too_much_is_trimmed_and_never_taken_for_what_never_was() {
    let place = Place::new();
    let repository = place.open_only();
    configure(&repository, "notes", r#"{"history":{"versions":2}}"#);
    let numbers: Vec<u64> = (1..=5).map(|value| put(&repository, "a", value)).collect();
    let other = put(&repository, "b", 1);
    wait_until("the first two are trimmed", || values(&repository, "a", &numbers) == "? ? 3 4 5");
    assert_eq!(at(&repository, "a", numbers[1]), Past::NotKept(Some(CommitNumber(numbers[2]))));
    assert_eq!(list(&versions(&repository, "a", None, 9)).len(), 3);
    // What is known of others stays known.
    assert_eq!(values(&repository, "b", &[numbers[0], other]), "- 1");
    // Fewer: what was kept until then is looked through, whatever happens meanwhile.
    configure(&repository, "notes", r#"{"history":{"versions":1}}"#);
    repository.close().unwrap();
    drop(repository);
    let repository = place.open_only();
    wait_until("a third is", || values(&repository, "a", &numbers) == "? ? ? 4 5");
    put_all(&repository, &[("a", None)]);
    let last = repository.stats().visible.0;
    wait_until("the last is left", || values(&repository, "a", &numbers) == "? ? ? ? 5");
    assert_eq!(values(&repository, "a", &[last]), "-");
    // Off: nothing is left of it on disk, and on again, it begins anew.
    configure(&repository, "notes", "{}");
    assert_eq!(at(&repository, "a", numbers[4]), Past::NotKept(None));
    configure(&repository, "notes", r#"{"history":{"age":1000}}"#);
    assert_eq!(values(&repository, "a", &[numbers[4]]), "?");
    assert_eq!(close_and_verify(&place, repository), 1);
}

#[test]
fn what_is_too_old_leaves_by_itself() {
    let place = Place::new();
    let repository = place.open_only();
    configure(&repository, "notes", r#"{"history":{"age":1000}}"#);
    let keys: Vec<String> = (0..1200).map(|i| format!("k{i:04}")).collect();
    let puts: Vec<_> = keys.iter().map(|at| (at.as_str(), Some(1))).collect();
    let first = put_all(&repository, &puts);
    place.now.fetch_add(500, Ordering::Relaxed);
    let puts: Vec<_> = keys.iter().map(|at| (at.as_str(), None)).collect();
    let second = put_all(&repository, &puts);
    let number = put(&repository, "stays", 1);
    let kept = values(&repository, "k0007", &[first, second]);
    assert_eq!(kept, "1 -");
    repository.checkpoint().unwrap();
    place.now.fetch_add(999, Ordering::Relaxed);
    assert_eq!(values(&repository, "k0007", &[first, second]), "1 -");
    place.now.fetch_add(2, Ordering::Relaxed);
    // At once, before anything is removed.
    assert_eq!(values(&repository, "k0007", &[first]), "?");
    assert_eq!(list(&versions(&repository, "k0007", None, 9)), []);
    wait_until("all is removed", || {
        value(at(&repository, "k0007", second)) == "-"
            && keys.iter().all(|at| values(&repository, at, &[first]) == "?")
            && repository.stats().visible.0 > number
    });
    assert_eq!(values(&repository, "stays", &[number]), "1");
    assert_eq!(close_and_verify(&place, repository), 1);
}

#[test]
fn documents_that_expire_are_kept_as_those_that_are_deleted() {
    let bench = Bench::new();
    let repository = bench.repository();
    configure(repository, "notes", r#"{"expiry":100,"history":{"versions":3}}"#);
    let first = put(repository, "a", 1);
    bench.checkpoint().unwrap();
    bench.evict();
    bench.move_clock(200);
    bench.reap();
    let removed = repository.stats().visible.0;
    assert!(removed > first);
    assert_eq!(values(repository, "a", &[first, removed - 1, removed]), "1 1 -");
    assert_eq!(list(&versions(repository, "a", None, 9)), [(removed, false), (first, true)]);
    assert_eq!(verified(&bench.stop()), 0);
}

#[test]
fn a_collection_that_ends_takes_its_history_along() {
    let place = Place::new();
    let repository = place.open_only();
    for (round, settings) in [r#"{"versions":3}"#, r#"{"age":60000}"#].into_iter().enumerate() {
        configure(&repository, "notes", &format!(r#"{{"history":{settings}}}"#));
        let first = put(&repository, "a", 1);
        put(&repository, "a", 2);
        let view = repository.begin().unwrap();
        let emptied = repository.end(&notes(), Ending::Empty).unwrap().unwrap().0;
        let third = put(&repository, "a", 3);
        let fourth = put(&repository, "a", 4);
        let known = values(&repository, "a", &[first, emptied, third, fourth]);
        assert_eq!(known, "? - 3 4", "round {round}");
        let mut view = view;
        let old = view.past(&notes(), &key("a"), Moment::Commit(CommitNumber(first))).unwrap();
        assert_eq!(value(old), "1", "a view from before sees what there was");
        drop(view);
        repository.end(&notes(), Ending::Drop).unwrap().unwrap();
        assert_eq!(values(&repository, "a", &[first, third]), "? ?");
        wait_until("nothing is left of either", || repository.stats().ending == 0);
    }
    assert_eq!(close_and_verify(&place, repository), 0);
}

#[test]
fn what_one_commit_trims_is_bounded() {
    let bench = Bench::with_memory(256 << 20);
    let repository = bench.repository();
    configure(repository, "notes", r#"{"history":{"versions":1000}}"#);
    // Nothing is trimmed until it is told to.
    for round in 0..6 {
        let keys: Vec<String> = (0..500).map(|i| format!("{i:03}")).collect();
        let puts: Vec<_> = keys.iter().map(|at| (at.as_str(), Some(round))).collect();
        put_all(repository, &puts);
    }
    bench.reap();
    configure(repository, "notes", r#"{"history":{"versions":1}}"#);
    let before = repository.stats().visible.0;
    for _ in 0..3 {
        bench.reap();
    }
    // Four rows of each of 500 documents.
    let commits = repository.stats().visible.0 - before;
    assert!(commits >= (4 * 500_usize).div_ceil(TRIM_ROWS_MAX) as u64, "{commits} commits");
    for i in 0..500 {
        let kept = versions(repository, &format!("{i:03}"), None, 9);
        assert_eq!(kept.entries.len(), 2, "{i}");
    }
    assert_eq!(verified(&bench.stop()), 500);
}

/// A number of keys, of which each has a map of what every commit left.
#[test]
fn it_is_as_maps_of_all_versions_say() {
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let mut below = |bound: u64| random.below(bound as usize) as u64;
        let most = below(4) + 1;
        let mut bench = Bench::new();
        let settings = format!(r#"{{"history":{{"versions":{most}}}}}"#);
        configure(bench.repository(), "notes", &settings);
        let begun = bench.repository().stats().visible.0;
        let mut model: BTreeMap<String, BTreeMap<u64, Option<u64>>> = BTreeMap::new();
        for step in 0..400 {
            bench.move_clock(below(3));
            let name = format!("k{}", below(5));
            match below(20) {
                0 => bench.checkpoint().unwrap(),
                1 => bench.evict(),
                2 => bench.reap(),
                3 => bench.crash(true),
                4..9 => {
                    let is_there = model
                        .get(&name)
                        .and_then(|versions| versions.values().last().copied().flatten());
                    if is_there.is_some() {
                        let number = put_all(bench.repository(), &[(&name, None)]);
                        model.entry(name).or_default().insert(number, None);
                    }
                }
                _ => {
                    let number = put(bench.repository(), &name, step);
                    model.entry(name).or_default().insert(number, Some(step));
                }
            }
            let visible = bench.repository().stats().visible.0;
            let name = format!("k{}", below(5));
            let number = begun + below(visible - begun + 1);
            let history = model.entry(name.clone()).or_default();
            let expected = history.range(..=number).next_back().and_then(|(_, value)| *value);
            let expected = expected.map_or("-".to_owned(), |value| value.to_string());
            let got = value(at(bench.repository(), &name, number));
            // Documents that were removed or replaced after it, and are kept for that.
            let after: Vec<Option<u64>> = history.values().copied().collect();
            let ends = after.windows(2).filter(|pair| pair[0].is_some()).count() as u64;
            let is_trimmable = ends > most;
            assert!(
                got == expected || (got == "?" && is_trimmable),
                "seed {seed}, step {step}: {name} at {number}: {got}, expected {expected}"
            );
        }
        bench.reap();
        for (name, history) in &model {
            let kept = list(&versions(bench.repository(), name, None, 100));
            let kept = kept.iter().filter(|(_, is_there)| *is_there).count() as u64;
            let is_there = history.values().last().copied().flatten().is_some();
            assert!(kept <= most + u64::from(is_there), "seed {seed}: {kept} of {name}");
        }
        verified(&bench.stop());
    }
}

/// More than stays in a document.
const BLOB_BYTES: usize = 70_000;

fn put_blob(repository: &Repository, at: &str, seed: u8) -> u64 {
    let mut writer = repository.blob_writer(u64::MAX);
    writer.write(&vec![seed; BLOB_BYTES]).unwrap();
    let content = writer.finish().unwrap();
    let mut transaction = repository.begin().unwrap();
    let png = MediaType::Other("image/png".into());
    transaction.put_content(&notes(), &key(at), png, &content, None).unwrap();
    match transaction.commit().unwrap() {
        Outcome::Committed(number) => number.0,
        other => panic!("{other:?}"),
    }
}

/// The first byte of the blob that was there at a commit, all of which is read; 0: there was none,
/// 255: it is not known.
fn seed(repository: &Repository, name: &str, number: u64) -> u8 {
    let mut transaction = repository.begin().unwrap();
    let moment = Moment::Commit(CommitNumber(number));
    match transaction.past(&notes(), &key(name), moment).unwrap() {
        Past::Document(document) => {
            let reader = transaction.pin_blob(&document).unwrap().unwrap().open().unwrap();
            let content = reader.read(0).unwrap();
            assert_eq!(content, vec![content[0]; BLOB_BYTES]);
            content[0]
        }
        Past::Absent => 0,
        _ => 255,
    }
}

fn seeds(repository: &Repository, name: &str, numbers: &[u64]) -> Vec<u8> {
    numbers.iter().map(|&number| seed(repository, name, number)).collect()
}

fn blob_files(bench: &Bench) -> u64 {
    (0..5).for_each(|_| bench.tend_blobs());
    bench.repository().blob_stats().count
}

#[test]
fn versions_that_are_blobs_are_kept_and_their_blobs_go_with_the_last() {
    let mut bench = Bench::new();
    let check = |bench: &Bench, name: &str, numbers: &[u64], expected: &[u8]| {
        assert_eq!(seeds(bench.repository(), name, numbers), expected);
    };
    configure(bench.repository(), "notes", r#"{"history":{"versions":2}}"#);
    let first = put_blob(bench.repository(), "a", 1);
    let second = put_blob(bench.repository(), "a", 2);
    let gone = put_all(bench.repository(), &[("a", None)]);
    bench.write_log();
    assert_eq!(blob_files(&bench), 2);
    let numbers = [first, second, gone];
    check(&bench, "a", &numbers, &[1, 2, 0]);
    let listed = versions(bench.repository(), "a", None, 9);
    assert_eq!(list(&listed), [(gone, false), (second, true), (first, true)]);
    let lengths = listed.entries.iter().filter_map(|e| Some(e.document.as_ref()?.length()));
    assert_eq!(lengths.collect::<Vec<_>>(), [BLOB_BYTES as u64; 2]);
    // From the log, and from the engine.
    bench.crash(true);
    check(&bench, "a", &numbers, &[1, 2, 0]);
    bench.checkpoint().unwrap();
    bench.evict();
    check(&bench, "a", &numbers, &[1, 2, 0]);
    bench.crash(true);
    bench.sweep_blobs().unwrap();
    assert_eq!(blob_files(&bench), 2);
    // The same content again: the blob has two names, and goes with the last of them.
    let again = put_blob(bench.repository(), "a", 1);
    let third = put_blob(bench.repository(), "a", 3);
    bench.reap();
    bench.write_log();
    assert_eq!(blob_files(&bench), 3);
    check(&bench, "a", &[first, second, again, third], &[255, 2, 1, 3]);
    put_blob(bench.repository(), "a", 4);
    bench.reap();
    bench.crash(true);
    bench.sweep_blobs().unwrap();
    assert_eq!(blob_files(&bench), 3, "the second has gone with its version");
    check(&bench, "a", &[second, again, third], &[255, 1, 3]);
    let place = bench.stop();
    verified(&place);
}

#[test]
fn blobs_of_versions_go_with_their_time_and_with_their_history() {
    let bench = Bench::new();
    let repository = bench.repository();
    configure(repository, "notes", r#"{"history":{"age":100}}"#);
    let first = put_blob(repository, "a", 1);
    put_blob(repository, "a", 2);
    put(repository, "b", 7);
    put_blob(repository, "b", 3);
    bench.checkpoint().unwrap();
    bench.evict();
    bench.write_log();
    assert_eq!((blob_files(&bench), seed(repository, "a", first)), (3, 1));
    bench.move_clock(101);
    bench.reap();
    bench.write_log();
    assert_eq!((blob_files(&bench), seed(repository, "a", first)), (2, 255));
    // A history that is not wanted any more, of either kind.
    for history in [r#"{"history":{"age":1000}}"#, r#"{"history":{"versions":9}}"#] {
        configure(repository, "notes", history);
        put_blob(repository, "a", 4);
        put_blob(repository, "a", 2);
        put(repository, "b", 8);
        put_blob(repository, "b", 3);
        bench.write_log();
        assert_eq!(blob_files(&bench), 3);
        configure(repository, "notes", "{}");
        (0..9).for_each(|_| bench.reap());
        bench.checkpoint().unwrap();
        bench.write_log();
        assert_eq!(blob_files(&bench), 2, "{history}");
    }
    // Nor is one of a collection that ends.
    configure(repository, "notes", r#"{"history":{"versions":9}}"#);
    put_blob(repository, "a", 5);
    repository.end(&notes(), Ending::Drop).unwrap().unwrap();
    (0..9).for_each(|_| bench.reap());
    bench.checkpoint().unwrap();
    bench.write_log();
    assert_eq!(blob_files(&bench), 0);
    verified(&bench.stop());
}

#[test]
fn the_blob_of_a_version_can_be_named_again() {
    let bench = Bench::new();
    let repository = bench.repository();
    configure(repository, "notes", r#"{"history":{"versions":1}}"#);
    let first = put_blob(repository, "a", 1);
    put(repository, "a", 2);
    let mut transaction = repository.begin().unwrap();
    let moment = Moment::Commit(CommitNumber(first));
    let Past::Document(document) = transaction.past(&notes(), &key("a"), moment).unwrap() else {
        panic!("it is kept");
    };
    let pin = transaction.pin_blob(&document).unwrap().unwrap();
    let content = Content::Blob(pin);
    transaction
        .put_content(&notes(), &key("a"), document.media_type.clone(), &content, None)
        .unwrap();
    let Outcome::Committed(again) = transaction.commit().unwrap() else { panic!("no commit") };
    drop(content);
    bench.reap();
    bench.write_log();
    assert_eq!(blob_files(&bench), 1);
    assert_eq!(seeds(repository, "a", &[first, again.0]), [255, 1]);
    verified(&bench.stop());
}
