//! The log as the rest of the repository sees it: records go in, numbers of what is safe come out.
//! What the writer does with them is in `writer`.

use crate::document::CommitNumber;
use crate::durability::Durability;
use crate::durations::{DurationCounts, Durations};
use crate::errors::{CommitError, LogError, Poisoned};
use crate::limits::{SPACE_LOOK_MS, WRITTEN_SYNC_MS};
use crate::space::{Reserve, Space};
use crate::tranlog::follow::Follower;
use crate::tranlog::recent::Recent;
use crate::tranlog::retention::{BlobRoom, Held, Hold, Retention};
use crate::tranlog::segment::Home;
use crate::tranlog::supply::{Retained, SegmentSizes, Supply, Used};
use crate::tranlog::writer::{Step, Writer};
use parking_lot::{Condvar, Mutex, RwLock};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Whoever could run instead may have a commit for the frame: with few cores a larger frame costs
/// less than the sync it saves. An idle machine comes back at once.
const YIELDS_BEFORE_FRAME: u32 = 2;

/// Called on the writer's thread when the durable number or the last synced record has moved, or
/// the log is poisoned.
type Listener = Box<dyn Fn() + Send + Sync>;

/// A commit that was decided and not yet written.
pub(super) struct Pushed {
    pub number: CommitNumber,
    pub durability: Durability,
    pub record: Vec<u8>,
}

/// What was handed over and not yet taken by the writer.
#[derive(Default)]
pub(super) struct Queue {
    pub records: Vec<Pushed>,
    /// The newest commit that was handed over, with or without a record.
    pub through: CommitNumber,
    /// Somebody waits until this commit is synced.
    pub sync_to: CommitNumber,
    /// The writer sleeps, has written everything, and must be woken.
    idle: bool,
    closing: bool,
}

/// What callers and the writer share.
#[derive(Default)]
pub(super) struct Shared {
    pub queue: Mutex<Queue>,
    filled: Condvar,
    /// Bytes of records handed over and not yet written.
    unwritten: AtomicUsize,
    /// Every commit up to this one is as durable as it was asked to be.
    durable: AtomicU64,
    /// Every commit up to this one that has a record is synced. Never beyond `durable`.
    synced: AtomicU64,
    /// The last record that is synced, with all before it.
    synced_record: AtomicU64,
    /// The newest records, for those who follow the log.
    pub recent: Recent,
    is_closed: AtomicBool,
    poisoned: OnceLock<Poisoned>,
    listeners: RwLock<Vec<Listener>>,
    /// Guards nothing; the conditions are `durable` and `synced`.
    progress: Mutex<()>,
    progressed: Condvar,
    frames: AtomicU64,
    bytes: AtomicU64,
    pub syncs: Durations,
}

/// Where a log goes on that was read.
pub(crate) struct Start {
    /// The segments that were read or passed over.
    pub used: Used,
    /// Commits up to this one are in the engine.
    pub checkpoint: CommitNumber,
    /// The last record in the log.
    pub last_record: CommitNumber,
    /// The last commit; it and all before are durable.
    pub last: CommitNumber,
    pub sizes: SegmentSizes,
    pub retention: Retention,
    /// What is to stay free on the disk.
    pub reserve_bytes: u64,
}

