//! Timestamps of RFC 3339, for metadata.

use repository::Timestamp;

const DAY_MS: i64 = 86_400_000;

/// The last millisecond of the year 9999: RFC 3339 has no later one.
const LAST_MS: u64 = 253_402_300_799_999;

/// `time` in UTC with milliseconds.
pub(crate) fn format(time: Timestamp) -> String {
    let ms = time.0.min(LAST_MS);
    let (days, of_day) = (ms / DAY_MS as u64, ms % DAY_MS as u64);
    let (year, month, day) = civil(days as i64);
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, ms) = (of_day / 1_000 % 60, of_day % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Milliseconds since 1970 of a timestamp of RFC 3339 §5.6; `None` if `text` is none. A leap second
/// is the first moment after it.
pub fn parse(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let is_marked = bytes.len() >= 20
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && matches!(bytes[10], b'T' | b't')
        && bytes[13] == b':'
        && bytes[16] == b':';
    if !is_marked {
        return None;
    }
    let [year, month, day] = [number(text, 0, 4)?, number(text, 5, 2)?, number(text, 8, 2)?];
    let [hour, minute, second] = [number(text, 11, 2)?, number(text, 14, 2)?, number(text, 17, 2)?];
    if !(1..=12).contains(&month) || !(1..=days_in(year, month)).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (fraction_ms, zone) = fraction(text.get(19..)?)?;
    let seconds = (hour * 60 + minute - offset_minutes(zone)?) * 60 + second;
    Some((days_since_1970(year, month, day) * DAY_MS + seconds * 1_000) as f64 + fraction_ms)
}

/// The number of `count` digits at `from`.
fn number(text: &str, from: usize, count: usize) -> Option<i64> {
    let digits = text.get(from..from + count)?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// The milliseconds after the second, and what follows them.
fn fraction(text: &str) -> Option<(f64, &str)> {
    let Some(digits) = text.strip_prefix('.') else { return Some((0.0, text)) };
    let end = digits.bytes().position(|b| !b.is_ascii_digit())?;
    let seconds: f64 = text.get(..=end).filter(|_| end > 0)?.parse().ok()?;
    Some((seconds * 1_000.0, &digits[end..]))
}

fn offset_minutes(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = (number(zone, 1, 2)?, number(zone, 4, 2)?);
    let fits = zone.len() == 6 && zone.as_bytes()[3] == b':' && hours < 24 && minutes < 60;
    fits.then_some(sign * (hours * 60 + minutes))
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a day of the Gregorian calendar. Years begin in March, so that the day
/// that comes every four years is a year's last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The year, month and day, so many days after 1970-01-01.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let years = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + years + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3339_5_8_examples() {
        for (text, ms) in [
            ("1985-04-12T23:20:50.52Z", 482_196_050_520.0),
            ("1996-12-19T16:39:57-08:00", 851_042_397_000.0),
            ("1990-12-31T23:59:60Z", 662_688_000_000.0),
            ("1990-12-31T15:59:60-08:00", 662_688_000_000.0),
            ("1937-01-01T12:00:27.87+00:20", -1_041_337_172_130.0),
            ("1970-01-01t00:00:00z", 0.0),
        ] {
            assert_eq!(parse(text), Some(ms), "{text}");
        }
    }

    #[test]
    fn what_is_no_timestamp() {
        for text in [
            "",
            "2026-11-21",
            "2026-11-21T10:00:00",
            "2026-11-21 10:00:00Z",
            "2026-13-21T10:00:00Z",
            "2026-02-29T10:00:00Z",
            "1900-02-29T10:00:00Z",
            "2026-11-00T10:00:00Z",
            "2026-11-21T24:00:00Z",
            "2026-11-21T10:00:00.Z",
            "2026-11-21T10:00:00.5",
            "2026-11-21T10:00:00+0100",
            "2026-11-21T10:00:00+01:00x",
            "2026-11-21T10:00:00+24:00",
            "2026-11-2éT10:00:00Z",
            "+026-11-21T10:00:00Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn every_day_comes_back() {
        assert_eq!(format(Timestamp(0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(format(Timestamp(951_827_696_789)), "2000-02-29T12:34:56.789Z");
        assert_eq!(format(Timestamp(u64::MAX)), "9999-12-31T23:59:59.999Z");
        for day in 0..200_000_u64 {
            let ms = day * 86_400_000 + day % 86_400_000;
            assert_eq!(parse(&format(Timestamp(ms))), Some(ms as f64));
        }
    }
}
