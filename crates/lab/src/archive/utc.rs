//! Points in time as ISO 8601 writes them, in UTC. It reads no clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY_S: u64 = 86_400;

/// `2026-11-22T10:15:00.250Z`. A clock before 1970 reads as 1970.
pub(crate) fn extended(at: SystemTime) -> String {
    let (since, [year, month, day], [hour, minute, second]) = parts(at);
    let ms = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// `20261122T101500Z`: sorts by time, and may stand in the name of a file.
pub(crate) fn compact(at: SystemTime) -> String {
    let (_, [year, month, day], [hour, minute, second]) = parts(at);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// The point in time that `2026-11-22T10:15Z`, `2026-11-22T10:15:30Z` or one with a space instead
/// of the `T` is; nothing before 1970.
pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    let (date_text, time) = text.strip_suffix('Z')?.split_once(['T', ' '])?;
    let numbers = |text: &str, between: char| -> Option<Vec<u64>> {
        let number = |part: &str| {
            let is_number =
                (2..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
            is_number.then(|| part.parse().ok()).flatten()
        };
        text.split(between).map(number).collect()
    };
    let [year, month, day] = numbers(date_text, '-')?.try_into().ok()?;
    let (hour, minute, second) = match numbers(time, ':')?.as_slice() {
        [hour, minute] => (*hour, *minute, 0),
        [hour, minute, second] => (*hour, *minute, *second),
        _ => return None,
    };
    if !(1970..=9999).contains(&year) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // The day of that date: no more than so many days after the year's first by 365.
    let first = (year - 1970) * 365;
    let days = (first..first + 3_000).find(|days| date(*days) == [year, month, day])?;
    Some(UNIX_EPOCH + Duration::from_secs(days * DAY_S + hour * 3600 + minute * 60 + second))
}

fn parts(at: SystemTime) -> (Duration, [u64; 3], [u64; 3]) {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs();
    let of_day = seconds % DAY_S;
    (since, date(seconds / DAY_S), [of_day / 3600, of_day / 60 % 60, of_day % 60])
}

/// Year, month and day from the days since 1970: `civil_from_days` of Hinnant, "chrono-compatible
/// low-level date algorithms", for days that are not before 1970.
fn date(days: u64) -> [u64; 3] {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    // From March on, so that the leap day is the last of a year.
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    [400 * era + year + u64::from(month <= 2), month, day]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn what_is_written_is_read() {
        for seconds in [0, 951_782_400, 1_795_342_500, 4_107_542_399, 4_107_542_400] {
            let text = extended(at(seconds)).replace(".000Z", "Z");
            assert_eq!(parse(&text), Some(at(seconds)), "{text}");
        }
        assert_eq!(parse("2026-11-22T10:15Z"), Some(at(1_795_342_500)));
        assert_eq!(parse("9999-12-31 23:59:59Z"), Some(at(253_402_300_799)));
        for bad in [
            "",
            "Z",
            "2026-11-22",
            "2026-11-22T10:15",
            "2026-02-29T00:00Z",
            "2026-13-01T00:00Z",
            "2026-11-22T24:00Z",
            "2026-11-22T10:60Z",
            "2026-11-22T10Z",
            "1969-12-31T23:59Z",
            "2026-11-22T10:15:30.5Z",
            "+026-11-22T10:15Z",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    /// Compared with `date -u -d @SECONDS`.
    #[test]
    fn known_points_in_time() {
        assert_eq!(extended(at(0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(extended(at(951_782_400)), "2000-02-29T00:00:00.000Z");
        assert_eq!(extended(at(1_795_342_500)), "2026-11-22T10:15:00.000Z");
        assert_eq!(extended(at(4_107_542_399)), "2100-02-28T23:59:59.000Z");
        assert_eq!(extended(at(4_107_542_400)), "2100-03-01T00:00:00.000Z");
        assert_eq!(compact(at(1_795_342_500)), "20261122T101500Z");
        assert_eq!(extended(at(1) + Duration::from_millis(250)), "1970-01-01T00:00:01.250Z");
        assert_eq!(extended(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00.000Z");
    }
}
