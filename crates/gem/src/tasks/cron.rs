//! Cron expressions: the five fields of crontab(5), as of POSIX and of Vixie's cron, in UTC. Which
//! minutes an expression means, and which comes next; nothing here runs anything.

use std::ops::RangeInclusive;
use thiserror::Error;

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 86_400_000;

/// Within as many days every date of the calendar comes on every day of the week: 29 February needs
/// 40 years where a century between them has no leap day.
const DAYS_AHEAD_MAX: u64 = 366 * 41;

/// Why a text is no expression.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum CronError {
    #[error(
        "expected five fields (minute hour day month weekday, as in \"30 3 * * 1\"), got {0:?}"
    )]
    Fields(String),
    #[error("{field}: expected {expected}, got {got:?}")]
    Part { field: &'static str, expected: String, got: String },
    #[error("{0:?} means a day that no month has")]
    Never(String),
}

/// What one field is about.
struct Field {
    name: &'static str,
    range: RangeInclusive<u32>,
    /// Names for values, the first for the start of the range.
    names: &'static [&'static str],
}

const FIELDS: [Field; 5] = [
    Field { name: "minute", range: 0..=59, names: &[] },
    Field { name: "hour", range: 0..=23, names: &[] },
    Field { name: "day", range: 1..=31, names: &[] },
    Field {
        name: "month",
        range: 1..=12,
        names: &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    },
    // 7 is Sunday, too.
    Field {
        name: "weekday",
        range: 0..=7,
        names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    },
];

/// A set of minutes: bit n of a field stands for the value n.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// With both a day and a weekday given, a date needs only one of them (POSIX, crontab).
    either_day: bool,
}

impl Cron {
    /// Reads an expression.
    pub(crate) fn parse(text: &str) -> Result<Self, CronError> {
        let parts: Vec<&str> = text.split_ascii_whitespace().collect();
        let [minute, hour, day, month, weekday] = parts[..] else {
            return Err(CronError::Fields(text.to_owned()));
        };
        let mut weekdays = field(&FIELDS[4], weekday)?;
        weekdays |= weekdays >> 7 & 1;
        let cron = Self {
            minutes: field(&FIELDS[0], minute)?,
            hours: field(&FIELDS[1], hour)?,
            days: field(&FIELDS[2], day)?,
            months: field(&FIELDS[3], month)?,
            weekdays: weekdays & 0x7f,
            either_day: !day.starts_with('*') && !weekday.starts_with('*'),
        };
        match cron.next(0) {
            Some(_) => Ok(cron),
            None => Err(CronError::Never(text.to_owned())),
        }
    }

    /// The first minute of the set after `after`; both in milliseconds since 1970, UTC. `None`
    /// beyond the years that times can have.
    pub(crate) fn next(&self, after: u64) -> Option<u64> {
        let start = (after / MINUTE_MS).checked_add(1)?.checked_mul(MINUTE_MS)?;
        let first_day = start / DAY_MS;
        for day in first_day..first_day.checked_add(DAYS_AHEAD_MAX)? {
            if !self.has_day(day) {
                continue;
            }
            let from = if day == first_day { start % DAY_MS / MINUTE_MS } else { 0 };
            if let Some(minute) = self.next_minute(from) {
                return Some(day * DAY_MS + minute * MINUTE_MS);
            }
        }
        None
    }

    /// The first minute of a day, from `from` on.
    fn next_minute(&self, from: u64) -> Option<u64> {
        let (hour, minute) = (from / 60, from % 60);
        if self.hours >> hour & 1 == 1
            && let Some(minute) = first(self.minutes, minute)
        {
            return Some(hour * 60 + minute);
        }
        Some(first(self.hours, hour + 1)? * 60 + first(self.minutes, 0)?)
    }

    fn has_day(&self, day: u64) -> bool {
        let (month, of_month) = month_and_day(day);
        // 1 January 1970 was a Thursday.
        let weekday = (day + 4) % 7;
        let has = |set: u64, value: u64| set >> value & 1 == 1;
        let (by_date, by_weekday) = (has(self.days, of_month), has(self.weekdays, weekday));
        has(self.months, month)
            && if self.either_day { by_date || by_weekday } else { by_date && by_weekday }
    }
}

/// The smallest value of a set from `from` on.
fn first(set: u64, from: u64) -> Option<u64> {
    let rest = set.checked_shr(u32::try_from(from).ok()?)?;
    (rest != 0).then(|| from + u64::from(rest.trailing_zeros()))
}

fn field(field: &Field, text: &str) -> Result<u64, CronError> {
    text.split(',').try_fold(0, |set, part| Ok(set | values(field, part)?))
}

/// The values of `*`, `a`, `a-b`, `*/n` or `a-b/n`.
fn values(field: &Field, part: &str) -> Result<u64, CronError> {
    let (least, most) = (*field.range.start(), *field.range.end());
    let refused = || {
        let expected = format!("values from {least} to {most}, as 5, 1-5, */5 or 1-30/5");
        CronError::Part { field: field.name, expected, got: part.to_owned() }
    };
    let (range, step) = match part.split_once('/') {
        Some((range, step)) => (range, Some(number(step).ok_or_else(refused)?)),
        None => (part, None),
    };
    let (from, to) = match range.split_once('-') {
        _ if range == "*" => (least, most),
        Some((from, to)) => {
            (value(field, from).ok_or_else(refused)?, value(field, to).ok_or_else(refused)?)
        }
        // What "5/15" means is not agreed on.
        None if step.is_some() => return Err(refused()),
        None => {
            let value = value(field, range).ok_or_else(refused)?;
            (value, value)
        }
    };
    if from > to || step == Some(0) {
        return Err(refused());
    }
    let step = usize::try_from(step.unwrap_or(1)).map_err(|_| refused())?;
    Ok((from..=to).step_by(step).fold(0, |set, value| set | 1 << value))
}

