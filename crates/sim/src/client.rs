//! A client: one transaction after the other, each step by step, so that those of several clients
//! interleave. What it reads is compared with the model at once, and when it commits.

use crate::model::{COLLECTIONS, Change, HISTORIES, INDEX, Model, PHOTOS, Place};
use crate::photo;
use crate::random::Random;
use crate::trace::{Finding, expect};
use repository::limits::VIEW_AGE_MAX_MS;
use repository::{
    BlobError, CollectionName, CommitError, CommitNumber, Content, Direction, Document, IndexRange,
    IndexValue, Isolation, Key, KeyRange, MediaType, Merge, Moment, Outcome, Past, ReadError,
    Repository, StageError, Timestamp, Transaction,
};
use std::ops::Bound;
use std::sync::Arc;

/// A transaction under way.
struct Open {
    transaction: Transaction,
    is_serializable: bool,
    /// Ranges that were read and noted, the end not included.
    reads: Vec<(Place, Place)>,
    /// What the index was asked, and what it gave.
    index_reads: Vec<IndexRead>,
    writes: Vec<(Place, Change)>,
}

/// A read of documents by their values.
struct IndexRead {
    values: (i64, i64),
    direction: Direction,
    limit: usize,
    seen: Vec<(i64, String)>,
}

/// See the module.
#[derive(Default)]
pub struct Client {
    open: Option<Open>,
}

/// How a step went.
pub enum Step {
    /// So.
    Did(String),
    /// Refused: for instance the repository is poisoned.
    Refused(String),
}

/// What a client works with.
pub struct Surroundings<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// What it should do.
    pub model: &'a mut Model,
    /// Decides what is done.
    pub random: &'a mut Random,
    /// The time.
    pub now_ms: u64,
    /// How many keys a collection has.
    pub keys: u64,
    /// Whether there are photos.
    pub has_photos: bool,
}

/// Something that went wrong with a call that may go wrong.
type Refusal = String;

fn name(collection: usize) -> CollectionName {
    CollectionName::new(COLLECTIONS[collection].0).expect("the names keep to the rule")
}

fn key(place: &Place) -> Key {
    Key::new(&place.1).expect("the keys keep to the rule")
}

/// The place right after this one.
fn after(place: &Place) -> Place {
    (place.0, format!("{}\0", place.1))
}

impl Client {
    /// Forgets what is under way: its process has died.
    pub fn die(&mut self) {
        self.open = None;
    }

    /// Takes the next step.
    pub fn step(&mut self, around: &mut Surroundings<'_>) -> Result<Step, Finding> {
        let Some(mut open) = self.open.take() else {
            return Ok(match self.begin(around) {
                Ok(view) => Step::Did(format!("begin on {view}")),
                Err(refusal) => Step::Refused(refusal),
            });
        };
        let done = match around.random.below(10) {
            0..3 => get(&mut open, around)?,
            3 if around.random.percent(40) => index(&mut open, around)?,
            3 if around.random.percent(50) => past(&mut open, around)?,
            3 => range(&mut open, around)?,
            4..8 => stage(&mut open, around),
            8 => return commit(open, around),
            // It is given up sometimes.
            _ if around.random.percent(20) => return Ok(Step::Did("give up".to_owned())),
            _ => return commit(open, around),
        };
        Ok(match done {
            Ok(did) => {
                self.open = Some(open);
                Step::Did(did)
            }
            Err(refusal) => Step::Refused(refusal),
        })
    }

    fn begin(&mut self, around: &mut Surroundings<'_>) -> Result<u64, Refusal> {
        let transaction = around.repository.begin();
        let mut transaction = transaction.map_err(|error| error.to_string())?;
        let is_serializable = around.random.percent(85);
        if !is_serializable {
            transaction.set_isolation(Isolation::Snapshot);
        }
        let view = transaction.view().0;
        around.model.pass(transaction.time().0);
        let (reads, index_reads, writes) = (Vec::new(), Vec::new(), Vec::new());
        self.open = Some(Open { transaction, is_serializable, reads, index_reads, writes });
        Ok(view)
    }
}

