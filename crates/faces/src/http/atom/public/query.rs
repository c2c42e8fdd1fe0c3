//! What readers ask for, and the one reading that all formats are written of. Only what is public
//! is read here: drafts are in none of these orders.

use crate::atom::archive::{self, FIRST};
use crate::atom::member;
use crate::atom::reader::{Reading, Shown};
use crate::atom::rows::{self, Listed, Names, Page};
use crate::atom::{Edited, Place, Publication, Row, publication};
use crate::http::atom::listing::{Asked, around};
use crate::http::atom::path::{Part, Resource};
use crate::limits::{ATOM_FEED_MAX, ATOM_PAGE, ATOM_PAGE_BYTES_MAX};
use crate::problem::{Kind, Problem};
use query::ParameterError;
use repository::{Direction, Document, ReadError, Transaction};
use std::sync::Arc;
use wire::atom::Tombstone;
use wire::atom::feed_document::FeedKind;

/// In which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Atom,
    Rss,
    Json,
    /// The page of a publication.
    Home,
    /// The page of an entry.
    Entry,
}

/// Of what.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kinds {
    /// What was edited last.
    Newest,
    /// The same with what was deleted.
    Changes,
    /// A part of the archive.
    Archive(Edited),
    /// One member.
    One(String),
}

/// A document that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct View {
    pub publication: String,
    pub format: Format,
    of: Kinds,
    asked: Asked,
}

impl View {
    /// By the path and query of a URI.
    pub(super) fn of(resource: &Resource, query: Option<&str>) -> Result<Self, Problem> {
        let (publication, format, of) = match resource {
            Resource::Of(name, part) => {
                let (format, of) = match part {
                    Part::Home => (Format::Home, Kinds::Newest),
                    Part::Feed => (Format::Atom, Kinds::Newest),
                    Part::Rss => (Format::Rss, Kinds::Newest),
                    Part::Json => (Format::Json, Kinds::Newest),
                    Part::Changes => (Format::Atom, Kinds::Changes),
                    _ => return Err(Problem::not_found()),
                };
                (name, format, of)
            }
            Resource::Archive(name, number) => {
                (name, Format::Atom, Kinds::Archive(Edited(*number)))
            }
            Resource::Page(place) => {
                (&place.publication, Format::Entry, Kinds::One(place.member.clone()))
            }
            _ => return Err(Problem::not_found()),
        };
        let asked = match &of {
            // A page takes what is added to links to it, as to count who follows them.
            Kinds::One(_) => Asked { after: None, most: ATOM_PAGE },
            Kinds::Archive(_) => {
                let asked = Asked::parse_public(query)?;
                let is_sized = asked.most != ATOM_PAGE;
                if is_sized {
                    return Err(ParameterError::value("limit", "nothing here", "a number").into());
                }
                asked
            }
            Kinds::Newest | Kinds::Changes => Asked::parse_public(query)?,
        };
        Ok(Self { publication: publication.clone(), format, of, asked })
    }

    /// Where it is, without its query.
    fn place(&self) -> String {
        let segment = publication::segment(&self.publication);
        let of = match (&self.of, self.format) {
            (Kinds::Newest, Format::Rss) => "feed.rss",
            (Kinds::Newest, Format::Json) => "feed.json",
            (Kinds::Newest, Format::Home) => return format!("/atom/{segment}"),
            (Kinds::Newest, _) => "feed",
            (Kinds::Changes, _) => "changes",
            (Kinds::Archive(beginning), _) => return archived(&segment, *beginning),
            (Kinds::One(member), _) => {
                let member = publication::segment(member);
                return format!("/atom/{segment}/pages/{member}");
            }
        };
        format!("/atom/{segment}/{of}")
    }

    /// Where it is.
    pub(super) fn path(&self) -> String {
        self.asked.link(&self.place(), self.asked.after)
    }

    /// Whether it is the feed that readers subscribe to.
    fn is_subscription(&self) -> bool {
        self.format == Format::Atom && self.asked == Asked { after: None, most: ATOM_PAGE }
    }
}

