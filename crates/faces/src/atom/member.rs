//! Members of a publication in their transaction: an entry is created, read, replaced and deleted
//! here. What is media besides is in `media`. No HTTP.
//!
//! Each function checks the conditions of its request within the transaction, so that of two writes
//! to one version exactly one wins.

use super::publication::{self, Drawn, Publication};
use super::rows::{self, Names, Place, Row};
use super::{Atom, Edited, clean};
use crate::limits::{ATOM_GONE_KEPT_MS, ATOM_SUFFIXES_MAX};
use crate::preconditions::{Preconditions, Verdict};
use crate::problem::{Kind, Problem};
use bytes::Bytes;
use repository::{CommitNumber, Document, Key, Timestamp, Transaction};
use serde_json::json;
use std::sync::Arc;
use wire::atom::{Entry, Owned, OwnedContent, entry};

/// A write to a member.
#[derive(Clone, Copy)]
pub(crate) struct Write<'a> {
    pub atom: &'a Atom,
    pub conditions: &'a Preconditions,
}

/// A new member.
#[derive(Clone, Debug)]
pub(crate) struct New {
    pub publication: String,
    /// What its part of the path should be like.
    pub slug: Option<String>,
    pub drawn: Drawn,
}

/// A member that was written.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// Where it is, as a path.
    pub path: String,
    /// Its entry, as it is stored.
    pub text: Bytes,
}

