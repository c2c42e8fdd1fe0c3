//! How others reach a thread that sleeps in its event loop: with connections, with word that a
//! commit is durable, and with word to end.

use crate::connection::Connection;
use parking_lot::Mutex;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

/// One for each thread.
pub(crate) struct Bell {
    descriptor: OwnedFd,
    /// At most as many as may be open.
    arrivals: Mutex<Vec<Connection>>,
    /// Until when what is under way may finish, once the face ends.
    deadline: Mutex<Option<Instant>>,
    is_ending: AtomicBool,
    /// Connections of the thread, those included that are on their way to it.
    pub open: AtomicUsize,
}

impl Bell {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            descriptor: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
            arrivals: Mutex::default(),
            deadline: Mutex::default(),
            is_ending: AtomicBool::new(false),
            open: AtomicUsize::new(0),
        })
    }

    /// Wakes the thread.
    pub fn ring(&self) {
        // It fails only if it has been rung 2^64 - 2 times unheard: then it is awake all the same.
        let _ = rustix::io::write(&self.descriptor, &1_u64.to_ne_bytes());
    }

    /// For the thread: notes that it is awake.
    pub fn hear(&self) {
        // Nothing to read means that it was not rung.
        let _ = rustix::io::read(&self.descriptor, &mut [0; 8]);
    }

    pub fn deliver(&self, connection: Connection) {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.arrivals.lock().push(connection);
        self.ring();
    }

    pub fn arrivals(&self) -> Vec<Connection> {
        std::mem::take(&mut *self.arrivals.lock())
    }

    /// Has the thread end: by this time at the latest.
    pub fn end(&self, deadline: Instant) {
        *self.deadline.lock() = Some(deadline);
        self.is_ending.store(true, Ordering::Release);
        self.ring();
    }

    /// Until when what is under way may finish; none: the face goes on.
    pub fn deadline(&self) -> Option<Instant> {
        if self.is_ending.load(Ordering::Acquire) { *self.deadline.lock() } else { None }
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
