//! Which operation comes next, and the shares that this gives in the long run, which are known
//! before anything is sent.

use crate::random::Random;
use thiserror::Error;

/// How a user chooses.
#[derive(Clone, Debug, PartialEq)]
pub enum Mix {
    /// Each time anew, by weights, one for each operation.
    Flat(Vec<f64>),
    /// By what was done last: a row of weights for each operation. Users begin with the first.
    Markov(Vec<Vec<f64>>),
    /// One after the other, again and again.
    Sequence(Vec<usize>),
    /// Several sequences by weights; a new one is chosen when the last is over.
    Sequences(Vec<(f64, Vec<usize>)>),
}

/// A mix that leads nowhere.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum MixError {
    /// Another number of weights than there are operations.
    #[error("expected {expected} weights, one for each operation; got {got}")]
    Count {
        /// Operations.
        expected: usize,
        /// Weights.
        got: usize,
    },
    /// A weight that is none.
    #[error("a weight is a number from 0 on; got {0}")]
    Weight(f64),
    /// Nothing can come next.
    #[error("after operation {0} nothing can come next: its weights are all 0")]
    Nothing(usize),
    /// An operation that is not there.
    #[error("there is no operation {0}")]
    Unknown(usize),
    /// No operation at all.
    #[error("the mix has no operations")]
    Empty,
}

/// Where a user is in its mix.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position {
    started: bool,
    last: usize,
    /// In a sequence: which one, and how far.
    sequence: usize,
    step: usize,
}

impl Mix {
    /// Checks it against so many operations.
    pub(super) fn check(&self, operations: usize) -> Result<(), MixError> {
        match self {
            Self::Flat(weights) => check_row(weights, operations, 0),
            Self::Markov(rows) if rows.len() != operations => {
                Err(MixError::Count { expected: operations, got: rows.len() })
            }
            Self::Markov(rows) => {
                rows.iter().enumerate().try_for_each(|(i, row)| check_row(row, operations, i))
            }
            Self::Sequence(steps) => check_steps(steps, operations),
            Self::Sequences(all) => {
                let weights: Vec<f64> = all.iter().map(|(weight, _)| *weight).collect();
                check_row(&weights, all.len(), 0)?;
                all.iter().try_for_each(|(_, steps)| check_steps(steps, operations))
            }
        }
    }

    /// The next operation of a user.
    pub(crate) fn next(&self, position: &mut Position, random: &mut Random) -> usize {
        let chosen = match self {
            Self::Flat(weights) if weights.len() == 1 => 0,
            Self::Flat(weights) => random.weighted(weights),
            Self::Markov(_) if !position.started => 0,
            Self::Markov(rows) => random.weighted(&rows[position.last]),
            Self::Sequence(steps) => {
                let step = if position.started { (position.step + 1) % steps.len() } else { 0 };
                position.step = step;
                steps[step]
            }
            Self::Sequences(all) => {
                let is_over = position.step + 1 >= all[position.sequence].1.len();
                if !position.started || is_over {
                    let pick = random.unit() * all.iter().map(|(weight, _)| weight).sum::<f64>();
                    position.sequence = pick_of(all.iter().map(|(weight, _)| *weight), pick);
                    position.step = 0;
                } else {
                    position.step += 1;
                }
                all[position.sequence].1[position.step]
            }
        };
        *position = Position { started: true, last: chosen, ..*position };
        chosen
    }

    /// The share of each of `operations` operations in the long run; they sum to 1.
    pub fn shares(&self, operations: usize) -> Vec<f64> {
        let mut shares = vec![0.0; operations];
        match self {
            Self::Flat(weights) => shares.clone_from(weights),
            Self::Markov(rows) => return stationary(rows),
            Self::Sequence(steps) => steps.iter().for_each(|step| shares[*step] += 1.0),
            Self::Sequences(all) => {
                for (weight, steps) in all {
                    steps.iter().for_each(|step| shares[*step] += weight);
                }
            }
        }
        normalize(&mut shares);
        shares
    }
}

/// The distribution that the chain keeps, from the first operation on. The mean over many steps, so
/// that a chain that goes round in a circle has one, too.
fn stationary(rows: &[Vec<f64>]) -> Vec<f64> {
    let rows: Vec<Vec<f64>> = rows
        .iter()
        .map(|row| {
            let mut row = row.clone();
            normalize(&mut row);
            row
        })
        .collect();
    let mut now = vec![0.0; rows.len()];
    now[0] = 1.0;
    for _ in 0..20_000 {
        let mut next = vec![0.0; rows.len()];
        for (share, row) in now.iter().zip(&rows) {
            for (sum, weight) in next.iter_mut().zip(row) {
                *sum += share * weight;
            }
        }
        // Half a step at a time: the limit is the same, and a circle comes to rest.
        let mean: Vec<f64> = now.iter().zip(&next).map(|(a, b)| f64::midpoint(*a, *b)).collect();
        let moved: f64 = now.iter().zip(&mean).map(|(a, b)| (a - b).abs()).sum();
        now = mean;
        if moved < 1e-12 {
            break;
        }
    }
    now
}

