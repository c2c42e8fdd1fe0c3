//! The tables of `bench-backup`.

use super::Backup;
use super::load;
use super::speed::{Row, Sample};
use crate::bench::table::{cell, machine, push_line, said, spread};
use serde_json::Value;

/// The whole text, in Markdown.
pub(super) fn render(backup: &Backup, speed: &[Row], load: &[load::Row]) -> String {
    let mut text = format!(
        "{}, commit {}. {} `cargo xtask bench-backup {} {} {}`. Medians of the rounds, lowest and \
         highest in brackets; all of it fits into the page cache, everything is synced. MB are \
         those of the documents as lines of JSON, but for what was written.\n\n\
         | what | s | MB/s | CPU s/GB | MB written |\n| --- | --- | --- | --- | --- |\n",
        said("date", &["-u", "+%Y-%m-%d"]),
        said("git", &["describe", "--always", "--dirty", "--abbrev=7"]),
        machine(),
        backup.rounds,
        backup.documents,
        backup.seconds,
    );
    for Row { name, samples } in speed {
        let figure = |of: &dyn Fn(&Sample) -> f64, digits| {
            cell(spread(samples.iter().map(of).collect()), digits)
        };
        let cells = [
            (*name).to_owned(),
            figure(&|sample| sample.seconds, 2),
            figure(&|sample| sample.document_bytes as f64 / 1e6 / sample.seconds, 0),
            figure(&|sample| sample.cpu_s / (sample.document_bytes as f64 / 1e9), 2),
            samples
                .last()
                .and_then(|sample| sample.written_bytes)
                .map_or("—".into(), |bytes| format!("{:.0}", bytes as f64 / 1e6)),
        ];
        push_line(&mut text, &format!("| {} |", cells.join(" | ")));
    }
    if !load.is_empty() {
        push_load(&mut text, load);
    }
    text
}

fn push_load(text: &mut String, rows: &[load::Row]) {
    push_line(
        text,
        "\nSynced; 2,000 operations/s offered (open model, response times).\n\n\
         | load | operations/s | failed | p50 ms | p99 ms | p99.9 ms | largest ms | done | MB |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    );
    for row in rows {
        let figure = |of: &dyn Fn(&Value) -> &Value, digits| {
            let values: Option<Vec<f64>> =
                row.phases.iter().map(|phase| of(&phase.report).as_f64()).collect();
            cell(values.and_then(spread), digits)
        };
        let failed: u64 = row.phases.iter().map(|phase| failed(&phase.report)).sum();
        let cells = [
            row.beside.name().to_owned(),
            figure(&|report| &report["requests_per_second"], 0),
            failed.to_string(),
            figure(&|report| &report["response_ms"]["p50"], 2),
            figure(&|report| &report["response_ms"]["p99"], 2),
            figure(&|report| &report["response_ms"]["p99_9"], 2),
            figure(&|report| &report["response_ms"]["max"], 1),
            row.done.to_string(),
            format!("{:.0}", row.megabytes),
        ];
        push_line(text, &format!("| {} |", cells.join(" | ")));
    }
    push_line(text, "");
    for row in rows {
        let doubts = row.phases.iter().filter(|phase| phase.report["valid"] != true);
        for phase in doubts {
            let reasons = &phase.report["reasons"];
            push_line(text, &format!("- {}: doubtful: {reasons}", row.beside.name()));
        }
        if let Some(why) = &row.why {
            push_line(text, &format!("- {}: {why}", row.beside.name()));
        }
    }
}

/// Operations that failed, of whatever class.
fn failed(report: &Value) -> u64 {
    let classes = report["errors"].as_object().into_iter().flatten();
    classes.filter_map(|(_, count)| count.as_u64()).sum()
}
