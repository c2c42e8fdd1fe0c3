//! `[mix]`: which operation comes next. Operations are named; a misspelt one is told with the
//! nearest that exists.

use super::operations::Names;
use super::section::{Section, Value};
use crate::plan::Mix;

/// How far from 100 the sum of a row of percentages may be.
const ROW_TOLERANCE: f64 = 0.01;

const KINDS: [&str; 4] = ["weights", "markov", "sequence", "sequences"];

/// The mix; without a section each operation of `mixed` is as likely as the other.
pub(super) fn read(section: Option<&Section<'_>>, names: &Names, mixed: &[usize]) -> Option<Mix> {
    let Some(section) = section else { return even(names, mixed) };
    let unit = section.get("unit");
    let are_weights = unit.as_ref().is_some_and(|unit| unit.raw() == Some("weights"));
    if let Some(unit) = unit.filter(|unit| !matches!(unit.raw(), Some("weights" | "percent"))) {
        unit.expected("\"percent\" or \"weights\"");
    }
    match section.which(&KINDS).as_slice() {
        [] => even(names, mixed),
        ["weights"] => {
            let value = section.get("weights")?;
            let weights = row(&value, names)?;
            if weights.iter().sum::<f64>() <= 0.0 {
                value.wrong("all weights are 0, so nothing can come next");
                return None;
            }
            Some(Mix::Flat(weights))
        }
        ["markov"] => markov(&section.get("markov")?, names, mixed, are_weights),
        ["sequence"] => steps(&section.get("sequence")?, names).map(Mix::Sequence),
        ["sequences"] => sequences(&section.get("sequences")?, names),
        _ => {
            let what = format!("expected exactly one of {} in [mix]", KINDS.join(", "));
            section.book.wrong(&section.span, what);
            None
        }
    }
}

/// None if every operation is beside the mix.
fn even(names: &Names, mixed: &[usize]) -> Option<Mix> {
    let weight = |i| if mixed.contains(&i) { 1.0 } else { 0.0 };
    (!mixed.is_empty()).then(|| Mix::Flat((0..names.len()).map(weight).collect()))
}

/// Weights by name, `{ read = 9, write = 1 }`, or for each operation in the order of the file.
fn row(value: &Value<'_>, names: &Names) -> Option<Vec<f64>> {
    if value.is_list() {
        let list = value.list()?;
        if list.len() != names.len() {
            let (expected, got) = (names.len(), list.len());
            value.wrong(format_args!(
                "expected {expected} numbers, one for each operation in the order of the file; \
                 got {got}"
            ));
            return None;
        }
        let weights = list.iter().map(|value| value.number(0.0..=f64::MAX));
        return weights.collect::<Vec<_>>().into_iter().collect();
    }
    let mut weights = vec![0.0; names.len()];
    let mut is_whole = true;
    for entry in value.section()?.entries() {
        let operation = names.find(&entry.key);
        if let Err(why) = &operation {
            entry.wrong_key(why);
        }
        match (operation, entry.value.number(0.0..=f64::MAX)) {
            (Ok(operation), Some(weight)) => weights[operation] = weight,
            _ => is_whole = false,
        }
    }
    is_whole.then_some(weights)
}

/// A row for each operation that can come about.
fn markov(value: &Value<'_>, names: &Names, mixed: &[usize], are_weights: bool) -> Option<Mix> {
    let mut rows: Vec<Option<Vec<f64>>> = vec![None; names.len()];
    let mut is_whole = true;
    let section = value.section()?;
    for entry in section.entries() {
        let operation = names.find(&entry.key);
        if let Err(why) = &operation {
            entry.wrong_key(why);
        }
        let weights =
            row(&entry.value, names).filter(|row| adds_up(&entry.value, row, are_weights));
        is_whole &= weights.is_some();
        match operation {
            Ok(operation) => rows[operation] = Some(weights.unwrap_or_default()),
            Err(_) => is_whole = false,
        }
    }
    for operation in mixed {
        if rows[*operation].is_none() {
            let name = names.name(*operation);
            let what = format!("`{}`: what comes after `{name}` is missing", value.name);
            section.book.missing(&section.span, what);
            is_whole = false;
        }
    }
    // What is beside the mix has a row that nothing leads to.
    let beside = || {
        let mut row = vec![0.0; names.len()];
        row[mixed.first().copied().unwrap_or(0)] = 1.0;
        row
    };
    is_whole.then(|| Mix::Markov(rows.into_iter().map(|row| row.unwrap_or_else(beside)).collect()))
}

fn adds_up(value: &Value<'_>, row: &[f64], are_weights: bool) -> bool {
    let sum: f64 = row.iter().sum();
    let adds_up = match are_weights {
        true => sum > 0.0 && sum.is_finite(),
        false => (sum - 100.0).abs() <= ROW_TOLERANCE + 1e-9,
    };
    if !adds_up {
        let sum = (sum * 1e6).round() / 1e6;
        match are_weights {
            true => value.wrong("all weights are 0, so nothing can come next"),
            false => value.wrong(format_args!(
                "expected percentages that sum to 100 (within {ROW_TOLERANCE}); got {sum}; write \
                 unit = \"weights\" in [mix] if they are weights"
            )),
        }
    }
    adds_up
}

fn steps(value: &Value<'_>, names: &Names) -> Option<Vec<usize>> {
    let list = value.list()?;
    if list.is_empty() {
        value.expected("at least one operation");
        return None;
    }
    let find = |value: &Value<'_>| names.of(value);
    list.iter().map(find).collect::<Vec<_>>().into_iter().collect()
}

/// `[{ weight = 3, of = ["a", "b"] }, ...]`.
fn sequences(value: &Value<'_>, names: &Names) -> Option<Mix> {
    let list = value.list()?;
    let read = |value: &Value<'_>| {
        let section = value.section()?;
        let weight = section.number("weight", f64::MIN_POSITIVE..=f64::MAX);
        let weight = weight.or_else(|| section.which(&["weight"]).is_empty().then_some(1.0));
        let of = section.need("of", "a list of operations");
        let of = of.and_then(|of| steps(&of, names));
        section.close();
        Some((weight?, of?))
    };
    let all: Option<Vec<_>> = list.iter().map(read).collect::<Vec<_>>().into_iter().collect();
    if list.is_empty() {
        value.expected("at least one sequence");
        return None;
    }
    all.map(Mix::Sequences)
}
