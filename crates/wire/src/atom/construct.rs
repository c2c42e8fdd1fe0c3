//! The constructs that entries and feeds are made of (RFC 4287 §3, §4.2): text, persons, dates,
//! links, categories; and who an entry answers (RFC 4685 §3). What they may hold is checked here.

use super::categories::Category;
use super::date::Date;
use super::refused::{Invalid, ReadError};
use super::rules::{Form, check, check_attributes, check_common, invalid};
use super::{ATOM, XHTML, html};
use crate::xml::{Element, Event, Reader};

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// Text that means itself.
    Text,
    /// HTML, as it was sent.
    Html,
    /// Was XHTML, and is given as HTML with its references resolved by `xml:base`.
    Xhtml,
}

/// A text (§3.1) and what it is to be understood by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// What `value` is.
    pub kind: TextKind,
    /// Text or HTML. HTML is not cleaned.
    pub value: String,
    /// What relative references in it are resolved by, as far as the document says.
    pub base: Option<String>,
    /// Its language, if one is stated.
    pub lang: Option<String>,
}

/// A person (§3.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    /// A name for people.
    pub name: String,
    /// A page, resolved as far as the document says.
    pub uri: Option<String>,
    /// An address.
    pub email: Option<String>,
}

/// A link (§4.2.7).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Where it leads, resolved as far as the document says.
    pub href: String,
    /// "alternate" if the link does not say (§4.2.7.2); a registered relation by its short name.
    pub rel: String,
    /// A media type.
    pub media_type: Option<String>,
    /// A language.
    pub hreflang: Option<String>,
    /// A title.
    pub title: Option<String>,
    /// A length in bytes, as it was stated.
    pub length: Option<String>,
}

/// `thr:in-reply-to` (RFC 4685 §3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InReplyTo {
    /// The id of what is answered.
    pub reference: String,
    /// Where that can be got.
    pub href: Option<String>,
    /// Its media type.
    pub media_type: Option<String>,
    /// The feed or entry that it is in.
    pub source: Option<String>,
}

fn needs(reader: &Reader<'_>, within: &'static str, needed: &'static str) -> ReadError {
    invalid(reader, Invalid::Missing { within, needed })
}

/// A reference, resolved by `xml:base` where the reader is.
pub(super) fn resolved(reader: &Reader<'_>, reference: &str) -> String {
    match reader.base() {
        Some(base) => crate::uri::resolve(base, reference),
        None => reference.trim().to_owned(),
    }
}

/// The rest of the innermost open element, which holds text only.
pub(super) fn plain(reader: &mut Reader<'_>, within: &'static str) -> Result<String, ReadError> {
    let mut text = String::new();
    loop {
        match reader.read()? {
            Some(Event::Text(more)) => text.push_str(&more),
            Some(Event::Aside) => {}
            Some(Event::Start(_)) => return Err(invalid(reader, Invalid::Markup(within))),
            Some(Event::End) | None => return Ok(text),
        }
    }
}

/// The same, without white space around it.
pub(super) fn word(reader: &mut Reader<'_>, within: &'static str) -> Result<String, ReadError> {
    let text = plain(reader, within)?;
    Ok(text.trim().to_owned())
}

/// An IRI or a reference, with no white space (§3.3).
pub(super) fn iri(reader: &mut Reader<'_>, within: &'static str) -> Result<String, ReadError> {
    let text = plain(reader, within)?;
    check(reader, (within, Form::Iri), &text)?;
    Ok(text.trim().to_owned())
}

/// A date, with no white space around it (§3.3).
pub(super) fn date(reader: &mut Reader<'_>, within: &'static str) -> Result<Date, ReadError> {
    let place = reader.place();
    let text = plain(reader, within)?;
    let wrong = || {
        let found = text.chars().take(60).collect();
        ReadError::Invalid { place, rule: Invalid::Date { within, found } }
    };
    match Date::parse(&text) {
        Some(date) => Ok(date),
        None if reader.is_trusted() => Date::parse(text.trim()).ok_or_else(wrong),
        None => Err(wrong()),
    }
}

/// A text construct, whose start tag was read.
pub(super) fn text(
    reader: &mut Reader<'_>,
    element: &Element<'_>,
    within: &'static str,
) -> Result<Text, ReadError> {
    let base = reader.base().map(str::to_owned);
    let lang = reader.lang().map(str::to_owned);
    let (kind, value) = match element.get("type").unwrap_or("text") {
        "text" => (TextKind::Text, plain(reader, within)?),
        "html" => (TextKind::Html, plain(reader, within)?),
        "xhtml" => (TextKind::Xhtml, div(reader, within)?),
        other => {
            let found = other.chars().take(60).collect();
            return Err(invalid(reader, Invalid::TextType { within, found }));
        }
    };
    Ok(Text { kind, value, base, lang })
}

