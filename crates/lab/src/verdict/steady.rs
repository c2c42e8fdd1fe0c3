//! Whether a figure was steady over the seconds of the measured interval: a test for a trend that
//! noise alone hardly passes, even where neighbouring seconds are alike.
//!
//! It is the test of Mann (1945) and Kendall for a monotone trend, on means of equal blocks of
//! seconds, with its variance inflated for a correlation of neighbours as von Storch (1995) and Yue
//! and Wang (2004) have it, and the slope of Sen (1968). Ranks are what makes a single stall no
//! trend. `docs/lab.md` states how often it is wrong.

/// Fewest blocks from which anything can be told.
pub(super) const BLOCKS_MIN: usize = 10;

/// Most blocks. More seconds are averaged: a trend is slow, and the test takes the square of them.
const BLOCKS_MAX: usize = 60;

/// Deviations of the standard normal distribution beyond which a trend is one: 1 in 200 by chance.
const CRITICAL: f64 = 2.81;

/// A trend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trend {
    /// By how much the figure moved over all seconds, as a share of its median.
    pub(super) moved: f64,
    /// The same in a minute.
    pub(super) per_minute: f64,
}

/// The trend of a figure over seconds, if it has one that is no chance; nothing for fewer than
/// [`BLOCKS_MIN`] seconds.
pub(super) fn trend(seconds: &[f64]) -> Option<Trend> {
    let length = seconds.len().div_ceil(BLOCKS_MAX).max(1);
    // What does not fill a block is left out at the beginning.
    let blocks = seconds.rchunks_exact(length);
    let mut means: Vec<f64> =
        blocks.map(|block| block.iter().sum::<f64>() / length as f64).collect();
    means.reverse();
    if means.len() < BLOCKS_MIN {
        return None;
    }
    let slope = sen_slope(&means);
    let (statistic, variance) = kendall(&means);
    let deviations =
        (statistic.abs() - 1.0).max(0.0) / (variance * inflation(&means, slope)).sqrt();
    let level = median(&mut means.clone());
    // Of what is 0 most of the time no share can be stated.
    if deviations.is_nan() || deviations <= CRITICAL || level <= 0.0 {
        return None;
    }
    let a_second = slope / length as f64 / level;
    Some(Trend { moved: a_second * seconds.len() as f64, per_minute: a_second * 60.0 })
}

/// The median of the slopes between any two.
fn sen_slope(values: &[f64]) -> f64 {
    let pairs = (0..values.len()).flat_map(|i| (i + 1..values.len()).map(move |j| (i, j)));
    let mut slopes: Vec<f64> =
        pairs.map(|(i, j)| (values[j] - values[i]) / (j - i) as f64).collect();
    median(&mut slopes)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() % 2 {
        0 => f64::midpoint(values[half - 1], values[half]),
        _ => values[half],
    }
}

/// How many pairs go up less how many go down, and the variance of that without a trend.
fn kendall(values: &[f64]) -> (f64, f64) {
    let n = values.len();
    let mut statistic = 0.0;
    for i in 0..n {
        for j in i + 1..n {
            let step = values[j] - values[i];
            statistic += if step == 0.0 { 0.0 } else { step.signum() };
        }
    }
    let of = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|tied| of(tied.len() as f64)).sum();
    (statistic, (of(n as f64) - ties) / 18.0)
}

/// By how much a correlation of neighbours makes that variance larger: how many values there are
/// for each independent one, without the trend.
fn inflation(values: &[f64], slope: f64) -> f64 {
    let n = values.len() as f64;
    let rest: Vec<f64> =
        values.iter().enumerate().map(|(i, value)| value - slope * i as f64).collect();
    let mean = rest.iter().sum::<f64>() / n;
    let variance: f64 = rest.iter().map(|value| (value - mean).powi(2)).sum();
    let neighbours: f64 = rest.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
    if variance == 0.0 {
        return 1.0;
    }
    // Of few values with a trend taken out it comes out too small (Kendall 1954).
    let correlation = ((n * neighbours / variance + 1.0) / (n - 4.0)).clamp(0.0, 0.95);
    let share = |lag: usize| (1.0 - lag as f64 / n) * correlation.powi(lag as i32);
    1.0 + 2.0 * (1..values.len()).map(share).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Seconds around 1,000 with a deviation of 3 %, each like the one before by `alike` (an
    /// autoregressive process of order 1), and moving by `moved` in all.
    fn seconds(random: &mut Random, count: usize, alike: f64, moved: f64) -> Vec<f64> {
        let mut noise = random.normal();
        let fresh = (1.0 - alike * alike).sqrt();
        (0..count)
            .map(|second| {
                noise = alike * noise + fresh * random.normal();
                1000.0 * (1.0 + 0.03 * noise + moved * second as f64 / count as f64)
            })
            .collect()
    }

    /// How many of 4,000 runs have a trend.
    fn found(count: usize, alike: f64, moved: f64) -> usize {
        let mut random = Random::of_user(7, count as u64);
        (0..4000).filter(|_| trend(&seconds(&mut random, count, alike, moved)).is_some()).count()
    }

    #[test]
    fn false_alarms_are_as_rare_as_is_said() {
        for count in [10, 15, 30, 60, 300] {
            // At most 1 in 100 where seconds do not hang together, and 1 in 25 where they do.
            let independent = found(count, 0.0, 0.0);
            assert!(independent <= 40, "{count} seconds: {independent} of 4000");
            let alike = found(count, 0.5, 0.0);
            assert!(alike <= 160, "{count} seconds alike: {alike} of 4000");
        }
    }

    #[test]
    fn a_trend_beyond_the_noise_is_found() {
        // Of ten seconds even the steepest trend may be taken for seconds that hang together.
        for (count, moved, least) in
            [(10, 0.5, 2_800), (30, 0.15, 3_600), (60, 0.1, 3_600), (600, 0.05, 3_600)]
        {
            let found = found(count, 0.0, moved);
            assert!(found >= least, "{count} seconds that move by {moved}: {found} of 4000");
        }
    }

    #[test]
    fn a_trend_is_stated_by_the_minute() {
        let rising: Vec<f64> = (0..120).map(|second| 1000.0 + f64::from(second)).collect();
        let trend = trend(&rising).unwrap();
        assert!((trend.per_minute - 0.0567).abs() < 0.001, "{trend:?}");
        assert!((trend.moved - 2.0 * trend.per_minute).abs() < 1e-9, "{trend:?}");
    }

    #[test]
    fn a_stall_is_no_trend_and_few_seconds_tell_nothing() {
        let mut random = Random::of_user(1, 1);
        let mut stalled = seconds(&mut random, 60, 0.0, 0.0);
        stalled[50..53].fill(0.0);
        assert_eq!(trend(&stalled), None);
        let rising: Vec<f64> = (0..9).map(f64::from).collect();
        assert_eq!(trend(&rising), None);
        assert_eq!(trend(&[0.0; 100]), None);
        assert_eq!(trend(&[5.0; 100]), None);
    }
}