/// The log of an open repository.
pub(crate) struct Tranlog {
    shared: Arc<Shared>,
    supply: Arc<Supply>,
    space: Arc<Space>,
    /// Here while no thread takes its steps.
    writer: Mutex<Option<Writer>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Tranlog {
    /// Goes on at `start` with a segment of its own. Nothing is written but by [`Self::step`] and
    /// by those who wait.
    pub(crate) fn stepped(home: Home, start: Start) -> io::Result<Self> {
        let Start { used, checkpoint, last_record, last, sizes, retention, reserve_bytes } = start;
        let reserve = Reserve { bytes: reserve_bytes, segment_bytes: sizes.bytes };
        let space = Arc::new(Space::new(Arc::clone(&home.disk), home.folder.clone(), reserve));
        let how = (sizes, retention, Arc::clone(&space));
        let supply = Arc::new(Supply::new(home, (used, checkpoint), how));
        let segment = supply.first()?;
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue { through: last, ..Queue::default() }),
            durable: AtomicU64::new(last.0),
            synced: AtomicU64::new(last.0),
            synced_record: AtomicU64::new(last_record.0),
            ..Shared::default()
        });
        let writer = Writer::new(Arc::clone(&shared), Arc::clone(&supply), segment, last_record);
        let writer = Mutex::new(Some(writer));
        Ok(Self { shared, supply, space, writer, threads: Mutex::default() })
    }

    /// As `stepped`, with threads that take the steps.
    pub(crate) fn start(home: Home, start: Start) -> io::Result<Self> {
        let log = Self::stepped(home, start)?;
        let mut threads = log.threads.lock();
        let (shared, supply) = (Arc::clone(&log.shared), Arc::clone(&log.supply));
        let make = move || {
            if catch_unwind(AssertUnwindSafe(|| supply.run())).is_err() {
                shared.poison(panicked("the tranlog's thread for segments"));
                supply.fail();
            }
        };
        threads.push(std::thread::Builder::new().name("segments".to_owned()).spawn(make)?);
        log.supply.expect_thread();
        if let Some(writer) = log.writer.lock().take() {
            let run = || run(writer);
            threads.push(std::thread::Builder::new().name("tranlog".to_owned()).spawn(run)?);
        }
        drop(threads);
        Ok(log)
    }

    /// Writes one frame, or syncs what is not synced if `sync_is_due`. `false`: there was nothing
    /// to do. For a log without threads.
    pub(crate) fn step(&self, sync_is_due: bool) -> Result<bool, Poisoned> {
        self.durable()?;
        let mut writer = self.writer.lock();
        let Some(writer) = writer.as_mut() else { return Ok(false) };
        let step = writer.step(sync_is_due).map_err(|error| self.shared.poison(cause(&error)))?;
        Ok(step == Step::Did)
    }

    /// The room on the disk.
    pub(crate) fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// Looks how much room is left, and gives back what the log need not keep if it is short.
    pub(crate) fn look_at_space(&self) {
        self.space.look();
        self.supply.look();
    }

    /// Makes or removes one segment. `false`: there was nothing to do. For a log without threads.
    pub(crate) fn step_supply(&self) -> bool {
        self.supply.step()
    }

    /// Refuses everything from now on, as after a failed write, because `thread` panicked.
    pub(crate) fn fail(&self, thread: &str) {
        self.shared.poison(panicked(thread));
    }

    /// Whether another record may be handed over.
    pub(crate) fn check(&self) -> Result<(), CommitError> {
        if let Some(poisoned) = self.shared.poisoned.get() {
            return Err(poisoned.clone().into());
        }
        if self.shared.unwritten.load(Ordering::Relaxed) > self.space.unwritten_bytes_max() {
            return Err(CommitError::Overloaded("too much is waiting to be written"));
        }
        Ok(())
    }

    /// Hands over the next commit. Numbers must rise, and may leave gaps; what lies in a gap
    /// counts as durable with what comes after it. A volatile commit leaves no record, but others
    /// must not count as durable before those in front of them are.
    pub(crate) fn push(&self, number: CommitNumber, record: Vec<u8>, durability: Durability) {
        let mut queue = self.shared.queue.lock();
        debug_assert!(queue.through < number);
        queue.through = number;
        if durability == Durability::Volatile {
            if queue.idle {
                // Nobody waits for it yet: it is shown to others only after this.
                self.shared.advance(number);
            }
            return;
        }
        self.shared.unwritten.fetch_add(record.len(), Ordering::Relaxed);
        queue.records.push(Pushed { number, durability, record });
        self.wake(queue);
    }

    fn wake(&self, mut queue: parking_lot::MutexGuard<'_, Queue>) {
        let wake = std::mem::take(&mut queue.idle);
        drop(queue);
        if wake {
            self.shared.filled.notify_one();
        }
    }

    /// The newest commit that is, with all before it, as durable as it was asked to be: its reply
    /// may leave.
    pub(crate) fn durable(&self) -> Result<CommitNumber, Poisoned> {
        match self.shared.poisoned.get() {
            Some(poisoned) => Err(poisoned.clone()),
            None => Ok(self.shared.durable()),
        }
    }

    pub(crate) fn on_durable(&self, listener: Listener) {
        self.shared.listeners.write().push(listener);
    }

    /// Blocks until `number` is durable.
    pub(crate) fn wait_durable(&self, number: CommitNumber) -> Result<(), Poisoned> {
        self.wait_until(|shared| shared.durable() >= number)
    }

    /// The newest commit that would, with all before it that have a record, survive a power cut.
    pub(crate) fn synced(&self) -> CommitNumber {
        self.shared.synced()
    }

    /// Blocks until `number` is synced, for which it need not wait longer than a sync takes;
    /// `false`: it cannot be, as long as there is no room for the log.
    pub(crate) fn wait_synced(&self, number: CommitNumber) -> Result<bool, Poisoned> {
        if self.synced() < number {
            let mut queue = self.shared.queue.lock();
            queue.sync_to = queue.sync_to.max(number.min(queue.through));
            self.wake(queue);
        }
        let is_stalled = || self.space.is_stalled();
        self.wait_until(|shared| shared.synced() >= number || is_stalled())?;
        Ok(self.synced() >= number)
    }

    fn wait_until(&self, is_there: impl Fn(&Shared) -> bool) -> Result<(), Poisoned> {
        // First: whoever goes on from here must not build on what was left half done.
        self.durable()?;
        while !is_there(&self.shared) && self.step(false)? {}
        if is_there(&self.shared) {
            return Ok(());
        }
        if self.space.is_stalled() && self.writer.lock().is_some() {
            // Nobody else would take the step that is needed.
            return Err(self.shared.poison(cause(&io::ErrorKind::StorageFull.into())));
        }
        let mut guard = self.shared.progress.lock();
        while !is_there(&self.shared) {
            self.durable()?;
            self.shared.progressed.wait(&mut guard);
        }
        Ok(())
    }

    /// The newest segment that records were to go to. Its name is durable.
    pub(crate) fn newest_segment(&self) -> u64 {
        self.supply.current()
    }

    /// Lets go of segments that hold nothing after `checkpoint`.
    pub(crate) fn checkpointed(&self, checkpoint: CommitNumber) {
        self.supply.checkpointed(checkpoint);
    }

    /// Says that there was no room for a checkpoint.
    pub(crate) fn lacks_checkpoint(&self) {
        self.supply.lacks_checkpoint();
    }

    /// Follows the log after `after`.
    pub(crate) fn follow(&self, after: CommitNumber) -> Follower {
        Follower::new(Arc::clone(&self.shared), Arc::clone(&self.supply), after)
    }

    /// What of the log can be read.
    pub(crate) fn retained(&self) -> Retained {
        self.supply.retained()
    }

    /// Keeps what `hold` names.
    pub(crate) fn hold(&self, hold: Hold) -> Arc<Held> {
        self.supply.hold(hold)
    }

    /// How many bytes of blobs are kept that lost their last names with the commit `taken`.
    pub(crate) fn blob_room(&self, taken: CommitNumber) -> BlobRoom {
        self.supply.blob_room(taken)
    }

    /// Lets what is held go up to `after`, or all of it.
    pub(crate) fn release(&self, held: &Arc<Held>, after: Option<CommitNumber>) {
        self.supply.release(held, after);
    }

    /// Frames written and bytes appended since the start.
    pub(crate) fn written(&self) -> (u64, u64) {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (load(&self.shared.frames), load(&self.shared.bytes))
    }

    /// What writes that ended on disk, and syncs, took since the start.
    pub(crate) fn syncs(&self) -> DurationCounts {
        self.shared.syncs.counts()
    }

    /// Writes and syncs what is queued, and ends the threads.
    pub(crate) fn close(&self) {
        self.shared.queue.lock().closing = true;
        self.shared.filled.notify_one();
        let mut threads = self.threads.lock();
        // The writer first: it may still need a segment.
        while let Some(thread) = threads.pop() {
            if thread.join().is_err() {
                log::error!("a thread of the tranlog panicked");
            }
            self.supply.close();
        }
        self.shared.is_closed.store(true, Ordering::Release);
        self.shared.tell(true);
        // Without threads, only what the caller has written is written.
    }
}

