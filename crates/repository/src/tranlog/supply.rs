//! The supply of segments: the next one is ready before the writer needs it, and those that a
//! checkpoint has made unnecessary, and that are not kept for anybody (`retention`), are used again
//! or removed.

use crate::disk::BLOCK_BYTES;
use crate::document::CommitNumber;
use crate::space::{Space, is_full};
use crate::tranlog::frame::FRAME_BYTES_TARGET;
use crate::tranlog::retention::{BlobRoom, Held, Hold, Keeping, Retention};
use crate::tranlog::segment::{FIRST_SEGMENT_BYTES, Home, SEGMENT_BYTES, Segment, SegmentHeader};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// Segments that may go are kept to be used again; more are removed.
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

/// What of the log can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// Every record after this commit.
    pub after: CommitNumber,
    /// How many segments of it recovery does not need.
    pub segments: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// The segments that an opening found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Used {
    pub segments: Vec<UsedSegment>,
    /// Of what is not after this commit, something is missing.
    pub lost: CommitNumber,
}

impl Used {
    /// How many hold something after `checkpoint`.
    pub(crate) fn needed(&self, checkpoint: CommitNumber) -> usize {
        self.segments.iter().filter(|segment| segment.last > checkpoint).count()
    }
}

/// A segment that can be read.
pub(super) struct Listed {
    pub sequence: u64,
    /// The record before its first.
    pub previous: CommitNumber,
    /// Its last record; `None` for the one that is written.
    pub last: Option<CommitNumber>,
}

