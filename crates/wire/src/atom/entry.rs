//! An entry as it was sent (RFC 4287 §4.1.2), read once: what it means as values, and what it is as
//! pieces of the text, so that nothing is lost that has no value here. What is stored of it is made
//! in `stored`.

use super::construct::{
    InReplyTo, Link, Person, Text, TextKind, category, date, in_reply_to, iri, link, person, text,
    word,
};
use super::refused::{Invalid, ReadError};
use super::rules::{broken, check_common, invalid};
use super::{APP, APP_DRAFTS, ATOM, Category, Content, Date, THREAD, content, source};
use crate::limits::{ATOM_BASES_BYTES_MAX, ATOM_CHILDREN_MAX};
use crate::uri;
use crate::xml::{Attribute, Element, Event, Place, Reader, XML};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

/// An entry.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Its id, compared byte by byte (§4.2.6.1).
    pub id: Option<String>,
    /// Its title.
    pub title: Option<Text>,
    /// Its summary.
    pub summary: Option<Text>,
    /// Its rights.
    pub rights: Option<Text>,
    /// When it was last changed in a way that its author holds for one.
    pub updated: Option<Date>,
    /// When it was first published.
    pub published: Option<Date>,
    /// When it was last edited, as a server has said (RFC 5023 §10.2).
    pub edited: Option<Date>,
    /// Its authors.
    pub authors: Vec<Person>,
    /// Its contributors.
    pub contributors: Vec<Person>,
    /// Its categories.
    pub categories: Vec<Category>,
    /// Its links.
    pub links: Vec<Link>,
    /// What it holds.
    pub content: Option<Content>,
    /// Whether it is not to be public (RFC 5023 §13.1.1).
    pub is_draft: bool,
    /// What it answers.
    pub in_reply_to: Vec<InReplyTo>,
    /// How many answers there are, as it was sent (RFC 4685 §5).
    pub total: Option<u64>,
    /// Elements of other namespaces, and those of Atom that are not known.
    pub foreign: Vec<Foreign>,
    /// The language of the entry, if one is stated.
    pub lang: Option<String>,
    /// The base of the entry, if one is stated, resolved as far as the document says.
    pub base: Option<String>,
    pub(super) sent: Sent<'a>,
}

/// An element that Atom does not define.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// Its namespace.
    pub namespace: String,
    /// Its name, without a prefix.
    pub name: String,
    /// All text in it.
    pub text: String,
    /// Its attributes in no namespace.
    pub attributes: Vec<(String, String)>,
}

/// An entry as it stands in the text.
#[derive(Clone, Debug)]
pub(super) struct Sent<'a> {
    pub place: Place,
    /// The prefix of the entry's own name.
    pub prefix: &'a str,
    pub attributes: Vec<Attribute<'a>>,
    /// Prefixes and namespaces that hold within the entry.
    pub bindings: Vec<(&'a str, Cow<'a, str>)>,
    pub pieces: Vec<Piece<'a>>,
    /// Whether what is read now may mean another thing in a document at another place.
    is_relative: bool,
    has_source: bool,
    has_control: bool,
    /// Whether `app:control` is there in the namespace of the drafts.
    pub has_old_control: bool,
}

/// What stands in an entry, and what it is.
#[derive(Clone, Debug)]
pub(super) struct Piece<'a> {
    pub part: Part,
    pub xml: &'a str,
    /// Whether it may mean another thing in a document at another place.
    pub is_relative: bool,
    /// The base that it states itself.
    pub base: Option<BaseAttribute>,
}

/// `xml:base` of an element.
#[derive(Clone, Debug)]
pub(super) struct BaseAttribute {
    /// Where it stands in the piece.
    pub at: Range<usize>,
    /// What it comes to, as far as the document says.
    pub resolved: String,
}

/// The elements that a server may put its own in place of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Id,
    Updated,
    Edited,
    Content,
    /// A link, by its place in `links`.
    Link(usize),
    Control,
    /// The same in the namespace of the drafts before RFC 5023.
    OldControl,
    Other,
}

/// Reads a document that is an entry.
///
/// # Errors
///
/// It is no XML, no entry, or no valid one.
pub fn read(text: &str) -> Result<Entry<'_>, ReadError> {
    read_from(Reader::new(text)?)
}

/// Reads an entry that was taken before, and is stored: `Entry::stored` of this version or an
/// earlier one has written it. It is not held against it that an earlier version knew fewer rules,
/// and no bound makes unreadable what was taken.
///
/// # Errors
///
/// It is no XML, or no entry.
pub fn read_stored(text: &str) -> Result<Entry<'_>, ReadError> {
    read_from(Reader::trusted(text)?)
}

