//! Request bodies: read whole, within a size, a time, and the memory that all bodies of a reactor
//! share.

use crate::http::framing::Framed;
use crate::limits;
use crate::problem::{Kind, Problem};
use crate::reactor::Reactor;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The memory that the request bodies of one reactor share.
pub(crate) struct Room {
    left_bytes: Rc<Cell<usize>>,
}

impl Room {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { left_bytes: Rc::new(Cell::new(bytes)) }
    }

    /// Bytes that are taken.
    pub(crate) fn used_bytes(&self) -> usize {
        limits::BODY_MEMORY_BYTES_MAX.saturating_sub(self.left_bytes.get())
    }

    pub(super) fn reserve_nothing(&self) -> Reserved {
        Reserved { left_bytes: Rc::clone(&self.left_bytes), bytes: 0 }
    }
}

/// A part of the room; given back when dropped.
pub(crate) struct Reserved {
    left_bytes: Rc<Cell<usize>>,
    bytes: usize,
}

impl Reserved {
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), Problem> {
        let left = self.left_bytes.get().checked_sub(bytes).ok_or_else(|| {
            Problem::new(Kind::Busy, "too many request bodies are being received; try again")
        })?;
        self.left_bytes.set(left);
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.left_bytes.set(self.left_bytes.get() + self.bytes);
    }
}

/// A body, whole.
pub(crate) struct Read {
    pub bytes: Bytes,
    /// To be kept as long as `bytes`.
    pub reserved: Reserved,
}

/// Reads `body` to its end and takes it out of the option; after a failure it is still there.
pub(crate) async fn read(body: &mut Option<Framed>, reactor: &Reactor) -> Result<Read, Problem> {
    let mut reserved = reactor.room.reserve_nothing();
    let Some(incoming) = body else {
        return Ok(Read { bytes: Bytes::new(), reserved });
    };
    // Before the first byte is asked for: a client that waits for 100 (Continue) need not send.
    check_size(incoming.size_hint().lower(), limits::BODY_BYTES_MAX as u64)?;
    let bytes = read_all(incoming, &mut reserved, reactor.timeouts.body).await?;
    *body = None;
    Ok(Read { bytes, reserved })
}

/// A body that comes in one piece, as most do, is not copied.
async fn read_all(
    body: &mut Framed,
    reserved: &mut Reserved,
    patience: Duration,
) -> Result<Bytes, Problem> {
    let mut first = Bytes::new();
    let mut joined = BytesMut::new();
    let mut arriving = Arriving::new(body, patience);
    while let Some(piece) = arriving.next().await? {
        check_size((reserved.bytes + piece.len()) as u64, limits::BODY_BYTES_MAX as u64)?;
        reserved.grow(piece.len())?;
        if first.is_empty() && joined.is_empty() {
            first = piece;
            continue;
        }
        joined.extend_from_slice(&std::mem::take(&mut first));
        joined.extend_from_slice(&piece);
    }
    Ok(if joined.is_empty() { first } else { joined.freeze() })
}

/// A body on its way, which must not take too long.
pub(crate) struct Arriving<'a> {
    body: &'a mut Framed,
    patience: Duration,
    /// By when all would have to be there, if nothing had come.
    until: Instant,
    bytes: u64,
}

impl<'a> Arriving<'a> {
    pub(crate) fn new(body: &'a mut Framed, patience: Duration) -> Self {
        Self { body, patience, until: Instant::now() + patience, bytes: 0 }
    }

    /// The next piece; `None`: that was all.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        loop {
            let late = self.until + earned(self.bytes);
            let frame = timeout_at(late, self.body.frame()).await;
            let Some(frame) = frame.map_err(|_| timed_out(self.patience))? else { return Ok(None) };
            // Trailer fields are for nobody here.
            if let Ok(piece) = frame.map_err(|error| broken(&error))?.into_data() {
                self.bytes += piece.len() as u64;
                return Ok(Some(piece));
            }
        }
    }

    /// Gives it more time: it was not waited for.
    pub(super) fn excuse(&mut self, time: Duration) {
        self.until += time;
    }
}

pub(super) fn check_size(bytes: u64, bytes_max: u64) -> Result<(), Problem> {
    if bytes <= bytes_max {
        return Ok(());
    }
    let detail = format!("a body of this kind has at most {bytes_max} bytes");
    Err(Problem::new(Kind::BodyTooLarge, detail))
}

fn broken(error: &hyper::Error) -> Problem {
    Problem::new(Kind::BrokenBody, format!("it ended early or is framed wrongly: {error}"))
}

/// The time that a body of which `bytes` have come may take for them.
fn earned(bytes: u64) -> Duration {
    Duration::from_secs(bytes / limits::BODY_BYTES_PER_S_MIN)
}

fn timed_out(patience: Duration) -> Problem {
    let seconds = patience.as_secs_f32();
    let rate = limits::BODY_BYTES_PER_S_MIN;
    let detail =
        format!("a body has to arrive within {seconds} s, and one s more for each {rate} bytes");
    Problem::new(Kind::BodyTimeout, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_taken_and_given_back() {
        let room = Room::new(100);
        let mut first = room.reserve_nothing();
        let mut second = room.reserve_nothing();
        assert!(first.grow(60).is_ok());
        let refused = second.grow(41).unwrap_err();
        assert_eq!(refused.kind, Kind::Busy);
        assert!(second.grow(40).is_ok(), "a refused growth takes nothing");
        drop(first);
        assert!(second.grow(60).is_ok());
        drop(second);
        assert_eq!(room.left_bytes.get(), 100);
    }

    #[test]
    fn what_has_come_earns_time() {
        assert_eq!(earned(0), Duration::ZERO);
        assert_eq!(earned(1 << 20), Duration::from_secs(64));
    }

    #[test]
    fn the_size_limit_itself_is_allowed() {
        assert!(check_size(8, 8).is_ok());
        let refused = check_size(9, 8).unwrap_err();
        assert_eq!(refused.kind, Kind::BodyTooLarge);
    }
}
