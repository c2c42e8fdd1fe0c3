//! Threads that panic: nothing is built on what they left half done, and nobody waits for ever.

mod small_disks;

use super::*;
use crate::at_rest::EngineError;
use crate::at_rest::{AtRest, Ingest, KeyBounds, StateRow, VisitKey, VisitRow};
use crate::disk::{Disk, DiskFile, DiskRoom, Files, Lock};
use crate::document::{Document, MediaType};
use crate::errors::{BeginError, ReadError};
use crate::expired::Kept;
use crate::limits::RESERVE_BYTES;
use crate::name::{CollectionName, Key};
use crate::range::Direction;
use crate::recovery::Ground;
use crate::repository::{Options, Repository};
use crate::tranlog::{Retention, SegmentSizes};
use crate::transaction::Outcome;
use bytes::Bytes;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn options(folder: &Path) -> Options {
    let clock = Arc::new(|| Timestamp(1));
    Options { folder: folder.to_owned(), memory_bytes: 64 << 20, clock }
}

fn notes() -> CollectionName {
    CollectionName::new("notes").unwrap()
}

fn put(repository: &Repository, bytes: usize) -> Result<CommitNumber, BeginError> {
    let mut transaction = repository.begin()?;
    let body = Bytes::from(format!("\"{}\"", "x".repeat(bytes)));
    let key = Key::new("a").unwrap();
    transaction.put(&notes(), &key, MediaType::Json, body, None).unwrap();
    match transaction.commit() {
        Ok(Outcome::Committed(number)) => Ok(number),
        Ok(other) => panic!("{other:?}"),
        Err(crate::errors::CommitError::Poisoned(poisoned)) => Err(poisoned.into()),
        Err(other) => panic!("{other}"),
    }
}

fn refused(repository: &Repository) -> String {
    for _ in 0..100_000 {
        if let Err(error) = repository.begin() {
            assert!(matches!(error, BeginError::Poisoned(_)), "{error}");
            return error.to_string();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("nothing was refused")
}

#[test]
fn a_panic_in_the_background_refuses_everything_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    let (repository, _) = Repository::open(options(folder.path())).unwrap();
    let durable = put(&repository, 1).unwrap();
    repository.wait_durable(durable).unwrap();
    let steward = Steward { stop: Arc::default(), threads: Mutex::default() };
    steward.run("tests", &repository.store, |_| panic!("as the test wants")).unwrap();
    let refused = refused(&repository);
    assert!(refused.contains("the repository's thread for tests panicked"), "{refused}");
    assert!(refused.contains(&format!("Commits up to {durable} are durable")), "{refused}");
    assert!(repository.wait_durable(durable).is_err(), "whoever waits is told");
    assert!(repository.checkpoint().is_err() && repository.close().is_err());
}

/// An engine of which one checkpoint panics.
struct Panics {
    engine: Box<dyn AtRest>,
    once: Arc<AtomicBool>,
}

struct PanickingIngest;

impl Ingest for PanickingIngest {
    fn write(&mut self, _: u32, _: &str, _: Option<&Document>) -> Result<(), EngineError> {
        panic!("as an assertion of the engine would")
    }

    fn finish(self: Box<Self>) -> Result<(), EngineError> {
        panic!("as an assertion of the engine would")
    }
}

impl AtRest for Panics {
    fn state(&self, commit: CommitNumber) -> EngineState {
        self.engine.state(commit)
    }

    fn state_row(&self) -> Result<StateRow, ReadError> {
        self.engine.state_row()
    }

    fn get(&self, at: EngineState, id: u32, key: &str) -> Result<Option<Arc<Document>>, ReadError> {
        self.engine.get(at, id, key)
    }

    fn scan(&self, at: EngineState, visit: VisitRow<'_>) -> Result<(), ReadError> {
        self.engine.scan(at, visit)
    }

    fn range(
        &self,
        at: EngineState,
        id: u32,
        bounds: KeyBounds<'_>,
        direction: Direction,
        visit: VisitKey<'_>,
    ) -> Result<(), ReadError> {
        self.engine.range(at, id, bounds, direction, visit)
    }

    fn ingest(&self, row: StateRow) -> Result<Box<dyn Ingest + '_>, EngineError> {
        match self.once.swap(false, Ordering::SeqCst) {
            true => Ok(Box::new(PanickingIngest)),
            false => self.engine.ingest(row),
        }
    }

    fn compact(&self, oldest: EngineState, is_idle: bool) -> Result<bool, EngineError> {
        self.engine.compact(oldest, is_idle)
    }

    fn release(&self, oldest: EngineState) -> Result<(), EngineError> {
        self.engine.release(oldest)
    }

    fn disk_bytes(&self) -> u64 {
        self.engine.disk_bytes()
    }

    fn rows(&self) -> u64 {
        self.engine.rows()
    }

    fn check_files(&self) -> Vec<String> {
        self.engine.check_files()
    }
}

