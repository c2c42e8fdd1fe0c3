//! Reading the log back: every record after a commit, in order, and where the log really ends.
//! `docs/transactions.md`, "The tranlog", has the argument.

use crate::disk::BLOCK_BYTES;
use crate::document::CommitNumber;
use crate::errors::OpenError;
use crate::tranlog::frame::{self, Found, FrameHeader, Numbered};
use crate::tranlog::segment::{Home, SegmentHeader};
use crate::tranlog::supply::{Used, UsedSegment};
use bytes::Bytes;
use std::path::{Path, PathBuf};

/// Takes each record that is read; `Err` says why it cannot be.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(CommitNumber, Bytes) -> Result<(), String>;

/// What reading found.
#[derive(Debug)]
pub(crate) struct Scan {
    /// The last commit in the log, or the one that reading began after if that is later.
    pub last: CommitNumber,
    /// The last record in the log, as far as is known: what the next frame follows.
    pub last_record: CommitNumber,
    /// How many records were visited.
    pub visited: u64,
    /// All segments, in order.
    pub used: Used,
    /// What was dropped at the very end: no commit in it was acknowledged as synced.
    pub torn_tail: Option<TornTail>,
    /// Frames at the end of which nothing proves that they were synced.
    unproven: Vec<Unproven>,
}

/// Where the log ends although something follows.
#[derive(Clone, Debug)]
pub(crate) struct TornTail {
    pub segment: PathBuf,
    pub offset: u64,
    pub why: &'static str,
    sequence: u64,
    /// Where frames begin that were dropped.
    frames: Vec<u64>,
}

/// A frame that was read, and may be on its way to the disk only.
#[derive(Debug)]
struct Unproven {
    sequence: u64,
    offset: u64,
    frame: Bytes,
    last: CommitNumber,
}

impl Scan {
    /// Makes the disk hold just what was read: clears what was dropped, and makes durable what may
    /// have been read from a cache. Until then nothing that was read counts as durable.
    ///
    /// The frames are written again, since a sync alone proves nothing: one that failed earlier may
    /// have left pages that look clean and never reached the disk.
    pub(crate) fn settle(&self, home: &Home) -> Result<(), OpenError> {
        const CLEAR: &[u8] = &[0; BLOCK_BYTES];
        let rewrite = |sequence: u64, parts: &mut dyn Iterator<Item = (u64, &[u8])>| {
            home.rewrite(sequence, parts)
                .map_err(|source| io_error("settle the end of", &home.path(sequence), source))
        };
        if let Some(torn) = &self.torn_tail {
            rewrite(torn.sequence, &mut torn.frames.iter().map(|&offset| (offset, CLEAR)))?;
        }
        for frames in self.unproven.chunk_by(|a, b| a.sequence == b.sequence) {
            let parts = &mut frames.iter().map(|frame| (frame.offset, &frame.frame[..]));
            rewrite(frames[0].sequence, parts)?;
        }
        Ok(())
    }
}

fn io_error(action: &'static str, path: &Path, source: std::io::Error) -> OpenError {
    OpenError::Io { action, path: path.to_owned(), source }
}

/// Reads the segments and gives every record after `after` to `visit`, in order.
pub(crate) fn scan(home: &Home, after: CommitNumber, visit: Visit<'_>) -> Result<Scan, OpenError> {
    let sequences =
        home.sequences().map_err(|source| io_error("read the folder", &home.folder, source))?;
    let scan = Scan {
        last: after,
        last_record: after,
        visited: 0,
        used: Used::default(),
        torn_tail: None,
        unproven: Vec::new(),
    };
    let mut walk = Walk { home, after, last: None, visit, scan };
    let first_frame = |sequence: &u64| first_frame(home, *sequence);
    let firsts = sequences.iter().map(first_frame).collect::<Result<Vec<_>, _>>()?;
    for (i, &sequence) in sequences.iter().enumerate() {
        match firsts.get(i + 1) {
            Some(Some(next)) if next.previous <= after => walk.skip(sequence, next.previous)?,
            _ => walk.segment(sequence)?,
        }
    }
    walk.scan.last_record = walk.last.unwrap_or(after);
    // Of an empty segment at the front only the next ones tell what it follows.
    let mut next = walk.scan.last_record;
    for used in walk.scan.used.segments.iter_mut().rev() {
        used.last = used.last.min(next);
        next = used.last;
    }
    // Removed segments may have come back, with others missing behind them.
    let gap = sequences.windows(2).rposition(|pair| pair[0] + 1 != pair[1]);
    let first = firsts.iter().skip(gap.map_or(0, |gap| gap + 1)).flatten().next();
    if gap.is_some() && first.is_none() {
        // Which of what the engine has was in them, nothing says.
        walk.scan.last_record = walk.scan.last_record.max(after);
    }
    walk.scan.used.lost = first.map_or(walk.scan.last_record, |first| first.previous);
    walk.scan.last = walk.scan.last_record.max(after);
    Ok(walk.scan)
}

