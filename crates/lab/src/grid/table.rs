//! The table of a grid: a row for each cell. It computes nothing but shares and sums.

use super::Cell;
use crate::observe::{SERVER, Summary, link_bytes_per_second};
use crate::report::Report;
use serde_json::{Value, json};

/// A cell and what came of it.
#[derive(Clone, Debug)]
pub struct Row {
    /// Which.
    pub cell: Cell,
    /// Its run.
    pub report: Report,
}

/// The columns behind those of the axes.
const COLUMNS: [&str; 9] = [
    "ops/s",
    "p50 ms",
    "p99 ms",
    "p99.9 ms",
    "server us",
    "lab us",
    "net MB/s",
    "net %",
    "verdict",
];

/// An aligned table, and below it why runs are no PASSED ones.
pub fn to_text(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let mut lines: Vec<Vec<String>> = Vec::new();
    let axes = first.cell.values().iter().map(|(name, _)| name.clone());
    lines.push(axes.chain(COLUMNS.map(str::to_owned)).collect());
    lines.extend(rows.iter().map(|row| {
        let values = row.cell.values().iter().map(|(_, value)| value.clone());
        values.chain(figures(&row.report)).collect()
    }));
    let mut text = aligned(&lines);
    text.push_str(
        "\nLatencies are response times. server us, lab us: CPU time for an operation, of the \
         processes of\n--pid and of the generator. net: the busiest network, both ways; its share \
         where the link's speed is known.\n",
    );
    for row in rows {
        let verdict = &row.report.verdict;
        let reasons = verdict.faults.iter().chain(&verdict.doubts).chain(&verdict.failures);
        for reason in reasons {
            let (cell, outcome) = (row.cell.name(), row.report.outcome().name());
            text.push_str(&format!("{outcome} {cell}: {reason}\n"));
        }
    }
    text
}

/// The same for programs: the cells with their whole reports.
pub fn to_json(rows: &[Row]) -> Value {
    let row = |Row { cell, report }: &Row| {
        let values = cell.values().iter();
        let values = values.map(|(name, value)| (name.clone(), Value::from(value.clone())));
        json!({
            "cell": Value::Object(values.collect()),
            "server_cpu_us": server_cpu_us(report),
            "network_bytes_per_second": network(report).map(|(bytes, _)| bytes),
            "network_share": network(report).and_then(|(_, share)| share),
            "report": report.to_json(),
        })
    };
    json!({ "cells": rows.iter().map(row).collect::<Vec<_>>() })
}

fn figures(report: &Report) -> Vec<String> {
    let response = report.measured.response();
    let ms = |quantile| figure(response.percentile_ms(quantile), 3);
    let network = network(report);
    vec![
        format!("{:.0}", report.requests_per_second()),
        ms(0.5),
        ms(0.99),
        ms(0.999),
        figure(server_cpu_us(report), 2),
        figure(report.generator_us_per_request(), 2),
        figure(network.map(|(bytes, _)| bytes / 1e6), 1),
        figure(network.and_then(|(_, share)| share).map(|share| share * 100.0), 1),
        report.outcome().name().to_owned(),
    ]
}

fn figure(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
}

/// CPU time of all processes of servers for an operation, in µs.
fn server_cpu_us(report: &Report) -> Option<f64> {
    let servers = report.costs.iter().filter(|cost| cost.name.starts_with(SERVER));
    let used: Vec<f64> = servers.map(|cost| cost.cpu_us).collect::<Option<_>>()?;
    (!used.is_empty()).then(|| used.iter().sum())
}

/// Bytes a second of the network that has most of them, received and sent, and what share of its
/// link that is in the busier direction.
fn network(report: &Report) -> Option<(f64, Option<f64>)> {
    let host = report.observed.iter().find(|one| one.name == "host")?;
    let all = host.figures.iter().filter_map(|figure| {
        let name = figure.name.strip_prefix("net_")?.strip_suffix("_sent")?;
        let name = name.strip_suffix("_packets").map_or(Some(name), |_packets| None)?;
        Some((name, traffic(host, name)?))
    });
    let (name, (received, sent)) =
        all.max_by(|(_, (a, b)), (_, (c, d))| (a + b).total_cmp(&(c + d)))?;
    let share = link_bytes_per_second(name).map(|most| received.max(sent) / most);
    Some((received + sent, share))
}

fn traffic(host: &Summary, network: &str) -> Option<(f64, f64)> {
    let mean = |way: &str| host.figure(&format!("net_{network}_{way}"))?.mean;
    Some((mean("received")?, mean("sent")?))
}

/// Columns as wide as their widest value, numbers to the right.
pub(crate) fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |line: &Vec<String>| {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        cells.collect::<Vec<_>>().join("  ") + "\n"
    };
    lines.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest() {
        let lines = [["a", "bb"], ["100", "2"]].map(|line| line.map(str::to_owned).to_vec());
        assert_eq!(aligned(&lines), "  a  bb\n100   2\n");
    }
}
