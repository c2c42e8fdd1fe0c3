//! Whether a run can be believed, and whether it kept its gates. INVALID and FAILED are different
//! things: the first is about the generator and the method, the second about the server.

use crate::engine::{Findings, Phase, ServerCpu};
use crate::measure::{Latency, Tally};
use crate::plan::{Gate, Load, Pacing, Plan};
use std::time::Duration;

/// What a run comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It can be believed and kept every gate.
    Passed,
    /// It can be believed and did not keep a gate.
    Failed,
    /// Its figures may not say what they seem to.
    Invalid,
}

impl Outcome {
    /// In reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Failed => "FAILED",
            Self::Invalid => "INVALID",
        }
    }
}

/// A run's outcome with its reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Why the figures may not say what they seem to.
    pub doubts: Vec<String>,
    /// Gates that were not kept.
    pub failures: Vec<String>,
}

impl Verdict {
    /// Of what a run of `plan` found.
    pub fn of(plan: &Plan, findings: &Findings) -> Self {
        let judge = Judge { plan, findings, measured: measured(plan, findings) };
        let doubts = [
            judge.nothing(),
            judge.cut_off(),
            judge.failed_at_the_end(),
            judge.generator(),
            judge.server_cpu(),
            judge.send_lag(),
            judge.dropped(),
            judge.ports(),
            judge.little(),
            judge.drift(),
            judge.clock(),
            judge.stopped(),
        ];
        Self {
            doubts: doubts.into_iter().flatten().collect(),
            failures: plan.gates.iter().filter_map(|gate| judge.gate(gate)).collect(),
        }
    }

    /// In one word. Of a run that cannot be believed it is not known whether it kept its gates.
    pub fn outcome(&self) -> Outcome {
        match (self.doubts.is_empty(), self.failures.is_empty()) {
            (false, _) => Outcome::Invalid,
            (true, false) => Outcome::Failed,
            (true, true) => Outcome::Passed,
        }
    }
}

/// Everything of the mix that was measured.
pub(crate) fn measured(plan: &Plan, findings: &Findings) -> Tally {
    findings.totals.phase(Phase::Measured, in_mix(plan))
}

/// The operations that have a share in the mix.
pub(crate) fn in_mix(plan: &Plan) -> impl Iterator<Item = usize> + '_ {
    let beside = |operation: &usize| plan.background.iter().any(|b| b.operation == *operation);
    (0..plan.operations.len()).filter(move |operation| !beside(operation))
}

struct Judge<'a> {
    plan: &'a Plan,
    findings: &'a Findings,
    measured: Tally,
}

