//! Following the log: every synced record after a number, in order, from memory where it is recent
//! and from the segments otherwise. A segment may be used again while it is read: a frame counts
//! only by a checksum that begins with the nonce of the segment's use, and must follow the one
//! before it.

use crate::disk::BLOCK_BYTES;
use crate::document::CommitNumber;
use crate::errors::LogError;
use crate::tranlog::frame::{self, Found};
use crate::tranlog::pipeline::Shared;
use crate::tranlog::segment::{Home, SegmentHeader};
use crate::tranlog::supply::{Listed, Supply};
use bytes::Bytes;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A batch takes no further record, or frame, once it has so many bytes.
pub(super) const BATCH_BYTES: usize = 1 << 20;

/// So many bytes of a segment are read at once, or a frame if it is longer.
const WINDOW_BYTES: u64 = 256 << 10;

/// How often a segment is read again that does not hold what it must.
const TRIES: u32 = 3;

/// The record of one commit, as the log has it (`docs/format.md`, "Record").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// The commit's number.
    pub number: CommitNumber,
    /// Its bytes.
    pub record: Bytes,
}

/// See the module.
pub(crate) struct Follower {
    shared: Arc<Shared>,
    supply: Arc<Supply>,
    /// Everything up to it was given.
    position: CommitNumber,
    place: Option<Place>,
}

/// Where in a segment reading goes on.
struct Place {
    header: SegmentHeader,
    offset: u64,
    /// The record before it.
    last: CommitNumber,
}

/// What reading a segment came to.
enum Read {
    Records(Vec<LogRecord>),
    /// There is nothing where something must be.
    Hole,
}

impl Follower {
    pub(super) fn new(shared: Arc<Shared>, supply: Arc<Supply>, after: CommitNumber) -> Self {
        shared.recent.enter();
        Self { shared, supply, position: after, place: None }
    }

    /// Every commit up to it was given, or has no record.
    pub(crate) fn position(&self) -> CommitNumber {
        self.position
    }

    /// What comes next, as far as it is there.
    pub(crate) fn take(&mut self) -> Result<Vec<LogRecord>, LogError> {
        match self.take_recent() {
            Some(taken) => taken,
            None => self.take_from_disk(),
        }
    }

    /// The same, of what is in memory; `None`: the disk must be read.
    pub(crate) fn take_recent(&mut self) -> Option<Result<Vec<LogRecord>, LogError>> {
        // In this order: what has no record up to `synced` is no later than that.
        let synced = self.shared.synced();
        let last = self.shared.synced_record();
        if self.position >= last {
            self.position = self.position.max(synced);
            return Some(self.shared.ended().map_or(Ok(Vec::new()), Err));
        }
        let records = self.shared.recent.after(self.position, last)?;
        Some(Ok(self.given(records)))
    }

    fn take_from_disk(&mut self) -> Result<Vec<LogRecord>, LogError> {
        let last = self.shared.synced_record();
        for _ in 0..TRIES {
            let segment = self.supply.find(self.position).map_err(LogError::gone)?;
            match self.read(&segment, last)? {
                Read::Records(records) => return Ok(self.given(records)),
                // It may have been used again meanwhile: then it is found no more.
                Read::Hole => self.place = None,
            }
        }
        let segment = self.supply.find(self.position).map_err(LogError::gone)?;
        let path = self.supply.home().path(segment.sequence);
        let after = self.supply.lose(segment.last.unwrap_or(last));
        log::error!(
            "the tranlog's segment {} is damaged: records after commit {} cannot be read from it; \
             what follows it can, after commit {after}",
            path.display(),
            self.position
        );
        Err(LogError::gone(after))
    }

    /// What comes next; waits for it, at most so long.
    pub(crate) fn next(&mut self, timeout: Duration) -> Result<Vec<LogRecord>, LogError> {
        let deadline = Instant::now() + timeout;
        loop {
            let records = self.take()?;
            let shared = Arc::clone(&self.shared);
            if !records.is_empty() || !shared.wait_for_record(self.position, deadline) {
                return Ok(records);
            }
        }
    }

