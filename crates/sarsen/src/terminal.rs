//! The terminal: taken for a while, and given back as it was, however that ends.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGTERM};
use signal_hook::flag;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The other screen, without a cursor; and the way back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// How often signals are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Whether there is one: for keys, and to show on.
pub fn is_one() -> bool {
    isatty(io::stdout()) && isatty(io::stdin())
}

/// What was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// `q`, Ctrl-C, Ctrl-D, or a signal that asks for the end.
    Quit,
    /// Another one.
    Byte(u8),
}

impl Key {
    fn of(byte: u8) -> Self {
        const CONTROL_C: u8 = 3;
        const CONTROL_D: u8 = 4;
        match byte {
            b'q' | CONTROL_C | CONTROL_D => Self::Quit,
            byte => Self::Byte(byte),
        }
    }
}

/// The terminal, as long as it is taken.
pub struct Terminal {
    before: Termios,
    ended: Arc<AtomicBool>,
}

impl Terminal {
    /// Takes it: keys come one by one and are not shown.
    pub fn take() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let ended = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGHUP] {
            flag::register(signal, Arc::clone(&ended))?;
        }
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        let taken = Self { before, ended };
        write(ENTER)?;
        Ok(taken)
    }

    /// Rows and columns.
    pub fn size(&self) -> (usize, usize) {
        match tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_row > 0 && size.ws_col > 0 => {
                (size.ws_row.into(), size.ws_col.into())
            }
            _ => (24, 80),
        }
    }

    /// A screen full of lines, with the keys on the last: what does not fit is left out.
    pub fn page(&self, lines: &[String], keys: &str) -> String {
        let (rows, columns) = self.size();
        let mut page = String::new();
        for line in lines.iter().take(rows.saturating_sub(2)) {
            page.extend(line.chars().take(columns));
            page.push_str("\x1b[K\r\n");
        }
        page.push_str(&format!("\x1b[J\x1b[{rows};1H"));
        page.extend(keys.chars().take(columns));
        page.push_str("\x1b[K");
        page
    }

    /// Shows `text` from the upper left corner on.
    pub fn show(&self, text: &str) -> io::Result<()> {
        write(&format!("\x1b[H{text}"))
    }

    /// Waits for a key; `None` if none came within `wait`.
    pub fn key(&self, wait: Duration) -> io::Result<Option<Key>> {
        let until = Instant::now() + wait;
        loop {
            if self.ended.swap(false, Ordering::Relaxed) {
                return Ok(Some(Key::Quit));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            if is_ready(left.min(LOOK_EVERY))? {
                let mut byte = [0];
                // Not by a buffer: what is in one, nobody can wait for.
                return Ok(Some(match rustix::io::read(io::stdin(), &mut byte)? {
                    0 => Key::Quit,
                    _ => Key::of(byte[0]),
                }));
            }
        }
    }
}

fn is_ready(wait: Duration) -> io::Result<bool> {
    let stdin = io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    let wait = Timespec {
        tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: wait.subsec_nanos().into(),
    };
    match poll(&mut polled, Some(&wait)) {
        Ok(ready) => Ok(ready > 0),
        // A signal, or another size.
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The terminal may be gone; then there is nothing to give back.
        let _written = write(LEAVE);
        let _set = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        for quit in [b'q', 3, 4] {
            assert_eq!(Key::of(quit), Key::Quit);
        }
        assert_eq!(Key::of(b'c'), Key::Byte(b'c'));
    }
}
