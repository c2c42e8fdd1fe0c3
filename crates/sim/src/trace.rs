//! The last steps of a run, for a person to read when it fails.

use std::collections::VecDeque;
use std::fmt::{self, Display};

/// Steps that are kept.
const STEPS_MAX: usize = 80;

/// What a run has done last.
#[derive(Debug, Default)]
pub struct Trace {
    steps: u64,
    last: VecDeque<String>,
}

impl Trace {
    /// Notes a step.
    pub fn note(&mut self, what: impl Display) {
        self.steps += 1;
        if self.last.len() == STEPS_MAX {
            self.last.pop_front();
        }
        self.last.push_back(format!("{:>6}  {what}", self.steps));
    }
}

impl Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.last.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

/// What was found to be wrong.
#[derive(Debug)]
pub struct Finding(pub String);

/// Gives a finding unless `is_so`.
pub(crate) fn expect(is_so: bool, otherwise: impl FnOnce() -> String) -> Result<(), Finding> {
    if is_so { Ok(()) } else { Err(Finding(otherwise())) }
}
