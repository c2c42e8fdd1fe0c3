//! A few threads that perform asides of one sort, with a bounded queue before them. They are
//! started when there is something to do, so an application that awaits nothing has none.

use crate::queue::{Popped, Queue};
use crate::worker::panic_text;
use parking_lot::Mutex;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// How many threads there may be, and how many tasks may wait for them.
pub(crate) struct Bounds {
    pub(crate) threads: usize,
    pub(crate) queue: usize,
}

/// The threads; `T` is a task.
pub(crate) struct Crew<T> {
    name: &'static str,
    threads_max: usize,
    perform: fn(T),
    queue: Arc<Queue<T>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl<T: Send + 'static> Crew<T> {
    /// A crew whose threads are called `name` and call `perform`, which does not panic.
    pub(crate) fn new(name: &'static str, bounds: Bounds, perform: fn(T)) -> Self {
        let queue = Arc::new(Queue::new(bounds.queue));
        Self { name, threads_max: bounds.threads, perform, queue, threads: Mutex::default() }
    }

    /// Queues `task`; gives it back if the queue is full or no thread can be started.
    pub(crate) fn take(&self, task: T) -> Result<(), T> {
        if !self.is_manned() {
            return Err(task);
        }
        self.queue.push(task)
    }

    /// Starts one thread more if there may be one.
    fn is_manned(&self) -> bool {
        let mut threads = self.threads.lock();
        if threads.len() < self.threads_max {
            let (queue, perform) = (Arc::clone(&self.queue), self.perform);
            let work = move || {
                // Nothing is ever told to have changed here.
                while let Popped::Item(task) = queue.pop(0) {
                    perform(task);
                }
            };
            let name = format!("{}-{}", self.name, threads.len());
            match thread::Builder::new().name(name).spawn(work) {
                Ok(thread) => threads.push(thread),
                Err(error) => log::error!("cannot start a thread for {}: {error}", self.name),
            }
        }
        !threads.is_empty()
    }
}

impl<T> Crew<T> {
    /// Finishes what is queued and ends the threads.
    pub(crate) fn stop(&self) {
        self.queue.close();
        for thread in self.threads.lock().drain(..) {
            if let Err(panic) = thread.join() {
                log::error!("a thread of {} ended in a panic: {}", self.name, panic_text(&*panic));
            }
        }
    }
}

impl<T> Drop for Crew<T> {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// A task says that it began, and ends when it is told to.
    type Task = (Sender<()>, Receiver<()>);

    #[test]
    fn threads_and_queue_are_bounded_and_what_is_queued_is_finished() {
        let perform = |(began, end): Task| {
            began.send(()).unwrap();
            end.recv().unwrap();
        };
        let crew = Crew::new("test", Bounds { threads: 2, queue: 1 }, perform);
        let (began, beginnings) = channel();
        let mut ends = Vec::new();
        let mut give = || {
            let (end, ended) = channel();
            ends.push(end);
            crew.take((began.clone(), ended))
        };
        for _ in 0..2 {
            assert!(give().is_ok());
            beginnings.recv().unwrap();
        }
        assert!(give().is_ok(), "one waits");
        assert!(give().is_err(), "and no more");
        assert!(beginnings.try_recv().is_err(), "it has not begun: both threads are busy");
        for end in ends {
            // The task that was refused is gone.
            let _ = end.send(());
        }
        crew.stop();
        assert!(beginnings.try_recv().is_ok(), "what was queued was performed");
    }
}
