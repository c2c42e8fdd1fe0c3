//! Edits of canonical text at a JSON Pointer (RFC 6901) that the repository's own do not cover:
//! taking out, putting into an array, comparing.

use super::Misfit;
use repository::json::{self, PointerError, Span};
use repository::limits::{DOCUMENT_BYTES_MAX, JSON_DEPTH_MAX};
use std::ops::Range;

/// The text at `pointer`, which must be there.
pub(crate) fn find<'a>(text: &'a str, pointer: &str) -> Result<&'a str, Misfit> {
    Ok(&text[span(text, pointer)?])
}

fn span(text: &str, pointer: &str) -> Result<Range<usize>, Misfit> {
    match json::locate(text, pointer)? {
        Span::Value(span) => Ok(span),
        Span::Vacant { .. } => Err(PointerError::Missing(pointer.to_owned()).into()),
    }
}

/// Puts `value` at `pointer` as RFC 6902 §4.1 has it: over the whole document, over or into an
/// object's members, or between an array's elements.
pub(crate) fn add(text: &str, pointer: &str, value: &str) -> Result<String, Misfit> {
    check_depth(pointer, value)?;
    bounded(added(text, pointer, value)?)
}

/// Puts `value` in the place of the value at `pointer`, which must be there.
pub(crate) fn replace(text: &str, pointer: &str, value: &str) -> Result<String, Misfit> {
    check_depth(pointer, value)?;
    bounded(json::splice(text, &Span::Value(span(text, pointer)?), value))
}

fn check_depth(pointer: &str, value: &str) -> Result<(), Misfit> {
    let around = pointer.bytes().filter(|byte| *byte == b'/').count();
    if around + json::depth(value) > JSON_DEPTH_MAX { Err(Misfit::Depth) } else { Ok(()) }
}

fn bounded(text: String) -> Result<String, Misfit> {
    if text.len() > DOCUMENT_BYTES_MAX { Err(Misfit::Size) } else { Ok(text) }
}

fn added(text: &str, pointer: &str, value: &str) -> Result<String, Misfit> {
    let Some((parent, token)) = pointer.rsplit_once('/') else {
        json::check_pointer(pointer)?;
        return Ok(value.to_owned());
    };
    let array = span(text, parent)?;
    if !text[array.clone()].starts_with('[') {
        return Ok(json::splice(text, &json::locate(text, pointer)?, value));
    }
    json::check_pointer(pointer)?;
    insert(text, array, (pointer, token), value)
}

/// Puts `value` into the array at `array`, before the element that `token` names.
fn insert(
    text: &str,
    array: Range<usize>,
    (pointer, token): (&str, &str),
    value: &str,
) -> Result<String, Misfit> {
    let inside = &text[array.clone()];
    let end = array.end - 1;
    let (at, is_last) = match json::locate(inside, &format!("/{token}")) {
        Ok(Span::Value(element)) => (array.start + element.start, false),
        _ if is_end(inside, token) => (end, true),
        _ => {
            let length = json::children(inside).count();
            let why = format!("\"{pointer}\" is not in the array, which has {length} elements");
            return Err(Misfit::State(why));
        }
    };
    let (before, after) = match (is_last, inside.len() == 2) {
        (true, true) => ("", ""),
        (true, false) => (",", ""),
        (false, _) => ("", ","),
    };
    Ok([&text[..at], before, value, after, &text[at..]].concat())
}

/// Whether `token` names the place after the last element.
fn is_end(array: &str, token: &str) -> bool {
    let is_index = token == "0" || (!token.is_empty() && !token.starts_with('0'));
    let index = || token.bytes().all(|b| b.is_ascii_digit()).then(|| token.parse::<usize>().ok());
    let length = || json::children(array).count();
    token == "-" || (is_index && index().flatten().is_some_and(|index| index == length()))
}

