//! What templates are filled in from besides numbers: `[data]`, and what is extracted from replies.

use super::files::Files;
use super::section::{Section, Value};
use super::template::is_taken;
use super::text;
use crate::limits::DATA_BYTES_MAX;
use crate::plan::{DataFile, Order, Rows};
use std::sync::Arc;

/// `[data.NAME]`: a file of lines or of comma-separated values, or rows that stand in the scenario.
pub(super) fn read(section: Option<&Section<'_>>, files: &Files<'_>) -> Option<Vec<DataFile>> {
    let Some(section) = section else { return Some(Vec::new()) };
    let read = section.entries().into_iter().map(|entry| {
        let constants = section.book.constants();
        let is_free = !is_taken(&entry.key) && !constants.contains_key(&entry.key);
        if !text::is_name(&entry.key) || !is_free {
            entry.wrong_key(format_args!("expected {} that means nothing else", text::NAME));
        }
        let table = entry.value.section()?;
        let order = order(&table);
        let rows = rows(&table, files);
        table.close();
        Some(DataFile { name: entry.key, rows: Arc::new(rows?), order })
    });
    read.collect::<Vec<_>>().into_iter().collect()
}

fn order(section: &Section<'_>) -> Order {
    let Some(value) = section.get("order") else { return Order::Random };
    match value.text().as_deref() {
        Some("next") => return Order::Next,
        Some("by_user") => return Order::ByUser,
        Some("random") | None => {}
        Some(_) => value.expected("\"random\", \"next\" or \"by_user\""),
    }
    Order::Random
}

fn rows(section: &Section<'_>, files: &Files<'_>) -> Option<Rows> {
    let (file, lines) = (section.get("file"), section.get("rows"));
    match (file, lines) {
        (Some(file), None) => {
            let bytes = files.bytes(&file, DATA_BYTES_MAX)?;
            let is_csv = file.raw().is_some_and(|name| name.to_ascii_lowercase().ends_with(".csv"));
            let rows = if is_csv { Rows::csv(&bytes) } else { Rows::lines(&bytes) };
            rows.map_err(|error| file.wrong(error)).ok()
        }
        (None, Some(lines)) => {
            let texts = lines.list()?.into_iter().map(|line| {
                let text = line.text()?;
                if text.is_empty() || text.contains('\n') {
                    line.expected("a row of one line that is not empty");
                }
                Some(text)
            });
            let texts: Option<Vec<String>> = texts.collect::<Vec<_>>().into_iter().collect();
            let rows = Rows::lines(texts?.join("\n").as_bytes());
            rows.map_err(|error| lines.wrong(error)).ok()
        }
        _ => {
            let what = format!("`{}`: expected either `file` or `rows`", section.name);
            section.book.wrong(&section.span, what);
            None
        }
    }
}

/// The variables that steps extract, each once, in the order of the file; and those of them that
/// are addresses.
pub(super) fn extracted(value: &Value<'_>) -> (Vec<String>, Vec<String>) {
    let (mut names, mut urls) = (Vec::new(), Vec::new());
    collect(value, &mut names, &mut urls);
    (names, urls)
}

/// Whether what is extracted is an address. Mistakes in it are told when it is read.
fn is_url(value: &Value<'_>) -> bool {
    let entries = if value.is_table() { value.section() } else { None };
    let entries = entries.map_or_else(Vec::new, |section| section.entries());
    entries.iter().any(|entry| entry.key == "atom" || (entry.key == "url" && entry.value.is_true()))
}

fn collect(value: &Value<'_>, names: &mut Vec<String>, urls: &mut Vec<String>) {
    if value.is_list() {
        value.list().unwrap_or_default().iter().for_each(|value| collect(value, names, urls));
    }
    if !value.is_table() {
        return;
    }
    for entry in value.section().map_or_else(Vec::new, |section| section.entries()) {
        if entry.key != "extract" || !entry.value.is_table() {
            collect(&entry.value, names, urls);
            continue;
        }
        let extract = entry.value.section().map_or_else(Vec::new, |section| section.entries());
        for variable in extract {
            if is_url(&variable.value) && !urls.contains(&variable.key) {
                urls.push(variable.key.clone());
            }
            if !names.contains(&variable.key) {
                names.push(variable.key);
            }
        }
    }
}
