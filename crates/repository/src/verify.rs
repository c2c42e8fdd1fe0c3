//! Verify: reads everything a repository holds and checks what must be true of it. It goes on
//! behind damage and says what is lost. It takes the lock and changes no data; the storage engine
//! removes leftovers of its own when it is opened, which it is only if its list of tables is whole.

mod unmade;

use crate::at_rest::{AtRest, EngineState};
use crate::blobs::{self, BlobReference, Blobs, CheckedBlobs};
use crate::disk::Files;
use crate::document::{CommitNumber, Document, MediaType, Timestamp};
use crate::engine::{Engine, lists};
use crate::errors::{OpenError, ReadError};
use crate::folder::Folder;
use crate::history;
use crate::hot::{Collection, Hot, Index};
use crate::json;
use crate::name::Key;
use crate::range::Direction;
use crate::recovery;
use crate::rows::{self, RowChange};
use crate::snapshot::Snapshot;
use crate::store::Clock;
use crate::tranlog::losses;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// Findings listed one by one; more are only counted.
const FINDINGS_MAX: usize = 100;

/// Block cache while everything is read once.
const CACHE_BYTES: u64 = 16 << 20;

/// What a repository holds, and what is wrong with it.
#[derive(Clone, Debug, Default)]
pub struct VerifyReport {
    /// The last commit.
    pub last: CommitNumber,
    /// The commit that the storage engine holds.
    pub checkpoint: CommitNumber,
    /// Commits that only the tranlog holds.
    pub replayed: u64,
    /// Documents by collection, expired ones included.
    pub documents: BTreeMap<String, u64>,
    /// Blobs that documents name.
    pub blobs: u64,
    /// Their bytes.
    pub blob_bytes: u64,
    /// Files of blobs that nobody names: kept for the log, or of a crash. They go in time.
    pub blobs_unnamed: u64,
    /// An unfinished write at the end of the tranlog, which opening will drop.
    pub torn_tail: Option<String>,
    /// What is wrong, one line each, at most a hundred; one that says what is gone begins with
    /// "lost: ".
    pub findings: Vec<String>,
    /// How many things are wrong.
    pub wrong: u64,
}

impl VerifyReport {
    fn found(&mut self, what: String) {
        self.wrong += 1;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(what);
        }
    }
}

/// Reads and checks the repository in `folder`. `Err`: it is no repository, or another process has
/// it open.
pub fn verify(folder: &Path) -> Result<VerifyReport, OpenError> {
    let folder = Folder::open(Arc::new(Files), folder)?;
    let mut report = VerifyReport::default();
    if lists::is_unmade(&folder.engine()).unwrap_or(false) {
        // All that there is, if nothing is missing, is in the log.
        return check_whole(&folder, Box::new(unmade::Unmade), report.clone()).or_else(|error| {
            report.found(error.to_string());
            Ok(without_engine(&folder, report))
        });
    }
    if let Err(damage) = lists::check(&folder.engine()) {
        report.found(damage.to_string());
        if let Some(list) = lists::before_current(&folder.engine()) {
            let list = list.path(&folder.engine());
            let list = list.display();
            report
                .found(format!("{list} is whole: opening goes back to it, and reads the tranlog"));
            return Ok(report);
        }
        return Ok(without_engine(&folder, report));
    }
    let open = || guarded(&folder, || Engine::open(&folder.engine(), CACHE_BYTES));
    let engine = match open() {
        Ok(engine) => engine,
        Err(error) => {
            report.found(error.to_string());
            return Ok(without_engine(&folder, report));
        }
    };
    engine.check_files().into_iter().for_each(|why| report.found(why));
    let whole = guarded(&folder, || check_whole(&folder, Box::new(engine), report.clone()));
    match whole {
        Ok(report) => Ok(report),
        Err(error) => {
            report.found(error.to_string());
            match open() {
                Ok(engine) => Ok(without_log(&folder, &engine, report)),
                Err(_said) => Ok(without_engine(&folder, report)),
            }
        }
    }
}

/// What damage makes the storage engine do is not foreseen everywhere.
fn guarded<T>(
    folder: &Folder,
    work: impl FnOnce() -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_panic| {
        let why = "its files are not what it has written".to_owned();
        Err(OpenError::Engine { path: folder.engine(), why })
    })
}

