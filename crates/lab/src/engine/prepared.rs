//! A plan's steps in the form in which they are carried out: what can be known before the run is
//! not looked up in it.

use crate::http1;
use crate::plan::{Distribution, Plan, Step};

/// All of a plan's steps.
pub(crate) struct Prepared {
    /// By operation.
    pub(crate) operations: Vec<Vec<Action>>,
}

/// A step.
pub(crate) enum Action {
    /// A request to one of the plan's servers.
    Http(usize, Box<http1::Prepared>),
    Pause(Distribution),
}

impl Prepared {
    pub(crate) fn new(plan: &Plan) -> Self {
        let action = |step: &Step| match step {
            Step::Http(step) => {
                let wire = http1::Prepared::new(&plan.origins[step.origin], step, &plan.transport);
                Action::Http(step.origin, Box::new(wire))
            }
            Step::Pause(distribution) => Action::Pause(*distribution),
        };
        let operations = plan.operations.iter();
        let operations = operations.map(|operation| operation.steps.iter().map(action).collect());
        Self { operations: operations.collect() }
    }
}