fn pick(around: &mut Surroundings<'_>) -> Place {
    let most = if around.has_photos { PHOTOS } else { 0 };
    let collection = *around.random.pick(&[0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, most]);
    (collection, format!("k{:02}", around.random.below(around.keys)))
}

/// A read may be refused to a view that is too old, and for no other reason.
fn refusal(error: ReadError, age_ms: u64) -> Result<Refusal, Finding> {
    match error {
        ReadError::ViewTooOld(_) if age_ms >= VIEW_AGE_MAX_MS => Ok(error.to_string()),
        other => Err(Finding(format!("a read failed on a view of {age_ms} ms: {other}"))),
    }
}

fn get(open: &mut Open, around: &mut Surroundings<'_>) -> Result<Result<String, Refusal>, Finding> {
    let place = pick(around);
    if open.writes.iter().any(|(written, _)| *written == place) {
        return Ok(Ok("read an own write".to_owned()));
    }
    let is_peek = around.random.percent(20);
    let transaction = &mut open.transaction;
    let read = match is_peek {
        true => transaction.peek(&name(place.0), &key(&place)),
        false => transaction.get(&name(place.0), &key(&place)),
    };
    let document = match read {
        Ok(document) => document,
        Err(error) => return refusal(error, around.now_ms - transaction.time().0).map(Err),
    };
    let got = match document.map(|d| Ok((shown(transaction, &d, around)?, d.version.0))).transpose()
    {
        Ok(got) => got,
        Err(Unread::Refused(why)) => return Ok(Err(why)),
        Err(Unread::Wrong(finding)) => return Err(finding),
    };
    let (view, now) = (transaction.view().0, transaction.time().0);
    let seen = around.model.seen(&place, view, now).map(|v| (v.value.to_string(), v.number));
    expect(got == seen, || {
        format!("{place:?} on view {view} at {now}: expected {seen:?}, got {got:?}")
    })?;
    if !is_peek {
        open.reads.push((place.clone(), after(&place)));
    }
    Ok(Ok(format!("read {place:?}: {got:?}")))
}

/// Why the content of a document could not be read.
enum Unread {
    /// The disk failed, or the view is too old.
    Refused(Refusal),
    /// It must be there, and whole.
    Wrong(Finding),
}

/// What a document says.
fn shown(
    transaction: &Transaction,
    document: &Document,
    around: &Surroundings<'_>,
) -> Result<String, Unread> {
    photo::text(transaction, document).map_err(|error| match error {
        BlobError::Io { .. } => Unread::Refused(error.to_string()),
        BlobError::Read(error) => match refusal(error, around.now_ms - transaction.time().0) {
            Ok(why) => Unread::Refused(why),
            Err(finding) => Unread::Wrong(finding),
        },
        error => Unread::Wrong(Finding(error.to_string())),
    })
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}

