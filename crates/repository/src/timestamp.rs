//! Points in time as people read them.

use crate::document::Timestamp;

impl Timestamp {
    /// As RFC 3339 writes it, in UTC, to the millisecond.
    pub fn rfc3339(self) -> String {
        let (seconds, millis) = (self.0 / 1_000, self.0 % 1_000);
        let (year, month, day) = date(seconds / 86_400);
        let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }

    /// What [`Self::rfc3339`] has written; `None` for any other text.
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        let end = text.len().checked_sub(OF_YEAR)?;
        let (year, rest) = text.split_at_checked(end)?;
        let number = |from: usize, to: usize| digits(rest.get(from..to)?);
        let year = digits(year).filter(|_| year.len() >= 4)?;
        let [month, day] = [number(1, 3)?, number(4, 6)?];
        let [hour, minute] = [number(7, 9)?, number(10, 12)?];
        let [second, millis] = [number(13, 15)?, number(16, 19)?];
        let days = (days_before(year, month, day)?).checked_mul(86_400_000)?;
        let of_day = ((hour * 60 + minute) * 60 + second) * 1_000 + millis;
        let time = Self(days.checked_add(of_day)?);
        // Whatever else the text has, writing it again shows it.
        (time.rfc3339() == text).then_some(time)
    }

    /// Reads a time of RFC 3339 §5.6 in UTC (`Z`) or with an offset, of 1970 and later; what is
    /// finer than a millisecond is dropped. `None`: it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (date_text, rest) = text.split_once(['T', 't'])?;
        let zone_at = rest.find(['Z', 'z', '+', '-'])?;
        let (time, zone) = rest.split_at(zone_at);
        let [year, month, day] = numbers(date_text, '-', [4, 2, 2])?;
        let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
        let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
        if hour > 23 || minute > 59 || second > 59 || !(1970..=9999).contains(&year) {
            return None;
        }
        let days = (0..8).find_map(|back: u64| {
            // The day is found by the calendar itself: there are few candidates.
            let guess = (year - 1970) * 146_097 / 400 + (month.max(1) - 1) * 153 / 5 + day + 2;
            let days = guess.saturating_sub(back);
            (date(days) == (year, month, day)).then_some(days)
        })?;
        let of_day = (hour * 60 + minute) * 60 + second;
        let utc = (days * 86_400 + of_day).checked_add_signed(-offset_seconds(zone)?)?;
        Some(Self(utc * 1_000 + millis(fraction)?))
    }
}

/// Three numbers of just so many digits.
fn numbers(text: &str, mark: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(mark);
    let mut numbers = [0; 3];
    for (number, count) in numbers.iter_mut().zip(digits) {
        let part = parts.next().filter(|part| part.len() == count)?;
        *number = part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(numbers)
}

/// The milliseconds of a fraction of a second.
fn millis(digits: &str) -> Option<u64> {
    let is_fraction = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let padded = format!("{digits:0<3}");
    is_fraction.then(|| padded[..3].parse().ok())?
}

/// By how much the zone is ahead of UTC.
fn offset_seconds(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let [hours, minutes, _] = numbers(&format!("{}:00", &zone[1..]), ':', [2, 2, 2])?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes) as i64 * 60)
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

/// Bytes of what follows the year.
const OF_YEAR: usize = "-01-31T12:00:00.000Z".len();

fn digits(text: &str) -> Option<u64> {
    let is_short = (1..=9).contains(&text.len());
    (is_short && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Days from 1970-01-01 to a date, which need not be one of the calendar (`days_from_civil` of the
/// same source).
fn days_before(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = if month <= 2 { year.checked_sub(1)? } else { year };
    let month_from_march = (month + 9) % 12;
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * month_from_march + 2) / 5 + day.checked_sub(1)?;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era).checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3339_times() {
        for (millis, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (1_735_689_599_001, "2024-12-31T23:59:59.001Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(Timestamp(millis).rfc3339(), expected);
            assert_eq!(Timestamp::parse(expected), Some(Timestamp(millis)));
        }
    }

    #[test]
    fn times_are_read_back_and_what_is_none_is_not() {
        for day in (0..=2_932_896).step_by(13) {
            let time = Timestamp(day * 86_400_000 + day % 86_400_000);
            assert_eq!(Timestamp::parse(&time.rfc3339()), Some(time));
        }
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01t00:00:01.5z", 1_500),
            ("1970-01-01T01:00:00+01:00", 0),
            ("1970-01-01T00:00:00.1239-00:30", 1_800_123),
        ] {
            assert_eq!(Timestamp::parse(text), Some(Timestamp(expected)), "{text}");
        }
        for wrong in [
            "",
            "1970-01-01",
            "1970-01-01T00:00:00",
            "1970-02-30T00:00:00Z",
            "1970-00-01T00:00:00Z",
            "1970-01-01T24:00:00Z",
            "1970-01-01T00:60:00Z",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:00:00+01:00",
            "1970-1-1T00:00:00Z",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00Zx",
            "1970-01-01T00:00:00+0100",
            "1970-01-01T00:00:00+ü",
        ] {
            assert_eq!(Timestamp::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        let day = 86_400_000;
        let days = (0..60_000).step_by(13).map(|days| days * day + days % day);
        for millis in days.chain([0, 4_107_542_400_000, 253_402_300_800_000, u64::MAX]) {
            let time = Timestamp(millis);
            assert_eq!(Timestamp::from_rfc3339(&time.rfc3339()), Some(time), "{millis}");
        }
        for text in [
            "",
            "Z",
            "2026-02-29T00:00:00.000Z",
            "2026-13-01T00:00:00.000Z",
            "2026-00-01T00:00:00.000Z",
            "2026-01-00T00:00:00.000Z",
            "2026-01-01T24:00:00.000Z",
            "2026-01-01T00:60:00.000Z",
            "2026-01-01T00:00:60.000Z",
            "2026-01-01 00:00:00.000Z",
            "2026-01-01T00:00:00.000z",
            "2026-01-01T00:00:00.00Z",
            "02026-01-01T00:00:00.000Z",
            "1969-12-31T23:59:59.999Z",
            "999999999-01-01T00:00:00.000Z",
            "+026-01-01T00:00:00.000Z",
            "ü26-01-01T00:00:00.000Z",
        ] {
            assert_eq!(Timestamp::from_rfc3339(text), None, "{text}");
        }
    }
}