impl Drop for Tranlog {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    pub(super) fn durable(&self) -> CommitNumber {
        CommitNumber(self.durable.load(Ordering::Acquire))
    }

    pub(super) fn synced(&self) -> CommitNumber {
        CommitNumber(self.synced.load(Ordering::Acquire))
    }

    pub(super) fn synced_record(&self) -> CommitNumber {
        CommitNumber(self.synced_record.load(Ordering::Acquire))
    }

    /// Why no record will ever be written any more.
    pub(super) fn ended(&self) -> Option<LogError> {
        match self.poisoned.get() {
            Some(poisoned) => Some(poisoned.clone().into()),
            None => self.is_closed.load(Ordering::Acquire).then_some(LogError::Closed),
        }
    }

    /// Waits until there is a synced record after `number`, or never will be. `false`: it is not
    /// there at `deadline`.
    pub(super) fn wait_for_record(&self, number: CommitNumber, deadline: Instant) -> bool {
        let mut progress = self.progress.lock();
        while self.synced_record() <= number && self.ended().is_none() {
            if self.progressed.wait_until(&mut progress, deadline).timed_out() {
                return false;
            }
        }
        true
    }

    /// Notes a frame of so many bytes that holds so many bytes of records.
    pub(super) fn count(&self, frame: usize, records: usize) {
        self.unwritten.fetch_sub(records, Ordering::Relaxed);
        self.frames.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(frame as u64, Ordering::Relaxed);
    }

