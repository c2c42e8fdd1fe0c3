//! The supply of segments: the next one is ready before the writer needs it, and those that a
//! checkpoint has made unnecessary are used again or removed.

use crate::document::CommitNumber;
use crate::space::{Space, is_full};
use crate::tranlog::frame::FRAME_BYTES_TARGET;
use crate::tranlog::segment::{FIRST_SEGMENT_BYTES, Home, SEGMENT_BYTES, Segment, SegmentHeader};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// Unneeded segments that are kept to be used again; more are removed.
const SPARE_SEGMENTS_MAX: usize = 4;

/// The same while the disk is short of room.
const SPARE_SEGMENTS_MAX_WHEN_TIGHT: usize = 1;

/// How large segments are made.
#[derive(Clone, Copy, Debug)]
pub struct SegmentSizes {
    /// One that somebody waits for.
    pub first_bytes: u64,
    /// Others. No record has more than half of it; smaller ones are not used again.
    pub bytes: u64,
}

impl Default for SegmentSizes {
    fn default() -> Self {
        Self { first_bytes: FIRST_SEGMENT_BYTES, bytes: SEGMENT_BYTES }
    }
}

/// A segment that is full, or was left at the last opening.
#[derive(Clone, Debug)]
pub(crate) struct UsedSegment {
    pub sequence: u64,
    /// The last commit in it or before it.
    pub last: CommitNumber,
    pub bytes: u64,
}

#[derive(Default)]
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
    /// A thread takes the steps; otherwise whoever needs a segment makes it.
    has_thread: bool,
    /// The thread panicked.
    has_failed: bool,
    closing: bool,
}

/// Shared by the writer, the steward and the supply's own thread.
pub(crate) struct Supply {
    home: Home,
    sizes: SegmentSizes,
    space: Arc<Space>,
    state: Mutex<State>,
    changed: Condvar,
}

