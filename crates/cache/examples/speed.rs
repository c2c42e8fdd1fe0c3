//! What an operation costs, on one thread that does nothing else: the best of some rounds each.
//!
//!     cargo run --release -p cache --example speed

#![allow(clippy::print_stdout)]

use cache::{Cache, Command, Expires, Settings, Store};
use std::error::Error;
use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;

const OPERATIONS: u64 = 1_000_000;
const ROUNDS: usize = 7;
const KEYS: u64 = 100_000;

/// SplitMix64 (Steele, Lea, Flood, 2014).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn name_of(key: u64) -> [u8; 20] {
    let mut name = *b"key:0000000000000000";
    let mut rest = key;
    for digit in name[4..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    name
}

/// Nanoseconds that this thread has worked, where the system tells, so that others on the machine
/// count less; else those that passed.
fn now() -> f64 {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    let worked = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let worked = worked.and_then(|text| text.split(' ').next()?.parse().ok());
    worked.unwrap_or_else(|| BEGUN.get_or_init(Instant::now).elapsed().as_nanos() as f64)
}

fn report(what: &str, mut operation: impl FnMut(u64)) {
    let mut best = f64::MAX;
    for round in 0..ROUNDS {
        let mut state = round as u64;
        let begun = now();
        for _ in 0..OPERATIONS {
            operation(random(&mut state));
        }
        best = best.min((now() - begun) / OPERATIONS as f64);
    }
    println!("{what:<44} {best:>6.0} ns");
}

fn main() -> Result<(), Box<dyn Error>> {
    let cache = Cache::new(&Settings::new(64 << 20, 7))?;
    let value = [b'x'; 100];
    let store = Store::set(&value, 0, Expires::NEVER);
    for key in 0..KEYS {
        let name = name_of(key);
        let key = cache.key(&name);
        cache.lock(&key).store(&key, &store)?;
    }
    let mut out = Vec::with_capacity(1 << 20);
    report("making a key's name, for comparison", |number| {
        black_box(name_of(number % KEYS));
    });
    for (what, keys) in [
        ("get of 100 bytes, copied, of 1,000 keys", 1_000),
        ("get of 100 bytes, copied, of 100,000 keys", KEYS),
    ] {
        report(what, |number| {
            let name = name_of(number % keys);
            let key = cache.key(&name);
            let mut shard = cache.lock(&key);
            if let Some(mut found) = shard.find(&key, Command::Get) {
                found.mark_fetched();
                out.clear();
                found.value().append_to(&mut out);
            }
        });
    }
    report("get of nothing", |number| {
        let name = name_of(KEYS + number % KEYS);
        let key = cache.key(&name);
        black_box(cache.lock(&key).find(&key, Command::Get).is_some());
    });
    report("set of 100 bytes in place", |number| {
        let name = name_of(number % KEYS);
        let key = cache.key(&name);
        black_box(cache.lock(&key).store(&key, &store).is_ok());
    });
    report("set of 100 bytes, another thrown out", |number| {
        let name = name_of(number % 10_000_000_000);
        let key = cache.key(&name);
        black_box(cache.lock(&key).store(&key, &store).is_ok());
    });
    Ok(())
}
