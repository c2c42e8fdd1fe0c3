//! The rows of `client.csv` and `operations.csv`: what the generator measured in each second. It
//! writes no file.

use super::csv::Rows;
use super::utc;
use crate::engine::Phase;
use crate::measure::{ErrorClass, Interval, Latency, Tally};
use crate::plan::{Load, Phases, Plan, Stage};
use crate::verdict::in_mix;
use std::time::{Duration, SystemTime};

const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999)];

/// Makes rows of the seconds of one run.
pub(super) struct Seconds {
    names: Vec<String>,
    in_mix: Vec<usize>,
    phases: Phases,
    load: Load,
}

impl Seconds {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            names: plan.operations.iter().map(|operation| operation.name.clone()).collect(),
            in_mix: in_mix(plan).collect(),
            phases: plan.phases,
            load: plan.load.clone(),
        }
    }

    /// The names of the columns of `client.csv`.
    pub(super) fn client_head(&self) -> String {
        let planned = match self.load {
            Load::Closed { .. } => "planned_users",
            _ => "planned_rate_per_s",
        };
        let fixed = ["second", "utc", "phase", planned, "operations", "successes", "errors"];
        let mut names: Vec<String> = fixed.map(str::to_owned).into();
        names.extend(ErrorClass::ALL.map(|class| format!("errors_{}", class.name())));
        names.extend(["bytes_received", "dropped", "in_flight"].map(str::to_owned));
        names.extend(latency_names("service"));
        names.extend(latency_names("response"));
        names.extend(["send_lag_p50_ms", "send_lag_p99_ms"].map(str::to_owned));
        names.join(",") + "\n"
    }

    /// A second of all operations of the mix together.
    pub(super) fn client_row(&self, start: SystemTime, interval: &Interval) -> Vec<u8> {
        let mut all = Tally::new();
        for phase in Phase::ALL {
            let tallies = self.in_mix.iter().filter_map(|o| interval.get(phase, *o));
            tallies.for_each(|tally| all.merge(tally));
        }
        let at = Duration::from_secs(interval.second);
        let mut rows = Rows::default();
        rows.count(interval.second).text(&utc::extended(start + at)).text(self.phase_at(at));
        rows.number(self.planned(at));
        rows.count(all.operations()).count(all.successes()).count(all.errors().total());
        for class in ErrorClass::ALL {
            rows.count(all.errors().count(class));
        }
        rows.count(all.bytes_received()).count(interval.dropped);
        rows.number(Some(interval.in_flight_s));
        latency(&mut rows, all.service());
        latency(&mut rows, all.response());
        let lag = &interval.send_lag;
        rows.number(lag.percentile_ms(0.5)).number(lag.percentile_ms(0.99));
        rows.end();
        rows.into_bytes()
    }

    /// The names of the columns of `operations.csv`.
    pub(super) fn operations_head(&self) -> String {
        let fixed =
            ["second", "operation", "phase", "operations", "successes", "errors", "bytes_received"];
        let mut names: Vec<String> = fixed.map(str::to_owned).into();
        names.extend(latency_names("service"));
        names.extend(latency_names("response"));
        names.join(",") + "\n"
    }

    /// A second of each operation, by the phase it is counted in.
    pub(super) fn operations_rows(&self, interval: &Interval) -> Vec<u8> {
        let mut rows = Rows::default();
        for (operation, name) in self.names.iter().enumerate() {
            for phase in Phase::ALL {
                let Some(tally) = interval.get(phase, operation) else { continue };
                rows.count(interval.second).text(name).text(phase_name(phase));
                rows.count(tally.operations()).count(tally.successes());
                rows.count(tally.errors().total()).count(tally.bytes_received());
                latency(&mut rows, tally.service());
                latency(&mut rows, tally.response());
                rows.end();
            }
        }
        rows.into_bytes()
    }

    /// The part of the run at a time after its start.
    fn phase_at(&self, at: Duration) -> &'static str {
        let Phases { ramp_up, measured, .. } = self.phases;
        match at {
            at if at < ramp_up => phase_name(Phase::RampUp),
            at if at < ramp_up + measured => phase_name(Phase::Measured),
            _ => phase_name(Phase::Drain),
        }
    }

    /// How many users, or arrivals a second, the plan has in the middle of the second at `at`.
    fn planned(&self, at: Duration) -> Option<f64> {
        let stages = match &self.load {
            Load::Closed { users } => users,
            Load::Open { rate, .. } => rate,
            _ => return None,
        };
        let middle = at + Duration::from_millis(500);
        let offset = middle.saturating_sub(self.phases.ramp_up);
        Some(Stage::value_at(stages, offset))
    }
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::RampUp => "ramp-up",
        Phase::Measured => "measured",
        Phase::Drain => "drain",
    }
}

fn latency_names(kind: &str) -> Vec<String> {
    let percentiles = PERCENTILES.iter().map(|(name, _)| *name);
    percentiles.chain(["max", "mean"]).map(|name| format!("{kind}_{name}_ms")).collect()
}

fn latency(rows: &mut Rows, latency: &Latency) {
    for (_, quantile) in PERCENTILES {
        rows.number(latency.percentile_ms(quantile));
    }
    rows.number(latency.max_ms()).number(latency.mean_ms());
}
