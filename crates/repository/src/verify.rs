//! Verify: reads everything a repository holds and checks what must be true of it. It takes the
//! lock and changes no data; the storage engine removes leftovers of its own when it is opened.

use crate::blobs::{self, BlobReference, Blobs, CheckedBlobs};
use crate::disk::Files;
use crate::document::{CommitNumber, Document, MediaType, Timestamp};
use crate::engine::Engine;
use crate::errors::OpenError;
use crate::folder::Folder;
use crate::hot::{Collection, Index};
use crate::json;
use crate::name::Key;
use crate::recovery::{self, Replayed};
use crate::rows::{self, RowChange};
use crate::store::Clock;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
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
    /// Files of blobs that nobody names: of a crash, and to be removed after the next opening.
    pub blobs_unnamed: u64,
    /// An unfinished write at the end of the tranlog, which opening will drop.
    pub torn_tail: Option<String>,
    /// What is wrong, one line each, at most a hundred.
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

/// Reads and checks the repository in `folder`. `Err`: it cannot be read at all.
pub fn verify(folder: &Path) -> Result<VerifyReport, OpenError> {
    let data = folder;
    let folder = Folder::open(Arc::new(Files), data)?;
    let engine = Engine::open(&folder.engine(), CACHE_BYTES)?;
    let no_clock: Clock = Arc::new(|| Timestamp(0));
    let replayed = recovery::replay(&folder, Box::new(engine), &no_clock)?;
    let report = VerifyReport {
        last: replayed.scan.last,
        checkpoint: replayed.checkpoint,
        replayed: replayed.commits,
        torn_tail: replayed
            .scan
            .torn_tail
            .as_ref()
            .map(|torn| format!("{} at offset {}", torn.segment.display(), torn.offset)),
        ..VerifyReport::default()
    };
    let everything = replayed.hot.everything().into_iter().map(|c| (c.id, c)).collect();
    let history = |c: Arc<Collection>| Some(c.shape().history.as_ref()?.rows.id);
    let histories = replayed.hot.collections().into_iter().filter_map(history).collect();
    let mut checker = Checker {
        replayed: &replayed,
        everything,
        histories,
        expected: BTreeMap::new(),
        found: BTreeMap::new(),
        blobs: BTreeMap::new(),
        report,
    };
    checker.check_engine();
    checker.check_memory();
    checker.compare_rows();
    let blobs = Blobs::new(Arc::new(Files), data, &replayed.hot.unnamed);
    checker.check_blobs(&Arc::new(blobs));
    Ok(checker.report)
}

/// Passes every document and every row of an index once.
struct Checker<'a> {
    replayed: &'a Replayed,
    everything: BTreeMap<u32, Arc<Collection>>,
    /// Those whose rows follow from what was, and so from nothing that is there.
    histories: BTreeSet<u32>,
    /// Rows that follow from documents, by the id under which the engine has them.
    expected: BTreeMap<u32, u64>,
    /// Rows that are there.
    found: BTreeMap<u32, u64>,
    /// The blobs that documents name, and who does.
    blobs: BTreeMap<BlobReference, String>,
    report: VerifyReport,
}

impl Checker<'_> {
    /// What the engine holds and memory does not.
    fn check_engine(&mut self) {
        let replayed = self.replayed;
        let at = replayed.views.engine();
        let scanned = replayed.engine.scan(at, &mut |id, key, document| {
            match self.everything.get(&id).cloned() {
                Some(collection) => {
                    let key = Key::generated(key.to_owned());
                    if collection.last_change(&key).is_none() {
                        self.pass(&collection, &key, &document, at.commit);
                    }
                }
                None => {
                    self.report
                        .found(format!("{key}: it is in collection {id}, which has no name"));
                }
            }
            ControlFlow::Continue(())
        });
        if let Err(error) = scanned {
            self.report.found(error.to_string());
        }
    }

    fn check_memory(&mut self) {
        let last = self.replayed.scan.last;
        for collection in self.replayed.hot.everything() {
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
        let hot = &self.replayed.hot;
        let is_document = hot.by_id(collection.id).is_some();
        if !is_document {
            if !self.histories.contains(&collection.id) {
                *self.found.entry(collection.id).or_default() += 1;
            }
            // Kept versions may expire.
            if let Some(row) = RowChange::version_expiry(collection, key, document, true) {
                let (rows, row) = row.place(hot, collection, key);
                self.expect(&rows, &row, key);
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
        let replayed = self.replayed;
        let is_there = match rows.find(row) {
            Some(cell) => Ok(cell.newest().document.is_some()),
            None => {
                let at = replayed.views.engine();
                replayed.engine.get(at, rows.id, row.as_str()).map(|row| row.is_some())
            }
        };
        match is_there {
            Ok(true) => {}
            Ok(false) if self.is_partial(rows.id) => {}
            Ok(false) => {
                let id = rows.id;
                self.report.found(format!("{}/{key}: it has no row in index {id}", rows.name));
            }
            Err(error) => self.report.found(error.to_string()),
        }
    }

    /// Whether the index is being built or cleared away, so that its rows need not be all.
    fn is_partial(&self, id: u32) -> bool {
        self.replayed.hot.with_ended().iter().any(|collection| {
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
