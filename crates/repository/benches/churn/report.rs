//! The course as a table of what it comes to, as CSV, and as a picture.

use crate::latency::ms;
use crate::measure::chart::{Line, Panel, Scale, render};
use crate::samples::{Course, FIGURES};

/// How far the size of the folder may be from its mean.
const FLAT: f64 = 0.2;

/// Markdown. What happened in the first `settled` seconds is not judged.
pub fn table(course: &Course, settled: f64) -> String {
    let seconds = course.figure("second");
    let judged = |name: &str| -> Vec<f64> {
        let all = seconds.iter().zip(course.figure(name));
        all.filter(|(second, _)| **second > settled).map(|(_, value)| value).collect()
    };
    let last = |name: &str| course.figure(name).last().copied().unwrap_or_default();
    let sum = |name: &str| course.figure(name).iter().sum::<f64>();
    let (durable, decision) = (&course.latencies.durable, &course.latencies.decision);
    let changes = sum("changes/s");
    let lines = [
        ("seconds", format!("{:.0}", last("second"))),
        ("changes per second", spread(&judged("changes/s"), 0)),
        ("reads per second", spread(&judged("reads/s"), 0)),
        ("CPU µs per transaction", format!("{:.2}", course.cpu * 1e6 / (changes + sum("reads/s")))),
        ("sessions that were asked for and had expired", course.missed.to_string()),
        ("commits refused as overloaded", format!("{:.0}", sum("refused"))),
        ("commits aborted", format!("{:.0}", sum("aborted"))),
        ("documents", spread(&judged("documents"), 0)),
        ("documents removed after they expired", format!("{:.0}", sum("reaped"))),
        ("folder, MiB", spread(&judged("folder MiB"), 0)),
        ("of these, the tranlog", spread(&judged("tranlog MiB"), 0)),
        ("of these, the engine", spread(&judged("engine MiB"), 0)),
        ("farthest from the mean: the folder", verdict(&judged("folder MiB"))),
        ("farthest from the mean: the engine", verdict(&judged("engine MiB"))),
        ("memory accounted, MiB", spread(&judged("memory accounted MiB"), 0)),
        ("memory resident, MiB", spread(&judged("memory resident MiB"), 0)),
        ("begin to durable, ms: p50, p99, p99.9, worst", percentiles(durable)),
        ("the commit call alone, ms: p50, p99, p99.9, worst", percentiles(decision)),
        ("checkpoints", format!("{:.0}", last("checkpoints"))),
        ("times that merged tables went away, at least", format!("{:.0}", last("merges"))),
        ("bytes written for each change", format!("{:.0}", course.written_bytes as f64 / changes)),
        ("of these, to the tranlog", format!("{:.0}", course.tranlog_bytes as f64 / changes)),
    ];
    let mut text = format!(
        "From second {settled:.0} on, means with the lowest and highest second; totals and times \
         are of the whole.\n\n| what | |\n| --- | --- |\n"
    );
    for (name, value) in lines {
        text += &format!("| {name} | {value} |\n");
    }
    text
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn ends(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, 0.0), |(low, high), v| (v.min(low), v.max(high)))
}

fn spread(values: &[f64], digits: usize) -> String {
    let (lowest, highest) = ends(values);
    format!("{:.digits$} ({lowest:.digits$}–{highest:.digits$})", mean(values))
}

fn verdict(values: &[f64]) -> String {
    let (mean, (lowest, highest)) = (mean(values), ends(values));
    let (below, above) = (1.0 - lowest / mean, highest / mean - 1.0);
    let is_flat = below <= FLAT && above <= FLAT;
    let word = if is_flat { "flat" } else { "**not flat**" };
    format!("−{:.1} %, +{:.1} %: {word}", below * 100.0, above * 100.0)
}

fn percentiles(histogram: &hdrhistogram::Histogram<u64>) -> String {
    let values = [50.0, 99.0, 99.9, 100.0].map(|p| format!("{:.3}", ms(histogram, p)));
    values.join(", ")
}

pub fn csv(course: &Course) -> String {
    let names: Vec<String> = FIGURES.iter().map(|name| format!("\"{name}\"")).collect();
    let mut text = names.join(",") + "\n";
    for sample in &course.samples {
        let values: Vec<String> = sample.iter().map(|value| format!("{value:.3}")).collect();
        text += &(values.join(",") + "\n");
    }
    text
}

/// SVG: everything over time.
pub fn picture(course: &Course) -> String {
    let seconds = course.figure("second");
    let line = |&(name, figure): &(&'static str, &str)| {
        let points = seconds.iter().copied().zip(course.figure(figure)).collect();
        Line { name, points }
    };
    let panel = |name, y, lines: &[(&'static str, &str)]| {
        let lines = lines.iter().map(line).collect();
        Panel { name, x: Scale::Linear, y, lines }
    };
    let panels = [
        panel(
            "Data folder, MiB",
            Scale::Linear,
            &[("whole", "folder MiB"), ("tranlog", "tranlog MiB"), ("engine", "engine MiB")],
        ),
        panel("Documents not yet removed", Scale::Linear, &[("", "documents")]),
        panel(
            "Memory, MiB",
            Scale::Linear,
            &[("accounted", "memory accounted MiB"), ("resident", "memory resident MiB")],
        ),
        panel(
            "Transactions per second",
            Scale::Linear,
            &[("changes", "changes/s"), ("reads", "reads/s"), ("reaped", "reaped")],
        ),
        panel(
            "Begin to durable, ms",
            Scale::Log,
            &[("p50", "p50 ms"), ("p99", "p99 ms"), ("p99.9", "p99.9 ms"), ("worst", "worst ms")],
        ),
        panel("The commit call alone, worst, ms", Scale::Log, &[("", "worst decision ms")]),
    ];
    render("Sessions that come and go at full load, by seconds", &panels, 3)
}
