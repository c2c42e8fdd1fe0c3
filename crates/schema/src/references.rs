//! Where references lead: to places of the schema itself, by JSON Pointer or by anchor, and nowhere
//! else. Since there is one resource only, `$dynamicRef` leads where `$ref` would (core §8.2.3.2).

use crate::SchemaError;
use crate::value::Value;
use std::collections::BTreeMap;

/// The names that a schema gives places of itself.
#[derive(Debug, Default)]
pub(crate) struct Names<'a> {
    /// What it calls itself (`$id`).
    id: Option<&'a str>,
    /// Anchors, with their pointers.
    anchors: BTreeMap<&'a str, String>,
}

/// Keywords whose value holds no schemas.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];

/// A token of a pointer.
pub(crate) fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

impl<'a> Names<'a> {
    pub(crate) fn of(root: &'a Value<'a>) -> Result<Self, SchemaError> {
        let mut names = Self::default();
        if let Some(Value::Text(id)) = root.member("$id") {
            names.id = Some(id.trim_end_matches('#'));
        }
        let mut todo = vec![(String::new(), root)];
        while let Some((at, value)) = todo.pop() {
            names.note(&at, value)?;
            match value {
                Value::Object(members) => {
                    for (name, value) in members.iter().filter(|(n, _)| !DATA.contains(&&**n)) {
                        todo.push((format!("{at}/{}", escape(name)), value));
                    }
                }
                Value::Array(elements) => {
                    let all = elements.iter().enumerate();
                    todo.extend(all.map(|(i, value)| (format!("{at}/{i}"), value)));
                }
                _ => {}
            }
        }
        Ok(names)
    }

    fn note(&mut self, at: &str, value: &'a Value<'a>) -> Result<(), SchemaError> {
        if let (Some(Value::Text(_)), false) = (value.member("$id"), at.is_empty()) {
            let why = "a schema within another cannot have a $id: refer to it by its place, as in \
                       \"#/$defs/name\", or give it an $anchor";
            return Err(SchemaError { at: format!("{at}/$id"), why: why.to_owned() });
        }
        for keyword in ["$anchor", "$dynamicAnchor"] {
            let Some(Value::Text(name)) = value.member(keyword) else { continue };
            let before = self.anchors.insert(name, at.to_owned());
            if before.is_some_and(|before| before != at) {
                let why = format!("the anchor {name} is there twice");
                return Err(SchemaError { at: format!("{at}/{keyword}"), why });
            }
        }
        Ok(())
    }

    /// The pointer that `reference` means.
    pub(crate) fn pointer(&self, reference: &str) -> Result<String, String> {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if !document.is_empty() && Some(document) != self.id {
            return Err(format!(
                "\"{reference}\" is not in this schema, and nothing is fetched: put what it means \
                 into $defs and refer to that, as in \"#/$defs/name\""
            ));
        }
        let fragment = decoded(fragment);
        if fragment.is_empty() || fragment.starts_with('/') {
            return Ok(fragment);
        }
        let anchor = self.anchors.get(fragment.as_str()).cloned();
        anchor.ok_or_else(|| format!("there is no anchor {fragment} in this schema"))
    }
}

/// The value at `pointer`.
pub(crate) fn find<'a>(root: &'a Value<'a>, pointer: &str) -> Option<&'a Value<'a>> {
    let tokens = pointer.split('/').skip(1);
    tokens.map(|token| token.replace("~1", "/").replace("~0", "~")).try_fold(
        root,
        |value, token| match value {
            Value::Array(elements) => elements.get(token.parse::<usize>().ok()?),
            value => value.member(&token),
        },
    )
}

/// Without percent-encoding (RFC 6901 §6).
fn decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
