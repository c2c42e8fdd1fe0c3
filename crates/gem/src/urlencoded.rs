//! Percent-encoding in paths (RFC 3986 §2.1), and the form encoding of queries and bodies
//! (WHATWG URL, application/x-www-form-urlencoded).

use crate::limits::FORM_FIELDS_MAX;
use std::borrow::Cow;
use thiserror::Error;

/// Why a path or a form cannot be decoded.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum DecodeError {
    #[error("the path has a % that two hexadecimal digits do not follow")]
    Percent,
    #[error("the path is not UTF-8 after percent-decoding")]
    Utf8,
    #[error("a form has at most {FORM_FIELDS_MAX} fields")]
    TooManyFields,
}

/// Decodes one segment of a path. Strict: a key must not depend on how an error was mended.
pub(crate) fn decode_segment(segment: &str) -> Result<Cow<'_, str>, DecodeError> {
    if !segment.contains('%') {
        return Ok(Cow::Borrowed(segment));
    }
    let (bytes, complete) = unescape(segment.as_bytes(), false);
    if !complete {
        return Err(DecodeError::Percent);
    }
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| DecodeError::Utf8)
}

/// The fields of a form or query, in order. Lenient, as browsers are: a stray % stands for itself
/// and what is not UTF-8 becomes U+FFFD.
pub(crate) fn decode_form(form: &[u8]) -> Result<Vec<(String, String)>, DecodeError> {
    let fields = || form.split(|&byte| byte == b'&').filter(|field| !field.is_empty());
    if fields().nth(FORM_FIELDS_MAX).is_some() {
        return Err(DecodeError::TooManyFields);
    }
    Ok(fields()
        .map(|field| {
            let equals = field.iter().position(|&byte| byte == b'=').unwrap_or(field.len());
            let value = field.get(equals + 1..).unwrap_or_default();
            (decode_field(&field[..equals]), decode_field(value))
        })
        .collect())
}

fn decode_field(field: &[u8]) -> String {
    let (bytes, _) = unescape(field, true);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The bytes, and whether each % began an escape.
fn unescape(text: &[u8], plus_is_space: bool) -> (Vec<u8>, bool) {
    let mut bytes = Vec::with_capacity(text.len());
    let mut complete = true;
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (*first, escaped(tail)) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            (b'%', None) => {
                complete = false;
                bytes.push(b'%');
            }
            (b'+', _) if plus_is_space => bytes.push(b' '),
            (byte, _) => bytes.push(byte),
        }
    }
    (bytes, complete)
}

fn escaped(text: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*text.get(at)?).to_digit(16);
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(text: &str) -> Vec<(String, String)> {
        decode_form(text.as_bytes()).unwrap()
    }

    fn field(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn segments() {
        assert_eq!(decode_segment("plain+plus").unwrap(), "plain+plus");
        assert_eq!(decode_segment("caf%C3%a9%2F%00").unwrap(), "café/\0");
        for bad in ["%", "%4", "%zz", "a%g0", "%+1"] {
            assert_eq!(decode_segment(bad), Err(DecodeError::Percent), "{bad}");
        }
        assert_eq!(decode_segment("%ff"), Err(DecodeError::Utf8));
    }

    #[test]
    fn forms() {
        assert_eq!(form(""), []);
        assert_eq!(form("&&a=1&b"), [field("a", "1"), field("b", "")]);
        assert_eq!(form("a+b=c%2bd%3D=x"), [field("a b", "c+d==x")]);
        assert_eq!(
            form("=v&%zz=%&x=%ff"),
            [field("", "v"), field("%zz", "%"), field("x", "\u{fffd}")]
        );
    }

    #[test]
    fn a_form_has_a_bounded_number_of_fields() {
        let fields = "a&".repeat(FORM_FIELDS_MAX);
        assert_eq!(form(&fields).len(), FORM_FIELDS_MAX);
        let more = decode_form(format!("{fields}a").as_bytes());
        assert_eq!(more, Err(DecodeError::TooManyFields));
    }
}
