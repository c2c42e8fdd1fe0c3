//! Operations that failed, by class.

use std::fmt;

/// Why an operation did not count as a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// No connection could be made.
    Connect,
    /// A connection was made, and TLS on it failed: a certificate is not trusted, or what came is
    /// not TLS.
    Tls,
    /// The reply was not complete in the time allowed.
    Timeout,
    /// The connection was closed or reset before the reply was complete.
    Closed,
    /// The reply is not what HTTP allows, or is beyond the lab's bounds.
    Malformed,
    /// A complete reply with a status from 400 to 499.
    Status4xx,
    /// A complete reply with a status from 500 to 599.
    Status5xx,
    /// A reply in which something is not as the plan says, or from which the next request cannot be
    /// made; a cache's value that does not belong to its key.
    Check,
    /// A cache's error line: `ERROR`, `CLIENT_ERROR`, `SERVER_ERROR`.
    Refused,
}

impl ErrorClass {
    /// Every class, in the order reports have.
    pub const ALL: [Self; 9] = [
        Self::Connect,
        Self::Tls,
        Self::Timeout,
        Self::Closed,
        Self::Malformed,
        Self::Status4xx,
        Self::Status5xx,
        Self::Check,
        Self::Refused,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Closed => "closed",
            Self::Malformed => "malformed",
            Self::Status4xx => "status_4xx",
            Self::Status5xx => "status_5xx",
            Self::Check => "check",
            Self::Refused => "refused",
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

    pub(crate) fn add(&mut self, class: ErrorClass, reason: impl fmt::Display) {
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
