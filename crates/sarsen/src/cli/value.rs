//! Values as people write them on a command line: sizes, durations, counts within bounds.

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// A value that is not one.
#[derive(Debug, PartialEq, Eq)]
pub struct ValueError {
    /// What would have been understood.
    pub expected: String,
}

impl ValueError {
    /// What would have been understood.
    pub fn expected(what: impl Into<String>) -> Self {
        Self { expected: what.into() }
    }
}

/// The value as text.
pub fn text(value: OsString) -> Result<String, ValueError> {
    value.into_string().map_err(|_value| ValueError::expected("UTF-8"))
}

/// The path of a folder.
pub fn folder(value: OsString) -> Result<PathBuf, ValueError> {
    if value.is_empty() {
        return Err(ValueError::expected("a folder"));
    }
    Ok(value.into())
}

/// The path of a file.
pub fn file(value: OsString) -> Result<PathBuf, ValueError> {
    if value.is_empty() {
        return Err(ValueError::expected("a file"));
    }
    Ok(value.into())
}

/// A value that reads itself; `what` says what one looks like.
pub fn parsed<V: FromStr>(value: OsString, what: &str) -> Result<V, ValueError> {
    text(value)?.parse().map_err(|_why| ValueError::expected(what))
}

/// The same of a value that `read` knows how to read.
pub fn parsed_by<V>(
    value: OsString,
    read: fn(&str) -> Option<V>,
    what: &str,
) -> Result<V, ValueError> {
    read(&text(value)?).ok_or_else(|| ValueError::expected(what))
}

/// A whole number within `range`.
pub fn count(value: OsString, range: RangeInclusive<u64>) -> Result<u64, ValueError> {
    let (least, most) = (range.start(), range.end());
    let expected = || ValueError::expected(format!("a number from {least} to {most}"));
    let number: u64 = text(value)?.parse().map_err(|_why| expected())?;
    range.contains(&number).then_some(number).ok_or_else(expected)
}

/// A size in bytes: a whole number, alone or with K, M, G or T (binary units).
pub fn size(value: OsString) -> Result<u64, ValueError> {
    let expected = || ValueError::expected("a size such as 512M or 2G");
    let text = text(value)?;
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return Err(expected()),
    };
    let number = whole_number(digits).ok_or_else(expected)?;
    number.checked_mul(1 << shift).ok_or_else(expected)
}

/// A duration: a whole number with `ms`, `s`, `m`, `h` or `d`; more than none and at most `max`.
pub fn duration(value: OsString, max: Duration) -> Result<Duration, ValueError> {
    let expected =
        || ValueError::expected(format!("a duration such as {}, at most {max:?}", examples(max)));
    let text = text(value)?;
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit_ms = match &text[digits.len()..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(expected()),
    };
    let number = whole_number(digits).ok_or_else(expected)?;
    let duration = number.checked_mul(unit_ms).map(Duration::from_millis).ok_or_else(expected)?;
    let fits = !duration.is_zero() && duration <= max;
    fits.then_some(duration).ok_or_else(expected)
}

/// Durations of the size that is asked for.
fn examples(max: Duration) -> &'static str {
    if max > Duration::from_secs(86_400) { "12h or 90d" } else { "500ms, 15s or 2m" }
}

/// Digits only: `u64::from_str` would take a plus sign too.
fn whole_number(digits: &str) -> Option<u64> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("0", 0),
            ("512", 512),
            ("1k", 1 << 10),
            ("512M", 512 << 20),
            ("512MB", 512 << 20),
            ("2G", 2 << 30),
            ("3GiB", 3 << 30),
            ("1T", 1 << 40),
        ] {
            assert_eq!(size(text.into()), Ok(expected), "{text}");
        }
        for bad in ["", "M", "1.5G", "-1", "+1", "1X", "1 G", "G1", "99999999T", "1e3"] {
            assert!(size(bad.into()).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations() {
        let max = Duration::from_secs(3600);
        for (text, expected_ms) in
            [("500ms", 500), ("15s", 15_000), ("2m", 120_000), ("1h", 3_600_000)]
        {
            let expected = Duration::from_millis(expected_ms);
            assert_eq!(duration(text.into(), max), Ok(expected), "{text}");
        }
        for bad in
            ["", "15", "s", "0s", "61m", "1.5s", "-1s", "+1s", "2x", "1d", "99999999999999999h"]
        {
            assert!(duration(bad.into(), max).is_err(), "{bad}");
        }
    }

    #[test]
    fn counts_are_bounded() {
        assert_eq!(count("1".into(), 1..=4), Ok(1));
        assert_eq!(count("4".into(), 1..=4), Ok(4));
        for bad in ["0", "5", "", "x", "1.0", "-1"] {
            let error = count(bad.into(), 1..=4);
            assert_eq!(error, Err(ValueError::expected("a number from 1 to 4")), "{bad}");
        }
    }
}
