//! Generated keys: 26 characters that sort by the time they were made (the layout of a ULID: 48
//! bits of milliseconds, 80 bits of randomness, in Crockford's base 32). Keys made in one
//! millisecond are in no particular order. They are unlikely to meet, not hard to guess.

use repository::Timestamp;
use std::cell::Cell;

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const CHARACTERS: usize = 26;
const RANDOM_BITS: u32 = 80;
const TIME_MASK: u128 = (1 << 48) - 1;

/// The random part of a key: drawn before the transaction, so that a re-run draws nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyRandomness(u128);

impl KeyRandomness {
    /// The key for a view of this time.
    pub(crate) fn key_at(self, time: Timestamp) -> String {
        let time_ms = u128::from(time.0) & TIME_MASK;
        let value = (time_ms << RANDOM_BITS) | self.0;
        (0..CHARACTERS)
            .rev()
            .map(|digit| char::from(ALPHABET[(value >> (5 * digit)) as usize & 31]))
            .collect()
    }

    /// What to try when the key is taken.
    pub(crate) fn next(self) -> Self {
        Self((self.0 + 1) & ((1 << RANDOM_BITS) - 1))
    }
}

/// A reactor's source of randomness: xoshiro256++ (Blackman and Vigna, 2018), seeded once by the
/// operating system.
#[derive(Debug)]
pub(crate) struct KeySource {
    state: Cell<[u64; 4]>,
}

impl KeySource {
    /// A source with a seed of its own.
    pub(crate) fn seeded() -> Result<Self, getrandom::Error> {
        let mut state = [0; 4];
        for word in &mut state {
            *word = getrandom::u64()?;
        }
        // The generator stands still on all zeroes.
        state[0] |= 1;
        Ok(Self { state: Cell::new(state) })
    }

    /// The randomness of one key.
    pub(crate) fn draw(&self) -> KeyRandomness {
        let (high, low) = (self.next(), self.next());
        let bits = (u128::from(high) << 64) | u128::from(low);
        KeyRandomness(bits >> (128 - RANDOM_BITS))
    }

    fn next(&self) -> u64 {
        let mut s = self.state.get();
        let drawn = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        self.state.set(s);
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_layout_is_a_ulids() {
        // The example of the ULID specification: time 1469918176385 encodes as 01ARYZ6S41.
        let key = KeyRandomness(0).key_at(Timestamp(1_469_918_176_385));
        assert_eq!(key, "01ARYZ6S410000000000000000");
        let full = KeyRandomness((1 << 80) - 1).key_at(Timestamp((1 << 48) - 1));
        assert_eq!(full, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
    }

    #[test]
    fn keys_sort_by_time_and_differ() {
        let source = KeySource::seeded().unwrap();
        let keys: Vec<_> = (0..1_000).map(|ms| source.draw().key_at(Timestamp(ms))).collect();
        assert!(keys.is_sorted());
        let in_one_ms: HashSet<_> =
            (0..10_000).map(|_| source.draw().key_at(Timestamp(5))).collect();
        assert_eq!(in_one_ms.len(), 10_000);
    }

    #[test]
    fn the_next_key_stays_in_its_millisecond() {
        let last = KeyRandomness((1 << 80) - 1);
        assert_eq!(last.next(), KeyRandomness(0));
        assert_eq!(last.next().key_at(Timestamp(1))[..10], last.key_at(Timestamp(1))[..10]);
    }

    #[test]
    fn xoshiro_gives_its_published_sequence() {
        let source = KeySource { state: Cell::new([1, 2, 3, 4]) };
        let drawn: Vec<_> = (0..3).map(|_| source.next()).collect();
        assert_eq!(drawn, [41_943_041, 58_720_359, 3_588_806_011_781_223]);
    }
}