    fn given(&mut self, records: Vec<LogRecord>) -> Vec<LogRecord> {
        if let Some(record) = records.last() {
            self.position = record.number;
        }
        records
    }

    /// Reads frames of `segment` up to the record `through`, until there is something to give.
    fn read(&mut self, segment: &Listed, through: CommitNumber) -> Result<Read, LogError> {
        let home = self.supply.home();
        let mut place = match self.place.take() {
            Some(place) if place.header.sequence == segment.sequence => place,
            _ => match begin(home, segment)? {
                Some(place) => place,
                None => return Ok(Read::Hole),
            },
        };
        let through = segment.last.unwrap_or(through);
        let (mut records, mut bytes) = (Vec::new(), 0);
        while place.last < through && bytes < BATCH_BYTES {
            let frames = window(home, &place, through)?;
            if frames.is_empty() {
                return Ok(if records.is_empty() { Read::Hole } else { Read::Records(records) });
            }
            for (record, end) in frames {
                let is_within = record.number > self.position && record.number <= through;
                place.last = record.number;
                place.offset = end.unwrap_or(place.offset);
                if is_within {
                    bytes += record.record.len();
                    records.push(record);
                }
            }
        }
        self.place = Some(place);
        Ok(if records.is_empty() { Read::Hole } else { Read::Records(records) })
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.shared.recent.leave();
    }
}

/// The first frame of a segment; `None`: its file is another's now.
fn begin(home: &Home, segment: &Listed) -> Result<Option<Place>, LogError> {
    let start = read(home, segment.sequence, (0, BLOCK_BYTES as u64))?;
    let header = start.and_then(|block| SegmentHeader::decode(&block).ok());
    let is_it = |header: &SegmentHeader| {
        (header.sequence, header.repository) == (segment.sequence, home.repository)
    };
    let (offset, last) = (BLOCK_BYTES as u64, segment.previous);
    Ok(header.filter(is_it).map(|header| Place { header, offset, last }))
}

/// A record and, if it is the last of its frame, where the next frame begins.
type Placed = (LogRecord, Option<u64>);

/// The records of the frames at `place`: of those within a window, or of one longer frame. Empty:
/// there is none that follows.
fn window(home: &Home, place: &Place, through: CommitNumber) -> Result<Vec<Placed>, LogError> {
    let mut wanted = WINDOW_BYTES;
    loop {
        let content = read(home, place.header.sequence, (place.offset, wanted))?;
        let content = Bytes::from(content.unwrap_or_default());
        let placed = frames(place, &content, through);
        let is_short = placed.is_empty() && content.len() as u64 == wanted;
        let header = content.get(..frame::HEADER_BYTES).filter(|_| is_short);
        match header.and_then(frame::payload_bytes) {
            Some(payload) if (frame::HEADER_BYTES + payload) as u64 > wanted => {
                wanted = (frame::HEADER_BYTES + payload) as u64;
            }
            _ => return Ok(placed),
        }
    }
}

/// The records of the whole frames at the front of `content` that follow each other and hold
/// nothing after `through`.
fn frames(place: &Place, content: &Bytes, through: CommitNumber) -> Vec<Placed> {
    let (mut at, mut last) = (0, place.last);
    let mut placed = Vec::new();
    while at < content.len() {
        let found = frame::decode(&place.header, &content.slice(at..));
        let Found::Frame(header, records, length) = found else { break };
        let is_later = records.last().is_none_or(|(number, _)| *number > through);
        if header.previous != last || is_later {
            break;
        }
        at += length;
        let records = records.into_iter().map(|(number, record)| LogRecord { number, record });
        placed.extend(records.map(|record| (record, None)));
        if let Some((record, end)) = placed.last_mut() {
            last = record.number;
            *end = Some(place.offset + at as u64);
        }
    }
    placed
}

/// So many bytes of a segment from an offset on; `None`: there is no such file.
fn read(home: &Home, sequence: u64, range: (u64, u64)) -> Result<Option<Vec<u8>>, LogError> {
    let path = home.path(sequence);
    match home.disk.read(&path, range.0, range.1) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(LogError::Read { path, source }),
    }
}

#[cfg(test)]
mod tests;