struct State {
    /// In the order of their sequence; removed and reused from the front only, so that what is
    /// left never has a gap.
    used: VecDeque<UsedSegment>,
    /// The one that is written.
    current: u64,
    /// Of what is not after this commit, something is gone.
    lost: CommitNumber,
    keeping: Keeping,
    /// Commits up to this one are in the engine.
    checkpoint: CommitNumber,
    next_sequence: u64,
    /// Whether the writer will soon need `ready`.
    wanted: bool,
    ready: Option<io::Result<Segment>>,
    /// The writer waits for it.
    awaited: bool,
    /// For the checkpoint that was tried last there was no room.
    lacks_checkpoint: bool,
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
        (used, checkpoint): (Used, CommitNumber),
        (sizes, retention, space): (SegmentSizes, Retention, Arc<Space>),
    ) -> Self {
        let Used { segments, lost } = used;
        let next_sequence = segments.last().map_or(1, |last| last.sequence + 1);
        let state = State {
            used: segments.into(),
            current: 0,
            lost,
            keeping: Keeping::new(retention),
            checkpoint,
            next_sequence,
            wanted: false,
            ready: None,
            awaited: false,
            lacks_checkpoint: false,
            keeps_surplus: false,
            has_thread: false,
            has_failed: false,
            closing: false,
        };
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
        let segment = self.make(self.sizes.first_bytes)?;
        self.state.lock().current = segment.header.sequence;
        Ok(segment)
    }

    pub(super) fn home(&self) -> &Home {
        &self.home
    }

    /// The segment that is written, or was last.
    pub(super) fn current(&self) -> u64 {
        self.state.lock().current
    }

    /// What can be read.
    pub(crate) fn retained(&self) -> Retained {
        let state = self.state.lock();
        let kept = || state.used.range(..state.unneeded()).filter(|used| used.last > state.lost);
        let bytes = kept().map(|used| used.bytes).sum();
        Retained { after: state.lost, segments: kept().count(), bytes }
    }

    /// The segment with the first record after `position`; `Err`: that may be gone, and what is
    /// after this commit is not.
    pub(super) fn find(&self, position: CommitNumber) -> Result<Listed, CommitNumber> {
        let state = self.state.lock();
        if position < state.lost {
            return Err(state.lost);
        }
        let at = state.used.iter().position(|used| used.last > position);
        let found = at.map_or((state.current, None), |at| {
            let used = &state.used[at];
            (used.sequence, Some(used.last))
        });
        let before = match at {
            Some(at) => at.checked_sub(1).map(|before| &state.used[before]),
            None => state.used.back(),
        };
        let previous = before.map_or(state.lost, |before| before.last.max(state.lost));
        let (sequence, last) = found;
        Ok(Listed { sequence, previous, last })
    }

    /// Gives up what is not after `through`, which cannot be read; gives what is given up now.
    pub(super) fn lose(&self, through: CommitNumber) -> CommitNumber {
        let mut state = self.state.lock();
        state.lost = state.lost.max(through);
        self.changed.notify_all();
        state.lost
    }

    pub(crate) fn hold(&self, hold: Hold) -> Arc<Held> {
        let mut state = self.state.lock();
        let held = state.keeping.hold(hold);
        state.break_holds();
        self.changed.notify_all();
        held
    }

    /// See [`Keeping::blob_room`].
    pub(crate) fn blob_room(&self, taken: CommitNumber) -> BlobRoom {
        let state = self.state.lock();
        state.keeping.blob_room(taken, (state.lost, self.space.is_tight()))
    }

    pub(crate) fn release(&self, held: &Arc<Held>, after: Option<CommitNumber>) {
        match after {
            Some(after) => held.advance(after),
            None => self.state.lock().keeping.release(held),
        }
        // Taken so that the thread is not between looking and going to sleep.
        drop(self.state.lock());
        self.changed.notify_all();
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
            while !self.makes_ahead(&state) && !state.has_surplus(self.spare()) {
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
        if self.makes_ahead(&state) {
            drop(state);
            self.change(|| {
                let made = self.make_once(self.sizes.bytes);
                self.state.lock().ready = Some(made);
            });
            self.changed.notify_all();
            return true;
        }
        if !state.has_surplus(self.spare()) {
            return false;
        }
        let Some(oldest) = state.let_go() else { return false };
        drop(state);
        self.change(|| self.remove(oldest));
        true
    }

    fn remove(&self, oldest: UsedSegment) {
        if let Err(error) = self.home.remove(oldest.sequence) {
            let path = self.home.path(oldest.sequence);
            log::error!("cannot remove the old segment {}: {error}", path.display());
            let mut state = self.state.lock();
            state.used.push_front(oldest);
            state.keeps_surplus = true;
        }
    }

    /// Makes or removes a segment, of which the room that is usable is told when it is done.
    fn change<T>(&self, change: impl FnOnce() -> T) -> T {
        self.space.begin_change();
        let changed = change();
        self.note_spare(&self.state.lock());
        self.space.end_change();
        changed
    }

    /// Whether the next segment is to be made now. On a disk that is nearly full, the room that it
    /// would take may be all that the next checkpoint has, which lets go of others: then it is not
    /// made before somebody waits for it, and meanwhile nothing more is accepted.
    fn makes_ahead(&self, state: &State) -> bool {
        if !state.lacks_ready() {
            self.space.set_cramped(false);
            return false;
        }
        let is_reused = state.releasable(self.space.is_tight()) > 0;
        let waits = !is_reused && !state.awaited && !state.lacks_checkpoint;
        let is_cramped = waits && self.space.lacks_checkpoint_room();
        self.space.set_cramped(is_cramped);
        !is_cramped
    }

    /// Says that there was no room for a checkpoint.
    pub(crate) fn lacks_checkpoint(&self) {
        self.state.lock().lacks_checkpoint = true;
        self.changed.notify_all();
    }

    /// How many segments that may go are kept now, the one that is made included, and whether
    /// room is tight.
    fn spare(&self) -> (usize, bool) {
        match self.space.is_tight() {
            true => (SPARE_SEGMENTS_MAX_WHEN_TIGHT, true),
            false => (SPARE_SEGMENTS_MAX, false),
        }
    }

    /// Says what could be used next or given back.
    fn note_spare(&self, state: &State) {
        let bytes = state.used.range(..state.releasable(true)).map(|used| used.bytes);
        let made = if state.is_ready() { self.sizes.bytes } else { 0 };
        self.space.set_spare(bytes.sum::<u64>() + made);
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
        self.change(|| self.make_once(bytes))
    }

    fn make_once(&self, bytes: u64) -> io::Result<Segment> {
        let mut state = self.state.lock();
        if state.would_reuse_newest(self.space.is_tight(), self.sizes.bytes) {
            let last = state.used[0].last;
            let sequence = state.next_sequence;
            state.next_sequence += 1;
            drop(state);
            let made = self.prepare(sequence, None, BLOCK_BYTES as u64);
            state = self.state.lock();
            let bytes = made?.bytes;
            state.used.push_back(UsedSegment { sequence, last, bytes });
        }
        let reuse = state.releasable(self.space.is_tight()) > 0;
        let reuse = reuse && state.used[0].bytes >= self.sizes.bytes;
        if !reuse {
            // Asked before any of it is filled: the last of the room is worth more to others.
            self.space.check_file(bytes)?;
        }
        let spare = if reuse { state.let_go() } else { None };
        let sequence = state.next_sequence;
        state.next_sequence += 1;
        drop(state);
        self.prepare(sequence, spare.map(|used| used.sequence), bytes)
    }

    /// Makes the segment of this number, which is given back if that fails.
    fn prepare(&self, sequence: u64, spare: Option<u64>, bytes: u64) -> io::Result<Segment> {
        let mut nonce = [0; 16];
        let header = || {
            getrandom::fill(&mut nonce).map_err(io::Error::other)?;
            Ok(SegmentHeader { sequence, nonce, repository: self.home.repository })
        };
        let made = { header }().and_then(|header| self.home.prepare(header, spare, bytes));
        let mut state = self.state.lock();
        if made.is_err() && state.next_sequence == sequence + 1 {
            // A number that is missing later is that of a segment which was removed, and what lies
            // before it would not be read.
            state.next_sequence = sequence;
        }
        made
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
        let segment = self.await_next()?;
        self.state.lock().current = segment.header.sequence;
        Ok(segment)
    }

    fn await_next(&self) -> io::Result<Segment> {
        let mut state = self.state.lock();
        state.wanted = true;
        state.awaited = true;
        self.changed.notify_all();
        loop {
            match state.ready.take() {
                Some(Ok(segment)) => {
                    (state.wanted, state.awaited) = (false, false);
                    self.note_spare(&state);
                    return Ok(segment);
                }
                // It was made ahead of time; what was in its way may be gone now.
                Some(Err(error)) => {
                    if !is_full(&error) {
                        log::warn!("the next segment could not be made, trying again: {error}");
                    }
                    // Not by the thread as well: both would write the same file.
                    (state.wanted, state.awaited) = (false, false);
                    drop(state);
                    return self.make(self.sizes.bytes);
                }
                None if state.has_failed => {
                    return Err(io::Error::other("the thread that makes segments panicked"));
                }
                None if !state.has_thread => {
                    (state.wanted, state.awaited) = (false, false);
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
        state.lacks_checkpoint = false;
        state.keeps_surplus = false;
        state.break_holds();
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
    fn lacks_ready(&self) -> bool {
        self.wanted && self.ready.is_none()
    }

    fn is_ready(&self) -> bool {
        matches!(self.ready, Some(Ok(_)))
    }

    fn has_surplus(&self, (spare_max, is_tight): (usize, bool)) -> bool {
        // While room is tight, one that is made is all that the writer needs next.
        let made = usize::from(is_tight && self.is_ready());
        self.releasable(is_tight) + made > spare_max && !self.keeps_surplus
    }

    /// Takes the oldest segment, which may go.
    fn let_go(&mut self) -> Option<UsedSegment> {
        let oldest = self.used.pop_front()?;
        self.lost = self.lost.max(oldest.last);
        Some(oldest)
    }

    /// How many segments at the front may go; while room is tight, no more is kept for readers
    /// than what is held.
    fn releasable(&self, is_tight: bool) -> usize {
        let unneeded = self.used.range(..self.unneeded());
        self.keeping.releasable(unneeded, self.lost, is_tight)
    }

    /// Whether the only segment that may be used again is the newest: while its file gets another
    /// name, nothing would say how far the log had come. One without room for records goes before.
    fn would_reuse_newest(&self, is_tight: bool, bytes: u64) -> bool {
        let newest = self.used.back().map_or(0, |used| used.sequence).max(self.current);
        let is_newest = |used: &UsedSegment| used.sequence == newest && used.bytes >= bytes;
        self.releasable(is_tight) > 0 && self.used.front().is_some_and(is_newest)
    }

    fn break_holds(&self) {
        self.keeping.break_holds(|| self.used.range(..self.unneeded()));
    }

    /// How many segments at the front hold nothing that the engine does not have.
    fn unneeded(&self) -> usize {
        self.used.iter().take_while(|used| used.last <= self.checkpoint).count()
    }
}
