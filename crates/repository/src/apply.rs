//! The one door to committed state: live commits and recovery both come through [`apply`].

use crate::catalog::{self, COLLECTIONS, Catalog, Configure};
use crate::conflict::{Contested, Place};
use crate::document::{CommitNumber, Document, MediaType, Timestamp, tight};
use crate::ended::{self, Ending};
use crate::history::{self, HistoryRows};
use crate::hot::{Cell, Collection, Hot, Version, alive};
use crate::index::IndexError;
use crate::json;
use crate::limits::{DOCUMENT_BYTES_MAX, TRANSACTION_BYTES_MAX};
use crate::merge::Merge;
use crate::name::{CollectionName, Key};
use crate::record::{Change, Times, Write};
use crate::rows::{self, RowChange};
use crate::views::Views;
use bytes::Bytes;
use std::sync::Arc;

/// What a commit is applied to.
pub(crate) struct State<'a> {
    pub hot: &'a Hot,
    pub views: &'a Views,
}

/// A write with what `apply` needs to know of the present document, fetched beforehand.
#[derive(Debug)]
pub(crate) struct Staged {
    pub write: Write,
    /// Its collection, if it was there.
    pub collection: Option<Arc<Collection>>,
    /// What the engine has, or what the view saw; expired ones too. It counts only where memory
    /// holds no version, since then nothing newer exists.
    pub base: Option<Arc<Document>>,
    /// Where the document is in memory, if it was found there.
    pub cell: Option<Arc<Cell>>,
    /// The rows in indexes of what the write makes, and of `base`.
    pub rows: (usize, usize),
    /// What is put is what merge operations have made of the document that was read. Another's
    /// change may be the same and must count as well, so it is not merged with this one.
    pub is_computed: bool,
    /// It lost to a change of the same document, and the collection wants both merged.
    pub merges: bool,
}

impl Staged {
    pub(crate) fn place(&self) -> Place {
        (self.write.collection.clone(), self.write.key.clone())
    }

    /// A conflict over it with whoever has changed it last.
    fn contested(&self) -> Contested {
        let competitor = self.cell.as_ref().map(|cell| cell.last_change()).unwrap_or_default();
        let (collection, key) = self.place();
        Contested { collection, key, competitor, paths: Vec::new() }
    }

    /// When that expires which the write builds on.
    pub(crate) fn expires(&self) -> Option<Timestamp> {
        let is_merged = self.merges || matches!(self.write.change, Change::Merge(_));
        match (&self.write.change, &self.cell) {
            (_, Some(cell)) if is_merged => cell.expires(),
            (Change::Merge(_) | Change::Put { .. }, _) => self.base.as_ref()?.expires,
            _ => None,
        }
    }

    /// Whether it removes something that is there.
    pub(crate) fn makes_room(&self) -> bool {
        match (&self.write.change, &self.cell) {
            (Change::Clear { .. } | Change::Trim(_) | Change::Expire(_) | Change::Remove(_), _) => {
                true
            }
            (Change::Configure(Configure::Cleared(_) | Configure::End(_)), _) => true,
            (Change::Delete, Some(cell)) => cell.newest().document.is_some(),
            (Change::Delete, None) => self.base.is_some(),
            _ => false,
        }
    }
}

/// A document, or row of an index, that a commit changed.
pub(crate) struct Changed {
    pub cell: Arc<Cell>,
    /// The commit that had changed it before, if memory knows.
    pub before: Option<CommitNumber>,
    /// The engine is to have it.
    pub is_kept: bool,
}

/// What [`apply`] did.
pub(crate) struct Applied {
    pub changed: Vec<Changed>,
    /// A write was merged with what was there, so that the record must be written anew.
    pub is_rewritten: bool,
}

/// What one write comes to.
struct Plan {
    collection: Option<Arc<Collection>>,
    cell: Option<Arc<Cell>>,
    /// The engine has no version of the document.
    is_new: bool,
    /// `None`: the document stays as it is.
    document: Option<Option<Arc<Document>>>,
    rows: Vec<RowChange>,
}

/// The id that the next collection or index gets which a commit makes. Several may be made in one,
/// and all of them are planned before the first is.
type NextId = std::cell::Cell<u32>;

