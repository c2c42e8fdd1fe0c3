//! The side of the commands: a stream from, and to, the server that runs on a data folder.

use super::client::AskError;
use super::line::LineError;
use crate::limits::ADMIN_STALL_MAX;
use serde_json::Value;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use wire::frames::{self, HEAD_BYTES, Kind};
use wire::limits::FRAME_BYTES_MAX;

/// What comes of a stream.
#[derive(Debug)]
pub enum Event {
    /// Bytes.
    Data(Vec<u8>),
    /// How far the server has come.
    Progress(Value),
    /// The result; nothing comes after it.
    End(Value),
}

/// A stream that a server answers with. Dropping it makes the server stop.
pub struct Streaming {
    socket: PathBuf,
    from: BufReader<UnixStream>,
}

impl Streaming {
    pub(super) fn new(socket: PathBuf, from: BufReader<UnixStream>) -> Result<Self, AskError> {
        let bounded = from
            .get_ref()
            .set_read_timeout(Some(ADMIN_STALL_MAX))
            .and_then(|()| from.get_ref().set_write_timeout(Some(ADMIN_STALL_MAX)));
        let streaming = Self { socket, from };
        bounded.map_err(|error| streaming.failed(error))?;
        Ok(streaming)
    }

    /// What comes next.
    pub fn next(&mut self) -> Result<Event, AskError> {
        let (kind, payload) = self.receive().map_err(|error| self.failed(error))?;
        let json = |payload: &[u8]| serde_json::from_slice(payload);
        let read = match kind {
            Kind::Data => return Ok(Event::Data(payload)),
            Kind::Error => {
                return Err(AskError::Refused(String::from_utf8_lossy(&payload).into_owned()));
            }
            Kind::Progress => json(&payload).map(Event::Progress),
            Kind::End => json(&payload).map(Event::End),
        };
        read.map_err(|error| self.failed(io::Error::new(ErrorKind::InvalidData, error)))
    }

    /// All of it, as one JSON text: for answers that take their time.
    pub fn whole(mut self) -> Result<Value, AskError> {
        let mut text = Vec::new();
        loop {
            match self.next()? {
                Event::Data(bytes) => text.extend(bytes),
                Event::Progress(_) => {}
                Event::End(_) => break,
            }
        }
        let read = serde_json::from_slice(&text);
        read.map_err(|error| self.failed(io::Error::new(ErrorKind::InvalidData, error)))
    }

    /// The way to the server, for another thread: it may have much to send while it has something
    /// to tell.
    pub fn sender(&self) -> Result<Sender, AskError> {
        let to = self.from.get_ref().try_clone().map_err(|error| self.failed(error))?;
        Ok(Sender { to })
    }

    fn receive(&mut self) -> io::Result<(Kind, Vec<u8>)> {
        let mut head = [0; HEAD_BYTES];
        self.from.read_exact(&mut head)?;
        let invalid = |error| io::Error::new(ErrorKind::InvalidData, error);
        let (kind, length) = frames::read_head(head).map_err(invalid)?;
        let mut payload = vec![0; length];
        self.from.read_exact(&mut payload)?;
        Ok((kind, payload))
    }

    fn failed(&self, error: io::Error) -> AskError {
        AskError::Line { socket: self.socket.clone(), source: LineError::Io(error) }
    }
}

/// See [`Streaming::sender`].
pub struct Sender {
    to: UnixStream,
}

impl Sender {
    /// Sends bytes.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        bytes.chunks(FRAME_BYTES_MAX).try_for_each(|part| self.frame(Kind::Data, part))
    }

    /// Says that there is no more.
    pub fn end(mut self) -> io::Result<()> {
        self.frame(Kind::End, b"")
    }

    /// Says that what was sent is not all, and nothing more will come.
    pub fn abandon(self) {
        let _gone = self.to.shutdown(std::net::Shutdown::Write);
    }

    fn frame(&mut self, kind: Kind, payload: &[u8]) -> io::Result<()> {
        let head = frames::head(kind, payload.len()).expect("whoever sends keeps to the bound");
        self.to.write_all(&head)?;
        self.to.write_all(payload)
    }
}
