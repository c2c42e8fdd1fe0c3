//! The randomness of a request. It is drawn from the operating system once, so a handler that is
//! run again sees the same.

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

/// The generator of one run of a handler: xoshiro256++ (Blackman, Vigna 2019) for numbers; the
/// layout of ULID for keys.
pub(crate) struct Random {
    state: [u64; 4],
    next_key: u128,
}

/// 80 bits of a key are random; the highest is kept free so that counting up cannot reach the time.
const KEY_RANDOM_BITS: u32 = 80;
const KEY_RANDOM_MASK: u128 = (1 << (KEY_RANDOM_BITS - 1)) - 1;

impl Random {
    /// Starts from `seed`: equal seeds give equal sequences.
    pub(crate) fn new(seed: Seed) -> Self {
        Self { state: seed.numbers, next_key: seed.keys & KEY_RANDOM_MASK }
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

    /// A new key: 26 characters that sort by `time_ms`, then, within a request, by order of making.
    pub(crate) fn key(&mut self, time_ms: u64) -> String {
        let key = u128::from(time_ms) << KEY_RANDOM_BITS | self.next_key;
        self.next_key += 1;
        base32(key)
    }
}

/// Crockford's base 32, highest digit first: it sorts as the number does. In upper case, as the
/// keys that faces make: keys of both sort together by time.
fn base32(mut number: u128) -> String {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let mut text = [0; 26];
    for place in text.iter_mut().rev() {
        *place = DIGITS[(number & 31) as usize];
        number >>= 5;
    }
    text.iter().map(|&digit| char::from(digit)).collect()
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
        let mut keys: Vec<_> = (0..40).map(|_| random.key(1_000)).collect();
        keys.push(random.key(1_001));
        let mut sorted = keys.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(keys, sorted);
        assert!(keys.iter().all(|key| key.len() == 26));
        assert_eq!(base32(0), "0".repeat(26));
    }

    #[test]
    fn a_key_is_a_ulid() {
        // The time of the ULID specification's example; faces encode it to the same digits.
        let mut random = Random::new(Seed { keys: 0, ..SEED });
        assert_eq!(random.key(1_469_918_176_385), "01ARYZ6S410000000000000000");
    }

    #[test]
    fn two_draws_differ() {
        let (a, b) = (Seed::draw().unwrap(), Seed::draw().unwrap());
        assert_ne!(a.numbers, b.numbers);
        assert_ne!(a.keys, b.keys);
    }
}