#[test]
fn a_checkpoint_that_panics_loses_nothing_when_the_repository_closes() {
    let folder = tempfile::tempdir().unwrap();
    let once = Arc::new(AtomicBool::new(true));
    let mine = Arc::clone(&once);
    let ground = Ground {
        disk: Arc::new(Files),
        at_rest: Box::new(move |folder| {
            let engine = crate::engine::open_engine(&folder.engine(), 1 << 20)?;
            Ok(Box::new(Panics { engine, once: mine }))
        }),
        sizes: SegmentSizes::default(),
        has_threads: true,
        kept: Kept::Nothing,
        retention: Retention::default(),
        reserve_bytes: RESERVE_BYTES,
    };
    let (opened, _) = Repository::open_store(&options(folder.path()), ground).unwrap();
    // All threads but that of checkpoints, whose round comes when the test wants.
    let steward = Steward { stop: Arc::default(), threads: Mutex::default() };
    let store = Arc::clone(&opened.store);
    let repository = Repository::assemble(opened.store, Some(steward));
    let number = put(&repository, 1).unwrap();
    repository.wait_durable(number).unwrap();
    let thread = Steward { stop: Arc::default(), threads: Mutex::default() };
    let round = |store: &Arc<Store>| drop(checkpoint::checkpoint(store));
    thread.run("checkpoints", &store, round).unwrap();
    refused(&repository);
    thread.stop();
    assert!(!once.load(Ordering::SeqCst), "it was the checkpoint that panicked");
    assert!(!store.sequence.lock().changed.is_empty(), "the list is there for the next");
    drop((thread, store));
    assert!(repository.close().is_err(), "no checkpoint can be written");
    drop(repository);
    let (repository, _) = Repository::open(options(folder.path())).unwrap();
    let found = repository.begin().unwrap().get(&notes(), &Key::new("a").unwrap()).unwrap();
    assert!(found.is_some(), "an acknowledged synced commit is lost");
}

/// A disk on which making a file panics, once it is told so.
#[derive(Default)]
struct PanickingDisk {
    panics: Arc<AtomicBool>,
}

impl Disk for PanickingDisk {
    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        Files.create_folder(folder)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        Files.sync_folder(folder)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        Files.names(folder)
    }

    fn length(&self, file: &Path) -> io::Result<u64> {
        Files.length(file)
    }

    fn read(&self, file: &Path, at: u64, bytes: u64) -> io::Result<Vec<u8>> {
        Files.read(file, at, bytes)
    }

    fn create(&self, file: &Path) -> io::Result<Box<dyn DiskFile>> {
        assert!(!self.panics.load(Ordering::SeqCst), "as the test wants");
        Files.create(file)
    }

    fn open(&self, file: &Path) -> io::Result<Box<dyn DiskFile>> {
        Files.open(file)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Files.rename(from, to)
    }

    fn remove(&self, file: &Path) -> io::Result<()> {
        Files.remove(file)
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        Files.remove_folder(folder)
    }

    fn room(&self, folder: &Path) -> io::Result<DiskRoom> {
        Files.room(folder)
    }

    fn lock(&self, file: &Path) -> io::Result<Lock> {
        Files.lock(file)
    }
}

#[test]
fn a_panic_where_segments_are_made_leaves_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let disk = PanickingDisk::default();
    let panics = Arc::clone(&disk.panics);
    let ground = Ground {
        disk: Arc::new(disk),
        at_rest: Box::new(|folder| crate::engine::open_engine(&folder.engine(), 1 << 20)),
        sizes: SegmentSizes { first_bytes: 64 << 10, bytes: 64 << 10 },
        has_threads: true,
        kept: Kept::Nothing,
        retention: Retention::default(),
        reserve_bytes: RESERVE_BYTES,
    };
    let (opened, _) = Repository::open_store(&options(folder.path()), ground).unwrap();
    let repository = Repository::assemble(opened.store, None);
    let first = put(&repository, 1).unwrap();
    repository.wait_durable(first).unwrap();
    panics.store(true, Ordering::SeqCst);
    // More than the segment holds: the last of them waits for the next one.
    let mut puts = 0..100_000;
    let error = loop {
        puts.next().expect("a refusal long before");
        match put(&repository, 9_000).map(|number| repository.wait_durable(number)) {
            Ok(Ok(())) => {}
            Ok(Err(poisoned)) => break poisoned.to_string(),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("the tranlog's thread for segments panicked"), "{error}");
    let stood = repository.stats().durable;
    assert!(repository.close().is_err());
    assert_eq!(repository.stats().durable, stood, "the durable number stands still");
    drop(repository);
    let (repository, _) = Repository::open(options(folder.path())).unwrap();
    assert!(repository.stats().visible >= stood, "what was acknowledged is there");
}
