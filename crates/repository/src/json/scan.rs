//! Walking over canonical text. The text is well formed, so nothing here can fail.

use std::ops::Range;

/// A member of an object or an element of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child<'a> {
    /// A member's name as it stands in the text, with its quotes; an element has none.
    pub name: Option<&'a str>,
    /// The value's text.
    pub value: &'a str,
}

/// The members of the object or the elements of the array `text`, in order; a value of another
/// kind has none. `text` must be canonical.
pub fn children(text: &str) -> impl Iterator<Item = Child<'_>> {
    children_between(text, 0..text.len(), |at| skip_value(text.as_bytes(), at))
}

/// The children of the value at `span`; `end` gives the offset after the value at an offset.
pub(super) fn children_between<'a>(
    text: &'a str,
    span: Range<usize>,
    end: impl Fn(usize) -> usize,
) -> impl Iterator<Item = Child<'a>> {
    let bytes = text.as_bytes();
    let is_object = bytes[span.start] == b'{';
    let is_empty = !matches!(bytes[span.start], b'{' | b'[') || span.len() == 2;
    let mut at = if is_empty { span.end } else { span.start + 1 };
    std::iter::from_fn(move || {
        if at >= span.end {
            return None;
        }
        let name = is_object.then(|| &text[at..skip_string(bytes, at)]);
        let start = at + name.map_or(0, |name| name.len() + 1);
        let value = &text[start..end(start)];
        // Over the comma, or over the closing bracket and so to the end.
        at = start + value.len() + 1;
        Some(Child { name, value })
    })
}

/// How deep arrays and objects are nested in `text`; 0 for any other value.
pub fn depth(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut deepest, mut at) = (0_usize, 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = skip_string(bytes, at) - 1,
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    deepest
}

/// The offset after the value that starts at `at`.
pub(super) fn skip_value(text: &[u8], at: usize) -> usize {
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

/// The offset after the string whose opening quote is at `open`.
pub(super) fn skip_string(text: &[u8], open: usize) -> usize {
    let mut i = open + 1;
    while text[i] != b'"' {
        i += if text[i] == b'\\' { 2 } else { 1 };
    }
    i + 1
}

/// As `skip_string`, of a text that need not be JSON: its end, if the string does not end.
pub(super) fn skip_quoted(text: &[u8], open: usize) -> usize {
    let mut i = open + 1;
    while text.get(i).is_some_and(|byte| *byte != b'"') {
        i += if text[i] == b'\\' { 2 } else { 1 };
    }
    (i + 1).min(text.len())
}

/// The length of the number or word at the start of `text`.
pub(super) fn scalar_length(text: &[u8]) -> usize {
    text.iter().position(|b| matches!(b, b',' | b'}' | b']' | b':')).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Vec<(Option<&str>, &str)> {
        children(text).map(|child| (child.name, child.value)).collect()
    }

    #[test]
    fn children_are_listed_in_order() {
        let object = r#"{"a":{"x":[1,"]"]},"\"b":"}","c":-1}"#;
        let members = [
            (Some(r#""a""#), r#"{"x":[1,"]"]}"#),
            (Some(r#""\"b""#), r#""}""#),
            (Some(r#""c""#), "-1"),
        ];
        assert_eq!(listed(object), members);
        assert_eq!(listed(r#"[null,[],"x"]"#), [(None, "null"), (None, "[]"), (None, r#""x""#)]);
        for none in ["{}", "[]", "null", r#""[1]""#, "12"] {
            assert_eq!(listed(none), [], "{none}");
        }
    }

    #[test]
    fn depth_counts_arrays_and_objects() {
        for (text, expected) in [("1", 0), (r#""[[""#, 0), ("{}", 1), (r#"{"a":[],"b":[[1]]}"#, 3)]
        {
            assert_eq!(depth(text), expected, "{text}");
        }
    }
}
