//! How far long work is, on stderr: a line that is written over on a terminal, and one every few
//! seconds otherwise. stdout is for results.

use rustix::termios::isatty;
use std::io::{self, Write};
use std::time::{Duration, Instant};

const EVERY_ON_TERMINAL: Duration = Duration::from_millis(200);
const EVERY_OTHERWISE: Duration = Duration::from_secs(5);
const BAR_COLUMNS: u64 = 24;

/// What is told of one piece of work.
pub struct ProgressLine {
    what: &'static str,
    is_terminal: bool,
    begun: Instant,
    told: Instant,
    is_open: bool,
}

/// How much is done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    /// Things, of which the next word says what they are.
    pub items: u64,
    /// What they are.
    pub of: &'static str,
    /// Bytes.
    pub bytes: u64,
    /// About how many there will be; 0: not known.
    pub bytes_expected: u64,
}

impl ProgressLine {
    /// Of work that begins now.
    pub fn new(what: &'static str) -> Self {
        let now = Instant::now();
        Self { what, is_terminal: isatty(io::stderr()), begun: now, told: now, is_open: false }
    }

    /// Tells, unless that was done just now.
    pub fn tell(&mut self, done: &Done) {
        let every = if self.is_terminal { EVERY_ON_TERMINAL } else { EVERY_OTHERWISE };
        if self.told.elapsed() < every {
            return;
        }
        self.told = Instant::now();
        let line = line(self.what, done, self.begun.elapsed());
        let (before, after) = if self.is_terminal { ("\r", "\x1b[K") } else { ("", "\n") };
        self.is_open = self.is_terminal;
        write(&format!("{before}{line}{after}"));
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.is_open {
            write("\r\x1b[K");
        }
    }
}

/// Nobody may be there to read it, and the work goes on all the same.
fn write(text: &str) {
    let mut stderr = io::stderr().lock();
    let _unread = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

fn line(what: &str, done: &Done, elapsed: Duration) -> String {
    let Done { items, of, bytes, bytes_expected } = *done;
    let rate = bytes as f64 / elapsed.as_secs_f64().max(0.001) / 1e6;
    let done = format!("{items} {of}, {:.1} MB, {rate:.1} MB/s", bytes as f64 / 1e6);
    if bytes_expected == 0 {
        return format!("{what}: {done}");
    }
    let part = bytes.min(bytes_expected);
    let percent = u128::from(part) * 100 / u128::from(bytes_expected);
    let full = (u128::from(part) * u128::from(BAR_COLUMNS) / u128::from(bytes_expected)) as usize;
    let empty = BAR_COLUMNS as usize - full;
    format!("{what} [{}{}] about {percent} %: {done}", "#".repeat(full), "-".repeat(empty))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is() {
        let done = Done { items: 7, of: "rows", bytes: 5_000_000, bytes_expected: 0 };
        let second = Duration::from_secs(1);
        assert_eq!(line("backup", &done, second), "backup: 7 rows, 5.0 MB, 5.0 MB/s");
        let done = Done { bytes_expected: 10_000_000, ..done };
        let expected = "backup [############------------] about 50 %: 7 rows, 5.0 MB, 5.0 MB/s";
        assert_eq!(line("backup", &done, second), expected);
        let more = Done { bytes: 20_000_000, ..done };
        assert!(line("backup", &more, second).contains("about 100 %"));
    }
}
