//! The writer: one thread that makes records durable, in order, and says how far it has come.

use crate::document::CommitNumber;
use crate::errors::{CommitError, Poisoned};
use crate::limits::UNSYNCED_BYTES_MAX;
use crate::tranlog::frame::{self, FRAME_BYTES_TARGET, FrameHeader};
use crate::tranlog::segment::{BLOCK_BYTES, Segment};
use crate::tranlog::supply::{Supply, UsedSegment};
use parking_lot::{Condvar, Mutex, RwLock};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;

/// Whoever could run instead may have a commit for the frame: with few cores a larger frame costs
/// less than the sync it saves. An idle machine comes back at once.
const YIELDS_BEFORE_FRAME: u32 = 2;

/// Called on the writer's thread when the durable number has moved or the log is poisoned.
type Listener = Box<dyn Fn() + Send + Sync>;

/// Records that were decided and not yet taken by the writer.
#[derive(Default)]
struct Queue {
    /// The number of the first record; the others follow.
    first: CommitNumber,
    records: Vec<Vec<u8>>,
    /// The writer sleeps and must be woken.
    idle: bool,
    closing: bool,
}

/// What callers and the writer's thread share.
struct Shared {
    queue: Mutex<Queue>,
    filled: Condvar,
    /// Bytes of records handed over and not yet durable.
    unsynced: AtomicUsize,
    durable: AtomicU64,
    poisoned: OnceLock<Poisoned>,
    listeners: RwLock<Vec<Listener>>,
    /// Guards nothing; the condition is `durable`.
    progress: Mutex<()>,
    progressed: Condvar,
    batches: AtomicU64,
    bytes: AtomicU64,
}

/// The log of an open repository.
pub(crate) struct Tranlog {
    shared: Arc<Shared>,
    supply: Arc<Supply>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Tranlog {
    /// Starts the log after `durable` with a segment of its own.
    pub(crate) fn start(
        folder: PathBuf,
        repository: [u8; 16],
        used: Vec<UsedSegment>,
        (checkpoint, durable): (CommitNumber, CommitNumber),
    ) -> io::Result<Self> {
        let supply = Arc::new(Supply::new(folder, repository, used, checkpoint));
        let segment = supply.first()?;
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue { first: durable.next(), ..Queue::default() }),
            filled: Condvar::new(),
            unsynced: AtomicUsize::new(0),
            durable: AtomicU64::new(durable.0),
            poisoned: OnceLock::new(),
            listeners: RwLock::default(),
            progress: Mutex::new(()),
            progressed: Condvar::new(),
            batches: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        });
        let writer = Writer {
            shared: Arc::clone(&shared),
            supply: Arc::clone(&supply),
            segment,
            offset: BLOCK_BYTES as u64,
            buffer: Vec::new(),
        };
        let threads = vec![
            supply.start()?,
            std::thread::Builder::new().name("tranlog".to_owned()).spawn(|| writer.start())?,
        ];
        Ok(Self { shared, supply, threads: Mutex::new(threads) })
    }

    /// Whether another record may be handed over.
    pub(crate) fn check(&self) -> Result<(), CommitError> {
        if let Some(poisoned) = self.shared.poisoned.get() {
            return Err(poisoned.clone().into());
        }
        if self.shared.unsynced.load(Ordering::Relaxed) > UNSYNCED_BYTES_MAX {
            return Err(CommitError::Overloaded("too much is waiting to be written"));
        }
        Ok(())
    }

    /// Hands over the record of the next commit. Numbers must come without a gap.
    pub(crate) fn push(&self, number: CommitNumber, record: Vec<u8>) {
        self.shared.unsynced.fetch_add(record.len(), Ordering::Relaxed);
        let mut queue = self.shared.queue.lock();
        debug_assert_eq!(queue.first.0 + queue.records.len() as u64, number.0);
        queue.records.push(record);
        let wake = std::mem::take(&mut queue.idle);
        drop(queue);
        if wake {
            self.shared.filled.notify_one();
        }
    }

    /// The newest durable commit.
    pub(crate) fn durable(&self) -> Result<CommitNumber, Poisoned> {
        match self.shared.poisoned.get() {
            Some(poisoned) => Err(poisoned.clone()),
            None => Ok(CommitNumber(self.shared.durable.load(Ordering::Acquire))),
        }
    }

    pub(crate) fn on_durable(&self, listener: Listener) {
        self.shared.listeners.write().push(listener);
    }

    /// Blocks until `number` is durable.
    pub(crate) fn wait_durable(&self, number: CommitNumber) -> Result<(), Poisoned> {
        let is_durable = || self.shared.durable.load(Ordering::Acquire) >= number.0;
        if is_durable() {
            return Ok(());
        }
        let mut guard = self.shared.progress.lock();
        while !is_durable() {
            self.durable()?;
            self.shared.progressed.wait(&mut guard);
        }
        Ok(())
    }

    /// Lets go of segments that hold nothing after `checkpoint`.
    pub(crate) fn checkpointed(&self, checkpoint: CommitNumber) {
        self.supply.checkpointed(checkpoint);
    }

    /// Frames written and bytes appended since the start.
    pub(crate) fn written(&self) -> (u64, u64) {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (load(&self.shared.batches), load(&self.shared.bytes))
    }

    /// Writes what is queued and ends the threads.
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
    }
}

