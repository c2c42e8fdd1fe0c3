//! Finding a place in canonical text by JSON Pointer (RFC 6901), and writing a number there.

use super::canonical::array_index;
use super::{canonicalize, format_number};
use thiserror::Error;

/// Why a pointer names no place that can be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PointerError {
    /// Not the syntax of RFC 6901 §3.
    #[error("a JSON Pointer is empty or starts with '/', and ~ is written ~0 or ~1; got \"{0}\"")]
    Syntax(String),
    /// A member or element on the way is missing.
    #[error("there is nothing at \"{0}\"")]
    Missing(String),
    /// The way leads through something that has no members.
    #[error("\"{0}\" is neither an object nor an array")]
    NotAContainer(String),
    /// The place holds something else than a number.
    #[error("\"{0}\" holds no number")]
    NotANumber(String),
    /// The sum is beyond the range of a double.
    #[error("the sum at \"{0}\" is beyond the range of a double")]
    Overflow(String),
}

/// A place in a text: a value's bytes, or where a new member of an object would go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Span {
    /// The value is at these bytes.
    Value(std::ops::Range<usize>),
    /// The last member of the path is missing; it goes before the `}` at `at`.
    Vacant {
        /// Offset of the closing brace.
        at: usize,
        /// Its name, unescaped.
        name: String,
        /// Whether the object has no member yet.
        first: bool,
    },
}

/// Finds `pointer` in `text`, which must be canonical.
pub fn locate(text: &str, pointer: &str) -> Result<Span, PointerError> {
    let mut at = 0;
    let mut done = 0;
    let tokens: Vec<&str> = match pointer.strip_prefix('/') {
        Some(rest) => rest.split('/').collect(),
        None if pointer.is_empty() => Vec::new(),
        None => return Err(PointerError::Syntax(pointer.to_owned())),
    };
    for (i, token) in tokens.iter().enumerate() {
        let parent = &pointer[..done];
        done += 1 + token.len();
        let name = unescape(token).ok_or_else(|| PointerError::Syntax(pointer.to_owned()))?;
        match text.as_bytes()[at] {
            b'{' => match find_member(text, at, &name) {
                Ok(value) => at = value,
                Err((close, first)) if i + 1 == tokens.len() => {
                    return Ok(Span::Vacant { at: close, name, first });
                }
                Err(_) => return Err(PointerError::Missing(pointer[..done].to_owned())),
            },
            b'[' => {
                at = find_element(text, at, &name)
                    .ok_or_else(|| PointerError::Missing(pointer[..done].to_owned()))?;
            }
            _ => return Err(PointerError::NotAContainer(parent.to_owned())),
        }
    }
    Ok(Span::Value(at..skip_value(text.as_bytes(), at)))
}

/// Adds `delta` to the number at `pointer` in the canonical `text`; a missing last member counts
/// as 0. The result is canonical again.
pub fn splice_number(text: &str, pointer: &str, delta: f64) -> Result<Vec<u8>, PointerError> {
    let overflow = |sum: f64| match sum.is_finite() {
        true => Ok(format_number(sum)),
        false => Err(PointerError::Overflow(pointer.to_owned())),
    };
    match locate(text, pointer)? {
        Span::Value(span) => {
            let old: f64 = text[span.clone()]
                .parse()
                .map_err(|_| PointerError::NotANumber(pointer.to_owned()))?;
            let sum = overflow(old + delta)?;
            Ok([&text[..span.start], &sum, &text[span.end..]].concat().into_bytes())
        }
        Span::Vacant { at, name, first } => {
            let comma = if first { "" } else { "," };
            let member = format!("{comma}{}:{}", quote(&name), overflow(delta)?);
            let spliced = [&text[..at], &member, &text[at..]].concat().into_bytes();
            // A new array-index name belongs before the others: let the one rule for order decide.
            match array_index(name.as_bytes()) {
                Some(_) => Ok(canonicalize(&spliced).unwrap_or(spliced)),
                None => Ok(spliced),
            }
        }
    }
}

fn quote(name: &str) -> String {
    let mut raw = String::with_capacity(name.len() + 2);
    raw.push('"');
    for c in name.chars() {
        match c {
            '"' => raw.push_str("\\\""),
            '\\' => raw.push_str("\\\\"),
            '\u{8}' => raw.push_str("\\b"),
            '\t' => raw.push_str("\\t"),
            '\n' => raw.push_str("\\n"),
            '\u{c}' => raw.push_str("\\f"),
            '\r' => raw.push_str("\\r"),
            c if c < ' ' => raw.push_str(&format!("\\u{:04x}", c as u32)),
            c => raw.push(c),
        }
    }
    raw.push('"');
    raw
}

