//! The supply of segments: the next one is ready before the writer needs it, and those that a
//! checkpoint has made unnecessary are used again or removed.

use crate::document::CommitNumber;
use crate::tranlog::segment::{self, FIRST_SEGMENT_BYTES, SEGMENT_BYTES, Segment, SegmentHeader};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Unneeded segments that are kept to be used again; more are removed.
const SPARE_SEGMENTS_MAX: usize = 4;

/// A segment that is full, or was left at the last opening.
#[derive(Clone, Debug)]
pub(crate) struct UsedSegment {
    pub sequence: u64,
    /// The last commit in it or before it.
    pub last: CommitNumber,
    pub bytes: u64,
}

#[derive(Debug, Default)]
struct State {
    /// In the order of their sequence; removed and reused from the front only, so that what is
    /// left never has a gap.
    used: VecDeque<UsedSegment>,
    /// Commits up to this one are in the engine.
    checkpoint: CommitNumber,
    next_sequence: u64,
    /// Whether the writer will soon need `ready`.
    wanted: bool,
    ready: Option<io::Result<Segment>>,
    /// One could not be removed; it is tried again after the next checkpoint.
    keeps_surplus: bool,
    closing: bool,
}

/// Shared by the writer, the steward and the supply's own thread.
#[derive(Debug)]
pub(crate) struct Supply {
    folder: PathBuf,
    repository: [u8; 16],
    state: Mutex<State>,
    changed: Condvar,
}

impl Supply {
    /// A supply that begins after the segments in `used`.
    pub(crate) fn new(
        folder: PathBuf,
        repository: [u8; 16],
        used: Vec<UsedSegment>,
        checkpoint: CommitNumber,
    ) -> Self {
        let next_sequence = used.last().map_or(1, |last| last.sequence + 1);
        let state = State { used: used.into(), checkpoint, next_sequence, ..State::default() };
        Self { folder, repository, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The first segment, made while the caller waits: small, unless one can be used again.
    pub(crate) fn first(&self) -> io::Result<Segment> {
        self.make(FIRST_SEGMENT_BYTES)
    }

    /// Starts the thread that makes segments.
    pub(crate) fn start(self: &Arc<Self>) -> io::Result<JoinHandle<()>> {
        let supply = Arc::clone(self);
        std::thread::Builder::new().name("segments".to_owned()).spawn(move || supply.run())
    }

    fn run(&self) {
        let mut state = self.state.lock();
        loop {
            if state.closing {
                return;
            }
            let make = state.wanted && state.ready.is_none();
            let surplus = state.unneeded() > SPARE_SEGMENTS_MAX && !state.keeps_surplus;
            if make {
                drop(state);
                let made = self.make(SEGMENT_BYTES);
                state = self.state.lock();
                state.ready = Some(made);
                self.changed.notify_all();
            } else if surplus {
                let Some(oldest) = state.used.pop_front() else { continue };
                drop(state);
                let path = segment::path(&self.folder, oldest.sequence);
                let removed = std::fs::remove_file(&path);
                state = self.state.lock();
                if let Err(error) = removed {
                    log::error!("cannot remove the old segment {}: {error}", path.display());
                    state.used.push_front(oldest);
                    state.keeps_surplus = true;
                }
            } else {
                self.changed.wait(&mut state);
            }
        }
    }

    /// Makes the next segment, from an unneeded one if there is one of full size.
    fn make(&self, bytes: u64) -> io::Result<Segment> {
        let mut state = self.state.lock();
        let reuse = state.unneeded() > 0 && state.used[0].bytes >= SEGMENT_BYTES;
        let spare = if reuse { state.used.pop_front() } else { None };
        let sequence = state.next_sequence;
        state.next_sequence += 1;
        drop(state);
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).map_err(io::Error::other)?;
        let header = SegmentHeader { sequence, nonce, repository: self.repository };
        let spare = spare.map(|used| segment::path(&self.folder, used.sequence));
        Segment::prepare(&self.folder, header, spare.as_deref(), bytes)
    }

    /// Says that the writer will need the next segment soon.
    pub(crate) fn want(&self) {
        let mut state = self.state.lock();
        if !state.wanted {
            state.wanted = true;
            self.changed.notify_all();
        }
    }

    /// Takes the next segment; waits for it if need be. `full` is the one it follows.
    pub(crate) fn next(&self, full: UsedSegment) -> io::Result<Segment> {
        let mut state = self.state.lock();
        state.used.push_back(full);
        state.wanted = true;
        self.changed.notify_all();
        loop {
            match state.ready.take() {
                Some(Ok(segment)) => {
                    state.wanted = false;
                    return Ok(segment);
                }
                // It was made ahead of time; what was in its way may be gone now.
                Some(Err(error)) => {
                    log::warn!("the next segment could not be made, trying again: {error}");
                    drop(state);
                    return self.make(SEGMENT_BYTES);
                }
                None => self.changed.wait(&mut state),
            }
        }
    }

    /// Lets go of segments that hold nothing after `checkpoint`.
    pub(crate) fn checkpointed(&self, checkpoint: CommitNumber) {
        let mut state = self.state.lock();
        state.checkpoint = checkpoint;
        state.keeps_surplus = false;
        drop(state);
        self.changed.notify_all();
    }

    /// Ends the thread.
    pub(crate) fn close(&self) {
        self.state.lock().closing = true;
        self.changed.notify_all();
    }
}

impl State {
    /// How many segments at the front hold nothing that the engine does not have.
    fn unneeded(&self) -> usize {
        self.used.iter().take_while(|used| used.last <= self.checkpoint).count()
    }
}