fn read_from(mut reader: Reader<'_>) -> Result<Entry<'_>, ReadError> {
    let root = root(&mut reader, ATOM, "entry", "entry of http://www.w3.org/2005/Atom")?;
    let entry = read_within(&mut reader, root)?;
    end(&mut reader)?;
    Ok(entry)
}

/// The root of a document, which must have that name.
pub(super) fn root<'a>(
    reader: &mut Reader<'a>,
    namespace: &str,
    local: &str,
    expected: &'static str,
) -> Result<Element<'a>, ReadError> {
    loop {
        match reader.read()? {
            Some(Event::Start(element)) if element.name.is(namespace, local) => {
                return Ok(element);
            }
            Some(Event::Start(element)) => {
                let found = format!("{} of {}", element.name.local, element.name.namespace);
                let found = found.chars().take(100).collect();
                return Err(ReadError::WrongRoot { place: reader.place(), expected, found });
            }
            Some(_) => {}
            None => {
                let found = "nothing".to_owned();
                return Err(ReadError::WrongRoot { place: reader.place(), expected, found });
            }
        }
    }
}

/// Reads what may follow the root.
pub(super) fn end(reader: &mut Reader<'_>) -> Result<(), ReadError> {
    while reader.read()?.is_some() {}
    Ok(())
}

/// An entry whose start tag was read.
pub(super) fn read_within<'a>(
    reader: &mut Reader<'a>,
    element: Element<'a>,
) -> Result<Entry<'a>, ReadError> {
    check_common(reader, &element)?;
    let sent = Sent {
        place: reader.place(),
        prefix: element.prefix,
        attributes: element.attributes,
        bindings: reader.bindings(),
        pieces: Vec::new(),
        is_relative: false,
        has_source: false,
        has_control: false,
        has_old_control: false,
    };
    let mut entry = Entry::empty(sent);
    entry.lang = reader.lang().map(str::to_owned);
    entry.base = reader.base().map(str::to_owned);
    let text = reader.text();
    while let Some(event) = reader.read()? {
        let start = reader.span().start;
        let (part, base) = match event {
            Event::End => break,
            Event::Text(loose) if loose.trim().is_empty() => continue,
            Event::Text(_) => return Err(invalid(reader, Invalid::LooseText("entry"))),
            Event::Aside => (Part::Other, None),
            Event::Start(element) => {
                let base = stated_base(reader, &element, start);
                (entry.child(reader, &element)?, base)
            }
        };
        if entry.sent.pieces.len() == ATOM_CHILDREN_MAX {
            let (within, max) = ("entry", ATOM_CHILDREN_MAX);
            broken(reader, Invalid::Children { within, max })?;
        }
        let is_relative = std::mem::take(&mut entry.sent.is_relative);
        let xml = &text[start..reader.span().end];
        entry.sent.pieces.push(Piece { part, xml, is_relative, base });
    }
    entry.check_alternates(reader)?;
    entry.check_bases(reader)?;
    Ok(entry)
}

/// The base that an element states which was just begun, in the piece that begins at `start`.
fn stated_base(reader: &Reader<'_>, element: &Element<'_>, start: usize) -> Option<BaseAttribute> {
    let stated = element.attributes.iter().find(|one| one.name.is(XML, "base"))?;
    let at = stated.at - start;
    let resolved = reader.base().unwrap_or_default().to_owned();
    Some(BaseAttribute { at: at..at + stated.raw.len(), resolved })
}

/// That there is none of them yet.
pub(super) fn first<T>(
    reader: &Reader<'_>,
    found: &Option<T>,
    name: &'static str,
) -> Result<(), ReadError> {
    match found {
        Some(_) => broken(reader, Invalid::Twice(name)),
        None => Ok(()),
    }
}

impl<'a> Entry<'a> {
    fn empty(sent: Sent<'a>) -> Entry<'a> {
        Entry {
            id: None,
            title: None,
            summary: None,
            rights: None,
            updated: None,
            published: None,
            edited: None,
            authors: Vec::new(),
            contributors: Vec::new(),
            categories: Vec::new(),
            links: Vec::new(),
            content: None,
            is_draft: false,
            in_reply_to: Vec::new(),
            total: None,
            foreign: Vec::new(),
            lang: None,
            base: None,
            sent,
        }
    }

    /// That what no server can add is there: a title, and a summary where it is needed (§4.1.2).
    ///
    /// # Errors
    ///
    /// What is missing.
    pub fn check_complete(&self) -> Result<(), ReadError> {
        let needs_summary = self.content.as_ref().is_some_and(Content::needs_summary);
        let needed = match (&self.title, &self.summary) {
            (None, _) => "a title",
            (_, None) if needs_summary => "a summary, since its content is not text or XML,",
            _ => return Ok(()),
        };
        let rule = Invalid::Missing { within: "entry", needed };
        Err(ReadError::Invalid { place: self.sent.place, rule })
    }

    /// The first link of that relation.
    pub fn link(&self, rel: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.rel == rel)
    }

