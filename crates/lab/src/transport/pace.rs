//! What a user's line lets through: a bound of bytes a second in each direction, over all of its
//! connections together. The arithmetic is told the time and knows no clock; a connection that has
//! to wait sleeps until the next bytes are due.

use super::stream::Stream;
use crate::plan::Bandwidth;
use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// What may come at once after a pause: this time's share, as a queue before a line has it.
const BURST: Duration = Duration::from_millis(10);

/// The least that may: a packet, so that a slow line is not read byte by byte.
const BURST_BYTES_MIN: u64 = 1_460;

/// One direction: bytes become due at an even rate, and what is not used of them is kept up to a
/// burst.
#[derive(Debug)]
pub(crate) struct Pace {
    bytes_per_second: u64,
    burst: u64,
    /// When there was nothing left.
    empty_at: Instant,
}

impl Pace {
    /// A line that has been idle until `now`.
    pub(crate) fn new(bytes_per_second: u64, now: Instant) -> Self {
        let share = (bytes_per_second as f64 * BURST.as_secs_f64()) as u64;
        let burst = share.max(BURST_BYTES_MIN);
        let mut pace = Self { bytes_per_second, burst, empty_at: now };
        pace.empty_at = now.checked_sub(pace.time_of(burst)).unwrap_or(now);
        pace
    }

    /// How many of the `wanted` bytes may go now.
    ///
    /// # Errors
    /// None: when some may. That is a burst, if so many are wanted, lest they go one by one.
    pub(crate) fn allowed(&mut self, wanted: u64, now: Instant) -> Result<u64, Instant> {
        let full = self.time_of(self.burst);
        if now.saturating_duration_since(self.empty_at) > full {
            self.empty_at = now - full;
        }
        // In whole numbers, so that when a wait is over what was waited for is due.
        let saved = now.saturating_duration_since(self.empty_at).as_nanos();
        let due = (saved * u128::from(self.bytes_per_second) / 1_000_000_000) as u64;
        let least = wanted.min(self.burst);
        match due.min(self.burst) {
            due if due >= least => Ok(due.min(wanted)),
            _ => Err(self.empty_at + self.time_of(least)),
        }
    }

    /// So many bytes went.
    pub(crate) fn spend(&mut self, bytes: u64) {
        self.empty_at += self.time_of(bytes);
    }

    fn time_of(&self, bytes: u64) -> Duration {
        let nanoseconds = u128::from(bytes) * 1_000_000_000;
        let nanoseconds = nanoseconds.div_ceil(u128::from(self.bytes_per_second.max(1)));
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }
}

/// A user's line: both directions, each bound or not.
#[derive(Debug)]
pub(crate) struct Link {
    receive: Option<RefCell<Pace>>,
    send: Option<RefCell<Pace>>,
}

impl Link {
    /// Nothing if neither direction is bound.
    pub(crate) fn new(bandwidth: Bandwidth, now: Instant) -> Option<Rc<Self>> {
        let pace = |rate: Option<u64>| rate.map(|rate| RefCell::new(Pace::new(rate, now)));
        let (receive, send) = (pace(bandwidth.receive), pace(bandwidth.send));
        let is_bound = receive.is_some() || send.is_some();
        is_bound.then(|| Rc::new(Self { receive, send }))
    }
}

/// A connection on such a line.
pub(crate) struct Paced {
    pub(super) stream: Stream,
    link: Rc<Link>,
    /// Until the next bytes may be read, and written.
    reads: Pin<Box<Sleep>>,
    writes: Pin<Box<Sleep>>,
}

impl Paced {
    pub(crate) fn new(stream: Stream, link: Rc<Link>) -> Self {
        let sleep = || Box::pin(tokio::time::sleep_until(Instant::now()));
        Self { stream, link, reads: sleep(), writes: sleep() }
    }
}