/// Takes out the value at `pointer`, and gives it. The document as a whole cannot be taken out.
pub(crate) fn remove<'a>(text: &'a str, pointer: &str) -> Result<(String, &'a str), Misfit> {
    let value = span(text, pointer)?;
    let Some((parent, _)) = pointer.rsplit_once('/') else {
        let why = "the whole document cannot be removed by a patch; use DELETE";
        return Err(Misfit::State(why.to_owned()));
    };
    let container = span(text, parent)?;
    let is_object = text.as_bytes()[container.start] == b'{';
    let start = if is_object { name_start(text, &container, value.start) } else { value.start };
    let is_first = start == container.start + 1;
    let is_last = value.end == container.end - 1;
    let cut = match (is_first, is_last) {
        (_, false) => start..value.end + 1,
        (true, true) => start..value.end,
        (false, true) => start - 1..value.end,
    };
    let taken = &text[value];
    Ok(([&text[..cut.start], &text[cut.end..]].concat(), taken))
}

/// Where the name of the member stands whose value starts at `value`.
fn name_start(text: &str, object: &Range<usize>, value: usize) -> usize {
    let base = text.as_ptr() as usize;
    let offset = |part: &str| part.as_ptr() as usize - base;
    let mut members = json::children(&text[object.clone()]);
    let member = members.find(|member| offset(member.value) == value);
    member.and_then(|member| member.name).map_or(value, offset)
}

/// Whether two values are equal as RFC 6902 §4.6 has it: the order of members does not matter.
pub(crate) fn equal(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    // Only a different order of members can make two equal texts differ, which keeps the length.
    if a.len() != b.len() || a.as_bytes()[0] != b.as_bytes()[0] {
        return false;
    }
    match a.as_bytes()[0] {
        b'[' => {
            let (mut a, mut b) = (json::children(a), json::children(b));
            loop {
                match (a.next(), b.next()) {
                    (None, None) => return true,
                    (Some(a), Some(b)) if equal(a.value, b.value) => {}
                    _ => return false,
                }
            }
        }
        b'{' => {
            let (a, b) = (sorted(a), sorted(b));
            let mut pairs = a.iter().zip(&b);
            a.len() == b.len() && pairs.all(|(a, b)| a.name == b.name && equal(a.value, b.value))
        }
        _ => false,
    }
}

fn sorted(object: &str) -> Vec<json::Child<'_>> {
    let mut members: Vec<_> = json::children(object).collect();
    members.sort_unstable_by_key(|member| member.name);
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_and_members_are_taken_out() {
        for (text, pointer, expected) in [
            ("[1,2,3]", "/0", "[2,3]"),
            ("[1,2,3]", "/1", "[1,3]"),
            ("[1,2,3]", "/2", "[1,2]"),
            ("[1]", "/0", "[]"),
            (r#"{"a":1}"#, "/a", "{}"),
            (r#"{"a":1,"b":[2],"c":3}"#, "/b", r#"{"a":1,"c":3}"#),
            (r#"{"a":1,"b":[2],"c":3}"#, "/c", r#"{"a":1,"b":[2]}"#),
            (r#"{"a":1,"b":[2]}"#, "/b/0", r#"{"a":1,"b":[]}"#),
            (r#"{"a/b":1,"~":2}"#, "/~0", r#"{"a/b":1}"#),
        ] {
            assert_eq!(remove(text, pointer).unwrap().0, expected, "{text} {pointer}");
        }
    }

    #[test]
    fn equality_looks_past_the_order_of_members() {
        for (a, b) in [
            (r#"{"a":1,"b":{"c":[],"d":2}}"#, r#"{"b":{"d":2,"c":[]},"a":1}"#),
            (r#"[{"a":1,"b":2}]"#, r#"[{"b":2,"a":1}]"#),
        ] {
            assert!(equal(a, b) && equal(b, a));
        }
        for (a, b) in [
            ("1", "2"),
            ("1", r#""1""#),
            ("[1,2]", "[2,1]"),
            ("null", "true"),
            (r#"{"a":1,"b":2}"#, r#"{"a":2,"b":1}"#),
            (r#"{"a":1}"#, r#"{"b":1}"#),
            (r#"{"a":11}"#, r#"{"a":[]}"#),
        ] {
            assert!(!equal(a, b) && !equal(b, a), "{a} {b}");
        }
    }
}
