//! How much of the memory new items have before they must have proved themselves. It moves towards
//! the queue whose items are missed, as in ARC (Megiddo and Modha, FAST 2003): a key that was
//! thrown out of one queue and is asked for soon after would have been found if that queue had
//! more.
//!
//! Misses come late where items are written to be read once, much later: what is missed is thrown
//! out long before. So the share also grows, up to what it was at first, when new items are written
//! to be read later while nobody uses what had proved itself.

use crate::ghosts::{Ghosts, Missed};
use crate::limits::{NEW_PERCENT_FIRST, NEW_PERCENT_MAX, NEW_PERCENT_MIN};
use crate::queue::NEW;

/// Items' worth of bytes by which the share moves for each one that is missed.
const ITEMS_PER_MISS: usize = 4;

/// How many times as much one counts, at most, because fewer of its queue are known.
const WEIGHT_MAX: usize = 16;

/// Items stored to be read later for each use of a proven one; if there are more, the proven ones
/// count as out of use.
const STORED_PER_USE: usize = 16;

pub(crate) struct Share {
    /// Bytes of pages above which the queue of what is new gives some away.
    pub new_bytes: usize,
    /// Items stored to be read later since what had proved itself was used, at most as many as fit.
    unused: usize,
}

impl Share {
    /// What it is at first, of `whole` bytes.
    pub fn new(whole: usize) -> Self {
        Self { new_bytes: whole / 100 * NEW_PERCENT_FIRST, unused: 0 }
    }

    /// An item of so many bytes was stored under a new key that nobody had asked for: to be read
    /// later. Items take `each` bytes in the mean. If as many were as new items have room for, all
    /// of these are younger than the last use of a proven one, and the new one adds to their room.
    pub fn stored_unasked(&mut self, bytes: usize, each: usize, whole: usize) {
        self.unused = (self.unused + 1).min(whole / each.max(1));
        let is_most = self.new_bytes >= whole / 100 * NEW_PERCENT_FIRST;
        if self.unused * each > self.new_bytes && !is_most {
            self.new_bytes += bytes;
        }
    }

    /// An item was used that had proved itself.
    #[inline]
    pub fn used_proven(&mut self) {
        self.unused = self.unused.saturating_sub(STORED_PER_USE);
    }

    /// Moves for an item that is missed, where items take `each` bytes in the mean.
    pub fn adapt(&mut self, missed: Missed, ghosts: &Ghosts, each: usize, whole: usize) {
        // An item that went longer ago would have gone even if its queue had everything.
        let gain = if missed.queue == NEW { whole.saturating_sub(self.new_bytes) } else { whole };
        if missed.bytes_ago > gain {
            return;
        }
        let other = ghosts.count(1 - missed.queue);
        let weight = (other / ghosts.count(missed.queue).max(1)).clamp(1, WEIGHT_MAX);
        let step = each * ITEMS_PER_MISS * weight;
        let moved = match missed.queue {
            NEW => self.new_bytes.saturating_add(step),
            _ => self.new_bytes.saturating_sub(step),
        };
        self.new_bytes = moved.clamp(whole / 100 * NEW_PERCENT_MIN, whole / 100 * NEW_PERCENT_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Hashing;
    use crate::queue::PROVEN;

    const WHOLE: usize = 1 << 20;

    fn with_ghosts(new: u32, proven: u32) -> Ghosts {
        let mut ghosts = Ghosts::new(64 << 20);
        for (queue, from, count) in [(NEW, 0, new), (PROVEN, 1 << 20, proven)] {
            for n in from..from + count {
                ghosts.note(Hashing::new(1).hash(&n.to_le_bytes()), queue);
            }
        }
        ghosts
    }

    #[test]
    fn it_moves_to_what_is_missed_within_its_bounds() {
        let ghosts = with_ghosts(10, 10);
        let mut share = Share::new(WHOLE);
        assert_eq!(share.new_bytes, WHOLE / 100 * NEW_PERCENT_FIRST);
        for (queue, percent) in
            [(PROVEN, NEW_PERCENT_MIN), (NEW, NEW_PERCENT_MAX), (PROVEN, NEW_PERCENT_MIN)]
        {
            for _ in 0..WHOLE / 100 {
                share.adapt(Missed { queue, bytes_ago: 0 }, &ghosts, 100, WHOLE);
            }
            assert_eq!(share.new_bytes, WHOLE / 100 * percent);
        }
    }

    #[test]
    fn the_fewer_of_a_kind_are_known_the_more_each_counts() {
        let mut share = Share::new(WHOLE);
        let before = share.new_bytes;
        let missed = Missed { queue: PROVEN, bytes_ago: 0 };
        share.adapt(missed, &with_ghosts(3_000, 1_000), 100, WHOLE);
        let weight = (before - share.new_bytes) / (100 * ITEMS_PER_MISS);
        assert!((2..=3).contains(&weight), "{weight}");
        let before = share.new_bytes;
        share.adapt(missed, &with_ghosts(3_000, 10), 100, WHOLE);
        assert_eq!(before - share.new_bytes, 100 * ITEMS_PER_MISS * WEIGHT_MAX);
    }

    #[test]
    fn it_grows_to_the_first_while_what_had_proved_itself_is_not_used() {
        let (small, first) = (WHOLE / 100 * NEW_PERCENT_MIN, WHOLE / 100 * NEW_PERCENT_FIRST);
        for (stored_per_use, grows) in [(STORED_PER_USE / 2, false), (STORED_PER_USE * 2, true)] {
            let mut share = Share { new_bytes: small, unused: 0 };
            for n in 0..WHOLE / 50 {
                if n == small / 100 {
                    assert_eq!(share.new_bytes, small);
                }
                share.stored_unasked(100, 100, WHOLE);
                if n % stored_per_use == 0 {
                    share.used_proven();
                }
            }
            let grown = if grows { first..first + 100 } else { small..small + 1 };
            assert!(grown.contains(&share.new_bytes), "{} after {stored_per_use}", share.new_bytes);
        }
        let most = WHOLE / 100 * NEW_PERCENT_MAX;
        let mut share = Share { new_bytes: most, unused: 0 };
        (0..WHOLE / 50).for_each(|_| share.stored_unasked(100, 100, WHOLE));
        assert_eq!(share.new_bytes, most);
    }

    #[test]
    fn what_could_not_have_stayed_is_not_missed() {
        let mut share = Share::new(WHOLE);
        let before = share.new_bytes;
        let bytes_ago = WHOLE - before + 1;
        share.adapt(Missed { queue: NEW, bytes_ago }, &with_ghosts(10, 10), 100, WHOLE);
        assert_eq!(share.new_bytes, before);
    }
}
