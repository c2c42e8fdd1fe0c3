//! The log: one line on stderr for each record, with time (UTC, RFC 3339), level and target. No
//! files, no rotation, no colours: whoever starts the server decides where stderr goes.

use log::{LevelFilter, Log, Metadata, Record};
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let line = line(since, record);
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
fn is_logged(metadata: &Metadata, level: LevelFilter) -> bool {
    let part = metadata.target().split("::").next().unwrap_or_default();
    let theirs = if level == LevelFilter::Info { LevelFilter::Warn } else { level };
    metadata.level() <= if OURS.contains(&part) { level } else { theirs }
}

/// The line for `record` at `since` 1970, with its line end.
fn line(since: Duration, record: &Record) -> String {
    let mut line = format!("{} {:<5} {}: ", timestamp(since), record.level(), record.target());
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
fn escape(text: &str) -> String {
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

/// RFC 3339 in UTC, to the millisecond.
fn timestamp(since: Duration) -> String {
    let seconds = since.as_secs();
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let millis = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Year, month and day of the Gregorian calendar, `days` after 1970-01-01 (the method of Howard
/// Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`).
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Months counted from March, so that the leap day is the last of the year.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use log::Level;

    #[test]
    fn timestamps() {
        for (millis, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (1_735_689_599_001, "2024-12-31T23:59:59.001Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(timestamp(Duration::from_millis(millis)), expected);
        }
    }

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
        assert_eq!(line(Duration::ZERO, &record), expected);
    }
}
