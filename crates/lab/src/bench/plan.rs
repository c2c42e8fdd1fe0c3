//! What a run is to do, and the check that it can be done. It does nothing.

use crate::limits;
use crate::target::Target;
use std::time::Duration;
use thiserror::Error;

/// A run of closed-loop load.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where the requests go.
    pub target: Target,
    /// What is sent.
    pub request: Request,
    /// Users, each with one connection, one cookie jar and at most one request in flight.
    pub users: usize,
    /// Threads the users are spread over.
    pub threads: usize,
    /// Time before the measured interval, in which the users start one after another.
    pub ramp_up: Duration,
    /// The measured interval.
    pub duration: Duration,
    /// Requests after which the measured interval ends early. Ramp-up is not counted.
    pub count: Option<u64>,
    /// Whether users forget their cookies before every hit, so that the server sees a new
    /// session in each. The connection is kept.
    pub new_session: bool,
    /// `{key}` becomes a number from 0 to `keys` - 1, each as likely as the other.
    pub keys: u64,
    /// Fixes the numbers each user draws: the same seed gives the same requests.
    pub seed: u64,
    /// Longest time of a hit, connecting included.
    pub request_timeout: Duration,
    /// Longest wait for the requests in flight when the measured interval ends. What is not
    /// answered then is an error of class timeout.
    pub drain: Duration,
    /// A process whose CPU time is read before and after the measured interval.
    pub server_pid: Option<u32>,
}

/// The request of every hit. In the target's path, in values of headers and in the body, `{key}`
/// becomes a number drawn for the hit, in decimal, `{other}` another one (the same if there is no
/// other), and `{nonce}` 16 hexadecimal digits that differ in every hit: a server may see that a
/// document put again unchanged needs no write.
#[derive(Clone, Debug)]
pub struct Request {
    /// "GET", "PUT", ... Case matters.
    pub method: String,
    /// Fields besides `Host`, which may be among them and then replaces the target's.
    pub headers: Vec<(String, String)>,
    /// The body. Its length is stated unless it is empty and the method expects none.
    pub body: Vec<u8>,
}

impl Request {
    /// A GET without further fields.
    pub fn get() -> Self {
        Self { method: "GET".to_owned(), headers: Vec::new(), body: Vec::new() }
    }
}

impl Plan {
    /// 10 users on one thread send GET for 10 s, after 1 s of ramp-up.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            request: Request::get(),
            users: 10,
            threads: 1,
            ramp_up: Duration::from_secs(1),
            duration: Duration::from_secs(10),
            count: None,
            new_session: false,
            keys: 10_000,
            seed: 1,
            request_timeout: Duration::from_secs(10),
            drain: Duration::from_secs(10),
            server_pid: None,
        }
    }

    /// Checks that the plan can be run.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), PlanError> {
        if self.users == 0 || self.users > limits::USERS_MAX {
            return Err(PlanError::Users(self.users));
        }
        if self.threads == 0 || self.threads > limits::THREADS_MAX.min(self.users) {
            return Err(PlanError::Threads { got: self.threads, users: self.users });
        }
        if self.count == Some(0) {
            return Err(PlanError::Zero("the number of requests"));
        }
        if self.keys == 0 {
            return Err(PlanError::Zero("the number of keys"));
        }
        let body = self.request.body.len();
        if body > limits::REQUEST_BODY_BYTES_MAX {
            return Err(PlanError::BodyTooLarge(body));
        }
        if body.saturating_mul(self.users) > limits::REQUEST_BODIES_BYTES_MAX {
            return Err(PlanError::BodiesTooLarge { body, users: self.users });
        }
        self.check_times()?;
        self.request.check()
    }

    fn check_times(&self) -> Result<(), PlanError> {
        if self.duration.is_zero() {
            return Err(PlanError::Zero("the duration"));
        }
        if self.request_timeout.is_zero() {
            return Err(PlanError::Zero("the request timeout"));
        }
        let times = [
            ("the ramp-up", self.ramp_up, limits::DURATION_MAX),
            ("the duration", self.duration, limits::DURATION_MAX),
            ("the request timeout", self.request_timeout, limits::REQUEST_TIMEOUT_MAX),
            ("the drain", self.drain, limits::REQUEST_TIMEOUT_MAX),
        ];
        match times.into_iter().find(|(_, got, max)| got > max) {
            Some((what, got, max)) => Err(PlanError::TooLong { what, got, max }),
            None => Ok(()),
        }
    }
}

impl Request {
    fn check(&self) -> Result<(), PlanError> {
        if !is_token(&self.method) || self.method == "CONNECT" {
            return Err(PlanError::Method(self.method.clone()));
        }
        for (name, value) in &self.headers {
            if !is_token(name) || !is_field_value(value) {
                return Err(PlanError::Header(name.clone()));
            }
            if OWN_FIELDS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
                return Err(PlanError::OwnHeader(name.clone()));
            }
        }
        Ok(())
    }
}

