//! What is counted of connections, and what all threads of a face share.

use crate::bell::Bell;
use crate::face::Limits;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// What all threads of a face share.
pub(crate) struct Shared {
    pub limits: Limits,
    pub begun: Instant,
    pub counts: Counts,
    /// One for each thread.
    pub bells: Vec<Arc<Bell>>,
    pub traffic: Vec<Traffic>,
    /// Memory that connections keep, in bytes.
    pub kept_bytes: AtomicUsize,
    pub open: AtomicUsize,
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
    /// Connections that were closed because they were idle for too long.
    pub idle_closed: u64,
}

impl Shared {
    pub fn new(limits: Limits, bells: Vec<Arc<Bell>>) -> Self {
        Self {
            limits,
            traffic: bells.iter().map(|_| Traffic::default()).collect(),
            bells,
            begun: Instant::now(),
            counts: Counts::default(),
            kept_bytes: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
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
            kept_bytes: self.kept_bytes.load(Ordering::Relaxed) as u64,
            memory_closed: load(&self.counts.memory_closed),
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
