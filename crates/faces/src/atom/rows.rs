//! Where publishing keeps its documents, and the order of members: the only place that knows the
//! names of its collections and the keys in them.
//!
//! All publications share these collections, and keys begin with the publication, so that to make
//! one is to write a document. A name is `{pub}`, a member `{m}`, a time is `Edited` as text.
//!
//! | collection | key | holds |
//! | --- | --- | --- |
//! | `_atom-publications` | `{pub}` | its settings, as JSON |
//! | `_atom-heads` | `{pub}`, or `*` for all | nothing; its version changes with each write |
//! | `_atom-entries` | `{pub}/{m}` | the entry as it is served, those of media too |
//! | `_atom-media` | `{pub}/{m}` | the bytes |
//! | `_atom-order` | `{pub}/{row}/{time}` | who is there: see [`Row`] |
//! | `_atom-gone` | `{pub}/{m}` | what was deleted: the id, when, whether a draft |

use super::Edited;
use crate::limits::ATOM_PAGE_BYTES_MAX;
use bytes::Bytes;
use repository::{
    CollectionName, Direction, Document, Key, KeyRange, MediaType, ReadError, StageError,
    Timestamp, Transaction,
};
use serde_json::{Value, json};
use std::ops::Bound;
use std::sync::Arc;

/// The collections.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub publications: CollectionName,
    pub heads: CollectionName,
    pub entries: CollectionName,
    pub media: CollectionName,
    pub order: CollectionName,
    pub gone: CollectionName,
}

impl Names {
    pub(crate) fn new() -> Self {
        let name = |text| CollectionName::new(text).expect("it keeps to the rule for names");
        Self {
            publications: name("_atom-publications"),
            heads: name("_atom-heads"),
            entries: name("_atom-entries"),
            media: name("_atom-media"),
            order: name("_atom-order"),
            gone: name("_atom-gone"),
        }
    }
}

/// An order in which members of a publication stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    /// Entries by their last edit. Holds `"{m}"`.
    Entries,
    /// Media link entries by their last edit. Holds `"{m}"`.
    Media,
    /// Both, if they are public, by their last edit. Holds `["{m}", "{time in Archive}"]`.
    Public,
    /// Both, by the time when they became public. Never moves. Holds `"{m}"`; when that is deleted
    /// or withdrawn, `""` stays in its place.
    Archive,
    /// What was deleted or withdrawn, by the time of that. Holds `["{m}", "{id}"]`.
    Tombstones,
}

impl Row {
    fn letter(self) -> char {
        match self {
            Self::Entries => 'e',
            Self::Media => 'm',
            Self::Public => 'p',
            Self::Archive => 'a',
            Self::Tombstones => 't',
        }
    }
}

/// A member: its publication and its own part of the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub publication: String,
    pub member: String,
}

impl Place {
    /// Of its documents. None if it can be nobody's key.
    pub(crate) fn key(&self) -> Option<Key> {
        Key::new(&format!("{}/{}", self.publication, self.member)).ok()
    }
}

/// The key of what a publication has one of. None if it can be nobody's name.
pub(crate) fn publication_key(name: &str) -> Option<Key> {
    Key::new(name).ok()
}

fn row_key(publication: &str, row: Row, edited: Edited) -> Key {
    Key::new(&format!("{publication}/{}/{edited}", row.letter()))
        .expect("the name of a publication is short, and was a key before")
}

/// What a row holds.
fn json_document(value: &Value) -> (MediaType, Bytes) {
    (MediaType::Json, Bytes::from(value.to_string()))
}

/// Puts a member into an order.
pub(crate) fn add(
    tx: &mut Transaction,
    names: &Names,
    (publication, row, edited): (&str, Row, Edited),
    holds: &Value,
) -> Result<(), StageError> {
    let (media_type, body) = json_document(holds);
    tx.put(&names.order, &row_key(publication, row, edited), media_type, body, None)
}

/// The same for a row that goes by itself.
pub(crate) fn add_until(
    tx: &mut Transaction,
    names: &Names,
    (publication, row, edited): (&str, Row, Edited),
    (holds, expires): (&Value, Timestamp),
) -> Result<(), StageError> {
    let (media_type, body) = json_document(holds);
    let key = row_key(publication, row, edited);
    tx.put(&names.order, &key, media_type, body, Some(expires))
}

