//! The memory that all connections of a face together may keep for commands that are not whole yet
//! and for answers that clients have not taken. Each connection counts what it has here before it
//! takes it, so the bound is never passed.

use crate::limits::{BUFFER_BYTES_MAX, LARGE_VALUES_MIN, SMALL_BYTES_MAX};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use wire::limits::GET_LINE_BYTES_MAX;

/// What one connection has counted.
#[derive(Debug, Default)]
pub(crate) struct Share(usize);

impl Share {
    pub fn bytes(&self) -> usize {
        self.0
    }
}

/// The memory of all connections.
pub(crate) struct Memory {
    used: AtomicUsize,
    max: usize,
    /// When a connection last got none: seconds since the face began, and one.
    refused: AtomicU32,
}

impl Memory {
    pub fn new(max: usize) -> Self {
        Self { used: AtomicUsize::new(0), max, refused: AtomicU32::new(0) }
    }

    /// Bytes in use.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Makes a share larger or smaller; whether there was memory for it. A quarter is kept for
    /// connections with little, which large values cannot take from them.
    pub fn resize(&self, share: &mut Share, bytes: usize, now: u32) -> bool {
        if bytes <= share.0 {
            self.used.fetch_sub(share.0 - bytes, Ordering::Relaxed);
            share.0 = bytes;
            return true;
        }
        let more = bytes - share.0;
        let max = if bytes > SMALL_BYTES_MAX { self.max - self.max / 4 } else { self.max };
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(more).filter(|used| *used <= max)
        });
        match taken {
            Ok(_) => share.0 = bytes,
            Err(_) => self.refused.store(now.saturating_add(1), Ordering::Relaxed),
        }
        taken.is_ok()
    }

    /// Whether a connection got none in this second or the one before.
    pub fn is_short(&self, now: u32) -> bool {
        let refused = self.refused.load(Ordering::Relaxed);
        refused > 0 && refused.saturating_add(1) > now
    }
}

/// The part of a cache's memory that is set aside for its connections: an eighth, room for some of
/// the largest values and for the longest line, and not more than is of use.
pub fn buffer_bytes(memory_bytes: usize, value_bytes_max: usize) -> usize {
    let values = value_bytes_max.saturating_add(SMALL_BYTES_MAX).saturating_mul(LARGE_VALUES_MIN);
    let least = values.max(2 * GET_LINE_BYTES_MAX);
    (memory_bytes / 8).min(BUFFER_BYTES_MAX).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_kept_and_little_ones_have_a_quarter() {
        let memory = Memory::new(400 << 10);
        let mut large: Vec<Share> = Vec::new();
        for _ in 0..5 {
            let mut share = Share::default();
            let fits = memory.resize(&mut share, 100 << 10, 8);
            assert_eq!(fits, large.len() < 3, "{}", memory.used());
            large.extend(fits.then_some(share));
        }
        assert!(memory.is_short(8) && memory.is_short(9) && !memory.is_short(10));
        let mut little: Vec<Share> = (0..10).map(|_| Share::default()).collect();
        let fitting = little
            .iter_mut()
            .filter_map(|share| memory.resize(share, SMALL_BYTES_MAX, 20).then_some(share.bytes()));
        assert_eq!(fitting.sum::<usize>(), 6 * SMALL_BYTES_MAX);
        assert!(memory.used() <= 400 << 10);
        for share in large.iter_mut().chain(&mut little) {
            assert!(memory.resize(share, 0, 20), "memory is always given back");
        }
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn some_of_the_largest_values_fit_into_what_is_set_aside() {
        for (memory, value) in [(16 << 20, (1 << 20) - 512), (64 << 20, 1 << 20), (8 << 20, 100)] {
            let bytes = buffer_bytes(memory, value);
            let most = bytes - bytes / 4;
            assert!(most >= 3 * value && most > GET_LINE_BYTES_MAX, "{memory} {value}: {bytes}");
            assert!(bytes < memory / 2, "{memory} {value}: {bytes}");
        }
        assert_eq!(buffer_bytes(usize::MAX, 1 << 20), BUFFER_BYTES_MAX);
    }
}