/// Applies `writes` as commit `number` at `time`, all or nothing. Deterministic: the same commits
/// in the same order give the same documents.
///
/// An intent that does not fit what is there now is a conflict with whoever put it there.
pub(crate) fn apply(
    state: &State<'_>,
    (number, time): (CommitNumber, Timestamp),
    writes: &mut [Staged],
) -> Result<Applied, Contested> {
    let mut plans = Vec::with_capacity(writes.len());
    let mut is_rewritten = false;
    let mut bytes = 0;
    let ids = NextId::new(state.hot.next_id());
    for staged in writes.iter_mut() {
        is_rewritten |= staged.merges;
        plans.push(plan(state, (number, time), staged, &ids)?);
        bytes += staged.write.bytes();
        // What was staged keeps to the bound; what was merged with it may not. On its next try the
        // transaction stages what is there now, and is told.
        if is_rewritten && bytes > TRANSACTION_BYTES_MAX {
            return Err(staged.contested());
        }
    }
    // What is made on the way gets ids after those that were planned.
    state.hot.take_id(ids.get() - 1);
    let mut changed = Vec::with_capacity(writes.len());
    for (staged, plan) in writes.iter().zip(plans) {
        carry_out(state, (number, time), (&staged.write, plan), &mut changed);
    }
    Ok(Applied { changed, is_rewritten })
}

/// Decides what a write comes to, without changing anything but the write itself.
fn plan(
    state: &State<'_>,
    at: (CommitNumber, Timestamp),
    staged: &mut Staged,
    ids: &NextId,
) -> Result<Plan, Contested> {
    let collection = staged.collection.clone().or_else(|| match staged.write.change {
        Change::Remove(id) => state.hot.by_id(id),
        _ => state.hot.collection(&staged.write.collection),
    });
    let find = |c: &Arc<Collection>| c.find(&staged.write.key);
    let cell = staged.cell.clone().or_else(|| collection.as_ref().and_then(find));
    let (competitor, current) = match &cell {
        Some(cell) => {
            let newest = cell.newest();
            (newest.number, newest.document)
        }
        None => (CommitNumber(0), staged.base.clone()),
    };
    let misfit = |paths| Contested {
        collection: staged.write.collection.clone(),
        key: staged.write.key.clone(),
        competitor,
        paths,
    };
    if staged.merges {
        // One that has expired is gone for both, and what is gone was not changed elsewhere.
        let (base, theirs) = (alive(staged.base.clone(), at.1), alive(current.clone(), at.1));
        let versions = (base.as_deref(), theirs.as_deref());
        match merged(staged.collection.as_deref(), versions, &staged.write.change) {
            Ok(change) => staged.write.change = change,
            Err(paths) => return Err(misfit(paths)),
        }
    }
    if let Change::Trim(trim) = &staged.write.change {
        let rows = history::trimmed_rows(state.hot, trim);
        return Ok(Plan { collection, cell, is_new: false, document: None, rows });
    }
    if let Change::Clear { index, rows } = &staged.write.change {
        let rows = rows::cleared(state.hot, *index, rows);
        return Ok(Plan { collection, cell, is_new: false, document: None, rows });
    }
    if let Change::Expire(due) = staged.write.change {
        let expired = expire((due, at), staged, (collection, cell), current.as_deref());
        return expired.map_err(|_| misfit(Vec::new()));
    }
    let expires = collection.as_ref().and_then(|collection| collection.default_expiry(at.1));
    let found = (alive(current.clone(), at.1), expires);
    let document = match resolve(at, &staged.write, ids, found) {
        Ok(document) => document.map(|document| document.map(Arc::new)),
        Err(_) => return Err(misfit(Vec::new())),
    };
    let becomes = document.as_ref().map(Option::as_deref);
    let rows = derived(collection.as_deref(), (&staged.write, at), (current.as_deref(), becomes));
    let Ok(rows) = rows else { return Err(misfit(Vec::new())) };
    let is_new = cell.is_none() && staged.base.is_none();
    Ok(Plan { collection, cell, is_new, document, rows })
}

