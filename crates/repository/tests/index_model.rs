//! Indexes compared with a map, through checkpoints, evictions, crashes and rebuilding.

use crate::harness::indexes::{add, build, configured, find, numbers};
use crate::harness::random::Random;
use crate::harness::{configure, key, notes, verified};
use repository::{Direction, IndexRange, IndexValue, MediaType, Outcome, Timestamp, Transaction};
use std::collections::BTreeMap;

use Direction::{Ascending, Descending};

/// What the model holds: `n` and `t` of each document, and when it expires.
type Model = BTreeMap<String, (Option<i64>, Vec<&'static str>, Option<u64>)>;

const RANDOM: &str = r#"{"indexes":[
    {"name":"by_n","paths":[{"path":"/n","kind":"number"}]},
    {"name":"by_t","paths":[{"path":"/t","kind":"text","each":true},{"path":"/n"}]}]}"#;

fn random_change(random: &mut Random, now: u64, transaction: &mut Transaction, model: &mut Model) {
    for _ in 0..random.below(8) {
        let at = format!("{:02}", random.below(60));
        let alive = model.get(&at).filter(|(.., expires)| expires.is_none_or(|at| at > now));
        match random.below(5) {
            0 => {
                transaction.delete(&notes(), &key(&at)).unwrap();
                model.remove(&at);
            }
            1 => {
                let (n, tags, expires) = alive.cloned().unwrap_or_default();
                transaction.merge(&notes(), &key(&at), add("/n", 3.0)).unwrap();
                model.insert(at, (Some(n.unwrap_or(0) + 3), tags, expires));
            }
            _ => {
                let n = (!random.once_in(5)).then(|| random.below(40) as i64 - 20);
                let tags: Vec<&'static str> =
                    ["a", "b", "c"].into_iter().filter(|_| random.once_in(2)).collect();
                let expires = random.once_in(4).then(|| now + 1 + random.below(40) as u64);
                let list: Vec<String> = tags.iter().map(|tag| format!("\"{tag}\"")).collect();
                let n_text = n.map(|n| format!("\"n\":{n},")).unwrap_or_default();
                let body = format!("{{{n_text}\"t\":[{}]}}", list.join(",")).into();
                let expiry = expires.map(Timestamp);
                transaction.put(&notes(), &key(&at), MediaType::Json, body, expiry).unwrap();
                model.insert(at, (n, tags, expires));
            }
        }
    }
}

/// Compares a random range of each index with what follows from the model.
fn compare(random: &mut Random, view: &mut Transaction, (model, now): (&Model, u64), seed: u64) {
    let direction = if random.once_in(2) { Ascending } else { Descending };
    let limit = [1, 3, 20, 1000][random.below(4)];
    let (from, to) = (random.below(50) as i64 - 25, random.below(50) as i64 - 25);
    let alive = || model.iter().filter(|(_, (.., expires))| expires.is_none_or(|at| at > now));
    let expect = |mut rows: Vec<(String, i64, String)>| {
        rows.retain(|(_, n, _)| (from..to).contains(n));
        rows.sort();
        if direction == Descending {
            rows.reverse();
        }
        rows.truncate(limit);
        rows.into_iter().map(|(.., key)| key).collect::<Vec<_>>().join(" ")
    };
    let rows = alive().filter_map(|(key, (n, ..))| Some((String::new(), (*n)?, key.clone())));
    let found = find(view, "by_n", &numbers(from as f64, to as f64), direction, limit);
    assert_eq!(
        found,
        expect(rows.collect()),
        "seed {seed}, by_n {from}..{to} {direction:?} {limit}"
    );
    let tag = ["a", "b", "c"][random.below(3)];
    let rows = alive().filter(|(_, (_, tags, _))| tags.contains(&tag));
    let rows = rows.filter_map(|(key, (n, ..))| Some((tag.to_owned(), (*n)?, key.clone())));
    let range = IndexRange {
        equal: vec![IndexValue::Text(tag.to_owned())],
        ..numbers(from as f64, to as f64)
    };
    let found = find(view, "by_t", &range, direction, limit);
    assert_eq!(
        found,
        expect(rows.collect()),
        "seed {seed}, by_t {tag} {from}..{to} {direction:?} {limit}"
    );
}

fn compare_with_a_map(seed: u64) {
    let mut random = Random::new(seed);
    let mut bench = configured(RANDOM);
    let mut model = Model::new();
    let mut old: Vec<(Transaction, Model, u64)> = Vec::new();
    for round in 0..150 {
        let mut transaction = bench.repository().begin().unwrap();
        let now = transaction.time().0;
        random_change(&mut random, now, &mut transaction, &mut model);
        compare(&mut random, &mut transaction, (&model, now), seed);
        let outcome = transaction.commit().unwrap();
        assert!(!matches!(outcome, Outcome::Conflict(_)), "seed {seed}: {outcome:?}");
        match random.below(16) {
            0..3 => bench.checkpoint().unwrap(),
            3..6 => bench.evict(),
            6 => bench.reap(),
            7 => bench.compact().unwrap(),
            8..11 => bench.move_clock(5),
            11 if old.len() < 4 => {
                let view = bench.repository().begin().unwrap();
                let now = view.time().0;
                old.push((view, model.clone(), now));
            }
            12 if !old.is_empty() => drop(old.remove(random.below(old.len()))),
            13 if round % 8 == 0 => {
                old.clear();
                bench.crash(true);
            }
            14 if round % 8 == 0 => {
                old.clear();
                configure(bench.repository(), "notes", "{}");
                configure(bench.repository(), "notes", RANDOM);
                build(&bench);
            }
            _ => {}
        }
        for (view, model, now) in &mut old {
            compare(&mut random, view, (model, *now), seed);
        }
    }
    old.clear();
    verified(&bench.stop());
}

#[test]
fn indexes_are_those_of_a_map() {
    (0..12).for_each(compare_with_a_map);
}
