//! A stream on the admin socket, as both sides read and write it: frames that wait for the other
//! side, within a bound, and notice when the server is being stopped or the other side has gone.
//! What the bytes mean is the commands' business.

use crate::limits::{ADMIN_LOOK_EVERY, ADMIN_PROGRESS_EVERY, ADMIN_STALL_MAX};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use wire::frames::{self, HEAD_BYTES, Kind};
use wire::limits::FRAME_BYTES_MAX;

/// The other side of a stream. A write waits until the other side takes what is written, so a slow
/// one holds up whoever reads for it, and nothing piles up.
pub struct Exchange<'a> {
    from: RefCell<&'a mut BufReader<UnixStream>>,
    to: UnixStream,
    is_stopping: &'a AtomicBool,
    told: Cell<Option<Instant>>,
    /// The other side has said that there is no more.
    has_ended: Cell<bool>,
}

impl<'a> Exchange<'a> {
    /// On a connection that is known to speak frames from now on.
    pub fn new(
        from: &'a mut BufReader<UnixStream>,
        is_stopping: &'a AtomicBool,
    ) -> io::Result<Self> {
        let to = from.get_ref().try_clone()?;
        to.set_read_timeout(Some(ADMIN_LOOK_EVERY))?;
        to.set_write_timeout(Some(ADMIN_LOOK_EVERY))?;
        let from = RefCell::new(from);
        Ok(Self { from, to, is_stopping, told: Cell::new(None), has_ended: Cell::new(false) })
    }

    /// Sends bytes.
    pub fn data(&self, bytes: &[u8]) -> io::Result<()> {
        bytes.chunks(FRAME_BYTES_MAX).try_for_each(|part| self.send(Kind::Data, part))
    }

    /// Tells how far the work has come, but not more often than twice a second.
    pub fn progress(&self, now: impl FnOnce() -> Value) -> io::Result<()> {
        if self.told.get().is_some_and(|told| told.elapsed() < ADMIN_PROGRESS_EVERY) {
            return Ok(());
        }
        self.told.set(Some(Instant::now()));
        self.send(Kind::Progress, now().to_string().as_bytes())
    }

    /// Ends the stream with a result, or why there is none. What is too long is cut.
    pub fn end(&self, result: Result<&Value, &str>) -> io::Result<()> {
        match result {
            Ok(value) => match value.to_string() {
                text if text.len() <= FRAME_BYTES_MAX => self.send(Kind::End, text.as_bytes()),
                _ => self.send(Kind::Error, b"the answer is too long for a frame"),
            },
            Err(why) => self.send(Kind::Error, &why.as_bytes()[..why.len().min(FRAME_BYTES_MAX)]),
        }
    }

    /// The next frame.
    pub fn receive(&self) -> io::Result<(Kind, Vec<u8>)> {
        let mut head = [0; HEAD_BYTES];
        self.read(&mut head)?;
        let invalid = |error| io::Error::new(ErrorKind::InvalidData, error);
        let (kind, length) = frames::read_head(head).map_err(invalid)?;
        let mut payload = vec![0; length];
        self.read(&mut payload)?;
        Ok((kind, payload))
    }

    /// The bytes that the other side sends, until it says that there is no more.
    pub fn input(&self) -> Input<'_, 'a> {
        Input { exchange: self, bytes: Vec::new(), at: 0 }
    }

    /// Bytes to the other side, gathered into frames; flush what is last.
    pub fn output(&self) -> Output<'_, 'a> {
        Output { exchange: self, bytes: Vec::with_capacity(FRAME_BYTES_MAX) }
    }

    pub(super) fn send(&self, kind: Kind, payload: &[u8]) -> io::Result<()> {
        let head = frames::head(kind, payload.len()).expect("whoever sends keeps to the bound");
        self.write(&head)?;
        self.write(payload)
    }

    fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        let begun = Instant::now();
        while !bytes.is_empty() {
            match (&self.to).write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(error) => self.wait_on(error, begun)?,
            }
        }
        Ok(())
    }

    fn read(&self, mut into: &mut [u8]) -> io::Result<()> {
        let begun = Instant::now();
        while !into.is_empty() {
            match self.from.borrow_mut().read(into) {
                Ok(0) if self.is_stopping.load(Ordering::Acquire) => return Err(stopping()),
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => into = &mut into[count..],
                Err(error) => self.wait_on(error, begun)?,
            }
        }
        Ok(())
    }

    /// Whether to wait on after `error`, which may only say that the other side was not ready.
    fn wait_on(&self, error: io::Error, begun: Instant) -> io::Result<()> {
        match error.kind() {
            ErrorKind::Interrupted => Ok(()),
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                if self.is_stopping.load(Ordering::Acquire) {
                    Err(stopping())
                } else if begun.elapsed() > ADMIN_STALL_MAX {
                    let why = "the other side did nothing for 10 minutes";
                    Err(io::Error::new(ErrorKind::TimedOut, why))
                } else {
                    Ok(())
                }
            }
            _ => Err(error),
        }
    }
}

fn stopping() -> io::Error {
    io::Error::new(ErrorKind::ConnectionAborted, "the server is being stopped")
}

/// See [`Exchange::input`].
pub struct Input<'e, 'a> {
    exchange: &'e Exchange<'a>,
    bytes: Vec<u8>,
    at: usize,
}

impl Read for Input<'_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.bytes.len() {
            if self.exchange.has_ended.get() {
                return Ok(0);
            }
            match self.exchange.receive()? {
                (Kind::Data, bytes) => (self.bytes, self.at) = (bytes, 0),
                (Kind::End, _) => self.exchange.has_ended.set(true),
                (kind, _) => {
                    let why = format!("expected data or its end, got {kind:?}");
                    return Err(io::Error::new(ErrorKind::InvalidData, why));
                }
            }
        }
        let count = into.len().min(self.bytes.len() - self.at);
        into[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// See [`Exchange::output`].
pub struct Output<'e, 'a> {
    exchange: &'e Exchange<'a>,
    bytes: Vec<u8>,
}

impl Write for Output<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.exchange.is_stopping.load(Ordering::Acquire) {
            return Err(stopping());
        }
        let count = bytes.len().min(FRAME_BYTES_MAX - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..count]);
        if self.bytes.len() == FRAME_BYTES_MAX {
            self.flush()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.bytes.is_empty() {
            self.exchange.data(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }
}
