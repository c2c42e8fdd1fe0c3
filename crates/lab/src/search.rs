//! The highest rate at which a run keeps what it must: which rate is tried next, from what came of
//! those before. It carries nothing out, and reads no clock.
//!
//! From a first rate it is doubled until one is missed, or halved until one is kept; then the rate
//! between the two, by the geometric mean, is tried, until they are 5 % apart. A single miss may be
//! an accident of the machine: a rate is missed when it was missed twice. The answer was kept three
//! times, and missed at most once.

use crate::limits::{RATE_MAX, SEARCH_TRIALS_MAX};

/// What came of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It kept everything.
    Kept,
    /// It did not.
    Missed {
        /// Whether the generator, not the server, may be why.
        by_generator: bool,
    },
}

/// A run at a rate, in operations a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// At which rate.
    pub rate: f64,
    /// What came of it.
    pub outcome: Outcome,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Try this rate.
    Try(f64),
    /// It is found.
    Found(Answer),
    /// Not even the lowest rate is kept.
    Nothing,
    /// There were as many runs as there may be.
    GivenUp,
}

/// The highest rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// It was kept at this rate.
    pub kept: f64,
    /// And missed at this one; nothing if the highest rate there is was kept.
    pub missed: Option<f64>,
    /// Whether the generator may be why it was missed there.
    pub by_generator: bool,
}

/// The lowest rate that is tried.
const LEAST: f64 = 1.0;

/// The answer lies between two rates of which the higher is at most so many times the lower.
const CLOSE: f64 = 1.05;

/// How often the answer must have been kept.
const SURE: usize = 3;

/// How often a rate must have been missed to be missed.
const MISSES: usize = 2;

/// What comes after these trials, if `start` is where it begins.
pub fn next(start: f64, trials: &[Trial]) -> Next {
    let high = lowest_missed(trials);
    let below = trials.iter().filter(|trial| high.is_none_or(|high| trial.rate < high));
    let low = below
        .map(|trial| trial.rate)
        .fold(None, |most: Option<f64>, rate| Some(most.map_or(rate, |most| most.max(rate))));
    let count = low.map(|low| Count::of(trials, low));
    let next = match (low.zip(count), high) {
        (None, None) => Next::Try(start.clamp(LEAST, RATE_MAX)),
        // Not told yet: again.
        (Some((low, count)), _) if count.is_open() => Next::Try(low),
        (Some((low, _)), None) if low < RATE_MAX => Next::Try((low * 2.0).min(RATE_MAX)),
        (None, Some(high)) if high > LEAST => Next::Try((high / 2.0).max(LEAST)),
        (None, Some(_)) => Next::Nothing,
        (Some((low, _)), Some(high)) if high > low * CLOSE => Next::Try((low * high).sqrt()),
        (Some((low, count)), _) if count.kept < SURE => Next::Try(low),
        (Some((kept, _)), missed) => {
            let by_generator = missed.is_some_and(|rate| Count::of(trials, rate).by_generator);
            Next::Found(Answer { kept, missed, by_generator })
        }
    };
    match next {
        Next::Try(_) if trials.len() >= SEARCH_TRIALS_MAX => Next::GivenUp,
        next => next,
    }
}

fn lowest_missed(trials: &[Trial]) -> Option<f64> {
    let rates = trials.iter().map(|trial| trial.rate);
    rates.filter(|rate| Count::of(trials, *rate).missed >= MISSES).reduce(f64::min)
}

/// What came of one rate.
struct Count {
    kept: usize,
    missed: usize,
    by_generator: bool,
}

impl Count {
    fn of(trials: &[Trial], rate: f64) -> Self {
        let mut count = Self { kept: 0, missed: 0, by_generator: false };
        for trial in trials.iter().filter(|trial| trial.rate == rate) {
            match trial.outcome {
                Outcome::Kept => count.kept += 1,
                Outcome::Missed { by_generator } => {
                    count.missed += 1;
                    count.by_generator |= by_generator;
                }
            }
        }
        count
    }

    /// Missed once, and not kept more often.
    fn is_open(&self) -> bool {
        self.missed > 0 && self.missed < MISSES && self.kept <= self.missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MISSED: Outcome = Outcome::Missed { by_generator: false };

    /// Searches on a server that keeps rates up to `capacity`, but for the trials that
    /// `accidents` names; gives the trials, too.
    fn search(start: f64, capacity: f64, accidents: &[usize]) -> (Next, Vec<Trial>) {
        let mut trials = Vec::new();
        loop {
            match next(start, &trials) {
                Next::Try(rate) => {
                    let is_kept = rate <= capacity && !accidents.contains(&trials.len());
                    let outcome = if is_kept { Outcome::Kept } else { MISSED };
                    trials.push(Trial { rate, outcome });
                }
                end => return (end, trials),
            }
        }
    }

    fn found(next: Next) -> Answer {
        match next {
            Next::Found(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_answer_is_within_five_percent_wherever_it_begins() {
        for capacity in [1.0, 3.7, 150.0, 52_345.0, 1_234_567.0] {
            for start in [1.0, 1_000.0, 5_000_000.0] {
                let (end, trials) = search(start, capacity, &[]);
                let Answer { kept, missed, by_generator } = found(end);
                let missed = missed.unwrap();
                assert!(kept <= capacity && capacity < missed, "{capacity}: {end:?}");
                assert!(missed <= kept * CLOSE * 1.000_001, "{end:?}");
                assert!(!by_generator);
                assert!(trials.len() <= SEARCH_TRIALS_MAX);
                let sure = trials.iter().filter(|t| t.rate == kept && t.outcome == Outcome::Kept);
                assert_eq!(sure.count(), SURE);
            }
        }
    }

    #[test]
    fn one_accident_anywhere_changes_nothing() {
        let (end, trials) = search(1_000.0, 9_100.0, &[]);
        for accident in 0..trials.len() {
            assert_eq!(search(1_000.0, 9_100.0, &[accident]).0, end, "{accident}");
        }
    }

    #[test]
    fn there_is_an_end_at_both_ends() {
        assert_eq!(search(1_000.0, 0.5, &[]).0, Next::Nothing);
        let all = found(search(1_000.0, f64::MAX, &[]).0);
        assert_eq!(all, Answer { kept: RATE_MAX, missed: None, by_generator: false });
        // A server that is now like this, now like that.
        let accidents: Vec<usize> = (0..1_000).filter(|trial| trial % 3 != 0).collect();
        let (end, trials) = search(1_000.0, 1e6, &accidents);
        assert!(trials.len() <= SEARCH_TRIALS_MAX, "{end:?}");
        let kept_now_and_then: Vec<Trial> = (0..SEARCH_TRIALS_MAX)
            .map(|i| Trial { rate: 1.0 + i as f64, outcome: Outcome::Kept })
            .collect();
        assert_eq!(next(1.0, &kept_now_and_then), Next::GivenUp);
    }

    #[test]
    fn it_is_said_that_the_generator_may_be_the_limit() {
        let by = Outcome::Missed { by_generator: true };
        let mut trials = vec![Trial { rate: 104.0, outcome: by }; 2];
        trials.extend(vec![Trial { rate: 100.0, outcome: Outcome::Kept }; SURE]);
        assert!(found(next(100.0, &trials)).by_generator);
    }
}