/// Takes a member out of an order.
pub(crate) fn remove(
    tx: &mut Transaction,
    names: &Names,
    (publication, row, edited): (&str, Row, Edited),
) -> Result<(), StageError> {
    tx.delete(&names.order, &row_key(publication, row, edited))
}

/// When the member that is public since `edited` came into the archive.
pub(crate) fn archived(
    tx: &mut Transaction,
    names: &Names,
    (publication, edited): (&str, Edited),
) -> Result<Option<Edited>, ReadError> {
    let found = tx.get(&names.order, &row_key(publication, Row::Public, edited))?;
    let holds = found.and_then(|found| serde_json::from_slice::<Value>(&found.body).ok());
    Ok(holds.and_then(|holds| Edited::parse(holds[1].as_str()?)))
}

/// Notes that something of the publication changes. Nobody reads it who writes, so that writers do
/// not conflict; the entity tags of lists are made of its version.
pub(crate) fn touch(
    tx: &mut Transaction,
    names: &Names,
    publication: &Key,
) -> Result<(), StageError> {
    tx.put(&names.heads, publication, MediaType::Json, Bytes::from_static(b"0"), None)
}

/// The key of the head that changes when the list of publications does.
pub(crate) fn all() -> Key {
    Key::new("*").expect("it keeps to the rule for keys")
}

/// A member in an order.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    /// Its place in this order.
    pub edited: Edited,
    pub member: String,
    /// What the row says besides.
    pub holds: Value,
    /// Its entry; none of a tombstone.
    pub document: Option<Arc<Document>>,
}

/// A part of an order, the newest first.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub rows: Vec<Listed>,
    /// After whom the next page begins, if there is one.
    pub next: Option<Edited>,
}

/// Reads at most `most` members in an order, the newest first: those before `after`, or from the
/// newest on. Who edits meanwhile moves members to the front, where a reader does not come again;
/// no other is passed over or seen twice.
pub(crate) fn page(
    tx: &mut Transaction,
    names: &Names,
    (publication, row): (&str, Row),
    (after, most): (Option<Edited>, usize),
) -> Result<Page, ReadError> {
    let to = after.map(|after| Bound::Excluded(row_key(publication, row, after)));
    let range = range(publication, row, (None, to));
    let found = tx.range(&names.order, &range, Direction::Descending, most + 1)?;
    let (mut rows, mut bytes): (Vec<Listed>, _) = (Vec::new(), 0);
    for (key, document) in found.iter().take(most) {
        let listed = listed(tx, names, (publication, row), (key, document))?;
        bytes += listed.document.as_ref().map_or(0, |document| document.body.len());
        if bytes > ATOM_PAGE_BYTES_MAX && !rows.is_empty() {
            break;
        }
        rows.push(listed);
    }
    let next = rows.last().map(|row| row.edited).filter(|_| rows.len() < found.len());
    Ok(Page { rows, next })
}

/// Rows of an order, as they are, from a time on and before another.
pub(crate) fn scan(
    tx: &mut Transaction,
    names: &Names,
    (publication, row): (&str, Row),
    (from, to): (Option<Edited>, Option<Edited>),
    (direction, most): (Direction, usize),
) -> Result<Vec<(Edited, Arc<Document>)>, ReadError> {
    let from = from.map(|from| Bound::Included(row_key(publication, row, from)));
    let to = to.map(|to| Bound::Excluded(row_key(publication, row, to)));
    let range = range(publication, row, (from, to));
    let found = tx.range(&names.order, &range, direction, most)?;
    let timed = |(key, document): (Key, Arc<Document>)| Some((edited(&key)?, document));
    Ok(found.into_iter().filter_map(timed).collect())
}

/// Reads the entry of a row of the archive; none if it was deleted or withdrawn.
pub(crate) fn of_archive(
    tx: &mut Transaction,
    names: &Names,
    publication: &str,
    (edited, document): &(Edited, Arc<Document>),
) -> Result<Option<Listed>, ReadError> {
    let at = (publication, Row::Archive);
    let found = listed(tx, names, at, (&row_key(publication, Row::Archive, *edited), document))?;
    Ok(Some(found).filter(|found| found.document.is_some()))
}

