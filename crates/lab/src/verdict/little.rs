//! Little's law (1961): how many are somewhere is how many come in a time, times how long each
//! stays. What was counted directly must agree with what was measured one by one; where it does
//! not, the generator lost something or was late.

use super::Judge;
use crate::engine::Phase;
use crate::measure::Spans;
use crate::plan::Load;

impl Judge<'_> {
    /// Operations in flight against their rate times their latency.
    pub(super) fn in_flight(&self) -> Option<String> {
        let all = 0..self.plan.operations.len();
        let measured = self.findings.totals.phase(Phase::Measured, all);
        let seconds = self.findings.measured.as_secs_f64();
        let counted = self.findings.in_flight_s / seconds;
        let computed = measured.busy().sum_s / seconds;
        self.differs(counted, computed, measured.busy()).then(|| {
            format!(
                "by Little's law {computed:.2} operations should be in flight, but {counted:.2} \
                 were (at most {:.0} % off): the generator lost some",
                self.plan.validity.little * 100.0
            )
        })
    }

    /// Users of the closed model against the times from start to start.
    pub(super) fn users(&self) -> Option<String> {
        if self.plan.repetitions.is_some() {
            // Each goes when it has done its part, and so they are not all there until the end.
            return None;
        }
        let users = self.level().filter(|_| matches!(self.plan.load, Load::Closed { .. }))?.round();
        let laps = self.measured.laps();
        let computed = laps.sum_s / self.findings.measured.as_secs_f64();
        let is_off = laps.count > 0 && self.differs(users, computed, laps);
        is_off.then(|| {
            format!(
                "by Little's law there were {computed:.2} users at work, but {users} were planned \
                 (at most {:.0} % off): some were held up, or had not started yet",
                self.plan.validity.little * 100.0
            )
        })
    }

    /// At the two borders of the interval some are cut: on average what is left of them at a random
    /// moment, on each side, and more by chance the fewer they are.
    fn differs(&self, counted: f64, computed: f64, times: &Spans) -> bool {
        let cut = 2.0 * counted + 6.0 * counted.sqrt();
        let borders = cut * times.residual_s() / self.findings.measured.as_secs_f64();
        (counted - computed).abs() - borders > self.plan.validity.little * computed
    }
}
