//! Atom's codecs by the sections of their RFCs: what is read, what is refused and how, what is
//! kept, and what is written. Documents that are written are validated by jing.

#![allow(clippy::unwrap_used, reason = "tests")]

mod documents;
mod entries;
mod made_up;
mod refusals;
mod schemas;
mod stored;

use wire::atom::{Date, Owned};

/// An entry of Atom with these children.
fn entry(children: &str) -> String {
    format!("<entry xmlns='http://www.w3.org/2005/Atom'>{children}</entry>")
}

/// What a server puts into an entry.
fn owned() -> Owned<'static> {
    Owned {
        id: "urn:uuid:1225c695-cfb8-4ebb-aaaa-80da344efa6a",
        updated: date("2007-10-09T12:29:29Z"),
        edited: date("2007-10-09T12:29:29.5Z"),
        published: None,
        edit: "/atom/blog/entries/first",
        edit_media: None,
        page: Some("/atom/blog/pages/first"),
        title: None,
        author: Some("Ann"),
        summary: None,
        content: None,
        base: "/atom/blog/entries/first",
    }
}

fn date(text: &str) -> Date {
    Date::parse(text).unwrap()
}
