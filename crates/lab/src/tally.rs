//! What became of the requests of one phase: latencies, statuses, errors by class, bytes. It
//! judges nothing and prints nothing but the line that sums up errors.

use crate::http1::{Failure, Reply};
use crate::latency::Latency;
use std::fmt;
use std::time::Duration;

/// Why a request did not count as a success. 2xx and 3xx are successes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// No connection could be made.
    Connect,
    /// The reply was not complete in the time allowed.
    Timeout,
    /// The connection was closed or reset before the reply was complete.
    Closed,
    /// The reply is not what HTTP/1.1 allows, or is beyond the lab's bounds.
    Malformed,
    /// A complete reply with a status from 400 to 499.
    Status4xx,
    /// A complete reply with a status from 500 to 599.
    Status5xx,
}

impl ErrorClass {
    /// Every class, in the order reports have.
    pub const ALL: [Self; 6] = [
        Self::Connect,
        Self::Timeout,
        Self::Closed,
        Self::Malformed,
        Self::Status4xx,
        Self::Status5xx,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Closed => "closed",
            Self::Malformed => "malformed",
            Self::Status4xx => "status_4xx",
            Self::Status5xx => "status_5xx",
        }
    }

    fn of(failure: &Failure) -> Self {
        match failure {
            Failure::Connect(_) => Self::Connect,
            Failure::Timeout => Self::Timeout,
            Failure::Closed(_) | Failure::Broken(_) => Self::Closed,
            Failure::Malformed(_) => Self::Malformed,
        }
    }
}

/// Errors by class, with what the first of each class was.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    counts: [u64; ErrorClass::ALL.len()],
    first: [Option<String>; ErrorClass::ALL.len()],
}

impl Errors {
    /// How many there were of a class.
    pub fn count(&self, class: ErrorClass) -> u64 {
        self.counts[class as usize]
    }

    /// What the first of a class was.
    pub fn first(&self, class: ErrorClass) -> Option<&str> {
        self.first[class as usize].as_deref()
    }

    /// How many there were.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn add(&mut self, class: ErrorClass, reason: impl fmt::Display) {
        self.counts[class as usize] += 1;
        self.first[class as usize].get_or_insert_with(|| reason.to_string());
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for class in ErrorClass::ALL.map(|class| class as usize) {
            self.counts[class] += other.counts[class];
            if self.first[class].is_none() {
                self.first[class].clone_from(&other.first[class]);
            }
        }
    }
}

/// One line: the classes that occurred, each with its first error.
impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for class in ErrorClass::ALL {
            let Some(first) = self.first(class) else { continue };
            write!(f, "{separator}{} {} (first: {first})", self.count(class), class.name())?;
            separator = ", ";
        }
        Ok(())
    }
}

/// Replies by exact status.
#[derive(Clone, Debug)]
pub struct Statuses {
    /// From status [`Statuses::LOWEST`] on.
    counts: Box<[u64; 400]>,
}

impl Statuses {
    const LOWEST: u16 = 200;

    fn new() -> Self {
        Self { counts: Box::new([0; 400]) }
    }

    /// How many replies had a status.
    pub fn count(&self, status: u16) -> u64 {
        let place = usize::from(status).checked_sub(usize::from(Self::LOWEST));
        place.and_then(|place| self.counts.get(place)).copied().unwrap_or(0)
    }

    /// The statuses that occurred and how often, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> {
        let counted = (Self::LOWEST..).zip(self.counts.iter().copied());
        counted.filter(|(_, count)| *count > 0)
    }

    fn add(&mut self, status: u16) {
        self.counts[usize::from(status - Self::LOWEST)] += 1;
    }
}

/// What became of the requests of one phase.
#[derive(Clone, Debug)]
pub struct Tally {
    latency: Latency,
    errors: Errors,
    statuses: Statuses,
    bytes_received: u64,
}

