//! What a run found, as text for people and as JSON for programs; both say the same. It judges
//! nothing; that is `verdict`.

mod cost;
mod hint;
mod json;
mod text;

pub use cost::Cost;

use crate::audit::Found;
use crate::engine::{Findings, Phase, ServerCpu};
use crate::measure::Tally;
use crate::observe::Summary;
use crate::plan::{Load, Plan, Stage, Step};
use crate::verdict::{Outcome, Verdict, in_mix, measured};
use serde_json::Value;
use std::time::Duration;

/// What a run found.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was loaded: a URL, or the scenario's name.
    pub target: String,
    /// The method, if there is one request only.
    pub method: Option<String>,
    /// The model of load, in words.
    pub model: &'static str,
    /// Whether users wait for replies.
    pub is_open: bool,
    /// Most users at the same time.
    pub users: usize,
    /// The planned rate, if there is one; if it moves, the highest.
    pub rate: Option<f64>,
    /// Whether each operation was a new session.
    pub new_session: bool,
    /// The protocol, and how connections were used.
    pub transport: String,
    /// How long the ramp-up was.
    pub ramp_up_time: Duration,
    /// How long the measured interval was.
    pub duration: Duration,
    /// Operations that were to start and were over in the measured interval. All figures without
    /// another name are about these.
    pub measured: Tally,
    /// Those before it.
    pub ramp_up: Tally,
    /// Those that were over after it.
    pub drain: Tally,
    /// Each operation, if there are several, with its name.
    pub operations: Vec<(String, Tally)>,
    /// What went on beside them.
    pub background: Vec<(String, Tally)>,
    /// How late operations of the open model were sent, at the 50th and 99th percentile, in ms.
    pub send_lag_ms: [Option<f64>; 2],
    /// Arrivals that found no user free.
    pub dropped: u64,
    /// The 99th percentile of the response time less that of the service time, in ms: what the
    /// service times leave out. In the closed model it is estimated.
    pub omission_gap_ms: Option<f64>,
    /// Connections opened, ramp-up included. The time to open one is in no service time.
    pub connections: u64,
    /// Each server of the plan, and what it calls its software, if it says so.
    pub servers: Vec<(String, Option<String>)>,
    /// CPU time the generator used in the measured interval; nothing if it cannot be read.
    pub generator_cpu: Option<Duration>,
    /// CPU time the server used in the measured interval.
    pub server_cpu: Option<Duration>,
    /// What was observed beside the load.
    pub observed: Vec<Summary>,
    /// What an operation cost each process that was observed.
    pub costs: Vec<Cost>,
    /// What an audit found, if there was one.
    pub audit: Option<Found>,
    /// Whether it was ended before its time.
    pub is_stopped: bool,
    /// Whether to believe it.
    pub verdict: Verdict,
}

impl Report {
    /// Of what a run of `plan` found.
    pub fn new(plan: &Plan, findings: &Findings) -> Self {
        let all = measured(plan, findings);
        let of = |phase| findings.totals.phase(phase, in_mix(plan));
        let named = |operation: usize| {
            let tally = findings.totals.operation(Phase::Measured, operation);
            (plan.operations[operation].name.clone(), tally)
        };
        let operations: Vec<(String, Tally)> = in_mix(plan).map(named).collect();
        let lag = findings.totals.send_lag();
        let is_open = plan.load.is_open();
        let users = Some(plan.load.users_max()).filter(|_| !is_open);
        Self {
            target: plan.name.clone(),
            method: only_method(plan),
            model: plan.load.name(),
            is_open,
            users: plan.load.users_max(),
            rate: planned_rate(&plan.load),
            new_session: plan.new_session,
            transport: plan.transport.name(),
            ramp_up_time: plan.phases.ramp_up,
            duration: findings.measured,
            ramp_up: of(Phase::RampUp),
            drain: of(Phase::Drain),
            operations: if operations.len() > 1 { operations } else { Vec::new() },
            background: plan.background.iter().map(|b| named(b.operation)).collect(),
            send_lag_ms: [0.5, 0.99].map(|quantile| lag.percentile_ms(quantile)),
            dropped: findings.totals.dropped(),
            omission_gap_ms: omission_gap(plan, &all),
            connections: findings.connections,
            servers: servers(plan, findings),
            generator_cpu: findings
                .generator_cpu
                .as_ref()
                .ok()
                .map(|cpus| cpus.iter().map(|(used, _)| *used).sum()),
            server_cpu: match findings.server_cpu {
                ServerCpu::Used(used) => Some(used),
                ServerCpu::NotAsked | ServerCpu::Lost(_) => None,
            },
            observed: findings.observed.clone(),
            costs: Cost::all(&findings.observed, all.operations(), users),
            audit: findings.audit.clone(),
            is_stopped: findings.stopped,
            verdict: Verdict::of(plan, findings),
            measured: all,
        }
    }

