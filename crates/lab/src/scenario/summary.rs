//! What a scenario will do, told before it does: the shares that the mix comes to in the long run,
//! the mean cycle, and the rate to be expected.

use super::Scenario;
use crate::plan::{Load, Pacing, Plan, Stage};
use crate::verdict::in_mix;
use std::time::Duration;

const LABEL_WIDTH: usize = 18;

impl Scenario {
    /// An aligned table for people, ending with a newline.
    pub fn to_text(&self) -> String {
        let mut rows: Vec<(&str, String)> = Vec::new();
        let about = if self.about.is_empty() { String::new() } else { format!(": {}", self.about) };
        rows.push(("scenario", format!("{}{about}", self.plan.name)));
        for (name, origin) in self.servers.iter().zip(&self.plan.origins) {
            rows.push(("server", format!("{name} at {origin}")));
        }
        rows.push(("load", load(&self.plan)));
        self.notes.iter().for_each(|note| rows.push(("replay", note.clone())));
        for hook in &self.setup {
            rows.push(("setup", format!("{}, {} times", hook.name, hook.times)));
        }
        let shares = self.plan.mix.shares(self.plan.operations.len());
        for operation in in_mix(&self.plan).filter(|operation| shares[*operation] > 0.0) {
            let name = &self.plan.operations[operation].name;
            rows.push(("mix", format!("{:6.2} %  {name}", shares[operation] * 100.0)));
        }
        for background in &self.plan.background {
            let name = &self.plan.operations[background.operation].name;
            rows.push(("beside", format!("{}/s  {name}", background.rate)));
        }
        rows.push(("expected", expected(&self.plan)));
        for hook in &self.teardown {
            rows.push(("teardown", format!("{}, {} times", hook.name, hook.times)));
        }
        // A label stands once.
        let mut last = "";
        let mut text = String::new();
        for (label, row) in rows {
            let shown = if label == last { "" } else { label };
            text.push_str(&format!("{shown:LABEL_WIDTH$}{row}\n"));
            last = label;
        }
        text
    }
}

fn load(plan: &Plan) -> String {
    let phases = &plan.phases;
    let seconds = |time: Duration| time.as_secs_f64();
    let who = match &plan.load {
        Load::Closed { users } => {
            let each =
                plan.repetitions.map_or(String::new(), |times| format!(", {times} times each"));
            format!("{} users, closed loop{each}", levels(users))
        }
        Load::Open { rate, in_flight_max, .. } => {
            let model = plan.load.name();
            format!("{}/s, {model}, at most {in_flight_max} at once", levels(rate))
        }
        Load::Replay { offsets, in_flight_max } => {
            let (count, model) = (offsets.len(), plan.load.name());
            format!("{count} arrivals, {model}, at most {in_flight_max} at once")
        }
        Load::Numbered { times, users, .. } => format!("{times} times by {users} users"),
    };
    let (ramp_up, measured) = (seconds(phases.ramp_up), seconds(phases.measured));
    let count = phases.count.map_or(String::new(), |count| format!(" or {count} operations"));
    format!("{who}, {ramp_up} s of warm-up, {measured} s{count} measured")
}

/// "10", or "0 to 100" over all stages.
fn levels(stages: &[Stage]) -> String {
    let least = stages.iter().map(|stage| stage.from.min(stage.to)).fold(f64::MAX, f64::min);
    let most = Stage::largest(stages);
    match least < most {
        true => format!("{least} to {most}"),
        false => most.to_string(),
    }
}

/// Of the closed model, users over the mean time from start to start, which is the server's to
/// lengthen.
fn expected(plan: &Plan) -> String {
    let users = match &plan.load {
        Load::Closed { users } => mean(users),
        Load::Numbered { .. } => return "as fast as the server answers".to_owned(),
        Load::Open { rate, .. } => return format!("{:.1} operations/s", mean(rate)),
        Load::Replay { offsets, .. } => {
            let seconds = offsets.last().map_or(0.0, Duration::as_secs_f64);
            let rate = offsets.len() as f64 / seconds.max(0.001);
            return format!("{rate:.1} operations/s on average");
        }
    };
    let cycle = mean_cycle(plan);
    match cycle > 0.0 {
        true => {
            let rate = users / cycle;
            format!("mean cycle {cycle:.3} s; at most {rate:.1} operations/s")
        }
        false => "as fast as the server answers".to_owned(),
    }
}

/// The mean pause of an operation of the mix, in seconds.
fn mean_cycle(plan: &Plan) -> f64 {
    let shares = plan.mix.shares(plan.operations.len());
    let pause = |pacing: &Pacing| match pacing {
        Pacing::None => 0.0,
        Pacing::Think(distribution) | Pacing::Cycle(distribution) => {
            distribution.mean().as_secs_f64()
        }
    };
    plan.operations.iter().zip(&shares).map(|(o, share)| pause(&o.pacing) * share).sum()
}

/// The mean of stages over their time.
fn mean(stages: &[Stage]) -> f64 {
    let all: f64 = stages.iter().map(|stage| stage.duration.as_secs_f64()).sum();
    let area = |stage: &Stage| f64::midpoint(stage.from, stage.to) * stage.duration.as_secs_f64();
    stages.iter().map(area).sum::<f64>() / all.max(f64::MIN_POSITIVE)
}
