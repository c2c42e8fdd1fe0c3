//! The writer: puts records into frames, frames into segments, and decides when to sync. It does
//! one thing a step; when to take a step is decided in `pipeline`.

use crate::disk::BLOCK_BYTES;
use crate::document::CommitNumber;
use crate::durability::Durability;
use crate::space::is_full;
use crate::tranlog::frame::{self, FrameHeader};
use crate::tranlog::pipeline::{Pushed, Shared};
use crate::tranlog::segment::Segment;
use crate::tranlog::supply::{Supply, UsedSegment};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// How a step went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Did,
    /// There was nothing to do.
    Idle,
    /// There is no room for the segment that is needed next. Nothing was written, everything before
    /// is synced, and the step may be taken again.
    NoRoom,
}

/// The only one that writes to segments.
pub(super) struct Writer {
    shared: Arc<Shared>,
    supply: Arc<Supply>,
    segment: Segment,
    /// It is full, and the supply has been told so.
    is_left: bool,
    /// Where the next frame goes.
    offset: u64,
    /// The records taken last; those before `next` are written.
    batch: Vec<Pushed>,
    next: usize,
    /// The newest commit that had been handed over when they were taken.
    through: CommitNumber,
    /// The last record written.
    last_record: CommitNumber,
    /// The last record that is synced.
    last_synced: CommitNumber,
    /// Reused for every frame; a block longer than needed, to start at an aligned address.
    buffer: Vec<u8>,
}

