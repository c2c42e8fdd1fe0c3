//! Finding a place in canonical text by JSON Pointer (RFC 6901), and writing a value there.

use super::canonical::array_index;
use super::scan::skip_value;
use super::{canonicalize, quote, unquote};
use crate::limits::MERGE_PATH_BYTES_MAX;
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
    /// The place holds something else than an array.
    #[error("\"{0}\" holds no array")]
    NotAnArray(String),
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
    let tokens: Vec<&str> = tokens(pointer)?.collect();
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

/// Checks that `pointer` has the syntax of a JSON Pointer.
pub fn check_pointer(pointer: &str) -> Result<(), PointerError> {
    match tokens(pointer)?.all(|token| unescape(token).is_some()) {
        true => Ok(()),
        false => Err(PointerError::Syntax(pointer.to_owned())),
    }
}

/// The tokens of `pointer`, still escaped.
fn tokens(pointer: &str) -> Result<impl Iterator<Item = &str>, PointerError> {
    let rest = match pointer.strip_prefix('/') {
        None if !pointer.is_empty() => return Err(PointerError::Syntax(pointer.to_owned())),
        rest => rest,
    };
    Ok(rest.into_iter().flat_map(|rest| rest.split('/')))
}

/// Puts the canonical `value` at `place` of the canonical `text`. The result is canonical again.
pub fn splice(text: &str, place: &Span, value: &str) -> String {
    match place {
        Span::Value(span) => [&text[..span.start], value, &text[span.end..]].concat(),
        Span::Vacant { at, name, first } => {
            let comma = if *first { "" } else { "," };
            let spliced = [&text[..*at], comma, &quote(name), ":", value, &text[*at..]].concat();
            match array_index(name.as_bytes()) {
                Some(_) => reordered(spliced),
                None => spliced,
            }
        }
    }
}

/// A new array-index name belongs before the others: the one rule for order decides.
fn reordered(text: String) -> String {
    canonicalize(text.as_bytes()).ok().and_then(|out| String::from_utf8(out).ok()).unwrap_or(text)
}

/// The pointer to where a walk through a text is.
#[derive(Default)]
pub(super) struct Trail(String);

impl Trail {
    /// Where the walk is; if that is longer than `MERGE_PATH_BYTES_MAX`, what contains the place.
    pub(super) fn pointer(&self) -> &str {
        if self.0.len() <= MERGE_PATH_BYTES_MAX {
            return &self.0;
        }
        let last = self.0.as_bytes()[..=MERGE_PATH_BYTES_MAX].iter().rposition(|b| *b == b'/');
        &self.0[..last.unwrap_or(0)]
    }

    /// Goes to the member whose name stands in a text as `raw`. To be given to `leave`: the
    /// length before.
    pub(super) fn enter_member(&mut self, raw: &str) -> usize {
        self.enter(&unquote(raw))
    }

    /// As `enter_member`, with the plain name of a member or number of an element.
    pub(super) fn enter(&mut self, name: &str) -> usize {
        let length = self.0.len();
        self.0.push('/');
        for c in name.chars() {
            match c {
                '~' => self.0.push_str("~0"),
                '/' => self.0.push_str("~1"),
                c => self.0.push(c),
            }
        }
        length
    }

    pub(super) fn leave(&mut self, length: usize) {
        self.0.truncate(length);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn put(text: &str, pointer: &str) -> Result<String, PointerError> {
        locate(text, pointer).map(|place| splice(text, &place, "0"))
    }

    #[test]
    fn a_pointer_finds_its_place() {
        for (text, pointer, expected) in [
            ("41", "", "0"),
            (r#"{"a":"}","b":[1,{"c":2.5}]}"#, "/b/1/c", r#"{"a":"}","b":[1,{"c":0}]}"#),
            (r#"{"a/b":{"~":1}}"#, "/a~1b/~0", r#"{"a/b":{"~":0}}"#),
            (r#"{"\"x\\":1}"#, "/\"x\\", r#"{"\"x\\":0}"#),
            ("{}", "/n", r#"{"n":0}"#),
            (r#"{"n":[]}"#, "/m", r#"{"n":[],"m":0}"#),
            (r#"{"n":1}"#, "/7", r#"{"7":0,"n":1}"#),
            (r#"{"":1}"#, "/", r#"{"":0}"#),
        ] {
            assert_eq!(put(text, pointer).as_deref(), Ok(expected), "{text} {pointer}");
        }
    }

    #[test]
    fn a_pointer_may_lead_nowhere() {
        use PointerError::{Missing, NotAContainer, Syntax};
        for (text, pointer, expected) in [
            ("{}", "a", Syntax("a".into())),
            ("{}", "/~2", Syntax("/~2".into())),
            ("{}", "/a/b", Missing("/a".into())),
            ("[1]", "/1", Missing("/1".into())),
            ("[1]", "/01", Missing("/01".into())),
            ("[]", "/0", Missing("/0".into())),
            (r#"{"a":1}"#, "/a/b", NotAContainer("/a".into())),
        ] {
            assert_eq!(put(text, pointer), Err(expected), "{text} {pointer}");
        }
    }

    #[test]
    fn the_syntax_of_a_pointer_is_checked() {
        for good in ["", "/", "/a/b", "/~0~1", "/é"] {
            assert_eq!(check_pointer(good), Ok(()), "{good}");
        }
        for bad in ["a", "/~", "/~2", "/a/b~"] {
            assert_eq!(check_pointer(bad), Err(PointerError::Syntax(bad.into())), "{bad}");
        }
    }
}
