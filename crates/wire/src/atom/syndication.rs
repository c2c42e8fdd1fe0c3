//! What RSS and JSON Feed say of a publication and its entries: less than Atom, in words that both
//! have. HTML in it is put on pages as it is, so whoever fills this in has cleaned it.

use super::{Date, Person};

/// A publication.
#[derive(Clone, Debug)]
pub struct Channel<'a> {
    /// Its name.
    pub title: &'a str,
    /// What it is about.
    pub description: Option<&'a str>,
    /// Its page.
    pub page: &'a str,
    /// Where the feed is, whichever of its pages this is.
    pub feed: &'a str,
    /// Where the document itself is.
    pub here: &'a str,
    /// Where older items are, if there are any.
    pub next: Option<&'a str>,
    /// Its language.
    pub lang: Option<&'a str>,
    /// When it was last changed.
    pub updated: Date,
    /// Its authors.
    pub authors: &'a [Person],
    /// A picture.
    pub icon: Option<&'a str>,
}

/// An entry.
#[derive(Clone, Debug)]
pub struct Item<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its page.
    pub page: &'a str,
    /// Its title, as text.
    pub title: &'a str,
    /// What it holds, as clean HTML.
    pub html: Option<&'a str>,
    /// What it holds, as text, if that is all it is.
    pub text: Option<&'a str>,
    /// A summary, as text.
    pub summary: Option<&'a str>,
    /// When it was published.
    pub published: Option<Date>,
    /// When it was last changed.
    pub updated: Date,
    /// Its authors.
    pub authors: &'a [Person],
    /// The terms of its categories.
    pub categories: &'a [String],
    /// Its language.
    pub lang: Option<&'a str>,
    /// What comes with it.
    pub enclosures: &'a [Enclosure],
}

/// Something that comes with an entry, as a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enclosure {
    /// Where it is.
    pub url: String,
    /// What it is.
    pub media_type: String,
    /// How long, in bytes; 0 if nobody knows.
    pub length: u64,
}
