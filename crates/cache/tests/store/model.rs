//! Random operations, on a cache and on a map that does the same as plainly as it can be said.

use super::random::Random;
use super::*;
use cache::limits::VALUE_BYTES_DEFAULT;
use cache::{Mode, Refused};
use std::collections::HashMap;

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    value: Vec<u8>,
    flags: u32,
    expires: Option<u32>,
    cas: u64,
    is_fetched: bool,
    is_stale: bool,
}

#[derive(Default)]
struct Model {
    items: HashMap<Vec<u8>, Entry>,
    now: u32,
}

impl Model {
    fn find(&mut self, key: &[u8]) -> Option<&mut Entry> {
        let now = self.now;
        let is_gone = |entry: &Entry| entry.expires.is_some_and(|second| second <= now);
        if self.items.get(key).is_some_and(is_gone) {
            self.items.remove(key);
        }
        self.items.get_mut(key)
    }

    /// What storing should answer; `cas` is the number that it gets if it is stored.
    fn store(&mut self, key: &[u8], store: &Store<'_>, cas: u64) -> Result<(), Refused> {
        let old = self.find(key).cloned();
        let mut entry = Entry {
            value: store.value.to_vec(),
            flags: store.flags,
            expires: store.expires.second(),
            cas,
            is_fetched: false,
            is_stale: false,
        };
        match (store.mode, old) {
            (Mode::Set, _) | (Mode::Add, None) | (Mode::Replace, Some(_)) => {}
            (Mode::Cas, None) => return Err(Refused::NotFound),
            (Mode::Cas, Some(old)) if store.compare == Some(old.cas) => {}
            (Mode::Cas, Some(_)) => return Err(Refused::Exists),
            (Mode::Append, Some(old)) => {
                entry.value = [&old.value[..], store.value].concat();
                (entry.flags, entry.expires) = (old.flags, old.expires);
            }
            (Mode::Prepend, Some(old)) => {
                entry.value = [store.value, &old.value[..]].concat();
                (entry.flags, entry.expires) = (old.flags, old.expires);
            }
            _ => return Err(Refused::NotStored),
        }
        if entry.value.len() > VALUE_BYTES_DEFAULT {
            return Err(Refused::TooLarge);
        }
        self.items.insert(key.to_vec(), entry);
        Ok(())
    }
}

struct Run {
    cache: Cache,
    model: Model,
    random: Random,
    keys: u64,
    sizes: u64,
    /// Whether items may go to make room: then what is there must still be right.
    may_miss: bool,
}

impl Run {
    fn size(&mut self) -> usize {
        let power = self.random.below(self.sizes);
        self.random.below(2 << power) as usize
    }

    fn step(&mut self) {
        let name = format!("key {}", self.random.below(self.keys)).into_bytes();
        match self.random.below(100) {
            0..40 => self.read(&name),
            40..80 => self.store(&name),
            80..88 => {
                let key = self.cache.key(&name);
                self.cache.lock(&key).discard(&key);
                self.model.items.remove(&name);
            }
            88..92 => self.touch(&name),
            92..96 => self.invalidate(&name),
            96..99 => self.cache.sweep(),
            _ => {
                self.model.now += 1;
                self.cache.set_time(self.model.now);
            }
        }
    }

    fn read(&mut self, name: &[u8]) {
        let key = self.cache.key(name);
        let mut shard = self.cache.lock(&key);
        let found = shard.find(&key, Command::Get);
        let expected = self.model.find(name);
        let (Some(mut found), Some(expected)) = (found, expected.cloned()) else {
            let (found, expected) = (shard.find(&key, Command::Peek), self.model.find(name));
            assert!(found.is_none(), "what is gone is found");
            assert!(self.may_miss || expected.is_none(), "what is there is not found");
            self.model.items.remove(name);
            return;
        };
        let got = Entry {
            value: found.value().to_vec(),
            flags: found.flags(),
            expires: found.expires().second(),
            cas: found.cas(),
            is_fetched: found.is_fetched(),
            is_stale: found.is_stale(),
        };
        assert!(got == expected, "{got:?} in place of {expected:?}");
        found.mark_fetched();
        self.model.items.get_mut(name).unwrap().is_fetched = true;
    }

