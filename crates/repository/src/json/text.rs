//! Strings: from what they mean to how canonical text writes them, and back.

use std::borrow::Cow;

/// `text` as a string of canonical text, with its quotes.
pub fn quote(text: &str) -> String {
    let mut raw = String::with_capacity(text.len() + 2);
    append_quoted(text, &mut raw);
    raw
}

/// As `quote`, at the end of `out`.
pub fn append_quoted(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    // Mostly there is nothing to escape.
    while let Some(at) = rest.bytes().position(|b| b < b' ' || b == b'"' || b == b'\\') {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x8 => out.push_str("\\b"),
            b'\t' => out.push_str("\\t"),
            b'\n' => out.push_str("\\n"),
            0xc => out.push_str("\\f"),
            b'\r' => out.push_str("\\r"),
            control => out.push_str(&format!("\\u{control:04x}")),
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

/// What the string `raw` of a canonical text means. A lone surrogate, which UTF-8 cannot hold,
/// becomes U+FFFD.
pub fn unquote(raw: &str) -> Cow<'_, str> {
    let inside = &raw[1..raw.len() - 1];
    if !inside.contains('\\') {
        return Cow::Borrowed(inside);
    }
    let mut text = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let escape = rest.as_bytes()[at + 1];
        let mut length = 2;
        text.push(match escape {
            b'b' => '\u{8}',
            b't' => '\t',
            b'n' => '\n',
            b'f' => '\u{c}',
            b'r' => '\r',
            b'u' => {
                length = 6;
                let unit = u32::from_str_radix(&rest[at + 2..at + 6], 16);
                unit.ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            // A quote or a backslash.
            other => char::from(other),
        });
        rest = &rest[at + length..];
    }
    text.push_str(rest);
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::canonicalize;

    #[test]
    fn every_character_comes_back() {
        let text: String = (0..0x300).chain(0x1f600..0x1f610).filter_map(char::from_u32).collect();
        let raw = quote(&text);
        assert_eq!(canonicalize(raw.as_bytes()).unwrap(), raw.as_bytes());
        assert_eq!(unquote(&raw), text);
    }

    #[test]
    fn a_lone_surrogate_is_replaced() {
        assert_eq!(unquote(r#""a\ud83d""#), "a\u{fffd}");
    }
}
