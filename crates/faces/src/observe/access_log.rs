//! The access log: a line of JSON for each request. A reactor writes its lines into a buffer of its
//! own and hands full buffers to one thread, which is the only one that touches the file. Where
//! that thread falls behind, lines are left out and counted; nobody waits for a log.

use crate::limits;
use serde_json::json;
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

mod line;

pub(crate) use line::Entry;

/// Where the access log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessLogTarget {
    /// The standard output.
    Stdout,
    /// A file, which is appended to and made if missing.
    File(PathBuf),
}

/// Lines on their way to the writer.
struct Lines {
    text: Vec<u8>,
    count: u64,
}

/// A reactor's end of the log. Cheap where there is no log.
pub(crate) struct AccessLog {
    to_writer: Option<SyncSender<Lines>>,
    buffer: RefCell<Lines>,
    drops: Arc<AtomicU64>,
}

impl AccessLog {
    /// Whether requests are to be described.
    pub(crate) fn is_on(&self) -> bool {
        self.to_writer.is_some()
    }

    /// Adds a request's line.
    pub(crate) fn write(&self, entry: &Entry<'_>) {
        let mut buffer = self.buffer.borrow_mut();
        entry.write(&mut buffer.text);
        buffer.count += 1;
        let is_full = buffer.text.len() >= limits::ACCESS_LOG_BUFFER_BYTES;
        drop(buffer);
        if is_full {
            self.flush();
        }
    }

    /// Hands over what has come together. Called from time to time, so that a line of a quiet
    /// server does not stay in the buffer.
    pub(crate) fn flush(&self) {
        let Some(to_writer) = &self.to_writer else { return };
        let mut buffer = self.buffer.borrow_mut();
        if buffer.count == 0 {
            return;
        }
        let empty = Lines { text: Vec::with_capacity(buffer.text.len()), count: 0 };
        let lines = std::mem::replace(&mut *buffer, empty);
        if let Err(TrySendError::Full(lines) | TrySendError::Disconnected(lines)) =
            to_writer.try_send(lines)
        {
            self.drops.fetch_add(lines.count, Ordering::Relaxed);
        }
    }
}

impl Drop for AccessLog {
    fn drop(&mut self) {
        self.flush();
    }
}

/// The thread that writes. It ends once the reactors' ends are gone and all they gave is written.
pub(crate) struct LogWriter {
    to_writer: Option<SyncSender<Lines>>,
    drops: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl LogWriter {
    /// Opens `target`. `reopen` is set by whoever wants the file to be opened again, as after
    /// SIGHUP; `drops` counts the lines that were left out.
    pub(crate) fn start(
        target: Option<&AccessLogTarget>,
        reopen: Arc<AtomicBool>,
        drops: Arc<AtomicU64>,
    ) -> io::Result<Self> {
        let Some(target) = target else {
            return Ok(Self { to_writer: None, drops, thread: None });
        };
        let sink = Sink::open(target)?;
        let (to_writer, lines) = sync_channel(limits::ACCESS_LOG_BUFFERS_MAX);
        let mut writer = Writer {
            sink,
            reopen,
            drops: Arc::clone(&drops),
            said: 0,
            failing: false,
            is_lost: false,
        };
        let thread = std::thread::Builder::new()
            .name("access-log".to_owned())
            .spawn(move || writer.run(&lines))?;
        Ok(Self { to_writer: Some(to_writer), drops, thread: Some(thread) })
    }

    /// An end for a reactor.
    pub(crate) fn end(&self) -> AccessLog {
        let buffer = RefCell::new(Lines { text: Vec::new(), count: 0 });
        AccessLog { to_writer: self.to_writer.clone(), buffer, drops: Arc::clone(&self.drops) }
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.to_writer = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            log::error!("the access log's thread had ended by a panic");
        }
    }
}

/// What lines are written to.
enum Sink {
    Stdout,
    File { path: PathBuf, file: File },
}

impl Sink {
    fn open(target: &AccessLogTarget) -> io::Result<Self> {
        Ok(match target {
            AccessLogTarget::Stdout => Self::Stdout,
            AccessLogTarget::File(path) => Self::File { path: path.clone(), file: open(path)? },
        })
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        match self {
            Self::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(text)?;
                stdout.flush()
            }
            Self::File { file, .. } => file.write_all(text),
        }
    }

    /// Whether the file was moved or removed: then the name means another one.
    fn is_moved(&self) -> bool {
        let Self::File { path, file } = self else { return false };
        let same =
            |a: std::fs::Metadata, b: std::fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
        match (file.metadata(), std::fs::metadata(path)) {
            (Ok(open), Ok(named)) => !same(open, named),
            _ => true,
        }
    }

    fn reopen(&mut self) -> io::Result<()> {
        if let Self::File { path, file } = self {
            *file = open(path)?;
        }
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    // Addresses and paths of visitors are not for other users of the machine.
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

struct Writer {
    sink: Sink,
    reopen: Arc<AtomicBool>,
    drops: Arc<AtomicU64>,
    /// Drops that the log has been told of.
    said: u64,
    /// Whether the last write failed: said once, not for every line.
    failing: bool,
    /// The same for opening the file again.
    is_lost: bool,
}

impl Writer {
    fn run(&mut self, lines: &Receiver<Lines>) {
        loop {
            let received = lines.recv_timeout(limits::ACCESS_LOG_LOOK_EVERY);
            let is_due = self.reopen.swap(false, Ordering::Relaxed) || self.sink.is_moved();
            if is_due {
                self.reopen();
            }
            match received {
                Ok(lines) => self.write(&lines),
                Err(RecvTimeoutError::Timeout) => self.say_drops(),
                Err(RecvTimeoutError::Disconnected) => return self.say_drops(),
            }
        }
    }

    /// A file that cannot be opened again is tried again at each look, and said once. The one from
    /// before goes on being written.
    fn reopen(&mut self) {
        let failure = self.sink.reopen().err();
        let was_lost = std::mem::replace(&mut self.is_lost, failure.is_some());
        if let Some(error) = failure.filter(|_| !was_lost) {
            log::error!(
                "the access log cannot be opened again: {error}; going on with the file from before"
            );
        }
    }

    fn write(&mut self, lines: &Lines) {
        self.say_drops();
        match self.sink.write(&lines.text) {
            Ok(()) => self.failing = false,
            Err(error) => self.fail(&error, lines.count),
        }
    }

    fn fail(&mut self, error: &io::Error, lost: u64) {
        self.drops.fetch_add(lost, Ordering::Relaxed);
        if !self.failing {
            log::error!("the access log cannot be written: {error}; going on without");
        }
        self.failing = true;
    }

    /// A log with gaps says so in the place of the gap.
    fn say_drops(&mut self) {
        let drops = self.drops.load(Ordering::Relaxed);
        if drops == self.said || self.failing {
            return;
        }
        let line = format!("{}\n", json!({ "time": line::now(), "dropped": drops - self.said }));
        if self.sink.write(line.as_bytes()).is_ok() {
            self.said = drops;
        }
    }
}

#[cfg(test)]
mod tests;