impl Judge<'_> {
    fn nothing(&self) -> Option<String> {
        (self.measured.successes() == 0).then(|| {
            "no operation succeeded in the measured interval; measure for longer".to_owned()
        })
    }

    fn drain(&self) -> Tally {
        self.findings.totals.phase(Phase::Drain, in_mix(self.plan))
    }

    /// A stall that outlasts the interval would otherwise be in no percentile. Twice, because the
    /// slowest of all is now and then among the last by chance.
    fn cut_off(&self) -> Option<String> {
        if !self.plan.phases.ramp_down.is_zero() {
            return None;
        }
        let slowest = self.measured.service().max_ms()?;
        let in_flight = self.drain().service().max_ms().filter(|last| *last > 2.0 * slowest)?;
        Some(format!(
            "a request in flight at the end took {in_flight:.3} ms, more than twice as long as any \
             measured one; measure for longer"
        ))
    }

    fn failed_at_the_end(&self) -> Option<String> {
        let drain = self.drain();
        (drain.errors().total() > 0).then(|| {
            format!(
                "requests in flight at the end failed and are in no figure: {}; measure for longer",
                drain.errors()
            )
        })
    }

    fn generator(&self) -> Option<String> {
        let cpus = match &self.findings.generator_cpu {
            Ok(cpus) => cpus,
            Err(error) => {
                return Some(format!("the generator's CPU time could not be read: {error}"));
            }
        };
        let share = |(used, had): &(Duration, Duration)| used.as_secs_f64() / had.as_secs_f64();
        let largest = cpus.iter().map(share).fold(0.0, f64::max);
        (largest > self.plan.validity.generator_cpu).then(|| {
            format!(
                "the generator may be the bottleneck: one of its threads used {:.0} % of a core; \
                 use more threads",
                largest * 100.0
            )
        })
    }

    fn server_cpu(&self) -> Option<String> {
        match &self.findings.server_cpu {
            ServerCpu::Lost(error) => {
                Some(format!("the server's CPU time could not be read: {error}"))
            }
            ServerCpu::NotAsked | ServerCpu::Used(_) => None,
        }
    }

    fn send_lag(&self) -> Option<String> {
        let lag = self.findings.totals.send_lag().percentile_ms(0.99)?;
        let most = self.plan.validity.send_lag_p99_ms;
        (lag > most).then(|| {
            format!(
                "1 % of the operations were sent more than {lag:.3} ms late (at most {most} ms): \
                 the generator did not keep up; use more threads or a lower rate"
            )
        })
    }

    fn dropped(&self) -> Option<String> {
        let dropped = self.findings.totals.dropped();
        let arrivals = self.measured.operations() + dropped;
        let share = dropped as f64 / arrivals.max(1) as f64;
        (share > self.plan.validity.dropped).then(|| {
            format!(
                "{dropped} of {arrivals} arrivals found no user free and were not sent: the server \
                 is slower than the rate; lower it, or allow more users at the same time"
            )
        })
    }

    fn ports(&self) -> Option<String> {
        let first = self.measured.errors().first(crate::measure::ErrorClass::Connect)?;
        // EADDRNOTAVAIL, connect(2).
        first.contains("os error 99").then(|| {
            "this machine has no free ports left for connections; keep connections, or use more \
             addresses"
                .to_owned()
        })
    }

    /// Operations in flight are rate times latency (Little 1961): what was counted directly must
    /// agree with what was measured.
    fn little(&self) -> Option<String> {
        let seconds = self.findings.measured.as_secs_f64();
        let mean = self.measured.service().mean_ms()? / 1000.0;
        let counted = self.findings.in_flight_s / seconds;
        let computed = self.measured.operations() as f64 / seconds * mean;
        // Failed operations have no latency, and those beside the mix are counted elsewhere.
        if self.measured.errors().total() > 0 || !self.plan.background.is_empty() {
            return None;
        }
        // At the two borders of the interval, what is in flight belongs to it in part.
        let borders = 2.0 * self.plan.load.users_max() as f64 * mean / seconds;
        let off = (counted - computed).abs() - borders;
        (off > self.plan.validity.little * computed).then(|| {
            format!(
                "by Little's law {computed:.2} operations should be in flight, but {counted:.2} \
                 were: the generator was late, or connections took long"
            )
        })
    }

    /// The first third of the measured seconds against the last.
    fn drift(&self) -> Option<String> {
        let (is_flat, rates) = (self.is_flat(), &self.findings.rates);
        let third = rates.len() / 3;
        if !is_flat || third < 3 {
            return None;
        }
        let mean = |rates: &[u64]| rates.iter().sum::<u64>() as f64 / rates.len() as f64;
        let deviation = |rates: &[u64]| {
            let mean = mean(rates);
            let squares: f64 = rates.iter().map(|rate| (*rate as f64 - mean).powi(2)).sum();
            (squares / (rates.len() - 1) as f64).sqrt()
        };
        let (first, last) = (&rates[..third], &rates[rates.len() - third..]);
        let moved = mean(last) - mean(first);
        // Beyond what seconds differ by anyway.
        let noise = 3.0 * f64::hypot(deviation(first), deviation(last)) / (third as f64).sqrt();
        let share = moved / mean(first).max(1.0);
        (share.abs() > self.plan.validity.drift && moved.abs() > noise).then(|| {
            format!(
                "not steady: from its first third to its last the rate moved by {:+.1} %; let it \
                 warm up for longer",
                share * 100.0
            )
        })
    }

    fn is_flat(&self) -> bool {
        let stages = match &self.plan.load {
            Load::Closed { users } => users,
            Load::Open { rate, .. } => rate,
            Load::Replay { .. } => return false,
        };
        let level = stages.first().map(|stage| stage.from);
        stages.iter().all(|stage| Some(stage.from) == level && Some(stage.to) == level)
    }

    fn clock(&self) -> Option<String> {
        let step = self.findings.clock_step.as_secs_f64() * 1000.0;
        (step > self.plan.validity.clock_step_ms).then(|| {
            format!("the clock of this machine was set by {step:.0} ms while the run went on")
        })
    }

    fn stopped(&self) -> Option<String> {
        self.findings.stopped.then(|| "the run was ended before its time".to_owned())
    }

    /// Why a gate was not kept.
    fn gate(&self, gate: &Gate) -> Option<String> {
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

    fn tally(&self, operation: Option<usize>) -> Tally {
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
