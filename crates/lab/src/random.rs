//! The generator a user draws keys from: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). It is
//! chosen for being the same in every version, not for secrecy.

/// A sequence of numbers fixed by its seed.
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// The sequence of one user: the same seed and user give the same numbers in every run.
    pub(crate) fn of_user(seed: u64, user: u64) -> Self {
        // The first output of a generator seeded with the user's number: neighbours far apart.
        let offset = Self { state: user }.number();
        Self { state: seed ^ offset }
    }

    /// One of several sequences of a user that do not depend on each other.
    pub(crate) fn of_stream(seed: u64, user: u64, stream: u64) -> Self {
        Self::of_user(Self { state: seed ^ (stream << 56) }.number(), user)
    }

    /// A sequence of its own that hangs on this one's next number.
    pub(crate) fn split(&mut self) -> Self {
        Self { state: self.number() }
    }

    /// The next number.
    pub(crate) fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// The next number from 0 up to, not including, `bound`; 0 if `bound` is 0. Its bias, at most
    /// bound / 2^64, is far below anything a run could show.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.number()) * u128::from(bound);
        (product >> 64) as u64
    }
}

impl Random {
    /// The next number from 0 up to, not including, 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The next of the negative exponential distribution with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// The next of the standard normal distribution (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_published_sequence() {
        let mut random = Random { state: 1234567 };
        let first: Vec<u64> = (0..3).map(|_| random.number()).collect();
        let published = [6457827717110365317, 3203168211198807973, 9817491932198370423];
        assert_eq!(first, published);
    }

    #[test]
    fn users_differ_and_repeat() {
        let draw = |seed, user| Random::of_user(seed, user).number();
        assert_eq!(draw(1, 0), draw(1, 0));
        assert_ne!(draw(1, 0), draw(1, 1));
        assert_ne!(draw(1, 0), draw(2, 0));
    }

    #[test]
    fn below_reaches_every_number_and_no_more() {
        let mut random = Random::of_user(7, 7);
        let mut seen = [0; 5];
        (0..1000).for_each(|_| seen[random.below(5) as usize] += 1);
        assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
        assert_eq!(random.below(1), 0);
        assert_eq!(random.below(0), 0);
    }
}
