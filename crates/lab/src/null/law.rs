//! Laws of latency, drawn evenly: the values of any thousand requests in a row are spread over the
//! law as evenly as can be, so that percentiles of a run are those of the law and not of luck.

use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;

/// A law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// No delay.
    None,
    /// Always the same.
    Fixed(Duration),
    /// Each from the first to the second as likely as the other.
    Uniform(Duration, Duration),
    /// Negative exponential with this mean.
    Exponential(Duration),
    /// Log-normal: half are below the median, and the logarithm deviates by `sigma`.
    LogNormal {
        /// The median.
        median: Duration,
        /// Of the natural logarithm.
        sigma: f64,
    },
}

/// A law that is none.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "expected a law such as none, fixed:5ms, uniform:1ms-9ms, exponential:5ms or \
     lognormal:5ms,0.8; got \"{0}\""
)]
pub struct LawError(String);

impl Law {
    /// The latency that the share `quantile` of requests does not exceed.
    pub fn quantile(&self, quantile: f64) -> Duration {
        match *self {
            Self::None => Duration::ZERO,
            Self::Fixed(time) => time,
            Self::Uniform(from, to) => from + to.saturating_sub(from).mul_f64(quantile),
            Self::Exponential(mean) => mean.mul_f64(-(1.0 - quantile).ln()),
            Self::LogNormal { median, sigma } => {
                median.mul_f64((sigma * normal_quantile(quantile)).exp())
            }
        }
    }

    /// The latency of the request with this number.
    pub fn draw(&self, number: u64) -> Duration {
        self.quantile(van_der_corput(number))
    }
}

/// The number of `number + 1` in base 2 mirrored at the point: 1/2, 1/4, 3/4, 1/8, ... (van der
/// Corput 1935). Never 0 and never 1.
fn van_der_corput(number: u64) -> f64 {
    ((number + 1).reverse_bits() >> 11) as f64 / (1_u64 << 53) as f64
}

/// The inverse of the standard normal distribution, within 1e-9 of relative error (Acklam 2003).
fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    const LOW: f64 = 0.02425;
    let horner = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    let tail = |p: f64| {
        let q = (-2.0 * p.ln()).sqrt();
        horner(&C, q) / horner(&D, q)
    };
    match p {
        p if p < LOW => tail(p),
        p if p > 1.0 - LOW => -tail(1.0 - p),
        p => {
            let q = p - 0.5;
            q * horner(&A, q * q) / horner(&B, q * q)
        }
    }
}

impl FromStr for Law {
    type Err = LawError;

    fn from_str(text: &str) -> Result<Self, LawError> {
        parse(text).ok_or_else(|| LawError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Law> {
    if text == "none" {
        return Some(Law::None);
    }
    let (name, numbers) = text.split_once(':')?;
    match name {
        "fixed" => Some(Law::Fixed(time(numbers)?)),
        "uniform" => {
            let (from, to) = numbers.split_once('-')?;
            let (from, to) = (time(from)?, time(to)?);
            (from <= to).then_some(Law::Uniform(from, to))
        }
        "exponential" => Some(Law::Exponential(time(numbers)?)),
        "lognormal" => {
            let (median, sigma) = numbers.split_once(',')?;
            let sigma: f64 = sigma.parse().ok()?;
            let is_sigma = sigma.is_finite() && (0.0..=5.0).contains(&sigma);
            is_sigma.then_some(Law::LogNormal { median: time(median)?, sigma })
        }
        _ => None,
    }
}

/// A time such as `5ms`, `1.5s` or `20us`, up to a minute.
pub(super) fn time(text: &str) -> Option<Duration> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let (number, unit) =
        units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    let seconds = number.parse::<f64>().ok()? * unit;
    (0.0..=60.0).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn laws_are_read() {
        let law = |text: &str| text.parse::<Law>().unwrap();
        assert_eq!(law("none"), Law::None);
        assert_eq!(law("fixed:5ms"), Law::Fixed(5 * MS));
        assert_eq!(law("uniform:1ms-1.5s"), Law::Uniform(MS, 1500 * MS));
        assert_eq!(law("exponential:20us"), Law::Exponential(MS / 50));
        assert_eq!(law("lognormal:5ms,0.8"), Law::LogNormal { median: 5 * MS, sigma: 0.8 });
        for wrong in [
            "",
            "fixed",
            "fixed:5",
            "fixed:-1ms",
            "fixed:61s",
            "uniform:2ms-1ms",
            "x:1ms",
            "lognormal:5ms",
            "lognormal:5ms,-1",
            "lognormal:5ms,nan",
        ] {
            let error = wrong.parse::<Law>().unwrap_err().to_string();
            assert!(error.ends_with(&format!("got \"{wrong}\"")), "{error}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let normal = |p| normal_quantile(p);
        for (p, z) in [(0.5, 0.0), (0.975, 1.959_963_985), (0.999, 3.090_232_306)] {
            assert!((normal(p) - z).abs() < 1e-8, "{p}: {}", normal(p));
            assert!((normal(1.0 - p) + z).abs() < 1e-8);
        }
        let p99 = Law::Exponential(100 * MS).quantile(0.99).as_secs_f64();
        assert!((p99 - 0.460_517).abs() < 1e-6);
    }

    #[test]
    fn a_thousand_draws_are_spread_evenly() {
        let law = Law::Uniform(Duration::ZERO, 1000 * MS);
        let mut draws: Vec<f64> = (5000..6000).map(|n| law.draw(n).as_secs_f64()).collect();
        draws.sort_by(f64::total_cmp);
        for (i, draw) in draws.iter().enumerate() {
            assert!((draw - i as f64 / 1000.0).abs() < 0.01, "{i}: {draw}");
        }
    }
}