/// The rows that follow from a write: those that change, and the version that is kept. `becomes`:
/// see [`Plan::document`].
fn derived(
    collection: Option<&Collection>,
    (write, at): (&Write, (CommitNumber, Timestamp)),
    (before, becomes): (Option<&Document>, Option<Option<&Document>>),
) -> Result<Vec<RowChange>, IndexError> {
    // It will be made with its first document, and has no index yet.
    let Some(collection) = collection else {
        return Ok(rows::own_changes(None, becomes.flatten()));
    };
    let again = write.change == Change::Reindex;
    let after = becomes.unwrap_or(before);
    let mut rows = rows::changes(collection, &write.key, (before, after, again))?;
    // What has ended is kept no longer.
    if becomes.is_some() && !matches!(write.change, Change::Remove(_)) {
        rows.extend(history::kept_rows(collection, &write.key, at, before));
    }
    Ok(rows)
}

/// What the removal of a document comes to whose row in the table of what expires says `due`.
fn expire(
    (due, at): (Timestamp, (CommitNumber, Timestamp)),
    staged: &Staged,
    (collection, cell): (Option<Arc<Collection>>, Option<Arc<Cell>>),
    current: Option<&Document>,
) -> Result<Plan, IndexError> {
    let is_unread = cell.is_none() && staged.base.is_none();
    let is_due = is_unread || current.and_then(rows::row_time) == Some(due);
    let rows = match &collection {
        _ if !is_due => Vec::new(),
        // It has not changed since its row was there; of other rows there are none.
        Some(collection) if !is_unread => {
            let key = &staged.write.key;
            let mut rows = rows::changes(collection, key, (current, None, false))?;
            rows.extend(history::kept_rows(collection, key, at, current));
            rows
        }
        _ => vec![RowChange::expired(due)],
    };
    Ok(Plan { collection, cell, is_new: false, document: is_due.then_some(None), rows })
}

fn carry_out(
    state: &State<'_>,
    at: (CommitNumber, Timestamp),
    (write, plan): (&Write, Plan),
    changed: &mut Vec<Changed>,
) {
    let Plan { collection, cell, is_new, document, rows } = plan;
    // A row that is built once more may be there already.
    let row_is_new = write.change != Change::Reindex;
    if document.is_none() && rows.is_empty() {
        return;
    }
    let collection = match collection.or_else(|| state.hot.collection(&write.collection)) {
        Some(collection) => collection,
        // Deleting what never was makes nothing.
        None if !matches!(document, Some(Some(_))) => return,
        None => create(state, at, &write.collection, changed),
    };
    for row in rows {
        let body = row.body();
        let document = row.content(|| Document { body, ..row_document(at) });
        let is_new = row_is_new && document.is_some() && !row.may_be_there;
        if let Some(hash) = row.loses() {
            state.hot.unnamed.note(hash, at.0);
        }
        let (rows, row) = row.place(state.hot, &collection, &write.key);
        install(state, at.0, (&rows, None, &row), (document, is_new), changed);
    }
    if document.is_some() {
        history::note(&collection, &write.key);
    }
    if let Some(document) = document {
        let catalog = (*write.collection.as_str() == *COLLECTIONS).then(|| document.clone());
        if let Change::Configure(Configure::End(_)) = &write.change {
            end(state, at, &write.key, changed);
        }
        install(state, at.0, (&collection, cell, &write.key), (document, is_new), changed);
        if let Some(document) = catalog {
            let begun = reshape(state.hot, &write.key, document.as_deref(), at.0);
            if let Some(row) = begun.map(|history| history::first_floor(&history, at)) {
                let document = row.content(|| row_document(at));
                let (rows, row) = row.place(state.hot, &collection, &write.key);
                install(state, at.0, (&rows, None, &row), (document, true), changed);
            }
        }
    }
}

fn install(
    state: &State<'_>,
    number: CommitNumber,
    (collection, cell, key): (&Arc<Collection>, Option<Arc<Cell>>, &Key),
    (document, is_new): (Option<Arc<Document>>, bool),
    changed: &mut Vec<Changed>,
) {
    let version = Version { number, document };
    let (cell, before) = collection.install((key, cell), version, is_new, state.views);
    if collection.is_volatile {
        state.hot.let_wait(&cell);
    }
    changed.push(Changed { cell, before, is_kept: !collection.is_volatile });
}

