//! Who starts operations and when: a number of users that each wait for their last reply (closed),
//! or arrivals that wait for nobody (open).

use crate::limits::{DURATION_MAX, USERS_MAX};
use std::time::Duration;

/// The model of load.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// Users; each starts its next operation when the last one is over and its pause, too.
    Closed {
        /// How many there are, over the measured interval and what is around it.
        users: Vec<Stage>,
    },
    /// Arrivals at a rate, whatever the server does.
    Open {
        /// Operations a second.
        rate: Vec<Stage>,
        /// How they are spread.
        arrivals: Arrivals,
        /// Operations at the same time. An arrival beyond it is counted as dropped.
        in_flight_max: usize,
    },
    /// Arrivals at recorded times after the start, ascending.
    Replay {
        /// When.
        offsets: Vec<Duration>,
        /// As above.
        in_flight_max: usize,
    },
    /// Each number of a range once; `{iteration}` is the number. It ends with the last, or with the
    /// first that fails.
    Numbered {
        /// The first number.
        first: u64,
        /// How many numbers.
        times: u64,
        /// Users that take them, each its next when its last is done.
        users: usize,
    },
}

/// A part of the time, over which a number moves evenly from one value to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// At its begin.
    pub from: f64,
    /// At its end.
    pub to: f64,
    /// How long.
    pub duration: Duration,
}

impl Stage {
    /// The same value throughout.
    pub fn flat(value: f64, duration: Duration) -> Self {
        Self { from: value, to: value, duration }
    }

    /// The value at `offset` of `stages`; before the first the first, after the last the last.
    pub fn value_at(stages: &[Self], mut offset: Duration) -> f64 {
        for stage in stages {
            if offset < stage.duration {
                let share = offset.as_secs_f64() / stage.duration.as_secs_f64();
                return stage.from + (stage.to - stage.from) * share;
            }
            offset -= stage.duration;
        }
        stages.last().map_or(0.0, |stage| stage.to)
    }

    /// So many times as much, for as long.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self { from: self.from * factor, to: self.to * factor, ..self }
    }

    /// The largest value that `stages` come to.
    pub fn largest(stages: &[Self]) -> f64 {
        stages.iter().map(|stage| stage.from.max(stage.to)).fold(0.0, f64::max)
    }
}

/// How arrivals are spread over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Exponential gaps: as if many people came who do not know of each other.
    Poisson,
    /// Equal gaps.
    Even,
}

/// The parts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phases {
    /// Before the measured interval. Closed: the users start one after another.
    pub ramp_up: Duration,
    /// The measured interval.
    pub measured: Duration,
    /// After it, at the same load.
    pub ramp_down: Duration,
    /// Operations after which the measured interval ends early.
    pub count: Option<u64>,
}

impl Phases {
    /// From the first operation to where none is started any more.
    pub fn total(&self) -> Duration {
        self.ramp_up + self.measured + self.ramp_down
    }
}

impl Load {
    /// Its name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Closed { .. } => "closed",
            Self::Open { arrivals: Arrivals::Poisson, .. } => "open, Poisson arrivals",
            Self::Open { arrivals: Arrivals::Even, .. } => "open, even arrivals",
            Self::Replay { .. } => "open, recorded arrivals",
            Self::Numbered { .. } => "numbered",
        }
    }

    /// Whether operations start whatever the server does.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. } | Self::Replay { .. })
    }

    /// Most operations at the same time.
    pub fn users_max(&self) -> usize {
        match self {
            Self::Closed { users } => Stage::largest(users).ceil() as usize,
            Self::Open { in_flight_max, .. } | Self::Replay { in_flight_max, .. } => *in_flight_max,
            Self::Numbered { users, .. } => *users,
        }
    }

    /// What is wrong with it.
    pub(super) fn fault(&self) -> Option<String> {
        let users = self.users_max();
        if users == 0 || users > USERS_MAX {
            return Some(format!("the number of users must be from 1 to {USERS_MAX}; got {users}"));
        }
        let stages = match self {
            Self::Closed { users } => users,
            Self::Open { rate, .. } => rate,
            Self::Replay { offsets, .. } => {
                return (!offsets.is_sorted()).then(|| "recorded times must ascend".to_owned());
            }
            Self::Numbered { times, .. } => {
                return (*times == 0).then(|| "there is not one number".to_owned());
            }
        };
        let is_number = |value: f64| value.is_finite() && value >= 0.0;
        if stages.is_empty() || !stages.iter().all(|s| is_number(s.from) && is_number(s.to)) {
            return Some("expected at least one stage, of numbers from 0 on".to_owned());
        }
        if stages.iter().any(|stage| stage.duration > DURATION_MAX) {
            return Some(format!("a stage lasts at most {DURATION_MAX:?}"));
        }
        (Stage::largest(stages) == 0.0).then(|| "no stage has any load".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn values_move_evenly_and_stay_at_the_end() {
        let stages =
            [Stage { from: 0.0, to: 10.0, duration: 10 * SECOND }, Stage::flat(4.0, SECOND)];
        let at = |seconds: f64| Stage::value_at(&stages, Duration::from_secs_f64(seconds));
        assert_eq!([at(0.0), at(2.5), at(10.0), at(10.9), at(99.0)], [0.0, 2.5, 4.0, 4.0, 4.0]);
        assert_eq!(Stage::largest(&stages), 10.0);
    }

    #[test]
    fn a_load_of_nothing_is_refused() {
        let closed = |from, to| Load::Closed { users: vec![Stage { from, to, duration: SECOND }] };
        assert_eq!(closed(1.0, 1.0).fault(), None);
        assert!(closed(0.0, 0.0).fault().is_some());
        assert!(closed(1.0, f64::NAN).fault().is_some());
        assert!(closed(-1.0, 1.0).fault().is_some());
        assert!(closed(1.0, USERS_MAX as f64 + 1.0).fault().is_some());
        let offsets = vec![SECOND, Duration::ZERO];
        assert!(Load::Replay { offsets, in_flight_max: 1 }.fault().is_some());
    }
}