impl Drop for Tranlog {
    fn drop(&mut self) {
        self.close();
    }
}

struct Writer {
    shared: Arc<Shared>,
    supply: Arc<Supply>,
    segment: Segment,
    /// Where the next frame goes.
    offset: u64,
    /// Reused for every frame; a block longer than needed, to start at an aligned address.
    buffer: Vec<u8>,
}

impl Writer {
    /// Runs until the log closes. A panic poisons like a failed write: nobody waits for ever.
    fn start(self) {
        let shared = Arc::clone(&self.shared);
        if catch_unwind(AssertUnwindSafe(|| self.run())).is_err() {
            shared.poison(&io::Error::other("the tranlog's thread panicked"));
        }
    }

    fn run(mut self) {
        let mut records = Vec::new();
        loop {
            let Some(first) = self.take(&mut records) else { return };
            let mut number = first;
            let mut rest = records.as_slice();
            while !rest.is_empty() {
                let count = frame_length(rest);
                if let Err(error) = self.write(number, &rest[..count]) {
                    self.shared.poison(&error);
                    return;
                }
                number = CommitNumber(number.0 + count as u64);
                rest = &rest[count..];
                self.advance(CommitNumber(number.0 - 1));
            }
            let bytes = records.iter().map(Vec::len).sum();
            self.shared.unsynced.fetch_sub(bytes, Ordering::Relaxed);
            records.clear();
        }
    }

    /// Waits for records and takes all of them; `None` when the log closes.
    fn take(&self, records: &mut Vec<Vec<u8>>) -> Option<CommitNumber> {
        for _ in 0..YIELDS_BEFORE_FRAME {
            std::thread::yield_now();
        }
        let mut queue = self.shared.queue.lock();
        while queue.records.is_empty() {
            if queue.closing {
                return None;
            }
            queue.idle = true;
            self.shared.filled.wait(&mut queue);
        }
        queue.idle = false;
        std::mem::swap(&mut queue.records, records);
        let first = queue.first;
        queue.first = CommitNumber(first.0 + records.len() as u64);
        Some(first)
    }

    fn write(&mut self, first: CommitNumber, records: &[Vec<u8>]) -> io::Result<()> {
        let header = FrameHeader {
            first,
            count: records.len() as u32,
            durable: CommitNumber(self.shared.durable.load(Ordering::Relaxed)),
        };
        let payload: usize =
            records.iter().map(|record| record.len() + frame::RECORD_HEADER_BYTES).sum();
        let length = frame::padded(frame::HEADER_BYTES + payload);
        if self.offset + length as u64 > self.segment.bytes {
            self.roll(CommitNumber(first.0 - 1), length)?;
        }
        let (segment, buffer) = (&self.segment.header, &mut self.buffer);
        buffer.clear();
        // A block at first, to be able to start at an aligned address further on.
        buffer.reserve(length + BLOCK_BYTES);
        let start = buffer.as_ptr().align_offset(BLOCK_BYTES);
        buffer.resize(start, 0);
        frame::encode(segment, header, records.iter().map(Vec::as_slice), buffer);
        debug_assert_eq!(buffer.len(), start + length);
        self.segment.write(&buffer[start..], self.offset)?;
        self.offset += length as u64;
        if self.offset > self.segment.bytes / 2 {
            self.supply.want();
        }
        self.shared.batches.fetch_add(1, Ordering::Relaxed);
        self.shared.bytes.fetch_add(length as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Goes on in the next segment; `last` is the last commit in this one.
    fn roll(&mut self, last: CommitNumber, length: usize) -> io::Result<()> {
        let (sequence, bytes) = (self.segment.header.sequence, self.segment.bytes);
        self.segment = self.supply.next(UsedSegment { sequence, last, bytes })?;
        self.offset = BLOCK_BYTES as u64;
        debug_assert!(self.offset + length as u64 <= self.segment.bytes);
        Ok(())
    }

    fn advance(&self, durable: CommitNumber) {
        self.shared.durable.store(durable.0, Ordering::Release);
        self.shared.tell();
    }
}

impl Shared {
    /// A failed write may have reached the disk or not: nothing after it can be trusted, so
    /// nobody who waits is ever told that it succeeded.
    fn poison(&self, error: &io::Error) {
        let durable = CommitNumber(self.durable.load(Ordering::Relaxed));
        let poisoned = Poisoned { durable, cause: error.to_string().into() };
        log::error!("{poisoned}");
        if self.poisoned.set(poisoned).is_err() {
            log::error!("the tranlog was poisoned twice");
        }
        self.tell();
    }

    fn tell(&self) {
        // Taken so that nobody is between looking at the number and going to sleep.
        drop(self.progress.lock());
        self.progressed.notify_all();
        for listener in self.listeners.read().iter() {
            listener();
        }
    }
}

/// How many of `records`, at least one, go into the next frame.
fn frame_length(records: &[Vec<u8>]) -> usize {
    let mut bytes = 0;
    records
        .iter()
        .take_while(|record| {
            let fits = bytes < FRAME_BYTES_TARGET;
            bytes += record.len();
            fits
        })
        .count()
}
