//! The feed of commits: what all reactors share of it, and what wakes those who read it. What an
//! event says is in `event`, how a stream is fed in `stream`, what a request asks for in
//! `http/feed`. `docs/feed.md` has it from the outside.

pub(crate) mod event;
pub(crate) mod stream;

use crate::limits::{FEED_MEMORY_BYTES_MAX, FEED_READERS_MAX};
use crate::mailbox::Bell;
use event::Rendered;
use parking_lot::Mutex;
use repository::{CommitNumber, LogRecord};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// What all reactors share.
pub(crate) struct Feeds {
    places: Arc<Semaphore>,
    rendered: Mutex<Recent>,
    pub figures: Figures,
}

/// What was counted since the start.
#[derive(Default)]
pub(crate) struct Figures {
    /// Commits told, each time.
    pub events: AtomicU64,
    /// Bytes of streams handed to connections.
    pub bytes: AtomicU64,
    /// Readers who asked for what was not kept any more.
    pub gone: AtomicU64,
}

/// Commits that were told lately: others who read are told the same.
#[derive(Default)]
struct Recent {
    commits: BTreeMap<CommitNumber, Arc<Rendered>>,
    bytes: usize,
}

impl Default for Feeds {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(FEED_READERS_MAX)),
            rendered: Mutex::default(),
            figures: Figures::default(),
        }
    }
}

impl Feeds {
    /// A place for one who reads; `None`: all are taken.
    pub(crate) fn enter(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// How many read.
    pub(crate) fn readers(&self) -> usize {
        FEED_READERS_MAX - self.places.available_permits()
    }

    /// What is told of a commit, if somebody was told it lately.
    pub(crate) fn known(&self, number: CommitNumber) -> Option<Arc<Rendered>> {
        self.rendered.lock().commits.get(&number).cloned()
    }

    /// What is told of a commit. `Err`: it cannot be read.
    pub(crate) fn render(&self, record: &LogRecord) -> Result<Arc<Rendered>, String> {
        if let Some(known) = self.known(record.number) {
            return Ok(known);
        }
        let rendered = Arc::new(Rendered::of(&record.decode()?));
        self.rendered.lock().keep(record.number, &rendered);
        Ok(rendered)
    }

    pub(crate) fn count(&self, events: u64, bytes: usize) {
        self.figures.events.fetch_add(events, Ordering::Relaxed);
        self.figures.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn count_gone(&self) {
        self.figures.gone.fetch_add(1, Ordering::Relaxed);
    }
}

impl Recent {
    /// The oldest go first: most readers are where the newest are.
    fn keep(&mut self, number: CommitNumber, rendered: &Arc<Rendered>) {
        if rendered.bytes() > FEED_MEMORY_BYTES_MAX / 2 {
            return;
        }
        self.bytes += rendered.bytes();
        if let Some(before) = self.commits.insert(number, Arc::clone(rendered)) {
            self.bytes -= before.bytes();
        }
        while self.bytes > FEED_MEMORY_BYTES_MAX {
            let Some((_, oldest)) = self.commits.pop_first() else { return };
            self.bytes -= oldest.bytes();
        }
    }
}

/// What wakes the readers of one reactor: the repository's writer rings once, however many there
/// are. `mailbox` has the argument that nobody is left waiting.
#[derive(Default)]
pub(crate) struct News {
    bell: Arc<Bell>,
    told: Notify,
    is_over: Cell<bool>,
}

impl News {
    /// For the repository's writer.
    pub(crate) fn bell(&self) -> Arc<Bell> {
        Arc::clone(&self.bell)
    }

    /// The reactor's task.
    pub(crate) async fn run(&self) {
        loop {
            self.bell.rung().await;
            self.told.notify_waiters();
        }
    }

    /// The reactor ends: nobody waits any more.
    pub(crate) fn end(&self) {
        self.is_over.set(true);
        self.told.notify_waiters();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// Waits for more than there was when `look` was called last, and gives what it gives then.
    pub(crate) async fn next<T>(&self, mut look: impl FnMut() -> Option<T>) -> T {
        loop {
            let mut told = std::pin::pin!(self.told.notified());
            told.as_mut().enable();
            self.bell.ask();
            // Looked at after it was asked for: what comes now rings.
            if let Some(found) = look() {
                return found;
            }
            told.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn memory_of_what_was_told_is_bounded_and_shared() {
        let mut recent = Recent::default();
        let one = Arc::new(Rendered::with_bytes(FEED_MEMORY_BYTES_MAX / 4));
        for number in (1..100).map(CommitNumber) {
            recent.keep(number, &one);
            recent.keep(number, &one);
            assert!(recent.bytes <= FEED_MEMORY_BYTES_MAX);
        }
        assert!(recent.commits.contains_key(&CommitNumber(99)));
        let large = Arc::new(Rendered::with_bytes(FEED_MEMORY_BYTES_MAX));
        recent.keep(CommitNumber(100), &large);
        assert!(!recent.commits.contains_key(&CommitNumber(100)));
    }

    #[test]
    fn a_record_that_cannot_be_read_is_an_error() {
        let record = LogRecord { number: CommitNumber(1), record: Bytes::from_static(b"no") };
        assert!(Feeds::default().render(&record).is_err());
    }

    #[test]
    fn there_are_so_many_places() {
        let feeds = Feeds::default();
        let places: Vec<_> = (0..FEED_READERS_MAX).map(|_| feeds.enter().unwrap()).collect();
        assert!(feeds.enter().is_none());
        assert_eq!(feeds.readers(), FEED_READERS_MAX);
        drop(places);
        assert_eq!(feeds.readers(), 0);
    }
}
