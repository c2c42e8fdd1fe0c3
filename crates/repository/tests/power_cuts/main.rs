//! Power cuts of the real repository: real files, the real storage engine. A process of its own
//! works on a repository under strace. From the calls that it made follow the contents that a disk
//! may have had when the power went at any moment, and the repository must open on each. `faults`
//! has single calls fail before.

#![allow(clippy::unwrap_used, reason = "tests")]

mod faults;
#[path = "../harness/mod.rs"]
mod harness;
mod media;
mod trace;

use bytes::Bytes;
use harness::random::Random;
use harness::{SetAtEnd, key, named};
use media::{End, Media};
use repository::limits::{DOCUMENT_INLINE_BYTES_MAX, MEMORY_BYTES_MIN};
use repository::{
    Direction, KeyRange, MediaType, Opening, Options, Outcome, Recovery, Repository, Retention,
    Timestamp, Transaction, verify,
};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use trace::Call;

/// Where the process that is traced works.
const FOLDER: &str = "SARSEN_POWER_CUTS_FOLDER";

/// How many power cuts to try, where it is not the usual number.
const CUTS: &str = "POWER_CUTS";
const USUAL_CUTS: usize = 60;

const OPENINGS: usize = 4;
const TRANSACTIONS_PER_OPENING: usize = 100;
const COLLECTIONS: [&str; 3] = ["birds", "fish", "moss"];
const KEYS: usize = 40;
const BODY_BYTES_MAX: usize = 3000;

/// So many different blobs there are: they come, go, and come again.
const BLOBS: usize = 5;

/// The last of so many transactions deletes all documents, and so leaves no blob with a name.
const TRANSACTIONS_PER_DELETION: usize = 50;

/// How long that takes at most until the files of the blobs are gone, with a disk that is slow.
const REMOVAL_MAX: Duration = Duration::from_secs(120);

/// All calls that can change a file or its name, those that move its offset, and those with which
/// changes would go unnoticed.
const TRACED: &str = "trace=open,openat,openat2,creat,close,dup,dup2,dup3,fcntl,read,readv,lseek,\
    write,pwrite64,writev,pwritev,pwritev2,copy_file_range,sendfile,splice,ftruncate,truncate,\
    fallocate,fsync,fdatasync,sync_file_range,rename,renameat,renameat2,link,linkat,unlink,\
    unlinkat,rmdir,mkdir,mkdirat,symlink,symlinkat";

/// Held by a test as long as it runs. A child that was forked and has not begun its program yet has
/// all files open that are open here, and so keeps folders locked that another test has closed.
static ALONE: Mutex<()> = Mutex::new(());

