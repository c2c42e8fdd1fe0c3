//! Many waits at the same time, each to within microseconds, by one timer of the kernel.

use crate::engine::Alarm;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::rc::Rc;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

/// Those who wait, on one thread.
#[derive(Clone, Default)]
pub(super) struct Delays {
    waits: Rc<RefCell<BinaryHeap<Reverse<Wait>>>>,
    earlier: Rc<Notify>,
}

struct Wait {
    at: Instant,
    wake: oneshot::Sender<()>,
}

impl PartialEq for Wait {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Wait {}

impl PartialOrd for Wait {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Wait {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

impl Delays {
    /// Waits until `at`; somebody must run [`Delays::attend`] meanwhile.
    pub(super) async fn wait(&self, at: Instant) {
        let (wake, woken) = oneshot::channel();
        let is_first = {
            let mut waits = self.waits.borrow_mut();
            waits.push(Reverse(Wait { at, wake }));
            waits.peek().is_some_and(|Reverse(first)| first.at == at)
        };
        if is_first {
            self.earlier.notify_one();
        }
        // Dropped only with everything else.
        let _woken = woken.await;
    }

    /// Wakes everybody at their time.
    pub(super) async fn attend(self) -> io::Result<()> {
        let alarm = Alarm::new()?;
        loop {
            let first = self.waits.borrow().peek().map(|Reverse(wait)| wait.at);
            match first {
                None => self.earlier.notified().await,
                Some(at) => {
                    tokio::select! {
                        woken = alarm.wait(at) => woken?,
                        () = self.earlier.notified() => {}
                    }
                }
            }
            let now = Instant::now();
            let mut waits = self.waits.borrow_mut();
            while waits.peek().is_some_and(|Reverse(wait)| wait.at <= now) {
                if let Some(Reverse(wait)) = waits.pop() {
                    // Whoever waited has gone away.
                    let _gone = wait.wake.send(());
                }
            }
        }
    }
}
