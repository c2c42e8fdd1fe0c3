//! Many threads at the same items: no update is lost.

use super::*;
use cache::{Mode, Refused};
use std::thread;

const THREADS: usize = 4;
const ROUNDS: u64 = 20_000;

fn together(work: impl Fn() + Sync) {
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(&work);
        }
    });
}

#[test]
fn each_increment_counts() {
    let cache = cache(64 << 20);
    set(&cache, b"n", b"0", Expires::NEVER);
    together(|| {
        for _ in 0..ROUNDS {
            let key = cache.key(b"n");
            let mut shard = cache.lock(&key);
            shard.find(&key, Command::Increment).unwrap().add(1, false, None).unwrap();
        }
    });
    let expected = (THREADS as u64 * ROUNDS).to_string();
    assert_eq!(get(&cache, b"n").unwrap(), expected.as_bytes());
}

#[test]
fn one_of_those_who_compare_wins() {
    let cache = cache(64 << 20);
    set(&cache, b"n", b"0", Expires::NEVER);
    together(|| {
        let mut done = 0;
        while done < ROUNDS / 10 {
            let key = cache.key(b"n");
            let (cas, number) = {
                let mut shard = cache.lock(&key);
                let found = shard.find(&key, Command::Get).unwrap();
                let text = String::from_utf8(found.value().to_vec()).unwrap();
                (found.cas(), text.parse::<u64>().unwrap())
            };
            let next = (number + 1).to_string();
            let store = Store {
                mode: Mode::Cas,
                compare: Some(cas),
                ..Store::set(next.as_bytes(), 0, Expires::NEVER)
            };
            match cache.lock(&key).store(&key, &store) {
                Ok(_) => done += 1,
                Err(Refused::Exists) => {}
                Err(other) => panic!("{other}"),
            }
        }
    });
    let expected = (THREADS as u64 * (ROUNDS / 10)).to_string();
    assert_eq!(get(&cache, b"n").unwrap(), expected.as_bytes());
}

/// What is read is what somebody wrote under that key, though items come and go all the time.
#[test]
fn nobody_reads_half_a_value() {
    let cache = cache(8 << 20);
    together(|| {
        let mut random = random::Random(thread_seed());
        for _ in 0..ROUNDS {
            let n = random.below(8_000);
            let name = n.to_le_bytes();
            let length = 1 + random.below(4_000) as usize;
            if random.below(2) == 0 {
                let value = vec![(n ^ length as u64) as u8; length];
                set(&cache, &name, &value, Expires::NEVER);
            } else if let Some(value) = get(&cache, &name) {
                let byte = (n ^ value.len() as u64) as u8;
                assert!(value.iter().all(|other| *other == byte), "key {n}");
            }
        }
    });
    assert!(cache.figures().evictions > 0);
}

fn thread_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(thread::current().id())
}
