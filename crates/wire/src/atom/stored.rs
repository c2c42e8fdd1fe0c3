//! What is kept and served of an entry: what was sent, piece by piece as it stands, with the
//! server's own elements in place of the client's. The text stands alone as a document, and in any
//! feed as an element that means the same: it declares every prefix, and states base and language
//! where they matter.

use super::entry::{Entry, Part, Piece};
use super::{APP, Date, media_type};
use crate::uri;
use crate::xml::{Writer, XML, escape_attribute};

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
    /// What it is. One that content cannot have (RFC 4287 §4.1.3.1) is stated by the link to edit
    /// it.
    pub media_type: &'a str,
}

impl OwnedContent<'_> {
    fn is_composite(&self) -> bool {
        media_type::is_composite(self.media_type)
    }
}

impl Entry<'_> {
    /// The text to keep.
    pub fn stored(&self, owned: &Owned<'_>) -> String {
        let sent: usize = self.sent.pieces.iter().map(|piece| piece.xml.len() + 1).sum();
        let mut writer = Writer::fragment(sent + 1024);
        let names = Names::of(self.sent.prefix);
        let is_kept = |piece: &&Piece<'_>| self.is_kept(&piece.part, owned);
        let pieces: Vec<&Piece<'_>> = self.sent.pieces.iter().filter(is_kept).collect();
        let base = self.base.as_deref().map(|stated| uri::resolve(owned.base, stated));
        let elsewhere = base.as_deref().filter(|base| uri::is_elsewhere(base));
        let needs_base = elsewhere.is_none() && (base.is_some() || pieces.iter().any(needs_base));
        let stated = base.as_deref().unwrap_or(owned.base);
        self.write_start(&mut writer, &names, needs_base.then_some(stated));
        self.write_owned(&mut writer, &names, owned);
        for piece in pieces {
            writer.raw("\n");
            match elsewhere {
                _ if piece.part == Part::OldControl => self.write_draft(&mut writer),
                Some(base) => write_with_base(&mut writer, piece, base),
                None => _ = writer.raw(piece.xml),
            }
        }
        writer.raw("\n").end(&names.name("entry"));
        writer.finish()
    }

    fn write_start(&self, writer: &mut Writer, names: &Names<'_>, base: Option<&str>) {
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
        writer.maybe("xml:base", base).maybe("xml:lang", self.lang.as_deref());
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
        self.write_app(writer, "edited", |writer, _| _ = writer.text(&owned.edited.to_string()));
        let mut link = |rel: &str, href: &str, media_type: Option<&str>| {
            let name = names.name("link");
            writer.raw("\n").start(&name).attribute("rel", rel).maybe("type", media_type);
            writer.attribute("href", href).end(&name);
        };
        link("edit", owned.edit, None);
        if let Some(href) = owned.edit_media {
            let composite = owned.content.filter(|content| content.is_composite());
            link("edit-media", href, composite.map(|content| content.media_type));
        }
        if let Some(href) = owned.page {
            link("alternate", href, Some("text/html"));
        }
        if let Some(content) = owned.content {
            let name = names.name("content");
            let stated = Some(content.media_type).filter(|_| !content.is_composite());
            writer.raw("\n").start(&name).maybe("type", stated);
            writer.attribute("src", content.src).end(&name);
        }
    }

    /// `app:control` of a draft, in place of one in the namespace of the drafts.
    fn write_draft(&self, writer: &mut Writer) {
        self.write_app(writer, "control", |writer, prefix| {
            let name = format!("{prefix}:draft");
            writer.start(&name).text("yes").end(&name);
        });
    }

    /// An element of `app:`, with the prefix that is there for it, or with one of its own. `write`
    /// is given the prefix.
    fn write_app(&self, writer: &mut Writer, local: &str, write: impl FnOnce(&mut Writer, &str)) {
        let is_app = |(prefix, namespace): &&(&str, _)| namespace == APP && !prefix.is_empty();
        let bound = self.sent.bindings.iter().find(is_app);
        let prefix = bound.map_or("app", |(prefix, _)| prefix);
        let name = format!("{prefix}:{local}");
        writer.start(&name);
        if bound.is_none() {
            writer.attribute("xmlns:app", APP);
        }
        write(writer, prefix);
        writer.end(&name);
    }

    /// Whether a piece that was sent stays.
    fn is_kept(&self, part: &Part, owned: &Owned<'_>) -> bool {
        match part {
            Part::Id | Part::Updated | Part::Edited => false,
            Part::OldControl => self.is_draft,
            Part::Control => !self.sent.has_old_control,
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

/// Whether what a piece means depends on the base that the entry states.
fn needs_base(piece: &&Piece<'_>) -> bool {
    let is_own = |resolved: &str| uri::is_elsewhere(resolved);
    piece.is_relative && !piece.base.as_ref().is_some_and(|base| is_own(&base.resolved))
}

/// Writes a piece of an entry whose base is of another server. The entry does not state that, since
/// it would hold for the server's own links; what needs it does.
fn write_with_base(writer: &mut Writer, piece: &Piece<'_>, base: &str) {
    let (before, after, base) = match &piece.base {
        Some(stated) => {
            let (before, after) = (&piece.xml[..stated.at.start], &piece.xml[stated.at.end..]);
            (before.trim_end(), after, stated.resolved.as_str())
        }
        None if piece.is_relative => {
            let ends_name = |c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>');
            let name = piece.xml.find(ends_name).unwrap_or(piece.xml.len());
            (&piece.xml[..name], &piece.xml[name..], base)
        }
        None => {
            writer.raw(piece.xml);
            return;
        }
    };
    let mut attribute = String::from(" xml:base=\"");
    escape_attribute(&mut attribute, base);
    attribute.push('"');
    writer.raw(before).raw(&attribute).raw(after);
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
