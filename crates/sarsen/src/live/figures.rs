//! What was told of a run so far, and what follows from it. It shows nothing.

use lab::engine::Phase;
use lab::measure::{Interval, Tally, Totals};
use lab::plan::{Load, Plan, Stage};
use lab::progress::Tick;
use std::time::Duration;

/// Seconds that the chart remembers.
const REMEMBERED: usize = 600;

/// How a run stands.
pub struct Figures {
    /// What is loaded.
    pub name: String,
    pub threads: usize,
    load: Load,
    ramp_up: Duration,
    operations: Vec<String>,
    /// Those with a share in the mix, and their planned shares.
    mix: Vec<(usize, f64)>,
    pub tick: Option<Tick>,
    /// Successes a second, the newest last.
    pub rates: Vec<f64>,
    /// The whole run.
    so_far: Totals,
    /// The last second.
    lately: Totals,
}

impl Figures {
    /// Nothing yet.
    pub fn new(plan: &Plan) -> Self {
        let count = plan.operations.len();
        let beside = |o: usize| plan.background.iter().any(|b| b.operation == o);
        let shares = plan.mix.shares(count).into_iter().enumerate();
        Self {
            name: plan.name.clone(),
            threads: plan.threads,
            load: plan.load.clone(),
            ramp_up: plan.phases.ramp_up,
            operations: plan.operations.iter().map(|operation| operation.name.clone()).collect(),
            mix: shares.filter(|(o, _)| !beside(*o)).collect(),
            tick: None,
            rates: Vec::new(),
            so_far: Totals::new(count),
            lately: Totals::new(count),
        }
    }

    /// Takes a tick.
    pub fn tick(&mut self, tick: &Tick) {
        self.tick = Some(*tick);
        if self.rates.len() == REMEMBERED {
            self.rates.remove(0);
        }
        self.rates.push(tick.requests_per_second);
    }

    /// Takes a second.
    pub fn second(&mut self, interval: &Interval) {
        self.so_far.add(interval);
        self.lately = Totals::new(self.operations.len());
        self.lately.add(interval);
    }

    fn in_mix(&self) -> impl Iterator<Item = usize> + '_ {
        self.mix.iter().map(|(operation, _)| *operation)
    }

    /// The last second, whichever phase it belongs to.
    pub fn now(&self) -> Tally {
        self.lately.all(self.in_mix())
    }

    /// The measured interval so far.
    pub fn measured(&self) -> Tally {
        self.so_far.phase(Phase::Measured, self.in_mix())
    }

    /// Everything so far.
    pub fn all(&self) -> Tally {
        self.so_far.all(self.in_mix())
    }

    /// How late operations of the open model were sent in the last second, at the 99th percentile,
    /// in ms.
    pub fn send_lag_ms(&self) -> Option<f64> {
        self.lately.send_lag().percentile_ms(0.99)
    }

    /// Arrivals that found no user free, so far.
    pub fn dropped(&self) -> u64 {
        self.so_far.dropped()
    }

    /// Operations in flight in the last second, on average; nothing outside the measured interval.
    pub fn in_flight(&self) -> f64 {
        self.lately.in_flight_s()
    }

    /// What is to be now: so many operations a second, or so many users.
    pub fn target(&self) -> Target {
        let elapsed = self.tick.map_or(Duration::ZERO, |tick| tick.elapsed);
        let offset = elapsed.saturating_sub(self.ramp_up);
        match &self.load {
            Load::Closed { users } => {
                let users = Stage::value_at(users, offset).round();
                let begun = elapsed.as_secs_f64() / self.ramp_up.as_secs_f64();
                Target::Users(if begun < 1.0 { (users * begun).ceil() } else { users })
            }
            Load::Open { rate, .. } => Target::Rate(Stage::value_at(rate, offset)),
            _ => Target::Recorded,
        }
    }

    /// The model of load.
    pub fn model(&self) -> &'static str {
        self.load.name()
    }

    /// The operation whose share is furthest from the planned one: its name, its share so far, and
    /// the planned one. Nothing if there is one operation only.
    pub fn drift(&self) -> Option<(&str, f64, f64)> {
        if self.mix.len() < 2 {
            return None;
        }
        let count = |o: usize| self.so_far.all(std::iter::once(o)).operations() as f64;
        let all: f64 = self.in_mix().map(count).sum();
        if all == 0.0 {
            return None;
        }
        let shares = self.mix.iter().map(|(o, planned)| (*o, count(*o) / all, *planned));
        let off = |(_, share, planned): &(usize, f64, f64)| (share - planned).abs();
        let furthest = shares.max_by(|a, b| off(a).total_cmp(&off(b)));
        furthest.map(|(o, share, planned)| (self.operations[o].as_str(), share, planned))
    }
}

/// What a run aims at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// Operations a second.
    Rate(f64),
    /// Users who wait for their replies.
    Users(f64),
    /// Times that were recorded.
    Recorded,
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::plan::{Arrivals, Mix};

    fn tick(seconds: u64) -> Tick {
        Tick {
            phase: Phase::Measured,
            elapsed: Duration::from_secs(seconds),
            planned: Duration::from_secs(11),
            requests_per_second: seconds as f64,
            errors: 0,
            generator_cores: None,
        }
    }

    #[test]
    fn the_target_moves_with_the_stages() {
        let mut plan = Plan::hit("http://a/".parse().unwrap());
        let ramp = Stage { from: 0.0, to: 100.0, duration: Duration::from_secs(10) };
        plan.load = Load::Open { rate: vec![ramp], arrivals: Arrivals::Even, in_flight_max: 1 };
        let mut figures = Figures::new(&plan);
        assert_eq!(figures.target(), Target::Rate(0.0));
        figures.tick(&tick(6));
        assert_eq!(figures.target(), Target::Rate(50.0));
        plan.load = Load::Closed { users: vec![Stage::flat(8.0, Duration::from_secs(10))] };
        plan.phases.ramp_up = Duration::from_secs(4);
        let mut figures = Figures::new(&plan);
        figures.tick(&tick(1));
        assert_eq!(figures.target(), Target::Users(2.0));
        figures.tick(&tick(9));
        assert_eq!(figures.target(), Target::Users(8.0));
    }

    #[test]
    fn the_chart_forgets_what_is_long_ago() {
        let mut figures = Figures::new(&Plan::hit("http://a/".parse().unwrap()));
        (0..REMEMBERED as u64 + 5).for_each(|second| figures.tick(&tick(second)));
        assert_eq!((figures.rates.len(), figures.rates[0]), (REMEMBERED, 5.0));
    }

    #[test]
    fn one_operation_has_no_drift_and_what_never_came_has_none() {
        let mut plan = Plan::hit("http://a/".parse().unwrap());
        assert_eq!(Figures::new(&plan).drift(), None);
        plan.operations.push(plan.operations[0].clone());
        plan.mix = Mix::Flat(vec![1.0, 1.0]);
        assert_eq!(Figures::new(&plan).drift(), None);
    }
}
