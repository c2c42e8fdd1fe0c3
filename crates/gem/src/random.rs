//! The randomness of a request. It is drawn from the operating system once, so a handler that is
//! run again sees the same.

use repository::{Key, KeyRandomness, Timestamp};

/// What a request draws from the operating system for `Math.random` and for new keys.
#[derive(Clone, Copy)]
pub(crate) struct Seed {
    numbers: [u64; 4],
    keys: u128,
}

impl Seed {
    /// Draws a seed.
    pub(crate) fn draw() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 48];
        getrandom::fill(&mut bytes)?;
        let (words, _) = bytes.as_chunks::<8>();
        let word = |i: usize| u64::from_le_bytes(words[i]);
        Ok(Self {
            numbers: [word(0), word(1), word(2), word(3)],
            keys: u128::from(word(4)) << 64 | u128::from(word(5)),
        })
    }
}

/// The generator of one run of a handler: xoshiro256++ (Blackman, Vigna 2019) for numbers, and keys
/// that count up from a random one.
pub(crate) struct Random {
    state: [u64; 4],
    next_key: KeyRandomness,
}

/// A key's random part has 80 bits; the highest is kept free, so that counting up never wraps and
/// keys sort by the order in which a request made them.
const KEY_RANDOM_MASK: u128 = (1 << 79) - 1;

impl Random {
    /// Starts from `seed`: equal seeds give equal sequences.
    pub(crate) fn new(seed: Seed) -> Self {
        Self { state: seed.numbers, next_key: KeyRandomness::new(seed.keys & KEY_RANDOM_MASK) }
    }

    /// A number from 0 up to, not including, 1, as `Math.random` gives.
    pub(crate) fn number(&mut self) -> f64 {
        // The 53 highest bits, which a double holds exactly.
        (self.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    fn next(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A new key: it sorts by `time`, then, within a request, by order of making.
    pub(crate) fn key(&mut self, time: Timestamp) -> Key {
        let key = self.next_key.key_at(time);
        self.next_key = self.next_key.next();
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: Seed = Seed { numbers: [1, 2, 3, 4], keys: u128::MAX };

    #[test]
    fn equal_seeds_give_equal_sequences() {
        let (mut a, mut b) = (Random::new(SEED), Random::new(SEED));
        for _ in 0..100 {
            let number = a.number();
            assert_eq!(number, b.number());
            assert!((0.0..1.0).contains(&number));
        }
        assert_ne!(a.number(), a.number());
    }

    /// The first outputs of the authors' C code for the state 1, 2, 3, 4.
    #[test]
    fn is_xoshiro256_plus_plus() {
        let mut random = Random::new(SEED);
        assert_eq!(
            [random.next(), random.next(), random.next()],
            [41_943_041, 58_720_359, 3_588_806_011_781_223]
        );
    }

    #[test]
    fn keys_sort_by_time_and_then_by_order() {
        let mut random = Random::new(SEED);
        let mut keys: Vec<_> = (0..40).map(|_| random.key(Timestamp(1_000))).collect();
        keys.push(random.key(Timestamp(1_001)));
        let mut sorted = keys.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(keys, sorted);
    }

    #[test]
    fn two_draws_differ() {
        let (a, b) = (Seed::draw().unwrap(), Seed::draw().unwrap());
        assert_ne!(a.numbers, b.numbers);
        assert_ne!(a.keys, b.keys);
    }
}