type Documents = BTreeMap<(&'static str, String), Bytes>;

fn deletes_all(number: usize) -> bool {
    number % TRANSACTIONS_PER_DELETION == TRANSACTIONS_PER_DELETION - 1
}

/// What the transaction of this number writes; `None` deletes.
fn writes(number: usize) -> Vec<(&'static str, String, Option<Bytes>)> {
    let mut random = Random::new(number as u64);
    let mut writes = Vec::new();
    if deletes_all(number) {
        let keys = |collection| (0..KEYS).map(move |k| (collection, format!("k{k}"), None));
        return COLLECTIONS.into_iter().flat_map(keys).collect();
    }
    for _ in 0..1 + random.below(3) {
        let collection = COLLECTIONS[random.below(COLLECTIONS.len())];
        let at = format!("k{}", random.below(KEYS));
        let filler = "x".repeat(random.below(BODY_BYTES_MAX));
        let body = format!(r#"{{"number":{number},"filler":"{filler}"}}"#);
        let body = match random.once_in(8) {
            true => " ".repeat(DOCUMENT_INLINE_BYTES_MAX) + &(number % BLOBS).to_string(),
            false => body,
        };
        let is_put = !random.once_in(4);
        writes.push((collection, at, is_put.then(|| Bytes::from(body))));
    }
    writes
}

/// What is there after so many transactions.
fn documents_after(transactions: usize) -> Documents {
    let mut documents = Documents::new();
    for (collection, at, body) in (0..transactions).flat_map(writes) {
        match body {
            Some(body) => drop(documents.insert((collection, at), body)),
            None => drop(documents.remove(&(collection, at))),
        }
    }
    documents
}

/// Commits the transaction of this number, and waits until it is durable.
fn commit(repository: &Repository, number: usize) {
    try_commit(repository, number).unwrap();
}

fn try_commit(repository: &Repository, number: usize) -> Result<(), Box<dyn Error>> {
    let mut transaction = repository.begin()?;
    stage(repository, &mut transaction, number)?;
    match transaction.commit()? {
        // Deleting what is not there changes nothing.
        Outcome::Committed(last) | Outcome::Unchanged(last) => Ok(repository.wait_durable(last)?),
        other => panic!("expected a commit, got {other:?}"),
    }
}

fn stage(
    repository: &Repository,
    transaction: &mut Transaction,
    number: usize,
) -> Result<(), Box<dyn Error>> {
    for (collection, at, body) in writes(number) {
        let (collection, at) = (named(collection), key(&at));
        match body {
            Some(body) if body.len() > DOCUMENT_INLINE_BYTES_MAX => {
                let mut writer = repository.blob_writer(u64::MAX);
                writer.write(&body)?;
                let (content, text) = (writer.finish()?, MediaType::Other("text/plain".into()));
                transaction.put_content(&collection, &at, text, &content, None)?;
            }
            Some(body) => transaction.put(&collection, &at, MediaType::Json, body, None)?,
            None => transaction.delete(&collection, &at)?,
        }
    }
    Ok(())
}

fn documents(repository: &Repository) -> Documents {
    try_documents(repository).unwrap()
}

fn try_documents(repository: &Repository) -> Result<Documents, Box<dyn Error>> {
    let mut found = Documents::new();
    let mut transaction = repository.begin()?;
    for collection in COLLECTIONS {
        let all = KeyRange::all();
        let range = transaction.range(&named(collection), &all, Direction::Ascending, 10_000);
        for (at, document) in range? {
            let body = match transaction.pin_blob(&document)? {
                Some(blob) => blob.open()?.read(0)?,
                None => document.body.clone(),
            };
            found.insert((collection, at.to_string()), body);
        }
    }
    Ok(found)
}

fn open(folder: &Path) -> Result<(Arc<Repository>, Recovery), String> {
    let clock = Arc::new(|| Timestamp(1_000_000));
    let folder = folder.to_owned();
    // Blobs go at once, and do not wait for the log to go.
    let retention = Retention { bytes: 0, hold: None };
    let opening = Opening { retention, ..Opening::default() };
    Repository::open_with(Options { folder, memory_bytes: MEMORY_BYTES_MIN, clock }, opening)
        .map_err(|error| format!("it does not open: {error}"))
}

/// Waits until no file of a blob is there.
fn wait_until_blobs_are_gone(repository: &Path) {
    let begun = Instant::now();
    let names = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let is_blob = |path: &PathBuf| path.file_name().unwrap().len() == 62;
    while names(&repository.join("blobs")).iter().any(|folder| names(folder).iter().any(is_blob)) {
        assert!(begun.elapsed() < REMOVAL_MAX, "blobs that no document names were not removed");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Commits one transaction after the other while checkpoints are written, and opens again and
/// again. It tells the file `said` when it begins a transaction and when that is durable. The test
/// below runs it in a process of its own; it has nothing to do in this one.
#[test]
fn the_process_whose_power_is_cut() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    let mut said = File::create(folder.join("said")).unwrap();
    let mut say = |what: &str, number: usize| {
        said.write_all(format!("{what} {number}\n").as_bytes()).unwrap();
    };
    for opening in 0..OPENINGS {
        let (repository, _) = open(&folder.join("disk/repository")).unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    repository.checkpoint().unwrap();
                }
            });
            let _over = SetAtEnd(&is_over);
            let first = opening * TRANSACTIONS_PER_OPENING;
            for number in first..first + TRANSACTIONS_PER_OPENING {
                say("begun", number);
                commit(&repository, number);
                say("durable", number);
                if deletes_all(number) {
                    wait_until_blobs_are_gone(&folder.join("disk/repository"));
                }
            }
        });
        if opening % 2 == 1 {
            repository.close().unwrap();
        }
    }
}

/// Runs the test of this name under strace with these arguments, and gives the calls it made.
fn calls(folder: &Path, name: &str, arguments: &[&str]) -> Vec<Call> {
    std::fs::create_dir(folder.join("disk")).unwrap();
    let trace = folder.join("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-s", "16777216", "-e", TRACED]).args(arguments);
    command.arg("-o").arg(&trace).arg(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--test-threads=1"]);
    let output = command.env(FOLDER, folder).output();
    let output = output.expect("strace is needed: apt-get install strace, or make test");
    let printed = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "under strace: {printed}{complained}");
    assert!(printed.contains("1 passed"), "{printed}");
    trace::calls(&std::fs::read_to_string(&trace).unwrap())
}