fn archived(segment: &str, beginning: Edited) -> String {
    format!("/atom/{segment}/archive/{}", beginning.0)
}

/// What a document is of, so far as its version depends on it.
pub(super) struct Subject {
    /// Whose version is that of the document.
    pub tag: Arc<Document>,
    part: Option<Chapter>,
    entry: Option<Arc<Document>>,
}

/// A part of the archive and its neighbours.
struct Chapter {
    /// The oldest first.
    entries: Vec<Listed>,
    before: Option<Edited>,
    /// With what the next begins. None: this one is not finished.
    next: Option<Edited>,
    /// Whether the next is finished.
    has_next: bool,
}

/// Finds what a document is of. `settings` is the publication's.
pub(super) fn subject(
    tx: &mut Transaction,
    names: &Names,
    view: &View,
    settings: &Arc<Document>,
) -> Result<Subject, Problem> {
    match &view.of {
        Kinds::Newest | Kinds::Changes => {
            let missing = || publication::missing(&view.publication);
            let key = rows::publication_key(&view.publication).ok_or_else(missing)?;
            let tag = tx.get(&names.heads, &key)?.ok_or_else(missing)?;
            Ok(Subject { tag, part: None, entry: None })
        }
        Kinds::Archive(beginning) => {
            let (chapter, tag) = chapter(tx, names, (&view.publication, *beginning), settings)?;
            Ok(Subject { tag, part: Some(chapter), entry: None })
        }
        Kinds::One(member) => {
            let place = Place { publication: view.publication.clone(), member: member.clone() };
            let document = member::read_public(tx, names, &place)?.document;
            let tag = newer(settings, &document);
            Ok(Subject { tag, part: None, entry: Some(document) })
        }
    }
}

fn newer(one: &Arc<Document>, other: &Arc<Document>) -> Arc<Document> {
    Arc::clone(if one.version > other.version { one } else { other })
}

/// A part of the archive. Its version is that of the newest of all that it shows or leads to; what
/// goes leaves its place, which has a version as well.
fn chapter(
    tx: &mut Transaction,
    names: &Names,
    (publication, beginning): (&str, Edited),
    settings: &Arc<Document>,
) -> Result<(Chapter, Arc<Document>), Problem> {
    let none = || Problem::new(Kind::NotFound, "no part of the archive begins there");
    if !archive::is_beginning(beginning) {
        return Err(none());
    }
    let part = archive::part(tx, names, publication, beginning)?;
    if part.rows.is_empty() {
        return Err(none());
    }
    let mut tag = Arc::clone(settings);
    let mut entries = Vec::with_capacity(part.rows.len());
    for place in &part.rows {
        tag = newer(&tag, &place.1);
        if let Some(found) = rows::of_archive(tx, names, publication, place)? {
            tag = found.document.iter().fold(tag, |tag, document| newer(&tag, document));
            entries.push(found);
        }
    }
    let before = archive::before(tx, names, publication, Some(beginning))?;
    if let Some((_, Some(row))) = &before {
        tag = newer(&tag, row);
    }
    let mut has_next = false;
    if let Some((beginning, row)) = &part.next {
        tag = newer(&tag, row);
        let next = archive::part(tx, names, publication, *beginning)?.next;
        has_next = next.is_some();
        tag = next.iter().fold(tag, |tag, (_, row)| newer(&tag, row));
    }
    let before = before.map(|(before, _)| before);
    let next = part.next.map(|(next, _)| next);
    Ok((Chapter { entries, before, next, has_next }, tag))
}

/// What a document is written of.
pub(super) struct Source {
    pub reading: Reading,
    /// What tells its id from that of the publication.
    pub of: Option<&'static str>,
}

