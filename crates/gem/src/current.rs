//! The application that is served now: one for all that read it. It changes as a whole, by
//! [`crate::Pool::reload`], and whoever holds the one before keeps it until it is done with.

use crate::app::App;
use parking_lot::Mutex;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The place of the application.
pub(crate) struct Current {
    app: Mutex<Arc<App>>,
    /// Grows with each change, after it.
    generation: AtomicU64,
}

impl Current {
    pub(crate) fn new(app: App) -> Self {
        Self { app: Mutex::new(Arc::new(app)), generation: AtomicU64::new(0) }
    }

    pub(crate) fn get(&self) -> Arc<App> {
        Arc::clone(&self.app.lock())
    }

    pub(crate) fn set(&self, app: App) {
        *self.app.lock() = Arc::new(app);
        self.generation.fetch_add(1, Ordering::Release);
    }
}

/// One thread's way to the application that is served: as long as that is the same, reading it
/// costs one load and shares nothing with other threads.
pub struct AppReader {
    current: Arc<Current>,
    seen: Cell<u64>,
    app: RefCell<Arc<App>>,
}

impl AppReader {
    pub(crate) fn new(current: Arc<Current>) -> Self {
        // In this order: a change in between is seen as one at the first reading.
        let seen = current.generation.load(Ordering::Acquire);
        let app = current.get();
        Self { current, seen: seen.into(), app: app.into() }
    }

    /// Calls `read` with the application that is served now. `read` must not come here again.
    pub fn with<T>(&self, read: impl FnOnce(&Arc<App>) -> T) -> T {
        let generation = self.current.generation.load(Ordering::Acquire);
        if generation != self.seen.get() {
            self.seen.set(generation);
            *self.app.borrow_mut() = self.current.get();
        }
        read(&self.app.borrow())
    }
}