fn value(field: &Field, text: &str) -> Option<u32> {
    let named = field.names.iter().position(|name| name.eq_ignore_ascii_case(text));
    let value = match named {
        Some(place) => field.range.start() + u32::try_from(place).ok()?,
        None => number(text)?,
    };
    field.range.contains(&value).then_some(value)
}

/// Digits only: `u32::from_str` would take a plus sign too.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Month and day of month of a day since 1970 (Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms", civil_from_days; days before 1970 do not occur).
fn month_and_day(day: u64) -> (u64, u64) {
    let shifted = day + 719_468;
    let of_era = shifted % 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    (if month < 10 { month + 3 } else { month - 9 }, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use repository::Timestamp;

    /// 2026-11-21T20:34:30Z, a Saturday.
    const NOW: u64 = 1_795_293_270_000;

    fn next(expression: &str, after: u64) -> String {
        let next = Cron::parse(expression).unwrap().next(after).unwrap();
        Timestamp(next).rfc3339()[..16].to_owned()
    }

    #[test]
    fn the_next_time_of_known_expressions() {
        assert_eq!(Timestamp(NOW).rfc3339(), "2026-11-21T20:34:30.000Z");
        for (expression, expected) in [
            ("* * * * *", "2026-11-21T20:35"),
            ("34 * * * *", "2026-11-21T21:34"),
            ("35 20 * * *", "2026-11-21T20:35"),
            ("0 3 * * *", "2026-11-22T03:00"),
            ("*/15 * * * *", "2026-11-21T20:45"),
            ("5-59/20 * * * *", "2026-11-21T20:45"),
            ("0,30 8-10 * * *", "2026-11-22T08:00"),
            ("0 0 1 * *", "2026-12-01T00:00"),
            ("0 0 31 * *", "2026-12-31T00:00"),
            ("0 0 1 1 *", "2027-01-01T00:00"),
            ("0 12 * * MON", "2026-11-23T12:00"),
            ("0 12 * * mon-fri", "2026-11-23T12:00"),
            ("0 12 * * 0", "2026-11-22T12:00"),
            ("0 12 * * 7", "2026-11-22T12:00"),
            ("0 12 * * 5-7", "2026-11-22T12:00"),
            ("59 23 * * 6", "2026-11-21T23:59"),
            // Either of the two days.
            ("0 0 13 * 5", "2026-11-27T00:00"),
            // Both: one of them begins with a star.
            ("0 0 */2 * 1", "2026-11-23T00:00"),
            ("0 0 29 2 *", "2028-02-29T00:00"),
            ("0 0 29 feb *", "2028-02-29T00:00"),
            ("30 4 1,15 * 5", "2026-11-27T04:30"),
            ("  0   5  * *  * ", "2026-11-22T05:00"),
        ] {
            assert_eq!(next(expression, NOW), expected, "{expression}");
        }
    }

    #[test]
    fn a_minute_is_not_its_own_successor() {
        let minute = NOW / MINUTE_MS * MINUTE_MS;
        assert_eq!(next("* * * * *", minute), "2026-11-21T20:35");
        assert_eq!(next("* * * * *", minute - 1), "2026-11-21T20:34");
        // Leap days on a given weekday, over a century that has none: 2100.
        let before = 4_102_444_800_000; // 2100-01-01
        assert_eq!(next("0 0 29 2 *", before), "2104-02-29T00:00");
    }

    #[test]
    fn what_is_no_expression_is_refused_with_its_field() {
        for (text, part) in [
            ("", "five fields"),
            ("* * * *", "five fields"),
            ("* * * * * *", "five fields"),
            ("@daily", "five fields"),
            ("60 * * * *", "minute: expected values from 0 to 59"),
            ("* 24 * * *", "hour"),
            ("* * 0 * *", "day: expected values from 1 to 31"),
            ("* * 32 * *", "day"),
            ("* * * 13 *", "month"),
            ("* * * foo *", "month"),
            ("* * * * 8", "weekday"),
            ("5/15 * * * *", "minute"),
            ("*/0 * * * *", "minute"),
            ("10-5 * * * *", "minute"),
            ("+5 * * * *", "minute"),
            ("1, * * * *", "minute"),
            ("1- * * * *", "minute"),
            ("-1 * * * *", "minute"),
            ("99999999999 * * * *", "minute"),
            ("0 0 31 2 *", "no month has"),
        ] {
            let error = Cron::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn every_minute_of_the_set_comes_and_no_other() {
        // Against looking at each minute of two years, one expression of each kind.
        let start = 1_767_225_600_000; // 2026-01-01
        for text in ["*/7 3,5 * * *", "13 2 29-31 * *", "0 0 * 2,6 tue", "1 1 13 * fri"] {
            let cron = Cron::parse(text).unwrap();
            let mut expected = start;
            for minute in (1..2 * 365 * 24 * 60).map(|n| start + n * MINUTE_MS) {
                let (day, of_day) = (minute / DAY_MS, minute % DAY_MS / MINUTE_MS);
                let has = cron.has_day(day)
                    && cron.hours >> (of_day / 60) & 1 == 1
                    && cron.minutes >> (of_day % 60) & 1 == 1;
                if has {
                    assert_eq!(cron.next(expected), Some(minute), "{text}");
                    expected = minute;
                }
            }
        }
    }
}
