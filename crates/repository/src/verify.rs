//! Verify: reads everything a repository holds and checks what must be true of it. It takes the
//! lock and changes no data; the storage engine removes leftovers of its own when it is opened.

use crate::apply::COLLECTIONS_ID;
use crate::disk::Files;
use crate::document::{CommitNumber, Document, MediaType};
use crate::engine::Engine;
use crate::errors::OpenError;
use crate::folder::Folder;
use crate::json;
use crate::name::Key;
use crate::recovery;
use std::collections::BTreeMap;
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
    let folder = Folder::open(Arc::new(Files), folder)?;
    let engine = Engine::open(&folder.engine(), CACHE_BYTES)?;
    let replayed = recovery::replay(&folder, Box::new(engine))?;
    let mut report = VerifyReport {
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
    let names: BTreeMap<u32, String> =
        replayed.hot.collections().iter().map(|c| (c.id, c.name.to_string())).collect();
    let at = replayed.views.engine();
    let scanned = replayed.engine.scan(at, &mut |id, key, document| {
        let Some(name) = names.get(&id) else {
            report.found(format!("{key}: it is in collection {id}, which has no name"));
            return ControlFlow::Continue(());
        };
        let newer = Key::new(key).ok().and_then(|key| {
            let held = replayed.hot.collections();
            held.iter().find(|c| c.id == id).and_then(|c| c.last_change(&key))
        });
        if newer.is_none() {
            check(&mut report, name, key, &document, at.commit);
        }
        ControlFlow::Continue(())
    });
    if let Err(error) = scanned {
        report.found(error.to_string());
    }
    for collection in replayed.hot.collections() {
        collection.each(|key, document| {
            check(
                &mut report,
                collection.name.as_str(),
                key.as_str(),
                document,
                replayed.scan.last,
            );
        });
    }
    debug_assert!(names.contains_key(&COLLECTIONS_ID));
    Ok(report)
}

fn check(
    report: &mut VerifyReport,
    name: &str,
    key: &str,
    document: &Document,
    last: CommitNumber,
) {
    *report.documents.entry(name.to_owned()).or_default() += 1;
    let mut wrong = |why: String| report.found(format!("{name}/{key}: {why}"));
    if let Err(error) = Key::new(key) {
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