    /// Moves the durable number to `number`, and the synced one along with it if it was there.
    /// Called with the queue locked, as [`Self::poison`] has it.
    fn advance(&self, number: CommitNumber) {
        if self.poisoned.get().is_some() {
            return;
        }
        let is_synced = self.synced() == self.durable();
        self.durable.store(number.0, Ordering::Release);
        if is_synced {
            self.synced.store(number.0, Ordering::Release);
        }
    }

    /// Moves the durable number, the last synced record, and the synced number if everything
    /// written is synced; tells those who wait. Only the writer calls this.
    pub(super) fn publish(&self, durable: CommitNumber, (record, is_synced): (CommitNumber, bool)) {
        let progress = self.progress.lock();
        if self.poisoned.get().is_some() {
            return;
        }
        let moved = self.durable.swap(durable.0, Ordering::AcqRel) != durable.0;
        let moved = self.synced_record.swap(record.0, Ordering::AcqRel) != record.0 || moved;
        // A segment is left only when it is synced, whatever goes into the next one.
        let synced = if is_synced { durable } else { record };
        self.synced.fetch_max(synced.0, Ordering::AcqRel);
        drop(progress);
        self.tell(moved);
    }

    /// A failed write may have reached the disk or not: nothing after it can be trusted, so
    /// nobody who waits is ever told that it succeeded.
    /// From here on the durable number stands still, which is why both locks are held.
    fn poison(&self, cause: String) -> Poisoned {
        let queue = self.queue.lock();
        let progress = self.progress.lock();
        let poisoned = Poisoned { durable: self.durable(), cause: cause.into() };
        let is_first = self.poisoned.set(poisoned.clone()).is_ok();
        drop((progress, queue));
        log::error!("{poisoned}");
        // The writer ends.
        self.filled.notify_one();
        self.tell(is_first);
        self.poisoned.get().cloned().unwrap_or(poisoned)
    }