/// Fields that the users themselves keep right.
const OWN_FIELDS: [&str; 4] = ["Content-Length", "Transfer-Encoding", "Connection", "Cookie"];

/// A token of RFC 9110 §5.6.2.
fn is_token(text: &str) -> bool {
    let is_tchar = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(is_tchar)
}

/// Visible characters, spaces and tabs (RFC 9110 §5.5): nothing that could end the field.
fn is_field_value(text: &str) -> bool {
    text.bytes().all(|b| b == b'\t' || (b >= b' ' && b != 0x7F))
}

/// A plan that cannot be run.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PlanError {
    /// No users, or too many.
    #[error("the number of users must be from 1 to {max}; got {0}", max = limits::USERS_MAX)]
    Users(usize),
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
    /// The method cannot be sent.
    #[error("\"{0}\" is not a method that can be sent; expected one like GET or PUT")]
    Method(String),
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with the standard plan after a change.
    fn refusal(change: impl FnOnce(&mut Plan)) -> Option<PlanError> {
        let mut plan = Plan::new("http://localhost/".parse().unwrap());
        change(&mut plan);
        plan.check().err()
    }

    #[test]
    fn the_standard_plan_can_be_run() {
        assert_eq!(refusal(|_| {}), None);
    }

    #[test]
    fn bounds_users_and_threads() {
        assert_eq!(refusal(|p| p.users = limits::USERS_MAX), None);
        for users in [0, limits::USERS_MAX + 1] {
            assert_eq!(refusal(|p| p.users = users), Some(PlanError::Users(users)));
        }
        let with = |threads, users| {
            refusal(|p| {
                p.threads = threads;
                p.users = users;
            })
        };
        assert_eq!(with(limits::THREADS_MAX, 100), None);
        for (got, users) in [(0, 10), (11, 10), (limits::THREADS_MAX + 1, 100)] {
            assert_eq!(with(got, users), Some(PlanError::Threads { got, users }));
        }
    }

    #[test]
    fn refuses_zero_and_more_than_the_longest() {
        let zero = |what| Some(PlanError::Zero(what));
        assert_eq!(refusal(|p| p.count = Some(0)), zero("the number of requests"));
        assert_eq!(refusal(|p| p.keys = 0), zero("the number of keys"));
        assert_eq!(refusal(|p| p.duration = Duration::ZERO), zero("the duration"));
        assert_eq!(refusal(|p| p.request_timeout = Duration::ZERO), zero("the request timeout"));
        let is_long = |refusal| matches!(refusal, Some(PlanError::TooLong { .. }));
        let over = Duration::from_nanos(1);
        assert!(is_long(refusal(|p| p.ramp_up = limits::DURATION_MAX + over)));
        assert!(is_long(refusal(|p| p.duration = limits::DURATION_MAX + over)));
        assert!(is_long(refusal(|p| p.request_timeout = limits::REQUEST_TIMEOUT_MAX + over)));
        assert!(is_long(refusal(|p| p.drain = limits::REQUEST_TIMEOUT_MAX + over)));
        assert_eq!(refusal(|p| p.drain = limits::REQUEST_TIMEOUT_MAX), None);
    }

    #[test]
    fn refuses_what_would_break_the_request() {
        let header = |name: &str, value: &str| {
            refusal(|p| p.request.headers.push((name.to_owned(), value.to_owned())))
        };
        assert_eq!(header("X-Key", "{key}\tä"), None);
        for (name, value) in [("", "a"), ("a b", "a"), ("a:", "a"), ("a", "b\r\nc"), ("a", "\0")] {
            assert_eq!(header(name, value), Some(PlanError::Header(name.to_owned())));
        }
        for name in ["content-length", "COOKIE", "Connection", "Transfer-Encoding"] {
            assert_eq!(header(name, "1"), Some(PlanError::OwnHeader(name.to_owned())));
        }
        for method in ["", "GET /", "a\n", "CONNECT"] {
            let refused = refusal(|p| p.request.method = method.to_owned());
            assert_eq!(refused, Some(PlanError::Method(method.to_owned())));
        }
    }

    #[test]
    fn bounds_one_body_and_those_of_all_users_together() {
        let with = |users, body| {
            refusal(|p| {
                p.users = users;
                p.request.body = vec![b'x'; body];
            })
        };
        let body = limits::REQUEST_BODIES_BYTES_MAX / 64;
        assert_eq!(with(64, body), None);
        assert_eq!(with(65, body), Some(PlanError::BodiesTooLarge { body, users: 65 }));
        let largest = limits::REQUEST_BODY_BYTES_MAX;
        assert_eq!(with(1, largest), None);
        assert_eq!(with(1, largest + 1), Some(PlanError::BodyTooLarge(largest + 1)));
    }
}
