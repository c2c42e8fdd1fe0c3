//! What is kept and served of an entry: what was sent, piece by piece as it stands, with the
//! server's own elements in place of the client's. The text stands alone as a document, and in any
//! feed as an element that means the same: it declares every prefix, and states base and language
//! where they matter.

use super::entry::{Entry, Part};
use super::{APP, Date};
use crate::uri;
use crate::xml::{Writer, XML};

/// What is the server's in an entry.
#[derive(Clone, Copy, Debug)]
pub struct Owned<'a> {
    /// `atom:id`, in place of any that was sent.
    pub id: &'a str,
    /// `atom:updated`, in place of any that was sent.
    pub updated: Date,
    /// `app:edited`, in place of any that was sent.
    pub edited: Date,
    /// `atom:published`, if none was sent.
    pub published: Option<Date>,
    /// The `edit` link, in place of all that were sent.
    pub edit: &'a str,
    /// The `edit-media` link, in place of all that were sent; none for an entry without media.
    pub edit_media: Option<&'a str>,
    /// The page of the entry: the `alternate` link of type `text/html`, in place of one that was
    /// sent.
    pub page: Option<&'a str>,
    /// The title, if none was sent.
    pub title: Option<&'a str>,
    /// The name of the author, if none was sent.
    pub author: Option<&'a str>,
    /// The summary, if none was sent.
    pub summary: Option<&'a str>,
    /// Where the media is, in place of any content that was sent.
    pub content: Option<OwnedContent<'a>>,
    /// What references in the entry are resolved by: a path of the server's, or an absolute IRI. It
    /// is stated only where it matters.
    pub base: &'a str,
}

/// Content that is media of its own.
#[derive(Clone, Copy, Debug)]
pub struct OwnedContent<'a> {
    /// Where it is.
    pub src: &'a str,
    /// What it is.
    pub media_type: &'a str,
}

impl Entry<'_> {
    /// The text to keep.
    pub fn stored(&self, owned: &Owned<'_>) -> String {
        let sent: usize = self.sent.pieces.iter().map(|piece| piece.xml.len() + 1).sum();
        let mut writer = Writer::fragment(sent + 1024);
        let names = Names::of(self.sent.prefix);
        self.write_start(&mut writer, &names, owned.base);
        self.write_owned(&mut writer, &names, owned);
        for piece in self.sent.pieces.iter().filter(|piece| self.is_kept(&piece.part, owned)) {
            writer.raw("\n").raw(piece.xml);
        }
        writer.raw("\n").end(&names.name("entry"));
        writer.finish()
    }

    fn write_start(&self, writer: &mut Writer, names: &Names<'_>, base: &str) {
        writer.start(&names.name("entry"));
        let has_default = self.sent.bindings.iter().any(|(prefix, _)| prefix.is_empty());
        if !has_default {
            // In a feed there would be another default.
            writer.attribute("xmlns", "");
        }
        for (prefix, namespace) in &self.sent.bindings {
            match *prefix {
                "" => writer.attribute("xmlns", namespace),
                prefix => writer.attribute(&format!("xmlns:{prefix}"), namespace),
            };
        }
        match &self.base {
            Some(stated) => _ = writer.attribute("xml:base", &uri::resolve(base, stated)),
            None if self.sent.is_relative => _ = writer.attribute("xml:base", base),
            None => {}
        }
        writer.maybe("xml:lang", self.lang.as_deref());
        for attribute in &self.sent.attributes {
            let is_stated = attribute.name.is(XML, "base") || attribute.name.is(XML, "lang");
            if !is_stated {
                writer.raw_attribute(attribute.raw);
            }
        }
    }

    fn write_owned(&self, writer: &mut Writer, names: &Names<'_>, owned: &Owned<'_>) {
        let line = |writer: &mut Writer, name: &str, text: &str| {
            let name = names.name(name);
            writer.raw("\n").start(&name).text(text).end(&name);
        };
        line(writer, "id", owned.id);
        if let (None, Some(title)) = (&self.title, owned.title) {
            line(writer, "title", title);
        }
        line(writer, "updated", &owned.updated.to_string());
        if let (None, Some(published)) = (&self.published, owned.published) {
            line(writer, "published", &published.to_string());
        }
        if let (true, Some(author)) = (self.authors.is_empty(), owned.author) {
            let (outer, name) = (names.name("author"), names.name("name"));
            writer.raw("\n").start(&outer).start(&name).text(author).end(&name).end(&outer);
        }
        if let (None, Some(summary)) = (&self.summary, owned.summary) {
            line(writer, "summary", summary);
        }
        writer.raw("\n");
        self.write_edited(writer, owned.edited);
        let mut link = |rel: &str, href: &str, media_type: Option<&str>| {
            let name = names.name("link");
            writer.raw("\n").start(&name).attribute("rel", rel).maybe("type", media_type);
            writer.attribute("href", href).end(&name);
        };
        link("edit", owned.edit, None);
        if let Some(href) = owned.edit_media {
            link("edit-media", href, None);
        }
        if let Some(href) = owned.page {
            link("alternate", href, Some("text/html"));
        }
        if let Some(content) = owned.content {
            let name = names.name("content");
            writer.raw("\n").start(&name).attribute("type", content.media_type);
            writer.attribute("src", content.src).end(&name);
        }
    }

    /// With the prefix that is there for it, or with one of its own.
    fn write_edited(&self, writer: &mut Writer, edited: Date) {
        let is_app = |(prefix, namespace): &&(&str, _)| namespace == APP && !prefix.is_empty();
        let bound = self.sent.bindings.iter().find(is_app);
        let prefix = bound.map_or("app", |(prefix, _)| prefix);
        let name = format!("{prefix}:edited");
        writer.start(&name);
        if bound.is_none() {
            writer.attribute("xmlns:app", APP);
        }
        writer.text(&edited.to_string()).end(&name);
    }

    /// Whether a piece that was sent stays.
    fn is_kept(&self, part: &Part, owned: &Owned<'_>) -> bool {
        match part {
            Part::Id | Part::Updated | Part::Edited => false,
            Part::Content => owned.content.is_none(),
            Part::Link(at) => {
                let link = &self.links[*at];
                let is_html = |found: &str| found.eq_ignore_ascii_case("text/html");
                match link.rel.as_str() {
                    "edit" | "edit-media" => false,
                    "alternate" if owned.page.is_some() => {
                        let media_type = link.media_type.as_deref();
                        link.hreflang.is_some() || !media_type.is_some_and(is_html)
                    }
                    _ => true,
                }
            }
            Part::Other => true,
        }
    }
}

/// How Atom's names are written in an entry.
struct Names<'a> {
    prefix: &'a str,
}

impl<'a> Names<'a> {
    fn of(prefix: &'a str) -> Names<'a> {
        Names { prefix }
    }

    fn name<'n>(&self, local: &'n str) -> std::borrow::Cow<'n, str> {
        match self.prefix {
            "" => local.into(),
            prefix => format!("{prefix}:{local}").into(),
        }
    }
}