    /// A child, to its end.
    fn child(&mut self, reader: &mut Reader<'a>, element: &Element<'a>) -> Result<Part, ReadError> {
        match &*element.name.namespace {
            ATOM => return self.atom(reader, element),
            APP if element.name.local == "edited" => {
                first(reader, &self.edited, "app:edited")?;
                // What a client says is replaced, so it need not be a date.
                self.edited = Date::parse(&word(reader, "app:edited")?);
                return Ok(Part::Edited);
            }
            APP if element.name.local == "control" => return self.control(reader, APP),
            // A stored one was taken for foreign markup by an earlier version.
            APP_DRAFTS if !reader.is_trusted() => match element.name.local {
                "control" => return self.control(reader, APP_DRAFTS),
                "edited" => {
                    reader.skip()?;
                    return Ok(Part::Edited);
                }
                _ => self.foreign(reader, element)?,
            },
            THREAD if element.name.local == "in-reply-to" => {
                let mut references =
                    ["href", "source"].into_iter().filter_map(|of| element.get(of));
                self.sent.is_relative |= references.any(is_relative);
                self.in_reply_to.push(in_reply_to(reader, element)?);
            }
            THREAD if element.name.local == "total" => {
                first(reader, &self.total, "thr:total")?;
                let place = reader.place();
                let text = word(reader, "thr:total")?;
                let total = text.parse().ok().filter(|_| !text.starts_with('+'));
                self.total = Some(total.ok_or_else(|| {
                    let found = text.chars().take(60).collect();
                    ReadError::Invalid { place, rule: Invalid::Total(found) }
                })?);
            }
            _ => self.foreign(reader, element)?,
        }
        Ok(Part::Other)
    }

    /// The media type of the media that the entry stands for (RFC 5023 §9.6). Where its content
    /// cannot state one, the link to edit it does.
    pub fn media_type(&self) -> Option<&str> {
        match &self.content {
            Some(Content::Away { media_type: Some(stated), .. }) => Some(stated),
            _ => self.link("edit-media")?.media_type.as_deref(),
        }
    }

    /// A child of Atom's namespace.
    fn atom(&mut self, reader: &mut Reader<'a>, element: &Element<'a>) -> Result<Part, ReadError> {
        check_common(reader, element)?;
        match element.name.local {
            "id" => {
                first(reader, &self.id, "id")?;
                self.id = Some(iri(reader, "id")?);
                return Ok(Part::Id);
            }
            "updated" => {
                first(reader, &self.updated, "updated")?;
                self.updated = Some(date(reader, "updated")?);
                return Ok(Part::Updated);
            }
            "published" => {
                first(reader, &self.published, "published")?;
                self.published = Some(date(reader, "published")?);
            }
            "title" => {
                first(reader, &self.title, "title")?;
                self.title = Some(self.text(reader, element, "title")?);
            }
            "summary" => {
                first(reader, &self.summary, "summary")?;
                self.summary = Some(self.text(reader, element, "summary")?);
            }
            "rights" => {
                first(reader, &self.rights, "rights")?;
                self.rights = Some(self.text(reader, element, "rights")?);
            }
            "content" => {
                first(reader, &self.content, "content")?;
                self.content = Some(self.read_content(reader, element)?);
                return Ok(Part::Content);
            }
            "author" => {
                let author = self.person(reader, "author")?;
                self.authors.push(author);
            }
            "contributor" => {
                let contributor = self.person(reader, "contributor")?;
                self.contributors.push(contributor);
            }
            "source" => {
                if std::mem::replace(&mut self.sent.has_source, true) {
                    broken(reader, Invalid::Twice("source"))?;
                }
                self.sent.is_relative = true;
                source::check(reader)?;
            }
            "category" => self.categories.push(category(reader, element)?),
            "link" => {
                self.sent.is_relative |= element.get("href").is_some_and(is_relative);
                self.links.push(link(reader, element)?);
                return Ok(Part::Link(self.links.len() - 1));
            }
            _ => self.foreign(reader, element)?,
        }
        Ok(Part::Other)
    }

    fn text(
        &mut self,
        reader: &mut Reader<'_>,
        element: &Element<'_>,
        within: &'static str,
    ) -> Result<Text, ReadError> {
        let text = text(reader, element, within)?;
        self.sent.is_relative |= text.kind != TextKind::Text;
        Ok(text)
    }