impl Writer {
    /// Begins `segment`, after `last_record`, which is synced.
    pub(super) fn new(
        shared: Arc<Shared>,
        supply: Arc<Supply>,
        segment: Segment,
        last_record: CommitNumber,
    ) -> Self {
        let through = shared.queue.lock().through;
        Self {
            shared,
            supply,
            segment,
            is_left: false,
            offset: BLOCK_BYTES as u64,
            batch: Vec::new(),
            next: 0,
            through,
            last_record,
            last_synced: last_record,
            buffer: Vec::new(),
        }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Whether everything written is synced.
    pub(super) fn is_synced(&self) -> bool {
        self.last_synced == self.last_record
    }

    /// Whether records are left of those taken together.
    pub(super) fn is_within_batch(&self) -> bool {
        self.next < self.batch.len()
    }

    /// Writes the next frame, or syncs what is not synced if `sync_is_due` or somebody waits for
    /// it. An error leaves unknown what is on disk.
    pub(super) fn step(&mut self, sync_is_due: bool) -> io::Result<Step> {
        let sync_to = self.take();
        let sync = sync_is_due || sync_to > self.shared.synced();
        let mut step = Step::Did;
        if self.is_within_batch() {
            step = self.write_frame(sync)?;
        } else if sync && !self.is_synced() {
            self.sync()?;
        } else if self.through == self.shared.durable() {
            return Ok(Step::Idle);
        }
        self.supply.space().set_stalled(step == Step::NoRoom);
        // What has no record and lies before the next that has one needs no more than that.
        let durable = match self.batch.get(self.next) {
            Some(next) => CommitNumber(next.number.0 - 1),
            None => self.through,
        };
        self.shared.publish(durable, (self.last_synced, self.is_synced()));
        Ok(step)
    }

    /// Takes what is queued, once all that was taken before is written; gives the commit that
    /// somebody wants to be synced.
    fn take(&mut self) -> CommitNumber {
        let mut queue = self.shared.queue.lock();
        if self.next == self.batch.len() {
            self.batch.clear();
            self.next = 0;
            std::mem::swap(&mut self.batch, &mut queue.records);
            self.through = queue.through;
        }
        queue.sync_to
    }

    fn write_frame(&mut self, sync: bool) -> io::Result<Step> {
        let count = frame_length(&self.batch[self.next..], self.supply.frame_bytes_target());
        let records = self.next..self.next + count;
        let bytes: usize =
            self.batch[records.clone()].iter().map(|pushed| pushed.record.len()).sum();
        let length =
            frame::padded(frame::HEADER_BYTES + count * frame::RECORD_HEADER_BYTES + bytes);
        if self.offset + length as u64 > self.segment.bytes && !self.roll(length)? {
            return Ok(Step::NoRoom);
        }
        let buffer = &mut self.buffer;
        buffer.clear();
        // A block at first, to be able to start at an aligned address further on.
        buffer.reserve(length + BLOCK_BYTES);
        let start = buffer.as_ptr().align_offset(BLOCK_BYTES);
        buffer.resize(start, 0);
        let header = FrameHeader {
            previous: self.last_record,
            count: count as u32,
            synced: self.last_synced,
        };
        let written = &self.batch[records];
        let numbered = written.iter().map(|pushed| (pushed.number, pushed.record.as_slice()));
        frame::encode(&self.segment.header, header, numbered, buffer);
        debug_assert_eq!(buffer.len(), start + length);
        let sync = sync || written.iter().any(|pushed| pushed.durability == Durability::Synced);
        let last = written[count - 1].number;
        self.put(start, sync)?;
        self.share(self.next..self.next + count);
        self.last_record = last;
        if sync {
            self.last_synced = last;
        }
        self.next += count;
        self.offset += length as u64;
        if self.offset > self.segment.bytes / 2 {
            self.supply.want();
        }
        self.shared.count(length, bytes);
        Ok(Step::Did)
    }

    /// Leaves what was written to those who follow the log, if there are any.
    fn share(&mut self, written: Range<usize>) {
        if self.shared.recent.is_wanted() {
            let written = self.batch[written].iter_mut();
            let records = written.map(|pushed| (pushed.number, std::mem::take(&mut pushed.record)));
            self.shared.recent.push(self.last_record, records);
        }
    }

    /// Writes the buffer from `start` on. A synchronous write makes itself durable, and not what
    /// was written before: while that is not synced, everything is synced together.
    fn put(&self, start: usize, sync: bool) -> io::Result<()> {
        let frame = &self.buffer[start..];
        if sync && self.is_synced() {
            return self.timed(|| self.segment.file.write_synced(frame, self.offset));
        }
        self.segment.file.write(frame, self.offset)?;
        if sync { self.timed(|| self.segment.file.sync()) } else { Ok(()) }
    }

    /// Nothing depends on what is measured.
    fn timed(&self, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let begun = Instant::now();
        sync()?;
        self.shared.syncs.record_alone(begun.elapsed());
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.timed(|| self.segment.file.sync())?;
        self.last_synced = self.last_record;
        Ok(())
    }

    /// Goes on in the next segment. Nothing unsynced is left behind in this one, so that a frame
    /// of the next one proves that all of this one was synced. `false`: there is no room for one,
    /// and it may be tried again.
    fn roll(&mut self, length: usize) -> io::Result<bool> {
        if !self.is_synced() {
            self.sync()?;
        }
        if !self.is_left {
            let (sequence, bytes) = (self.segment.header.sequence, self.segment.bytes);
            self.supply.leave(UsedSegment { sequence, last: self.last_record, bytes });
            self.is_left = true;
        }
        self.segment = match self.supply.next() {
            Ok(segment) => segment,
            Err(error) if is_full(&error) => return Ok(false),
            Err(error) => return Err(error),
        };
        self.is_left = false;
        self.offset = BLOCK_BYTES as u64;
        debug_assert!(self.offset + length as u64 <= self.segment.bytes);
        Ok(true)
    }
}

/// How many of `records`, at least one, go into the next frame.
fn frame_length(records: &[Pushed], bytes_target: usize) -> usize {
    let mut bytes = 0;
    records
        .iter()
        .take_while(|pushed| {
            let fits = bytes < bytes_target;
            bytes += frame::RECORD_HEADER_BYTES + pushed.record.len();
            fits
        })
        .count()
}
