//! Recorded arrivals: plain times, or the time stamps of a web server's access log.

use std::time::Duration;

/// The time of each line, in seconds from anywhere. A line is a number of seconds, or one of the
/// Common Log Format, whose time is in brackets: `[10/Oct/2000:13:55:36 -0700]`.
pub(super) fn times(bytes: &[u8]) -> Result<Vec<f64>, String> {
    let text = String::from_utf8_lossy(bytes);
    let mut times = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let plain = line.trim();
        if plain.is_empty() || plain.starts_with('#') {
            continue;
        }
        let seconds = match plain.find('[') {
            Some(open) => stamp(&plain[open + 1..]),
            None => {
                let word = plain.split([' ', '\t', ',', ';']).next().unwrap_or_default();
                word.parse().ok().filter(|seconds: &f64| seconds.is_finite())
            }
        };
        times.push(seconds.ok_or_else(|| {
            let shown: String = plain.chars().take(60).collect();
            format!(
                "line {} of it: expected seconds like 12.5, or a line of an access log with a time \
                 like [10/Oct/2000:13:55:36 -0700]; got \"{shown}\"",
                i + 1
            )
        })?);
    }
    Ok(times)
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `10/Oct/2000:13:55:36 -0700` in seconds since 1970.
pub(super) fn stamp(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let number = |range: std::ops::Range<usize>| -> Option<i64> {
        let digits = text.get(range)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
    };
    let (day, year) = (number(0..2)?, number(7..11)?);
    let name = text.get(3..6)?;
    let month = MONTHS.iter().position(|month| *month == name)? as i64 + 1;
    let (hour, minute, second) = (number(12..14)?, number(15..17)?, number(18..20)?);
    let sign = match bytes.get(21)? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let zone = sign * (number(22..24)? * 60 + number(24..26)?);
    let fits = (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    let seconds = days(year, month, day) * 86_400 + hour * 3_600 + (minute - zone) * 60 + second;
    fits.then_some(seconds as f64)
}

/// Days since 1970 of a date of the Gregorian calendar (Hinnant, "chrono-compatible low-level date
/// algorithms", days_from_civil).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Times after the first, ascending, `speed` times as fast. A log knows whole seconds only: those
/// of one second are spread evenly over it.
pub(super) fn offsets(times: &[f64], speed: f64) -> Result<Vec<Duration>, String> {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    let first = times.first().copied().unwrap_or_default();
    let is_coarse = times.iter().all(|time| time.fract() == 0.0);
    if is_coarse {
        let mut begin = 0;
        while begin < times.len() {
            let second = times[begin];
            let same = times[begin..].iter().take_while(|time| **time == second).count();
            for (i, time) in times[begin..begin + same].iter_mut().enumerate() {
                *time += i as f64 / same as f64;
            }
            begin += same;
        }
    }
    let offset = |time: &f64| {
        Duration::try_from_secs_f64((time - first) / speed)
            .ok()
            .filter(|offset| *offset <= crate::limits::DURATION_MAX)
            .ok_or_else(|| format!("its times cover more than {:?}", crate::limits::DURATION_MAX))
    };
    times.iter().map(offset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stamps_of_a_log() {
        assert_eq!(stamp("01/Jan/1970:00:00:00 +0000] \"GET /"), Some(0.0));
        assert_eq!(stamp("10/Oct/2000:13:55:36 -0700]"), Some(971_211_336.0));
        assert_eq!(stamp("29/Feb/2024:23:59:59 +0130]"), Some(1_709_245_799.0));
        for bad in ["", "10/Okt/2000:13:55:36 -0700", "10/Oct/2000:13:55:36 0700]", "ä"] {
            assert_eq!(stamp(bad), None, "{bad}");
        }
    }

    #[test]
    fn whole_seconds_are_spread_and_others_kept() {
        let ms = |times: &[f64], speed| {
            let offsets = offsets(times, speed).unwrap();
            offsets.iter().map(Duration::as_millis).collect::<Vec<_>>()
        };
        assert_eq!(ms(&[100.0, 101.0, 100.0], 1.0), [0, 500, 1000]);
        assert_eq!(ms(&[0.25, 1.25], 2.0), [0, 500]);
        assert!(offsets(&[0.0, 1e9], 1.0).is_err());
    }

    #[test]
    fn a_line_that_is_none_is_told() {
        assert_eq!(times(b"# t\n1.5\n2 GET /\n\n").unwrap(), [1.5, 2.0]);
        let why = times(b"1\nnow\n").unwrap_err();
        assert!(why.starts_with("line 2 of it: expected seconds"), "{why}");
    }
}
