//! Numbers by Zipf's law: the first is the most frequent, the i-th 1 / i^exponent as frequent. A
//! draw takes constant time and memory whatever the count is.

use crate::random::Random;

/// Zipf's law over so many numbers, ready to be drawn from.
///
/// The method is rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate
/// variates from monotone discrete distributions", ACM TOMACS 6(3), 1996): it is exact, and needs
/// less than two tries on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zipf {
    count: u64,
    exponent: f64,
    /// The integral of the density at 1.5, less the first number's share.
    from: f64,
    /// The integral at the upper end.
    to: f64,
    /// Below this distance from a whole number no second look is needed.
    near: f64,
}

impl Zipf {
    /// Of the numbers from 0 to `count` - 1, with an exponent from 0 (each as likely as the other)
    /// up.
    pub fn new(count: u64, exponent: f64) -> Self {
        let mut zipf = Self { count, exponent, from: 0.0, to: 0.0, near: 0.0 };
        zipf.from = zipf.integral(1.5) - 1.0;
        zipf.to = zipf.integral(count as f64 + 0.5);
        zipf.near = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// How many numbers there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The exponent.
    pub fn exponent(&self) -> f64 {
        self.exponent
    }

    /// The next number, from 0.
    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
        if self.exponent == 0.0 {
            return random.below(self.count);
        }
        loop {
            let area = self.to + random.unit() * (self.from - self.to);
            let x = self.inverse(area);
            let rank = (x + 0.5).floor().clamp(1.0, self.count.max(1) as f64);
            let within = rank - x <= self.near;
            if within || area >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64 - 1;
            }
        }
    }

    /// x^-exponent.
    fn density(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The density's integral from 1 to x.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        exp_m1_over((1.0 - self.exponent) * log) * log
    }

    fn inverse(&self, area: f64) -> f64 {
        // Rounding may lead just below the least that has an inverse.
        let t = (area * (1.0 - self.exponent)).max(-1.0);
        (ln_1p_over(t) * area).exp()
    }
}

/// (e^x - 1) / x, also near 0.
fn exp_m1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 * (1.0 + x / 3.0) }
}

/// ln(1 + x) / x, also near 0.
fn ln_1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x * (0.5 - x / 3.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::ZIPF_EXPONENT_MAX;

    /// Pearson's chi-squared of 400,000 draws against the law, and the degrees of freedom: the
    /// numbers that are expected at least 20 times each, and the rest together.
    fn chi_squared(count: u64, exponent: f64) -> (f64, f64) {
        const DRAWS: f64 = 400_000.0;
        let zipf = Zipf::new(count, exponent);
        let mut random = Random::of_user(11, count);
        let mut seen = vec![0_u32; count as usize];
        (0..DRAWS as u32).for_each(|_| seen[zipf.draw(&mut random) as usize] += 1);
        let weight = |i: usize| (i as f64 + 1.0).powf(-exponent);
        let total: f64 = (0..seen.len()).map(weight).sum();
        let (mut sum, mut cells, mut rest) = (0.0, 0.0, (0.0, 0.0));
        for (i, seen) in seen.iter().enumerate() {
            let expected = DRAWS * weight(i) / total;
            if expected < 20.0 {
                rest = (rest.0 + expected, rest.1 + f64::from(*seen));
                continue;
            }
            sum += (f64::from(*seen) - expected).powi(2) / expected;
            cells += 1.0;
        }
        if rest.0 > 0.0 {
            sum += (rest.1 - rest.0).powi(2) / rest.0;
            cells += 1.0;
        }
        (sum, cells - 1.0)
    }

    #[test]
    fn draws_follow_the_law() {
        for exponent in [0.0, 0.5, 0.99, 1.0, 1.2, 1.5, 2.0, ZIPF_EXPONENT_MAX] {
            for count in [2, 10, 1_000, 50_000] {
                let (sum, freedom) = chi_squared(count, exponent);
                // Four standard deviations above the mean; the seed is fixed.
                let bound = freedom + 4.0 * (2.0 * freedom).sqrt() + 4.0;
                assert!(sum < bound, "{count}^{exponent}: {sum} of {freedom}");
            }
        }
    }

    #[test]
    fn one_number_is_always_drawn_and_many_are_possible() {
        let mut random = Random::of_user(1, 1);
        for exponent in [0.0, 1.0, ZIPF_EXPONENT_MAX] {
            assert_eq!(Zipf::new(1, exponent).draw(&mut random), 0);
            let many = Zipf::new(1 << 40, exponent);
            assert!((0..1000).all(|_| many.draw(&mut random) < 1 << 40));
        }
    }
}
