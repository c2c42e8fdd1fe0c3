//! What replies promised, in bounded memory. It asks nobody whether it was kept; that is `verify`.

use super::members::{Change, Members};
use crate::limits::{LEDGER_BYTES_MAX, WRITES_MAX};
use crate::plan::{Audit, Keeps};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Shards, so that threads seldom wait for each other.
const SHARDS: usize = 64;

/// What an entry takes beside its name, about, in bytes.
const ENTRY_BYTES: usize = 120;

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// It came and is as it must be: this long after the run's start.
    Acknowledged(Duration),
    /// There was none, or not the right one: it may have been carried out, then or later.
    Unknown,
}

/// A promise as it is about to be made.
#[derive(Debug)]
pub(crate) enum Pledge {
    /// At this place there will be what is worth this; see [`worth`].
    Stored(Vec<u8>, u64),
    Counted(usize, i64),
    Listed(Vec<u8>),
    /// Of a publication, on this server.
    Changed(usize, Change),
}

/// The worth of nothing: what was removed.
pub(super) const ABSENT: u64 = 0;

/// Everything that was promised in a run.
pub(crate) struct Ledger {
    shards: Vec<Mutex<Shard>>,
    /// One of so many names is kept, as a power of two.
    level: AtomicU32,
    bytes: AtomicUsize,
    /// By number of the audit.
    counts: Vec<Count>,
    members: Mutex<Members>,
}

#[derive(Default)]
struct Shard {
    level: u32,
    entries: HashMap<Box<[u8]>, Entry>,
}

/// What a number has grown by.
#[derive(Default)]
struct Count {
    acknowledged: AtomicI64,
    /// By how much more, and by how much less, it may have.
    unknown_more: AtomicI64,
    unknown_less: AtomicI64,
}

/// What is known of a name.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Entry {
    Stored(Stored),
    Listed {
        acknowledged: u32,
        unknown: u32,
        /// When it was acknowledged last.
        last: Duration,
    },
}

/// What may be at a place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stored {
    /// All that no later acknowledged write has surely replaced.
    pub(super) writes: Vec<Write>,
    /// When one was acknowledged last; before that, nothing is promised.
    pub(super) last: Option<Duration>,
    /// Whether there were more than can be kept.
    pub(super) is_overrun: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Write {
    pub(super) worth: u64,
    /// When it was acknowledged, if it was.
    acknowledged: Option<Duration>,
}

impl Stored {
    pub(super) fn add(&mut self, worth: u64, sent: Duration, reply: Reply) {
        let acknowledged = match reply {
            Reply::Acknowledged(at) => {
                // What was acknowledged before this was sent has been replaced by it. What never
                // was may still come, so it stays.
                self.writes.retain(|write| write.acknowledged.is_none_or(|before| before >= sent));
                self.last = Some(self.last.map_or(at, |last| last.max(at)));
                Some(at)
            }
            Reply::Unknown => None,
        };
        let write = Write { worth, acknowledged };
        match self.writes.len() {
            WRITES_MAX.. => self.is_overrun = true,
            _ => self.writes.push(write),
        }
    }
}