/// Creates an entry.
pub(crate) fn create(
    tx: &mut Transaction,
    (write, new): (Write<'_>, &New),
    sent: &Entry<'_>,
) -> Result<Written, Problem> {
    check_new(write.conditions)?;
    let publication = publication_for(tx, write.atom, new)?;
    check_categories(&publication, sent)?;
    let place = free_place(tx, &write.atom.names, new)?;
    let edited = write.atom.edits.next(tx.time());
    let paths = Paths::of(&place, None);
    let text = Bytes::from(sent.stored(&Owned {
        id: &publication::urn(edited, new.drawn),
        author: Some(publication.author()),
        ..paths.owned(edited)
    }));
    let state = State { edited, is_draft: sent.is_draft, is_media: false };
    put(tx, write.atom, &place, &text)?;
    enter(tx, &write.atom.names, &place, state)?;
    Ok(Written { path: paths.edit, text })
}

/// A POST that must find nothing, or one version of something, can find neither.
pub(crate) fn check_new(conditions: &Preconditions) -> Result<(), Problem> {
    match conditions.for_write(None) {
        Verdict::Failed => Err(failed(None)),
        _ => Ok(()),
    }
}

/// The publication of a new member, which may be made for it.
pub(super) fn publication_for(
    tx: &mut Transaction,
    atom: &Atom,
    new: &New,
) -> Result<Publication, Problem> {
    match publication::find(tx, &atom.names, &new.publication)? {
        Some((found, _)) => Ok(found),
        None if atom.is_on_demand && super::proposal::is_name(&new.publication) => {
            let given = Publication::new(&new.publication, &new.publication);
            publication::make(tx, atom, (&given, new.drawn))
        }
        None => Err(publication::missing(&new.publication)),
    }
}

fn check_categories(publication: &Publication, sent: &Entry<'_>) -> Result<(), Problem> {
    if !publication.categories.is_fixed || publication.entries().admits_categories(&sent.categories)
    {
        return Ok(());
    }
    let terms = publication.categories.list.iter().map(|one| one.term.as_str());
    let terms = terms.take(20).collect::<Vec<_>>().join(", ");
    let detail = format!("the publication takes these categories and no others: {terms}");
    Err(Problem::new(Kind::InvalidEntry, detail))
}

/// Where a new member goes. A taken name gets a number, and then what is drawn.
pub(super) fn free_place(tx: &mut Transaction, names: &Names, new: &New) -> Result<Place, Problem> {
    let drawn = new.drawn.key.key_at(tx.time());
    let at = |member: String| Place { publication: new.publication.clone(), member };
    let Some(slug) = &new.slug else { return Ok(at(drawn.as_str().to_owned())) };
    for tried in 1..=ATOM_SUFFIXES_MAX {
        let place = at(match tried {
            1 => slug.clone(),
            _ => format!("{slug}-{tried}"),
        });
        let key = key(&place)?;
        if tx.get(&names.entries, &key)?.is_none() && tx.get(&names.gone, &key)?.is_none() {
            return Ok(place);
        }
    }
    Ok(at(format!("{slug}-{drawn}")))
}

/// A member that is there.
pub(crate) struct Found {
    pub publication: Publication,
    pub document: Arc<Document>,
}

/// Reads a member that is public. A draft is told apart from nothing neither while it is there nor
/// when it was deleted.
pub(crate) fn read_public(
    tx: &mut Transaction,
    names: &Names,
    place: &Place,
) -> Result<Found, Problem> {
    match read(tx, names, place) {
        Ok(found) if Old::read(text(&found.document)?)?.state.is_draft => Err(unknown()),
        Err(problem) if problem.kind == Kind::Gone => {
            let gone = tx.get(&names.gone, &key(place)?)?;
            let was_draft = gone.is_some_and(|gone| rows::was_draft(&gone));
            Err(if was_draft { unknown() } else { problem })
        }
        other => other,
    }
}

/// Reads a member. What is not there tells whether it was.
pub(crate) fn read(tx: &mut Transaction, names: &Names, place: &Place) -> Result<Found, Problem> {
    let (publication, _) = publication::find(tx, names, &place.publication)?
        .ok_or_else(|| publication::missing(&place.publication))?;
    match tx.get(&names.entries, &key(place)?)? {
        Some(document) => Ok(Found { publication, document }),
        None => Err(absent(tx, names, place)?),
    }
}

/// Why there is no member: it was deleted, or never was.
pub(super) fn absent(
    tx: &mut Transaction,
    names: &Names,
    place: &Place,
) -> Result<Problem, Problem> {
    let is_gone = tx.get(&names.gone, &key(place)?)?.is_some();
    Ok(match is_gone {
        true => Problem::new(Kind::Gone, "there was one, and it was deleted"),
        false => unknown(),
    })
}

/// There was never a member of that name, so far as the asker may know.
fn unknown() -> Problem {
    Problem::new(Kind::NotFound, "there is no member of this name")
}

/// Replaces an entry, or that of media.
pub(crate) fn replace(
    tx: &mut Transaction,
    (write, place): (Write<'_>, &Place),
    sent: &Entry<'_>,
) -> Result<Written, Problem> {
    let found = read_to_write(tx, write, place)?;
    let text = text(&found.document)?;
    let old = Old::read(text)?;
    if let Some(id) = sent.id.as_deref().filter(|id| *id != old.id) {
        let detail = format!("the id of an entry never changes: it is {}; got {id}", old.id);
        return Err(Problem::new(Kind::IdentityConflict, detail));
    }
    check_categories(&found.publication, sent)?;
    put_again(tx, (write.atom, place), (sent, &old), old.media_type())
}

/// Stores what is shown of a member anew, and moves it to the front.
pub(super) fn put_again(
    tx: &mut Transaction,
    (atom, place): (&Atom, &Place),
    (sent, old): (&Entry<'_>, &Old),
    media_type: Option<&str>,
) -> Result<Written, Problem> {
    let edited = atom.edits.next(tx.time());
    let paths = Paths::of(place, media_type);
    let text = Bytes::from(sent.stored(&Owned {
        id: &old.id,
        published: old.published,
        title: Some(&old.title),
        author: Some(&old.author),
        summary: media_type.map(|_| old.title.as_str()),
        ..paths.owned(edited)
    }));
    put(tx, atom, place, &text)?;
    let now = State { edited, is_draft: sent.is_draft, is_media: media_type.is_some() };
    change(tx, &atom.names, (place, &old.id), (old.state, now))?;
    Ok(Written { path: paths.edit, text })
}

/// Deletes a member, and its media if it has some.
pub(crate) fn delete(
    tx: &mut Transaction,
    (write, place): (Write<'_>, &Place),
) -> Result<(), Problem> {
    let found = read_to_write(tx, write, place)?;
    remove(tx, write.atom, (place, &found.document))
}

/// Takes a member and all that is its own away, and keeps that it was there.
pub(super) fn remove(
    tx: &mut Transaction,
    atom: &Atom,
    (place, document): (&Place, &Document),
) -> Result<(), Problem> {
    let (names, key) = (&atom.names, key(place)?);
    let old = Old::read(text(document)?)?;
    let when = atom.edits.next(tx.time());
    tx.delete(&names.entries, &key)?;
    if old.state.is_media {
        tx.delete(&names.media, &key)?;
    }
    leave(tx, names, place, old.state)?;
    if !old.state.is_draft {
        bury(tx, names, (place, &old.id), when)?;
    }
    let (media_type, body) = rows::gone((&old.id, when), old.state.is_draft);
    let until = Timestamp(tx.time().0 + ATOM_GONE_KEPT_MS);
    tx.put(&names.gone, &key, media_type, body, Some(until))?;
    touch(tx, names, place)
}

/// A member that is about to be written over, if its conditions allow it.
fn read_to_write(tx: &mut Transaction, write: Write<'_>, place: &Place) -> Result<Found, Problem> {
    let names = &write.atom.names;
    let found = match read(tx, names, place) {
        Ok(found) => found,
        Err(problem) => return Err(unless_named(problem, write.conditions)),
    };
    check(write.conditions, &found.document, found.publication.is_strict)?;
    Ok(found)
}

/// What is said of a member that is not there to who names a version of it (RFC 9110 §13.1.1).
pub(super) fn unless_named(absent: Problem, conditions: &Preconditions) -> Problem {
    let is_absent = matches!(absent.kind, Kind::NotFound | Kind::Gone);
    if is_absent && conditions.matches.is_some() { failed(None) } else { absent }
}

/// Checks whether `current` may be written over.
pub(crate) fn check(
    conditions: &Preconditions,
    current: &Document,
    is_strict: bool,
) -> Result<(), Problem> {
    if conditions.for_write(Some(current)) == Verdict::Failed {
        return Err(failed(Some(current.version)));
    }
    if is_strict && !conditions.are_for_writes() {
        let detail = "the publication wants to know which version is replaced: send If-Match with \
                      the entity tag of the one that you have read";
        return Err(Problem::new(Kind::PreconditionRequired, detail)
            .with("etag", format!("\"{}\"", current.version)));
    }
    Ok(())
}

/// A condition does not hold.
pub(crate) fn failed(current: Option<CommitNumber>) -> Problem {
    let detail = "it is not in the state that the request's conditions ask for; read it again and \
                  decide anew";
    let problem = Problem::new(Kind::PreconditionFailed, detail);
    match current {
        Some(version) => problem.with("etag", format!("\"{version}\"")),
        None => problem,
    }
}

/// What stays of an entry when it is written over.
pub(super) struct Old {
    pub id: String,
    pub published: Option<wire::atom::Date>,
    pub title: String,
    pub author: String,
    /// Of its media, if it states one.
    media_type: Option<String>,
    pub state: State,
}

impl Old {
    pub(super) fn read(text: &str) -> Result<Self, Problem> {
        let entry = entry::read_stored(text).map_err(|error| Problem::internal(&error))?;
        Self::of(&entry)
    }

    /// Of its media, if it has some.
    pub(super) fn media_type(&self) -> Option<&str> {
        const UNKNOWN: &str = "application/octet-stream";
        self.state.is_media.then(|| self.media_type.as_deref().unwrap_or(UNKNOWN))
    }

    pub(super) fn of(entry: &Entry<'_>) -> Result<Self, Problem> {
        let is_media = entry.link("edit-media").is_some();
        let media_type = entry.media_type().filter(|_| is_media).map(str::to_owned);
        let edited = entry.edited.map(Edited::of);
        let edited =
            edited.ok_or_else(|| Problem::internal(&"a stored entry has no app:edited"))?;
        Ok(Self {
            id: entry.id.clone().unwrap_or_default(),
            published: entry.published,
            title: entry.title.as_ref().map(clean::words).unwrap_or_default(),
            author: entry.authors.first().map(|one| one.name.clone()).unwrap_or_default(),
            media_type,
            state: State { edited, is_draft: entry.is_draft, is_media },
        })
    }
}

/// Where a member stands in the orders of its publication.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub edited: Edited,
    pub is_draft: bool,
    pub is_media: bool,
}

impl State {
    fn row(self) -> Row {
        if self.is_media { Row::Media } else { Row::Entries }
    }
}

/// Puts a new member into the orders.
pub(super) fn enter(
    tx: &mut Transaction,
    names: &Names,
    place: &Place,
    state: State,
) -> Result<(), Problem> {
    let publication = place.publication.as_str();
    rows::add(tx, names, (publication, state.row(), state.edited), &json!(place.member))?;
    if !state.is_draft {
        publish(tx, names, place, (state.edited, state.edited))?;
    }
    touch(tx, names, place)
}

/// Moves a member to the front; one that becomes public or no longer is, comes or goes there.
fn change(
    tx: &mut Transaction,
    names: &Names,
    (place, id): (&Place, &str),
    (old, now): (State, State),
) -> Result<(), Problem> {
    let publication = place.publication.as_str();
    rows::remove(tx, names, (publication, old.row(), old.edited))?;
    rows::add(tx, names, (publication, now.row(), now.edited), &json!(place.member))?;
    match (old.is_draft, now.is_draft) {
        (true, true) => {}
        (true, false) => publish(tx, names, place, (now.edited, now.edited))?,
        (false, false) => {
            let archived = rows::archived(tx, names, (publication, old.edited))?;
            rows::remove(tx, names, (publication, Row::Public, old.edited))?;
            let holds = public(place, archived.unwrap_or(old.edited));
            rows::add(tx, names, (publication, Row::Public, now.edited), &holds)?;
        }
        (false, true) => {
            withdraw(tx, names, place, old.edited)?;
            bury(tx, names, (place, id), now.edited)?;
        }
    }
    touch(tx, names, place)
}

/// Takes a member out of the orders.
fn leave(tx: &mut Transaction, names: &Names, place: &Place, state: State) -> Result<(), Problem> {
    rows::remove(tx, names, (&place.publication, state.row(), state.edited))?;
    match state.is_draft {
        true => Ok(()),
        false => withdraw(tx, names, place, state.edited),
    }
}

fn public(place: &Place, archived: Edited) -> serde_json::Value {
    json!([place.member, archived.to_string()])
}

/// Shows a member to the public for the first time.
fn publish(
    tx: &mut Transaction,
    names: &Names,
    place: &Place,
    (edited, archived): (Edited, Edited),
) -> Result<(), Problem> {
    let publication = place.publication.as_str();
    rows::add(tx, names, (publication, Row::Public, edited), &public(place, archived))?;
    Ok(rows::add(tx, names, (publication, Row::Archive, archived), &json!(place.member))?)
}

/// Hides a member from the public that is there since `edited`.
fn withdraw(
    tx: &mut Transaction,
    names: &Names,
    place: &Place,
    edited: Edited,
) -> Result<(), Problem> {
    let publication = place.publication.as_str();
    let archived = rows::archived(tx, names, (publication, edited))?;
    rows::remove(tx, names, (publication, Row::Public, edited))?;
    if let Some(archived) = archived {
        // Its place stays, so that no document of the archive begins elsewhere for it, and that the
        // tag of the one that it was in is another.
        rows::add(tx, names, (publication, Row::Archive, archived), &json!(""))?;
    }
    Ok(())
}

/// Tells who follows the changes that an entry is no longer there.
fn bury(
    tx: &mut Transaction,
    names: &Names,
    (place, id): (&Place, &str),
    when: Edited,
) -> Result<(), Problem> {
    let until = Timestamp(tx.time().0 + ATOM_GONE_KEPT_MS);
    let row = (place.publication.as_str(), Row::Tombstones, when);
    Ok(rows::add_until(tx, names, row, (&json!([place.member, id]), until))?)
}

fn touch(tx: &mut Transaction, names: &Names, place: &Place) -> Result<(), Problem> {
    match rows::publication_key(&place.publication) {
        Some(key) => Ok(rows::touch(tx, names, &key)?),
        None => Err(publication::missing(&place.publication)),
    }
}

/// Stores the text of an entry.
pub(super) fn put(
    tx: &mut Transaction,
    atom: &Atom,
    place: &Place,
    text: &Bytes,
) -> Result<(), Problem> {
    let (names, media_type) = (&atom.names, atom.entry_type.clone());
    Ok(tx.put(&names.entries, &key(place)?, media_type, text.clone(), None)?)
}

pub(super) fn key(place: &Place) -> Result<Key, Problem> {
    place.key().ok_or_else(|| Problem::new(Kind::NotFound, "no member has a name like this"))
}

/// The text of a stored entry.
pub(crate) fn text(document: &Document) -> Result<&str, Problem> {
    std::str::from_utf8(&document.body).map_err(|error| Problem::internal(&error))
}

/// The paths that an entry names.
pub(super) struct Paths<'a> {
    pub edit: String,
    page: String,
    media: Option<(String, &'a str)>,
}

impl<'a> Paths<'a> {
    pub(super) fn of(place: &Place, media_type: Option<&'a str>) -> Self {
        let member = publication::segment(&place.member);
        let path = |of: &str| publication::path(&place.publication, &format!("{of}/{member}"));
        let media = media_type.map(|media_type| (path("media"), media_type));
        Self { edit: path("entries"), page: path("pages"), media }
    }

    /// What the server has in an entry that was edited now; its id and more are still to be said.
    pub(super) fn owned(&self, edited: Edited) -> Owned<'_> {
        Owned {
            id: "",
            updated: edited.date(),
            edited: edited.date(),
            published: Some(edited.date()),
            edit: &self.edit,
            edit_media: self.media.as_ref().map(|(path, _)| path.as_str()),
            page: Some(&self.page),
            title: None,
            author: None,
            summary: None,
            content: self.media.as_ref().map(|(src, media_type)| OwnedContent { src, media_type }),
            base: &self.edit,
        }
    }
}
