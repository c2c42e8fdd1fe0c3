//! Whether a run can be believed, and whether it kept its gates. INVALID and FAILED are different
//! things: the first is about the generator and the method, the second about the server.

mod gates;
mod generator;
mod little;
mod method;
mod steady;
#[cfg(test)]
mod tests;

use crate::audit::Found;
use crate::engine::{Findings, Phase};
use crate::measure::Tally;
use crate::plan::Plan;

/// What a run comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It can be believed and kept every gate.
    Passed,
    /// It can be believed and did not keep a gate.
    Failed,
    /// Its figures may not say what they seem to.
    Invalid,
}

impl Outcome {
    /// In reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Failed => "FAILED",
            Self::Invalid => "INVALID",
        }
    }
}

/// A run's outcome with its reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Why the figures may not say what they seem to; the weightiest first.
    pub doubts: Vec<String>,
    /// Gates that were not kept.
    pub failures: Vec<String>,
    /// What the server did that is wrong whatever the figures are worth: it went away, or lost what
    /// it had acknowledged.
    pub faults: Vec<String>,
    /// What a reader must know beside: limits that were moved, what could not be tested, gaps.
    pub notes: Vec<String>,
}

impl Verdict {
    /// Of what a run of `plan` found.
    pub fn of(plan: &Plan, findings: &Findings) -> Self {
        let judge = Judge { plan, findings, measured: measured(plan, findings) };
        let faults = judge.faults();
        let doubts = if findings.server_gone.is_some() {
            // What a server that goes away does to the figures is no doubt of the method.
            vec![judge.clock(), judge.generator(), judge.pause()]
        } else {
            judge.doubts()
        };
        Self {
            doubts: doubts.into_iter().flatten().collect(),
            failures: plan.gates.iter().filter_map(|gate| judge.gate(gate)).collect(),
            faults,
            notes: judge.notes(),
        }
    }

    /// In one word. Of a run that cannot be believed it is not known whether it kept its gates; but
    /// what is lost is lost.
    pub fn outcome(&self) -> Outcome {
        match () {
            () if !self.faults.is_empty() => Outcome::Failed,
            () if !self.doubts.is_empty() => Outcome::Invalid,
            () if !self.failures.is_empty() => Outcome::Failed,
            () => Outcome::Passed,
        }
    }
}

/// Everything of the mix that was measured.
pub(crate) fn measured(plan: &Plan, findings: &Findings) -> Tally {
    findings.totals.phase(Phase::Measured, in_mix(plan))
}

/// The operations that have a share in the mix.
pub(crate) fn in_mix(plan: &Plan) -> impl Iterator<Item = usize> + '_ {
    let beside = |operation: &usize| plan.background.iter().any(|b| b.operation == *operation);
    (0..plan.operations.len()).filter(move |operation| !beside(operation))
}

struct Judge<'a> {
    plan: &'a Plan,
    findings: &'a Findings,
    measured: Tally,
}

impl Judge<'_> {
    /// In the order of their weight.
    fn doubts(&self) -> Vec<Option<String>> {
        vec![
            self.nothing(),
            self.stopped(),
            self.clock(),
            self.ports(),
            self.generator(),
            self.pause(),
            self.send_lag(),
            self.dropped(),
            self.retransmits(),
            self.in_flight(),
            self.users(),
            self.cut_off(),
            self.failed_at_the_end(),
            self.mix(),
            self.cycle(),
            self.rate_drift(),
            self.latency_drift(),
            self.server_cpu(),
        ]
    }

    fn faults(&self) -> Vec<String> {
        let gone = self.findings.server_gone.iter();
        let gone = gone.map(|why| format!("the server has gone: {why}; the run ended there"));
        let mut faults: Vec<String> = gone.collect();
        if let Some(audit) = self.findings.audit.as_ref().filter(|audit| audit.lost > 0) {
            let Found { checked, lost, .. } = audit;
            faults.push(format!(
                "the audit: {lost} of {checked} promises that were acknowledged are not kept"
            ));
            faults.extend(audit.faults.iter().cloned());
        }
        faults
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.plan.validity.changes();
        notes.extend(self.extended());
        notes.extend(self.unsteadiable());
        if self.findings.audit.is_none() && !self.plan.audit.is_empty() {
            notes.push("there was no audit, for the server has gone".to_owned());
        }
        notes.extend(self.findings.audit.iter().flat_map(|audit| audit.notes.clone()));
        notes.extend(self.findings.observed.iter().flat_map(|observed| observed.notes.clone()));
        notes
    }
}