impl Supply {
    /// A supply that begins after the segments in `used`.
    pub(crate) fn new(
        home: Home,
        (used, checkpoint): (Vec<UsedSegment>, CommitNumber),
        (sizes, space): (SegmentSizes, Arc<Space>),
    ) -> Self {
        let next_sequence = used.last().map_or(1, |last| last.sequence + 1);
        let state = State { used: used.into(), checkpoint, next_sequence, ..State::default() };
        Self { home, sizes, space, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The room on the disk that the segments are on.
    pub(super) fn space(&self) -> &Space {
        &self.space
    }

    /// Bytes of records after which a frame takes no further one: a frame must fit into a segment.
    pub(crate) fn frame_bytes_target(&self) -> usize {
        FRAME_BYTES_TARGET.min(self.sizes.bytes as usize / 4)
    }

    /// The first segment, made while the caller waits: small, unless one can be used again.
    pub(crate) fn first(&self) -> io::Result<Segment> {
        self.make(self.sizes.first_bytes)
    }

    /// Says that a thread is in [`Self::run`].
    pub(crate) fn expect_thread(&self) {
        self.state.lock().has_thread = true;
    }

    /// Says that the thread will make nothing more: whoever waits for a segment gets an error.
    pub(crate) fn fail(&self) {
        self.state.lock().has_failed = true;
        self.changed.notify_all();
    }

    /// Takes the steps until it is closed.
    pub(crate) fn run(&self) {
        loop {
            while self.step() {}
            let mut state = self.state.lock();
            while !state.has_work(self.spare_max()) {
                if state.closing {
                    return;
                }
                self.changed.wait(&mut state);
            }
            if state.closing {
                return;
            }
        }
    }

    /// Makes the segment that the writer will need, or removes one that nobody needs. `false`:
    /// there was nothing to do.
    pub(crate) fn step(&self) -> bool {
        let mut state = self.state.lock();
        if state.lacks_ready() {
            drop(state);
            let made = self.make(self.sizes.bytes);
            self.state.lock().ready = Some(made);
            self.changed.notify_all();
            return true;
        }
        if !state.has_surplus(self.spare_max()) {
            return false;
        }
        let Some(oldest) = state.used.pop_front() else { return false };
        self.note_spare(&state);
        drop(state);
        if let Err(error) = self.home.remove(oldest.sequence) {
            let path = self.home.path(oldest.sequence);
            log::error!("cannot remove the old segment {}: {error}", path.display());
            let mut state = self.state.lock();
            state.used.push_front(oldest);
            state.keeps_surplus = true;
        }
        self.space.look();
        true
    }

    /// How many unneeded segments are kept now.
    fn spare_max(&self) -> usize {
        match self.space.is_tight() {
            true => SPARE_SEGMENTS_MAX_WHEN_TIGHT,
            false => SPARE_SEGMENTS_MAX,
        }
    }

    /// Says what can be given back.
    fn note_spare(&self, state: &State) {
        let bytes = state.used.iter().take(state.unneeded()).map(|used| used.bytes);
        let kept = SPARE_SEGMENTS_MAX_WHEN_TIGHT as u64 * self.sizes.bytes;
        self.space.set_spare(bytes.sum::<u64>().saturating_sub(kept));
    }

    /// Has the thread remove what is kept too much of, where room has become short since.
    pub(crate) fn look(&self) {
        if self.space.is_tight() {
            self.changed.notify_all();
        }
    }

    /// Makes the next segment, from an unneeded one if there is one of full size. A failure leaves
    /// nothing behind that takes room, and may be tried again.
    fn make(&self, bytes: u64) -> io::Result<Segment> {
        let made = self.make_once(bytes);
        self.space.look();
        made
    }

    fn make_once(&self, bytes: u64) -> io::Result<Segment> {
        let mut state = self.state.lock();
        let reuse = state.unneeded() > 0 && state.used[0].bytes >= self.sizes.bytes;
        if !reuse {
            // Asked before any of it is filled: the last of the room is worth more to others.
            self.space.check_file(bytes)?;
        }
        let spare = if reuse { state.used.pop_front() } else { None };
        self.note_spare(&state);
        let sequence = state.next_sequence;
        state.next_sequence += 1;
        drop(state);
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).map_err(io::Error::other)?;
        let header = SegmentHeader { sequence, nonce, repository: self.home.repository };
        self.home.prepare(header, spare.map(|used| used.sequence), bytes)
    }

    /// Says that the writer will need the next segment soon.
    pub(crate) fn want(&self) {
        let mut state = self.state.lock();
        if !state.wanted {
            state.wanted = true;
            self.changed.notify_all();
        }
    }

    /// Says that the writer has left a segment.
    pub(crate) fn leave(&self, full: UsedSegment) {
        self.state.lock().used.push_back(full);
    }

    /// Takes the next segment; waits for it if need be. Where there is no room for it, that is an
    /// error that passes: nothing has happened, and it may be asked for again.
    pub(crate) fn next(&self) -> io::Result<Segment> {
        let mut state = self.state.lock();
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
                    if !is_full(&error) {
                        log::warn!("the next segment could not be made, trying again: {error}");
                    }
                    // Not by the thread as well: both would write the same file.
                    state.wanted = false;
                    drop(state);
                    return self.make(self.sizes.bytes);
                }
                None if state.has_failed => {
                    return Err(io::Error::other("the thread that makes segments panicked"));
                }
                None if !state.has_thread => {
                    state.wanted = false;
                    drop(state);
                    return self.make(self.sizes.bytes);
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
        self.note_spare(&state);
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
    fn has_work(&self, spare_max: usize) -> bool {
        self.lacks_ready() || self.has_surplus(spare_max)
    }

    fn lacks_ready(&self) -> bool {
        self.wanted && self.ready.is_none()
    }

    fn has_surplus(&self, spare_max: usize) -> bool {
        self.unneeded() > spare_max && !self.keeps_surplus
    }

    /// How many segments at the front hold nothing that the engine does not have.
    fn unneeded(&self) -> usize {
        self.used.iter().take_while(|used| used.last <= self.checkpoint).count()
    }
}
