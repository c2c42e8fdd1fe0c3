//! Whether what was measured is what was planned, and all of it.

use super::steady::{self, BLOCKS_MIN, Trend};
use super::{Judge, in_mix};
use crate::engine::Phase;
use crate::measure::Tally;
use crate::plan::{Load, Pacing, Stage};

/// Standard deviations that chance alone is allowed.
const CHANCE: f64 = 4.0;

impl Judge<'_> {
    pub(super) fn nothing(&self) -> Option<String> {
        (self.measured.successes() == 0).then(|| {
            "no operation succeeded in the measured interval; measure for longer".to_owned()
        })
    }

    pub(super) fn drain(&self) -> Tally {
        self.findings.totals.phase(Phase::Drain, in_mix(self.plan))
    }

    /// A stall that outlasts the interval would otherwise be in no percentile. Twice, because the
    /// slowest of all is now and then among the last by chance.
    pub(super) fn cut_off(&self) -> Option<String> {
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

    pub(super) fn failed_at_the_end(&self) -> Option<String> {
        let drain = self.drain();
        (drain.errors().total() > 0).then(|| {
            format!(
                "requests in flight at the end failed and are in no figure: {}; measure for longer",
                drain.errors()
            )
        })
    }

    pub(super) fn dropped(&self) -> Option<String> {
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

    pub(super) fn stopped(&self) -> Option<String> {
        self.findings.stopped.then(|| "the run was ended before its time".to_owned())
    }

    /// Nobody should take it for the run that was planned.
    pub(super) fn extended(&self) -> Option<String> {
        let more = self.findings.extended.as_secs_f64();
        (more > 0.0).then(|| format!("the run was made {more} s longer while it went on"))
    }

    /// The shares of operations against those of the mix, beyond what chance makes of them.
    pub(super) fn mix(&self) -> Option<String> {
        let most = self.plan.validity.mix_points;
        let shares = self.plan.mix.shares(self.plan.operations.len());
        let all = self.measured.operations().max(1) as f64;
        let wrong = in_mix(self.plan).find_map(|operation| {
            let planned = shares[operation];
            let share = self.tally(Some(operation)).operations() as f64 / all;
            let chance = CHANCE * (planned * (1.0 - planned) / all).sqrt();
            let name = &self.plan.operations[operation].name;
            let is_off = (share - planned).abs() * 100.0 > most + chance * 100.0;
            is_off.then(|| {
                let (share, planned) = (share * 100.0, planned * 100.0);
                format!("{name} is {share:.2} % of the operations; planned are {planned:.2} %")
            })
        });
        wrong.map(|wrong| {
            format!("the mix was another one: {wrong} (at most {most} points off, beyond chance)")
        })
    }

    /// The mean time from start to start against the planned one, beyond what chance makes of it.
    pub(super) fn cycle(&self) -> Option<String> {
        let shares = self.plan.mix.shares(self.plan.operations.len());
        let mut planned = 0.0;
        for operation in in_mix(self.plan) {
            let Pacing::Cycle(cycle) = self.plan.operations[operation].pacing else { return None };
            planned += shares[operation] * cycle.mean().as_secs_f64();
        }
        let laps = self.measured.laps();
        let mean = laps.sum_s / (laps.count as f64).max(1.0);
        // The deviation of one is at most about that of the exponential distribution, its mean.
        let chance = CHANCE * planned / (laps.count as f64).max(1.0).sqrt();
        let most = self.plan.validity.cycle;
        let is_off = laps.count > 0 && (mean - planned).abs() > most * planned + chance;
        is_off.then(|| {
            format!(
                "from start to start users took {mean:.3} s on average; planned are {planned:.3} s \
                 (at most {:.0} % off, beyond chance): the server is slower than the cycle, so \
                 there was less load than was asked for",
                most * 100.0
            )
        })
    }

    pub(super) fn rate_drift(&self) -> Option<String> {
        let rates: Vec<f64> = self.findings.rates.iter().map(|rate| *rate as f64).collect();
        self.drift("the rate", &rates, self.plan.validity.drift)
    }

    pub(super) fn latency_drift(&self) -> Option<String> {
        let latencies: Vec<f64> = self.findings.latencies_ms.iter().flatten().copied().collect();
        self.drift("the latency", &latencies, self.plan.validity.latency_drift)
    }

    fn drift(&self, what: &str, seconds: &[f64], most: f64) -> Option<String> {
        let Trend { moved, per_minute } = steady::trend(seconds).filter(|_| self.is_flat())?;
        (moved.abs() > most).then(|| {
            format!(
                "not steady: {what} drifted by {:+.1} %/min, {:+.1} % over the interval (at most \
                 {} %); let it warm up, or measure, for longer",
                per_minute * 100.0,
                moved * 100.0,
                most * 100.0
            )
        })
    }

    /// What could not be looked at.
    pub(super) fn unsteadiable(&self) -> Option<String> {
        let seconds = self.findings.rates.len();
        match () {
            () if !self.is_flat() => {
                Some("the load changes by plan, so that it was not tested for drift".to_owned())
            }
            () if seconds < BLOCKS_MIN => Some(format!(
                "{seconds} whole seconds are too few to tell whether it was steady; {BLOCKS_MIN} \
                 are needed"
            )),
            () => None,
        }
    }

    pub(super) fn is_flat(&self) -> bool {
        self.level().is_some()
    }

    /// The number of users, or the rate, if it is the same throughout.
    pub(super) fn level(&self) -> Option<f64> {
        let stages: &[Stage] = match &self.plan.load {
            Load::Closed { users } => users,
            Load::Open { rate, .. } => rate,
            Load::Replay { .. } | Load::Numbered { .. } => return None,
        };
        let level = stages.first()?.from;
        stages.iter().all(|stage| stage.from == level && stage.to == level).then_some(level)
    }
}
