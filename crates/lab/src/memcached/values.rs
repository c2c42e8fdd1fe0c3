//! The value that belongs to a key, and how long a key is: drawn from the key's own bytes, so that
//! they are the same in every run, thread and process.

use crate::distributions::{ExtremeValue, LogNormal, Pareto};
use crate::plan::{Class, Items, KeyLengths, Values};
use crate::random::Random;

/// Places in the pool where a value may begin.
const BEGINNINGS: usize = 1 << 16;

/// Makes values, and tells whether one is right.
pub(crate) struct Maker {
    items: Items,
    weights: f64,
    /// Values are pieces of it, behind a few bytes of their own: copying and comparing are as fast
    /// as memory is.
    pool: Vec<u8>,
}

impl Maker {
    pub(crate) fn new(items: &Items) -> Self {
        let mut random = Random::of_user(0, 0);
        let words = (BEGINNINGS + items.bytes_max()).div_ceil(8);
        let pool = (0..words).flat_map(|_| random.number().to_le_bytes()).collect();
        let weights = match &items.values {
            Values::Classes(classes) => classes.iter().map(|class| class.weight).sum(),
            Values::Etc | Values::Twitter => 0.0,
        };
        Self { items: items.clone(), weights, pool }
    }

    /// Appends the value of a key.
    pub(crate) fn write(&self, key: &[u8], out: &mut Vec<u8>) {
        let (own, bytes, rest) = self.parts(key);
        out.extend_from_slice(&own[..own.len().min(bytes)]);
        out.extend_from_slice(rest);
    }

    /// How long the value of a key is.
    pub(crate) fn bytes(&self, key: &[u8]) -> usize {
        self.parts(key).1
    }

    /// Whether this is the value of the key.
    pub(crate) fn is_right(&self, key: &[u8], value: &[u8]) -> bool {
        let (own, bytes, rest) = self.parts(key);
        let own = &own[..own.len().min(bytes)];
        value.len() == bytes && value.starts_with(own) && &value[own.len()..] == rest
    }

    /// What only this key has; the length of the whole, and what follows.
    fn parts(&self, key: &[u8]) -> ([u8; 8], usize, &[u8]) {
        let hash = hash(key);
        let mut random = Random::of_user(hash, 1);
        let bytes = self.length(key.len(), &mut random);
        let begin = random.below(BEGINNINGS as u64) as usize;
        let rest = &self.pool[begin..begin + bytes.saturating_sub(8)];
        (hash.to_le_bytes(), bytes, rest)
    }

    fn length(&self, key_bytes: usize, random: &mut Random) -> usize {
        match &self.items.values {
            Values::Classes(classes) => {
                let Class { from_bytes, to_bytes, .. } =
                    class_at(classes, random.unit() * self.weights);
                let choices = (to_bytes - from_bytes) as u64 + 1;
                from_bytes + random.below(choices) as usize
            }
            Values::Etc => etc_value(random).min(self.items.bytes_max()),
            Values::Twitter => {
                // Of an object the key is a part.
                let object = TWITTER_OBJECT.draw(random) as usize;
                object.saturating_sub(key_bytes).clamp(1, self.items.bytes_max())
            }
        }
    }

    /// Fills a key up to the length that it is to have.
    pub(crate) fn fill_up(&self, key: &mut Vec<u8>) {
        if self.items.keys == KeyLengths::Etc {
            let mut random = Random::of_user(hash(key), 2);
            let length = etc_key(&mut random);
            key.resize(key.len().max(length), b'.');
        }
    }
}

fn class_at(classes: &[Class], mut pick: f64) -> Class {
    let mut last = classes[0];
    for class in classes.iter().filter(|class| class.weight > 0.0) {
        last = *class;
        if pick < class.weight {
            break;
        }
        pick -= class.weight;
    }
    last
}

/// FNV-1a (Fowler, Noll and Vo), with the last step of SplitMix64 to spread it.
pub(crate) fn hash(key: &[u8]) -> u64 {
    let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
    let hash = key.iter().fold(0xCBF2_9CE4_8422_2325, fnv);
    Random::of_user(hash, 0).number()
}

/// The share of values of 0 to 14 bytes in ETC (table 5 of the paper), in 100,000ths.
const ETC_SMALL: [u32; 15] =
    [536, 47, 17_820, 9_239, 18, 2_740, 65, 606, 23, 837, 837, 8_989, 92, 326, 1_980];

/// Its values from 15 bytes on (§5 of the paper).
const ETC_LARGE: Pareto = Pareto { location: 15.0, scale: 214.476, shape: 0.348_238 };

