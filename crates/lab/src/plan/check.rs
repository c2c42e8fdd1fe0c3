//! Whether a plan can be run: what the engine relies on, so that it need not look again.

use super::{Load, MixError, Plan, check_steps};
use crate::limits;
use std::time::Duration;
use thiserror::Error;
use wire::memcached::KeyError;

/// A plan that cannot be run.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PlanError {
    /// The load is none.
    #[error("{0}")]
    Load(String),
    /// Requests cannot travel so.
    #[error("{0}")]
    Transport(String),
    /// No threads, more than allowed, or more than users.
    #[error(
        "the number of threads must be from 1 to {max} and not above the number of users; \
         got {got} with {users} users",
        max = limits::THREADS_MAX
    )]
    Threads {
        /// The number of threads that came.
        got: usize,
        /// The number of users.
        users: usize,
    },
    /// Something is zero and must not be.
    #[error("{0} must be more than zero")]
    Zero(&'static str),
    /// A time is beyond its bound.
    #[error("{what} must be at most {max:?}; got {got:?}")]
    TooLong {
        /// Which time.
        what: &'static str,
        /// What came.
        got: Duration,
        /// Its bound.
        max: Duration,
    },
    /// The mix leads nowhere.
    #[error("the mix: {0}")]
    Mix(#[from] MixError),
    /// The method cannot be sent.
    #[error("\"{0}\" is not a method that can be sent; expected one like GET or PUT")]
    Method(String),
    /// The path cannot be sent.
    #[error(
        "\"{0}\" is not a path that can be sent: it begins with / and has no spaces or control \
         characters; percent-encode them"
    )]
    Path(String),
    /// A field's name or value holds characters it must not.
    #[error("the header \"{0}\" cannot be sent: its name or value holds forbidden characters")]
    Header(String),
    /// A field that the users set themselves.
    #[error("the header \"{0}\" is set by the load generator itself; leave it out")]
    OwnHeader(String),
    /// The body is too large.
    #[error("the body has at most {max} bytes; got {0}", max = limits::REQUEST_BODY_BYTES_MAX)]
    BodyTooLarge(usize),
    /// The bodies of all users do not fit.
    #[error(
        "the bodies of all users together have at most {max} bytes; got {body} bytes for each of \
         {users} users",
        max = limits::REQUEST_BODIES_BYTES_MAX
    )]
    BodiesTooLarge {
        /// The size of one.
        body: usize,
        /// The number of users.
        users: usize,
    },
    /// More is observed than is allowed.
    #[error("at most {max} sources are observed; got {0}", max = limits::OBSERVED_MAX)]
    Observed(usize),
    /// Items of a cache that cannot be.
    #[error("items: {0}")]
    Items(String),
    /// Entries that cannot be made.
    #[error("entries: {0}")]
    Entries(String),
    /// What is done once has something that is done once.
    #[error("the operation \"{0}\" is done once, so none of its steps can be `once`")]
    Once(String),
    /// A request is to be cut off where a connection is not its own.
    #[error(
        "a request is cut off on a connection of its own; this needs HTTP/1.1 without pipelining"
    )]
    Cut,
    /// A key of a cache that cannot be sent.
    #[error("the key \"{0}\" cannot be sent: {1}")]
    CacheKey(String, KeyError),
    /// The audit cannot be made.
    #[error("the audit: {0}")]
    Audit(String),
    /// A step on a channel that cannot be carried out.
    #[error("{0}")]
    Channel(String),
    /// Zipf's law cannot be drawn from.
    #[error(
        "an exponent of Zipf's law must be from 0 to {max} and its keys from 1 to {keys}; got an \
         exponent of {exponent} and {count} keys",
        max = limits::ZIPF_EXPONENT_MAX,
        keys = limits::ZIPF_KEYS_MAX
    )]
    Zipf {
        /// The exponent.
        exponent: f64,
        /// The number of keys.
        count: u64,
    },
    /// Too many redirects are to be followed.
    #[error("a step may follow at most {max} redirects; got {0}", max = limits::REDIRECTS_MAX)]
    Redirects(u32),
    /// Too much is to happen at the same time.
    #[error(
        "a parallel step has from 1 to {max} requests, and the parts of a page come on from 1 to \
         {max} connections; got {0}",
        max = limits::PARALLEL_MAX
    )]
    Parallel(usize),
    /// A share is none.
    #[error("the share of sessions with an empty cache must be from 0 to 1; got {0}")]
    Cold(f64),
    /// A check that cannot hold.
    #[error("a check can never hold: from {0} to {1} there is nothing")]
    Range(String, String),
    /// A number points at nothing.
    #[error("{what} {number} does not exist")]
    Unknown {
        /// Of what.
        what: &'static str,
        /// Which.
        number: usize,
    },
}

pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
    if let Some(fault) = plan.load.fault() {
        return Err(PlanError::Load(fault));
    }
    let is_closed = matches!(plan.load, Load::Closed { .. } | Load::Numbered { .. });
    if let Some(fault) = plan.transport.fault(is_closed) {
        return Err(PlanError::Transport(fault));
    }
    let users = plan.load.users_max();
    if plan.threads == 0 || plan.threads > limits::THREADS_MAX.min(users) {
        return Err(PlanError::Threads { got: plan.threads, users });
    }
    if plan.phases.count == Some(0) || plan.repetitions == Some(0) {
        return Err(PlanError::Zero("the number of requests"));
    }
    if plan.keys.count == 0 {
        return Err(PlanError::Zero("the number of keys"));
    }
    check_times(plan)?;
    plan.mix.check(plan.operations.len())?;
    for background in &plan.background {
        if background.operation >= plan.operations.len() {
            let number = background.operation;
            return Err(PlanError::Unknown { what: "operation", number });
        }
        if !(background.rate.is_finite() && background.rate > 0.0) {
            return Err(PlanError::Zero("the rate of a background operation"));
        }
    }
    let observed = plan.observe.processes.len() + plan.observe.endpoints.len();
    if observed > limits::OBSERVED_MAX {
        return Err(PlanError::Observed(observed));
    }
    plan.audit.fault(plan).map_or(Ok(()), |fault| Err(PlanError::Audit(fault)))?;
    let largest_body = check_steps::check(plan)?;
    if largest_body.saturating_mul(users) > limits::REQUEST_BODIES_BYTES_MAX {
        return Err(PlanError::BodiesTooLarge { body: largest_body, users });
    }
    Ok(())
}

fn check_times(plan: &Plan) -> Result<(), PlanError> {
    if plan.phases.measured.is_zero() {
        return Err(PlanError::Zero("the duration"));
    }
    if plan.request_timeout.is_zero() {
        return Err(PlanError::Zero("the request timeout"));
    }
    let times = [
        ("the ramp-up", plan.phases.ramp_up, limits::DURATION_MAX),
        ("the duration", plan.phases.measured, limits::DURATION_MAX),
        ("the ramp-down", plan.phases.ramp_down, limits::DURATION_MAX),
        ("the request timeout", plan.request_timeout, limits::REQUEST_TIMEOUT_MAX),
        ("the drain", plan.drain, limits::REQUEST_TIMEOUT_MAX),
    ];
    match times.into_iter().find(|(_, got, max)| got > max) {
        Some((what, got, max)) => Err(PlanError::TooLong { what, got, max }),
        None => Ok(()),
    }
}
