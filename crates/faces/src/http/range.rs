//! The Range field (RFC 9110 §14.2), of which one range of bytes is honoured. Several at once are
//! ignored, as §14.2 allows: the client gets the whole.

use hyper::Method;
use hyper::header::{HeaderValue, IF_RANGE, RANGE};
use hyper::http::request::Parts;
use std::ops::Range;

/// What of a representation is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of it: what is malformed, or of another unit, is ignored (§14.2).
    Whole,
    /// These bytes; at least one.
    Part(Range<usize>),
    /// Bytes that there are not (§15.5.17).
    Nothing,
}

/// What a request wants of a representation of `length` bytes that has this tag (If-Range, §13.1.5;
/// one with a date is taken for another version, since a date says less than the tag).
pub(super) fn asked(parts: &Parts, tag: Option<&HeaderValue>, length: usize) -> Wanted {
    let headers = &parts.headers;
    let is_current = headers.get(IF_RANGE).is_none_or(|condition| Some(condition) == tag);
    let is_one = headers.get_all(RANGE).iter().count() == 1;
    match headers.get(RANGE).filter(|_| is_current && is_one && parts.method == Method::GET) {
        Some(field) => wanted(field, length),
        None => Wanted::Whole,
    }
}

/// What `field` wants of `length` bytes.
fn wanted(field: &HeaderValue, length: usize) -> Wanted {
    field.to_str().ok().and_then(|text| parse(text, length)).unwrap_or(Wanted::Whole)
}

/// `None`: it is not well formed, or not one range of bytes.
fn parse(text: &str, length: usize) -> Option<Wanted> {
    let (unit, range) = text.split_once('=')?;
    let (first, last) = range.trim().split_once('-')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") || range.contains(',') {
        return None;
    }
    let (start, end) = match (first, last) {
        ("", suffix) => (length.saturating_sub(number(suffix)?), length),
        (first, "") => (number(first)?, length),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return None;
            }
            (first, last.saturating_add(1).min(length))
        }
    };
    Some(if start < end { Wanted::Part(start..end) } else { Wanted::Nothing })
}

/// Digits alone; a number too large to hold is as good as the largest.
fn number(digits: &str) -> Option<usize> {
    let are_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    are_digits.then(|| digits.parse().unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(field: &'static str, length: usize) -> Wanted {
        wanted(&HeaderValue::from_static(field), length)
    }

    #[test]
    fn rfc9110_14_1_2_byte_ranges() {
        for (field, part) in [
            ("bytes=0-0", 0..1),
            ("bytes=2-4", 2..5),
            ("bytes=2-", 2..10),
            ("bytes=-3", 7..10),
            ("bytes=-30", 0..10),
            ("bytes=9-99999999999999999999", 9..10),
            ("Bytes= 1-1", 1..2),
        ] {
            assert_eq!(of(field, 10), Wanted::Part(part), "{field}");
        }
        for field in ["bytes=10-", "bytes=10-11", "bytes=-0", "bytes=99999999999999999999-"] {
            assert_eq!(of(field, 10), Wanted::Nothing, "{field}");
        }
        assert_eq!(of("bytes=0-", 0), Wanted::Nothing);
        assert_eq!(of("bytes=-1", 0), Wanted::Nothing);
    }

    #[test]
    fn rfc9110_14_2_what_is_ignored() {
        for field in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=a-b",
            "bytes=4-2",
            "bytes=1-2,4-5",
            "bytes=1--2",
            "lines=1-2",
            "bytes=+1-2",
            "bytes=1 - 2",
            "1-2",
        ] {
            assert_eq!(of(field, 10), Wanted::Whole, "{field}");
        }
    }
}
