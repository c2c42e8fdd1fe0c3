//! What is known of one failed request. No cookie, no other header field, no value of a query and
//! no body is in it: only what the application itself put into its message.

use super::CodeFrame;
use crate::limits::PATH_BYTES_MAX;
use crate::thrown::{Thrown, cut, one_line};
use repository::CommitNumber;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A failed request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Names it to clients and operators.
    pub id: String,
    /// When it failed, in milliseconds since 1970.
    pub time_ms: u64,
    /// "GET", ...
    pub method: String,
    /// Percent-encoded, without the query.
    pub path: String,
    /// What of the application ran: `GET /notes/:id`, `task mail`, `service notes.onPut`.
    pub handler: String,
    /// HTTP status.
    pub status: u16,
    /// The kind of problem: the last part of its `type`.
    pub problem: &'static str,
    /// One line.
    pub message: String,
    /// `file:line:column` in the application, if known.
    pub place: Option<String>,
    /// The application's part of the stack, the innermost call first.
    pub stack: Vec<String>,
    /// What the error says that it was caused by, the nearest first.
    pub causes: Vec<String>,
    /// The application's text around the place.
    pub code: Option<CodeFrame>,
    /// The view of the run that failed: the newest commit that it could see.
    pub view: CommitNumber,
    /// Runs before it that lost to a conflict.
    pub conflicts: u32,
    /// CPU time of all its runs.
    pub cpu: Duration,
}

impl Report {
    /// What `thrown` tells.
    pub(crate) fn of(thrown: Thrown) -> Self {
        let Thrown { place, message, stack, causes, .. } = thrown;
        Self { message, place, stack, causes, ..Self::default() }
    }

    /// Gives it an id, and the time of now.
    pub(crate) fn name(&mut self) {
        self.id = new_id();
        self.time_ms = now_ms();
        self.path = cut(one_line(&self.path), PATH_BYTES_MAX);
        self.method = cut(one_line(&self.method), 32);
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// 60 bits, in letters and digits that nobody mistakes for each other (Crockford's base 32). They
/// come from the operating system; an id needs not be secret, so if there are none it is the time.
fn new_id() -> String {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let bits = getrandom::u64().unwrap_or_else(|_| now_ms());
    (0..12).map(|place| char::from(DIGITS[((bits >> (5 * place)) & 31) as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_short_and_differ() {
        let ids: std::collections::BTreeSet<_> = (0..1_000).map(|_| new_id()).collect();
        assert_eq!(ids.len(), 1_000);
        assert!(ids.iter().all(|id| id.len() == 12 && !id.contains(['i', 'l', 'o', 'u'])));
    }

    #[test]
    fn what_the_client_chose_is_bounded() {
        let path = format!("/{}", "a".repeat(1 << 20));
        let mut report = Report { path, method: "M".repeat(1_000), ..Report::default() };
        report.name();
        assert!(report.path.len() <= PATH_BYTES_MAX && report.method.len() <= 32);
    }
}
