//! Bytes to text: the encoding by byte order mark, `charset` parameter and XML declaration (RFC
//! 7303 §3). All that are there must agree: text read in the wrong encoding would be stored wrong
//! for ever. What follows the declaration is not looked at.

use super::refused::{Place, Reason, Refused, shown};
use crate::limits::XML_DOCUMENT_BYTES_MAX;
use std::borrow::Cow;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    /// Big-endian.
    Utf16Be,
    Utf16Le,
}

impl Encoding {
    fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "UTF-8",
            Encoding::Utf16Be => "UTF-16BE",
            Encoding::Utf16Le => "UTF-16LE",
        }
    }

    /// Whether text in this encoding may say that it is in `label`. US-ASCII is left to `is_ascii`.
    fn is(self, label: &str, is_ascii: bool) -> bool {
        let is = |name: &str| label.eq_ignore_ascii_case(name);
        match self {
            Encoding::Utf8 => is("utf-8") || is("utf8") || is_ascii && is("us-ascii"),
            Encoding::Utf16Be => is("utf-16") || is("utf-16be"),
            Encoding::Utf16Le => is("utf-16") || is("utf-16le"),
        }
    }
}

/// The text of a document. `charset` is that parameter of its media type, if it has one.
///
/// # Errors
///
/// An encoding that is neither UTF-8 nor UTF-16, bytes that are not in it, statements that do not
/// agree, or more bytes than are read.
pub fn decode<'a>(bytes: &'a [u8], charset: Option<&str>) -> Result<Cow<'a, str>, Refused> {
    let start = |reason| Refused { place: Place { line: 1, column: 1 }, reason };
    if bytes.len() > XML_DOCUMENT_BYTES_MAX {
        let (what, max) = ("bytes of a document", XML_DOCUMENT_BYTES_MAX);
        return Err(start(Reason::Limit { what, max }));
    }
    let (encoding, body) = match (bytes, charset) {
        ([0xEF, 0xBB, 0xBF, body @ ..], _) => (Encoding::Utf8, body),
        ([0xFE, 0xFF, body @ ..], _) => (Encoding::Utf16Be, body),
        ([0xFF, 0xFE, body @ ..], _) => (Encoding::Utf16Le, body),
        (_, Some(label)) => (by_label(label).map_err(start)?, bytes),
        _ => (Encoding::Utf8, bytes),
    };
    let text = match encoding {
        Encoding::Utf8 => utf8(body)?,
        Encoding::Utf16Be => Cow::Owned(utf16(body, encoding, u16::from_be_bytes)?),
        Encoding::Utf16Le => Cow::Owned(utf16(body, encoding, u16::from_le_bytes)?),
    };
    let agrees = |by: &'static str, label: Option<&str>| match label {
        Some(label) if !encoding.is(label, text.is_ascii()) => {
            Err(start(Reason::Contradiction { by, says: shown(label), is: encoding.name() }))
        }
        _ => Ok(()),
    };
    agrees("the charset parameter", charset)?;
    agrees("the XML declaration", declared(&text))?;
    Ok(text)
}

/// The encoding of a text without a byte order mark. `utf-16` needs one (RFC 7303 §3.3).
fn by_label(label: &str) -> Result<Encoding, Reason> {
    let is = |name: &str| label.eq_ignore_ascii_case(name);
    match () {
        () if is("utf-8") || is("utf8") || is("us-ascii") => Ok(Encoding::Utf8),
        () if is("utf-16be") => Ok(Encoding::Utf16Be),
        () if is("utf-16le") => Ok(Encoding::Utf16Le),
        () if is("utf-16") => Err(Reason::Contradiction {
            by: "the charset parameter",
            says: shown(label),
            is: "an encoding without a byte order mark",
        }),
        () => Err(Reason::Encoding { found: shown(label) }),
    }
}

fn utf8(bytes: &[u8]) -> Result<Cow<'_, str>, Refused> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Cow::Borrowed(text)),
        Err(error) => {
            // A document in another encoding is told apart by what it declares.
            let whole = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let reason = match declared(&whole) {
                Some(label) if !Encoding::Utf8.is(label, false) => {
                    Reason::Encoding { found: shown(label) }
                }
                _ => Reason::NotEncoded { encoding: "UTF-8" },
            };
            Err(reason.at(&whole, whole.len()))
        }
    }
}

fn utf16(bytes: &[u8], encoding: Encoding, unit: fn([u8; 2]) -> u16) -> Result<String, Refused> {
    let reason = Reason::NotEncoded { encoding: encoding.name() };
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(bytes.len() / 2);
    for c in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
        match c {
            Ok(c) => text.push(c),
            Err(_) => return Err(reason.at(&text, text.len())),
        }
    }
    if rest.is_empty() { Ok(text) } else { Err(reason.at(&text, text.len())) }
}

/// The encoding that the XML declaration states.
fn declared(text: &str) -> Option<&str> {
    let declaration = text.strip_prefix("<?xml")?.split_once("?>")?.0;
    let (_, after) = declaration.split_once("encoding")?;
    let value = after.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    value[1..].split_once(quote).map(|(label, _)| label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16_of(text: &str, mark: bool, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let marked = if mark { format!("\u{feff}{text}") } else { text.to_owned() };
        marked.encode_utf16().flat_map(unit).collect()
    }

    /// RFC 7303 §3.
    #[test]
    fn utf8_and_utf16_are_read_however_they_are_announced() {
        let text = "<a>\u{e4}\u{1f600}</a>";
        let declared = format!("<?xml version='1.0' encoding='UTF-16'?>{text}");
        assert_eq!(decode(text.as_bytes(), None).unwrap(), text);
        assert_eq!(decode(text.as_bytes(), Some("UTF-8")).unwrap(), text);
        assert_eq!(decode(format!("\u{feff}{text}").as_bytes(), None).unwrap(), text);
        for (unit, label) in
            [(u16::to_be_bytes as fn(u16) -> [u8; 2], "utf-16be"), (u16::to_le_bytes, "utf-16le")]
        {
            assert_eq!(decode(&utf16_of(text, true, unit), None).unwrap(), text);
            assert_eq!(decode(&utf16_of(text, true, unit), Some("utf-16")).unwrap(), text);
            assert_eq!(decode(&utf16_of(text, false, unit), Some(label)).unwrap(), text);
            assert_eq!(decode(&utf16_of(&declared, true, unit), None).unwrap(), declared);
        }
        assert_eq!(decode(b"<a/>", Some("us-ascii")).unwrap(), "<a/>");
    }

    #[test]
    fn a_wrong_declaration_is_an_error_and_not_mojibake() {
        let latin = b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>\xe4</a>";
        let found = decode(latin, None).unwrap_err().reason;
        assert_eq!(found, Reason::Encoding { found: "ISO-8859-1".to_owned() });
        assert!(decode(b"<a>\xe4</a>", None).is_err());
        assert!(decode("<a>\u{e4}</a>".as_bytes(), Some("us-ascii")).is_err());
        assert!(decode(b"<a/>", Some("koi8-r")).is_err());
        assert!(decode(b"<a/>", Some("utf-16")).is_err());
        assert!(decode(b"<?xml version='1.0' encoding='utf-16'?><a/>", None).is_err());
        let little = utf16_of("<a/>", true, u16::to_le_bytes);
        assert!(decode(&little, Some("utf-8")).is_err());
        assert!(decode(&little[..little.len() - 1], None).is_err());
        assert!(decode(b"\xfe\xff\xd8\x00\x00a", None).is_err());
    }
}
