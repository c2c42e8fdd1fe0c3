//! The file of failed requests: lines of JSON in the data folder, and the thread that writes them.
//! A gem hands a report over and goes on; where the thread falls behind, reports are left out and
//! counted. The file is for operators: it is not synced, and a lost line costs no data.

use super::{Report, line};
use crate::limits::{ERRORS_FILE_BYTES_MAX, ERRORS_WAITING_MAX};
use parking_lot::Mutex;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

/// The file that is written, below the data folder; and the one before it.
pub(super) const NAMES: [&str; 2] = ["errors.jsonl", "errors.1.jsonl"];

/// How many there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorLogFigures {
    /// Reports that were given.
    pub given: u64,
    /// Those that are not in the file: they came faster than they were written, or the file could
    /// not be written.
    pub dropped: u64,
}

#[derive(Debug, Default)]
struct Counts {
    given: AtomicU64,
    dropped: AtomicU64,
}

/// Keeps reports. What was given is written before the last of its holders has dropped it.
#[derive(Debug)]
pub struct ErrorLog {
    to_writer: Option<SyncSender<Box<Report>>>,
    counts: Arc<Counts>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl ErrorLog {
    /// Keeps reports below `folder`, which exists. The file is made with the first report.
    pub fn start(folder: &Path) -> io::Result<Self> {
        let (to_writer, reports) = sync_channel(ERRORS_WAITING_MAX);
        let counts = Arc::<Counts>::default();
        let mut writer = Writer {
            folder: folder.to_owned(),
            file: None,
            counts: Arc::clone(&counts),
            is_failing: false,
        };
        let thread =
            thread::Builder::new().name("errors".to_owned()).spawn(move || writer.run(&reports))?;
        Ok(Self { to_writer: Some(to_writer), counts, thread: Mutex::new(Some(thread)) })
    }

    /// Hands a report over. Waits for nobody.
    pub(crate) fn keep(&self, report: &Report) {
        self.counts.given.fetch_add(1, Ordering::Relaxed);
        let Some(to_writer) = &self.to_writer else { return };
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
            to_writer.try_send(Box::new(report.clone()))
        {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many there were.
    pub fn figures(&self) -> ErrorLogFigures {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ErrorLogFigures { given: load(&self.counts.given), dropped: load(&self.counts.dropped) }
    }
}

impl Drop for ErrorLog {
    fn drop(&mut self) {
        self.to_writer = None;
        if self.thread.lock().take().is_some_and(|thread| thread.join().is_err()) {
            log::error!("the thread that writes down failed requests had ended by a panic");
        }
    }
}

struct Writer {
    folder: PathBuf,
    /// Open since the first report, with its length.
    file: Option<(File, u64)>,
    counts: Arc<Counts>,
    /// Whether the last write failed: said once, not for every report.
    is_failing: bool,
}

impl Writer {
    fn run(&mut self, reports: &Receiver<Box<Report>>) {
        while let Ok(report) = reports.recv() {
            let written = self.write(&report);
            if let Err(error) = &written {
                self.file = None;
                self.counts.dropped.fetch_add(1, Ordering::Relaxed);
                if !self.is_failing {
                    log::error!("{} cannot be written: {error}; going on without", NAMES[0]);
                }
            }
            self.is_failing = written.is_err();
        }
    }

    fn write(&mut self, report: &Report) -> io::Result<()> {
        let line = line::write(report);
        let bytes = line.len() as u64;
        if self.file.as_ref().is_some_and(|(_, length)| length + bytes > ERRORS_FILE_BYTES_MAX) {
            self.file = None;
            fs::rename(self.folder.join(NAMES[0]), self.folder.join(NAMES[1]))?;
        }
        let (file, length) = match &mut self.file {
            Some(open) => open,
            closed => closed.insert(open(&self.folder.join(NAMES[0]))?),
        };
        file.write_all(line.as_bytes())?;
        *length += bytes;
        Ok(())
    }
}

/// Opens the file for appending. A line that was torn by a crash gets its end, so that the next one
/// stands alone. Messages are the application's: the file is the owner's alone.
fn open(path: &Path) -> io::Result<(File, u64)> {
    let mut file =
        OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    let mut length = file.metadata()?.len();
    if length > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
            length += 1;
        }
    }
    Ok((file, length))
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    fn report(id: &str) -> Report {
        Report { id: id.to_owned(), message: "m".repeat(1_000), ..Report::default() }
    }

    fn ids(folder: &Path) -> Vec<String> {
        let read = read(folder, usize::MAX).unwrap();
        read.kept.into_iter().map(|kept| kept.id).collect()
    }

    #[test]
    fn what_was_given_is_there_after_the_end_and_goes_on_after_a_torn_line() {
        let folder = tempfile::tempdir().unwrap();
        for start in ["a", "b"] {
            let log = ErrorLog::start(folder.path()).unwrap();
            for number in 0..10 {
                log.keep(&report(&format!("{start}{number}")));
            }
            assert_eq!(log.figures(), ErrorLogFigures { given: 10, dropped: 0 });
            drop(log);
            let torn = OpenOptions::new().append(true).open(folder.path().join(NAMES[0]));
            torn.unwrap().write_all(b"{\"id\":\"torn").unwrap();
        }
        let ids = ids(folder.path());
        assert_eq!(ids.len(), 20);
        assert_eq!((ids[0].as_str(), ids[19].as_str()), ("b9", "a0"), "the newest comes first");
        assert_eq!(read(folder.path(), 1).unwrap().kept.len(), 1);
    }

    #[test]
    fn two_files_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer {
            folder: folder.path().to_owned(),
            file: None,
            counts: Arc::default(),
            is_failing: false,
        };
        let line_bytes = line::write(&report("0000000")).len() as u64;
        let in_a_file = ERRORS_FILE_BYTES_MAX / line_bytes;
        for number in 0..3 * in_a_file {
            writer.write(&report(&format!("{number:07}"))).unwrap();
        }
        let lengths = NAMES.map(|name| fs::metadata(folder.path().join(name)).unwrap().len());
        assert!(lengths.iter().all(|length| *length <= ERRORS_FILE_BYTES_MAX), "{lengths:?}");
        let ids = ids(folder.path());
        assert_eq!(ids.len() as u64, 2 * in_a_file);
        assert_eq!(ids[0], format!("{:07}", 3 * in_a_file - 1));
    }

    #[test]
    fn a_folder_that_cannot_be_written_costs_reports_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(NAMES[0])).unwrap();
        let log = ErrorLog::start(folder.path()).unwrap();
        log.keep(&report("a"));
        let counts = Arc::clone(&log.counts);
        drop(log);
        assert_eq!(counts.dropped.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn more_than_may_wait_are_dropped_and_counted() {
        let (to_writer, reports) = sync_channel(ERRORS_WAITING_MAX);
        let (to_writer, thread) = (Some(to_writer), Mutex::default());
        let log = ErrorLog { to_writer, counts: Arc::default(), thread };
        for _ in 0..ERRORS_WAITING_MAX + 3 {
            log.keep(&report("a"));
        }
        let given = ERRORS_WAITING_MAX as u64 + 3;
        assert_eq!(log.figures(), ErrorLogFigures { given, dropped: 3 });
        drop(log);
        assert_eq!(reports.iter().count(), ERRORS_WAITING_MAX);
    }
}
