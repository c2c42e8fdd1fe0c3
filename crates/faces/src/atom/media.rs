//! Media and the entries that stand for them (media link entries, RFC 5023 §9.6) in their
//! transaction. Both are written, moved and deleted together. No HTTP.

use super::member::{self, New, Old, Paths, State, Write, Written};
use super::rows::{Names, Place};
use super::{Publication, publication};
use crate::limits::ACCEPTS_TOLD_MAX;
use crate::problem::{Kind, Problem};
use bytes::Bytes;
use repository::{Content, Document, MediaType, Transaction};
use std::sync::Arc;
use wire::atom::{Owned, entry};

/// Media on its way in.
pub(crate) struct Medium {
    pub media_type: String,
    pub content: Content,
    /// What it should be called; none: by its path.
    pub title: Option<String>,
}

/// An entry that says nothing yet.
const EMPTY: &str = "<entry xmlns=\"http://www.w3.org/2005/Atom\"/>";

/// Creates media and its entry.
pub(crate) fn create(
    tx: &mut Transaction,
    (write, new): (Write<'_>, &New),
    medium: &Medium,
) -> Result<Written, Problem> {
    member::check_new(write.conditions)?;
    let publication = member::publication_for(tx, write.atom, new)?;
    check_type(&publication, &medium.media_type)?;
    let place = member::free_place(tx, &write.atom.names, new)?;
    let edited = write.atom.edits.next(tx.time());
    let paths = Paths::of(&place, Some(&medium.media_type));
    let title = medium.title.as_deref().unwrap_or(&place.member);
    let empty = entry::read(EMPTY).map_err(|error| Problem::internal(&error))?;
    let text = Bytes::from(empty.stored(&Owned {
        id: &publication::urn(edited, new.drawn),
        title: Some(title),
        author: Some(publication.author()),
        summary: Some(title),
        ..paths.owned(edited)
    }));
    member::put(tx, write.atom, &place, &text)?;
    put(tx, &write.atom.names, &place, medium)?;
    let state = State { edited, is_draft: false, is_media: true };
    member::enter(tx, &write.atom.names, &place, state)?;
    Ok(Written { path: paths.edit, text })
}

/// Media that is there.
pub(crate) struct Found {
    pub publication: Publication,
    pub document: Arc<Document>,
}

/// Reads media.
pub(crate) fn read(tx: &mut Transaction, names: &Names, place: &Place) -> Result<Found, Problem> {
    let found = member::read(tx, names, place)?;
    medium_of(tx, names, (place, found))
}

/// Reads media of an entry that is public.
pub(crate) fn read_public(
    tx: &mut Transaction,
    names: &Names,
    place: &Place,
) -> Result<Found, Problem> {
    let found = member::read_public(tx, names, place)?;
    medium_of(tx, names, (place, found))
}

fn medium_of(
    tx: &mut Transaction,
    names: &Names,
    (place, found): (&Place, member::Found),
) -> Result<Found, Problem> {
    match tx.get(&names.media, &member::key(place)?)? {
        Some(document) => Ok(Found { publication: found.publication, document }),
        None => Err(Problem::new(Kind::NotFound, "the entry of this name has no media")),
    }
}

/// Replaces media, and dates its entry anew.
pub(crate) fn replace(
    tx: &mut Transaction,
    (write, place): (Write<'_>, &Place),
    medium: &Medium,
) -> Result<(), Problem> {
    let names = &write.atom.names;
    let found = read_to_write(tx, write, place)?;
    check_type(&found.publication, &medium.media_type)?;
    let shown = member::read(tx, names, place)?.document;
    let entry =
        entry::read_stored(member::text(&shown)?).map_err(|error| Problem::internal(&error))?;
    let old = Old::of(&entry)?;
    put(tx, names, place, medium)?;
    member::put_again(tx, (write.atom, place), (&entry, &old), Some(&medium.media_type))?;
    Ok(())
}

/// Deletes media and its entry.
pub(crate) fn delete(
    tx: &mut Transaction,
    (write, place): (Write<'_>, &Place),
) -> Result<(), Problem> {
    let names = &write.atom.names;
    read_to_write(tx, write, place)?;
    let shown = member::read(tx, names, place)?.document;
    member::remove(tx, write.atom, (place, &shown))
}

fn read_to_write(tx: &mut Transaction, write: Write<'_>, place: &Place) -> Result<Found, Problem> {
    let found = match read(tx, &write.atom.names, place) {
        Ok(found) => found,
        Err(problem) => return Err(member::unless_named(problem, write.conditions)),
    };
    member::check(write.conditions, &found.document, found.publication.is_strict)?;
    Ok(found)
}

/// Whether the collection takes it (RFC 5023 §8.3.4). Entries have a collection of their own.
fn check_type(publication: &Publication, media_type: &str) -> Result<(), Problem> {
    let is_atom =
        wire::atom::media_type::essence(media_type).eq_ignore_ascii_case("application/atom+xml");
    let collection = publication.media();
    if !is_atom && collection.admits(media_type) {
        return Ok(());
    }
    let some = collection.accepts.iter().take(ACCEPTS_TOLD_MAX).map(String::as_str);
    let accepts = some.collect::<Vec<_>>().join(", ");
    if accepts.is_empty() {
        let mut problem = Problem::new(Kind::MethodNotAllowed, "the collection takes no media");
        problem.more().allow = Some("GET, HEAD, OPTIONS".to_owned());
        return Err(problem);
    }
    let detail = format!("the collection takes {accepts}, entries apart; got {media_type}");
    let mut problem = Problem::new(Kind::UnsupportedMediaType, detail);
    problem.more().accept = Some(accepts);
    Err(problem)
}

fn put(tx: &mut Transaction, names: &Names, place: &Place, medium: &Medium) -> Result<(), Problem> {
    let media_type = MediaType::Other(medium.media_type.as_str().into());
    let key = member::key(place)?;
    Ok(tx.put_content(&names.media, &key, media_type, &medium.content, None)?)
}
