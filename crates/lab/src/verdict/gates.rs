//! Whether a run kept its gates: what its plan demands of the server.

use super::{Judge, in_mix};
use crate::engine::Phase;
use crate::measure::{Latency, Tally};
use crate::plan::{Gate, Pacing};

impl Judge<'_> {
    /// Why a gate was not kept.
    pub(super) fn gate(&self, gate: &Gate) -> Option<String> {
        let operations = self.measured.operations().max(1) as f64;
        match *gate {
            Gate::Latency { operation, quantile, at_most_ms } => {
                self.latency_gate(operation, quantile, at_most_ms)
            }
            Gate::Errors { at_most } => {
                let share = self.measured.errors().total() as f64 / operations;
                (share > at_most).then(|| {
                    let most = at_most * 100.0;
                    format!("{:.3} % of the operations failed; at most {most} %", share * 100.0)
                })
            }
            Gate::Rate { at_least } => {
                let seconds = self.findings.measured.as_secs_f64();
                let rate = self.measured.successes() as f64 / seconds;
                (rate < at_least).then(|| format!("{rate:.1} operations/s; at least {at_least}"))
            }
            Gate::Mix { at_most_points } => self.mix_gate(at_most_points),
            Gate::Cycle { at_most } => self.cycle_gate(at_most),
        }
    }

    pub(super) fn tally(&self, operation: Option<usize>) -> Tally {
        match operation {
            Some(operation) => self.findings.totals.operation(Phase::Measured, operation),
            None => self.measured.clone(),
        }
    }

    fn latency_gate(&self, operation: Option<usize>, quantile: f64, most: f64) -> Option<String> {
        let name = operation.map_or("all operations", |o| &self.plan.operations[o].name);
        let percent = quantile * 100.0;
        match self.tally(operation).response().percentile_ms(quantile) {
            Some(ms) if ms <= most => None,
            Some(ms) => Some(format!(
                "{name}: p{percent} of the response time is {ms:.3} ms; at most {most} ms"
            )),
            None => Some(format!(
                "{name}: p{percent} cannot be told from {} successes; at least {} are needed",
                self.tally(operation).successes(),
                Latency::samples_needed(quantile)
            )),
        }
    }

    fn mix_gate(&self, most: f64) -> Option<String> {
        let shares = self.plan.mix.shares(self.plan.operations.len());
        let all = self.measured.operations().max(1) as f64;
        let wrong = in_mix(self.plan).find_map(|operation| {
            let share = self.tally(Some(operation)).operations() as f64 / all * 100.0;
            let planned = shares[operation] * 100.0;
            let name = &self.plan.operations[operation].name;
            ((share - planned).abs() > most).then(|| {
                format!("{name} is {share:.2} % of the operations; planned are {planned:.2} %")
            })
        });
        wrong.map(|wrong| format!("the mix: {wrong} (at most {most} points off)"))
    }

    fn cycle_gate(&self, most: f64) -> Option<String> {
        in_mix(self.plan).find_map(|operation| {
            let Pacing::Cycle(distribution) = self.plan.operations[operation].pacing else {
                return None;
            };
            let cycle = self.tally(Some(operation)).cycle()?.as_secs_f64();
            let planned = distribution.mean().as_secs_f64();
            let name = &self.plan.operations[operation].name;
            ((cycle / planned - 1.0).abs() > most).then(|| {
                format!("{name}: the mean cycle is {cycle:.3} s; planned are {planned:.3} s")
            })
        })
    }
}
