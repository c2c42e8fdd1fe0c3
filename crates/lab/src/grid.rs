//! A grid: one scenario with each combination of several values, and a table of what came of each.
//! It carries nothing out.

mod table;

use crate::limits::{GRID_CELLS_MAX, RATE_MAX, THREADS_MAX, USERS_MAX};
use crate::scenario::Overrides;
use std::ops::RangeInclusive;
use thiserror::Error;

pub use table::{Row, to_json, to_text};

/// What is varied, with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    name: String,
    values: Vec<String>,
}

/// One combination of values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell(Vec<(String, String)>);

/// Why a grid cannot be.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum GridError {
    /// It is not written as one.
    #[error("expected NAME=VALUE,VALUE,..., as users=10,50 or a variable of the scenario")]
    Shape,
    /// Something is varied twice.
    #[error("{0} is varied twice")]
    Twice(String),
    /// A value that its name cannot have.
    #[error("{name}: expected a number from {least} to {most}; got \"{got}\"")]
    Value {
        /// What is varied.
        name: String,
        /// From there on.
        least: f64,
        /// Up to this.
        most: f64,
        /// What came.
        got: String,
    },
    /// Two models of load.
    #[error("either users or rate is varied, not both")]
    Models,
    /// There are too many combinations.
    #[error("a grid has at most {max} cells; got {0}", max = GRID_CELLS_MAX)]
    Cells(usize),
}

/// What is no variable of the scenario, but a flag of its own.
const FLAGS: [&str; 4] = ["users", "rate", "threads", "instances"];

impl Axis {
    /// `NAME=VALUE,VALUE,...`. NAME is `users`, `rate`, `threads` (of the generator), `instances`
    /// (of each cache, the first so many), or a variable of the scenario.
    ///
    /// # Errors
    /// It is not of this shape, or a value cannot be.
    pub fn parse(text: &str) -> Result<Self, GridError> {
        let (name, values) = text.split_once('=').ok_or(GridError::Shape)?;
        let values: Vec<String> = values.split(',').map(str::to_owned).collect();
        if name.is_empty() || values.iter().any(String::is_empty) {
            return Err(GridError::Shape);
        }
        let axis = Self { name: name.to_owned(), values };
        for value in &axis.values {
            Cell(vec![(axis.name.clone(), value.clone())]).apply(&mut Overrides::default())?;
        }
        Ok(axis)
    }
}

/// Every combination of the axes' values; the last axis varies fastest.
///
/// # Errors
/// An axis is there twice, or there are too many cells.
pub fn cells(axes: &[Axis]) -> Result<Vec<Cell>, GridError> {
    let twice = axes.iter().enumerate().find(|(i, axis)| {
        let before = &axes[..*i];
        before.iter().any(|other| other.name == axis.name)
    });
    if let Some((_, axis)) = twice {
        return Err(GridError::Twice(axis.name.clone()));
    }
    let has = |name| axes.iter().any(|axis| axis.name == name);
    if has("users") && has("rate") {
        return Err(GridError::Models);
    }
    let count = axes.iter().fold(1_usize, |count, axis| count.saturating_mul(axis.values.len()));
    if count > GRID_CELLS_MAX {
        return Err(GridError::Cells(count));
    }
    let mut cells = vec![Cell::default()];
    for Axis { name, values } in axes {
        let with = |cell: &Cell, value: &String| {
            let mut pairs = cell.0.clone();
            pairs.push((name.clone(), value.clone()));
            Cell(pairs)
        };
        let longer = cells.iter().flat_map(|cell| values.iter().map(|value| with(cell, value)));
        cells = longer.collect();
    }
    Ok(cells)
}

impl Cell {
    /// Puts its values in the place of those of the command line.
    ///
    /// # Errors
    /// One of them cannot be.
    pub fn apply(&self, overrides: &mut Overrides) -> Result<(), GridError> {
        for (name, value) in &self.0 {
            let whole = |most: usize| number(name, value, 1.0..=most as f64, true);
            match name.as_str() {
                "users" => {
                    (overrides.users, overrides.rate) = (Some(whole(USERS_MAX)? as usize), None);
                }
                "threads" => overrides.threads = Some(whole(THREADS_MAX)? as usize),
                "instances" => overrides.instances = Some(whole(USERS_MAX)? as usize),
                "rate" => {
                    let rate = number(name, value, 0.001..=RATE_MAX, false)?;
                    (overrides.users, overrides.rate) = (None, Some(rate));
                }
                _ => overrides.variables.push((name.clone(), value.clone())),
            }
        }
        Ok(())
    }