/// The header of the first frame of a segment. `None` where there is none that is whole: then the
/// segment before it is read too, and what is wrong is found there.
fn first_frame(home: &Home, sequence: u64) -> Result<Option<FrameHeader>, OpenError> {
    const START_BYTES: usize = BLOCK_BYTES + frame::HEADER_BYTES;
    let path = home.path(sequence);
    let read = |bytes: usize| {
        let start = home.disk.read(&path, 0, bytes as u64);
        start.map_err(|source| io_error("read", &path, source))
    };
    let start = read(START_BYTES)?;
    let header = start.get(..BLOCK_BYTES).and_then(|block| SegmentHeader::decode(block).ok());
    let frame = start.get(BLOCK_BYTES..START_BYTES).and_then(frame::payload_bytes);
    let (Some(header), Some(payload)) = (header, frame) else { return Ok(None) };
    let start = Bytes::from(read(START_BYTES + payload)?);
    Ok(match frame::decode(&header, &start.slice(BLOCK_BYTES..)) {
        Found::Frame(frame, ..) => Some(frame),
        _ => None,
    })
}

struct Walk<'a> {
    home: &'a Home,
    after: CommitNumber,
    /// The last record read or passed over, which the next frame must follow; unknown at first.
    last: Option<CommitNumber>,
    visit: Visit<'a>,
    scan: Scan,
}

impl Walk<'_> {
    /// Notes a segment that holds nothing to visit: the one after it begins after `last`.
    fn skip(&mut self, sequence: u64, last: CommitNumber) -> Result<(), OpenError> {
        let path = self.home.path(sequence);
        let bytes = self.home.disk.length(&path);
        let bytes = bytes.map_err(|source| io_error("read", &path, source))?;
        self.scan.used.segments.push(UsedSegment { sequence, last, bytes });
        self.last = Some(last);
        Ok(())
    }

    fn segment(&mut self, sequence: u64) -> Result<(), OpenError> {
        let path = self.home.path(sequence);
        let damaged = |offset: usize, why: String| OpenError::Damaged {
            segment: path.clone(),
            offset: offset as u64,
            why,
        };
        let content = self.home.disk.read(&path, 0, u64::MAX);
        let content = Bytes::from(content.map_err(|source| io_error("read", &path, source))?);
        let header = SegmentHeader::decode(&content).map_err(|why| damaged(0, why))?;
        if (header.sequence, header.repository) != (sequence, self.home.repository) {
            return Err(damaged(0, "it belongs to another place or another repository".to_owned()));
        }
        let mut at = BLOCK_BYTES;
        let broken = loop {
            match frame::decode(&header, &content.slice(at.min(content.len())..)) {
                Found::Frame(_, _, length) if at + length > content.len() => {
                    break Some("the file ends within its last block");
                }
                Found::Frame(frame, records, length) => {
                    let last = self.frame(&frame, records).map_err(|why| damaged(at, why))?;
                    let (offset, frame) = (at as u64, content.slice(at..at + length));
                    self.scan.unproven.push(Unproven { sequence, offset, frame, last });
                    at += length;
                }
                Found::Nothing => break None,
                Found::Broken(why) => break Some(why),
            }
        };
        let mut frames = self.frames_beyond(&header, &content, at).map_err(|later| {
            damaged(at, format!("{}, but {later}", broken.unwrap_or("there is nothing here")))
        })?;
        if broken.is_some() {
            frames.insert(0, at as u64);
        }
        if !frames.is_empty() {
            let why = broken.unwrap_or("a frame that was not synced is missing");
            let (segment, offset) = (path, at as u64);
            self.scan.torn_tail = Some(TornTail { segment, offset, why, sequence, frames });
        }
        let last = self.last.unwrap_or(self.after);
        self.scan.used.segments.push(UsedSegment { sequence, last, bytes: content.len() as u64 });
        Ok(())
    }

    /// Visits the records of a frame, which must follow those before; gives the number of its last.
    fn frame(
        &mut self,
        frame: &FrameHeader,
        records: Vec<Numbered<Bytes>>,
    ) -> Result<CommitNumber, String> {
        let previous = frame.previous;
        match self.last {
            // Removed segments may leave a gap, but only of what the engine has.
            Some(last) if last < previous && previous <= self.after => {}
            Some(last) if last != previous => {
                return Err(format!(
                    "expected what follows commit {last}, found {previous} before"
                ));
            }
            None if previous > self.after => {
                return Err(format!(
                    "the log begins after commit {previous}, but the engine holds only {}",
                    self.after
                ));
            }
            _ => {}
        }
        // What was dropped before it, an earlier opening had dropped already.
        self.scan.torn_tail = None;
        self.scan.unproven.retain(|before| before.last > frame.synced);
        let mut last = previous;
        for (number, record) in records {
            if number > self.after {
                (self.visit)(number, record)?;
                self.scan.visited += 1;
            }
            last = number;
        }
        self.last = Some(last);
        Ok(last)
    }

    /// The offsets of whole frames of this segment beyond `at`, where no frame stands. They were
    /// written before what is missing was synced, unless one of them says that it was: that is
    /// damage.
    fn frames_beyond(
        &self,
        header: &SegmentHeader,
        content: &Bytes,
        at: usize,
    ) -> Result<Vec<u64>, String> {
        let last = self.last.unwrap_or(self.after);
        let mut beyond = Vec::new();
        for later in (at + BLOCK_BYTES..content.len()).step_by(BLOCK_BYTES) {
            if let Found::Frame(frame, ..) = frame::decode(header, &content.slice(later..)) {
                if frame.synced > last {
                    return Err(format!(
                        "what is at offset {later} was written after commit {} was synced",
                        frame.synced
                    ));
                }
                beyond.push(later as u64);
            }
        }
        Ok(beyond)
    }
}