impl Ledger {
    pub(crate) fn new(audit: &Audit) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            level: AtomicU32::new(0),
            bytes: AtomicUsize::new(0),
            counts: audit.numbers.iter().map(|_| Count::default()).collect(),
            members: Mutex::default(),
        }
    }

    /// Notes what became of a request that promised this and was sent so long after the start.
    pub(crate) fn note(&self, pledge: Pledge, sent: Duration, reply: Reply) {
        match pledge {
            Pledge::Counted(number, by) => {
                let count = &self.counts[number];
                let sum = match reply {
                    Reply::Acknowledged(_) => &count.acknowledged,
                    Reply::Unknown if by > 0 => &count.unknown_more,
                    Reply::Unknown => &count.unknown_less,
                };
                // Relaxed: the sum alone is shared, and is read when all threads have ended.
                sum.fetch_add(by, Ordering::Relaxed);
            }
            Pledge::Changed(origin, change) => self.members().note(change, origin, sent, reply),
            Pledge::Stored(place, worth) => self.enter(place, |entry| {
                let entry = entry.get_or_insert_with(|| Entry::Stored(Stored::default()));
                if let Entry::Stored(stored) = entry {
                    stored.add(worth, sent, reply);
                }
            }),
            Pledge::Listed(id) => self.enter(id, |entry| {
                let empty = Entry::Listed { acknowledged: 0, unknown: 0, last: Duration::ZERO };
                if let Entry::Listed { acknowledged, unknown, last } = entry.get_or_insert(empty) {
                    match reply {
                        Reply::Acknowledged(at) => {
                            *acknowledged += 1;
                            *last = at.max(*last);
                        }
                        Reply::Unknown => *unknown += 1,
                    }
                }
            }),
        }
    }

    /// What was promised of publications.
    pub(super) fn members(&self) -> std::sync::MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, name: Vec<u8>, change: impl FnOnce(&mut Option<Entry>)) {
        let hash = hash(&name);
        let mut shard = self.shard((hash >> 32) as usize % SHARDS);
        if !is_kept(hash, shard.level) {
            return;
        }
        let size = name.len() + ENTRY_BYTES;
        let name = name.into_boxed_slice();
        let before = shard.entries.remove(&name);
        let is_new = before.is_none();
        let mut entry = before;
        change(&mut entry);
        if let Some(entry) = entry {
            shard.entries.insert(name, entry);
        }
        drop(shard);
        if is_new && self.bytes.fetch_add(size, Ordering::Relaxed) + size > LEDGER_BYTES_MAX {
            self.thin();
        }
    }

    /// Keeps half of the names. Which ones hangs on the name alone, so that all that was promised
    /// of those is known.
    fn thin(&self) {
        let level = self.level.fetch_add(1, Ordering::Relaxed) + 1;
        let mut bytes = 0;
        for number in 0..SHARDS {
            let mut shard = self.shard(number);
            shard.level = shard.level.max(level);
            let level = shard.level;
            shard.entries.retain(|name, _| is_kept(hash(name), level));
            bytes += shard.entries.keys().map(|name| name.len() + ENTRY_BYTES).sum::<usize>();
        }
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    fn shard(&self, number: usize) -> std::sync::MutexGuard<'_, Shard> {
        // A thread that panicked ends the run; what it left is whole between two statements.
        self.shards[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One of so many names was kept.
    pub(super) fn one_of(&self) -> u64 {
        1 << self.level.load(Ordering::Relaxed).min(63)
    }

    /// Whether a name is among those that are kept.
    pub(super) fn keeps(&self, name: &[u8]) -> bool {
        is_kept(hash(name), self.level.load(Ordering::Relaxed))
    }

    /// All entries with their names.
    pub(super) fn entries(&self) -> Vec<(Box<[u8]>, Entry)> {
        let all = (0..SHARDS).flat_map(|number| {
            let entries = std::mem::take(&mut self.shard(number).entries);
            entries.into_iter().collect::<Vec<_>>()
        });
        all.filter(|(name, _)| self.keeps(name)).collect()
    }

    /// By how much a number has grown at least and at most.
    pub(super) fn growth(&self, number: usize) -> (i64, i64) {
        let count = &self.counts[number];
        let [sure, more, less] = [&count.acknowledged, &count.unknown_more, &count.unknown_less]
            .map(|sum| sum.load(Ordering::Relaxed));
        (sure + less, sure + more)
    }
}

/// The name of a place on a server.
pub(crate) fn place(origin: usize, path: &[u8]) -> Vec<u8> {
    [b"S", &(origin as u64).to_le_bytes()[..], path].concat()
}

/// The name of an element of a list.
pub(crate) fn element(list: usize, id: &[u8]) -> Vec<u8> {
    [b"L", &(list as u64).to_le_bytes()[..], id].concat()
}

/// The server or list of a name, and the rest.
pub(super) fn parts(name: &[u8]) -> Option<(u8, usize, &[u8])> {
    let (kind, rest) = name.split_first()?;
    let (number, rest) = rest.split_first_chunk::<8>()?;
    Some((*kind, u64::from_le_bytes(*number) as usize, rest))
}

/// Tells a pledge of a step from what is about to be sent.
pub(crate) fn pledge(keeps: &Keeps, origin: usize, path: &[u8], body: &[u8]) -> Option<Pledge> {
    match keeps {
        Keeps::Stored => Some(Pledge::Stored(place(origin, path), worth(body))),
        Keeps::Removed => Some(Pledge::Stored(place(origin, path), ABSENT)),
        Keeps::Counted { number, by } => Some(Pledge::Counted(*number, *by)),
        Keeps::Listed { .. } | Keeps::Posted | Keeps::Edited | Keeps::Deleted => None,
    }
}

/// A number that tells bodies apart: of JSON, what it says and not how it is written.
pub(crate) fn worth(body: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    match serde_json::from_slice::<serde_json::Value>(body) {
        Ok(value) => add_value(&mut hasher, &value),
        Err(_) => hasher.write(body),
    }
    hasher.finish().max(ABSENT + 1)
}

fn add_value(hasher: &mut DefaultHasher, value: &serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::Null => hasher.write_u8(0),
        Value::Bool(value) => hasher.write(&[1, u8::from(*value)]),
        Value::Number(number) => {
            hasher.write_u8(2);
            // 1, 1.0 and 1e0 are the same number, and so are 0 and -0.
            hasher.write_u64((number.as_f64().unwrap_or(f64::NAN) + 0.0).to_bits());
        }
        Value::String(text) => {
            hasher.write_u8(3);
            hasher.write_usize(text.len());
            hasher.write(text.as_bytes());
        }
        Value::Array(values) => {
            hasher.write_u8(4);
            hasher.write_usize(values.len());
            values.iter().for_each(|value| add_value(hasher, value));
        }
        Value::Object(members) => {
            hasher.write_u8(5);
            hasher.write_usize(members.len());
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| name.as_str());
            for (name, value) in members {
                hasher.write_usize(name.len());
                hasher.write(name.as_bytes());
                add_value(hasher, value);
            }
        }
    }
}