    /// As the flags of a run of its own.
    pub fn flags(&self) -> Vec<String> {
        let flag = |(name, value): &(String, String)| match FLAGS.contains(&name.as_str()) {
            true => vec![format!("--{name}"), value.clone()],
            false => vec!["--set".to_owned(), format!("{name}={value}")],
        };
        self.0.iter().flat_map(flag).collect()
    }

    /// In words: `threads=1 pipeline=16`.
    pub fn name(&self) -> String {
        let pair = |(name, value): &(String, String)| format!("{name}={value}");
        self.0.iter().map(pair).collect::<Vec<_>>().join(" ")
    }

    /// Names and values.
    pub fn values(&self) -> &[(String, String)] {
        &self.0
    }
}

fn number(
    name: &str,
    value: &str,
    range: RangeInclusive<f64>,
    whole: bool,
) -> Result<f64, GridError> {
    let read: Option<f64> = value.parse().ok();
    let is_in = |number: &f64| range.contains(number) && (!whole || number.fract() == 0.0);
    read.filter(is_in).ok_or_else(|| GridError::Value {
        name: name.to_owned(),
        least: *range.start(),
        most: *range.end(),
        got: value.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(text: &str) -> Axis {
        Axis::parse(text).unwrap()
    }

    #[test]
    fn every_combination_comes_once() {
        let axes = [axis("threads=1,2"), axis("pipeline=1,16,64"), axis("meta=true")];
        let cells = cells(&axes).unwrap();
        let names: Vec<String> = cells.iter().map(Cell::name).collect();
        assert_eq!(names.len(), 6);
        assert_eq!(names[0], "threads=1 pipeline=1 meta=true");
        assert_eq!(names[5], "threads=2 pipeline=64 meta=true");
        let flags = ["--threads", "2", "--set", "pipeline=64", "--set", "meta=true"];
        assert_eq!(cells[5].flags(), flags);
        let mut overrides = Overrides::default();
        cells[5].apply(&mut overrides).unwrap();
        assert_eq!(overrides.threads, Some(2));
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(overrides.variables, [set("pipeline", "64"), set("meta", "true")]);
        assert_eq!(super::cells(&[]).unwrap(), [Cell::default()]);
    }

    #[test]
    fn flags_replace_those_of_the_command_line() {
        let mut overrides =
            Overrides { users: Some(3), instances: Some(1), ..Overrides::default() };
        for text in ["users=7", "instances=2", "rate=0.5"] {
            cells(&[axis(text)]).unwrap()[0].apply(&mut overrides).unwrap();
        }
        assert_eq!((overrides.users, overrides.rate), (None, Some(0.5)));
        assert_eq!(overrides.instances, Some(2));
    }

    #[test]
    fn what_cannot_be_is_told() {
        for bad in ["", "users", "=1", "users=", "users=1,,2"] {
            assert_eq!(Axis::parse(bad), Err(GridError::Shape), "{bad}");
        }
        for bad in ["users=0", "users=1.5", "threads=65", "rate=0", "rate=nan", "instances=x"] {
            let said = Axis::parse(bad).unwrap_err().to_string();
            assert!(said.contains("expected a number from"), "{said}");
        }
        let twice = cells(&[axis("a=1"), axis("b=1"), axis("a=2")]);
        assert_eq!(twice, Err(GridError::Twice("a".into())));
        assert_eq!(cells(&[axis("users=1"), axis("rate=1")]), Err(GridError::Models));
        let many = vec!["1"; GRID_CELLS_MAX].join(",");
        assert_eq!(
            cells(&[axis(&format!("a={many}"))]).map(|cells| cells.len()),
            Ok(GRID_CELLS_MAX)
        );
        let more = cells(&[axis(&format!("a={many}")), axis("b=1,2")]);
        assert_eq!(more, Err(GridError::Cells(2 * GRID_CELLS_MAX)));
    }
}
