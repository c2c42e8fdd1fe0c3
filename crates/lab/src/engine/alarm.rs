//! Waking at a time, to within microseconds: the runtime's own timers know only whole milliseconds,
//! which would be part of every response time of the open model.

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::time::Duration;
use tokio::net::unix::pipe::Receiver;
use tokio::time::Instant;

/// A timer of the kernel.
pub(crate) struct Alarm {
    /// Read from as from a pipe: eight bytes when it has gone off (timerfd_create(2)).
    timer: Receiver,
}

impl Alarm {
    /// One that is not set. Must be made inside a runtime.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self { timer: Receiver::from_owned_fd_unchecked(timer)? })
    }

    /// Waits until `at`.
    pub(crate) async fn wait(&self, at: Instant) -> io::Result<()> {
        loop {
            let left = at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.set(left)?;
            self.timer.readable().await?;
            match self.timer.try_read(&mut [0; 8]) {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
    }

    fn set(&self, left: Duration) -> io::Result<()> {
        // A time of zero would disarm it.
        let seconds = i64::try_from(left.as_secs()).unwrap_or(i64::MAX);
        let it_value = Timespec { tv_sec: seconds, tv_nsec: i64::from(left.subsec_nanos().max(1)) };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        let time = Itimerspec { it_interval, it_value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &time)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn never_wakes_early() {
        let alarm = Alarm::new().unwrap();
        for microseconds in [0, 1, 50, 700, 3_000] {
            let at = Instant::now() + Duration::from_micros(microseconds);
            alarm.wait(at).await.unwrap();
            assert!(Instant::now() >= at);
        }
    }
}