fn hash(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(name);
    hasher.finish()
}

fn is_kept(hash: u64, level: u32) -> bool {
    hash.trailing_zeros() >= level
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn worths(stored: &Stored) -> Vec<u64> {
        stored.writes.iter().map(|write| write.worth).collect()
    }

    #[test]
    fn a_write_replaces_those_that_were_acknowledged_before_it_was_sent() {
        let mut stored = Stored::default();
        stored.add(1, MS, Reply::Acknowledged(5 * MS));
        // Both were under way at the same time: either may be the last.
        stored.add(2, 2 * MS, Reply::Acknowledged(6 * MS));
        assert_eq!(worths(&stored), [1, 2]);
        // What was never answered may come at any time.
        stored.add(3, 6 * MS, Reply::Unknown);
        stored.add(4, 7 * MS, Reply::Acknowledged(8 * MS));
        assert_eq!((worths(&stored), stored.last), (vec![3, 4], Some(8 * MS)));
    }

    #[test]
    fn more_writes_at_once_than_can_be_kept_are_told() {
        let mut stored = Stored::default();
        (0..WRITES_MAX as u64 + 1).for_each(|worth| stored.add(worth, MS, Reply::Unknown));
        assert_eq!((stored.writes.len(), stored.is_overrun), (WRITES_MAX, true));
    }

    #[test]
    fn the_ledger_keeps_within_its_bound_and_says_which_share_it_has() {
        let ledger = Ledger::new(&Audit::default());
        let count = 2 * LEDGER_BYTES_MAX / (ENTRY_BYTES + 20);
        for i in 0..count {
            let id = element(0, format!("{i:011}").as_bytes());
            ledger.note(Pledge::Listed(id), MS, Reply::Acknowledged(MS));
        }
        let one_of = ledger.one_of();
        assert!(one_of >= 2, "{one_of}");
        assert!(ledger.bytes.load(Ordering::Relaxed) <= LEDGER_BYTES_MAX);
        let kept = ledger.entries().len() as f64;
        let expected = count as f64 / one_of as f64;
        assert!((kept / expected - 1.0).abs() < 0.05, "{kept} of {count}");
    }

    #[test]
    fn numbers_are_bounded_by_what_is_not_known() {
        let numbers = vec![crate::plan::Number {
            name: "clicks".into(),
            pages: crate::plan::Pages {
                origin: 0,
                path: "/".into(),
                headers: Vec::new(),
                each: None,
                next: None,
            },
            value: None,
            equals: None,
        }];
        let ledger = Ledger::new(&Audit { numbers, ..Audit::default() });
        for (by, reply) in [
            (5, Reply::Acknowledged(MS)),
            (-1, Reply::Acknowledged(MS)),
            (2, Reply::Unknown),
            (-3, Reply::Unknown),
        ] {
            ledger.note(Pledge::Counted(0, by), MS, reply);
        }
        assert_eq!(ledger.growth(0), (1, 6));
    }

    #[test]
    fn json_is_what_it_says() {
        let same = |a: &str, b: &str| worth(a.as_bytes()) == worth(b.as_bytes());
        assert!(same("{\"a\":1,\"b\":[1.0]}", "{ \"b\": [1], \"a\": 1e0 }"));
        assert!(!same("{\"a\":1}", "{\"a\":2}") && !same("[1,2]", "[2,1]"));
        assert!(!same("\"1\"", "1") && !same("null", "") && !same("<a>", "<b>"));
        let name = element(7, b"x");
        assert_eq!(parts(&name), Some((b'L', 7, &b"x"[..])));
    }
}
