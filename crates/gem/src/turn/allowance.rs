//! How many documents one run may read and write. What is more ends the request, whatever the
//! handler makes of the exception.

use super::{Turn, TurnError};
use crate::limits::{
    BYTES_READ_DEFAULT, BYTES_WRITTEN_DEFAULT, DOCUMENTS_READ_DEFAULT, DOCUMENTS_WRITTEN_DEFAULT,
};
use repository::{ReadError, StageError, Usage};

/// At most so much, in each of its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowance(pub(crate) Usage);

impl Default for Allowance {
    fn default() -> Self {
        Self(Usage {
            documents_read: DOCUMENTS_READ_DEFAULT,
            bytes_read: BYTES_READ_DEFAULT,
            documents_written: DOCUMENTS_WRITTEN_DEFAULT,
            bytes_written: BYTES_WRITTEN_DEFAULT,
        })
    }
}

impl Allowance {
    /// What of `usage` is more than it allows.
    fn exceeded(&self, usage: &Usage) -> Option<String> {
        let rows = [
            ("documents_read", usage.documents_read, self.0.documents_read),
            ("bytes_read", usage.bytes_read, self.0.bytes_read),
            ("documents_written", usage.documents_written, self.0.documents_written),
            ("bytes_written", usage.bytes_written, self.0.bytes_written),
        ];
        let (name, used, allowed) = rows.into_iter().find(|(_, used, allowed)| used > allowed)?;
        let (unit, what) = name.split_once('_')?;
        Some(format!(
            "the request has {what} {used} {unit}; it may have {what} at most {allowed} ({name} \
             under [limits] in sarsen.toml)"
        ))
    }
}

impl Turn {
    /// With this instead of the default.
    pub(crate) fn within(self, allowance: Allowance) -> Self {
        Self { allowance, ..self }
    }

    /// The result of a call, unless the run has used more than it may.
    pub(crate) fn checked<T>(&mut self, result: Result<T, TurnError>) -> Result<T, TurnError> {
        let own = match &result {
            Ok(_) => None,
            Err(error) => bound_of_repository(error),
        };
        let usage = self.transaction.as_ref().map(repository::Transaction::usage);
        let exceeded = usage.and_then(|usage| self.allowance.exceeded(&usage)).or(own);
        match exceeded {
            None => result,
            Some(why) => {
                self.exceeded = Some(why.clone());
                Err(TurnError::Exceeded(why))
            }
        }
    }
}

/// What the repository says where a bound of its own came first.
fn bound_of_repository(error: &TurnError) -> Option<String> {
    match error {
        TurnError::Read(ReadError::TooManyReads | ReadError::TooManyBytes)
        | TurnError::Stage(
            StageError::TooManyWrites | StageError::TransactionTooLarge | StageError::TooManyRows,
        )
        | TurnError::Query(query::QueryError::Read(
            ReadError::TooManyReads | ReadError::TooManyBytes,
        )) => Some(error.to_string()),
        TurnError::Stage(StageError::Read(ReadError::TooManyReads | ReadError::TooManyBytes)) => {
            Some(error.to_string())
        }
        _ => None,
    }
}
