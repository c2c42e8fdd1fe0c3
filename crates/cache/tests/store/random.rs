//! Random numbers from a seed: SplitMix64 (Steele, Lea, Flood, 2014).

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// A value that says which one it is, wherever it is parted or mixed up.
    pub fn value(&mut self, length: usize) -> Vec<u8> {
        let mut value = Vec::with_capacity(length + 8);
        let mut word = Self(self.next());
        while value.len() < length {
            value.extend_from_slice(&word.next().to_le_bytes());
        }
        value.truncate(length);
        value
    }
}