/// What the document becomes: `Some(None)`: it is deleted; `None`: it stays as it is. With what is
/// there, and when a new document expires.
fn resolve(
    (number, time): (CommitNumber, Timestamp),
    write: &Write,
    ids: &NextId,
    (current, expires): (Option<Arc<Document>>, Option<Timestamp>),
) -> Result<Option<Option<Document>>, String> {
    let created = current.as_ref().map_or(time, |d| d.created);
    let document = |media_type, body, expires| Document {
        media_type,
        body,
        blob: None,
        version: number,
        created,
        updated: time,
        expires,
    };
    match &write.change {
        Change::Delete | Change::Remove(_) => Ok(Some(None)),
        Change::Put { media_type, body, blob, expires } => {
            let put = document(media_type.clone(), body.clone(), *expires);
            let mut put = Document { blob: *blob, ..put };
            if let Some(times) = write.times {
                (put.created, put.updated) = kept_times(times, *expires, time);
            }
            Ok(Some(Some(put)))
        }
        Change::Merge(operations) => {
            let expires = current.as_ref().map_or(expires, |current| current.expires);
            let document = |body| document(MediaType::Json, body, expires);
            let merged = merge(operations, current.clone(), document)?;
            Ok(merged.map(Some))
        }
        Change::Expire(_) | Change::Reindex | Change::Clear { .. } | Change::Trim(_) => Ok(None),
        Change::Configure(change) => {
            let catalog = configure(ids, change, current.as_deref())?;
            let document = |body: String| document(MediaType::Json, body.into(), None);
            Ok(catalog.map(|catalog| catalog.map(document)))
        }
    }
}

/// When a document counts as created and updated that is put with times of its own at `now`. What
/// has expired is updated now: its row in the table of what expires is never before its commit.
fn kept_times(times: Times, expires: Option<Timestamp>, now: Timestamp) -> (Timestamp, Timestamp) {
    let has_expired = expires.is_some_and(|at| at <= now);
    let updated = if has_expired { now } else { times.updated.min(now) };
    (times.created.min(updated), updated)
}

/// The document after `operations`; `None`: they change nothing.
fn merge(
    operations: &[Merge],
    current: Option<Arc<Document>>,
    document: impl Fn(Bytes) -> Document,
) -> Result<Option<Document>, String> {
    let mut merged = current;
    let mut is_changed = false;
    for operation in operations {
        let Some(body) = operation.resolve(merged.as_deref())? else { continue };
        if body.len() > DOCUMENT_BYTES_MAX {
            return Err("the document would become too large".to_owned());
        }
        is_changed = true;
        merged = Some(Arc::new(document(body)));
    }
    Ok(merged.filter(|_| is_changed).map(Arc::unwrap_or_clone))
}

/// `mine` with what the present document has changed elsewhere since `base`; or the paths that
/// both have changed. Values that nobody has looked at do not get into a unique index.
fn merged(
    collection: Option<&Collection>,
    (base, theirs): (Option<&Document>, Option<&Document>),
    mine: &Change,
) -> Result<Change, Vec<String>> {
    let text = |document: Option<&Document>| {
        let document = document.filter(|d| d.media_type == MediaType::Json)?;
        std::str::from_utf8(&document.body).ok().map(str::to_owned)
    };
    let Change::Put { media_type: MediaType::Json, body, expires, .. } = mine else {
        return Err(Vec::new());
    };
    let (Some(base), Some(theirs)) = (text(base), text(theirs)) else { return Err(Vec::new()) };
    let mine = std::str::from_utf8(body).map_err(|_| Vec::new())?;
    let body = json::three_way(&base, mine, &theirs)?;
    let is_unique = collection.is_none_or(|c| rows::are_checked(c, &body, [mine, &theirs]));
    if body.len() > DOCUMENT_BYTES_MAX || !is_unique {
        return Err(Vec::new());
    }
    let (media_type, body) = (MediaType::Json, tight(body.as_bytes()));
    Ok(Change::Put { media_type, body, blob: None, expires: *expires })
}

