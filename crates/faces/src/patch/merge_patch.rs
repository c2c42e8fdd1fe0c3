//! JSON Merge Patch (RFC 7396).

use super::{Refused, canonical};
use repository::json;
use repository::limits::DOCUMENT_BYTES_MAX;
use std::collections::HashMap;

/// A merge patch: any JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MergePatch {
    /// Canonical.
    text: String,
}

impl MergePatch {
    /// Reads a body.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, json::Error> {
        Ok(Self { text: canonical(body)? })
    }

    /// The patch of a canonical text.
    pub(crate) fn of(text: String) -> Self {
        Self { text }
    }

    /// Its size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// The document after the patch; `None`: there is none before.
    pub(crate) fn apply(&self, document: Option<&str>) -> Result<String, Refused> {
        let mut out = String::with_capacity(document.map_or(0, str::len) + self.text.len());
        merge(document, &self.text, &mut out);
        let too_large = || Refused::Bound {
            operation: None,
            why: format!("the document would have more than {DOCUMENT_BYTES_MAX} bytes"),
        };
        if out.len() > DOCUMENT_BYTES_MAX {
            return Err(too_large());
        }
        // New names may belong before old ones.
        canonical(out.as_bytes())
            .map_err(|error| Refused::Bound { operation: None, why: error.to_string() })
    }
}

/// `MergePatch(Target, Patch)` of §2. It recurses no deeper than canonical text is nested.
fn merge(target: Option<&str>, patch: &str, out: &mut String) {
    if !patch.starts_with('{') {
        return out.push_str(patch);
    }
    let mut changes: HashMap<&str, &str> = HashMap::new();
    let mut new = Vec::new();
    for member in members(patch) {
        changes.insert(member.0, member.1);
        new.push(member.0);
    }
    out.push('{');
    let start = out.len();
    let target = target.filter(|text| text.starts_with('{')).unwrap_or("{}");
    for (name, value) in members(target) {
        match changes.remove(name) {
            None => member(name, out, start, |out| out.push_str(value)),
            Some("null") => {}
            Some(change) => member(name, out, start, |out| merge(Some(value), change, out)),
        }
    }
    for name in new {
        if let Some(change) = changes.get(name).filter(|change| **change != "null") {
            member(name, out, start, |out| merge(None, change, out));
        }
    }
    out.push('}');
}

fn member(name: &str, out: &mut String, start: usize, value: impl FnOnce(&mut String)) {
    if out.len() > start {
        out.push(',');
    }
    out.push_str(name);
    out.push(':');
    value(out);
}

/// Names as they stand in the text: canonical, so equal names are equal texts.
fn members(object: &str) -> impl Iterator<Item = (&str, &str)> {
    json::children(object).filter_map(|child| Some((child.name?, child.value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patched(document: Option<&str>, patch: &str) -> String {
        let document = document.map(|text| canonical(text.as_bytes()).unwrap());
        MergePatch::parse(patch.as_bytes()).unwrap().apply(document.as_deref()).unwrap()
    }

    /// One case for each row of the appendix, with other names and values.
    #[test]
    fn rfc7396_appendix_a() {
        for (document, patch, expected) in [
            (r#"{"x":"1"}"#, r#"{"x":"2"}"#, r#"{"x":"2"}"#),
            (r#"{"x":"1"}"#, r#"{"y":"2"}"#, r#"{"x":"1","y":"2"}"#),
            (r#"{"x":"1"}"#, r#"{"x":null}"#, r#"{}"#),
            (r#"{"x":"1","y":"2"}"#, r#"{"x":null}"#, r#"{"y":"2"}"#),
            (r#"{"x":["1"]}"#, r#"{"x":"2"}"#, r#"{"x":"2"}"#),
            (r#"{"x":"2"}"#, r#"{"x":["1"]}"#, r#"{"x":["1"]}"#),
            (r#"{"x":{"y":"1","k":true}}"#, r#"{"x":{"y":"2","k":null}}"#, r#"{"x":{"y":"2"}}"#),
            (r#"{"x":[{"y":"1"}]}"#, r#"{"x":[7]}"#, r#"{"x":[7]}"#),
            (r#"["1","2"]"#, r#"["3","4"]"#, r#"["3","4"]"#),
            (r#"{"x":"1"}"#, r#"["3"]"#, r#"["3"]"#),
            (r#"{"x":"some"}"#, r#"null"#, r#"null"#),
            (r#"{"x":"some"}"#, r#""other""#, r#""other""#),
            (r#"{"v":null}"#, r#"{"x":7}"#, r#"{"v":null,"x":7}"#),
            (r#"[3,4]"#, r#"{"x":"1","z":null}"#, r#"{"x":"1"}"#),
            (r#"{}"#, r#"{"x":{"yy":{"zzz":null}}}"#, r#"{"x":{"yy":{}}}"#),
        ] {
            assert_eq!(patched(Some(document), patch), expected, "{document} {patch}");
        }
    }

    #[test]
    fn rfc7396_2_nothing_is_patched_like_an_empty_object() {
        assert_eq!(patched(None, r#"{"a":{"b":1,"c":null}}"#), r#"{"a":{"b":1}}"#);
        assert_eq!(patched(None, "3"), "3");
    }

    #[test]
    fn names_that_are_numbers_come_first() {
        assert_eq!(patched(Some(r#"{"b":1,"9":2}"#), r#"{"7":0}"#), r#"{"7":0,"9":2,"b":1}"#);
    }

    #[test]
    fn the_result_is_bounded() {
        let half = format!("\"{}\"", "x".repeat(DOCUMENT_BYTES_MAX / 2));
        let patch = MergePatch::of(format!("{{\"b\":{half}}}"));
        let refused = patch.apply(Some(&format!("{{\"a\":{half}}}"))).unwrap_err();
        assert!(matches!(refused, Refused::Bound { .. }), "{refused}");
    }
}