fn normalize(weights: &mut [f64]) {
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
}

fn pick_of(weights: impl Iterator<Item = f64>, mut pick: f64) -> usize {
    let mut last = 0;
    for (i, weight) in weights.enumerate().filter(|(_, weight)| *weight > 0.0) {
        last = i;
        if pick < weight {
            break;
        }
        pick -= weight;
    }
    last
}

impl Random {
    /// An index, as likely as its weight.
    fn weighted(&mut self, weights: &[f64]) -> usize {
        let pick = self.unit() * weights.iter().sum::<f64>();
        pick_of(weights.iter().copied(), pick)
    }
}

fn check_row(weights: &[f64], expected: usize, row: usize) -> Result<(), MixError> {
    if weights.len() != expected {
        return Err(MixError::Count { expected, got: weights.len() });
    }
    if let Some(wrong) = weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
        return Err(MixError::Weight(*wrong));
    }
    if weights.iter().sum::<f64>() > 0.0 { Ok(()) } else { Err(MixError::Nothing(row)) }
}

fn check_steps(steps: &[usize], operations: usize) -> Result<(), MixError> {
    if steps.is_empty() {
        return Err(MixError::Empty);
    }
    match steps.iter().find(|step| **step >= operations) {
        Some(unknown) => Err(MixError::Unknown(*unknown)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The matrix of the Olio workload.
    fn olio() -> Mix {
        let rows = [
            [0, 11, 52, 36, 0, 1, 0],
            [0, 0, 60, 20, 0, 0, 20],
            [21, 6, 41, 31, 0, 1, 0],
            [72, 21, 0, 0, 6, 1, 0],
            [52, 6, 0, 31, 11, 0, 0],
            [0, 0, 0, 0, 100, 0, 0],
            [0, 0, 0, 100, 0, 0, 0],
        ];
        Mix::Markov(rows.iter().map(|row| row.iter().copied().map(f64::from).collect()).collect())
    }

    #[test]
    fn the_shares_of_olios_matrix() {
        let expected = [0.2615, 0.1022, 0.3345, 0.2468, 0.0261, 0.0084, 0.0204];
        let shares = olio().shares(7);
        assert!(shares.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4), "{shares:?}");
    }

    /// What many choices come to is what was computed.
    fn check(mix: &Mix, operations: usize) {
        let (mut random, mut position) = (Random::of_user(3, 4), Position::default());
        let mut counts = vec![0.0; operations];
        (0..200_000).for_each(|_| counts[mix.next(&mut position, &mut random)] += 1.0);
        normalize(&mut counts);
        let shares = mix.shares(operations);
        assert!(shares.iter().zip(&counts).all(|(a, b)| (a - b).abs() < 0.005), "{counts:?}");
    }

    #[test]
    fn choices_have_the_computed_shares() {
        check(&Mix::Flat(vec![1.0, 0.0, 3.0]), 3);
        check(&olio(), 7);
        check(&Mix::Markov(vec![vec![0.0, 1.0], vec![1.0, 0.0]]), 2);
        check(&Mix::Sequence(vec![0, 1, 1]), 2);
        check(&Mix::Sequences(vec![(1.0, vec![0]), (3.0, vec![1, 2])]), 3);
    }

    #[test]
    fn every_user_begins_with_the_first_and_repeats_with_its_seed() {
        let run = |user| {
            let (mut random, mut position) = (Random::of_user(1, user), Position::default());
            (0..50).map(|_| olio().next(&mut position, &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        assert_eq!(run(2)[0], 0);
    }

    #[test]
    fn what_leads_nowhere_is_refused() {
        let flat = |weights: &[f64]| Mix::Flat(weights.to_vec()).check(2);
        assert_eq!(flat(&[1.0, 1.0]), Ok(()));
        assert_eq!(flat(&[1.0]), Err(MixError::Count { expected: 2, got: 1 }));
        assert_eq!(flat(&[1.0, -1.0]), Err(MixError::Weight(-1.0)));
        let markov = Mix::Markov(vec![vec![0.0, 1.0], vec![0.0, 0.0]]).check(2);
        assert_eq!(markov, Err(MixError::Nothing(1)));
        assert_eq!(Mix::Sequence(vec![2]).check(2), Err(MixError::Unknown(2)));
        assert_eq!(Mix::Sequence(vec![]).check(2), Err(MixError::Empty));
    }
}
