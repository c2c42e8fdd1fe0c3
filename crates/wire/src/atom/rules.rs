//! What the values of Atom's elements and attributes have to look like (RFC 4287 §2, §3.2.3, §3.3,
//! §4.2.7): IRIs, languages, media types, addresses, lengths. Which elements there may be is with
//! those that read them.

use super::media_type;
use super::refused::{Invalid, ReadError};
use crate::uri;
use crate::xml::{Element, Reader, XML};

/// The error that this rule is broken where the reader is.
pub(super) fn invalid(reader: &Reader<'_>, rule: Invalid) -> ReadError {
    ReadError::Invalid { place: reader.place(), rule }
}

/// The same, but a text that was taken before is read on: it may be of a version that did not know
/// the rule.
pub(super) fn broken(reader: &Reader<'_>, rule: Invalid) -> Result<(), ReadError> {
    if reader.is_trusted() { Ok(()) } else { Err(invalid(reader, rule)) }
}

/// What a value has to be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// An IRI, or a relative reference.
    Iri,
    /// A relation of a link.
    Relation,
    /// The tag of a language.
    Language,
    MediaType,
    Email,
    /// A number of bytes.
    Length,
}

impl Form {
    fn is_kept(self, value: &str) -> bool {
        match self {
            Form::Iri => uri::is_reference(value),
            Form::Relation => !value.is_empty() && uri::is_reference(value),
            Form::Language => is_language(value),
            Form::MediaType => media_type::is_one(value),
            Form::Email => is_email(value),
            Form::Length => !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()),
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Form::Iri => "an IRI without white space",
            Form::Relation => "the name of a relation, or an IRI",
            Form::Language => "the tag of a language, such as \"en\" or \"pt-BR\"",
            Form::MediaType => "a media type",
            Form::Email => "an e-mail address",
            Form::Length => "a number of bytes",
        }
    }
}

/// Checks the value of something.
pub(super) fn check(
    reader: &Reader<'_>,
    (within, form): (&'static str, Form),
    value: &str,
) -> Result<(), ReadError> {
    if form.is_kept(value) {
        return Ok(());
    }
    let found = value.chars().take(60).collect();
    broken(reader, Invalid::Value { within, expected: form.expected(), found })
}

/// Checks attributes of an element, those that are there.
pub(super) fn check_attributes(
    reader: &Reader<'_>,
    element: &Element<'_>,
    forms: &[(&'static str, Form)],
) -> Result<(), ReadError> {
    for (name, form) in forms {
        if let Some(value) = element.get(name) {
            check(reader, (name, *form), value)?;
        }
    }
    Ok(())
}

/// Checks what each element of Atom may state (§2).
pub(super) fn check_common(reader: &Reader<'_>, element: &Element<'_>) -> Result<(), ReadError> {
    for attribute in element.attributes.iter().filter(|one| one.name.namespace == XML) {
        match attribute.name.local {
            "base" => check(reader, ("xml:base", Form::Iri), &attribute.value)?,
            "lang" => check(reader, ("xml:lang", Form::Language), &attribute.value)?,
            _ => {}
        }
    }
    Ok(())
}

/// Whether it is the tag of a language, as the schema of RFC 4287 has it (RFC 5646 §2.1).
pub fn is_language(text: &str) -> bool {
    let is_part = |part: &str| (1..=8).contains(&part.len());
    let mut parts = text.split('-');
    let is_first = |part: &str| is_part(part) && part.bytes().all(|b| b.is_ascii_alphabetic());
    parts.next().is_some_and(is_first)
        && parts.all(|part| is_part(part) && part.bytes().all(|b| b.is_ascii_alphanumeric()))
}

fn is_email(text: &str) -> bool {
    let is_out = |c: char| c.is_whitespace() || c.is_control();
    let parts = text.split_once('@');
    parts.is_some_and(|(user, host)| !user.is_empty() && !host.is_empty()) && !text.contains(is_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_forms() {
        for (form, good, bad) in [
            (Form::Language, &["en", "de-CH-1996", "x-klingon"][..], &["", "e n", "en_US"][..]),
            (Form::Language, &["i-default"], &["toolonglang", "en-", "-en", "1a", "\u{e9}"]),
            (Form::MediaType, &["text/html; charset=utf-8", "a/b+c"], &["html", " a/b", "a b/c"]),
            (Form::Email, &["a@b", "a+b@c.example"], &["", "a", "@b", "a@", "a @b"]),
            (Form::Relation, &["self", "http://h/rel"], &["", " ", "edit self"]),
            (Form::Length, &["0", "12"], &["", "-1", "1.5", "1 2", "0x1"]),
            (Form::Iri, &["", "http://h/", "tag:a"], &[" x", "x y"]),
        ] {
            for text in good {
                assert!(form.is_kept(text), "{form:?} {text}");
            }
            for text in bad {
                assert!(!form.is_kept(text), "{form:?} {text}");
            }
        }
    }
}
