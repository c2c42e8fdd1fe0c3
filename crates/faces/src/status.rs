//! The one table of statuses of outcomes. Those of problems are in `problem`.

use crate::operation::Outcome;
use hyper::StatusCode;

/// The status of an outcome.
pub(crate) fn of(outcome: &Outcome) -> StatusCode {
    match outcome {
        Outcome::Found(_) | Outcome::FoundBlob(..) | Outcome::Listed(_) | Outcome::Page(_) => {
            StatusCode::OK
        }
        Outcome::NotModified { .. } => StatusCode::NOT_MODIFIED,
        Outcome::Absent => StatusCode::NOT_FOUND,
        Outcome::Written(written) if written.is_new => StatusCode::CREATED,
        Outcome::Written(written) if written.shown.is_some() => StatusCode::OK,
        Outcome::Written(_) | Outcome::Deleted => StatusCode::NO_CONTENT,
    }
}
