//! Feeds, read (RFC 4287 §4.1.1): one that a publication is made of, and those that the lab reads.
//! Tombstones in them are RFC 6721's.

use super::construct::{Link, Person, Text, category, date, iri, link, person, resolved, text};
use super::entry::{self, Entry, end, first, root};
use super::refused::{Invalid, ReadError};
use super::rules::{check_common, invalid};
use super::{ATOM, Category, Date, HISTORY, TOMBSTONES};
use crate::limits::ATOM_CHILDREN_MAX;
use crate::xml::{Element, Event, Reader};

/// A feed.
#[derive(Clone, Debug, Default)]
pub struct Feed<'a> {
    /// Its id.
    pub id: Option<String>,
    /// Its title.
    pub title: Option<Text>,
    /// Its subtitle.
    pub subtitle: Option<Text>,
    /// Its rights.
    pub rights: Option<Text>,
    /// When it was last changed.
    pub updated: Option<Date>,
    /// Its authors.
    pub authors: Vec<Person>,
    /// Its categories.
    pub categories: Vec<Category>,
    /// Its links.
    pub links: Vec<Link>,
    /// A small picture.
    pub icon: Option<String>,
    /// A larger one.
    pub logo: Option<String>,
    /// Its language, if one is stated.
    pub lang: Option<String>,
    /// Whether it says that it is all there is (RFC 5005 §2).
    pub is_complete: bool,
    /// Whether it says that it is an archive (RFC 5005 §4).
    pub is_archive: bool,
    /// Its entries, in the order of the document.
    pub entries: Vec<Entry<'a>>,
    /// What it says was deleted.
    pub tombstones: Vec<Tombstone>,
}

/// `at:deleted-entry` (RFC 6721 §3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The id of the entry that was there.
    pub reference: String,
    /// Since when it is not.
    pub when: Date,
    /// Who deleted it.
    pub by: Option<Person>,
    /// Why.
    pub comment: Option<Text>,
}

/// Reads a document that is a feed.
///
/// # Errors
///
/// It is no XML, no feed, or no valid one.
pub fn read(text: &str) -> Result<Feed<'_>, ReadError> {
    read_from(Reader::new(text)?)
}

/// Reads a feed that a server has written of what it had taken before: `entry::read_stored` says
/// why that differs.
///
/// # Errors
///
/// It is no XML, or no feed.
pub fn read_stored(text: &str) -> Result<Feed<'_>, ReadError> {
    read_from(Reader::trusted(text)?)
}

