//! Categories (RFC 4287 §4.2.2), and the lists of those that a collection takes (RFC 5023 §7),
//! read and written.

use super::construct::category;
use super::entry::{end, root};
use super::refused::{Invalid, ReadError};
use super::rules::{Form, check_attributes, invalid};
use super::{APP, ATOM};
use crate::limits::ATOM_CHILDREN_MAX;
use crate::xml::{Element, Event, Reader, Writer};

/// A category.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Category {
    /// What it is told by.
    pub term: String,
    /// The scheme that the term is of.
    pub scheme: Option<String>,
    /// A name for people.
    pub label: Option<String>,
}

/// A list of categories: `app:categories`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Categories {
    /// Where the list is, if it is not here.
    pub href: Option<String>,
    /// Whether others are not taken (§7.2.1.1: no, if it does not say).
    pub is_fixed: bool,
    /// The scheme of those that have none of their own.
    pub scheme: Option<String>,
    /// The categories.
    pub list: Vec<Category>,
}

impl Categories {
    /// Whether an entry may have this category (§8.3.6). Terms and schemes are compared byte by
    /// byte.
    pub fn admit(&self, category: &Category) -> bool {
        let is_it = |listed: &Category| {
            let scheme = listed.scheme.as_ref().or(self.scheme.as_ref());
            listed.term == category.term && scheme == category.scheme.as_ref()
        };
        !self.is_fixed || self.list.iter().any(is_it)
    }

    /// Writes the category document (§7).
    pub fn document(&self) -> String {
        let mut writer = Writer::document();
        writer.start("app:categories").attribute("xmlns:app", APP).attribute("xmlns:atom", ATOM);
        self.write_rest(&mut writer);
        writer.raw("\n").finish()
    }

    /// Writes the element, in a document with these prefixes.
    pub(super) fn write(&self, writer: &mut Writer) {
        writer.start("app:categories");
        self.write_rest(writer);
    }

    fn write_rest(&self, writer: &mut Writer) {
        if let Some(href) = &self.href {
            writer.attribute("href", href).end("app:categories");
            return;
        }
        if self.is_fixed {
            writer.attribute("fixed", "yes");
        }
        writer.maybe("scheme", self.scheme.as_deref());
        for category in &self.list {
            writer.raw("\n").start("atom:category").attribute("term", &category.term);
            writer.maybe("scheme", category.scheme.as_deref());
            writer.maybe("label", category.label.as_deref()).end("atom:category");
        }
        if !self.list.is_empty() {
            writer.raw("\n");
        }
        writer.end("app:categories");
    }
}

/// Reads a category document.
///
/// # Errors
///
/// It is no XML, no such document, or no valid one.
pub fn read(text: &str) -> Result<Categories, ReadError> {
    let mut reader = Reader::new(text)?;
    let expected = "categories of http://www.w3.org/2007/app";
    let element = root(&mut reader, APP, "categories", expected)?;
    let categories = read_within(&mut reader, &element)?;
    end(&mut reader)?;
    Ok(categories)
}

/// `app:categories`, whose start tag was read.
pub(super) fn read_within(
    reader: &mut Reader<'_>,
    element: &Element<'_>,
) -> Result<Categories, ReadError> {
    check_attributes(reader, element, &[("href", Form::Iri), ("scheme", Form::Iri)])?;
    let href = element.get("href").map(|href| super::construct::resolved(reader, href));
    let is_fixed = match element.get("fixed") {
        None | Some("no") => false,
        Some("yes") => true,
        Some(other) => {
            let found = other.chars().take(60).collect();
            return Err(invalid(reader, Invalid::Fixed(found)));
        }
    };
    let scheme = element.get("scheme").map(str::to_owned);
    let is_more = element.get("fixed").is_some() || scheme.is_some();
    if href.is_some() && is_more {
        return Err(invalid(reader, Invalid::CategoriesAway));
    }
    let mut categories = Categories { href, is_fixed, scheme, list: Vec::new() };
    while let Some(event) = reader.read()? {
        match event {
            Event::End => break,
            Event::Start(element) if element.name.is(ATOM, "category") => {
                if categories.href.is_some() {
                    return Err(invalid(reader, Invalid::CategoriesAway));
                }
                if categories.list.len() == ATOM_CHILDREN_MAX {
                    let (within, max) = ("app:categories", ATOM_CHILDREN_MAX);
                    return Err(invalid(reader, Invalid::Children { within, max }));
                }
                categories.list.push(category(reader, &element)?);
            }
            Event::Start(_) => reader.skip()?,
            Event::Text(_) | Event::Aside => {}
        }
    }
    Ok(categories)
}
