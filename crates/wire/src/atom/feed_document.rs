//! Writing feeds (RFC 4287 §4.1.1): a head, what was deleted, and entries as they are stored, each
//! put in as it stands. The feed states no language and no base for its entries, so that they mean
//! what they mean by themselves.

use super::{ATOM, Date, HISTORY, Person, TOMBSTONES, Tombstone};
use crate::xml::Writer;

/// What stands before the entries. References are absolute, or paths of the server's.
#[derive(Clone, Debug)]
pub struct Head<'a> {
    /// `atom:id`.
    pub id: &'a str,
    /// `atom:title`.
    pub title: HeadText<'a>,
    /// `atom:subtitle`.
    pub subtitle: Option<HeadText<'a>>,
    /// The language of title and subtitle.
    pub lang: Option<&'a str>,
    /// `atom:updated`.
    pub updated: Date,
    /// The authors of entries that have none.
    pub authors: &'a [Person],
    /// `atom:rights`, as text.
    pub rights: Option<&'a str>,
    /// `atom:icon`.
    pub icon: Option<&'a str>,
    /// `atom:logo`.
    pub logo: Option<&'a str>,
    /// Links, in this order.
    pub links: &'a [HeadLink<'a>],
    /// What kind of a feed it is.
    pub kind: FeedKind,
}

/// A text of a feed: text, or HTML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadText<'a> {
    /// What it says.
    pub value: &'a str,
    /// Whether that is HTML.
    pub is_html: bool,
}

impl<'a> HeadText<'a> {
    /// HTML if there is some, and text otherwise.
    pub fn of(text: &'a str, html: Option<&'a str>) -> HeadText<'a> {
        HeadText { value: html.unwrap_or(text), is_html: html.is_some() }
    }
}

/// A link of a feed.
#[derive(Clone, Copy, Debug)]
pub struct HeadLink<'a> {
    /// Its relation: `self`, `alternate`, `next` (RFC 5005) and others.
    pub rel: &'a str,
    /// Where it leads.
    pub href: &'a str,
    /// What is there.
    pub media_type: Option<&'a str>,
}

/// What a feed says of its entries (RFC 5005).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedKind {
    /// There may be others, where the links lead.
    Partial,
    /// These are all (§2).
    Complete,
    /// These will not change (§4).
    Archive,
}

/// A feed that is being written: tombstones, then entries.
#[derive(Debug)]
pub struct FeedWriter {
    writer: Writer,
}

impl FeedWriter {
    /// Writes the head; `bytes` is about how long the entries will be.
    pub fn new(head: &Head<'_>, bytes: usize) -> FeedWriter {
        let mut writer = Writer::fragment(bytes + 2048);
        writer.raw("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        writer.start("feed").attribute("xmlns", ATOM);
        let mark = match head.kind {
            FeedKind::Partial => None,
            FeedKind::Complete => Some("fh:complete"),
            FeedKind::Archive => Some("fh:archive"),
        };
        if mark.is_some() {
            writer.attribute("xmlns:fh", HISTORY);
        }
        writer.raw("\n");
        if let Some(mark) = mark {
            writer.start(mark).end(mark).raw("\n");
        }
        writer.line("id", head.id);
        text(&mut writer, "title", Some(head.title), head.lang);
        text(&mut writer, "subtitle", head.subtitle, head.lang);
        writer.line("updated", &head.updated.to_string());
        for author in head.authors {
            write_person(&mut writer, "author", author);
            writer.raw("\n");
        }
        for link in head.links {
            writer.start("link").attribute("rel", link.rel).maybe("type", link.media_type);
            writer.attribute("href", link.href).end("link").raw("\n");
        }
        writer.maybe_line("icon", head.icon).maybe_line("logo", head.logo);
        let rights = head.rights.map(|rights| HeadText::of(rights, None));
        text(&mut writer, "rights", rights, head.lang);
        writer.start("generator").text("Sarsen").end("generator").raw("\n");
        FeedWriter { writer }
    }

    /// Says that an entry was deleted (RFC 6721 §3). All of these stand before the entries.
    pub fn tombstone(&mut self, tombstone: &Tombstone) -> &mut FeedWriter {
        write_tombstone(&mut self.writer, tombstone);
        self.writer.raw("\n");
        self
    }

    /// Puts in an entry as it is stored.
    pub fn entry(&mut self, stored: &str) -> &mut FeedWriter {
        self.writer.raw(stored).raw("\n");
        self
    }

    /// The whole document.
    pub fn finish(mut self) -> String {
        self.writer.end("feed").raw("\n");
        self.writer.finish()
    }
}

/// Writes a Deleted Entry Document (RFC 6721 §5).
pub fn tombstone_document(tombstone: &Tombstone) -> String {
    let mut writer = Writer::document();
    write_tombstone(&mut writer, tombstone);
    writer.raw("\n").finish()
}

fn write_tombstone(writer: &mut Writer, tombstone: &Tombstone) {
    writer.start("at:deleted-entry").attribute("xmlns:at", TOMBSTONES);
    writer.attribute("ref", &tombstone.reference);
    writer.attribute("when", &tombstone.when.to_string());
    if let Some(by) = &tombstone.by {
        writer.start("at:by").attribute("xmlns", ATOM);
        write_within(writer, by);
        writer.end("at:by");
    }
    if let Some(comment) = &tombstone.comment {
        writer.start("at:comment");
        match comment.kind {
            super::TextKind::Text => {}
            super::TextKind::Html | super::TextKind::Xhtml => {
                writer.attribute("type", "html");
            }
        }
        writer.text(&comment.value).end("at:comment");
    }
    writer.end("at:deleted-entry");
}

fn text(writer: &mut Writer, name: &str, text: Option<HeadText<'_>>, lang: Option<&str>) {
    if let Some(HeadText { value, is_html }) = text {
        writer.start(name).maybe("type", is_html.then_some("html")).maybe("xml:lang", lang);
        writer.text(value).end(name).raw("\n");
    }
}

/// Writes a person, where Atom is the default namespace.
pub(super) fn write_person(writer: &mut Writer, name: &str, person: &Person) {
    writer.start(name);
    write_within(writer, person);
    writer.end(name);
}

fn write_within(writer: &mut Writer, person: &Person) {
    writer.start("name").text(&person.name).end("name");
    for (name, value) in [("uri", &person.uri), ("email", &person.email)] {
        if let Some(value) = value {
            writer.start(name).text(value).end(name);
        }
    }
}