    fn tell(&self, listeners: bool) {
        // Taken so that nobody is between looking at the number and going to sleep.
        drop(self.progress.lock());
        self.progressed.notify_all();
        if listeners {
            for listener in self.listeners.read().iter() {
                listener();
            }
        }
    }

    /// Sleeps until there is something to write, to sync or to publish, or until `deadline`.
    /// `false`: the log closes and nothing is queued, or it is poisoned.
    fn sleep(&self, deadline: Option<Instant>) -> bool {
        let mut queue = self.queue.lock();
        loop {
            if self.poisoned.get().is_some() {
                return false;
            }
            let is_done = queue.records.is_empty() && queue.through == self.durable();
            if !is_done || queue.sync_to > self.synced() {
                return true;
            }
            if queue.closing {
                return false;
            }
            queue.idle = true;
            match deadline {
                None => self.filled.wait(&mut queue),
                Some(deadline) => {
                    if self.filled.wait_until(&mut queue, deadline).timed_out() {
                        queue.idle = false;
                        return true;
                    }
                }
            }
            queue.idle = false;
        }
    }
}

impl Shared {
    /// Sleeps until there may be room again. `false`: the log is poisoned. An error: it closes, and
    /// what waits, which nobody was told of, is not written.
    fn sleep_for_room(&self) -> io::Result<bool> {
        // Whoever waits for a sync is told that there will be none for now.
        self.tell(false);
        let mut queue = self.queue.lock();
        if queue.closing {
            let why = "it closes while there is no room for the next segment";
            return Err(io::Error::new(io::ErrorKind::StorageFull, why));
        }
        self.filled.wait_for(&mut queue, Duration::from_millis(SPACE_LOOK_MS));
        Ok(self.poisoned.get().is_none())
    }
}

fn cause(error: &io::Error) -> String {
    format!(
        "the tranlog could not be written ({error}); make room on the disk, or mend it, then \
         restart sarsen"
    )
}

fn panicked(thread: &str) -> String {
    format!(
        "{thread} panicked, which is a mistake in sarsen; restart it, and report what its log \
         says before this"
    )
}

/// The writer's thread: runs until the log closes. A panic poisons like a failed write: nobody
/// waits for ever.
fn run(mut writer: Writer) {
    let shared = Arc::clone(writer.shared());
    let ended = catch_unwind(AssertUnwindSafe(|| write_until_closed(&mut writer)));
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => drop(shared.poison(cause(&error))),
        Err(_) => drop(shared.poison(panicked("the tranlog's thread"))),
    }
}

fn write_until_closed(writer: &mut Writer) -> io::Result<()> {
    const WRITTEN_SYNC: Duration = Duration::from_millis(WRITTEN_SYNC_MS);
    let shared = Arc::clone(writer.shared());
    let mut deadline: Option<Instant> = None;
    loop {
        let is_due = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let step = writer.step(is_due)?;
        deadline = match writer.is_synced() {
            true => None,
            false => deadline.or_else(|| Some(Instant::now() + WRITTEN_SYNC)),
        };
        let goes_on = match step {
            Step::Did => true,
            Step::Idle => shared.sleep(deadline),
            Step::NoRoom => shared.sleep_for_room()?,
        };
        // What `written` commits were promised holds for a repository that is poisoned, too.
        if shared.poisoned.get().is_some() || !goes_on {
            writer.step(true)?;
            return Ok(());
        }
        if !writer.is_within_batch() {
            for _ in 0..YIELDS_BEFORE_FRAME {
                std::thread::yield_now();
            }
        }
    }
}