/// Reads what a document is written of.
pub(super) fn read(
    tx: &mut Transaction,
    names: &Names,
    (view, publication): (&View, Publication),
    subject: Subject,
) -> Result<Source, Problem> {
    let mut reading = Reading {
        publication,
        shown: Vec::new(),
        tombstones: Vec::new(),
        here: view.path(),
        links: Vec::new(),
        kind: FeedKind::Partial,
        newest: None,
    };
    let of = match (&view.of, subject) {
        (Kinds::Archive(_), Subject { part: Some(chapter), .. }) => {
            read_chapter(tx, names, view, (&mut reading, chapter))?;
            None
        }
        (Kinds::One(member), Subject { entry: Some(document), .. }) => {
            let found = (member.clone(), document);
            reading.shown.push(shown(tx, names, &view.publication, found)?);
            None
        }
        (Kinds::Changes, _) => {
            read_changes(tx, names, view, &mut reading)?;
            Some("changes")
        }
        _ => {
            read_newest(tx, names, view, &mut reading)?;
            None
        }
    };
    Ok(Source { reading, of })
}

fn shown(
    tx: &mut Transaction,
    names: &Names,
    publication: &str,
    (member, document): (String, Arc<Document>),
) -> Result<Shown, Problem> {
    // Only those of media have such a link, and it is the server's.
    let is_media = member::text(&document)?.contains("rel=\"edit-media\"");
    let place = Place { publication: publication.to_owned(), member };
    let media_bytes = match is_media {
        true => rows::media_bytes(tx, names, &place)?,
        false => None,
    };
    Ok(Shown { member: place.member, document, media_bytes })
}

fn show_all(
    tx: &mut Transaction,
    names: &Names,
    reading: &mut Reading,
    entries: impl IntoIterator<Item = Listed>,
) -> Result<(), Problem> {
    for listed in entries {
        if let Some(document) = listed.document {
            let found = (listed.member, document);
            let shown = shown(tx, names, &reading.publication.name, found)?;
            reading.shown.push(shown);
        }
    }
    Ok(())
}

/// A page of what was edited last. The feed that readers subscribe to reaches back to where its
/// archive ends (RFC 5005 §4), so that nothing is between them.
fn read_newest(
    tx: &mut Transaction,
    names: &Names,
    view: &View,
    reading: &mut Reading,
) -> Result<(), Problem> {
    let at = (view.publication.as_str(), Row::Public);
    let back = match view.is_subscription() {
        true => Some(reach(tx, names, &view.publication)?),
        false => None,
    };
    let most = back.as_ref().map_or(view.asked.most, |back| back.most);
    let page = rows::page(tx, names, at, (view.asked.after, most))?;
    reading.newest = page.rows.first().map(|row| row.edited);
    reading.links = match view.format {
        Format::Home => newer_and_older(tx, names, (at, view), &page)?,
        _ => around(tx, names, at, (&page, view.asked, &view.place()))?.links,
    };
    if view.is_subscription() && page.next.is_none() {
        reading.kind = FeedKind::Complete;
        reading.links.clear();
    } else if let Some(beginning) = back.and_then(|back| back.archive(page.rows.len())) {
        let segment = publication::segment(&view.publication);
        reading.links.push(("prev-archive", archived(&segment, beginning)));
    }
    show_all(tx, names, reading, page.rows)
}

/// How far the feed that readers subscribe to reaches.
struct Reach {
    most: usize,
    /// Entries that were edited since the last part of the archive began.
    since: usize,
    last: Edited,
    /// Where the part before that begins.
    before: Option<Edited>,
}

impl Reach {
    /// Where the newest part of the archive begins that is not all in a feed of so many entries.
    fn archive(self, told: usize) -> Option<Edited> {
        if told >= self.since { self.before } else { Some(self.last) }
    }
}

