//! What a person sees of long work: a line on stderr that is written anew, if that is a terminal.

use rustix::termios::isatty;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// How often the line changes.
const EVERY: Duration = Duration::from_millis(200);

/// The line.
pub struct Progress {
    is_shown: bool,
    begun: Instant,
    told: Option<Instant>,
}

impl Progress {
    /// Of work that begins now.
    pub fn new() -> Self {
        Self { is_shown: isatty(io::stderr()), begun: Instant::now(), told: None }
    }

    /// Says that so many documents and bytes are done, and what is done now.
    pub fn tell(&mut self, documents: u64, bytes: u64, what: &str) {
        if !self.is_shown || self.told.is_some_and(|told| told.elapsed() < EVERY) {
            return;
        }
        self.told = Some(Instant::now());
        let seconds = self.begun.elapsed().as_secs_f64().max(0.001);
        let (rate, megabytes) = (documents as f64 / seconds, bytes as f64 / 1e6);
        let line =
            format!("{documents} documents, {megabytes:.1} MB, {rate:.0} documents/s {what}");
        // Whoever does not see it misses nothing.
        let _unseen = write!(io::stderr(), "\r\x1b[K{line}");
    }

    /// Leaves the line for others.
    pub fn clear(&mut self) {
        if self.told.take().is_some() {
            let _unseen = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
