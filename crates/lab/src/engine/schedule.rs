//! When operations of the open model are to start: arrivals at a rate that may move, told without
//! looking at what the server does.

use crate::plan::{Arrivals, Load, Plan, Stage};
use crate::random::Random;
use std::sync::Arc;
use std::time::Duration;

/// The arrivals of one thread, ascending. Those of a rate have no end.
pub(crate) struct Schedule {
    times: Times,
    /// Of all threads' arrivals every `of`th is this one's.
    of: u64,
    /// The number of the next.
    next: u64,
}

enum Times {
    Rate {
        /// From the start of the run on; the last goes on.
        stages: Vec<Stage>,
        arrivals: Arrivals,
        /// Draws the gaps of Poisson arrivals.
        random: Random,
        /// How many arrivals were due, on average, up to the one before.
        due: f64,
    },
    Recorded(Arc<[Duration]>),
}

/// An operation that is to start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Arrival {
    /// Among all threads' arrivals.
    pub(crate) number: u64,
    /// After the start of the run.
    pub(crate) offset: Duration,
}

impl Schedule {
    /// The arrivals of the thread `thread` of `of`; none in a closed model.
    pub(crate) fn new(plan: &Plan, thread: usize, of: usize) -> Option<Self> {
        let (number, of) = (thread as u64, of as u64);
        let times = match &plan.load {
            Load::Closed { .. } | Load::Numbered { .. } => return None,
            Load::Open { rate, arrivals, .. } => {
                let mut stages = vec![Stage::flat(rate[0].from, plan.phases.ramp_up)];
                stages.extend(rate);
                let random = Random::of_user(plan.seed, u64::MAX - number);
                // Even arrivals of several threads take turns.
                let due = match arrivals {
                    Arrivals::Even => number as f64 - of as f64,
                    Arrivals::Poisson => 0.0,
                };
                Times::Rate { stages, arrivals: *arrivals, random, due }
            }
            Load::Replay { offsets, .. } => Times::Recorded(offsets.clone().into()),
        };
        Some(Self { times, of, next: number })
    }
}

impl Iterator for Schedule {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let number = self.next;
        let offset = match &mut self.times {
            Times::Rate { stages, arrivals, random, due } => {
                *due += match arrivals {
                    Arrivals::Even => self.of as f64,
                    Arrivals::Poisson => self.of as f64 * random.exponential(),
                };
                when(stages, *due)?
            }
            Times::Recorded(offsets) => *offsets.get(usize::try_from(number).ok()?)?,
        };
        self.next += self.of;
        Some(Arrival { number, offset })
    }
}

/// When the `due`th arrival comes: the time by which the rate has summed up to it.
fn when(stages: &[Stage], mut due: f64) -> Option<Duration> {
    let mut begin = Duration::ZERO;
    for stage in stages {
        let seconds = stage.duration.as_secs_f64();
        let all = f64::midpoint(stage.from, stage.to) * seconds;
        if due < all {
            return Some(begin + Duration::from_secs_f64(within(stage, due)));
        }
        due -= all;
        begin += stage.duration;
    }
    let rate = stages.last()?.to;
    (rate > 0.0).then(|| begin + Duration::from_secs_f64(due / rate))
}

/// The time t in a stage with from·t + (to - from)·t² / 2d = due.
fn within(stage: &Stage, due: f64) -> f64 {
    let slope = (stage.to - stage.from) / stage.duration.as_secs_f64();
    let root = (stage.from * stage.from + 2.0 * slope * due).max(0.0).sqrt();
    // In this form there is no loss of digits where the slope is small or zero.
    let sum = stage.from + root;
    if sum > 0.0 { 2.0 * due / sum } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn plan(rate: Vec<Stage>, arrivals: Arrivals) -> Plan {
        let mut plan = Plan::hit("http://a/".parse().unwrap());
        plan.phases.ramp_up = SECOND;
        plan.phases.measured = 9 * SECOND;
        plan.load = Load::Open { rate, arrivals, in_flight_max: 100 };
        plan
    }

    fn all(plan: &Plan, threads: usize) -> Vec<Arrival> {
        let until = |thread: usize| {
            let schedule = Schedule::new(plan, thread, threads).unwrap();
            schedule.take_while(|arrival| arrival.offset < plan.phases.total())
        };
        let mut all: Vec<Arrival> = (0..threads).flat_map(until).collect();
        all.sort_by_key(|arrival| arrival.number);
        all
    }

    #[test]
    fn even_arrivals_take_turns_over_threads() {
        let plan = plan(vec![Stage::flat(100.0, 9 * SECOND)], Arrivals::Even);
        for threads in [1, 2, 3] {
            let all = all(&plan, threads);
            assert_eq!(all.len(), 1000);
            for (i, arrival) in all.iter().enumerate() {
                let expected = Duration::from_millis(10 * i as u64);
                assert_eq!(arrival.number, i as u64);
                let off = arrival.offset.abs_diff(expected);
                assert!(off < Duration::from_micros(1), "{i}: {:?}", arrival.offset);
            }
        }
    }

    #[test]
    fn a_ramp_sums_up_to_its_mean_rate() {
        let ramp = Stage { from: 0.0, to: 200.0, duration: 9 * SECOND };
        let all = all(&plan(vec![ramp], Arrivals::Even), 1);
        // Nothing at rate 0 before, then 900 over the ramp.
        assert!((899..=901).contains(&all.len()), "{}", all.len());
        // A quarter of them in the first half.
        let half = Duration::from_millis(5500);
        let early = all.iter().filter(|arrival| arrival.offset < half).count();
        assert!((224..=226).contains(&early), "{early}");
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        let plan = plan(vec![Stage::flat(10_000.0, 9 * SECOND)], Arrivals::Poisson);
        for threads in [1, 2] {
            let mut offsets: Vec<f64> =
                all(&plan, threads).iter().map(|a| a.offset.as_secs_f64()).collect();
            offsets.sort_by(f64::total_cmp);
            let gaps: Vec<f64> = offsets.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>();
            let deviation = (variance / gaps.len() as f64).sqrt();
            assert!((mean * 10_000.0 - 1.0).abs() < 0.02, "{mean}");
            // Of the exponential distribution it is the mean.
            assert!((deviation / mean - 1.0).abs() < 0.03, "{deviation}");
        }
    }

    #[test]
    fn recorded_arrivals_come_as_they_were() {
        let mut plan = plan(vec![], Arrivals::Even);
        let offsets: Vec<Duration> = [0, 1, 1, 5, 99].map(|s| s * SECOND).to_vec();
        plan.load = Load::Replay { offsets, in_flight_max: 1 };
        let offsets: Vec<Duration> = all(&plan, 2).iter().map(|a| a.offset).collect();
        assert_eq!(offsets, [0, 1, 1, 5].map(|s| s * SECOND));
    }
}
