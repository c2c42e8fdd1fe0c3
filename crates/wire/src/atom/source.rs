//! The feed that an entry was taken from (RFC 4287 §4.2.11): checked, and kept as it stands.

use super::ATOM;
use super::construct::{category, date, iri, link, person, plain, text};
use super::refused::{Invalid, ReadError};
use super::rules::{Form, broken, check_attributes, check_common};
use crate::xml::{Event, Reader};

/// What there may be once.
const SINGLE: [&str; 8] =
    ["generator", "icon", "id", "logo", "rights", "subtitle", "title", "updated"];

/// `atom:source`, whose start tag was read.
pub(super) fn check(reader: &mut Reader<'_>) -> Result<(), ReadError> {
    let mut seen: Vec<&str> = Vec::new();
    while let Some(event) = reader.read()? {
        let element = match event {
            Event::End => break,
            Event::Start(element) if element.name.namespace == ATOM => element,
            Event::Start(_) => {
                reader.skip()?;
                continue;
            }
            Event::Text(_) | Event::Aside => continue,
        };
        check_common(reader, &element)?;
        if let Some(name) = SINGLE.iter().find(|name| **name == element.name.local) {
            if seen.contains(name) {
                broken(reader, Invalid::Twice(name))?;
            }
            seen.push(name);
        }
        match element.name.local {
            "id" | "icon" | "logo" => _ = iri(reader, "source")?,
            "updated" => _ = date(reader, "updated")?,
            "title" | "subtitle" | "rights" => _ = text(reader, &element, "source")?,
            "author" | "contributor" => _ = person(reader, "source")?,
            "category" => _ = category(reader, &element)?,
            "link" => _ = link(reader, &element)?,
            "generator" => {
                check_attributes(reader, &element, &[("uri", Form::Iri)])?;
                plain(reader, "generator")?;
            }
            _ => reader.skip()?,
        }
    }
    Ok(())
}
