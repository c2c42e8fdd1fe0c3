//! The Accept field (RFC 9110 §12.5.1). What it means is in `acceptable`.

use crate::acceptable::{Acceptable, Range, split, unquoted};
use hyper::header::{ACCEPT, HeaderMap};

/// What the asker takes; `None`: anything. A range that is not well formed counts for nothing: a
/// client that cannot write the field still wants an answer.
pub(crate) fn acceptable(headers: &HeaderMap) -> Option<Box<Acceptable>> {
    let mut lines = headers.get_all(ACCEPT).iter().peekable();
    if lines.peek()?.as_bytes() == b"*/*" {
        return None;
    }
    let text = lines.filter_map(|line| line.to_str().ok());
    let ranges: Vec<Range> = text.flat_map(|line| unquoted(line, ',')).filter_map(range).collect();
    // An empty field, or one without any range that is understood, asks for nothing.
    (!ranges.is_empty()).then(|| Box::new(Acceptable(ranges)))
}

/// The place in `offers` of the media type that suits the asker best; the first for one who says
/// nothing, none if it takes none of them.
pub(crate) fn best(headers: &HeaderMap, offers: &[&str]) -> Option<usize> {
    match acceptable(headers) {
        Some(acceptable) => acceptable.best(offers),
        None => Some(0),
    }
}

fn range(text: &str) -> Option<Range> {
    let (essence, mut parameters) = split(text);
    let (kind, subtype) = essence.split_once('/')?;
    if kind.is_empty() || subtype.is_empty() || (kind == "*" && subtype != "*") {
        return None;
    }
    let mut weight = 1_000;
    if let Some(at) = parameters.iter().position(|(name, _)| name == "q") {
        weight = self::weight(&parameters[at].1)?;
        // What follows is an extension of the field, not a parameter of the media type.
        parameters.truncate(at);
    }
    let named = |name: &str| (name != "*").then(|| name.to_owned());
    Some(Range { kind: named(kind), subtype: named(subtype), parameters, weight })
}

/// In thousandths (§12.4.2).
pub(super) fn weight(text: &str) -> Option<u16> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_written_so = fraction.len() <= 3 && fraction.bytes().all(|b| b.is_ascii_digit());
    let thousandths: u16 = format!("{fraction:0<3}").parse().ok().filter(|_| is_written_so)?;
    match whole {
        "0" => Some(thousandths),
        "1" if thousandths == 0 => Some(1_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;
    use repository::MediaType;

    fn admits(accept: &str, media_type: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_str(accept).unwrap());
        let media_type = match media_type {
            "application/json" => MediaType::Json,
            other => MediaType::Other(other.into()),
        };
        acceptable(&headers).is_none_or(|acceptable| acceptable.admits(&media_type))
    }

    #[test]
    fn rfc9110_12_5_1_ranges() {
        for (accept, media_type) in [
            ("*/*", "a/b"),
            ("", "a/b"),
            ("application/*", "application/json"),
            ("Application/JSON", "application/json"),
            ("text/html, application/json;q=0.1", "application/json"),
            ("text/plain", "text/plain; charset=utf-8"),
            ("text/plain;charset=\"UTF-8\"", "text/plain; charset=utf-8"),
            ("text/*;q=0, text/plain", "text/plain"),
            ("*/*;q=0.001", "a/b"),
            ("nonsense", "a/b"),
            ("application/json; charset=utf-8", "application/json"),
            ("application/json;charset=\"ISO-8859-1\";q=0.5", "application/json"),
            ("text/html;charset=utf-8", "text/html"),
            ("text/html;level=\"1,2;3\", a/b;x=\"\\\",\"", "text/html; level=\"1,2;3\""),
        ] {
            assert!(admits(accept, media_type), "{accept}: {media_type}");
        }
        for (accept, media_type) in [
            ("text/html", "application/json"),
            ("text/*", "application/json"),
            ("*/*, application/json;q=0", "application/json"),
            ("application/json;q=0.0", "application/json"),
            ("text/*, text/plain;q=0", "text/plain"),
            ("text/plain, text/plain;format=flowed;q=0", "text/plain; format=flowed"),
            ("text/plain;format=flowed", "text/plain"),
            ("text/plain;charset=latin1", "text/plain; charset=utf-8"),
            ("application/json;charset=utf-8;q=0, */*", "application/json"),
            ("application/json;profile=x", "application/json"),
            ("a/c;x=\", a/b\"", "a/b"),
            ("*/json, text/html", "application/json"),
            ("application/json;q=1.5, text/html", "application/json"),
        ] {
            assert!(!admits(accept, media_type), "{accept}: {media_type}");
        }
    }

    #[test]
    fn rfc9110_12_5_1_the_best_of_several() {
        let offers = ["text/event-stream", "application/json"];
        for (accept, expected) in [
            ("", Some(0)),
            ("*/*", Some(0)),
            ("application/json;q=0.2, text/event-stream;q=0.1", Some(1)),
            ("application/json;q=0.2, text/event-stream;q=0.3", Some(0)),
            ("application/json, text/event-stream", Some(0)),
            ("application/json, text/plain, */*", Some(1)),
            ("text/*, application/json;q=0.9", Some(0)),
            ("text/event-stream;q=0, */*;q=0.1", Some(1)),
            ("application/json;charset=utf-8, text/event-stream;q=0.9", Some(1)),
            ("text/html", None),
            ("*/*;q=0", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(best(&headers, &offers), expected, "{accept}");
        }
        assert_eq!(best(&HeaderMap::new(), &offers), Some(0));
    }
}
