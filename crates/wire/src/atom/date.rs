//! Points in time as Atom writes them (RFC 3339 with capital T and Z, RFC 4287 §3.3), to the
//! microsecond: a collection may be edited more than once in a millisecond, and each time is its
//! own (RFC 5023 §10.2). No clock.

use std::fmt;

const SECOND_US: i64 = 1_000_000;
const DAY_US: i64 = 86_400 * SECOND_US;

/// Microseconds since 1970, UTC; from the year 0 to the year 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    us: i64,
}

impl Date {
    /// Of microseconds since 1970. None out of the years that can be written.
    pub fn of_us(us: i64) -> Option<Date> {
        let (first, last) = (day_of(0, 1, 1) * DAY_US, (day_of(9999, 12, 31) + 1) * DAY_US - 1);
        (first..=last).contains(&us).then_some(Date { us })
    }

    /// Of milliseconds since 1970. None out of the years that can be written.
    pub fn of_ms(ms: i64) -> Option<Date> {
        Date::of_us(ms.checked_mul(1000)?)
    }

    /// Microseconds since 1970.
    pub fn us(self) -> i64 {
        self.us
    }

    /// Milliseconds since 1970, what is below one cut off.
    pub fn ms(self) -> i64 {
        self.us.div_euclid(1000)
    }

    /// Reads `2007-10-09T12:29:29.5+02:00`. What is below a microsecond is passed over.
    pub fn parse(text: &str) -> Option<Date> {
        let bytes = text.as_bytes();
        let number = |from: usize, digits: usize| -> Option<i64> {
            let digits = bytes.get(from..from + digits)?;
            let value = |sum: i64, byte: &u8| {
                byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0'))
            };
            digits.iter().try_fold(0, value)
        };
        let is = |at: usize, byte: u8| bytes.get(at) == Some(&byte);
        let is_shaped = is(4, b'-') && is(7, b'-') && is(10, b'T') && is(13, b':') && is(16, b':');
        let (year, month, day) = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
        let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
        let is_day = (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
        let is_time = hour < 24 && minute < 60 && second <= 60;
        if !is_shaped || !is_day || !is_time {
            return None;
        }
        let (fraction_us, zone) = fraction(bytes.get(19..)?)?;
        let offset_minutes = match zone {
            b"Z" => 0,
            [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
                let at = bytes.len() - 5;
                let (hours, minutes) = (number(at, 2)?, number(at + 3, 2)?);
                let offset = (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)?;
                if *sign == b'-' { -offset } else { offset }
            }
            _ => return None,
        };
        let minutes = hour * 60 + minute - offset_minutes;
        let seconds = minutes * 60 + second;
        Date::of_us(day_of(year, month, day) * DAY_US + seconds * SECOND_US + fraction_us)
    }

    /// As RSS has it (RFC 822 with four digits of a year): `Tue, 09 Oct 2007 12:29:29 GMT`.
    pub fn rfc822(self) -> String {
        const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let (year, month, day) = date_of(self.us.div_euclid(DAY_US));
        let weekday = DAYS[self.us.div_euclid(DAY_US).rem_euclid(7) as usize];
        let month = MONTHS[month as usize - 1];
        let s = self.us.rem_euclid(DAY_US) / SECOND_US;
        let (hour, minute, second) = (s / 3600, s / 60 % 60, s % 60);
        format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
    }
}

impl fmt::Display for Date {
    /// As RFC 3339 has it, in UTC, with milliseconds, or with microseconds where there are some.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date_of(self.us.div_euclid(DAY_US));
        let us = self.us.rem_euclid(DAY_US);
        let s = us / SECOND_US;
        let (hour, minute, second, us) = (s / 3600, s / 60 % 60, s % 60, us % SECOND_US);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        match us % 1000 {
            0 => write!(f, ".{:03}Z", us / 1000),
            _ => write!(f, ".{us:06}Z"),
        }
    }
}

/// Microseconds of a fraction of a second, and what follows it.
fn fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let Some(after) = text.strip_prefix(b".") else { return Some((0, text)) };
    let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let us = (0..6).fold(0, |us, at| {
        us * 10 + after[..digits].get(at).map_or(0, |digit| i64::from(digit - b'0'))
    });
    (digits > 0).then_some((us, &after[digits..]))
}

fn days_of(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970 of a date of the Gregorian calendar. Years are counted from March, so that the
/// leap day is the last of its year.
fn day_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The date of a day since 1970: year, month, day.
fn date_of(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let (era, day_of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let month = (march_month + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * march_month + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        Date::parse(text).map(|date| date.to_string())
    }

    /// RFC 4287 §3.3, RFC 3339 §5.6.
    #[test]
    fn dates_are_read_as_rfc_3339_has_them() {
        for (text, expected) in [
            ("2003-12-13T18:30:02Z", "2003-12-13T18:30:02.000Z"),
            ("2003-12-13T18:30:02.25Z", "2003-12-13T18:30:02.250Z"),
            ("2003-12-13T18:30:02.123456789+01:00", "2003-12-13T17:30:02.123456Z"),
            ("2004-02-29T00:00:00-00:30", "2004-02-29T00:30:00.000Z"),
            ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
            ("1990-12-31T23:59:60Z", "1991-01-01T00:00:00.000Z"),
            ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"),
            ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
        for bad in [
            "2003-12-13t18:30:02Z",
            "2003-12-13T18:30:02z",
            "2003-12-13 18:30:02Z",
            "2003-12-13T18:30:02",
            "2003-12-13T18:30Z",
            "2003-12-13",
            "2003-02-29T00:00:00Z",
            "2003-13-01T00:00:00Z",
            "2003-12-13T24:00:00Z",
            "2003-12-13T18:30:02.Z",
            "2003-12-13T18:30:02+0100",
            "2003-12-13T18:30:02+24:00",
            "0000-01-01T00:00:00+01:00",
            "",
        ] {
            assert_eq!(shown(bad), None, "{bad}");
        }
    }

    #[test]
    fn every_day_is_itself_again() {
        for day in (day_of(0, 1, 1)..=day_of(9999, 12, 31)).step_by(13) {
            let (year, month, date) = date_of(day);
            assert_eq!(day_of(year, month, date), day);
            assert!((1..=days_of(year, month)).contains(&date));
        }
    }

    #[test]
    fn rss_has_dates_of_its_own() {
        let date = Date::parse("2007-10-09T14:29:29+02:00").map(Date::rfc822);
        assert_eq!(date.as_deref(), Some("Tue, 09 Oct 2007 12:29:29 GMT"));
    }
}