fn unescape(token: &str) -> Option<String> {
    if !token.contains('~') {
        return Some(token.to_owned());
    }
    let mut name = String::with_capacity(token.len());
    let mut chars = token.chars();
    while let Some(c) = chars.next() {
        match c {
            '~' => match chars.next()? {
                '0' => name.push('~'),
                '1' => name.push('/'),
                _ => return None,
            },
            c => name.push(c),
        }
    }
    Some(name)
}

/// The offset of the value of member `name` in the object at `open`, or its closing brace and
/// whether the object is empty.
fn find_member(text: &str, open: usize, name: &str) -> Result<usize, (usize, bool)> {
    let bytes = text.as_bytes();
    let wanted = quote(name);
    let mut at = open + 1;
    if bytes[at] == b'}' {
        return Err((at, true));
    }
    loop {
        let name_end = skip_value(bytes, at);
        if text[at..name_end] == wanted {
            return Ok(name_end + 1);
        }
        at = skip_value(bytes, name_end + 1);
        if bytes[at] == b'}' {
            return Err((at, false));
        }
        at += 1;
    }
}

fn find_element(text: &str, open: usize, token: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut index = array_index(token.as_bytes())?;
    let mut at = open + 1;
    if bytes[at] == b']' {
        return None;
    }
    while index > 0 {
        at = skip_value(bytes, at);
        if bytes[at] == b']' {
            return None;
        }
        at += 1;
        index -= 1;
    }
    Some(at)
}

/// The offset after the value that starts at `at`. The text is canonical, so it is well formed.
fn skip_value(text: &[u8], at: usize) -> usize {
    let mut depth = 0_usize;
    let mut i = at;
    loop {
        match text[i] {
            b'"' => i = skip_string(text, i),
            b'{' | b'[' => {
                depth += 1;
                i += 1;
            }
            b'}' | b']' => {
                depth -= 1;
                i += 1;
            }
            b',' | b':' => i += 1,
            _ => i += scalar_length(&text[i..]),
        }
        if depth == 0 {
            return i;
        }
    }
}

fn skip_string(text: &[u8], open: usize) -> usize {
    let mut i = open + 1;
    while text[i] != b'"' {
        i += if text[i] == b'\\' { 2 } else { 1 };
    }
    i + 1
}

fn scalar_length(text: &[u8]) -> usize {
    text.iter().position(|b| matches!(b, b',' | b'}' | b']' | b':')).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(text: &str, pointer: &str, delta: f64) -> Result<String, PointerError> {
        splice_number(text, pointer, delta).map(|out| String::from_utf8(out).unwrap())
    }

    #[test]
    fn adds_where_the_pointer_says() {
        for (text, pointer, delta, expected) in [
            ("41", "", 1.0, "42"),
            (r#"{"a":"}","b":[1,{"c":2.5}]}"#, "/b/1/c", -0.5, r#"{"a":"}","b":[1,{"c":2}]}"#),
            (r#"{"a/b":{"~":1}}"#, "/a~1b/~0", 1.0, r#"{"a/b":{"~":2}}"#),
            (r#"{"\"x\\":1}"#, "/\"x\\", 1.0, r#"{"\"x\\":2}"#),
            ("{}", "/n", 3.0, r#"{"n":3}"#),
            (r#"{"n":[]}"#, "/m", 3.0, r#"{"n":[],"m":3}"#),
            (r#"{"n":1}"#, "/7", 3.0, r#"{"7":3,"n":1}"#),
            (r#"{"":1}"#, "/", 3.0, r#"{"":4}"#),
        ] {
            assert_eq!(add(text, pointer, delta).as_deref(), Ok(expected), "{text} {pointer}");
        }
    }

    #[test]
    fn refuses_what_it_cannot_do() {
        use PointerError::{Missing, NotAContainer, NotANumber, Overflow, Syntax};
        for (text, pointer, expected) in [
            ("{}", "a", Syntax("a".into())),
            ("{}", "/~2", Syntax("/~2".into())),
            ("{}", "/a/b", Missing("/a".into())),
            ("[1]", "/1", Missing("/1".into())),
            ("[1]", "/01", Missing("/01".into())),
            ("[]", "/0", Missing("/0".into())),
            (r#"{"a":1}"#, "/a/b", NotAContainer("/a".into())),
            (r#"{"a":"1"}"#, "/a", NotANumber("/a".into())),
            ("true", "", NotANumber("".into())),
            ("1.7e+308", "", Overflow("".into())),
        ] {
            assert_eq!(add(text, pointer, 1e308), Err(expected), "{text} {pointer}");
        }
    }
}