    fn read_content(
        &mut self,
        reader: &mut Reader<'_>,
        element: &Element<'_>,
    ) -> Result<Content, ReadError> {
        let content = content::read(reader, element)?;
        self.sent.is_relative |= match &content {
            Content::Text(text) => text.kind != TextKind::Text,
            Content::Away { .. } => element.get("src").is_some_and(is_relative),
            Content::Xml { .. } => true,
            Content::OtherText { .. } | Content::Binary { .. } => false,
        };
        Ok(content)
    }

    fn person(
        &mut self,
        reader: &mut Reader<'_>,
        within: &'static str,
    ) -> Result<Person, ReadError> {
        let person = person(reader, within)?;
        // It is resolved already, if there was something to resolve it by.
        let has_base = reader.base().is_some();
        self.sent.is_relative |=
            person.uri.as_deref().is_some_and(|uri| has_base || is_relative(uri));
        Ok(person)
    }

    /// `app:control` (RFC 5023 §13.1). One of the drafts' namespace is what a client of then means:
    /// one beside it is what it was sent by this server.
    fn control(&mut self, reader: &mut Reader<'_>, namespace: &str) -> Result<Part, ReadError> {
        let place = reader.place();
        let refused = |found: String| Err(ReadError::Control { place, found });
        let is_old = namespace == APP_DRAFTS;
        let Sent { has_control, has_old_control, .. } = &mut self.sent;
        let is_there = if is_old { has_old_control } else { has_control };
        if std::mem::replace(is_there, true) {
            return refused("found a second app:control".to_owned());
        }
        let mut draft = None;
        while let Some(event) = reader.read()? {
            match event {
                Event::End => break,
                Event::Start(element) if element.name.is(namespace, "draft") => {
                    let text = word(reader, "app:draft")?;
                    if draft.is_some() {
                        return refused("found a second app:draft".to_owned());
                    }
                    draft = match text.as_str() {
                        "yes" => Some(true),
                        "no" => Some(false),
                        _ => {
                            let shown: String = text.chars().take(60).collect();
                            return refused(format!("found \"{shown}\""));
                        }
                    };
                }
                Event::Start(_) => reader.skip()?,
                Event::Text(_) | Event::Aside => {}
            }
        }
        if is_old || !self.sent.has_old_control {
            self.is_draft = draft.unwrap_or(false);
        }
        Ok(if is_old { Part::OldControl } else { Part::Control })
    }

    /// Whatever it is, it stays (§6.3).
    fn foreign(&mut self, reader: &mut Reader<'_>, element: &Element<'_>) -> Result<(), ReadError> {
        let attributes = element.unqualified();
        let attributes = attributes.map(|one| (one.name.local.to_owned(), one.value.to_string()));
        let mut foreign = Foreign {
            namespace: element.name.namespace.to_string(),
            name: element.name.local.to_owned(),
            text: String::new(),
            attributes: attributes.collect(),
        };
        let depth = reader.depth();
        while reader.depth() >= depth {
            if let Some(Event::Text(text)) = reader.read()? {
                foreign.text.push_str(&text);
            }
        }
        self.sent.is_relative = true;
        self.foreign.push(foreign);
        Ok(())
    }

    /// §4.1.2: no two alternate links of the same type and language.
    fn check_alternates(&self, reader: &Reader<'_>) -> Result<(), ReadError> {
        let mut seen = BTreeSet::new();
        let alternates = self.links.iter().filter(|link| link.rel == "alternate");
        for link in alternates {
            let media_type = link.media_type.as_ref().map(|found| found.to_ascii_lowercase());
            let hreflang = link.hreflang.as_ref().map(|found| found.to_ascii_lowercase());
            if !seen.insert((media_type, hreflang)) && !reader.is_trusted() {
                let rule = Invalid::Alternates;
                return Err(ReadError::Invalid { place: self.sent.place, rule });
            }
        }
        Ok(())
    }

    /// That a base which may be of another server is not too long to be stated by each piece that
    /// needs it, which `stored` does.
    fn check_bases(&self, reader: &Reader<'_>) -> Result<(), ReadError> {
        let base = self.base.as_deref().filter(|base| uri::is_elsewhere(base));
        let count = self.sent.pieces.iter().filter(|piece| piece.is_relative).count();
        if base.is_some_and(|base| count * base.len() > ATOM_BASES_BYTES_MAX) {
            broken(reader, Invalid::Bases { max: ATOM_BASES_BYTES_MAX })?;
        }
        Ok(())
    }
}

/// Whether it means another thing in another place on the same server. One that begins with a slash
/// does not.
fn is_relative(reference: &str) -> bool {
    let reference = reference.trim();
    uri::scheme(reference).is_none() && !reference.starts_with('/')
}