fn range(
    open: &mut Open,
    around: &mut Surroundings<'_>,
) -> Result<Result<String, Refusal>, Finding> {
    let (a, b) = (pick(around), pick(around));
    if open.writes.iter().any(|((collection, _), _)| *collection == a.0) {
        return Ok(Ok("no range: it would have own writes in it".to_owned()));
    }
    let (from, to) = (a.1.clone().min(b.1.clone()), a.1.clone().max(b.1));
    let (from, to) = ((a.0, from), (a.0, to));
    let bounds = KeyRange::new(Bound::Included(key(&from)), Bound::Excluded(key(&to)));
    let limit = around.random.between(1, 12) as usize;
    let direction = *around.random.pick(&[Direction::Ascending, Direction::Descending]);
    let transaction = &mut open.transaction;
    let found = match transaction.range(&name(a.0), &bounds, direction, limit) {
        Ok(found) => found,
        Err(error) => return refusal(error, around.now_ms - transaction.time().0).map(Err),
    };
    let pair = |(key, document): &(Key, Arc<Document>)| {
        Ok((key.as_str().to_owned(), shown(transaction, document, around)?))
    };
    let got = match found.iter().map(pair).collect::<Result<Vec<(String, String)>, Unread>>() {
        Ok(got) => got,
        Err(Unread::Refused(why)) => return Ok(Err(why)),
        Err(Unread::Wrong(finding)) => return Err(finding),
    };
    let (view, now) = (transaction.view().0, transaction.time().0);
    let mut seen = around.model.range((&from, &to), view, now);
    if direction == Direction::Descending {
        seen.reverse();
    }
    seen.truncate(limit);
    let seen: Vec<(String, String)> =
        seen.into_iter().map(|(key, value)| (key.to_owned(), value.to_string())).collect();
    expect(got == seen, || {
        let range = format!("{from:?}..{to:?} {direction:?} {limit}");
        format!("{range} on {view} at {now}: expected {seen:?}, got {got:?}")
    })?;
    // Where the limit was reached, only what lies before the last one was seen.
    let (mut from, mut to) = (from, to);
    if let (true, Some((last, _))) = (got.len() == limit, got.last()) {
        match direction {
            Direction::Ascending => to = after(&(a.0, last.clone())),
            Direction::Descending => from = (a.0, last.clone()),
        }
    }
    let did = format!("range {from:?}..{to:?}: {} documents", got.len());
    open.reads.push((from, to));
    Ok(Ok(did))
}

/// What was there at any moment is what the model remembers, or is said not to be known.
fn past(
    open: &mut Open,
    around: &mut Surroundings<'_>,
) -> Result<Result<String, Refusal>, Finding> {
    let collection = HISTORIES[around.random.below(HISTORIES.len() as u64) as usize];
    let place = (collection, pick(around).1);
    let transaction = &mut open.transaction;
    let view = transaction.view().0;
    let number = view - around.random.below(view + 1).min(around.random.below(60));
    let moment = Moment::Commit(CommitNumber(number));
    let found = match transaction.past(&name(collection), &key(&place), moment) {
        Ok(found) => found,
        Err(error) => return refusal(error, around.now_ms - transaction.time().0).map(Err),
    };
    let got = match &found {
        Past::Document(document) => match shown(&open.transaction, document, around) {
            Ok(text) => Some((text.parse().unwrap_or(i64::MIN), document.version.0)),
            Err(Unread::Refused(why)) => return Ok(Err(why)),
            Err(Unread::Wrong(finding)) => return Err(finding),
        },
        Past::Absent => None,
        Past::NotKept(_) => {
            let may_be = around.model.may_be_forgotten(&place, number);
            expect(may_be, || format!("{place:?} after {number} on {view}: {found:?}"))?;
            return Ok(Ok(format!("past of {place:?} after {number}: not kept")));
        }
        Past::NotYet(..) => return Err(Finding(format!("{number} on {view}: {found:?}"))),
    };
    let compared = around.model.may_have_been(&place, number, got);
    compared.map_err(|expected| {
        let what = format!("{place:?} after {number} on {view}");
        Finding(format!("{what}: expected {expected}, got {got:?}"))
    })?;
    Ok(Ok(format!("past of {place:?} after {number}: {got:?}")))
}