fn check_whole(
    folder: &Folder,
    engine: Box<dyn AtRest>,
    mut report: VerifyReport,
) -> Result<VerifyReport, OpenError> {
    let no_clock: Clock = Arc::new(|| Timestamp(0));
    let replayed = recovery::replay(folder, engine, &no_clock)?;
    report.last = replayed.scan.last;
    report.checkpoint = replayed.checkpoint;
    report.replayed = replayed.commits;
    report.torn_tail = replayed
        .scan
        .torn_tail
        .as_ref()
        .map(|torn| format!("{} at offset {}", torn.segment.display(), torn.offset));
    let (at, last) = (replayed.views.engine(), replayed.scan.last);
    let blobs = Arc::new(folder.blobs(&replayed.hot.unnamed));
    let checker = Checker::new(&replayed.hot, &*replayed.engine, (at, last), report);
    Ok(checker.check(&blobs))
}

/// The tables may be whole, but nothing says which of them count.
fn without_engine(folder: &Folder, mut report: VerifyReport) -> VerifyReport {
    report.found("lost: every document that only the storage engine has".to_owned());
    losses(&folder.tranlog(), CommitNumber(0)).into_iter().for_each(|line| report.found(line));
    report
}

/// What the engine holds is whole by itself, as of its commit.
fn without_log(folder: &Folder, engine: &Engine, mut report: VerifyReport) -> VerifyReport {
    let held = engine.state_row().unwrap_or_default();
    (report.last, report.checkpoint) = (held.commit, held.commit);
    losses(&folder.tranlog(), held.commit).into_iter().for_each(|line| report.found(line));
    let hot = Hot::new();
    let blobs = Arc::new(folder.blobs(&hot.unnamed));
    at_rest(engine, (engine.state(held.commit), &hot), &blobs, report)
}

/// Checks what is at rest, without what is in memory.
fn at_rest(
    engine: &dyn AtRest,
    (at, hot): (EngineState, &Hot),
    blobs: &Arc<Blobs>,
    mut report: VerifyReport,
) -> VerifyReport {
    let load = || recovery::load_collections(hot, engine, at).map_err(|error| error.to_string());
    let loaded = catch_unwind(AssertUnwindSafe(load));
    if let Err(why) = loaded.unwrap_or_else(|_panic| Err("its rows cannot be read".to_owned())) {
        report.found(format!("lost: what collections there are: {why}"));
    }
    Checker::new(hot, engine, (at, at.commit), report).check(blobs)
}

impl Snapshot {
    /// Checks what the storage engine has of everything at this commit, while commits go on: files,
    /// documents, indexes. Of the tranlog it says nothing.
    pub fn verify(&self) -> VerifyReport {
        let (engine, at, blobs) = self.engine();
        let mut report =
            VerifyReport { last: at.commit, checkpoint: at.commit, ..VerifyReport::default() };
        engine.check_files().into_iter().for_each(|why| report.found(why));
        let mut report = at_rest(engine, (at, &Hot::new()), blobs, report);
        // Some of these are of later commits, or on their way to one.
        report.blobs_unnamed = 0;
        report
    }
}

/// As [`verify`], of a folder that is open and not expected to be damaged.
pub(crate) fn verify_folder(
    folder: &Folder,
    engine: Box<dyn AtRest>,
) -> Result<VerifyReport, OpenError> {
    check_whole(folder, engine, VerifyReport::default())
}

/// Passes every document and every row of an index once.
struct Checker<'a> {
    hot: &'a Hot,
    engine: &'a dyn AtRest,
    at: EngineState,
    last: CommitNumber,
    everything: BTreeMap<u32, Arc<Collection>>,
    /// Those whose rows follow from what was, and so from nothing that is there.
    histories: BTreeSet<u32>,
    /// Rows that follow from documents, by the id under which the engine has them.
    expected: BTreeMap<u32, u64>,
    /// Rows that are there.
    found: BTreeMap<u32, u64>,
    /// The blobs that documents name, and who does.
    blobs: BTreeMap<BlobReference, String>,
    /// Collections that could not be read as a whole: nothing follows from what is missing.
    cut: BTreeSet<u32>,
    report: VerifyReport,
}

impl<'a> Checker<'a> {
    fn new(
        hot: &'a Hot,
        engine: &'a dyn AtRest,
        (at, last): (EngineState, CommitNumber),
        report: VerifyReport,
    ) -> Self {
        let history = |c: Arc<Collection>| Some(c.shape().history.as_ref()?.rows.id);
        Self {
            hot,
            engine,
            at,
            last,
            everything: hot.everything().into_iter().map(|c| (c.id, c)).collect(),
            histories: hot.collections().into_iter().filter_map(history).collect(),
            expected: BTreeMap::new(),
            found: BTreeMap::new(),
            blobs: BTreeMap::new(),
            cut: BTreeSet::new(),
            report,
        }
    }

