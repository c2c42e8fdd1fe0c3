//! A page of a collection (RFC 5023 §10), and of its entries what an audit compares.

use super::{APP, ATOM, resolved};
use crate::entries::{MARK_NAMESPACE, Mark};
use std::fmt::Write;
use wire::atom::Date;
use wire::xml::{Element, Event, Reader, XML, decode};

/// A feed document.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) entries: Vec<Found>,
    /// Where the next one is, as far as the document tells.
    pub(crate) next: Option<String>,
}

/// An entry.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) id: String,
    /// Where it is changed, as far as the document tells.
    pub(crate) edit: Option<String>,
    /// When it was changed last.
    pub(crate) edited: Option<Date>,
    /// Which of those that were made it is.
    pub(crate) mark: Option<Mark>,
    pub(crate) matter: Matter,
}

/// What an entry says: name, attributes and text of these elements and of all in them, in a form
/// that is the same however it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Matter {
    pub(crate) title: String,
    pub(crate) content: String,
}

impl Page {
    /// Reads a feed.
    ///
    /// # Errors
    /// In words: it is no feed.
    pub(crate) fn read(body: &[u8]) -> Result<Self, String> {
        Self::of_text(&decode(body, None).map_err(|why| why.to_string())?)
    }

    /// The same of what has been decoded.
    pub(super) fn of_text(text: &str) -> Result<Self, String> {
        let mut reader = Reader::new(text).map_err(|why| why.to_string())?;
        begin(&mut reader, "feed")?;
        let mut page = Self::default();
        while let Some(event) = next(&mut reader)? {
            let Event::Start(element) = event else { continue };
            if element.name.is(ATOM, "entry") {
                page.entries.push(Found::read(&mut reader)?);
                continue;
            }
            if element.name.is(ATOM, "link") && element.get("rel") == Some("next") {
                page.next = element.get("href").map(|href| resolved(reader.base(), href));
            }
            reader.skip().map_err(|why| why.to_string())?;
        }
        Ok(page)
    }
}

impl Found {
    /// Reads an entry document.
    ///
    /// # Errors
    /// In words: it is no entry.
    pub(crate) fn of_document(body: &[u8]) -> Result<Self, String> {
        let text = decode(body, None).map_err(|why| why.to_string())?;
        let mut reader = Reader::new(&text).map_err(|why| why.to_string())?;
        begin(&mut reader, "entry")?;
        Self::read(&mut reader)
    }

    /// Reads what is in an entry that has begun, and its end.
    fn read(reader: &mut Reader<'_>) -> Result<Self, String> {
        let mut found = Self::default();
        while let Some(event) = next(reader)? {
            let element = match event {
                Event::Start(element) => element,
                Event::End => return Ok(found),
                Event::Text(_) | Event::Aside => continue,
            };
            if element.name.is(ATOM, "id") {
                found.id = text(reader)?.trim().to_owned();
            } else if element.name.is(APP, "edited") {
                found.edited = Date::parse(text(reader)?.trim());
            } else if element.name.is(ATOM, "title") {
                found.matter.title = canonical(reader, &element)?;
            } else if element.name.is(ATOM, "content") {
                found.matter.content = canonical(reader, &element)?;
            } else {
                if element.name.is(ATOM, "link") && element.get("rel") == Some("edit") {
                    found.edit = element.get("href").map(|href| resolved(reader.base(), href));
                } else if element.name.is(MARK_NAMESPACE, "made") {
                    found.mark = Mark::of(|name| element.get(name));
                }
                reader.skip().map_err(|why| why.to_string())?;
            }
        }
        Ok(found)
    }
}

fn next<'a>(reader: &mut Reader<'a>) -> Result<Option<Event<'a>>, String> {
    reader.read().map_err(|why| why.to_string())
}

/// Reads the start of the root.
fn begin(reader: &mut Reader<'_>, name: &str) -> Result<(), String> {
    while let Some(event) = next(reader)? {
        match event {
            Event::Start(element) if element.name.is(ATOM, name) => return Ok(()),
            Event::Start(element) => {
                return Err(format!("expected an Atom {name}, got <{}>", element.name.local));
            }
            _ => {}
        }
    }
    Err(format!("expected an Atom {name}, got nothing"))
}

/// The text of an element without those in it, to its end.
fn text(reader: &mut Reader<'_>) -> Result<String, String> {
    let (depth, mut text) = (reader.depth(), String::new());
    while let Some(event) = next(reader)? {
        match event {
            Event::Text(piece) => text.push_str(&piece),
            Event::End if reader.depth() < depth => break,
            _ => {}
        }
    }
    Ok(text)
}