/// What the process had said, with when: transactions are numbered from 0 on.
struct Said {
    begun: Vec<(usize, usize)>,
    durable: Vec<(usize, usize)>,
}

impl Said {
    fn new(calls: &[Call]) -> Self {
        let mut said = Self { begun: Vec::new(), durable: Vec::new() };
        for call in calls.iter().filter(|call| call.name == "write") {
            if call.bytes(1).len() > 32 {
                continue;
            }
            let text = String::from_utf8_lossy(call.bytes(1));
            let words: Vec<&str> = text.split_whitespace().collect();
            match words[..] {
                ["begun", number] => said.begun.push((number.parse().unwrap(), call.began)),
                ["durable", number] => said.durable.push((number.parse().unwrap(), call.began)),
                _ => {}
            }
        }
        said
    }

    /// How many transactions were durable, and how many begun, at a place in the trace.
    fn until(&self, cut: usize) -> (usize, usize) {
        let count = |said: &[(usize, usize)]| {
            let before = said.iter().filter(|(_, at)| *at <= cut);
            before.map(|(number, _)| number + 1).max().unwrap_or(0)
        };
        (count(&self.durable), count(&self.begun))
    }
}

/// Opens what a power cut has left, compares, and works on.
fn check(folder: &Path, durable: usize, begun: usize) -> Result<(), String> {
    if folder.join("format").exists() {
        let report = verify(folder).map_err(|error| format!("verify: {error}"))?;
        if report.wrong > 0 {
            return Err(format!("verify finds {:?}", report.findings));
        }
    }
    let (repository, _) = open(folder)?;
    let found = documents(&repository);
    let Some(kept) = (durable..=begun).find(|count| documents_after(*count) == found) else {
        let expected = documents_after(durable);
        let lost: Vec<_> = expected.keys().filter(|at| !found.contains_key(*at)).collect();
        return Err(format!("not the documents after {durable} to {begun}: without {lost:?}"));
    };
    commit(&repository, kept);
    repository.close().map_err(|error| format!("it does not close: {error}"))?;
    drop(repository);
    let (repository, _) = open(folder)?;
    if documents(&repository) != documents_after(kept + 1) {
        return Err("what was written afterwards is not there".to_owned());
    }
    Ok(())
}

/// Puts into `folder` what a power cut leaves, and gives its place in the trace: anywhere, or where
/// names change and folders are synced.
fn lay(media: &Media, seed: u64, end: usize, folder: &Path) -> usize {
    let mut random = Random::new(seed);
    let cut = if random.once_in(3) {
        random.below(end)
    } else {
        let moment = media.moments[random.below(media.moments.len())];
        (moment + random.below(3)).saturating_sub(1)
    };
    media.image((End::PowerCut, cut), &mut random, folder);
    cut
}

#[test]
fn a_power_cut_at_any_moment_loses_nothing_that_was_durable() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let cuts = std::env::var(CUTS).map_or(USUAL_CUTS, |cuts| cuts.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let calls = calls(folder.path(), "the_process_whose_power_is_cut", &[]);
    let said = Said::new(&calls);
    let all = OPENINGS * TRANSACTIONS_PER_OPENING;
    assert_eq!((said.begun.len(), said.durable.len()), (all, all));
    let end = calls.iter().map(|call| call.ended).max().unwrap() + 1;
    let media = Media::new(&folder.path().join("disk"), &calls);
    let versions = media.count(|name, has_come| name == "current" && has_come);
    let removed = media.count(|name, has_come| name.parse::<u64>().is_ok() && !has_come);
    assert!(versions > 20 && removed > 5, "the engine did little: {versions}, {removed}");
    let blobs = [true, false]
        .map(|came| media.count(|name, has_come| name.len() == 62 && has_come == came));
    let deletions = OPENINGS * TRANSACTIONS_PER_OPENING / TRANSACTIONS_PER_DELETION;
    assert!(blobs[0] > 20 && blobs[1] >= deletions, "blobs written and removed: {blobs:?}");
    for seed in 0..cuts as u64 {
        let image = tempfile::tempdir().unwrap();
        let cut = lay(&media, seed, end, image.path());
        let (durable, begun) = said.until(cut);
        if let Err(why) = check(&image.path().join("repository"), durable, begun) {
            let (kept, traced) = (tempfile::tempdir().unwrap().keep(), folder.keep());
            lay(&media, seed, end, &kept);
            let (kept, traced) = (kept.display(), traced.display());
            panic!("cut {seed}, line {} of {traced}/trace, left {kept}: {why}", cut / 2 + 1);
        }
    }
    eprintln!("{cuts} power cuts, {versions} versions, {removed} tables removed");
}
