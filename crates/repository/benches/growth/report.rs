//! The figures of all sizes as a table, as CSV and as a picture.

use crate::measure::chart::{Line, Panel, Scale, render};
use crate::stages::Figures;

/// Markdown: a line for each figure, a column for each size.
pub fn table(sizes: &[Figures]) -> String {
    let Some(first) = sizes.first() else { return String::new() };
    let mut text = String::new();
    for (i, (name, _)) in first.iter().enumerate() {
        let cells: Vec<String> = sizes.iter().map(|figures| cell(figures[i].1)).collect();
        text += &format!("| {name} | {} |\n", cells.join(" | "));
        if i == 0 {
            text += &format!("| --- |{}\n", " --- |".repeat(sizes.len()));
        }
    }
    text
}

fn cell(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 || v == v.trunc() => format!("{value:.0}"),
        v if v >= 1.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

pub fn csv(sizes: &[Figures]) -> String {
    let Some(first) = sizes.first() else { return String::new() };
    let names: Vec<String> = first.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    let mut text = names.join(",") + "\n";
    for figures in sizes {
        let values: Vec<String> = figures.iter().map(|(_, value)| format!("{value:.3}")).collect();
        text += &(values.join(",") + "\n");
    }
    text
}

/// Each panel: its name, and its lines with the figures that they show.
type Shown = (&'static str, &'static [(&'static str, &'static str)]);

const SHOWN: &[Shown] = &[
    (
        "Changes per second, 1,024 outstanding",
        &[("create", "create/s"), ("read-modify-write", "read-modify-write/s")],
    ),
    (
        "Gets per second, two threads",
        &[
            ("of 1,000", "get/s of 1,000"),
            ("of all", "get/s of all"),
            ("from the disk", "get/s from the disk"),
        ],
    ),
    ("Ranges of 100 documents per second", &[("", "range of 100/s")]),
    ("Opening after closing, ms", &[("", "opening ms")]),
    (
        "Opening after a crash, ms",
        &[
            ("changes replayed", "recovery of changes ms"),
            ("additions", "recovery of additions ms"),
        ],
    ),
    (
        "Bytes on disk per document",
        &[("tables", "disk bytes/document"), ("with tranlog", "disk bytes/document with tranlog")],
    ),
    (
        "Bytes written per byte of body",
        &[
            ("create", "create write amplification"),
            ("read-modify-write", "read-modify-write amplification"),
        ],
    ),
    (
        "Memory, MiB",
        &[
            ("accounted", "memory accounted MiB"),
            ("resident", "memory resident MiB"),
            ("all documents", "documents MiB"),
        ],
    ),
    ("Bytes of memory per open view", &[("", "memory bytes/view")]),
];

/// SVG: everything over the number of documents.
pub fn picture(sizes: &[Figures]) -> String {
    let line = |&(name, figure): &(&'static str, &str)| {
        let point = |figures: &Figures| {
            let value = |wanted: &str| figures.iter().find(|(name, _)| *name == wanted);
            Some((value("documents")?.1, value(figure)?.1))
        };
        Line { name, points: sizes.iter().filter_map(point).collect() }
    };
    let panel = |&(name, lines): &Shown| Panel {
        name,
        x: Scale::Log,
        y: Scale::Log,
        lines: lines.iter().map(line).collect(),
    };
    let panels: Vec<Panel> = SHOWN.iter().map(panel).collect();
    render("A collection that grows, by its number of documents", &panels, 3)
}
