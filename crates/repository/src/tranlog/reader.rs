//! Reading the log back: every record after a commit, in order, and where the log really ends.

use crate::document::CommitNumber;
use crate::errors::OpenError;
use crate::tranlog::frame::{self, Found};
use crate::tranlog::segment::{self, BLOCK_BYTES, SegmentHeader};
use crate::tranlog::supply::UsedSegment;
use bytes::Bytes;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What reading found.
#[derive(Debug)]
pub(crate) struct Scan {
    /// The last commit in the log, or the one that reading began after.
    pub last: CommitNumber,
    /// All segments, in order.
    pub segments: Vec<UsedSegment>,
    /// An unfinished write at the very end: no commit in it was acknowledged.
    pub torn_tail: Option<TornTail>,
}

/// Where an unfinished write begins.
#[derive(Clone, Debug)]
pub(crate) struct TornTail {
    pub segment: PathBuf,
    pub offset: u64,
    pub why: &'static str,
}

impl TornTail {
    /// Clears its first block, so that it is not found again.
    pub(crate) fn repair(&self) -> Result<(), OpenError> {
        segment::clear_block(&self.segment, self.offset)
            .map_err(|source| io_error("clear a torn write in", &self.segment, source))
    }
}

fn io_error(action: &'static str, path: &Path, source: std::io::Error) -> OpenError {
    OpenError::Io { action, path: path.to_owned(), source }
}

/// Reads the segments in `folder` and gives every record after `after` to `visit`, in order.
pub(crate) fn scan(
    folder: &Path,
    repository: [u8; 16],
    after: CommitNumber,
    visit: &mut dyn FnMut(CommitNumber, Bytes) -> Result<(), String>,
) -> Result<Scan, OpenError> {
    let sequences =
        segment::list(folder).map_err(|source| io_error("read the folder", folder, source))?;
    let mut walk = Walk {
        after,
        next: None,
        scan: Scan { last: after, segments: Vec::new(), torn_tail: None },
    };
    for (i, &sequence) in sequences.iter().enumerate() {
        let path = segment::path(folder, sequence);
        match sequences.get(i + 1).and_then(|&next| first_commit(&segment::path(folder, next))) {
            Some(first) if first <= after.next() => walk.skip(&path, sequence, first)?,
            _ => walk.segment(&path, sequence, repository, visit)?,
        }
    }
    Ok(walk.scan)
}

/// The commit that the first frame of a segment begins with. `None` where that cannot be read for
/// certain: then the segment before it is read too, and what is wrong is found there.
fn first_commit(path: &Path) -> Option<CommitNumber> {
    let mut start = vec![0; BLOCK_BYTES + frame::HEADER_BYTES];
    let mut file = File::open(path).ok()?;
    file.read_exact(&mut start).ok()?;
    let header = SegmentHeader::decode(&start[..BLOCK_BYTES]).ok()?;
    let rest = frame::payload_bytes(&start[BLOCK_BYTES..])?;
    file.take(rest as u64).read_to_end(&mut start).ok()?;
    match frame::decode(&header, &Bytes::from(start).slice(BLOCK_BYTES..)) {
        Found::Frame(frame, ..) => Some(frame.first),
        _ => None,
    }
}

struct Walk {
    after: CommitNumber,
    /// The number that the next frame must begin with; unknown before the first frame.
    next: Option<CommitNumber>,
    scan: Scan,
}

impl Walk {
    /// Notes a segment that holds nothing to visit: the one after it begins with `next`.
    fn skip(&mut self, path: &Path, sequence: u64, next: CommitNumber) -> Result<(), OpenError> {
        let bytes = std::fs::metadata(path).map_err(|source| io_error("read", path, source))?.len();
        let last = CommitNumber(next.0.saturating_sub(1));
        self.scan.segments.push(UsedSegment { sequence, last, bytes });
        self.next = Some(next);
        Ok(())
    }

    fn segment(
        &mut self,
        path: &Path,
        sequence: u64,
        repository: [u8; 16],
        visit: &mut dyn FnMut(CommitNumber, Bytes) -> Result<(), String>,
    ) -> Result<(), OpenError> {
        let damaged = |offset: usize, why: String| OpenError::Damaged {
            segment: path.to_owned(),
            offset: offset as u64,
            why,
        };
        let content =
            Bytes::from(std::fs::read(path).map_err(|source| io_error("read", path, source))?);
        let header = SegmentHeader::decode(&content).map_err(|why| damaged(0, why))?;
        if (header.sequence, header.repository) != (sequence, repository) {
            return Err(damaged(0, "it belongs to another place or another repository".to_owned()));
        }
        let mut at = BLOCK_BYTES;
        loop {
            match frame::decode(&header, &content.slice(at.min(content.len())..)) {
                Found::Frame(frame, records, length) => {
                    self.frame(frame.first, &records, visit).map_err(|why| damaged(at, why))?;
                    at += length;
                }
                Found::Nothing => {
                    self.check_end(&header, &content, at)
                        .map_err(|why| damaged(at, format!("there is nothing here, but {why}")))?;
                    break;
                }
                Found::Broken(why) => {
                    self.check_end(&header, &content, at)
                        .map_err(|later| damaged(at, format!("{why}, and {later}")))?;
                    let offset = at as u64;
                    self.scan.torn_tail = Some(TornTail { segment: path.to_owned(), offset, why });
                    break;
                }
            }
        }
        let last = self.next.map_or(self.after, |next| CommitNumber(next.0 - 1));
        self.scan.segments.push(UsedSegment { sequence, last, bytes: content.len() as u64 });
        Ok(())
    }

    fn frame(
        &mut self,
        first: CommitNumber,
        records: &[Bytes],
        visit: &mut dyn FnMut(CommitNumber, Bytes) -> Result<(), String>,
    ) -> Result<(), String> {
        match self.next {
            Some(next) if next != first => {
                return Err(format!("expected commit {next} to follow, found {first}"));
            }
            None if first > self.after.next() => {
                return Err(format!(
                    "the log begins with commit {first}, but the engine holds only {}",
                    self.after
                ));
            }
            _ => {}
        }
        // A torn write can only be the last one: whatever follows it proves that it was repaired.
        self.scan.torn_tail = None;
        let mut number = first;
        for record in records {
            if number > self.after {
                visit(number, record.clone())?;
                self.scan.last = number;
            }
            number = number.next();
        }
        self.next = Some(number);
        Ok(())
    }

    /// The log may end at `at` only if no whole frame of this segment follows: the writer starts a
    /// frame when the one before is on disk, so a frame that follows proves that what stood here
    /// was durable.
    fn check_end(&self, header: &SegmentHeader, content: &Bytes, at: usize) -> Result<(), String> {
        for later in (at + BLOCK_BYTES..content.len()).step_by(BLOCK_BYTES) {
            if let Found::Frame(frame, ..) = frame::decode(header, &content.slice(later..)) {
                return Err(format!(
                    "commit {} at offset {later} was written after it was durable",
                    frame.first
                ));
            }
        }
        Ok(())
    }
}
