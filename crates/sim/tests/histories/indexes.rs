//! Indexes while many threads write: what is unique stays so, and an index that is built meanwhile
//! has every document.

use crate::record::Key;
use crate::workload::{Random, Scene, SetAtEnd, repository_key, wait_built};
use repository::{
    CollectionName, Direction, IndexRange, IndexValue, Isolation, KeyRange, MediaType, Outcome,
    Settings, Transaction,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

const THREADS: u64 = 4;
const WRITES_PER_THREAD: u64 = 500;
const KEYS: u64 = 6;
const VALUES: u64 = 8;

fn collection() -> CollectionName {
    CollectionName::new("people").unwrap()
}

fn settings(is_unique: bool) -> Settings {
    let text = format!(
        r#"{{"indexes":[{{"name":"by-v","paths":[{{"path":"/v"}}],"unique":{is_unique}}}]}}"#
    );
    Settings::from_json(&text).unwrap()
}

fn configure(scene: &Scene, settings: &Settings) {
    scene.repository.configure(&collection(), settings).unwrap();
    wait_built(&scene.repository);
}

/// What is staged: a value per key, or a deletion.
type Writes = BTreeMap<Key, Option<u64>>;

fn stage(transaction: &mut Transaction, writes: &Writes) {
    for (key, value) in writes {
        let at = repository_key(*key);
        let Some(value) = value else {
            transaction.delete(&collection(), &at).unwrap();
            continue;
        };
        let body = format!(r#"{{"v":{value}}}"#).into_bytes().into();
        transaction.put(&collection(), &at, MediaType::Json, body, None).unwrap();
    }
}

/// One document, or two, which may exchange what they have.
fn writes(random: &mut Random) -> Writes {
    let one = |random: &mut Random| {
        let value = (random.below(4) > 0).then(|| random.below(VALUES));
        (Key(random.below(KEYS)), value)
    };
    (0..=random.below(2)).map(|_| one(random)).collect()
}

/// How a transaction on unique values went.
enum Ended {
    Committed(u64, Writes),
    /// At this view, the second of the keys had what the first was to get.
    Duplicate(u64, Writes, Key, Key),
}

/// Writes for a while. The index must refuse some, and only those that it should.
pub fn fight_over_values(seed: u64) -> Result<(), String> {
    let scene = Scene::new();
    configure(&scene, &settings(true));
    let ends: Vec<Ended> = std::thread::scope(|scope| {
        let start = |thread| {
            let (scene, random) = (&scene, Random::new(seed * THREADS + thread));
            scope.spawn(move || fight(scene, random))
        };
        let threads: Vec<_> = (0..THREADS).map(start).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    // What was there after each commit.
    let mut states = BTreeMap::from([(0, Writes::new())]);
    let committed = ends.iter().filter_map(|end| match end {
        Ended::Committed(number, writes) => Some((*number, writes)),
        Ended::Duplicate(..) => None,
    });
    for (number, writes) in committed.collect::<BTreeMap<_, _>>() {
        let mut state = states.values().next_back().cloned().unwrap_or_default();
        state.extend(writes);
        state.retain(|_, value| value.is_some());
        if state.values().collect::<BTreeSet<_>>().len() < state.len() {
            return Err(format!("after commit {number}, which wrote {writes:?}: {state:?}"));
        }
        states.insert(number, state);
    }
    let mut duplicates = 0;
    for end in &ends {
        let Ended::Duplicate(view, writes, key, holder) = end else { continue };
        duplicates += 1;
        let mut state = states.range(..=view).next_back().map(|(_, s)| s.clone()).unwrap();
        state.extend(writes);
        let (of_key, of_holder) = (state.get(key), state.get(holder));
        if key == holder || of_key.is_none_or(Option::is_none) || of_key != of_holder {
            return Err(format!("at {view}, {key} was refused for {holder}: {state:?}"));
        }
    }
    match duplicates {
        0 => Err("the threads were meant to want the same values".to_owned()),
        _ => Ok(()),
    }
}

fn fight(scene: &Scene, mut random: Random) -> Vec<Ended> {
    let mut ends = Vec::new();
    for _ in 0..WRITES_PER_THREAD {
        let writes = writes(&mut random);
        let mut transaction = scene.repository.begin().unwrap();
        if random.below(2) == 0 {
            transaction.set_isolation(Isolation::Snapshot);
        }
        let view = transaction.view().0;
        std::thread::yield_now();
        stage(&mut transaction, &writes);
        match transaction.commit().unwrap() {
            Outcome::Committed(number) => ends.push(Ended::Committed(number.0, writes)),
            Outcome::Duplicate(duplicate) => {
                let key = Key::parse(duplicate.key.as_str());
                let holder = Key::parse(duplicate.holder.as_str());
                ends.push(Ended::Duplicate(view, writes, key, holder));
            }
            Outcome::Conflict(_) | Outcome::HeldBack | Outcome::Unchanged(_) => {}
        }
    }
    ends
}

/// Makes the index and takes it away again while others write, and compares it with the documents.
pub fn build_while_others_write(seed: u64) -> Result<(), String> {
    const TIMES: usize = 4;
    let scene = Scene::new();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (scene, is_over) = (&scene, &is_over);
            let mut random = Random::new(seed * THREADS + thread);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let mut transaction = scene.repository.begin().unwrap();
                    stage(&mut transaction, &writes(&mut random));
                    transaction.commit().unwrap();
                }
            });
        }
        let _over = SetAtEnd(&is_over);
        (0..TIMES).try_for_each(|_| {
            configure(&scene, &settings(false));
            let checked = (0..20).try_for_each(|_| {
                std::thread::yield_now();
                compare(&scene)
            });
            configure(&scene, &Settings::default());
            checked
        })
    })
}

/// Whether the index and the documents are the same on one view.
fn compare(scene: &Scene) -> Result<(), String> {
    let mut transaction = scene.repository.begin().unwrap();
    let (up, all) = (Direction::Ascending, usize::MAX);
    let documents = transaction.range(&collection(), &KeyRange::all(), up, all).unwrap();
    let rows = transaction.index_range(&collection(), "by-v", &IndexRange::all(), up, all).unwrap();
    let value = |body: &[u8]| {
        let text = std::str::from_utf8(body).unwrap();
        let number = text.trim_start_matches("{\"v\":").trim_end_matches('}');
        vec![IndexValue::Number(number.parse().unwrap())]
    };
    let mut expected: Vec<_> = documents.iter().map(|(k, d)| (value(&d.body), k.clone())).collect();
    expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let got: Vec<_> = rows.into_iter().map(|entry| (entry.values, entry.key)).collect();
    match got == expected {
        true => Ok(()),
        false => Err(format!("at {}: expected {expected:?}, got {got:?}", transaction.view())),
    }
}
