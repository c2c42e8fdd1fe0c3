//! The header fields of conditional requests (RFC 9110 §13.1) as preconditions. What they mean is
//! in `preconditions`.
//!
//! A malformed If-Match or If-None-Match is refused: ignoring it could overwrite what its sender
//! wanted to protect. A malformed date is ignored, as §13.1.3 and §13.1.4 ask.

use crate::preconditions::{Preconditions, Versions};
use crate::problem::{Kind, Problem};
use hyper::header::{
    HeaderMap, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE,
};
use repository::CommitNumber;
use std::time::UNIX_EPOCH;

/// Reads the conditions of a request.
pub(crate) fn preconditions(headers: &HeaderMap) -> Result<Preconditions, Problem> {
    Ok(Preconditions {
        matches: versions(headers, IF_MATCH, Comparison::Strong)?,
        none_matches: versions(headers, IF_NONE_MATCH, Comparison::Weak)?,
        modified_since_s: date(headers, IF_MODIFIED_SINCE),
        unmodified_since_s: date(headers, IF_UNMODIFIED_SINCE),
    })
}

/// How entity tags are compared (§8.8.3.2): in a strong comparison a weak tag equals nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Strong,
    Weak,
}

fn versions(
    headers: &HeaderMap,
    name: HeaderName,
    comparison: Comparison,
) -> Result<Option<Versions>, Problem> {
    // Several lines of one list field are one list (§5.3).
    let mut lines = headers.get_all(&name).iter().map(|line| line.as_bytes().trim_ascii());
    let Some(first) = lines.next() else { return Ok(None) };
    let malformed = || {
        let detail = format!("{name} takes * or a list of entity tags such as \"7\", with quotes");
        Problem::new(Kind::BadRequest, detail)
    };
    if first == b"*" {
        return if lines.next().is_none() { Ok(Some(Versions::Any)) } else { Err(malformed()) };
    }
    let mut listed = Vec::new();
    for line in std::iter::once(first).chain(lines) {
        read_tags(line, comparison, &mut listed).ok_or_else(malformed)?;
    }
    Ok(Some(Versions::Listed(listed)))
}

/// Reads a list of entity tags; empty elements are allowed (§5.6.1.2).
fn read_tags(line: &[u8], comparison: Comparison, listed: &mut Vec<CommitNumber>) -> Option<()> {
    let mut rest = line.trim_ascii_start();
    loop {
        while let Some(after) = rest.strip_prefix(b",") {
            rest = after.trim_ascii_start();
        }
        if rest.is_empty() {
            return Some(());
        }
        let (is_weak, quoted) = match rest.strip_prefix(b"W/") {
            Some(after) => (true, after),
            None => (false, rest),
        };
        let opaque = quoted.strip_prefix(b"\"")?;
        let end = opaque.iter().position(|byte| *byte == b'"')?;
        let (opaque, after) = (&opaque[..end], &opaque[end + 1..]);
        if opaque.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) {
            return None;
        }
        if comparison == Comparison::Weak || !is_weak {
            listed.extend(version(opaque));
        }
        rest = after.trim_ascii_start();
        if !rest.is_empty() && !rest.starts_with(b",") {
            return None;
        }
    }
}

/// The version that one strong entity tag names: `Some(None)`: none that is possible here. `None`:
/// it is not one entity tag.
pub(crate) fn tag(text: &str) -> Option<Option<CommitNumber>> {
    let mut listed = Vec::new();
    let is_one = text.starts_with('"') && text.len() > 1 && text.matches('"').count() == 2;
    read_tags(text.as_bytes(), Comparison::Strong, &mut listed).filter(|()| is_one)?;
    Some(listed.pop())
}

/// The version an entity tag names, if it is one that this server can have sent: tags are compared
/// byte by byte, so `"07"` is not `"7"`.
fn version(opaque: &[u8]) -> Option<CommitNumber> {
    let digits = std::str::from_utf8(opaque).ok()?;
    let is_canonical =
        digits.bytes().all(|b| b.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    digits.parse().ok().filter(|_| is_canonical).map(CommitNumber)
}

fn date(headers: &HeaderMap, name: HeaderName) -> Option<u64> {
    let text = headers.get(name)?.to_str().ok()?;
    let time = httpdate::parse_http_date(text.trim()).ok()?;
    time.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn read(name: HeaderName, lines: &[&str]) -> Result<Preconditions, Problem> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(&name, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        preconditions(&headers)
    }

    fn listed(versions: &[u64]) -> Option<Versions> {
        Some(Versions::Listed(versions.iter().copied().map(CommitNumber).collect()))
    }

    #[test]
    fn lists_stars_and_several_lines() {
        let matches = |lines: &[&str]| read(IF_MATCH, lines).unwrap().matches;
        assert_eq!(matches(&[]), None);
        assert_eq!(matches(&["*"]), Some(Versions::Any));
        assert_eq!(matches(&["\"7\""]), listed(&[7]));
        assert_eq!(matches(&[" ,\"7\" , ,\"8\","]), listed(&[7, 8]));
        assert_eq!(matches(&["\"7\"", "\"8\", \"9\""]), listed(&[7, 8, 9]));
        assert_eq!(matches(&[""]), listed(&[]));
    }

    #[test]
    fn weak_tags_count_only_in_weak_comparison() {
        let lines = ["W/\"7\", \"8\""];
        assert_eq!(read(IF_MATCH, &lines).unwrap().matches, listed(&[8]));
        assert_eq!(read(IF_NONE_MATCH, &lines).unwrap().none_matches, listed(&[7, 8]));
    }

    #[test]
    fn tags_of_others_equal_no_version() {
        for tag in ["\"abc\"", "\"07\"", "\"+7\"", "\"\"", "\"a,b\"", "\"18446744073709551616\""] {
            assert_eq!(read(IF_MATCH, &[tag]).unwrap().matches, listed(&[]), "{tag}");
        }
    }

    #[test]
    fn malformed_tags_are_refused() {
        for line in
            ["7", "\"7", "\"7\" \"8\"", "*, \"7\"", "\"7\", *", "w/\"7\"", "W/ \"7\"", "\"a b\""]
        {
            let problem = read(IF_MATCH, &[line]).unwrap_err();
            assert_eq!(problem.kind, Kind::BadRequest, "{line}");
            assert!(problem.detail.starts_with("if-match"), "{}", problem.detail);
        }
        assert!(read(IF_NONE_MATCH, &["*", "*"]).is_err());
    }

    #[test]
    fn dates_in_all_three_formats_and_malformed_ones() {
        let since = |date| read(IF_MODIFIED_SINCE, &[date]).unwrap().modified_since_s;
        assert_eq!(since("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(since("Sunday, 06-Nov-94 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(since("Sun Nov  6 08:49:37 1994"), Some(784_111_777));
        assert_eq!(since("yesterday"), None);
        let unless = read(IF_UNMODIFIED_SINCE, &["Sun, 06 Nov 1994 08:49:37 GMT"]).unwrap();
        assert_eq!(unless.unmodified_since_s, Some(784_111_777));
    }
}