fn reach(tx: &mut Transaction, names: &Names, publication: &str) -> Result<Reach, ReadError> {
    let Some((last, _)) = archive::before(tx, names, publication, None)? else {
        return Ok(Reach { most: ATOM_PAGE, since: 0, last: FIRST, before: None });
    };
    // Who became public since then was edited since then.
    let at = (publication, Row::Public);
    let ascending = (Direction::Ascending, ATOM_FEED_MAX + 1);
    let since = rows::scan(tx, names, at, (Some(last), None), ascending)?.len();
    let most = if since > ATOM_FEED_MAX { ATOM_PAGE } else { since.max(ATOM_PAGE) };
    let before = match last {
        FIRST => None,
        last => archive::before(tx, names, publication, Some(last))?.map(|(before, _)| before),
    };
    Ok(Reach { most, since, last, before })
}

/// The links of pages, in HTML's words.
fn newer_and_older(
    tx: &mut Transaction,
    names: &Names,
    (at, view): ((&str, Row), &View),
    page: &Page,
) -> Result<Vec<(&'static str, String)>, ReadError> {
    let links = around(tx, names, at, (page, view.asked, &view.place()))?.links;
    let known = |(rel, path)| match rel {
        "previous" => Some(("prev", path)),
        "next" => Some(("next", path)),
        _ => None,
    };
    Ok(links.into_iter().filter_map(known).collect())
}

/// A page of edits and deletions together, the newest first (RFC 6721).
fn read_changes(
    tx: &mut Transaction,
    names: &Names,
    view: &View,
    reading: &mut Reading,
) -> Result<(), Problem> {
    let (name, asked) = (view.publication.as_str(), view.asked);
    let from = (asked.after, asked.most);
    let edits = rows::page(tx, names, (name, Row::Public), from)?;
    let deletions = rows::page(tx, names, (name, Row::Tombstones), from)?;
    // Whatever one of them does not tell to its end, the other must not pass.
    let told_to = edits.next.max(deletions.next);
    let all = edits.rows.iter().chain(&deletions.rows).map(|row| row.edited);
    let mut times: Vec<Edited> = all.filter(|time| told_to.is_none_or(|to| *time >= to)).collect();
    times.sort_unstable_by(|a, b| b.cmp(a));
    let is_cut = times.len() > asked.most;
    times.truncate(asked.most);
    let last = times.last().copied();
    let next = last.filter(|_| is_cut || told_to.is_some());
    let place = view.place();
    reading.newest = times.first().copied();
    reading.links.push(("first", asked.link(&place, None)));
    if next.is_some() {
        reading.links.push(("next", asked.link(&place, next)));
    }
    let is_told = |row: &Listed| last.is_some_and(|last| row.edited >= last);
    for row in deletions.rows.into_iter().filter(is_told) {
        reading.tombstones.push(Tombstone {
            reference: row.holds[1].as_str().unwrap_or_default().to_owned(),
            when: row.edited.date(),
            by: None,
            comment: None,
        });
    }
    show_all(tx, names, reading, edits.rows.into_iter().filter(is_told))
}

/// A part of the archive, the newest first. One that is very large is told in pages.
fn read_chapter(
    tx: &mut Transaction,
    names: &Names,
    view: &View,
    (reading, chapter): (&mut Reading, Chapter),
) -> Result<(), Problem> {
    let segment = publication::segment(&view.publication);
    let mut links = vec![("current", format!("/atom/{segment}/feed"))];
    if let Some(before) = chapter.before {
        links.push(("prev-archive", archived(&segment, before)));
    }
    if let Some(next) = chapter.next {
        reading.kind = FeedKind::Archive;
        if chapter.has_next {
            links.push(("next-archive", archived(&segment, next)));
        }
    }
    let is_after = |row: &Listed| view.asked.after.is_none_or(|after| row.edited < after);
    let (mut told, mut bytes) = (Vec::new(), 0);
    for row in chapter.entries.into_iter().rev().filter(is_after) {
        bytes += row.document.as_ref().map_or(0, |document| document.body.len());
        if bytes > ATOM_PAGE_BYTES_MAX && !told.is_empty() {
            let after = told.last().map(|row: &Listed| row.edited);
            links.push(("next", view.asked.link(&view.place(), after)));
            break;
        }
        told.push(row);
    }
    reading.links = links;
    show_all(tx, names, reading, told)
}
