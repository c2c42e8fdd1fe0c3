//! What names a request across programs: X-Request-Id, which proxies and clients choose, and the
//! trace of a `traceparent` field (W3C Trace Context, §3.2).

use crate::limits;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

/// The field. It has no registration; every proxy knows it by this name.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The id that a request came with, if it is one that can be passed on without harm.
pub(crate) fn id(headers: &HeaderMap) -> Option<&HeaderValue> {
    let value = headers.get(X_REQUEST_ID)?;
    let bytes = value.as_bytes();
    let is_plain = bytes.iter().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(byte));
    let fits = (1..=limits::REQUEST_ID_BYTES_MAX).contains(&bytes.len());
    (is_plain && fits).then_some(value)
}

/// The trace that a request belongs to: 32 hexadecimal digits.
pub(crate) fn trace(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(TRACEPARENT)?.to_str().ok()?;
    let mut parts = text.split('-');
    let (_version, trace) = (parts.next().filter(|version| version.len() == 2)?, parts.next()?);
    let is_hex = trace.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_trace = trace.len() == 32 && is_hex && trace.bytes().any(|byte| byte != b'0');
    is_trace.then_some(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn ids_that_can_be_passed_on() {
        let of = |value: &str| id(&headers(X_REQUEST_ID, value)).is_some();
        assert!(of("7f3a-1"));
        assert!(of(&"x".repeat(limits::REQUEST_ID_BYTES_MAX)));
        for bad in
            ["", "a b", "a\"b", "a\\b", "a\tb", &"x".repeat(limits::REQUEST_ID_BYTES_MAX + 1)]
        {
            assert!(!of(bad), "{bad}");
        }
        assert!(id(&HeaderMap::new()).is_none());
    }

    #[test]
    fn w3c_trace_context_3_2_the_trace_of_a_traceparent() {
        let of = |value: &str| trace(&headers(TRACEPARENT, value)).map(str::to_owned);
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        assert_eq!(of(&format!("00-{id}-00f067aa0ba902b7-01")).as_deref(), Some(id));
        let zero = format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32));
        for bad in ["", "00", "00-abc-1-1", &format!("00-{}-1-1", id.to_uppercase()), &zero] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