/// Waits until some of the `wanted` bytes may go, and says how many.
fn poll_allowed(
    pace: &RefCell<Pace>,
    wanted: usize,
    sleep: &mut Pin<Box<Sleep>>,
    cx: &mut Context<'_>,
) -> Poll<usize> {
    loop {
        match pace.borrow_mut().allowed(wanted as u64, Instant::now()) {
            Ok(bytes) => return Poll::Ready(bytes as usize),
            Err(at) => sleep.as_mut().reset(at),
        }
        ready!(sleep.as_mut().poll(cx));
    }
}

impl AsyncRead for Paced {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, link, reads, .. } = self.get_mut();
        let Some(pace) = &link.receive else { return Pin::new(stream).poll_read(cx, buffer) };
        let wanted = buffer.remaining();
        let allowed = ready!(poll_allowed(pace, wanted, reads, cx)).min(wanted);
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(allowed));
        ready!(Pin::new(stream).poll_read(cx, &mut part))?;
        let bytes = part.filled().len();
        buffer.advance(bytes);
        pace.borrow_mut().spend(bytes as u64);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Paced {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self { stream, link, writes, .. } = self.get_mut();
        let Some(pace) = &link.send else { return Pin::new(stream).poll_write(cx, bytes) };
        let allowed = ready!(poll_allowed(pace, bytes.len(), writes, cx)).min(bytes.len());
        let written = ready!(Pin::new(stream).poll_write(cx, &bytes[..allowed]))?;
        pace.borrow_mut().spend(written as u64);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes as much as it may for a given time of a clock that only this moves, in pieces of at
    /// most `piece`; gives the bytes and how often it had to wait.
    fn taken(rate: u64, piece: u64, lasting: Duration) -> (u64, u64) {
        let start = Instant::now();
        let (mut pace, mut now) = (Pace::new(rate, start), start);
        let (mut bytes, mut waits) = (0, 0);
        while now <= start + lasting {
            match pace.allowed(piece, now) {
                Ok(allowed) => {
                    assert!((1..=piece).contains(&allowed), "{allowed}");
                    pace.spend(allowed);
                    bytes += allowed;
                    let most = rate as f64 * (now - start).as_secs_f64() + pace.burst as f64;
                    assert!(bytes as f64 <= most + 1.0, "{bytes} bytes after {:?}", now - start);
                }
                Err(at) => {
                    assert!(at > now, "no wait is empty");
                    now = at;
                    waits += 1;
                }
            }
        }
        (bytes, waits)
    }

    #[test]
    fn never_more_than_the_rate_and_one_burst_and_not_less_than_the_rate() {
        let lasting = Duration::from_secs(10);
        for rate in [125, 12_500, 125_000, 12_500_000, 1_250_000_000] {
            let burst = Pace::new(rate, Instant::now()).burst;
            for piece in [1_000, 65_536] {
                let (bytes, waits) = taken(rate, piece, lasting);
                // What is rounded up to whole nanoseconds is lost: at most one for each piece.
                let all = rate * 10;
                let lost =
                    all / 1_000 + rate * (waits + all / piece.min(burst) + 1) / 1_000_000_000;
                assert!(bytes + lost + burst >= all, "{rate}: {bytes} of {all}");
                assert!(waits <= all / piece.min(burst) + 2, "{rate}: {waits} waits");
            }
        }
    }

    #[test]
    fn what_was_not_used_is_kept_up_to_a_burst() {
        let start = Instant::now();
        let mut pace = Pace::new(1_000_000, start);
        assert_eq!(pace.burst, 10_000);
        let later = start + Duration::from_secs(60);
        assert_eq!(pace.allowed(1 << 20, later), Ok(10_000));
        pace.spend(10_000);
        let due = pace.allowed(1 << 20, later).unwrap_err();
        assert_eq!(due - later, BURST);
        // A few bytes need not wait for a burst.
        let due = pace.allowed(5, later).unwrap_err();
        assert_eq!(due - later, Duration::from_micros(5));
        assert_eq!(pace.allowed(5, due), Ok(5));
    }
}
