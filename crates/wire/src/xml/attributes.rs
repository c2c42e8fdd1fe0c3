//! The attributes of a start tag, and what stands for what in their values (XML 1.0 §3.1, §3.3.3,
//! §4.1).

use super::characters::{is_character, is_space};
use super::refused::{Reason, shown};
use super::scope::Name;
use std::borrow::Cow;

/// An attribute that is no namespace declaration.
#[derive(Clone, Debug)]
pub struct Attribute<'a> {
    /// Its name.
    pub name: Name<'a>,
    /// Its value, normalized.
    pub value: Cow<'a, str>,
    /// As it stands in the text: `name="value"`.
    pub raw: &'a str,
    /// Where it begins in the text, in bytes.
    pub at: usize,
}

/// An attribute as it stands.
#[derive(Clone, Copy)]
pub(super) struct Written<'a> {
    pub name: &'a str,
    pub value: &'a str,
    pub raw: &'a str,
    /// Where it begins in what was split, in bytes.
    pub at: usize,
}

/// Splits what follows the name in a start tag into at most so many attributes.
pub(super) fn split(text: &str, max: usize) -> Result<Vec<Written<'_>>, Reason> {
    let mut written: Vec<Written<'_>> = Vec::new();
    let mut rest = text;
    loop {
        let trimmed = rest.trim_start_matches(is_space);
        if trimmed.is_empty() {
            return Ok(written);
        }
        let is_parted = trimmed.len() < rest.len();
        let at = text.len() - trimmed.len();
        let one = one(trimmed, at).filter(|_| is_parted);
        let one = one.ok_or_else(|| Reason::Attributes(shown(trimmed)))?;
        if written.iter().any(|other| other.name == one.name) {
            return Err(Reason::AttributeTwice(shown(one.name)));
        }
        if written.len() == max {
            return Err(Reason::Limit { what: "attributes of an element", max });
        }
        written.push(one);
        rest = &trimmed[one.raw.len()..];
    }
}

/// The attribute at the beginning of `text`.
fn one(text: &str, at: usize) -> Option<Written<'_>> {
    let (name, after) = text.split_once('=')?;
    let name = name.trim_end_matches(is_space);
    let quoted = after.trim_start_matches(is_space);
    let quote = quoted.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let value = quoted[1..].split_once(quote)?.0;
    let end = text.len() - quoted.len() + value.len() + 2;
    (!value.contains('<')).then_some(Written { name, value, raw: &text[..end], at })
}

/// The value that is meant: references resolved, white space to spaces.
pub(super) fn normalized(value: &str) -> Result<Cow<'_, str>, Reason> {
    let is_plain = |byte: &u8| !matches!(byte, b'&' | b'\t' | b'\n' | b'\r');
    if value.as_bytes().iter().all(is_plain) {
        return Ok(Cow::Borrowed(value));
    }
    let mut meant = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find(['&', '\t', '\n', '\r']) {
        meant.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(reference) = rest.strip_prefix('&') else {
            // A line's end is one character, whichever way it is written (§2.11).
            rest = rest.strip_prefix("\r\n").unwrap_or(&rest[1..]);
            meant.push(' ');
            continue;
        };
        let (name, after) =
            reference.split_once(';').ok_or_else(|| Reason::Entity(shown(reference)))?;
        meant.push(referred(name)?);
        rest = after;
    }
    meant.push_str(rest);
    Ok(Cow::Owned(meant))
}

/// The character that `&name;` is.
pub(super) fn referred(name: &str) -> Result<char, Reason> {
    let number = |digits: &str, radix| {
        let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
        let number = is_number.then(|| u32::from_str_radix(digits, radix).ok())??;
        char::from_u32(number).filter(|c| is_character(*c))
    };
    let found = match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => match name.strip_prefix('#') {
            Some(digits) => match digits.strip_prefix('x') {
                Some(digits) => number(digits, 16),
                None => number(digits, 10),
            },
            None => None,
        },
    };
    found.ok_or_else(|| Reason::Entity(shown(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::XML_ATTRIBUTES_MAX;

    fn names(text: &str) -> Option<Vec<(&str, &str)>> {
        let written = split(text, XML_ATTRIBUTES_MAX).ok()?;
        assert!(written.iter().all(|one| text[one.at..].starts_with(one.raw)));
        Some(written.iter().map(|one| (one.name, one.value)).collect())
    }

    #[test]
    fn attributes_are_parted_by_space() {
        assert_eq!(names(" a='1'\n b = \"'\" "), Some(vec![("a", "1"), ("b", "'")]));
        assert_eq!(names(""), Some(vec![]));
        for bad in [" a", " a=1", " a='1'b='2'", " a='<'", " a='", " a='1' a='2'", "a='1'", " a="] {
            assert_eq!(names(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_number_of_attributes_is_bounded() {
        let text = |count: usize| (0..count).map(|i| format!(" a{i}=''")).collect::<String>();
        let split = |count| split(&text(count), XML_ATTRIBUTES_MAX).map(|written| written.len());
        assert_eq!(split(XML_ATTRIBUTES_MAX), Ok(XML_ATTRIBUTES_MAX));
        assert!(matches!(split(XML_ATTRIBUTES_MAX + 1), Err(Reason::Limit { .. })));
    }

    #[test]
    fn values_are_normalized() {
        assert_eq!(normalized("a&amp;&#65;&#x1F600;\r\n\tb").unwrap(), "a&A\u{1f600}  b");
        for bad in ["&", "&x;", "&#0;", "&#xD800;", "&#x;", "&#+1;", "&#xFFFE;", "&#99999999999;"] {
            assert!(normalized(bad).is_err(), "{bad}");
        }
    }
}
