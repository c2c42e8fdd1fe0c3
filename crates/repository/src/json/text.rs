//! Strings: from what they mean to how canonical text writes them, and back.

use std::borrow::Cow;

/// `text` as a string of canonical text, with its quotes.
pub fn quote(text: &str) -> String {
    let mut raw = String::with_capacity(text.len() + 2);
    raw.push('"');
    for c in text.chars() {
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
