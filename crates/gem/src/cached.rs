//! The cache as gems have it: what a request has written there takes effect once its commit is
//! durable, and of those who would compute a value one does. What is kept, and how long, is the
//! crate `cache`'s; what one request has asked for, `turn/cache.rs`'s.

use crate::aside::Bounds;
use crate::aside::Crew;
use crate::limits::{CACHE_HELD_QUEUE, FILL_WAIT};
use cache::{Cache, Command, Expires, Mode, Store};
use parking_lot::{Condvar, Mutex};
use repository::{CommitNumber, Repository};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The cache, what is held back from it, and who computes what.
pub(crate) struct Cached {
    cache: Arc<Cache>,
    repository: Arc<Repository>,
    held: Mutex<Vec<Held>>,
    /// How many those are, so that whoever looks need not lock.
    holding: AtomicUsize,
    /// Keys whose values are being computed, each with the newest commit that has written or
    /// deleted it meanwhile: what was computed on an older view is out of date.
    fills: Mutex<HashMap<String, CommitNumber>>,
    /// One of those has ended.
    filled: Condvar,
    /// Waits until what is held may go.
    crew: Crew<Due>,
}

/// What waits for a commit to be durable.
struct Held {
    number: CommitNumber,
    writes: Writes,
}

struct Due {
    cached: Arc<Cached>,
    number: CommitNumber,
}

/// What a request has written, for when its commit is durable.
#[derive(Default)]
pub(crate) struct Writes {
    /// In the order in which they take effect.
    pub(crate) staged: Vec<(String, Staged)>,
    /// What it has computed; whoever waits for that goes on when this is dropped.
    pub(crate) leases: Vec<Lease>,
}

/// A write that is held back.
#[derive(Clone)]
pub(crate) enum Staged {
    Set { value: Arc<[u8]>, expires: Expires },
    Delete,
}

/// A write that takes effect at once, because its answer says what it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Reads a value together with its number, for `Cas`.
    Gets {
        key: String,
    },
    Add {
        key: String,
        value: Vec<u8>,
        expires: Expires,
    },
    Cas {
        key: String,
        value: Vec<u8>,
        expires: Expires,
        cas: u64,
    },
    Increment {
        key: String,
        delta: u64,
        is_decrement: bool,
        initial: Option<(u64, Expires)>,
    },
    Touch {
        key: String,
        expires: Expires,
    },
}

/// What it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    Was(bool),
    Number(Option<u64>),
    Value(Option<(Vec<u8>, u64)>),
    Refused(String),
}

/// A value that was looked up.
pub(crate) struct Seen {
    pub(crate) value: Vec<u8>,
    pub(crate) ttl: Option<u32>,
}

/// The right to compute the value of a key; dropping it lets another one.
pub(crate) struct Lease {
    cached: Arc<Cached>,
    key: String,
}

impl Cached {
    pub(crate) fn new(cache: Arc<Cache>, repository: Arc<Repository>) -> Self {
        let bounds = Bounds { threads: 1, queue: CACHE_HELD_QUEUE };
        Self {
            cache,
            repository,
            held: Mutex::default(),
            holding: AtomicUsize::new(0),
            fills: Mutex::default(),
            filled: Condvar::new(),
            crew: Crew::new("cache", bounds, |due| due.wait()),
        }
    }

    /// Tells the cache the time, in milliseconds since 1970.
    pub(crate) fn set_time(&self, ms: u64) {
        self.cache.set_time(u32::try_from(ms / 1000).unwrap_or(u32::MAX));
    }