/// How many bytes the media of a member has, if it has some.
pub(crate) fn media_bytes(
    tx: &mut Transaction,
    names: &Names,
    place: &Place,
) -> Result<Option<u64>, ReadError> {
    let Some(key) = place.key() else { return Ok(None) };
    Ok(tx.get(&names.media, &key)?.map(|document| document.length()))
}

/// Deletes documents of a publication, but its own, at most so many. Gives how many there were.
pub(crate) fn delete_some(
    tx: &mut Transaction,
    names: &Names,
    publication: &str,
    most: usize,
) -> Result<usize, crate::problem::Problem> {
    let whole = KeyRange::prefix(&format!("{publication}/"));
    let mut deleted = 0;
    // What can be large is read as well: fewer of that.
    let few = most.div_ceil(16);
    for (collection, at_once) in
        [(&names.order, most), (&names.entries, few), (&names.media, few), (&names.gone, most)]
    {
        let limit = at_once.min(most - deleted);
        let found = tx.range(collection, &whole, Direction::Ascending, limit)?;
        for (key, _) in &found {
            tx.delete(collection, key)?;
        }
        deleted += found.len();
        if deleted == most {
            break;
        }
    }
    Ok(deleted)
}

/// After whom the page before this one begins: `None`: there is none; `Some(None)`: it is the
/// first. `first` is the first of this page.
pub(crate) fn before(
    tx: &mut Transaction,
    names: &Names,
    (publication, row): (&str, Row),
    (first, most): (Edited, usize),
) -> Result<Option<Option<Edited>>, ReadError> {
    let from = Bound::Excluded(row_key(publication, row, first));
    let range = range(publication, row, (Some(from), None));
    let found = tx.range(&names.order, &range, Direction::Ascending, most + 1)?;
    Ok(match found.get(most) {
        _ if found.is_empty() => None,
        Some((key, _)) => Some(edited(key)),
        None => Some(None),
    })
}

/// After whom the last page begins; none if that is the first.
pub(crate) fn last(
    tx: &mut Transaction,
    names: &Names,
    (publication, row): (&str, Row),
    most: usize,
) -> Result<Option<Edited>, ReadError> {
    let range = range(publication, row, (None, None));
    let found = tx.range(&names.order, &range, Direction::Ascending, most + 1)?;
    Ok(found.get(most).and_then(|(key, _)| edited(key)))
}

fn range(
    publication: &str,
    row: Row,
    (from, to): (Option<Bound<Key>>, Option<Bound<Key>>),
) -> KeyRange {
    let whole = KeyRange::prefix(&format!("{publication}/{}/", row.letter()));
    KeyRange::new(from.unwrap_or(whole.from), to.unwrap_or(whole.to))
}

fn edited(key: &Key) -> Option<Edited> {
    Edited::parse(key.as_str().rsplit('/').next()?)
}

fn listed(
    tx: &mut Transaction,
    names: &Names,
    (publication, row): (&str, Row),
    (key, document): (&Key, &Document),
) -> Result<Listed, ReadError> {
    let holds: Value = serde_json::from_slice(&document.body).unwrap_or_default();
    let member = holds.as_str().or_else(|| holds[0].as_str()).unwrap_or_default().to_owned();
    let edited = edited(key).unwrap_or(Edited(0));
    let place = Place { publication: publication.to_owned(), member: member.clone() };
    let document = match (row, place.key()) {
        (Row::Tombstones, _) | (_, None) => None,
        (_, Some(key)) => tx.get(&names.entries, &key)?,
    };
    Ok(Listed { edited, member, holds, document })
}

/// What `_atom-gone` holds.
pub(crate) fn gone((id, when): (&str, Edited), was_draft: bool) -> (MediaType, Bytes) {
    json_document(&json!({ "id": id, "when": when.to_string(), "draft": was_draft }))
}

/// Whether what was deleted was a draft. Earlier versions did not note it.
pub(crate) fn was_draft(gone: &Document) -> bool {
    let holds = serde_json::from_slice::<Value>(&gone.body).unwrap_or_default();
    holds["draft"] == true
}
