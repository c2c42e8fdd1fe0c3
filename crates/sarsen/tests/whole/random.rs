//! A small random generator with a seed that a failing test can print.

use std::time::{SystemTime, UNIX_EPOCH};

/// SplitMix64.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// `SARSEN_SEED`, to repeat a run, or a new seed.
pub fn seed() -> u64 {
    if let Ok(given) = std::env::var("SARSEN_SEED") {
        return given.parse().expect("SARSEN_SEED is a number");
    }
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_nanos() as u64
}
