//! Distributions of lengths by their inverse: a pure function from a share to a value, so that who
//! draws a share by a seed draws a value by it. Zipf's law, of whole numbers, is `plan::Zipf`.

use crate::random::Random;

/// The generalized extreme value distribution (Jenkinson 1955).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ExtremeValue {
    /// Where it is.
    pub(crate) location: f64,
    /// How wide.
    pub(crate) scale: f64,
    /// How heavy its tail is; 0: Gumbel's.
    pub(crate) shape: f64,
}

/// The generalized Pareto distribution (Pickands 1975).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pareto {
    /// The least value.
    pub(crate) location: f64,
    /// How wide.
    pub(crate) scale: f64,
    /// How heavy its tail is; 0: the exponential distribution.
    pub(crate) shape: f64,
}

/// The log-normal distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LogNormal {
    /// Half of the values are below.
    pub(crate) median: f64,
    /// The standard deviation of the logarithm.
    pub(crate) sigma: f64,
}

impl ExtremeValue {
    /// The value that a share of all values, more than 0 and less than 1, is below.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        self.location + self.scale * stretched(-(-share.ln()).ln(), self.shape)
    }

    /// The next value.
    pub(crate) fn draw(&self, random: &mut Random) -> f64 {
        // Not 0, whose logarithm there is none of.
        self.quantile(1.0 - random.unit())
    }
}

impl Pareto {
    /// The value that a share of all values, from 0 on and less than 1, is below.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        self.location + self.scale * stretched(-(-share).ln_1p(), self.shape)
    }

    /// The next value.
    pub(crate) fn draw(&self, random: &mut Random) -> f64 {
        self.quantile(random.unit())
    }
}

impl LogNormal {
    /// The next value.
    pub(crate) fn draw(&self, random: &mut Random) -> f64 {
        self.median * (self.sigma * random.normal()).exp()
    }
}

/// (e^(shape x) - 1) / shape, and x for a shape of 0.
fn stretched(x: f64, shape: f64) -> f64 {
    if shape == 0.0 { x } else { (shape * x).exp_m1() / shape }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 200_000;

    /// Draws, in their order of size.
    fn drawn(mut draw: impl FnMut(&mut Random) -> f64) -> Vec<f64> {
        let mut random = Random::of_user(5, 5);
        let mut values: Vec<f64> = (0..DRAWS).map(|_| draw(&mut random)).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    /// At each share, as many draws are below the value as should be, within five standard
    /// deviations; the seed is fixed.
    fn assert_is_law(values: &[f64], known: &[(f64, f64)]) {
        for (share, value) in known {
            let below = values.partition_point(|drawn| drawn < value) as f64 / DRAWS as f64;
            let chance = 5.0 * (share * (1.0 - share) / DRAWS as f64).sqrt();
            assert!((below - share).abs() <= chance, "{below} below {value}, not {share}");
        }
    }

    #[test]
    fn extreme_values_have_the_known_quantiles() {
        // Fréchet's distribution with shape 2, exp(-x^-2), is this with location 1, scale and
        // shape 1/2: its quantiles are (-ln p)^(-1/2).
        let frechet = ExtremeValue { location: 1.0, scale: 0.5, shape: 0.5 };
        let gumbel = ExtremeValue { location: 3.0, scale: 2.0, shape: 0.0 };
        for share in [0.01_f64, 0.25, 0.5, 0.9, 0.999] {
            let expected = (-share.ln()).powf(-0.5);
            assert!((frechet.quantile(share) - expected).abs() < 1e-9 * expected);
            let expected = 3.0 - 2.0 * (-share.ln()).ln();
            assert!((gumbel.quantile(share) - expected).abs() < 1e-9);
        }
        // Near a shape of 0 it is nearly Gumbel's.
        let near = ExtremeValue { shape: 1e-12, ..gumbel };
        assert!((near.quantile(0.99) - gumbel.quantile(0.99)).abs() < 1e-6);
        // Keys of ETC, by the distribution's formula exp(-(1 + k (x - l) / s)^(-1 / k)).
        let keys = ExtremeValue { location: 30.7984, scale: 8.20449, shape: 0.078_688 };
        let below = |x: f64| (-(1.0 + 0.078_688 * (x - 30.7984) / 8.20449).powf(-12.70842)).exp();
        let known = [20.0, 30.0, 40.0, 60.0, 100.0].map(|x| (below(x), x));
        assert_is_law(&drawn(|random| keys.draw(random)), &known);
    }

    #[test]
    fn pareto_has_the_known_quantiles() {
        let pareto = Pareto { location: 15.0, scale: 214.476, shape: 0.348_238 };
        // (1 - p)^-k at p = 3/4 is 4^k.
        let expected = 15.0 + 214.476 / 0.348_238 * (4.0_f64.powf(0.348_238) - 1.0);
        assert!((pareto.quantile(0.75) - expected).abs() < 1e-9);
        assert_eq!(pareto.quantile(0.0), 15.0);
        let exponential = Pareto { location: 0.0, scale: 2.0, shape: 0.0 };
        assert!((exponential.quantile(0.5) - 2.0 * 2.0_f64.ln()).abs() < 1e-12);
        let below = |x: f64| 1.0 - (1.0 + 0.348_238 * (x - 15.0) / 214.476).powf(-2.871_599);
        let known = [20.0, 100.0, 500.0, 2_000.0, 20_000.0].map(|x| (below(x), x));
        assert_is_law(&drawn(|random| pareto.draw(random)), &known);
    }

    #[test]
    fn log_normal_has_the_known_quantiles() {
        let law = LogNormal { median: 230.0, sigma: 1.179 };
        // The standard normal distribution's, from its table.
        let known = [(0.024_998, -1.96), (0.158_655, -1.0), (0.5, 0.0), (0.97725, 2.0)];
        let known = known.map(|(share, z): (f64, f64)| (share, 230.0 * (1.179 * z).exp()));
        assert_is_law(&drawn(|random| law.draw(random)), &known);
    }
}
