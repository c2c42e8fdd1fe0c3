//! The side of the commands: finds the server that runs on a data folder and asks it.

use super::line::{self, LineError};
use super::place;
use super::streaming::Streaming;
use crate::limits::{ADMIN_ANSWER_MAX, ADMIN_REPLY_BYTES_MAX, ADMIN_WRITE_MAX};
use serde_json::{Value, json};
use std::io::{self, BufReader, ErrorKind};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A connection to a server that runs.
pub struct Running {
    socket: PathBuf,
    stream: BufReader<UnixStream>,
}

/// Why a server could not be asked.
#[derive(Debug, Error)]
pub enum AskError {
    /// The socket is there and cannot be used.
    #[error("cannot ask the server by {}: {source}{}", socket.display(), hint(source))]
    Connect {
        /// Its path.
        socket: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The socket is somebody else's.
    #[error("cannot trust {}: {objection}", socket.display())]
    Place {
        /// Its path.
        socket: PathBuf,
        /// Why not.
        objection: String,
    },
    /// The server did not answer.
    #[error("the server did not answer by {}: {source}", socket.display())]
    Line {
        /// Its path.
        socket: PathBuf,
        /// What happened instead.
        source: LineError,
    },
    /// The server refused what it was asked; its words.
    #[error("{0}")]
    Refused(String),
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::PermissionDenied => "; only the user it runs as may, and root",
        _ => "",
    }
}

impl Running {
    /// The server that runs on the data folder; `None` if there is none: the repository can be
    /// opened by whoever asks, which fails where another process has it.
    pub fn find(folder: &Path) -> Result<Option<Self>, AskError> {
        let socket = folder.join(place::NAME);
        let failed = |source| AskError::Connect { socket: socket.clone(), source };
        let connected = place::with_path(folder, place::NAME, |path| UnixStream::connect(path));
        let stream = match connected {
            Ok(stream) => stream,
            // A server that was killed leaves its socket behind.
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(failed(error)),
        };
        if let Some(objection) = place::objection(folder).map_err(failed)? {
            return Err(AskError::Place { socket, objection });
        }
        let bounded = stream
            .set_read_timeout(Some(ADMIN_ANSWER_MAX))
            .and_then(|()| stream.set_write_timeout(Some(ADMIN_WRITE_MAX)));
        bounded.map_err(failed)?;
        Ok(Some(Self { socket, stream: BufReader::new(stream) }))
    }

    /// Asks for a stream, which takes up the connection.
    pub fn stream(mut self, command: &str, arguments: &Value) -> Result<Streaming, AskError> {
        let reply = self.converse(command, arguments)?;
        match reply.get("stream") {
            Some(_) => Streaming::new(self.socket, self.stream),
            None => Err(AskError::Refused(format!("expected a stream, got {reply}"))),
        }
    }

    /// Asks one thing and waits for the answer.
    pub fn ask(&mut self, command: &str, arguments: &Value) -> Result<Value, AskError> {
        Ok(self.converse(command, arguments)?["ok"].take())
    }

    fn converse(&mut self, command: &str, arguments: &Value) -> Result<Value, AskError> {
        let request = json!({ "command": command, "arguments": arguments });
        let asked = line::write(self.stream.get_mut(), &request);
        let reply = match asked {
            // A server that serves too many already has said so and closed; that can be read.
            Ok(()) => line::read(&mut self.stream, ADMIN_REPLY_BYTES_MAX),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                line::read(&mut self.stream, ADMIN_REPLY_BYTES_MAX)
            }
            Err(error) => Err(error.into()),
        };
        let ended = || LineError::Io(ErrorKind::UnexpectedEof.into());
        let reply = reply.and_then(|reply| reply.ok_or_else(ended));
        let socket = || self.socket.clone();
        let reply = reply.map_err(|source| AskError::Line { socket: socket(), source })?;
        match reply.get("error").and_then(Value::as_str) {
            Some(why) => Err(AskError::Refused(why.to_owned())),
            None => Ok(reply),
        }
    }
}