fn read_from(mut reader: Reader<'_>) -> Result<Feed<'_>, ReadError> {
    let element = root(&mut reader, ATOM, "feed", "feed of http://www.w3.org/2005/Atom")?;
    check_common(&reader, &element)?;
    let mut feed = Feed { lang: reader.lang().map(str::to_owned), ..Feed::default() };
    let mut children = 0;
    while let Some(event) = reader.read()? {
        match event {
            Event::End => break,
            Event::Text(loose) if loose.trim().is_empty() => continue,
            Event::Text(_) => return Err(invalid(&reader, Invalid::LooseText("feed"))),
            Event::Aside => {}
            Event::Start(element) => feed.child(&mut reader, element)?,
        }
        children += 1;
        if children > ATOM_CHILDREN_MAX && !reader.is_trusted() {
            let (within, max) = ("feed", ATOM_CHILDREN_MAX);
            return Err(invalid(&reader, Invalid::Children { within, max }));
        }
    }
    end(&mut reader)?;
    Ok(feed)
}

/// Reads a Deleted Entry Document (RFC 6721 §5).
///
/// # Errors
///
/// It is no XML, no such document, or no valid one.
pub fn read_tombstone(text: &str) -> Result<Tombstone, ReadError> {
    let mut reader = Reader::new(text)?;
    let expected = "deleted-entry of http://purl.org/atompub/tombstones/1.0";
    let element = root(&mut reader, TOMBSTONES, "deleted-entry", expected)?;
    let found = tombstone(&mut reader, &element)?;
    end(&mut reader)?;
    Ok(found)
}

impl<'a> Feed<'a> {
    /// Where the first link of that relation leads.
    pub fn href(&self, rel: &str) -> Option<&str> {
        self.links.iter().find(|link| link.rel == rel).map(|link| &*link.href)
    }

    fn child(&mut self, reader: &mut Reader<'a>, element: Element<'a>) -> Result<(), ReadError> {
        match (&*element.name.namespace, element.name.local) {
            (ATOM, _) => return self.atom(reader, element),
            (TOMBSTONES, "deleted-entry") => {
                self.tombstones.push(tombstone(reader, &element)?);
                return Ok(());
            }
            (HISTORY, "complete") => self.is_complete = true,
            (HISTORY, "archive") => self.is_archive = true,
            _ => {}
        }
        Ok(reader.skip()?)
    }

    fn atom(&mut self, reader: &mut Reader<'a>, element: Element<'a>) -> Result<(), ReadError> {
        check_common(reader, &element)?;
        match element.name.local {
            "entry" => self.entries.push(entry::read_within(reader, element)?),
            "id" => {
                first(reader, &self.id, "id")?;
                self.id = Some(iri(reader, "id")?);
            }
            "title" => {
                first(reader, &self.title, "title")?;
                self.title = Some(text(reader, &element, "title")?);
            }
            "subtitle" => {
                first(reader, &self.subtitle, "subtitle")?;
                self.subtitle = Some(text(reader, &element, "subtitle")?);
            }
            "rights" => {
                first(reader, &self.rights, "rights")?;
                self.rights = Some(text(reader, &element, "rights")?);
            }
            "updated" => {
                first(reader, &self.updated, "updated")?;
                self.updated = Some(date(reader, "updated")?);
            }
            "icon" => {
                first(reader, &self.icon, "icon")?;
                let icon = iri(reader, "icon")?;
                self.icon = Some(resolved(reader, &icon));
            }
            "logo" => {
                first(reader, &self.logo, "logo")?;
                let logo = iri(reader, "logo")?;
                self.logo = Some(resolved(reader, &logo));
            }
            "author" => self.authors.push(person(reader, "author")?),
            "category" => self.categories.push(category(reader, &element)?),
            "link" => self.links.push(link(reader, &element)?),
            _ => reader.skip()?,
        }
        Ok(())
    }
}

/// A tombstone, whose start tag was read.
fn tombstone(reader: &mut Reader<'_>, element: &Element<'_>) -> Result<Tombstone, ReadError> {
    let place = reader.place();
    let needs = |needed| {
        let rule = Invalid::Missing { within: "at:deleted-entry", needed };
        ReadError::Invalid { place, rule }
    };
    let reference = element.get("ref").ok_or_else(|| needs("the attribute ref"))?.to_owned();
    let stated = element.get("when").ok_or_else(|| needs("the attribute when"))?;
    let when = Date::parse(stated).ok_or_else(|| {
        let found = stated.chars().take(60).collect();
        ReadError::Invalid { place, rule: Invalid::Date { within: "when", found } }
    })?;
    let mut found = Tombstone { reference, when, by: None, comment: None };
    while let Some(event) = reader.read()? {
        match event {
            Event::End => break,
            Event::Start(element) if element.name.is(TOMBSTONES, "by") => {
                first(reader, &found.by, "at:by")?;
                found.by = Some(person(reader, "at:by")?);
            }
            Event::Start(element) if element.name.is(TOMBSTONES, "comment") => {
                first(reader, &found.comment, "at:comment")?;
                found.comment = Some(text(reader, &element, "at:comment")?);
            }
            Event::Start(_) => reader.skip()?,
            Event::Text(_) | Event::Aside => {}
        }
    }
    Ok(found)
}