/// The text of the catalog's document after `change`. `Some(None)`: there is none any more;
/// `None`: it stays as it is.
fn configure(
    ids: &NextId,
    change: &Configure,
    current: Option<&Document>,
) -> Result<Option<Option<String>>, String> {
    let next_id = ids.get();
    let give = |catalog: &Catalog| {
        let last = catalog.ids().max().unwrap_or_default();
        ids.set(ids.get().max(last + 1));
        Some(Some(catalog.to_text()))
    };
    let (mut catalog, next_id) = match (current, change) {
        (Some(document), _) => (catalog::of(document)?, next_id),
        (None, Configure::Settings(_)) => (Catalog::new(next_id), next_id + 1),
        // It was dropped.
        (None, _) => return Ok(None),
    };
    match change {
        Configure::Settings(settings) if current.is_some() => catalog.check(settings)?,
        Configure::End(Ending::Drop) => return Ok(Some(None)),
        Configure::End(Ending::Empty) => {
            return Ok(give(&catalog.emptied(next_id)));
        }
        Configure::Cleared(id) if *id == catalog.id => return Ok(Some(None)),
        _ => {}
    }
    catalog.configure(change, next_id)?;
    Ok(give(&catalog))
}

/// Creates a collection on its first write, with the document that describes it.
fn create(
    state: &State<'_>,
    (number, time): (CommitNumber, Timestamp),
    name: &CollectionName,
    changed: &mut Vec<Changed>,
) -> Arc<Collection> {
    let id = state.hot.next_id();
    let collection = state.hot.add_collection(name, id, false);
    let key = Key::generated(name.to_string());
    note(state, (number, time), (&key, &Catalog::new(id)), changed);
    collection
}

/// Writes a document of the catalog that follows from a write.
fn note(
    state: &State<'_>,
    (number, time): (CommitNumber, Timestamp),
    (key, catalog): (&Key, &Catalog),
    changed: &mut Vec<Changed>,
) {
    let Some(of) = state.hot.collection(&CollectionName::generated(COLLECTIONS)) else { return };
    let body = Bytes::from(catalog.to_text());
    let document = Document { media_type: MediaType::Json, body, ..row_document((number, time)) };
    install(state, number, (&of, None, key), (Some(Arc::new(document)), true), changed);
}

/// Takes the collection that `key` names away from its name, and writes down that its documents
/// are to be cleared, and the last id that was given.
fn end(state: &State<'_>, at: (CommitNumber, Timestamp), key: &Key, changed: &mut Vec<Changed>) {
    let name = CollectionName::generated(key.as_str());
    let Some(ended) = state.hot.end(&name, at.0) else { return };
    let ids = Catalog::new(state.hot.next_id() - 1);
    note(state, at, (&ended::key(ended.id), &ended), changed);
    note(state, at, (&Key::generated(ended::IDS.to_owned()), &ids), changed);
}

/// Makes what a document of the catalog says known; `None`: it is gone. Gives the history that
/// begins with it.
fn reshape(
    hot: &Hot,
    key: &Key,
    document: Option<&Document>,
    number: CommitNumber,
) -> Option<HistoryRows> {
    let Some(document) = document else {
        hot.cleared(key, number);
        return None;
    };
    let Ok(catalog) = catalog::of(document) else {
        unreachable!("the catalog was written by `configure` or `note`");
    };
    if catalog.ended.is_some() {
        hot.reshape_ended(&catalog);
        return None;
    }
    let name = CollectionName::generated(key.as_str());
    let history = |hot: &Hot| hot.collection(&name)?.shape().history.clone();
    let before = history(hot).map(|history| history.rows.id);
    hot.configure(&name, &catalog, number);
    history(hot).filter(|history| Some(history.rows.id) != before)
}

/// A document without content, as the rows of an index are.
fn row_document((number, time): (CommitNumber, Timestamp)) -> Document {
    Document {
        media_type: MediaType::Json,
        body: Bytes::new(),
        blob: None,
        version: number,
        created: time,
        updated: time,
        expires: None,
    }
}