/// The one `div` in the innermost open element, as HTML.
pub(super) fn div(reader: &mut Reader<'_>, within: &'static str) -> Result<String, ReadError> {
    let mut found = None;
    loop {
        match reader.read()? {
            Some(Event::Start(element)) if element.name.is(XHTML, "div") && found.is_none() => {
                found = Some(html::content(reader)?);
            }
            Some(Event::Text(text)) if text.trim().is_empty() => {}
            Some(Event::Aside) => {}
            Some(Event::End) | None => break,
            Some(Event::Start(_) | Event::Text(_)) => {
                return Err(invalid(reader, Invalid::Div(within)));
            }
        }
    }
    found.ok_or_else(|| invalid(reader, Invalid::Div(within)))
}

/// A person, whose start tag was read.
pub(super) fn person(reader: &mut Reader<'_>, within: &'static str) -> Result<Person, ReadError> {
    let (mut name, mut uri, mut email) = (None, None, None);
    while let Some(event) = reader.read()? {
        let Event::Start(element) = event else {
            match event {
                Event::End => break,
                _ => continue,
            }
        };
        let is_atom = element.name.namespace == ATOM;
        let (place, known) = match element.name.local {
            "name" if is_atom => (&mut name, "name"),
            "uri" if is_atom => (&mut uri, "uri"),
            "email" if is_atom => (&mut email, "email"),
            _ => {
                reader.skip()?;
                continue;
            }
        };
        check_common(reader, &element)?;
        if place.is_some() {
            return Err(invalid(reader, Invalid::Twice(known)));
        }
        let base = reader.base().map(str::to_owned);
        *place = Some(match known {
            "uri" => {
                let value = iri(reader, known)?;
                base.map_or_else(|| value.clone(), |base| crate::uri::resolve(&base, &value))
            }
            "email" => {
                let value = plain(reader, known)?;
                check(reader, (known, Form::Email), &value)?;
                value
            }
            _ => word(reader, known)?,
        });
    }
    let name = name.ok_or_else(|| needs(reader, within, "a name"))?;
    Ok(Person { name, uri, email })
}

/// A link, whose start tag was read; what is in it is passed over.
pub(super) fn link(reader: &mut Reader<'_>, element: &Element<'_>) -> Result<Link, ReadError> {
    let href = element.get("href").ok_or_else(|| needs(reader, "link", "the attribute href"))?;
    check_attributes(
        reader,
        element,
        &[
            ("href", Form::Iri),
            ("rel", Form::Relation),
            ("type", Form::MediaType),
            ("hreflang", Form::Language),
            ("length", Form::Length),
        ],
    )?;
    let rel = relation(element.get("rel").unwrap_or("alternate").trim());
    let kept = |name: &str| element.get(name).map(str::to_owned);
    let link = Link {
        href: resolved(reader, href),
        rel,
        media_type: kept("type"),
        hreflang: kept("hreflang"),
        title: kept("title"),
        length: kept("length"),
    };
    reader.skip()?;
    Ok(link)
}

/// A relation by its short name, if it has one. Names that are registered are written in either
/// case (RFC 8288 §2.1.1), or as an IRI (§4.2.7.2).
fn relation(rel: &str) -> String {
    const REGISTERED: &str = "http://www.iana.org/assignments/relation/";
    let is_registered =
        |start: &str| start.len() < rel.len() && start.eq_ignore_ascii_case(REGISTERED);
    let name = match rel.get(..REGISTERED.len()) {
        Some(start) if is_registered(start) => &rel[REGISTERED.len()..],
        _ => rel,
    };
    if name.contains(':') { name.to_owned() } else { name.to_ascii_lowercase() }
}

/// A category, whose start tag was read.
pub(super) fn category(
    reader: &mut Reader<'_>,
    element: &Element<'_>,
) -> Result<Category, ReadError> {
    let term =
        element.get("term").ok_or_else(|| needs(reader, "category", "the attribute term"))?;
    check_attributes(reader, element, &[("scheme", Form::Iri)])?;
    let category = Category {
        term: term.to_owned(),
        scheme: element.get("scheme").map(str::to_owned),
        label: element.get("label").map(str::to_owned),
    };
    reader.skip()?;
    Ok(category)
}

/// `thr:in-reply-to`, whose start tag was read.
pub(super) fn in_reply_to(
    reader: &mut Reader<'_>,
    element: &Element<'_>,
) -> Result<InReplyTo, ReadError> {
    let reference =
        element.get("ref").ok_or_else(|| needs(reader, "thr:in-reply-to", "the attribute ref"))?;
    check_attributes(
        reader,
        element,
        &[
            ("ref", Form::Iri),
            ("href", Form::Iri),
            ("type", Form::MediaType),
            ("source", Form::Iri),
        ],
    )?;
    let answered = InReplyTo {
        reference: reference.to_owned(),
        href: element.get("href").map(|href| resolved(reader, href)),
        media_type: element.get("type").map(str::to_owned),
        source: element.get("source").map(|source| resolved(reader, source)),
    };
    reader.skip()?;
    Ok(answered)
}
