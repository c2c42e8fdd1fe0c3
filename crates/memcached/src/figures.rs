//! What is counted of connections, and what all threads of a face share.

use crate::bell::Bell;
use crate::face::Limits;
use crate::memory::Memory;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// What all threads of a face share.
pub(crate) struct Shared {
    pub limits: Limits,
    pub begun: Instant,
    /// Seconds since 1970, a minute before the face began, as memcached has it: its own clock must
    /// never be at 0.
    pub begun_at: i64,
    pub counts: Counts,
    /// One for each thread.
    pub bells: Vec<Arc<Bell>>,
    pub traffic: Vec<Traffic>,
    /// Memory that connections keep.
    pub memory: Memory,
    pub open: AtomicUsize,
    /// Whether connections are accepted: there are descriptors for them.
    pub is_accepting: AtomicBool,
    connections: Mutex<BTreeMap<u64, Arc<ConnectionFigures>>>,
    /// As they were when `stats reset` came last.
    before_reset: Mutex<FaceFigures>,
}

/// What only grows, but for `stats reset`.
#[derive(Default)]
pub(crate) struct Counts {
    pub accepted: AtomicU64,
    pub rejected: AtomicU64,
    pub idle_closed: AtomicU64,
    /// Connections that were closed because all together kept too much.
    pub memory_closed: AtomicU64,
    /// Of those, the ones whose answers could not be kept.
    pub answers_closed: AtomicU64,
    /// Values that were refused for the same reason.
    pub values_refused: AtomicU64,
    /// Times that a connection had to wait for room for its answers.
    pub yields: AtomicU64,
    /// Times that accepting failed for want of descriptors or memory and paused,
    pub accept_failures: AtomicU64,
    /// for so long together, in microseconds.
    pub accept_paused_us: AtomicU64,
}

/// What one thread has received and sent. Nobody else writes there, nor to what is near it.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Traffic {
    received: AtomicU64,
    sent: AtomicU64,
}

impl Traffic {
    pub fn received(&self, bytes: usize) {
        Self::add(&self.received, bytes);
    }

    pub fn sent(&self, bytes: usize) {
        Self::add(&self.sent, bytes);
    }

    fn add(count: &AtomicU64, bytes: usize) {
        count.store(count.load(Ordering::Relaxed) + bytes as u64, Ordering::Relaxed);
    }
}

/// What `stats conns` tells of one connection.
pub(crate) struct ConnectionFigures {
    pub number: u64,
    /// Of the client, and where it came.
    pub peer: String,
    pub place: String,
    /// When something was last received, in seconds since the face began.
    pub used: AtomicU32,
}

/// What is told of a face in metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaceFigures {
    /// Open connections.
    pub connections: u64,
    /// Connections that were accepted.
    pub accepted: u64,
    /// Connections that were turned away: as many were open as may be.
    pub rejected: u64,
    /// Bytes that were received.
    pub bytes_received: u64,
    /// Bytes that were sent.
    pub bytes_sent: u64,
    /// Memory that connections keep for what they sent and what they do not take, in bytes.
    pub kept_bytes: u64,
    /// Connections that were closed because all together kept too much.
    pub memory_closed: u64,
    /// Of those, the ones whose answers could not be kept.
    pub answers_closed: u64,
    /// Values that were refused because all together kept too much.
    pub values_refused: u64,
    /// Times that a connection had to wait for room for its answers.
    pub yields: u64,
    /// Times that accepting failed for want of descriptors or memory and paused.
    pub accept_failures: u64,
    /// How long those pauses were together, in microseconds.
    pub accept_paused_us: u64,
    /// Connections that were closed because they were idle for too long.
    pub idle_closed: u64,
}

/// memcached's `ITEM_UPDATE_INTERVAL` and two.
const BEGUN_BEFORE_S: i64 = 62;

/// Seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Shared {
    pub fn new(limits: Limits, bells: Vec<Arc<Bell>>) -> Self {
        Self {
            limits,
            traffic: bells.iter().map(|_| Traffic::default()).collect(),
            bells,
            begun: Instant::now(),
            begun_at: unix_seconds() as i64 - BEGUN_BEFORE_S,
            counts: Counts::default(),
            memory: Memory::new(limits.buffer_bytes),
            open: AtomicUsize::new(0),
            is_accepting: AtomicBool::new(true),
            connections: Mutex::default(),
            before_reset: Mutex::default(),
        }
    }

    /// Seconds since the face began.
    pub fn seconds(&self) -> u32 {
        u32::try_from(self.begun.elapsed().as_secs()).unwrap_or(u32::MAX)
    }

    pub fn enter(&self, peer: String, place: String) -> Arc<ConnectionFigures> {
        self.open.fetch_add(1, Ordering::Relaxed);
        let used = AtomicU32::new(self.seconds());
        let number = self.counts.accepted.load(Ordering::Relaxed);
        let figures = Arc::new(ConnectionFigures { number, peer, place, used });
        self.connections.lock().insert(number, Arc::clone(&figures));
        figures
    }

    pub fn leave(&self, figures: &ConnectionFigures) {
        self.connections.lock().remove(&figures.number);
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    pub fn connections(&self) -> Vec<Arc<ConnectionFigures>> {
        self.connections.lock().values().cloned().collect()
    }

    pub fn read(&self) -> FaceFigures {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        FaceFigures {
            connections: self.open.load(Ordering::Relaxed) as u64,
            accepted: load(&self.counts.accepted),
            rejected: load(&self.counts.rejected),
            bytes_received: self.traffic.iter().map(|one| load(&one.received)).sum(),
            bytes_sent: self.traffic.iter().map(|one| load(&one.sent)).sum(),
            kept_bytes: self.memory.used() as u64,
            memory_closed: load(&self.counts.memory_closed),
            answers_closed: load(&self.counts.answers_closed),
            values_refused: load(&self.counts.values_refused),
            yields: load(&self.counts.yields),
            accept_failures: load(&self.counts.accept_failures),
            accept_paused_us: load(&self.counts.accept_paused_us),
            idle_closed: load(&self.counts.idle_closed),
        }
    }

    /// What `stats` tells: counts begin again with `stats reset`.
    pub fn since_reset(&self) -> FaceFigures {
        let (now, before) = (self.read(), self.before_reset.lock());
        FaceFigures {
            accepted: now.accepted - before.accepted,
            rejected: now.rejected - before.rejected,
            bytes_received: now.bytes_received - before.bytes_received,
            bytes_sent: now.bytes_sent - before.bytes_sent,
            memory_closed: now.memory_closed - before.memory_closed,
            answers_closed: now.answers_closed - before.answers_closed,
            values_refused: now.values_refused - before.values_refused,
            yields: now.yields - before.yields,
            accept_failures: now.accept_failures - before.accept_failures,
            accept_paused_us: now.accept_paused_us - before.accept_paused_us,
            idle_closed: now.idle_closed - before.idle_closed,
            ..now
        }
    }

    pub fn reset(&self) {
        *self.before_reset.lock() = self.read();
    }
}

/// Adds to a count.
pub(crate) fn count(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}