    fn check(mut self, blobs: &Arc<Blobs>) -> VerifyReport {
        let read = catch_unwind(AssertUnwindSafe(|| {
            self.check_engine();
            self.check_memory();
        }));
        if read.is_err() {
            self.report.found("the storage engine's files cannot be read".to_owned());
        } else {
            self.compare_rows();
            self.check_blobs(blobs);
        }
        self.report
    }

    /// What the engine holds and memory does not.
    fn check_engine(&mut self) {
        let ids: Vec<u32> = self.everything.keys().copied().collect();
        for id in ids {
            self.check_collection(id);
        }
        // Ids that no collection has: whatever is there belongs to nobody.
        let end = self.hot.next_id();
        for id in (1..end).filter(|id| !self.everything.contains_key(id)).collect::<Vec<_>>() {
            let (engine, at) = (self.engine, self.at);
            let all = (Bound::Unbounded, Bound::Unbounded);
            let read = engine.range(at, id, all, Direction::Ascending, &mut |key, _| {
                self.report.found(format!("{key}: it is in collection {id}, which has no name"));
                ControlFlow::Break(())
            });
            if let Err(error) = read {
                self.report.found(error.to_string());
            }
        }
    }

    /// Reads a collection from its front; what is behind damage from its back.
    fn check_collection(&mut self, id: u32) {
        let (mut first, mut last) = (None, None);
        let Err(error) = self.pass_all(id, &mut first) else { return };
        self.cut.insert(id);
        let from_back = self.pass_back(id, first.as_deref(), &mut last);
        let name = self.everything.get(&id).map(|c| c.name.to_string()).unwrap_or_default();
        let what = match self.everything.get(&id).is_some_and(|c| self.is_rows(c)) {
            true => format!("rows {id} of {name}"),
            false => name,
        };
        let from = first.map_or("the first".to_owned(), |key| format!("behind {key:?}"));
        let to = match (from_back, last) {
            (Ok(()), _) | (_, None) => "the last".to_owned(),
            (Err(_), Some(key)) => format!("before {key:?}"),
        };
        self.report.found(format!("lost: {what}: keys from {from} to {to}: {error}"));
    }

    fn pass_all(&mut self, id: u32, passed: &mut Option<String>) -> Result<(), ReadError> {
        let (engine, at) = (self.engine, self.at);
        let all = (Bound::Unbounded, Bound::Unbounded);
        engine.range(at, id, all, Direction::Ascending, &mut |key, document| {
            *passed = Some(key.to_owned());
            self.pass_row(id, key, &document);
            ControlFlow::Continue(())
        })
    }

    /// From the back until `first`, which was read from the front.
    fn pass_back(
        &mut self,
        id: u32,
        first: Option<&str>,
        passed: &mut Option<String>,
    ) -> Result<(), ReadError> {
        let (engine, at) = (self.engine, self.at);
        let from = first.map_or(Bound::Unbounded, Bound::Excluded);
        engine.range(at, id, (from, Bound::Unbounded), Direction::Descending, &mut |key, doc| {
            *passed = Some(key.to_owned());
            self.pass_row(id, key, &doc);
            ControlFlow::Continue(())
        })
    }

    fn pass_row(&mut self, id: u32, key: &str, document: &Document) {
        let Some(collection) = self.everything.get(&id).cloned() else { return };
        let key = Key::generated(key.to_owned());
        if collection.last_change(&key).is_none() {
            self.pass(&collection, &key, document, self.at.commit);
        }
    }

    /// Whether it holds rows of an index, or of what expires.
    fn is_rows(&self, collection: &Collection) -> bool {
        self.hot.by_id(collection.id).is_none()
    }

    fn check_memory(&mut self) {
        let last = self.last;
        for collection in self.hot.everything() {
            collection.each(|key, document| {
                if let Some(document) = document {
                    self.pass(&collection, key, document, last);
                }
            });
        }
    }

