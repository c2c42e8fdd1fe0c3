//! From where on figures are not believed. Limits may be moved, and then a report says so; none can
//! be left out.

use crate::limits::GENERATOR_CPU_SHARE_MAX;
use thiserror::Error;

/// From where on figures are not believed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Validity {
    /// 99th percentile of how late operations of the open model were sent, in ms.
    pub send_lag_p99_ms: f64,
    /// Share of one core that a thread of the generator may use.
    pub generator_cpu: f64,
    /// Longest time for which a thread of the generator may stand still, in ms.
    pub pause_ms: f64,
    /// Share of arrivals that found no user free.
    pub dropped: f64,
    /// Share of this machine's TCP segments that were sent again.
    pub retransmits: f64,
    /// How far Little's law may be off, as a share.
    pub little: f64,
    /// How far the share of an operation may be off that of the mix, in percentage points.
    pub mix_points: f64,
    /// How far the mean time from start to start may be off the planned one, as a share of it.
    pub cycle: f64,
    /// How far the rate may drift over the measured interval, as a share.
    pub drift: f64,
    /// How far the latency may, as a share.
    pub latency_drift: f64,
    /// How far the clock of the machine may step against the one that never does, in ms.
    pub clock_step_ms: f64,
}

impl Default for Validity {
    fn default() -> Self {
        Self {
            send_lag_p99_ms: 5.0,
            generator_cpu: GENERATOR_CPU_SHARE_MAX,
            pause_ms: 100.0,
            dropped: 0.0,
            retransmits: 0.001,
            little: 0.02,
            mix_points: 2.0,
            cycle: 0.02,
            drift: 0.05,
            latency_drift: 0.1,
            clock_step_ms: 50.0,
        }
    }
}

/// A limit by its name: what scenarios and command lines move.
pub struct Limit {
    /// Its name there.
    pub name: &'static str,
    /// What it bounds, for help texts.
    pub about: &'static str,
    get: fn(&Validity) -> f64,
    set: fn(&mut Validity, f64),
}

/// A limit that cannot be moved like this.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LimitError {
    /// There is none of this name.
    #[error("there is no limit \"{0}\"; there are {known}", known = names())]
    Unknown(String),
    /// Its value is none.
    #[error("the limit {0} is a number from 0 on; got {1}")]
    Value(&'static str, f64),
}

fn names() -> String {
    let names: Vec<&str> = LIMITS.iter().map(|limit| limit.name).collect();
    names.join(", ")
}

macro_rules! limit {
    ($name:ident, $about:literal) => {
        Limit {
            name: stringify!($name),
            about: $about,
            get: |validity| validity.$name,
            set: |validity, value| validity.$name = value,
        }
    };
}

/// Every limit.
pub const LIMITS: &[Limit] = &[
    limit!(send_lag_p99_ms, "how late operations are sent, at p99, in ms"),
    limit!(generator_cpu, "share of a core that a thread of the generator uses"),
    limit!(pause_ms, "for how long a thread of the generator stands still, in ms"),
    limit!(dropped, "share of arrivals that find no user free"),
    limit!(retransmits, "share of TCP segments that are sent again"),
    limit!(little, "how far Little's law is off, as a share"),
    limit!(mix_points, "how far shares are off the mix, in percentage points"),
    limit!(cycle, "how far the mean cycle is off the planned one, as a share"),
    limit!(drift, "how far the rate drifts in the interval, as a share"),
    limit!(latency_drift, "how far the latency drifts in the interval, as a share"),
    limit!(clock_step_ms, "how far the clock is set meanwhile, in ms"),
];

impl Validity {
    /// Moves a limit.
    ///
    /// # Errors
    /// There is no such limit, or the value is none.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), LimitError> {
        let limit = LIMITS.iter().find(|limit| limit.name == name);
        let limit = limit.ok_or_else(|| LimitError::Unknown(name.to_owned()))?;
        if !(value.is_finite() && value >= 0.0) {
            return Err(LimitError::Value(limit.name, value));
        }
        (limit.set)(self, value);
        Ok(())
    }

    /// What was moved, one line each.
    pub fn changes(&self) -> Vec<String> {
        let usual = Self::default();
        let changed = LIMITS.iter().filter(|limit| (limit.get)(self) != (limit.get)(&usual));
        let line = |limit: &Limit| {
            let (now, usual) = ((limit.get)(self), (limit.get)(&usual));
            format!("the limit {} was moved from {usual} to {now}", limit.name)
        };
        changed.map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_moves_itself_only_and_says_so() {
        for (i, limit) in LIMITS.iter().enumerate() {
            let mut validity = Validity::default();
            assert_eq!(validity.changes(), Vec::<String>::new());
            let value = 1000.0 + i as f64;
            assert_eq!(validity.set(limit.name, value), Ok(()));
            let changes = validity.changes();
            let expected = format!("the limit {} was moved from ", limit.name);
            assert!(changes.len() == 1 && changes[0].starts_with(&expected), "{changes:?}");
            assert!(changes[0].ends_with(&format!(" to {value}")), "{changes:?}");
        }
    }

    #[test]
    fn what_is_no_limit_is_refused() {
        let mut validity = Validity::default();
        let unknown = validity.set("drifts", 1.0).unwrap_err().to_string();
        assert!(unknown.contains("\"drifts\"") && unknown.contains("latency_drift"), "{unknown}");
        for wrong in [f64::NAN, f64::INFINITY, -0.1] {
            assert!(matches!(validity.set("drift", wrong), Err(LimitError::Value("drift", _))));
        }
        assert_eq!(validity, Validity::default());
    }
}
