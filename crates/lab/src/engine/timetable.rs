//! When the parts of a run begin and end, and which of them an operation belongs to.

use crate::plan::Plan;
use std::time::Duration;
use tokio::time::Instant;

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before the measured interval.
    RampUp,
    /// The measured interval.
    Measured,
    /// After it: what was in flight when it ended, and the ramp-down.
    Drain,
}

impl Phase {
    /// Every one, in the order of time.
    pub const ALL: [Self; 3] = [Self::RampUp, Self::Measured, Self::Drain];
}

/// The points in time a run goes by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Timetable {
    /// The first user starts.
    pub(crate) start: Instant,
    /// The measured interval begins, with all users started.
    pub(crate) begin: Instant,
    /// It ends.
    pub(crate) end: Instant,
    /// Nothing is started from here on.
    pub(crate) last: Instant,
    /// Nothing is waited for from here on.
    pub(crate) stop: Instant,
}

impl Timetable {
    pub(crate) fn new(plan: &Plan, start: Instant) -> Self {
        let begin = start + plan.phases.ramp_up;
        let end = begin + plan.phases.measured;
        let last = end + plan.phases.ramp_down;
        Self { start, begin, end, last, stop: last + plan.drain }
    }

    /// The same with a measured interval that is longer by so much.
    pub(crate) fn longer(self, more: Duration) -> Self {
        let Self { end, last, stop, .. } = self;
        Self { end: end + more, last: last + more, stop: stop + more, ..self }
    }

    /// When a user starts: the users are spread evenly over the ramp-up.
    pub(crate) fn start_of(&self, user: usize, users: usize) -> Instant {
        let share = user as f64 / users as f64;
        self.start + (self.begin - self.start).mul_f64(share)
    }

    /// Until when a request that begins at `now` may last.
    pub(crate) fn deadline(&self, now: Instant, request_timeout: Duration) -> Instant {
        self.stop.min(now + request_timeout)
    }

    /// The phase of an operation that was to start at `from`. Only one that lies in the measured
    /// interval as a whole is measured; one that ends after it is part of the drain.
    pub(crate) fn phase(&self, from: Instant, finished: Instant) -> Phase {
        match () {
            () if from < self.begin => Phase::RampUp,
            () if finished < self.end => Phase::Measured,
            () => Phase::Drain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    const SECOND: Duration = Duration::from_secs(1);

    /// Ramp-up from 0 to 4 s, measured from 4 to 14 s, drain to 17 s.
    fn timetable() -> Timetable {
        let mut plan = Plan::hit("http://a/".parse().unwrap());
        plan.phases.ramp_up = 4 * SECOND;
        plan.phases.measured = 10 * SECOND;
        plan.drain = 3 * SECOND;
        Timetable::new(&plan, Instant::now())
    }

    #[test]
    fn an_operation_is_measured_only_as_a_whole() {
        let table = timetable();
        let phase = |sent: u32, finished: u32| {
            table.phase(table.start + sent * SECOND, table.start + finished * SECOND)
        };
        assert_eq!(phase(0, 3), Phase::RampUp);
        assert_eq!(phase(3, 4), Phase::RampUp);
        assert_eq!(phase(3, 15), Phase::RampUp);
        assert_eq!(phase(4, 13), Phase::Measured);
        assert_eq!(phase(4, 14), Phase::Drain);
        assert_eq!(phase(13, 15), Phase::Drain);
    }

    #[test]
    fn users_start_evenly_over_the_ramp_up() {
        let table = timetable();
        let starts = [0, 1, 2, 3].map(|user| table.start_of(user, 4) - table.start);
        assert_eq!(starts, [0, 1, 2, 3].map(|second| second * SECOND));
    }

    #[test]
    fn a_request_lasts_no_longer_than_the_run() {
        let table = timetable();
        let at = |second: u32| table.start + second * SECOND;
        assert_eq!(table.deadline(at(5), 2 * SECOND), at(7));
        assert_eq!(table.deadline(at(13), 10 * SECOND), at(17));
    }
}
