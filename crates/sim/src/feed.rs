//! Somebody who follows the log of the simulated repository: what was given must be synced, in
//! order, and still there, byte for byte, after every crash.

use crate::trace::{Finding, expect};
use repository::{CommitNumber, LogError, LogReader, Repository};
use std::collections::BTreeMap;

/// See the module.
#[derive(Default)]
pub(crate) struct Feed {
    reader: Option<LogReader>,
    /// Every record that was given.
    given: BTreeMap<u64, Vec<u8>>,
}

impl Feed {
    /// The process dies.
    pub(crate) fn die(&mut self) {
        self.reader = None;
    }

    /// Reads on. `synced` is what a power cut would leave; calls of the disk may fail only if there
    /// `is_cause`.
    pub(crate) fn read(
        &mut self,
        repository: &Repository,
        synced: CommitNumber,
        is_cause: impl Fn() -> bool,
    ) -> Result<String, Finding> {
        let last = self.given.last_key_value().map_or(0, |(number, _)| *number);
        let reader = self.reader.get_or_insert_with(|| repository.log(CommitNumber(last)));
        let mut last = reader.position().0;
        match reader.take() {
            Ok(records) => {
                for record in records {
                    let number = record.number.0;
                    let is_next = number > last && number <= synced.0;
                    expect(is_next, || format!("{number} was given after {last}, to {synced}"))?;
                    let commit = record.decode().map_err(Finding)?;
                    expect(commit.number == record.number, || "another number".to_owned())?;
                    self.given.insert(number, record.record.to_vec());
                    last = number;
                }
                Ok(format!("followed up to {last}"))
            }
            Err(LogError::Gone { after }) => {
                expect(after.0 > last, || format!("gone up to {after}, at {last}"))?;
                self.reader = Some(repository.log(after));
                Ok(format!("fell behind, to {after}"))
            }
            Err(error) => {
                self.reader = None;
                let is_right = is_cause() || !matches!(error, LogError::Read { .. });
                expect(is_right, || format!("cannot be followed: {error}"))?;
                Ok(format!("cannot be followed: {error}"))
            }
        }
    }

    /// Compares what is there after an opening with what was given before.
    pub(crate) fn compare(
        &mut self,
        repository: &Repository,
        is_cause: impl Fn() -> bool,
    ) -> Result<(), Finding> {
        let after = repository.retained().after;
        let mut reader = repository.log(after);
        let mut found = BTreeMap::new();
        loop {
            match reader.take() {
                Ok(records) if records.is_empty() => break,
                Ok(records) => {
                    found.extend(records.into_iter().map(|r| (r.number.0, r.record.to_vec())))
                }
                Err(_) if is_cause() => return Ok(()),
                Err(error) => return Err(Finding(format!("after {after}: {error}"))),
            }
        }
        for (number, record) in self.given.range(after.0 + 1..) {
            expect(found.get(number) == Some(record), || {
                format!("{number} was given, and is lost")
            })?;
        }
        Ok(())
    }
}
