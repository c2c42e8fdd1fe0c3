//! Waiting, within a bound: what does not come to pass, and programs that do not end, fail their
//! test with what it waited for. No test waits for the bound to pass.

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::process::Child;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything takes that comes at all.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Looks again and again until there is something; if that does not come, fails with `what` it
/// waited for and what `told` gives, such as a server's log.
pub fn wait_for<T>(
    what: &str,
    told: impl Fn() -> String,
    mut look: impl FnMut() -> Option<T>,
) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited {PATIENCE:?} for {what}:\n{}", told());
        thread::sleep(Duration::from_millis(5));
    }
}

/// Kills a program that is still there after [`PATIENCE`], so that whoever reads from it or waits
/// for it goes on and fails. Dropping this takes it back.
pub struct Deadline {
    _met: Sender<()>,
}

impl Deadline {
    pub fn of(child: &Child, what: String) -> Self {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        // Names this process even when another has its number.
        let process = pidfd_open(pid, PidfdFlags::empty()).expect("the process is there");
        let (met, end) = channel();
        thread::spawn(move || {
            if end.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                eprintln!("killed, since it did not end within {PATIENCE:?}: {what}");
                // It may have ended just now.
                let _gone = pidfd_send_signal(&process, Signal::KILL);
            }
        });
        Self { _met: met }
    }
}
