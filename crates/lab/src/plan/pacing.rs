//! How long a user waits: after an operation (think time), or from the start of one to the start of
//! the next (cycle time).

use crate::random::Random;
use std::time::Duration;

/// A user's pauses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// The next operation starts when the last one is over.
    None,
    /// A pause after each operation.
    Think(Distribution),
    /// From start to start. An operation that lasts longer starts the next one late.
    Cycle(Distribution),
}

/// Times to draw from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Fixed(Duration),
    /// Each from the first to the second as likely as the other.
    Uniform(Duration, Duration),
    /// Negative exponential. With a minimum it is shifted, so that the mean stays; what is above
    /// the cap is the cap (Faban's rule).
    Exponential {
        /// The mean before the cap.
        mean: Duration,
        /// The least.
        min: Duration,
        /// The most.
        cap: Duration,
    },
    /// Log-normal, told by its median and the standard deviation of its logarithm.
    LogNormal {
        /// Half of the times are shorter.
        median: Duration,
        /// Of the natural logarithm.
        sigma: f64,
        /// The most.
        cap: Duration,
    },
}

impl Distribution {
    /// The next time.
    pub(crate) fn draw(&self, random: &mut Random) -> Duration {
        match *self {
            Self::Fixed(time) => time,
            Self::Uniform(from, to) => from + to.saturating_sub(from).mul_f64(random.unit()),
            Self::Exponential { mean, min, cap } => {
                let spread = mean.saturating_sub(min).as_secs_f64();
                seconds(min.as_secs_f64() + spread * random.exponential(), cap)
            }
            Self::LogNormal { median, sigma, cap } => {
                seconds(median.as_secs_f64() * (sigma * random.normal()).exp(), cap)
            }
        }
    }

    /// The mean of what is drawn, the cap included.
    pub fn mean(&self) -> Duration {
        match *self {
            Self::Fixed(time) => time,
            Self::Uniform(from, to) => (from + to) / 2,
            Self::Exponential { mean, min, cap } => {
                let (spread, least) = (mean.saturating_sub(min), min.as_secs_f64());
                let (spread, room) = (spread.as_secs_f64(), cap.as_secs_f64() - least);
                // What lies above the cap, on average, is exp(-room / spread) of the spread.
                let cut = if spread > 0.0 { spread * (-room / spread).exp() } else { 0.0 };
                Duration::from_secs_f64((least + spread - cut).max(0.0))
            }
            Self::LogNormal { median, sigma, cap } => {
                let (median, cap) = (median.as_secs_f64(), cap.as_secs_f64());
                let z = (cap / median).ln() / sigma;
                let below = median * (sigma * sigma / 2.0).exp() * normal_cdf(z - sigma);
                Duration::from_secs_f64(below + cap * (1.0 - normal_cdf(z)))
            }
        }
    }
}

fn seconds(seconds: f64, cap: Duration) -> Duration {
    Duration::from_secs_f64(seconds.clamp(0.0, cap.as_secs_f64()))
}

/// The standard normal distribution's, within 1e-7 (Abramowitz and Stegun 1964, 7.1.26 by way of
/// erf).
fn normal_cdf(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let series = [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
    let sum = series.iter().rev().fold(0.0, |sum, a| (sum + a) * t);
    let erf = 1.0 - sum * (-x * x).exp();
    if z < 0.0 { (1.0 - erf) / 2.0 } else { f64::midpoint(1.0, erf) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// The mean of many draws is the stated one within 1 %, and none leaves the bounds.
    fn check(distribution: Distribution, least: Duration, most: Duration) {
        let mut random = Random::of_user(1, 1);
        let draws: Vec<Duration> = (0..200_000).map(|_| distribution.draw(&mut random)).collect();
        assert!(draws.iter().all(|draw| (least..=most).contains(draw)));
        let mean = draws.iter().map(Duration::as_secs_f64).sum::<f64>() / draws.len() as f64;
        let stated = distribution.mean().as_secs_f64();
        assert!((mean / stated - 1.0).abs() < 0.01, "{mean} for {stated}");
    }

    #[test]
    fn draws_have_the_stated_mean_and_bounds() {
        check(Distribution::Fixed(3 * MS), 3 * MS, 3 * MS);
        check(Distribution::Uniform(2 * MS, 6 * MS), 2 * MS, 6 * MS);
        let (mean, cap) = (5000 * MS, 25_000 * MS);
        check(Distribution::Exponential { mean, min: Duration::ZERO, cap }, Duration::ZERO, cap);
        check(Distribution::Exponential { mean, min: 3000 * MS, cap }, 3000 * MS, cap);
        check(Distribution::Exponential { mean, min: 5000 * MS, cap }, 5000 * MS, 5000 * MS);
        let log_normal = Distribution::LogNormal { median: 10 * MS, sigma: 1.0, cap: 50 * MS };
        check(log_normal, Duration::ZERO, 50 * MS);
    }

    #[test]
    fn olios_cycle_is_a_little_below_five_seconds() {
        // 5 s (1 - e^-5).
        let (mean, cap) = (5000 * MS, 25_000 * MS);
        let mean = Distribution::Exponential { mean, min: Duration::ZERO, cap }.mean();
        assert!((mean.as_secs_f64() - 4.966).abs() < 0.001, "{mean:?}");
    }
}
