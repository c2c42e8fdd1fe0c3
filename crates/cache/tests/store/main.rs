//! The cache as those who use it see it: what it answers, that it keeps to its memory, that nothing
//! is lost between threads.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod bound;
mod commands;
mod eviction;
mod expiry;
mod model;
mod random;
mod threads;

use cache::{Cache, Command, Expires, Settings, Store};

/// A second to begin with.
const START: u32 = 1_700_000_000;

fn cache(memory_bytes: usize) -> Cache {
    let cache = Cache::new(&Settings::new(memory_bytes, 1)).unwrap();
    cache.set_time(START);
    cache
}

/// A cache in which nothing has to go.
fn roomy() -> Cache {
    cache(16 << 20)
}

fn set(cache: &Cache, key: &[u8], value: &[u8], expires: Expires) -> u64 {
    let key = cache.key(key);
    cache.lock(&key).store(&key, &Store::set(value, 0, expires)).unwrap().cas
}

/// What a client reads, which counts as a use.
fn get(cache: &Cache, key: &[u8]) -> Option<Vec<u8>> {
    let key = cache.key(key);
    let mut shard = cache.lock(&key);
    let mut found = shard.find(&key, Command::Get)?;
    found.mark_fetched();
    Some(found.value().to_vec())
}