    fn store(&mut self, name: &[u8]) {
        let size = self.size();
        let value = self.random.value(size);
        let modes = [
            Mode::Set,
            Mode::Add,
            Mode::Replace,
            Mode::Append,
            Mode::Prepend,
            Mode::Cas,
            Mode::Set,
        ];
        let mode = modes[self.random.below(modes.len() as u64) as usize];
        let expires = match self.random.below(3) {
            0 => self.cache.after(self.random.below(30) as u32),
            _ => Expires::NEVER,
        };
        let there = self.model.find(name).map_or(0, |entry| entry.cas);
        let compare = (mode == Mode::Cas).then(|| there + self.random.below(4) / 3);
        let flags = self.random.next() as u32;
        let store = Store { mode, compare, ..Store::set(&value, flags, expires) };
        let key = self.cache.key(name);
        let stored = self.cache.lock(&key).store(&key, &store);
        if self.may_miss && stored != Err(Refused::Exists) && stored.is_err() {
            // What it was about may have gone; what is there now was looked for before.
            let is_there = self.cache.lock(&key).find(&key, Command::Peek).is_some();
            assert_eq!(is_there, stored == Err(Refused::NotStored) && mode == Mode::Add);
            if !is_there {
                self.model.items.remove(name);
            }
            return;
        }
        if self.may_miss && mode == Mode::Add && stored.is_ok() {
            self.model.items.remove(name);
        }
        let cas = stored.map_or(0, |stored| stored.cas);
        assert_eq!(stored.map(|_| ()), self.model.store(name, &store, cas), "{store:?}");
    }

    fn touch(&mut self, name: &[u8]) {
        let key = self.cache.key(name);
        let mut shard = self.cache.lock(&key);
        let expires = shard.after(self.random.below(40) as u32);
        let found = shard.find(&key, Command::Touch).map(|mut found| found.set_expires(expires));
        match (self.model.find(name), found) {
            (Some(entry), Some(())) => entry.expires = expires.second(),
            (entry, found) => assert!(found.is_none() && (self.may_miss || entry.is_none())),
        }
    }

    fn invalidate(&mut self, name: &[u8]) {
        let key = self.cache.key(name);
        let mut shard = self.cache.lock(&key);
        let found = shard.find(&key, Command::Peek).map(|mut found| found.invalidate(None));
        match (self.model.find(name), found) {
            (Some(entry), Some(cas)) => (entry.is_stale, entry.cas) = (true, cas),
            (entry, found) => assert!(found.is_none() && (self.may_miss || entry.is_none())),
        }
    }
}

fn run(seed: u64, memory: usize, keys: u64, sizes: u64, may_miss: bool) {
    let cache = cache(memory);
    let model = Model { now: START, ..Model::default() };
    let mut run = Run { cache, model, random: Random(seed), keys, sizes, may_miss };
    for _ in 0..60_000 {
        run.step();
    }
    let figures = run.cache.figures();
    assert_eq!(figures.evictions > 0, may_miss, "{figures:?}");
    assert!(figures.memory_bytes <= figures.limit_maxbytes);
}

#[test]
fn what_fits_is_as_in_the_model() {
    for seed in 0..4 {
        run(seed, 32 << 20, 3_000, 11, false);
    }
}

#[test]
fn few_keys_of_every_size_are_as_in_the_model() {
    for seed in 10..13 {
        run(seed, 64 << 20, 40, 18, false);
    }
}

#[test]
fn what_is_left_when_memory_is_short_is_as_in_the_model() {
    for seed in 20..24 {
        run(seed, 6 << 20, 20_000, 15, true);
    }
}
