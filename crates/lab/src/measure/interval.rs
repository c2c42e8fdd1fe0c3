//! Tallies by operation and phase: those of one second, and those of the whole run.

use super::latency::Latency;
use super::sample::Sample;
use super::tally::Tally;
use crate::engine::Phase;
use crate::limits::SAMPLES_MAX;
use std::time::Duration;

/// What one thread, or all of them, measured in one second.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Of the run, from 0.
    pub second: u64,
    /// By phase and operation; an operation that did not occur has none.
    tallies: Vec<Option<Box<Tally>>>,
    operations: usize,
    /// How late operations of the open model were sent.
    pub send_lag: Latency,
    /// Arrivals that found no user free.
    pub dropped: u64,
    /// The time that operations were in flight, summed over them, in seconds.
    pub in_flight_s: f64,
    /// The first replies with which operations failed.
    pub samples: Vec<Sample>,
    /// The longest time for which a thread of the generator stood still.
    pub pause: Duration,
}

impl Interval {
    /// Nothing yet.
    pub(crate) fn new(second: u64, operations: usize) -> Self {
        Self {
            second,
            tallies: vec![None; operations * Phase::ALL.len()],
            operations,
            send_lag: Latency::new(),
            dropped: 0,
            in_flight_s: 0.0,
            samples: Vec::new(),
            pause: Duration::ZERO,
        }
    }

    /// The tally of an operation.
    pub(crate) fn tally(&mut self, phase: Phase, operation: usize) -> &mut Tally {
        let place = phase as usize * self.operations + operation;
        self.tallies[place].get_or_insert_with(|| Box::new(Tally::new()))
    }

    /// The tally of an operation, if it occurred.
    pub fn get(&self, phase: Phase, operation: usize) -> Option<&Tally> {
        self.tallies[phase as usize * self.operations + operation].as_deref()
    }

    /// Adds another's.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (tally, more) in self.tallies.iter_mut().zip(&other.tallies) {
            match (tally, more) {
                (Some(tally), Some(more)) => tally.merge(more),
                (empty @ None, Some(more)) => *empty = Some(more.clone()),
                (_, None) => {}
            }
        }
        self.send_lag.merge(&other.send_lag);
        self.dropped += other.dropped;
        self.in_flight_s += other.in_flight_s;
        let room = SAMPLES_MAX.saturating_sub(self.samples.len());
        self.samples.extend(other.samples.iter().take(room).cloned());
        self.pause = self.pause.max(other.pause);
    }
}

/// What a whole run measured.
#[derive(Clone, Debug)]
pub struct Totals(Interval);

impl Totals {
    /// Nothing yet, of so many operations.
    pub fn new(operations: usize) -> Self {
        Self(Interval::new(0, operations))
    }

    /// Adds a second.
    pub fn add(&mut self, interval: &Interval) {
        self.0.merge(interval);
    }

    /// An operation in a phase.
    pub fn operation(&self, phase: Phase, operation: usize) -> Tally {
        self.0.get(phase, operation).cloned().unwrap_or_else(Tally::new)
    }

    /// All of `operations` together in a phase.
    pub fn phase(&self, phase: Phase, operations: impl Iterator<Item = usize>) -> Tally {
        let mut all = Tally::new();
        operations.filter_map(|o| self.0.get(phase, o)).for_each(|tally| all.merge(tally));
        all
    }

    /// All of `operations` together, whenever they were.
    pub fn all(&self, operations: impl Iterator<Item = usize>) -> Tally {
        let mut all = Tally::new();
        let parts = operations.flat_map(|o| Phase::ALL.map(|phase| self.0.get(phase, o)));
        parts.flatten().for_each(|tally| all.merge(tally));
        all
    }

    /// The time that operations were in flight in the measured interval, summed over them, in
    /// seconds.
    pub fn in_flight_s(&self) -> f64 {
        self.0.in_flight_s
    }

    /// How late operations of the open model were sent.
    pub fn send_lag(&self) -> &Latency {
        &self.0.send_lag
    }

    /// Arrivals that found no user free.
    pub fn dropped(&self) -> u64 {
        self.0.dropped
    }

    /// The first replies with which operations failed, in any phase.
    pub fn samples(&self) -> &[Sample] {
        &self.0.samples
    }

    /// The longest time for which a thread of the generator stood still.
    pub fn pause(&self) -> Duration {
        self.0.pause
    }
}
