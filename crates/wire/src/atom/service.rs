//! Service documents (RFC 5023 §8): workspaces, their collections, and what those take. Read, for
//! clients and for publications that a workspace is sent for; and written.

use super::categories::{self, Categories};
use super::construct::{Text, resolved, text, word};
use super::entry::{end, first};
use super::refused::{Invalid, ReadError};
use super::rules::invalid;
use super::{APP, ATOM, media_type};
use crate::limits::ATOM_CHILDREN_MAX;
use crate::xml::{Element, Event, Reader, Writer};

/// A workspace (§8.3.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workspace {
    /// Its title, as text.
    pub title: String,
    /// Its collections.
    pub collections: Vec<Collection>,
}

/// A collection, as a service document has it (§8.3.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collection {
    /// Its title, as text.
    pub title: String,
    /// Where it is.
    pub href: String,
    /// The media ranges that it takes. None at all: entries (§8.3.4); one empty one: nothing.
    pub accepts: Vec<String>,
    /// The categories that it knows.
    pub categories: Vec<Categories>,
}

impl Collection {
    /// Whether it takes what is of that media type (§8.3.4).
    pub fn admits(&self, of_type: &str) -> bool {
        if self.accepts.is_empty() {
            return media_type::admits(super::ENTRY_TYPE, of_type);
        }
        self.accepts.iter().any(|accept| media_type::admits(accept, of_type))
    }

    /// Whether an entry may have all of these categories (§8.3.6).
    pub fn admits_categories(&self, found: &[super::Category]) -> bool {
        let is_open = self.categories.iter().all(|list| !list.is_fixed);
        let is_known = |one| self.categories.iter().any(|list| list.is_fixed && list.admit(one));
        is_open || found.iter().all(is_known)
    }
}

/// Writes a service document.
pub fn document(workspaces: &[Workspace]) -> String {
    let mut writer = Writer::document();
    writer.start("app:service").attribute("xmlns:app", APP).attribute("xmlns:atom", ATOM);
    for workspace in workspaces {
        writer.raw("\n").start("app:workspace").raw("\n").line("atom:title", &workspace.title);
        for collection in &workspace.collections {
            write_collection(&mut writer, collection);
        }
        writer.end("app:workspace");
    }
    writer.raw("\n").end("app:service").raw("\n").finish()
}

fn write_collection(writer: &mut Writer, collection: &Collection) {
    writer.start("app:collection").attribute("href", &collection.href).raw("\n");
    writer.line("atom:title", &collection.title);
    for accept in &collection.accepts {
        writer.line("app:accept", accept);
    }
    for categories in &collection.categories {
        categories.write(writer);
        writer.raw("\n");
    }
    writer.end("app:collection").raw("\n");
}

/// Reads a service document, or a workspace that is one by itself.
///
/// # Errors
///
/// It is no XML, no such document, or no valid one.
pub fn read(text: &str) -> Result<Vec<Workspace>, ReadError> {
    let mut reader = Reader::new(text)?;
    let expected = "service or workspace of http://www.w3.org/2007/app";
    let root = loop {
        match reader.read()? {
            Some(Event::Start(element)) => break element,
            Some(_) => {}
            None => {
                let (place, found) = (reader.place(), "nothing".to_owned());
                return Err(ReadError::WrongRoot { place, expected, found });
            }
        }
    };
    let mut workspaces = Vec::new();
    if root.name.is(APP, "workspace") {
        workspaces.push(workspace(&mut reader)?);
    } else if root.name.is(APP, "service") {
        read_service(&mut reader, &mut workspaces)?;
    } else {
        let found = format!("{} of {}", root.name.local, root.name.namespace);
        let found = found.chars().take(100).collect();
        return Err(ReadError::WrongRoot { place: reader.place(), expected, found });
    }
    end(&mut reader)?;
    Ok(workspaces)
}

fn read_service(reader: &mut Reader<'_>, workspaces: &mut Vec<Workspace>) -> Result<(), ReadError> {
    while let Some(event) = reader.read()? {
        match event {
            Event::End => break,
            Event::Start(element) if element.name.is(APP, "workspace") => {
                bounded(reader, "app:service", workspaces.len())?;
                workspaces.push(workspace(reader)?);
            }
            Event::Start(_) => reader.skip()?,
            Event::Text(_) | Event::Aside => {}
        }
    }
    if workspaces.is_empty() {
        return Err(missing(reader, "app:service", "a workspace"));
    }
    Ok(())
}

fn workspace(reader: &mut Reader<'_>) -> Result<Workspace, ReadError> {
    let (mut title, mut collections) = (None, Vec::new());
    while let Some(event) = reader.read()? {
        match event {
            Event::End => break,
            Event::Start(element) if element.name.is(ATOM, "title") => {
                title = Some(only_title(reader, &element, &title)?);
            }
            Event::Start(element) if element.name.is(APP, "collection") => {
                bounded(reader, "app:workspace", collections.len())?;
                collections.push(collection(reader, &element)?);
            }
            Event::Start(_) => reader.skip()?,
            Event::Text(_) | Event::Aside => {}
        }
    }
    let title = title.ok_or_else(|| missing(reader, "app:workspace", "a title"))?;
    Ok(Workspace { title: title.value, collections })
}

fn collection(reader: &mut Reader<'_>, element: &Element<'_>) -> Result<Collection, ReadError> {
    let href = element.get("href").map(|href| resolved(reader, href));
    let href = href.ok_or_else(|| missing(reader, "app:collection", "the attribute href"))?;
    let mut found = Collection { href, ..Collection::default() };
    let mut title = None;
    while let Some(event) = reader.read()? {
        match event {
            Event::End => break,
            Event::Start(element) if element.name.is(ATOM, "title") => {
                title = Some(only_title(reader, &element, &title)?);
            }
            Event::Start(element) if element.name.is(APP, "accept") => {
                bounded(reader, "app:collection", found.accepts.len())?;
                found.accepts.push(word(reader, "app:accept")?);
            }
            Event::Start(element) if element.name.is(APP, "categories") => {
                bounded(reader, "app:collection", found.categories.len())?;
                found.categories.push(categories::read_within(reader, &element)?);
            }
            Event::Start(_) => reader.skip()?,
            Event::Text(_) | Event::Aside => {}
        }
    }
    let title = title.ok_or_else(|| missing(reader, "app:collection", "a title"))?;
    found.title = title.value;
    Ok(found)
}

fn only_title(
    reader: &mut Reader<'_>,
    element: &Element<'_>,
    found: &Option<Text>,
) -> Result<Text, ReadError> {
    first(reader, found, "title")?;
    text(reader, element, "title")
}

fn bounded(reader: &Reader<'_>, within: &'static str, found: usize) -> Result<(), ReadError> {
    if found < ATOM_CHILDREN_MAX {
        return Ok(());
    }
    Err(invalid(reader, Invalid::Children { within, max: ATOM_CHILDREN_MAX }))
}

fn missing(reader: &Reader<'_>, within: &'static str, needed: &'static str) -> ReadError {
    invalid(reader, Invalid::Missing { within, needed })
}
