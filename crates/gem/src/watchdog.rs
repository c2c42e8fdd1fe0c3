//! The watchdog: looks a few times a second whether a worker is at something that uses more CPU
//! time than it may and does not stop. The engine asks for the limit at loops and calls of a
//! script, but not within its own functions (sorting, joining, long numbers), and only at each ten
//! thousandth of them. Such a worker loses its seat: its request is answered, another worker takes
//! its place, and its thread goes on at the lowest priority until it ends by itself.

use crate::limits::{LOST_WORKERS_MAX, WATCHDOG_EVERY, WATCHDOG_GRACE};
use crate::workforce::Workforce;
use parking_lot::{Condvar, Mutex};
use rustix::process::{Pid, setpriority_process};
use std::fs;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Its thread; ended when this is dropped.
pub(crate) struct Watchdog {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

/// What was seen of a seat at the last look.
#[derive(Clone, Copy, Default)]
struct Seen {
    running: u64,
    /// The thread's CPU time when `running` was first seen to last.
    cpu: Option<Duration>,
}

impl Watchdog {
    pub(crate) fn start(workforce: Arc<Workforce>) -> std::io::Result<Self> {
        let stop: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let watched = Arc::clone(&stop);
        let run = move || {
            let mut seen = Vec::new();
            let mut stopped = watched.0.lock();
            while !*stopped {
                watched.1.wait_for(&mut stopped, WATCHDOG_EVERY);
                if !*stopped {
                    drop(stopped);
                    look(&workforce, &mut seen);
                    stopped = watched.0.lock();
                }
            }
        };
        let thread = thread::Builder::new().name("gem-watchdog".to_owned()).spawn(run)?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        *self.stop.0.lock() = true;
        self.stop.1.notify_all();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            log::error!("the watchdog's thread had ended by a panic");
        }
    }
}

/// A request that is over by the next look costs nothing here but a load.
fn look(workforce: &Workforce, seen: &mut Vec<Seen>) {
    let seats = workforce.seats();
    seen.resize(seats.len(), Seen::default());
    for (place, (seat, seen)) in seats.iter().zip(seen).enumerate() {
        let Some((running, route)) = seat.running() else { continue };
        if running != seen.running {
            *seen = Seen { running, cpu: None };
            continue;
        }
        let Some(now) = cpu_time(seat.thread()) else { continue };
        let begun = *seen.cpu.get_or_insert(now);
        let limit = workforce.cpu_limit();
        // What gets slower as it goes on (looking for names that hash alike) is interrupted at
        // ever longer intervals, but before it has used its limit a second time.
        let is_over = now.saturating_sub(begun) >= 2 * limit + WATCHDOG_GRACE;
        if !is_over || workforce.lost() >= LOST_WORKERS_MAX {
            continue;
        }
        if let Some(respond) = seat.take(running) {
            // What its successor does is numbered from the beginning again.
            *seen = Seen::default();
            lower(seat.thread());
            workforce.replace((place, seat), route, respond);
        }
    }
}

/// The CPU time of a thread of this process (proc(5), "schedstat"): nanoseconds come first.
fn cpu_time(thread: i32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
    Some(Duration::from_nanos(text.split_ascii_whitespace().next()?.parse().ok()?))
}

/// Leaves the processors to others. On Linux the priority of a "process" is that of one thread
/// (setpriority(2), "C library/kernel differences").
fn lower(thread: i32) {
    const LOWEST: i32 = 19;
    let lowered = Pid::from_raw(thread).map(|thread| setpriority_process(Some(thread), LOWEST));
    if let Some(Err(error)) = lowered {
        log::warn!("the priority of a lost worker cannot be lowered: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threads_cpu_time_grows() {
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        let before = cpu_time(own).unwrap();
        while cpu_time(own).unwrap() == before {}
        assert_eq!(cpu_time(0), None);
    }
}
