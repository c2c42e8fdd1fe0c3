//! Seeded random numbers, so that each run does the same.

/// SplitMix64 (Steele, Lea and Flood 2014).
pub struct Random(u64);

impl Random {
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

    /// Evenly below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// Evenly from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Ranks with the exact Zipf distribution: rank r (from 0) is drawn in proportion to
/// 1 / (r + 1)^exponent. The exponent 0 draws evenly.
pub struct Zipf {
    /// The probability of each rank and all before it.
    cumulative: Vec<f64>,
}

impl Zipf {
    pub fn new(ranks: u64, exponent: f64) -> Self {
        let mut sum = 0.0;
        let weights = (1..=ranks).map(|rank| (rank as f64).powf(-exponent));
        let mut cumulative: Vec<f64> = weights
            .map(|weight| {
                sum += weight;
                sum
            })
            .collect();
        cumulative.iter_mut().for_each(|c| *c /= sum);
        Self { cumulative }
    }

    pub fn draw(&self, random: &mut Random) -> u64 {
        let at = random.unit();
        let rank = self.cumulative.partition_point(|c| *c <= at);
        rank.min(self.cumulative.len() - 1) as u64
    }
}