fn index(
    open: &mut Open,
    around: &mut Surroundings<'_>,
) -> Result<Result<String, Refusal>, Finding> {
    if open.writes.iter().any(|((collection, _), _)| *collection == 0) {
        return Ok(Ok("no index: it would have own writes in it".to_owned()));
    }
    let (a, b) = (around.random.below(1200) as i64, around.random.below(1200) as i64);
    let values = (a.min(b), a.max(b));
    let bound = |value: i64| Bound::Included(IndexValue::Number(value as f64));
    let range = IndexRange { equal: Vec::new(), from: bound(values.0), to: bound(values.1) };
    let limit = around.random.between(1, 12) as usize;
    let direction = *around.random.pick(&[Direction::Ascending, Direction::Descending]);
    let transaction = &mut open.transaction;
    let found = match transaction.index_range(&name(0), INDEX, &range, direction, limit) {
        Ok(found) => found,
        Err(ReadError::NoIndex { .. } | ReadError::IndexNotReady { .. }) => {
            return Ok(Ok("there is no index".to_owned()));
        }
        Err(error) => return refusal(error, around.now_ms - transaction.time().0).map(Err),
    };
    let got: Vec<(String, String)> =
        found.iter().map(|e| (text(&e.document.body), e.key.as_str().to_owned())).collect();
    let (view, now) = (transaction.view().0, transaction.time().0);
    let mut read = IndexRead { values, direction, limit, seen: Vec::new() };
    read.seen = read.expected(around.model, view, now);
    let seen: Vec<(String, String)> =
        read.seen.iter().map(|(value, key)| (value.to_string(), key.clone())).collect();
    expect(got == seen, || {
        let range = format!("{values:?} {direction:?} {limit}");
        format!("index {range} on {view} at {now}: expected {seen:?}, got {got:?}")
    })?;
    open.index_reads.push(read);
    Ok(Ok(format!("index {values:?}: {} documents", got.len())))
}

impl IndexRead {
    fn expected(&self, model: &Model, view: u64, now_ms: u64) -> Vec<(i64, String)> {
        let mut seen = model.index(self.values, view, now_ms);
        if self.direction == Direction::Descending {
            seen.reverse();
        }
        seen.truncate(self.limit);
        seen
    }
}

fn stage(open: &mut Open, around: &mut Surroundings<'_>) -> Result<String, Refusal> {
    let place = pick(around);
    if open.writes.iter().any(|(written, _)| *written == place) {
        return Ok("stage nothing: it is staged already".to_owned());
    }
    if place.0 == PHOTOS {
        return stage_photo(open, around, place);
    }
    let value = around.random.below(1000) as i64;
    let soon = open.transaction.time().0 + around.random.below(5000);
    let change = match around.random.below(10) {
        0..2 => Change::Put(value, Some(soon)),
        2..5 => Change::Put(value, None),
        5..7 => Change::Delete,
        7..9 => Change::Add(value),
        _ => Change::Max(value),
    };
    let (collection, at) = (name(place.0), key(&place));
    let transaction = &mut open.transaction;
    let path = String::new;
    let staged = match &change {
        Change::Put(value, expires) => {
            let body = value.to_string().into_bytes().into();
            transaction.put(&collection, &at, MediaType::Json, body, expires.map(Timestamp))
        }
        Change::Delete => transaction.delete(&collection, &at),
        Change::Add(delta) => {
            let operation = Merge::Add { path: path(), delta: *delta as f64 };
            transaction.merge(&collection, &at, operation)
        }
        Change::Max(value) => {
            let operation = Merge::Max { path: path(), value: *value as f64 };
            transaction.merge(&collection, &at, operation)
        }
    };
    staged.map_err(|error: StageError| error.to_string())?;
    let did = format!("stage {place:?} {change:?}");
    open.writes.push((place, change));
    Ok(did)
}

/// A new photo, that of another document, or none.
fn stage_photo(
    open: &mut Open,
    around: &mut Surroundings<'_>,
    place: Place,
) -> Result<String, Refusal> {
    let (collection, at) = (name(place.0), key(&place));
    let transaction = &mut open.transaction;
    let soon = transaction.time().0 + around.random.below(5000);
    let expires = around.random.percent(30).then_some(soon);
    let other = (PHOTOS, format!("k{:02}", around.random.below(around.keys)));
    let kind = around.random.below(10);
    let (value, content) = match kind {
        0..3 => {
            transaction.delete(&collection, &at).map_err(|error| error.to_string())?;
            open.writes.push((place.clone(), Change::Delete));
            return Ok(format!("stage the deletion of {place:?}"));
        }
        3..6 => {
            let document = transaction.peek(&collection, &key(&other));
            let Some(document) = document.map_err(|error| error.to_string())? else {
                return Ok(format!("stage nothing: there is no {other:?} to copy"));
            };
            let pin = transaction.pin_blob(&document).map_err(|error| error.to_string())?;
            let Some(pin) = pin else { return Ok("stage nothing: it is no blob".to_owned()) };
            let text = photo::text(transaction, &document).map_err(|error| error.to_string())?;
            (text.parse().map_err(|_| text)?, Content::Blob(pin))
        }
        _ => {
            let value = around.random.below(photo::PHOTOS_MAX) as i64;
            (value, photo::write(around.repository, value)?)
        }
    };
    let media_type = MediaType::Other("image/png".into());
    let at_ms = expires.map(Timestamp);
    let staged = transaction.put_content(&collection, &at, media_type, &content, at_ms);
    staged.map_err(|error| error.to_string())?;
    open.writes.push((place.clone(), Change::Put(value, expires)));
    Ok(format!("stage photo {value} as {place:?}, kind {kind}, until {expires:?}"))
}

