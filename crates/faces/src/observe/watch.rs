//! The watch: a thread that looks a few times a second, for what no request should have to look
//! at itself.

use crate::limits;
use parking_lot::{Condvar, Mutex};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

/// The thread; ended when this is dropped.
pub(crate) struct Watch {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Calls `look` again and again.
    pub(crate) fn start(look: impl Fn() + Send + 'static) -> io::Result<Self> {
        let stop: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let watched = Arc::clone(&stop);
        let run = move || {
            let mut stopped = watched.0.lock();
            while !*stopped {
                watched.1.wait_for(&mut stopped, limits::WATCH_EVERY);
                if !*stopped {
                    drop(stopped);
                    look();
                    stopped = watched.0.lock();
                }
            }
        };
        let thread = std::thread::Builder::new().name("watch".to_owned()).spawn(run)?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        *self.stop.0.lock() = true;
        self.stop.1.notify_all();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            log::error!("the watch's thread had ended by a panic");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn it_looks_again_and_again_and_ends() {
        let (seen, looks) = mpsc::sync_channel(0);
        let watch = Watch::start(move || {
            let _nobody_waits = seen.send(());
        })
        .unwrap();
        looks.recv().unwrap();
        looks.recv().unwrap();
        // A look that waits for nobody any more ends, and with it the thread.
        drop(looks);
        drop(watch);
    }
}
