//! The newest records, in memory while somebody reads the log, so that who keeps up reads no disk.
//! The writer fills it; what in it is synced, and so may be seen, its readers know from `pipeline`.

use crate::document::CommitNumber;
use crate::limits::RECENT_LOG_BYTES;
use crate::tranlog::follow::{BATCH_BYTES, LogRecord};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a record takes at least, with what it is kept in.
const RECORD_BYTES_MIN: usize = 600;

/// See the module.
#[derive(Default)]
pub(super) struct Recent {
    readers: AtomicUsize,
    records: Mutex<Records>,
}

#[derive(Default)]
struct Records {
    /// The record before the first of these; of no meaning while there are none.
    after: CommitNumber,
    /// Without a gap.
    records: VecDeque<LogRecord>,
    bytes: usize,
}

impl Recent {
    /// Somebody reads.
    pub(super) fn enter(&self) {
        self.readers.fetch_add(1, Ordering::Relaxed);
    }

    /// Somebody reads no more.
    pub(super) fn leave(&self) {
        if self.readers.fetch_sub(1, Ordering::Relaxed) == 1 {
            *self.records.lock() = Records::default();
        }
    }

    /// Whether anybody reads.
    pub(super) fn is_wanted(&self) -> bool {
        self.readers.load(Ordering::Relaxed) > 0
    }

    /// Takes records that were just written; `previous` is the one before them in the log.
    pub(super) fn push(
        &self,
        previous: CommitNumber,
        written: impl Iterator<Item = (CommitNumber, Vec<u8>)>,
    ) {
        let mut recent = self.records.lock();
        let is_next = recent.records.back().is_some_and(|last| last.number == previous);
        if !is_next {
            // Nobody was reading for a while.
            *recent = Records { after: previous, ..Records::default() };
        }
        for (number, record) in written {
            recent.bytes += footprint(record.len());
            recent.records.push_back(LogRecord { number, record: Bytes::from(record) });
        }
        while recent.bytes > RECENT_LOG_BYTES {
            let Some(oldest) = recent.records.pop_front() else { break };
            recent.bytes -= footprint(oldest.record.len());
            recent.after = oldest.number;
        }
    }

    /// Records after `position` up to `synced`, as many as one batch has; `None` where they are not
    /// all here.
    pub(super) fn after(
        &self,
        position: CommitNumber,
        synced: CommitNumber,
    ) -> Option<Vec<LogRecord>> {
        let recent = self.records.lock();
        if recent.records.is_empty() || position < recent.after {
            return None;
        }
        let first = recent.records.partition_point(|record| record.number <= position);
        let mut bytes = 0;
        let is_within = |record: &&LogRecord| {
            let fits = bytes < BATCH_BYTES;
            bytes += footprint(record.record.len());
            fits && record.number <= synced
        };
        let records: Vec<_> =
            recent.records.range(first..).take_while(is_within).cloned().collect();
        (!records.is_empty()).then_some(records)
    }
}

fn footprint(record: usize) -> usize {
    record.max(RECORD_BYTES_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(recent: &Recent, previous: u64, numbers: &[u64], bytes: usize) {
        let records = numbers.iter().map(|number| (CommitNumber(*number), vec![0; bytes]));
        recent.push(CommitNumber(previous), records);
    }

    fn after(recent: &Recent, position: u64, synced: u64) -> Option<Vec<u64>> {
        let records = recent.after(CommitNumber(position), CommitNumber(synced))?;
        Some(records.into_iter().map(|record| record.number.0).collect())
    }

    #[test]
    fn what_is_there_is_given_and_no_more_than_is_synced() {
        let recent = Recent::default();
        assert_eq!(after(&recent, 0, 9), None);
        push(&recent, 2, &[4, 5], 9);
        push(&recent, 5, &[9], 9);
        assert_eq!(after(&recent, 2, 9), Some(vec![4, 5, 9]));
        assert_eq!(after(&recent, 3, 8), Some(vec![4, 5]), "a number without a record");
        assert_eq!(after(&recent, 5, 9), Some(vec![9]));
        assert_eq!(after(&recent, 1, 9), None, "there may be another after 1");
        push(&recent, 12, &[13], 9);
        assert_eq!((after(&recent, 9, 13), after(&recent, 12, 13)), (None, Some(vec![13])));
    }

    #[test]
    fn memory_is_bounded_and_given_back() {
        let recent = Recent::default();
        recent.enter();
        for number in 1..=100 {
            push(&recent, number - 1, &[number], RECENT_LOG_BYTES / 10);
            assert!(recent.records.lock().bytes <= RECENT_LOG_BYTES);
        }
        assert_eq!(after(&recent, 89, 100), None);
        assert_eq!(after(&recent, 90, 100).unwrap()[0], 91);
        push(&recent, 100, &[101], RECENT_LOG_BYTES + 1);
        assert_eq!(after(&recent, 100, 101), None, "too large for it");
        push(&recent, 101, &[102], 1);
        recent.leave();
        assert_eq!((after(&recent, 101, 102), recent.is_wanted()), (None, false));
    }
}