/// Whether what was not there is not there again, because all has ended meanwhile: that is as the
/// view saw it.
fn is_void(model: &Model, (from, to): (&Place, &Place), (view, now): (u64, u64)) -> bool {
    model.last_end(from.0) > view
        && model.range((from, to), view, now).is_empty()
        && model.range((from, to), u64::MAX, model.time_ms()).is_empty()
}

fn commit(open: Open, around: &mut Surroundings<'_>) -> Result<Step, Finding> {
    let (view, now) = (open.transaction.view().0, open.transaction.time().0);
    match open.transaction.commit() {
        Ok(Outcome::Committed(number)) => {
            if open.is_serializable {
                let time = around.model.time_ms();
                for read in &open.index_reads {
                    let now_seen = read.expected(around.model, u64::MAX, time);
                    expect(now_seen == read.seen, || {
                        let values = read.values;
                        format!("{number} on {view} read the index at {values:?}, which changed")
                    })?;
                }
                for (from, to) in &open.reads {
                    let change = around.model.last_change(from, to);
                    let is_void = is_void(around.model, (from, to), (view, now));
                    expect(change <= view || is_void, || {
                        format!("{number} on {view} read {from:?}..{to:?}, which {change} changed")
                    })?;
                    // Somebody may have seen by then that it is gone.
                    let seen = around.model.range((from, to), view, now);
                    expect(seen == around.model.range((from, to), view, time), || {
                        format!("{number} at {time} read {from:?}..{to:?}, some of which expired")
                    })?;
                }
            } else {
                for (place, change) in &open.writes {
                    let changed = around.model.last_change(place, &after(place));
                    let is_intent = matches!(change, Change::Add(_) | Change::Max(_));
                    let is_void = is_void(around.model, (place, &after(place)), (view, now));
                    expect(is_intent || is_void || changed <= view, || {
                        format!("{number} on {view} wrote {place:?}, which {changed} changed")
                    })?;
                }
            }
            around.model.commit(number.0, &open.writes);
            Ok(Step::Did(format!("commit {number}: {:?}", open.writes)))
        }
        Ok(Outcome::Unchanged(seen)) => {
            expect(open.writes.is_empty() && seen.0 == view, || {
                format!("unchanged at {seen} on {view}, with {:?}", open.writes)
            })?;
            Ok(Step::Did("commit nothing".to_owned()))
        }
        Ok(Outcome::Conflict(conflict)) => {
            // One without a competitor lost because what it had read has expired.
            let time = around.model.time_ms();
            let has_expired = open.reads.iter().any(|(from, to)| {
                around.model.range((from, to), view, now)
                    != around.model.range((from, to), view, time)
            }) || open
                .index_reads
                .iter()
                .any(|read| read.seen != read.expected(around.model, view, time));
            expect(conflict.competitor.0 > view || has_expired, || {
                format!("on {view}: {conflict:?}")
            })?;
            Ok(Step::Did(format!("conflict with {}", conflict.competitor)))
        }
        Ok(other) => Err(Finding(format!("unexpected: {other:?}"))),
        Err(CommitError::NoProgress) => Err(Finding("no progress".to_owned())),
        Err(error) => Ok(Step::Refused(error.to_string())),
    }
}
