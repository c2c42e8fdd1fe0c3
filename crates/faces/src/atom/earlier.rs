//! Entries that an earlier version has stored: how they are shown.

use super::Place;
use super::member::{Old, Paths, text};
use crate::problem::Problem;
use repository::Document;
use std::borrow::Cow;
use wire::atom::{Owned, entry};

/// The text of a stored entry as this version stores it. Earlier ones let a client's `xml:base`
/// hold for the server's links, and gave content media types that it cannot have.
pub(crate) fn current<'a>(document: &'a Document, place: &Place) -> Result<Cow<'a, str>, Problem> {
    let stored = text(document)?;
    let start = stored.split('>').next().unwrap_or_default();
    // Namespaces, which stand before it, have their quotes escaped.
    let base = start.split_once(" xml:base=\"").and_then(|(_, after)| after.split_once('"'));
    let is_elsewhere = base.is_some_and(|(base, _)| wire::uri::is_elsewhere(base));
    if !is_elsewhere && !is_of_composite_media(stored) {
        return Ok(Cow::Borrowed(stored));
    }
    let entry = entry::read_stored(stored).map_err(|error| Problem::internal(&error))?;
    let old = Old::of(&entry)?;
    let paths = Paths::of(place, old.media_type());
    let updated = entry.updated.unwrap_or_else(|| old.state.edited.date());
    let owned = paths.owned(old.state.edited);
    Ok(entry.stored(&Owned { id: &old.id, updated, published: None, ..owned }).into())
}

/// Whether the server's content of media is of a type that is none for content.
fn is_of_composite_media(stored: &str) -> bool {
    let Some((_, after)) = stored.split_once("content type=\"") else { return false };
    let is_composite = wire::atom::media_type::is_composite(after);
    is_composite && stored.contains(" rel=\"edit-media\"")
}
