//! The shards, and which of them has a key.

use crate::entry::Place;
use crate::expires::Expires;
use crate::figures::{Figures, QueueFigures};
use crate::key::{Hashing, Key};
use crate::limits::{
    MEMORY_BYTES_MAX, PAGE_BYTES, PAGES_AHEAD, SHARD_BYTES_MIN, SHARDS_MAX, VALUE_BYTES_DEFAULT,
    VALUE_BYTES_MAX, VALUES_PER_SHARD_MIN,
};
use crate::shard::{Listed, Shard};
use crate::state::{Making, State};
use parking_lot::Mutex;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

// Each page has a number.
const _: () = assert!(MEMORY_BYTES_MAX / SHARDS_MAX / PAGE_BYTES < Place::PAGES_MAX);

/// How a cache is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bound of all memory, in bytes: items and everything that is kept about them,
    pub memory_bytes: usize,
    /// and, of that, what others take who serve the cache, in bytes.
    pub set_aside_bytes: usize,
    /// Largest value, in bytes.
    pub value_bytes_max: usize,
    /// Decides where keys go. From a random source if others choose keys: whoever knows it can
    /// choose keys that are slow.
    pub seed: u64,
}

impl Settings {
    /// For values as large as memcached takes by default.
    pub fn new(memory_bytes: usize, seed: u64) -> Self {
        Self { memory_bytes, set_aside_bytes: 0, value_bytes_max: VALUE_BYTES_DEFAULT, seed }
    }
}

/// A cache that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The values are too large for the memory.
    #[error(
        "a cache for values of {value_bytes_max} bytes needs at least {needed} bytes of memory; \
         got {memory_bytes}: give it more memory or take smaller values"
    )]
    MemoryTooSmall {
        /// What was asked for.
        memory_bytes: usize,
        /// What was asked for.
        value_bytes_max: usize,
        /// What that takes.
        needed: usize,
    },
    /// More memory than can be numbered.
    #[error("a cache has at most {MEMORY_BYTES_MAX} bytes of memory; got {0}")]
    MemoryTooLarge(usize),
    /// Larger values than there can be.
    #[error("the largest value has from 1 to {VALUE_BYTES_MAX} bytes; got {0}")]
    Value(usize),
}

/// A cache. It is shared by those who use it; each operation locks the one shard that has the key.
pub struct Cache {
    shards: Box<[Padded]>,
    hashing: Hashing,
    /// Seconds since 1970, as it was told.
    time: AtomicU32,
    memory_bytes: usize,
    value_bytes_max: usize,
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("memory_bytes", &self.memory_bytes).finish_non_exhaustive()
    }
}

/// A shard, in cache lines of its own.
#[repr(align(128))]
struct Padded(Mutex<State>);

/// Least memory of a shard, in bytes.
fn shard_bytes_min(value_bytes_max: usize) -> usize {
    let pages = VALUES_PER_SHARD_MIN * (value_bytes_max / PAGE_BYTES + 2) + PAGES_AHEAD + 2;
    let mut bytes = pages * PAGE_BYTES;
    while State::pages_of(bytes) < pages {
        bytes += PAGE_BYTES;
    }
    bytes
}

impl Cache {
    /// An empty cache. Memory is taken as it is needed, and never more than was said.
    ///
    /// # Errors
    /// If the settings do not go together.
    pub fn new(settings: &Settings) -> Result<Self, SettingsError> {
        let Settings { memory_bytes, set_aside_bytes, value_bytes_max, seed } = *settings;
        if !(1..=VALUE_BYTES_MAX).contains(&value_bytes_max) {
            return Err(SettingsError::Value(value_bytes_max));
        }
        if memory_bytes > MEMORY_BYTES_MAX {
            return Err(SettingsError::MemoryTooLarge(memory_bytes));
        }
        let shard_min = shard_bytes_min(value_bytes_max);
        let needed = shard_min.saturating_add(set_aside_bytes);
        if memory_bytes < needed {
            return Err(SettingsError::MemoryTooSmall { memory_bytes, value_bytes_max, needed });
        }
        let own_bytes = memory_bytes - set_aside_bytes;
        let fit = (memory_bytes / SHARD_BYTES_MIN).min(own_bytes / shard_min);
        let shards = 1 << fit.clamp(1, SHARDS_MAX).ilog2();
        let hashing = Hashing::new(seed);
        let making = |number| Making { memory: own_bytes / shards, hashing, number, shards };
        Ok(Self {
            shards: (0..shards)
                .map(|number| Padded(Mutex::new(State::new(&making(number)))))
                .collect(),
            hashing,
            time: AtomicU32::new(2),
            memory_bytes,
            value_bytes_max,
        })
    }

