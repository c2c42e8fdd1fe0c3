//! A connection to a cache over which batches of commands go: all are written, then all answers
//! read. What is under way fits into the sockets' buffers, so that neither side waits for the other
//! to read.

use super::ReplayError;
use crate::limits::{ITEM_BYTES_MAX, TRACE_ANSWER_TIME_MAX};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use wire::memcached::reply::{self, Parsed, Reply};

/// Bytes that are read at once, at least.
const READ_BYTES: usize = 64 << 10;

pub(super) struct Connection {
    stream: TcpStream,
    /// Bytes that came and are not read yet, from `read` on.
    pending: Vec<u8>,
    read: usize,
}

/// What a command came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// A `get` found its item.
    Hit,
    /// A `get` found none.
    Miss,
    /// Anything that is no error.
    Done,
    /// An error.
    Refused,
}

impl Connection {
    pub fn open(server: &str) -> Result<Self, ReplayError> {
        let refused = |source| ReplayError::Connect { server: server.to_owned(), source };
        let mut addresses = server.to_socket_addrs().map_err(refused)?;
        let none = || std::io::Error::other("the name has no address");
        let address = addresses.next().ok_or_else(none).map_err(refused)?;
        let stream =
            TcpStream::connect_timeout(&address, TRACE_ANSWER_TIME_MAX).map_err(refused)?;
        let prepare = || {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(TRACE_ANSWER_TIME_MAX))?;
            stream.set_write_timeout(Some(TRACE_ANSWER_TIME_MAX))
        };
        prepare().map_err(refused)?;
        Ok(Self { stream, pending: Vec::new(), read: 0 })
    }

    pub fn write(&mut self, commands: &[u8]) -> Result<(), ReplayError> {
        self.stream.write_all(commands).map_err(ReplayError::Transport)
    }

    /// Reads all that belongs to one command.
    pub fn answer(&mut self) -> Result<Answer, ReplayError> {
        let mut is_hit = false;
        loop {
            match reply::parse(&self.pending[self.read..], ITEM_BYTES_MAX)? {
                Parsed::Incomplete(missing) => self.fill(missing)?,
                Parsed::Reply(reply, bytes) => {
                    let answer = match reply {
                        Reply::Value(_) => None,
                        Reply::End => Some(if is_hit { Answer::Hit } else { Answer::Miss }),
                        Reply::Error | Reply::ClientError(_) | Reply::ServerError(_) => {
                            Some(Answer::Refused)
                        }
                        _ => Some(Answer::Done),
                    };
                    self.read += bytes;
                    match answer {
                        Some(answer) => return Ok(answer),
                        None => is_hit = true,
                    }
                }
            }
        }
    }

    fn fill(&mut self, missing: usize) -> Result<(), ReplayError> {
        self.pending.drain(..self.read);
        self.read = 0;
        let length = self.pending.len();
        self.pending.resize(length + missing.max(READ_BYTES), 0);
        let count = self.stream.read(&mut self.pending[length..]);
        self.pending.truncate(length + count.as_ref().copied().unwrap_or(0));
        match count.map_err(ReplayError::Transport)? {
            0 => Err(ReplayError::Closed),
            _ => Ok(()),
        }
    }
}