    /// In one word.
    pub fn outcome(&self) -> Outcome {
        self.verdict.outcome()
    }

    /// Whether the figures can be taken for what they seem to be.
    pub fn is_valid(&self) -> bool {
        self.verdict.doubts.is_empty()
    }

    /// Errors of the whole run: ramp-up, measured interval and drain.
    pub fn errors_in_all(&self) -> u64 {
        [&self.ramp_up, &self.measured, &self.drain]
            .map(|tally| tally.errors().total())
            .iter()
            .sum()
    }

    /// Successful operations per second of the measured interval.
    pub fn requests_per_second(&self) -> f64 {
        match self.duration.as_secs_f64() {
            0.0 => 0.0,
            seconds => self.measured.successes() as f64 / seconds,
        }
    }

    /// CPU time the generator used per operation, in µs.
    pub fn generator_us_per_request(&self) -> Option<f64> {
        self.us_per_request(self.generator_cpu?)
    }

    /// CPU time the server used per operation, in µs.
    pub fn server_us_per_request(&self) -> Option<f64> {
        self.us_per_request(self.server_cpu?)
    }

    fn us_per_request(&self, used: Duration) -> Option<f64> {
        let requests = self.measured.operations();
        (requests > 0).then(|| used.as_secs_f64() * 1e6 / requests as f64)
    }

    /// Whether to believe it, and why not, in lines.
    pub fn verdict_text(&self) -> String {
        text::validity(self)
    }

    /// What to try next, in a line, if anything stands out.
    pub fn hint(&self) -> Option<String> {
        hint::of(self)
    }

    /// An aligned table for people, ending with a newline.
    pub fn to_text(&self) -> String {
        text::render(self)
    }

    /// One object. Latencies are in ms, CPU times in µs; a percentile of too few samples is null.
    pub fn to_json(&self) -> Value {
        json::render(self)
    }
}

fn servers(plan: &Plan, findings: &Findings) -> Vec<(String, Option<String>)> {
    let software = findings.software.iter().cloned().chain(std::iter::repeat(None));
    plan.origins.iter().map(ToString::to_string).zip(software).collect()
}

fn only_method(plan: &Plan) -> Option<String> {
    match plan.operations.as_slice() {
        [operation] => match operation.steps.as_slice() {
            [Step::Http(step)] => Some(step.method.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn planned_rate(load: &Load) -> Option<f64> {
    match load {
        Load::Open { rate, .. } => Some(Stage::largest(rate)),
        Load::Closed { .. } | Load::Replay { .. } | Load::Numbered { .. } => None,
    }
}

/// Somebody who only asks when the last answer is there does not ask while the server stalls: those
/// questions are missing. The open model has them; for the closed one they are added, one for each
/// mean service time (Tene's correction).
fn omission_gap(plan: &Plan, measured: &Tally) -> Option<f64> {
    let service = measured.service().percentile_ms(0.99)?;
    let response = match &plan.load {
        Load::Closed { .. } | Load::Numbered { .. } => {
            let interval = Duration::from_secs_f64(measured.service().mean_ms()? / 1000.0);
            measured.response().corrected(interval).percentile_ms(0.99)?
        }
        Load::Open { .. } | Load::Replay { .. } => measured.response().percentile_ms(0.99)?,
    };
    Some((response - service).max(0.0))
}