    /// Largest value that is taken, in bytes.
    pub fn value_bytes_max(&self) -> usize {
        self.value_bytes_max
    }

    /// Bound of all memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Tells the time, in seconds since 1970: somebody is to do it about once a second. It does not
    /// go backwards.
    pub fn set_time(&self, unix_seconds: u32) {
        // Mostly it is known, and whoever reads it keeps it at hand.
        if self.time() < unix_seconds {
            self.time.fetch_max(unix_seconds, Ordering::Relaxed);
        }
    }

    /// The time as it was told last, in seconds since 1970.
    #[inline]
    pub fn time(&self) -> u32 {
        self.time.load(Ordering::Relaxed)
    }

    /// So many seconds from now.
    pub fn after(&self, seconds: u32) -> Expires {
        Expires::after(self.time(), seconds)
    }

    /// Hashes a key, for all that is done with it.
    #[inline]
    pub fn key<'k>(&self, key: &'k [u8]) -> Key<'k> {
        Key::new(key, self.hashing.hash(key))
    }

    /// Locks the shard that has a key.
    #[inline]
    pub fn lock(&self, key: &Key<'_>) -> Shard<'_> {
        self.shard(key.hash.shard(self.shards.len() - 1))
    }

    #[inline]
    fn shard(&self, number: usize) -> Shard<'_> {
        let state = self.shards[number].0.lock();
        Shard::new(state, number, self.shards.len() - 1, self.time(), self.value_bytes_max)
    }

    /// Removes everything, now or when a time has come, seconds since 1970: then what was stored
    /// before is gone. A later call takes the place of an earlier one.
    pub fn flush(&self, at: Option<u32>) {
        let at = at.filter(|second| *second > self.time());
        for (number, shard) in self.shards.iter().enumerate() {
            let mut state = shard.0.lock();
            match at {
                Some(second) => state.flush_at = second,
                None => state.clear(),
            }
            state.counts.cmd_flush += u64::from(number == 0);
        }
    }

    /// Forgets a time that [`Cache::flush`] was told, and removes nothing.
    pub fn cancel_flush(&self) {
        for (number, shard) in self.shards.iter().enumerate() {
            let mut state = shard.0.lock();
            state.flush_at = 0;
            state.counts.cmd_flush += u64::from(number == 0);
        }
    }

    /// Removes some of what has expired: a step that has a bound, for one shard after the other.
    /// What is not swept is removed when it is looked up, or when room is made.
    pub fn sweep(&self) {
        for number in 0..self.shards.len() {
            self.shard(number).sweep();
        }
    }

    /// Calls `visit` with each item, page by page, until that is false. No lock is held from one
    /// page to the next: an item that is moved meanwhile may be told twice or not at all.
    pub fn walk(&self, mut visit: impl FnMut(&Listed<'_>) -> bool) {
        for number in 0..self.shards.len() {
            let pages = self.shards[number].0.lock().pages.about.len() as u32;
            for page in 1..pages {
                if !self.shard(number).visit_page(page, &mut visit) {
                    return;
                }
            }
        }
    }

    /// What was counted, and what there is.
    pub fn figures(&self) -> Figures {
        let mut sum = Figures::default();
        for shard in &self.shards {
            sum.add(&figures_of(&shard.0.lock()));
        }
        sum.limit_maxbytes = self.memory_bytes as u64;
        sum.page_bytes = PAGE_BYTES as u64;
        sum.shards = self.shards.len() as u64;
        sum
    }

    /// Counts from 0 again.
    pub fn reset_figures(&self) {
        for shard in &self.shards {
            shard.0.lock().counts = Figures::default();
        }
    }
}

fn figures_of(state: &State) -> Figures {
    let mut figures = state.counts;
    figures.curr_items = state.index.items() as u64;
    figures.bytes = state.live_bytes() as u64;
    figures.memory_bytes = state.memory_bytes() as u64;
    figures.hash_bytes = (state.index.pages() * PAGE_BYTES) as u64;
    figures.pages = state.pages.count() as u64;
    figures.pages_allocated = state.pages.allocated() as u64;
    figures.pages_used = (state.pages.count() - state.pages.spare()) as u64;
    for (figures, queue) in figures.queues.iter_mut().zip(&state.queues) {
        let QueueFigures { items, bytes, pages, .. } = figures;
        *items = queue.items as u64;
        *bytes = queue.bytes as u64;
        *pages = queue.pages as u64;
    }
    figures
}
