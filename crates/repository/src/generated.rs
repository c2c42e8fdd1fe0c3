//! Generated keys: the one layout for all faces and handlers, so that their keys sort together.

use crate::document::Timestamp;
use crate::name::Key;

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const CHARACTERS: usize = 26;
const RANDOM_BITS: u32 = 80;
const RANDOM_MASK: u128 = (1 << RANDOM_BITS) - 1;
const TIME_MASK: u128 = (1 << 48) - 1;

/// The random part of a generated key. It is drawn before the transaction, so that a re-run makes
/// the same key of its view's time.
///
/// A key has 26 characters in the layout of a ULID: 48 bits of milliseconds, 80 bits of
/// randomness, in Crockford's base 32. It sorts by time; keys of one millisecond by their random
/// part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRandomness(u128);

impl KeyRandomness {
    /// Takes the lower 80 of `bits`.
    pub fn new(bits: u128) -> Self {
        Self(bits & RANDOM_MASK)
    }

    /// The key for a view of this time.
    pub fn key_at(self, time: Timestamp) -> Key {
        let value = ((u128::from(time.0) & TIME_MASK) << RANDOM_BITS) | self.0;
        let digit = |place: usize| char::from(ALPHABET[(value >> (5 * place)) as usize & 31]);
        Key::generated((0..CHARACTERS).rev().map(digit).collect())
    }

    /// The next one: for a second key, or when the first is taken. After the last comes 0.
    pub fn next(self) -> Self {
        Self::new(self.0 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_a_ulids() {
        // The example of the ULID specification: time 1469918176385 encodes as 01ARYZ6S41.
        let key = KeyRandomness::new(0).key_at(Timestamp(1_469_918_176_385));
        assert_eq!(key.as_str(), "01ARYZ6S410000000000000000");
        let full = KeyRandomness::new(u128::MAX).key_at(Timestamp((1 << 48) - 1));
        assert_eq!(full.as_str(), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
        assert_eq!(Key::new(full.as_str()), Ok(full), "it keeps to the rule for keys");
    }

    #[test]
    fn keys_sort_by_time_and_then_by_randomness() {
        let key = |ms, bits| KeyRandomness::new(bits).key_at(Timestamp(ms));
        let in_order = [key(1, 5), key(1, 6), key(1, u128::MAX), key(2, 0), key(1 << 40, 0)];
        assert!(in_order.is_sorted());
    }

    #[test]
    fn the_next_key_stays_in_its_millisecond() {
        let last = KeyRandomness::new(u128::MAX);
        assert_eq!(last.next(), KeyRandomness::new(0));
        let time =
            |randomness: KeyRandomness| randomness.key_at(Timestamp(1)).as_str()[..10].to_owned();
        assert_eq!(time(last.next()), time(last));
    }
}