    fn pass(
        &mut self,
        collection: &Arc<Collection>,
        key: &Key,
        document: &Document,
        last: CommitNumber,
    ) {
        let hot = self.hot;
        if self.is_rows(collection) {
            if !self.histories.contains(&collection.id) {
                *self.found.entry(collection.id).or_default() += 1;
            }
            // Kept versions may expire, and name blobs.
            let expiry = RowChange::version_expiry(collection, key, document, true);
            let blob = document.blob;
            let named = blob.map(|blob| RowChange::version_blob(collection, key, blob, true));
            for row in expiry.into_iter().chain(named) {
                let (rows, row) = row.place(hot, collection, key);
                self.expect(&rows, &row, key);
            }
            if let Some(blob) = blob {
                let by = || format!("{}/{}", collection.name, history::told(key.as_str()));
                self.blobs.entry(blob).or_insert_with(by);
            }
            return;
        }
        if let Some(blob) = document.blob {
            let by = || format!("{}/{key}", collection.name);
            self.blobs.entry(blob).or_insert_with(by);
        }
        check(&mut self.report, (collection.name.as_str(), key), document, last);
        let (rows, unfit) = rows::of_document(collection, key, document);
        for row in rows {
            let (rows, row) = row.place(hot, collection, key);
            self.expect(&rows, &row, key);
        }
        if let Some(error) = unfit {
            self.report.found(format!("{}/{key}: {error}", collection.name));
        }
    }

    /// Checks that the document `key` has this row.
    fn expect(&mut self, rows: &Arc<Collection>, row: &Key, key: &Key) {
        *self.expected.entry(rows.id).or_default() += 1;
        let is_there = match rows.find(row) {
            Some(cell) => Ok(cell.newest().document.is_some()),
            None => self.engine.get(self.at, rows.id, row.as_str()).map(|row| row.is_some()),
        };
        match is_there {
            Ok(true) => {}
            Ok(false) if self.is_partial(rows.id) || self.cut.contains(&rows.id) => {}
            Ok(false) => {
                let id = rows.id;
                self.report.found(format!("{}/{key}: it has no row in index {id}", rows.name));
            }
            Err(error) => self.report.found(error.to_string()),
        }
    }

    /// Whether the index is being built or cleared away, so that its rows need not be all.
    fn is_partial(&self, id: u32) -> bool {
        self.hot.with_ended().iter().any(|collection| {
            let shape = collection.shape();
            let building = |index: &Arc<Index>| index.rows.id == id && !index.is_ready();
            shape.indexes.iter().any(building) || shape.dropped.iter().any(|rows| rows.id == id)
        })
    }

    fn check_blobs(&mut self, blobs: &Arc<Blobs>) {
        let CheckedBlobs { named, bytes, unnamed, wrong } = blobs::check(blobs, &self.blobs);
        let report = &mut self.report;
        (report.blobs, report.blob_bytes, report.blobs_unnamed) = (named, bytes, unnamed);
        wrong.into_iter().for_each(|why| report.found(why));
    }

    /// As many rows as documents have: with every one of theirs there, there are no others.
    fn compare_rows(&mut self) {
        // Of what is lost nothing follows.
        if !self.cut.is_empty() {
            return;
        }
        let ids: BTreeSet<u32> = self.found.keys().chain(self.expected.keys()).copied().collect();
        for id in ids.into_iter().filter(|id| !self.is_partial(*id)).collect::<Vec<_>>() {
            let count = |rows: &BTreeMap<u32, u64>| rows.get(&id).copied().unwrap_or_default();
            let (found, expected) = (count(&self.found), count(&self.expected));
            if found != expected {
                self.report
                    .found(format!("index {id} has {found} rows, its documents have {expected}"));
            }
        }
    }
}

fn check(
    report: &mut VerifyReport,
    (name, key): (&str, &Key),
    document: &Document,
    last: CommitNumber,
) {
    *report.documents.entry(name.to_owned()).or_default() += 1;
    let mut wrong = |why: String| report.found(format!("{name}/{key}: {why}"));
    if let Err(error) = Key::new(key.as_str()) {
        wrong(error.to_string());
    }
    if document.version > last || document.version == CommitNumber(0) {
        wrong(format!("version {} is not among the commits up to {last}", document.version));
    }
    if document.created > document.updated {
        wrong("it was updated before it was created".to_owned());
    }
    if document.media_type == MediaType::Json {
        match json::canonicalize(&document.body) {
            Ok(text) if text == document.body => {}
            Ok(_) => wrong("its JSON is not in canonical form".to_owned()),
            Err(error) => wrong(error.to_string()),
        }
    }
}