    /// Largest value, in bytes.
    pub(crate) fn value_bytes_max(&self) -> usize {
        self.cache.value_bytes_max()
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<Seen> {
        self.settle();
        let key = self.cache.key(key.as_bytes());
        let mut shard = self.cache.lock(&key);
        let mut found = shard.find(&key, Command::Get)?;
        found.mark_fetched();
        Some(Seen { value: found.value().to_vec(), ttl: found.ttl() })
    }

    /// Does what takes effect at once.
    pub(crate) fn perform(&self, effect: &Effect) -> Done {
        self.settle();
        match effect {
            Effect::Gets { key } => self.gets(key),
            Effect::Add { key, value, expires } => {
                self.store(key, &Store { mode: Mode::Add, ..Store::set(value, 0, *expires) })
            }
            Effect::Cas { key, value, expires, cas } => {
                let compare = Some(*cas);
                let store = Store { mode: Mode::Cas, compare, ..Store::set(value, 0, *expires) };
                self.store(key, &store)
            }
            Effect::Increment { key, delta, is_decrement, initial } => {
                self.increment(key, (*delta, *is_decrement), *initial)
            }
            Effect::Touch { key, expires } => {
                let key = self.cache.key(key.as_bytes());
                let mut shard = self.cache.lock(&key);
                let found = shard.find(&key, Command::Touch);
                Done::Was(found.map(|mut found| found.set_expires(*expires)).is_some())
            }
        }
    }

    fn gets(&self, key: &str) -> Done {
        let key = self.cache.key(key.as_bytes());
        let mut shard = self.cache.lock(&key);
        Done::Value(shard.find(&key, Command::Get).map(|mut found| {
            found.mark_fetched();
            (found.value().to_vec(), found.cas())
        }))
    }

    fn store(&self, key: &str, store: &Store<'_>) -> Done {
        let key = self.cache.key(key.as_bytes());
        match self.cache.lock(&key).store(&key, store) {
            Ok(_) => Done::Was(true),
            Err(cache::Refused::TooLarge) => {
                let most = self.cache.value_bytes_max();
                Done::Refused(format!("a value has at most {most} bytes; it has more"))
            }
            Err(_) => Done::Was(false),
        }
    }

    fn increment(
        &self,
        key: &str,
        (delta, is_decrement): (u64, bool),
        initial: Option<(u64, Expires)>,
    ) -> Done {
        let key = self.cache.key(key.as_bytes());
        let mut shard = self.cache.lock(&key);
        let command = if is_decrement { Command::Decrement } else { Command::Increment };
        if let Some(mut found) = shard.find(&key, command) {
            return match found.add(delta, is_decrement, None) {
                Ok(number) => Done::Number(Some(number)),
                Err(error) => Done::Refused(error.to_string()),
            };
        }
        let Some((number, expires)) = initial else { return Done::Number(None) };
        match shard.store(&key, &Store::set(number.to_string().as_bytes(), 0, expires)) {
            Ok(_) => Done::Number(Some(number)),
            Err(error) => Done::Refused(error.to_string()),
        }
    }

    /// Takes what a request has written; it takes effect when `number` is durable.
    pub(crate) fn commit(self: &Arc<Self>, number: CommitNumber, writes: Writes) {
        if writes.staged.is_empty() && writes.leases.is_empty() {
            return;
        }
        {
            let mut held = self.held.lock();
            held.push(Held { number, writes });
            self.holding.store(held.len(), Ordering::Release);
        }
        if self.repository.durable().is_ok_and(|durable| durable >= number) {
            return self.settle();
        }
        // If it has too much to do, whoever uses the cache next does what is due.
        let _ = self.crew.take(Due { cached: Arc::clone(self), number });
    }

    /// Lets what is held take effect as far as its commits are durable, in their order.
    fn settle(&self) {
        if self.holding.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut held = self.held.lock();
        // Of a repository that is poisoned nothing more becomes durable.
        let durable = self.repository.durable().map_err(|poisoned| poisoned.durable);
        let (number, is_over) = match durable {
            Ok(number) => (number, false),
            Err(number) => (number, true),
        };
        held.sort_by_key(|each| each.number);
        let first_later = held.partition_point(|each| each.number <= number);
        let later = held.split_off(first_later);
        let due = std::mem::replace(&mut *held, if is_over { Vec::new() } else { later });
        // Under the lock: what comes later takes effect later.
        for each in &due {
            for (key, staged) in &each.writes.staged {
                if self.is_current(key, each) {
                    self.apply(key, staged);
                }
            }
        }
        // After that, or somebody who sees that nothing is held would read what was there before.
        self.holding.store(held.len(), Ordering::Release);
        drop(held);
        drop(due);
    }

    /// Whether a write still counts: not if it was computed on a view older than another write to
    /// the key. Tells whoever computes the value now that there is another one.
    fn is_current(&self, key: &str, held: &Held) -> bool {
        let mut fills = self.fills.lock();
        let Some(newest) = fills.get_mut(key) else { return true };
        if held.writes.leases.iter().any(|lease| lease.key == key) {
            return *newest <= held.number;
        }
        *newest = held.number.max(*newest);
        true
    }

    fn apply(&self, key: &str, staged: &Staged) {
        let key = self.cache.key(key.as_bytes());
        let mut shard = self.cache.lock(&key);
        let stored = match staged {
            Staged::Set { value, expires } => {
                shard.store(&key, &Store::set(value, 0, *expires)).map(|_| ())
            }
            Staged::Delete => {
                if let Some(found) = shard.find(&key, Command::Delete) {
                    found.remove();
                }
                Ok(())
            }
        };
        if let Err(error) = stored {
            // Its size was checked when it was staged; what is there is out of date in any case.
            log::error!("a value was not put into the cache: {error}");
            shard.discard(&key);
        }
    }

    /// The right to compute the value of a key, unless somebody has it.
    pub(crate) fn lease(self: &Arc<Self>, key: &str) -> Option<Lease> {
        match self.fills.lock().entry(key.to_owned()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(vacant) => {
                vacant.insert(CommitNumber(0));
                Some(Lease { cached: Arc::clone(self), key: key.to_owned() })
            }
        }
    }

    /// Waits until nobody computes the value of a key, but not long. Whether it came to that.
    pub(crate) fn wait_filled(&self, key: &str) -> bool {
        let until = Instant::now() + FILL_WAIT;
        let mut fills = self.fills.lock();
        while fills.contains_key(key) {
            if self.filled.wait_until(&mut fills, until).timed_out() {
                return !fills.contains_key(key);
            }
        }
        true
    }

    /// Ends its thread.
    pub(crate) fn stop(&self) {
        self.crew.stop();
    }
}

impl Due {
    fn wait(self) {
        // If it is poisoned, settling drops what can no longer take effect.
        let _ = self.cached.repository.wait_durable(self.number);
        self.cached.settle();
    }
}

impl Lease {
    pub(crate) fn key(&self) -> &str {
        &self.key
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.cached.fills.lock().remove(&self.key);
        self.cached.filled.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use cache::Settings;
    use repository::{CollectionName, Key, MediaType, Options, Outcome, Timestamp};

    fn open(folder: &std::path::Path) -> Arc<Repository> {
        let clock = Arc::new(|| Timestamp(1_700_000_000_000));
        let folder = folder.to_owned();
        Repository::open(Options { folder, memory_bytes: 64 << 20, clock }).unwrap().0
    }

    fn commit(repository: &Arc<Repository>) -> CommitNumber {
        let mut transaction = repository.begin().unwrap();
        let (collection, key) = (CollectionName::new("c").unwrap(), Key::new("k").unwrap());
        let body = Bytes::from_static(b"{}");
        transaction.put(&collection, &key, MediaType::Json, body, None).unwrap();
        match transaction.commit().unwrap() {
            Outcome::Committed(committed) => committed,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nothing_is_seen_before_its_commit_is_durable_and_what_is_later_wins() {
        let folder = tempfile::tempdir().unwrap();
        let repository = open(folder.path());
        let first = commit(&repository);
        repository.wait_durable(first).unwrap();
        let cache = Arc::new(Cache::new(&Settings::new(16 << 20, 1)).unwrap());
        let cached = Arc::new(Cached::new(cache, Arc::clone(&repository)));
        let set = |value: &str| {
            let value = value.as_bytes().into();
            let staged = Staged::Set { value, expires: Expires::NEVER };
            Writes { staged: vec![("k".to_owned(), staged)], leases: Vec::new() }
        };
        let lease = cached.lease("k").unwrap();
        assert!(cached.lease("k").is_none());
        let (second, third) = (CommitNumber(first.0 + 1), CommitNumber(first.0 + 2));
        // They come in another order than that of their commits.
        cached.commit(third, Writes { leases: vec![lease], ..set("third") });
        cached.commit(second, set("second"));
        assert!(cached.get("k").is_none(), "neither is durable");
        assert_eq!(commit(&repository), second);
        repository.wait_durable(second).unwrap();
        assert_eq!(cached.get("k").unwrap().value, b"second");
        assert!(cached.lease("k").is_none(), "the value is not there yet");
        assert_eq!(commit(&repository), third);
        repository.wait_durable(third).unwrap();
        assert_eq!(cached.get("k").unwrap().value, b"third");
        assert!(cached.lease("k").is_some());
        cached.stop();
    }

    #[test]
    fn who_waits_for_a_value_waits_no_longer_than_it_may() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Arc::new(Cache::new(&Settings::new(16 << 20, 1)).unwrap());
        let cached = Arc::new(Cached::new(cache, open(folder.path())));
        let lease = cached.lease("k").unwrap();
        assert!(!cached.wait_filled("k"), "somebody still computes it");
        drop(lease);
        assert!(cached.wait_filled("k"));
    }

    #[test]
    fn what_was_computed_before_a_delete_does_not_come_back_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let repository = open(folder.path());
        let first = commit(&repository);
        let second = commit(&repository);
        repository.wait_durable(second).unwrap();
        let cache = Arc::new(Cache::new(&Settings::new(16 << 20, 1)).unwrap());
        let cached = Arc::new(Cached::new(cache, Arc::clone(&repository)));
        let fill = |lease| {
            let value = b"computed".as_slice().into();
            let staged = vec![("k".to_owned(), Staged::Set { value, expires: Expires::NEVER })];
            Writes { staged, leases: vec![lease] }
        };
        let delete = || Writes { staged: vec![("k".to_owned(), Staged::Delete)], leases: vec![] };
        let late = cached.lease("k").unwrap();
        cached.commit(second, delete());
        cached.commit(first, fill(late));
        assert!(cached.get("k").is_none(), "it was computed on the view before the delete");
        let lease = cached.lease("k").unwrap();
        cached.commit(first, delete());
        cached.commit(second, fill(lease));
        assert_eq!(cached.get("k").unwrap().value, b"computed");
        cached.stop();
    }
}
