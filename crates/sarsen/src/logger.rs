//! The log: one line on stderr for each record, with time (UTC, RFC 3339), level and target. No
//! files, no rotation, no colours: whoever starts the server decides where stderr goes.

use crate::machine;
use log::{LevelFilter, Log, Metadata, Record};
use repository::Timestamp;
use std::fmt::Write as _;
use std::io::Write as _;

/// Sends every record up to `level` to stderr from now on. The first call in a process counts.
pub fn start(level: LevelFilter) -> Result<(), log::SetLoggerError> {
    log::set_logger(&Stderr)?;
    log::set_max_level(level);
    Ok(())
}

struct Stderr;

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata) -> bool {
        is_logged(metadata, log::max_level())
    }

    fn log(&self, record: &Record) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let line = line(machine::now(), record);
        // One write, so that lines of several threads do not mix. When stderr is gone there is no
        // place left to say so.
        let _gone = std::io::stderr().write_all(line.as_bytes());
    }

    fn flush(&self) {}
}

/// The first parts of the targets that are ours; `app` is what an application writes.
const OURS: [&str; 6] = ["sarsen", "repository", "gem", "faces", "lab", "app"];

/// Whether `level` lets the record through. What others tell about themselves at level info is of
/// use to those who debug, not to those who run a server.
pub fn is_logged(metadata: &Metadata, level: LevelFilter) -> bool {
    let part = metadata.target().split("::").next().unwrap_or_default();
    let theirs = if level == LevelFilter::Info { LevelFilter::Warn } else { level };
    metadata.level() <= if OURS.contains(&part) { level } else { theirs }
}

/// The line for `record`, with its line end.
fn line(time: Timestamp, record: &Record) -> String {
    let mut line = format!("{} {:<5} {}: ", time.rfc3339(), record.level(), record.target());
    let start = line.len();
    // Writing into a string fails only if a `Display` fails; what it wrote so far is kept.
    let _partial = write!(line, "{}", record.args());
    let message = escape(&line[start..]);
    line.truncate(start);
    line.push_str(&message);
    line.push('\n');
    line
}

/// `text` with its control characters escaped: a record stays one line and cannot drive a terminal.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use log::Level;

    #[test]
    fn others_are_quieter_at_level_info() {
        let logged = |target, level, filter| {
            is_logged(&Metadata::builder().target(target).level(level).build(), filter)
        };
        assert!(logged("app", Level::Info, LevelFilter::Info));
        assert!(logged("faces::listener", Level::Info, LevelFilter::Info));
        assert!(!logged("faces::listener", Level::Debug, LevelFilter::Info));
        assert!(!logged("lsm_tree::tree", Level::Info, LevelFilter::Info));
        assert!(logged("lsm_tree::tree", Level::Warn, LevelFilter::Info));
        assert!(logged("lsm_tree::tree", Level::Info, LevelFilter::Debug));
        assert!(!logged("lsm_tree::tree", Level::Warn, LevelFilter::Error));
    }

    #[test]
    fn a_record_is_one_line() {
        let record = Record::builder()
            .level(Level::Warn)
            .target("app")
            .args(format_args!("two\nlines \u{1b}[31m and ü\u{2028}"))
            .build();
        let expected =
            "1970-01-01T00:00:00.000Z WARN  app: two\\nlines \\u{1b}[31m and ü\\u{2028}\n";
        assert_eq!(line(Timestamp(0), &record), expected);
    }
}