impl Tally {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self {
            latency: Latency::new(),
            errors: Errors::default(),
            statuses: Statuses::new(),
            bytes_received: 0,
        }
    }

    /// Adds a request and says whether it was a success. `service` is the time from when it was
    /// sent to the last byte of its reply.
    pub(crate) fn record(&mut self, result: &Result<Reply, Failure>, service: Duration) -> bool {
        let status = match result {
            Ok(reply) => reply.status,
            Err(Failure::Timeout) => {
                let reason = format_args!("{} after {service:.1?}", Failure::Timeout);
                self.errors.add(ErrorClass::Timeout, reason);
                return false;
            }
            Err(failure) => {
                self.errors.add(ErrorClass::of(failure), failure);
                return false;
            }
        };
        self.statuses.add(status);
        match status {
            ..400 => self.latency.record(service),
            400..500 => self.errors.add(ErrorClass::Status4xx, format_args!("status {status}")),
            500.. => self.errors.add(ErrorClass::Status5xx, format_args!("status {status}")),
        }
        status < 400
    }

    /// Adds bytes that came from the server, whether or not they made a reply.
    pub(crate) fn receive(&mut self, bytes: u64) {
        self.bytes_received += bytes;
    }

    /// Adds all of another's.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        self.errors.merge(&other.errors);
        for (count, more) in self.statuses.counts.iter_mut().zip(other.statuses.counts.iter()) {
            *count += more;
        }
        self.bytes_received += other.bytes_received;
    }

    /// How many requests there were.
    pub fn requests(&self) -> u64 {
        self.successes() + self.errors.total()
    }

    /// How many of them were answered with a complete 2xx or 3xx reply.
    pub fn successes(&self) -> u64 {
        self.latency.count()
    }

    /// The service times of the successes.
    pub fn latency(&self) -> &Latency {
        &self.latency
    }

    /// The others, by class.
    pub fn errors(&self) -> &Errors {
        &self.errors
    }

    /// The complete replies by status.
    pub fn statuses(&self) -> &Statuses {
        &self.statuses
    }

    /// Bytes received, heads included.
    pub fn bytes_received(&self) -> u64 {
        self.bytes_received
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(statuses: &[u16]) -> Tally {
        let mut tally = Tally::new();
        for status in statuses {
            let reply = Reply { status: *status, keep_alive: true };
            let success = tally.record(&Ok(reply), Duration::from_millis(1));
            assert_eq!(success, *status < 400);
        }
        tally
    }

    #[test]
    fn every_status_has_its_place() {
        let tally = tally(&[200, 399, 400, 404, 404, 499, 500, 599]);
        assert_eq!((tally.requests(), tally.successes()), (8, 2));
        assert_eq!(tally.errors().count(ErrorClass::Status4xx), 4);
        assert_eq!(tally.errors().count(ErrorClass::Status5xx), 2);
        assert_eq!(tally.errors().first(ErrorClass::Status4xx), Some("status 400"));
        let statuses: Vec<_> = tally.statuses().iter().collect();
        let all = [(200, 1), (399, 1), (400, 1), (404, 2), (499, 1), (500, 1), (599, 1)];
        assert_eq!(statuses, all);
        assert_eq!([0, 199, 600, u16::MAX].map(|s| tally.statuses().count(s)), [0; 4]);
    }

    #[test]
    fn merging_adds_everything_and_keeps_the_first_reason() {
        let mut all = tally(&[200, 503]);
        let mut other = tally(&[200, 404, 500]);
        other.record(&Err(Failure::Timeout), Duration::from_secs(10));
        other.receive(7);
        all.merge(&other);
        assert_eq!((all.requests(), all.successes(), all.bytes_received()), (6, 2, 7));
        assert_eq!(all.statuses().count(200), 2);
        assert_eq!(
            all.errors().to_string(),
            "1 timeout (first: no complete reply after 10.0s), \
             1 status_4xx (first: status 404), 2 status_5xx (first: status 503)"
        );
    }
}