/// Its keys.
const ETC_KEY: ExtremeValue = ExtremeValue { location: 30.7984, scale: 8.204_49, shape: 0.078_688 };

/// Key and value together in Twitter's clusters. Of the mean sizes of 153 clusters half are below
/// 230 bytes and 24 % below 100 (Yang, Yue and Rashmi, OSDI 2020): the log-normal distribution
/// through these two points, ln(230 / 100) / 0.7063.
const TWITTER_OBJECT: LogNormal = LogNormal { median: 230.0, sigma: 1.179 };

/// The length of a value of ETC.
fn etc_value(random: &mut Random) -> usize {
    let mut pick = random.below(100_000) as u32;
    for (bytes, share) in ETC_SMALL.iter().enumerate() {
        if pick < *share {
            return bytes;
        }
        pick -= share;
    }
    ETC_LARGE.draw(random) as usize
}

/// The length of a key of ETC.
fn etc_key(random: &mut Random) -> usize {
    (ETC_KEY.draw(random).max(1.0) as usize).min(wire::limits::KEY_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Vec<u8> {
        format!("key-{number}").into_bytes()
    }

    #[test]
    fn a_value_is_made_again_and_no_other_passes() {
        let maker = Maker::new(&Items::olio());
        let again = Maker::new(&Items::olio());
        for number in 0..2_000 {
            let mut value = Vec::new();
            maker.write(&key(number), &mut value);
            assert_eq!(value.len(), maker.bytes(&key(number)));
            assert!(again.is_right(&key(number), &value));
            assert!(!again.is_right(&key(number + 1), &value));
            assert!(!again.is_right(&key(number), &value[1..]));
            let last = value.len() - 1;
            value[last] ^= 1;
            assert!(!again.is_right(&key(number), &value));
        }
    }

    #[test]
    fn classes_have_their_shares_and_lengths() {
        let maker = Maker::new(&Items::olio());
        let lengths: Vec<usize> = (0..20_000).map(|number| maker.bytes(&key(number))).collect();
        for (from, to, share) in [(4, 100, 0.6), (1_000, 2_000, 0.3), (5_000, 20_000, 0.1)] {
            let found = lengths.iter().filter(|bytes| (from..=to).contains(*bytes));
            let (count, sum) = found.fold((0, 0), |(count, sum), bytes| (count + 1, sum + bytes));
            assert!((count as f64 / 20_000.0 - share).abs() < 0.02, "{from} to {to}: {count}");
            let mean = sum as f64 / count as f64;
            assert!((mean / ((from + to) as f64 / 2.0) - 1.0).abs() < 0.05, "{mean}");
        }
    }

    #[test]
    fn etc_is_as_published() {
        let maker = Maker::new(&Items { values: Values::Etc, keys: KeyLengths::Etc });
        let mut lengths: Vec<usize> = (0..50_000).map(|n| maker.bytes(&key(n))).collect();
        lengths.sort_unstable();
        let share = |from: usize, to: usize| {
            lengths.iter().filter(|bytes| (from..=to).contains(*bytes)).count() as f64 / 50_000.0
        };
        assert!((share(2, 2) - 0.178).abs() < 0.01 && (share(11, 11) - 0.09).abs() < 0.01);
        assert!((share(0, 14) - 0.4416).abs() < 0.01, "{}", share(0, 14));
        // Half of the rest is below 15 + 214.476 / 0.348238 (2^0.348238 - 1) = 183.1.
        assert!((share(15, 183) - 0.279).abs() < 0.01, "{}", share(15, 183));
        let lengths = (0..50_000).map(|number| {
            let mut key = key(number);
            maker.fill_up(&mut key);
            key.len()
        });
        let mean = lengths.sum::<usize>() as f64 / 50_000.0;
        // 30.7984 + 8.20449 (Γ(1 - 0.078688) - 1) / 0.078688 = 36.1, less half for whole bytes.
        assert!((mean - 35.6).abs() < 0.5, "{mean}");
    }

    #[test]
    fn twitters_objects_are_as_published() {
        let maker = Maker::new(&Items { values: Values::Twitter, keys: KeyLengths::AsWritten });
        let object = |number| key(number).len() + maker.bytes(&key(number));
        let share = |most: usize| {
            (0..50_000).filter(|number| object(*number) < most).count() as f64 / 50_000.0
        };
        assert!((share(230) - 0.5).abs() < 0.01, "{}", share(230));
        assert!((share(100) - 0.24).abs() < 0.01, "{}", share(100));
        assert!((0..50_000).all(|number| (1..=100_000).contains(&maker.bytes(&key(number)))));
    }
}
