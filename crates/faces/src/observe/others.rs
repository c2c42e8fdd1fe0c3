//! Figures of parts that this crate knows nothing of, such as other faces: they are told among the
//! metrics all the same.

use super::exposition::{Exposition, Sort};
use std::fmt;
use std::sync::Arc;

/// One figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Its name, which ends with its unit if there is one.
    pub name: &'static str,
    /// Its unit, such as `bytes`; empty if there is none.
    pub unit: &'static str,
    /// What it is.
    pub help: &'static str,
    /// Whether it only grows.
    pub is_counter: bool,
    /// The figure.
    pub value: u64,
}

/// Reads figures. Called when somebody asks for the metrics, on a thread that may take locks.
#[derive(Clone)]
pub struct OtherFigures(pub Arc<dyn Fn() -> Vec<Figure> + Send + Sync>);

impl fmt::Debug for OtherFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OtherFigures")
    }
}

pub(super) fn write(page: &mut Exposition, others: &OtherFigures) {
    for figure in (others.0)() {
        let (sort, suffix) = match figure.is_counter {
            true => (Sort::Counter, "_total"),
            false => (Sort::Gauge, ""),
        };
        page.family(figure.name, sort, figure.unit, figure.help);
        page.sample(suffix, &[], figure.value);
    }
}