/// An element with all that is in it, to its end.
fn canonical(reader: &mut Reader<'_>, element: &Element<'_>) -> Result<String, String> {
    let (depth, mut out) = (reader.depth(), String::new());
    push_start(element, true, &mut out);
    while let Some(event) = next(reader)? {
        match event {
            Event::Start(element) => push_start(&element, false, &mut out),
            Event::Text(text) => out.push_str(&text),
            Event::End => {
                out.push_str("</>");
                if reader.depth() < depth {
                    break;
                }
            }
            Event::Aside => {}
        }
    }
    Ok(out)
}

/// `is_root`: of a construct of Atom, where `type="text"` says nothing.
fn push_start(element: &Element<'_>, is_root: bool, out: &mut String) {
    let _a_string_takes_all = write!(out, "<{{{}}}{}", element.name.namespace, element.name.local);
    let mut attributes: Vec<_> = element
        .attributes
        .iter()
        // A server may have to say again where it is from and what language it is in.
        .filter(|attribute| attribute.name.namespace != XML)
        .filter(|attribute| {
            !(is_root && attribute.name.is("", "type") && attribute.value == "text")
        })
        .map(|attribute| (&*attribute.name.namespace, attribute.name.local, &*attribute.value))
        .collect();
    attributes.sort_unstable();
    for (namespace, local, value) in attributes {
        let _a_string_takes_all = write!(out, " {{{namespace}}}{local}={value:?}");
    }
    out.push('>');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entries::Which;
    use crate::plan::{Entries, MadeKind, Size};

    #[test]
    fn what_is_made_is_atom_and_stays_itself_in_another_s_writing() {
        let entries = Entries {
            bytes: Size::LogNormal { median: 1500.0, sigma: 0.7, max: 60_000 },
            content_weights: [1.0; 5],
            categories_max: 3,
            summary_share: 0.3,
            ..Entries::default()
        };
        for number in 0..3000 {
            let which = Which { seed: number % 7, worker: number % 3, number };
            let mut made = Vec::new();
            entries.make(MadeKind::Entry, which, &mut made);
            let found = Found::of_document(&made).unwrap_or_else(|why| {
                panic!("{why}: {}", String::from_utf8_lossy(&made));
            });
            let Mark { run, worker, number: seq } = found.mark.unwrap();
            assert_eq!(Which { seed: run, worker, number: seq }, which);
            assert!(found.id.starts_with("urn:uuid:") && found.edit.is_none());
            // In a feed, with another prefix and comments, after a declaration of encoding.
            let inner = String::from_utf8(made).unwrap();
            let inner = inner.split_once("<title>").unwrap().1;
            let inner = inner
                .replacen("</title>", "</a:title>", 1)
                .replace("<content type=\"text\">", "<content><!-- here -->");
            let feed = format!(
                "<a:feed xmlns:a='{ATOM}'><a:link rel='next' href='?2'/>\
                 <a:entry xmlns='{ATOM}' xml:base='/p/'><a:title type='text'>{inner}\
                 <link rel='edit' href='e7'/>"
            );
            let feed = feed.replacen("</entry>\n", "", 1) + "</a:entry></a:feed>";
            let page = Page::read(feed.as_bytes()).unwrap_or_else(|why| panic!("{why}: {feed}"));
            assert_eq!(page.next.as_deref(), Some("?2"));
            assert_eq!(page.entries[0].edit.as_deref(), Some("/p/e7"));
            assert_eq!((&page.entries[0].matter, &page.entries[0].id), (&found.matter, &found.id));
        }
    }

    #[test]
    fn what_was_changed_is_another() {
        let entry = |content: &str| {
            let text = format!("<entry xmlns='{ATOM}'><title>t</title>{content}</entry>");
            Found::of_document(text.as_bytes()).unwrap().matter
        };
        let of = entry("<content type='html'>&lt;p&gt;a</content>");
        for other in [
            "<content type='html'>&lt;p&gt;b</content>",
            "<content>&lt;p&gt;a</content>",
            "<content type='html'>a</content>",
            "",
        ] {
            assert_ne!(entry(other), of, "{other}");
        }
        for wrong in [&b"<feed/>"[..], b"<entry xmlns='http://www.w3.org/2005/Atom'>", b"", b"{}"] {
            assert!(Found::of_document(wrong).is_err());
        }
        assert!(Page::read(b"<entry xmlns='http://www.w3.org/2005/Atom'/>").is_err());
    }
}
