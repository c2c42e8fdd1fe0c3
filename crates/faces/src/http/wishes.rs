//! Fields by which a client says how it wants a write to be handled: Prefer (RFC 7240), Slug (RFC
//! 5023 §9.7) and Idempotency-Key (the IETF draft httpapi-idempotency-key-header).

use crate::atom::slug;
use crate::http::path;
use crate::limits::{IDEMPOTENCY_KEY_BYTES_MAX, SLUG_BYTES_MAX};
use crate::operation::Returns;
use crate::problem::{Kind, Problem};
use hyper::header::{HeaderMap, HeaderName};
use repository::Key;

const PREFER: HeaderName = HeaderName::from_static("prefer");
const SLUG: HeaderName = HeaderName::from_static("slug");
pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// What the reply should show. Preferences that are not known are ignored, and of several the
/// first counts (RFC 7240 §2).
pub(crate) fn returns(headers: &HeaderMap) -> Returns {
    let lines = headers.get_all(PREFER).iter().filter_map(|line| line.to_str().ok());
    for preference in lines.flat_map(|line| line.split(',')) {
        let preference = preference.split(';').next().unwrap_or_default();
        let Some((name, value)) = preference.split_once('=') else { continue };
        if !name.trim().eq_ignore_ascii_case("return") {
            continue;
        }
        match value.trim().trim_matches('"') {
            "minimal" => return Returns::Minimal,
            "representation" => return Returns::Representation,
            _ => {}
        }
    }
    Returns::Unasked
}

/// The key that Slug asks for, as `slug` makes it. `None`: nothing is left, or nothing was asked
/// for.
pub(crate) fn slug(headers: &HeaderMap) -> Option<Key> {
    let encoded = headers.get(SLUG)?.to_str().ok()?;
    // It is a wish: one that cannot be read is none.
    let text = path::decode(encoded).ok()?;
    Key::new(&slug::of(&text, SLUG_BYTES_MAX)).ok()
}

/// The name that the client gave the request: a string of structured fields (RFC 8941 §3.3.3), or
/// the same without quotes, as many clients send it.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut lines = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    let wrong = || {
        let detail = format!(
            "Idempotency-Key is one string of 1 to {IDEMPOTENCY_KEY_BYTES_MAX} printable ASCII \
             characters, such as \"8e03978e-40d5-43dd-bc93-6894a57f9324\""
        );
        Problem::new(Kind::BadRequest, detail)
    };
    let text = line.to_str().ok().filter(|_| lines.next().is_none()).ok_or_else(wrong)?.trim();
    let key = match text.strip_prefix('"') {
        Some(quoted) => unquoted(quoted.strip_suffix('"').ok_or_else(wrong)?).ok_or_else(wrong)?,
        None => text.to_owned(),
    };
    let is_printable = key.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let is_one = (1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&key.len()) && is_printable;
    if is_one { Ok(Some(key)) } else { Err(wrong()) }
}

fn unquoted(quoted: &str) -> Option<String> {
    let mut key = String::with_capacity(quoted.len());
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        key.push(match c {
            '\\' => chars.next().filter(|c| matches!(c, '"' | '\\'))?,
            '"' => return None,
            c => c,
        });
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn with(name: HeaderName, lines: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(&name, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        headers
    }

    #[test]
    fn rfc7240_2_prefer() {
        for (lines, expected) in [
            (&["return=minimal"][..], Returns::Minimal),
            (&["return=representation"], Returns::Representation),
            (&["respond-async, Return = \"minimal\"; a=b"], Returns::Minimal),
            (&["wait=5", "return=representation"], Returns::Representation),
            (&["return=minimal, return=representation"], Returns::Minimal),
            (&["return=all"], Returns::Unasked),
            (&["return"], Returns::Unasked),
            (&[], Returns::Unasked),
        ] {
            assert_eq!(returns(&with(PREFER, lines)), expected, "{lines:?}");
        }
    }

    #[test]
    fn rfc5023_9_7_slug() {
        let of = |text: &str| slug(&with(SLUG, &[text])).map(|key| key.to_string());
        for (text, expected) in [
            ("The Beach at S%C3%A8te", Some("the-beach-at-sète")),
            ("  ../..//etc ", Some("etc")),
            ("a%00b", Some("a-b")),
            ("100%", None),
            ("--", None),
            ("%FF", None),
            ("", None),
        ] {
            assert_eq!(of(text).as_deref(), expected, "{text:?}");
        }
        let long = of(&"%C3%A8".repeat(SLUG_BYTES_MAX)).unwrap();
        assert_eq!(long.len(), SLUG_BYTES_MAX);
    }

    #[test]
    fn idempotency_keys() {
        let of = |lines: &[&str]| idempotency_key(&with(IDEMPOTENCY_KEY, lines));
        assert_eq!(of(&[]), Ok(None));
        for (text, expected) in [("\"a b\"", "a b"), ("a-b", "a-b"), (r#""a\"\\""#, "a\"\\")] {
            assert_eq!(of(&[text]), Ok(Some(expected.to_owned())), "{text}");
        }
        for wrong in ["", "\"\"", "\"a", "\"a\"b\"", r#""\a""#, "\u{e4}"] {
            assert!(of(&[wrong]).is_err(), "{wrong}");
        }
        assert!(of(&["a", "a"]).is_err());
        let longest = "k".repeat(IDEMPOTENCY_KEY_BYTES_MAX);
        assert!(of(&[&longest]).is_ok() && of(&[&format!("{longest}k")]).is_err());
    }
}
