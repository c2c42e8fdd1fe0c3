//! Media types as the field Content-Type has them (RFC 9110 §8.3.1).

use std::borrow::Cow;

/// A media type: what it is, and its parameters as they were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContentType<'a> {
    essence: &'a str,
    parameters: &'a str,
}

impl<'a> ContentType<'a> {
    /// Reads the value of a field. Whatever it holds: what is no media type is none that is known.
    pub(crate) fn parse(value: &'a str) -> Self {
        let (essence, parameters) = value.split_once(';').unwrap_or((value, ""));
        Self { essence: essence.trim(), parameters }
    }

    /// Whether it is this type, which is in lower case, whatever its parameters.
    pub(crate) fn is(self, essence: &str) -> bool {
        self.essence.eq_ignore_ascii_case(essence)
    }

    /// Whether it is JSON or a format made of it (RFC 6839 §3.1).
    pub(crate) fn is_json(self) -> bool {
        let suffix = self.essence.len().checked_sub("+json".len());
        self.is("application/json")
            || suffix.and_then(|at| self.essence.get(at..)).is_some_and(|suffix| {
                suffix.eq_ignore_ascii_case("+json") && self.essence.contains('/')
            })
    }

    /// The value of the first parameter with this name, which is in lower case.
    pub(crate) fn parameter(self, name: &str) -> Option<Cow<'a, str>> {
        parameters(self.parameters).find(|(known, _)| known.eq_ignore_ascii_case(name))?.1
    }
}

/// The parameters in `text`, in order: names, and values if they are well-formed. Also those of
/// Content-Disposition (RFC 6266 §4.1).
pub(crate) fn parameters(text: &str) -> impl Iterator<Item = (&str, Option<Cow<'_, str>>)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches([' ', '\t', ';']);
        let (name, tail) = rest.split_once('=')?;
        let (value, tail) = match tail.strip_prefix('"') {
            Some(quoted) => quoted_string(quoted),
            None => {
                let end = tail.find(';').unwrap_or(tail.len());
                (Some(Cow::Borrowed(tail[..end].trim())), &tail[end..])
            }
        };
        rest = tail;
        Some((name.trim(), value))
    })
}

/// The value of a quoted string, and what comes after it. A backslash stands for itself, unless a
/// quote or a backslash follows: browsers and programs have written names of files both ways.
fn quoted_string(text: &str) -> (Option<Cow<'_, str>>, &str) {
    let mut is_escaped = false;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    let Some(end) = end else { return (None, "") };
    let (inside, rest) = (&text[..end], &text[end + 1..]);
    if !inside.contains('\\') {
        return (Some(Cow::Borrowed(inside)), rest);
    }
    let mut value = String::with_capacity(inside.len());
    let mut chars = inside.chars().peekable();
    while let Some(char) = chars.next() {
        let escaped = chars.next_if(|next| char == '\\' && matches!(next, '"' | '\\'));
        value.push(escaped.unwrap_or(char));
    }
    (Some(Cow::Owned(value)), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_parameters() {
        let form = ContentType::parse("Multipart/Form-Data; x=\"a;b\"; Boundary=\"q\\\"r\"; c=d ");
        assert!(form.is("multipart/form-data"));
        assert_eq!(form.parameter("boundary").as_deref(), Some("q\"r"));
        assert_eq!(form.parameter("x").as_deref(), Some("a;b"));
        assert_eq!(form.parameter("c").as_deref(), Some("d"));
        assert_eq!(form.parameter("d"), None);
        assert_eq!(ContentType::parse("a/b; c=\"open").parameter("c"), None);
        assert_eq!(ContentType::parse("a/b; c=\"C:\\x\"").parameter("c").as_deref(), Some("C:\\x"));
    }

    #[test]
    fn json() {
        for json in ["application/json", "Application/JSON;charset=utf-8", "a/problem+json"] {
            assert!(ContentType::parse(json).is_json(), "{json}");
        }
        for other in ["", "text/plain", "application/jsonp", "+json", "é/+json2", "json"] {
            assert!(!ContentType::parse(other).is_json(), "{other}");
        }
    }
}
