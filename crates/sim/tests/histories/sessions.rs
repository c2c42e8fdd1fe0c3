//! Documents that expire under threads, with a clock that each look moves on: whoever commits after
//! reading one as alive is before everybody who can have seen that it is gone.

use crate::workload::{Random, notes};
use repository::{Key, MediaType, Options, Outcome, Repository, Timestamp, Transaction};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const THREADS: u64 = 4;
const TRANSACTIONS_PER_THREAD: u64 = 2_000;
const KEYS: u64 = 3;
/// Looks at the clock that a session lives at most.
const LIFE: u64 = 12;

/// A transaction that ended well.
struct Ended {
    /// Its place among the commits: its own number, or that of its view, and then whether it comes
    /// after the commit of this number.
    place: (u64, bool),
    /// The time of its view.
    time: u64,
    /// When the first of those expires that it has read as alive.
    first_to_expire: Option<u64>,
}

/// Runs it; the error says who saw the wrong thing.
pub fn run(seed: u64) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let now = Arc::new(AtomicU64::new(1_000_000));
    let clock = Arc::clone(&now);
    let options = Options {
        folder: folder.path().to_owned(),
        memory_bytes: 64 << 20,
        clock: Arc::new(move || Timestamp(clock.fetch_add(1, Ordering::Relaxed))),
    };
    let (repository, _) = Repository::open(options).unwrap();
    let ended: Vec<Ended> = std::thread::scope(|scope| {
        let start = |thread| {
            let (repository, random) = (&repository, Random::new(seed * THREADS + thread));
            scope.spawn(move || work(repository, random))
        };
        let threads: Vec<_> = (0..THREADS).map(start).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    judge(ended)
}

fn work(repository: &Repository, mut random: Random) -> Vec<Ended> {
    let mut ended = Vec::new();
    for _ in 0..TRANSACTIONS_PER_THREAD {
        let mut transaction = repository.begin().unwrap();
        let (view, time) = (transaction.view().0, transaction.time().0);
        let mut first_to_expire: Option<u64> = None;
        for _ in 0..random.below(3) {
            let key = key(random.below(KEYS));
            let found = transaction.get(&notes(), &key).unwrap();
            let end = found.and_then(|document| document.expires).map(|at| at.0);
            first_to_expire = first_to_expire.into_iter().chain(end).min();
            std::thread::yield_now();
        }
        match random.below(3) {
            0 => put(&mut transaction, &key(KEYS), None),
            1 => {
                let end = time + 1 + random.below(LIFE);
                put(&mut transaction, &key(random.below(KEYS)), Some(Timestamp(end)));
            }
            _ => {}
        }
        let place = match transaction.commit().unwrap() {
            Outcome::Committed(number) => (number.0, false),
            Outcome::Unchanged(_) => (view, true),
            _ => continue,
        };
        ended.push(Ended { place, time, first_to_expire });
    }
    ended
}

/// In the order of their places, nobody has a session that was over for somebody before.
fn judge(mut ended: Vec<Ended>) -> Result<(), String> {
    ended.sort_by_key(|e| (e.place, e.time));
    let mut latest = 0;
    let mut alive = 0;
    for Ended { place, time, first_to_expire } in ended {
        if let Some(end) = first_to_expire {
            alive += 1;
            if end <= latest {
                return Err(format!(
                    "{place:?} read at {time} what ends at {end}; it was {latest} before"
                ));
            }
        }
        latest = latest.max(time);
    }
    if alive == 0 { Err("nobody has read a session".to_owned()) } else { Ok(()) }
}

fn key(number: u64) -> Key {
    Key::new(&format!("s{number}")).unwrap()
}

fn put(transaction: &mut Transaction, key: &Key, expires: Option<Timestamp>) {
    transaction.put(&notes(), key, MediaType::Json, "1".into(), expires).unwrap();
}
