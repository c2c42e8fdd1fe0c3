//! A thread that goes on only while it has the baton, from one call of a disk to the next: so it
//! is interleaved with the steps of a world, in the same way for the same seed.

use crate::disk::SimDisk;
use repository::parts::{Disk, DiskFile, DiskRoom, Lock};
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, ThreadId};

#[derive(Debug, Default)]
struct State {
    /// The thread that has begun and not ended.
    runner: Option<ThreadId>,
    /// Whether it is its turn.
    is_running: bool,
}

/// Who may go on.
#[derive(Debug, Default)]
pub struct Baton {
    state: Mutex<State>,
    changed: Condvar,
}

impl Baton {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic is a finding that ends the run.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next turn; nothing for whoever is not the one that takes turns.
    pub fn pause(&self) {
        let mut state = self.lock();
        if state.runner != Some(thread::current().id()) {
            return;
        }
        state.is_running = false;
        self.changed.notify_all();
        drop(state);
        self.wait();
    }

    fn wait(&self) {
        drop(self.changed.wait_while(self.lock(), |state| !state.is_running));
    }

    /// Lets it go on to its next pause, or its end; whether it has ended.
    fn pass(&self) -> bool {
        let mut state = self.lock();
        if state.runner.is_none() {
            return true;
        }
        state.is_running = true;
        self.changed.notify_all();
        let state = self.changed.wait_while(state, |state| state.is_running);
        state.unwrap_or_else(PoisonError::into_inner).runner.is_none()
    }
}

/// What a thread gives back, even if it panics.
struct Turn(Arc<Baton>);

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        *state = State::default();
        self.0.changed.notify_all();
    }
}

/// Work on a thread that takes turns.
pub struct Runner<T> {
    baton: Arc<Baton>,
    /// None once it was joined.
    thread: Option<JoinHandle<T>>,
}

impl<T: Send + 'static> Runner<T> {
    /// Begins work, which waits for its first turn.
    pub fn new(baton: &Arc<Baton>, work: impl FnOnce() -> T + Send + 'static) -> Self {
        let turn = Turn(Arc::clone(baton));
        let mut state = baton.lock();
        let thread = thread::spawn(move || {
            turn.0.wait();
            let done = work();
            drop(turn);
            done
        });
        state.runner = Some(thread.thread().id());
        drop(state);
        Self { baton: Arc::clone(baton), thread: Some(thread) }
    }

    /// Gives it a turn. What it has done, if it has ended.
    pub fn turn(&mut self) -> Option<thread::Result<T>> {
        if !self.baton.pass() {
            return None;
        }
        self.thread.take().map(JoinHandle::join)
    }

    /// Gives it turns until it has ended.
    pub fn finish(mut self) -> thread::Result<T> {
        loop {
            if let Some(ended) = self.turn() {
                return ended;
            }
        }
    }
}

/// A disk on which each call of the thread with the baton waits for its turn.
pub struct PausingDisk {
    /// The disk.
    pub disk: SimDisk,
    /// See the module.
    pub baton: Arc<Baton>,
}

struct PausingFile {
    file: Box<dyn DiskFile>,
    baton: Arc<Baton>,
}

impl PausingDisk {
    fn file(&self, file: io::Result<Box<dyn DiskFile>>) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(PausingFile { file: file?, baton: Arc::clone(&self.baton) }))
    }
}

impl Disk for PausingDisk {
    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        self.baton.pause();
        self.disk.create_folder(folder)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.baton.pause();
        self.disk.sync_folder(folder)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.baton.pause();
        self.disk.names(folder)
    }

    fn length(&self, file: &Path) -> io::Result<u64> {
        self.baton.pause();
        self.disk.length(file)
    }

    fn read(&self, file: &Path, at: u64, bytes: u64) -> io::Result<Vec<u8>> {
        self.baton.pause();
        self.disk.read(file, at, bytes)
    }

    fn create(&self, file: &Path) -> io::Result<Box<dyn DiskFile>> {
        self.baton.pause();
        self.file(self.disk.create(file))
    }

    fn open(&self, file: &Path) -> io::Result<Box<dyn DiskFile>> {
        self.baton.pause();
        self.file(self.disk.open(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.baton.pause();
        self.disk.rename(from, to)
    }

    fn remove(&self, file: &Path) -> io::Result<()> {
        self.baton.pause();
        self.disk.remove(file)
    }

    fn room(&self, folder: &Path) -> io::Result<DiskRoom> {
        self.baton.pause();
        self.disk.room(folder)
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        self.baton.pause();
        self.disk.remove_folder(folder)
    }

    fn lock(&self, file: &Path) -> io::Result<Lock> {
        self.baton.pause();
        self.disk.lock(file)
    }
}

impl DiskFile for PausingFile {
    fn write(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.baton.pause();
        self.file.write(bytes, at)
    }

    fn write_synced(&self, blocks: &[u8], at: u64) -> io::Result<()> {
        self.baton.pause();
        self.file.write_synced(blocks, at)
    }

    fn sync(&self) -> io::Result<()> {
        self.baton.pause();
        self.file.sync()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn a_runner_goes_from_pause_to_pause() {
        let (baton, count) = (Arc::new(Baton::default()), Arc::new(AtomicU64::new(0)));
        let (counted, paused) = (Arc::clone(&count), Arc::clone(&baton));
        let mut runner = Runner::new(&baton, move || {
            for _ in 0..3 {
                counted.fetch_add(1, Ordering::Relaxed);
                paused.pause();
            }
            "done"
        });
        for turn in 1..4 {
            assert!(runner.turn().is_none());
            assert_eq!(count.load(Ordering::Relaxed), turn);
            // Whoever takes no turns does not wait.
            baton.pause();
        }
        assert_eq!(runner.turn().expect("it has ended").expect("no panic"), "done");
        let runner = Runner::new(&baton, || panic!("on purpose"));
        assert!(runner.finish().is_err());
    }
}
