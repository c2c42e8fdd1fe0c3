//! Operations on single keys, each a transaction of its own.

use crate::record::Key;
use crate::workload::{Random, Scene, add, notes, number_in, put, repository_key};
use repository::{Outcome, Transaction};
use sim::checker::linearizability::{Action, Operation};
use std::convert::Infallible;

const THREADS: u64 = 4;
const OPERATIONS_PER_THREAD: u64 = 800;
const KEYS: u64 = 3;

pub fn run(seed: u64) -> Vec<Operation> {
    let scene = Scene::new();
    std::thread::scope(|scope| {
        let start = |thread| {
            let (scene, mut random) = (&scene, Random::new(seed * THREADS + thread));
            let one = move |_| {
                let key = Key(random.below(KEYS));
                let called = scene.now();
                let action = act(scene, &mut random, key);
                let returned = Some(scene.now());
                Operation { key: key.to_string(), action, called, returned }
            };
            scope.spawn(move || (0..OPERATIONS_PER_THREAD).map(one).collect::<Vec<_>>())
        };
        let threads: Vec<_> = (0..THREADS).map(start).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

fn act(scene: &Scene, random: &mut Random, key: Key) -> Action {
    let number = random.below(1_000) as i64;
    match random.below(10) {
        0..4 => {
            let mut transaction = scene.repository.begin().unwrap();
            std::thread::yield_now();
            Action::Get(get(&mut transaction, key))
        }
        4..6 => {
            alone(scene, |transaction| put(transaction, key, &number.to_string()));
            Action::Put(number)
        }
        6..8 => {
            alone(scene, |transaction| add(transaction, key, number));
            Action::Add(number)
        }
        8 => {
            alone(scene, |t| t.delete(&notes(), &repository_key(key)).unwrap());
            Action::Delete
        }
        // An addition by hand, with as many tries as it takes.
        _ => {
            let ran = scene.repository.run(|transaction| {
                let before = get(transaction, key).unwrap_or(0);
                std::thread::yield_now();
                put(transaction, key, &(before + number).to_string());
                Ok::<_, Infallible>(())
            });
            assert!(ran.unwrap().committed.is_some());
            Action::Add(number)
        }
    }
}

fn get(transaction: &mut Transaction, key: Key) -> Option<i64> {
    let document = transaction.get(&notes(), &repository_key(key)).unwrap();
    document.map(|document| number_in(&document))
}

/// One write that was not read: it commits, unless the serial lane holds it back for a while.
fn alone(scene: &Scene, write: impl Fn(&mut Transaction)) {
    for tries in 0.. {
        assert!(tries < 1_000_000, "it is always held back");
        let mut transaction = scene.repository.begin().unwrap();
        std::thread::yield_now();
        write(&mut transaction);
        match transaction.commit().unwrap() {
            Outcome::Committed(_) => return,
            Outcome::HeldBack => {}
            other => panic!("expected a commit, got {other:?}"),
        }
    }
}
