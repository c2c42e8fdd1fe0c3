//! The tables of `bench-operation`.

use super::chores::Tally;
use super::{Operation, Phase};
use crate::bench::table::{machine, push_line, said};
use serde_json::Value;

/// What the 99th percentile of the load with everything beside it is to stay within.
const P99_BOUND_MS: f64 = 100.0;

/// The whole text, in Markdown.
pub(super) fn render(
    operation: &Operation,
    phases: &[Phase],
    tallies: &[Tally],
    checks: &[(&'static str, Result<(), String>)],
) -> String {
    let mut text = format!(
        "{}, commit {}. {} `cargo xtask bench-operation {}`. Synced; 2,000 operations/s offered \
         (open model, response times).\n\n\
         | load | seconds | operations/s | failed | p50 ms | p99 ms | p99.9 ms | largest ms |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        said("date", &["-u", "+%Y-%m-%d"]),
        said("git", &["describe", "--always", "--dirty", "--abbrev=7"]),
        machine(),
        operation.seconds,
    );
    for Phase { name, seconds, report } in phases {
        let latency = &report["response_ms"];
        let figure =
            |name: &str| latency[name].as_f64().map_or("—".into(), |ms| format!("{ms:.2}"));
        let cells = [
            (*name).to_owned(),
            seconds.to_string(),
            report["requests_per_second"].as_f64().map_or("—".into(), |r| format!("{r:.0}")),
            failed(report).to_string(),
            figure("p50"),
            figure("p99"),
            figure("p99_9"),
            figure("max"),
        ];
        push_line(&mut text, &format!("| {} |", cells.join(" | ")));
        if report["valid"] != true {
            push_line(&mut text, &format!("\nThis run is doubtful: {}\n", report["reasons"]));
        }
    }
    push_line(&mut text, "\n| beside it | done | failed | longest s |\n| --- | --- | --- | --- |");
    for Tally { chore, done, failed, longest_s, .. } in tallies {
        push_line(&mut text, &format!("| {chore} | {done} | {failed} | {longest_s:.1} |"));
    }
    push_line(&mut text, "");
    for Tally { chore, why, .. } in tallies {
        if let Some(why) = why {
            push_line(&mut text, &format!("- {chore}: {why}"));
        }
    }
    if let Some(Phase { name, report, .. }) = phases.last() {
        let p99 = report["response_ms"]["p99"].as_f64().unwrap_or(f64::INFINITY);
        let outcome = if p99 <= P99_BOUND_MS { "kept" } else { "**missed**" };
        push_line(&mut text, &format!("- bound: p99 of {P99_BOUND_MS} ms {name}: {outcome}"));
    }
    for (check, outcome) in checks {
        let outcome = outcome.as_ref().map_or_else(Clone::clone, |()| "yes".to_owned());
        push_line(&mut text, &format!("- {check}: {outcome}"));
    }
    text
}

/// Operations that failed, of whatever class.
fn failed(report: &Value) -> u64 {
    let classes = report["errors"].as_object().into_iter().flatten();
    classes.filter_map(|(_, count)| count.as_u64()).sum()
}
