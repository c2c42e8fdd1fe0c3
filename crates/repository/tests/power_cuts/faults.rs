//! Single calls of the storage engine that fail, and what follows: strace has one call return an
//! input/output error without executing it. The process works on, and is killed, or loses its
//! power, at a moment after that. Where a call is executed and fails all the same, the process sees
//! what it sees where that call succeeds and the one after it fails, which is tried too.

use crate::harness::random::Random;
use crate::media::{End, Media};
use crate::trace::{Argument, Call};
use crate::{ALONE, FOLDER, Said, calls, check, documents_after, open, try_commit, try_documents};
use repository::limits::MEMORY_BYTES_MIN;
use repository::parts::{Files, Parts, SegmentSizes, Stepped, open_engine};
use repository::{Options, Retention, Timestamp};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

/// How many calls of each kind to have fail, where it is not the usual number.
const FAULTS: &str = "ENGINE_FAULTS";
const USUAL_FAULTS: usize = 1;

/// Ends that are tried after each, and among how many calls of the engine that follow.
const ENDS: usize = 4;
const CALLS_UNTIL_END: usize = 40;

/// After so many transactions the process opens the repository again, and after so many it ends.
const UNTIL: [usize; 2] = [24, 48];
const TRANSACTIONS_PER_CHECKPOINT: usize = 3;

const SIZES: SegmentSizes = SegmentSizes { first_bytes: 256 << 10, bytes: 256 << 10 };
const CACHE_BYTES: u64 = 1 << 20;

const PROCESS: &str = "faults::the_process_whose_calls_fail";

type Say<'a> = &'a mut dyn FnMut(&str, usize);

/// Commits, writes checkpoints and merges, all on one thread, so that each run makes the same
/// calls. The test below runs it in a process of its own; it has nothing to do in this one.
#[test]
fn the_process_whose_calls_fail() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    let mut said = File::create(folder.join("said")).unwrap();
    let mut say = |what: &str, number: usize| {
        said.write_all(format!("{what} {number}\n").as_bytes()).unwrap();
    };
    let repository = folder.join("disk/repository");
    drop(open(&repository).unwrap());
    let mut number = 0;
    for until in UNTIL {
        let mut failures = Vec::new();
        while number < until {
            if let Err(error) = work(&repository, (&mut number, until), &mut say) {
                failures.push(error.to_string());
                assert!(failures.len() < 3, "one call fails: {failures:?}");
            }
        }
    }
}

/// Opens, and goes on after `number` until there are so many transactions or something fails.
fn work(
    folder: &Path,
    (number, until): (&mut usize, usize),
    say: Say<'_>,
) -> Result<(), Box<dyn Error>> {
    let at_rest = open_engine(&folder.join("engine"), CACHE_BYTES)?;
    let retention = Retention { bytes: 0, hold: None };
    let (disk, reserve_bytes) = (Arc::new(Files), repository::limits::RESERVE_BYTES);
    let parts = Parts { disk, at_rest, sizes: SIZES, retention, reserve_bytes };
    let clock = Arc::new(|| Timestamp(1_000_000));
    let options = Options { folder: folder.to_owned(), memory_bytes: MEMORY_BYTES_MIN, clock };
    let (stepped, _) = Stepped::open(&options, parts)?;
    let found = try_documents(stepped.repository())?;
    // One that failed may be there or not.
    if found != documents_after(*number) {
        assert!(found == documents_after(*number + 1), "not what was committed");
        say("durable", *number);
        *number += 1;
    }
    while *number < until {
        for _ in 0..TRANSACTIONS_PER_CHECKPOINT {
            say("begun", *number);
            try_commit(stepped.repository(), *number)?;
            say("durable", *number);
            *number += 1;
        }
        while stepped.prepare_segment() {}
        // What fails is tried again after the next transactions.
        drop((stepped.checkpoint(), stepped.compact()));
    }
    Ok(())
}

/// A call of the process that may fail.
struct Target {
    name: String,
    /// It is the n-th of this name that the thread makes.
    when: usize,
}

/// The thread that does the work.
fn worker(calls: &[Call]) -> &str {
    let is_first = |call: &&Call| call.name == "write" && call.bytes(1) == b"begun 0\n";
    &calls.iter().find(is_first).unwrap().thread
}

/// What files the calls of one thread are about.
#[derive(Default)]
struct Paths {
    open: HashMap<i64, PathBuf>,
}

impl Paths {
    fn of(&mut self, call: &Call) -> Option<PathBuf> {
        let path = |index: usize| match call.arguments.get(index) {
            Some(Argument::Bytes(path)) => {
                PathBuf::from(String::from_utf8_lossy(path).into_owned())
            }
            _ => PathBuf::new(),
        };
        match call.name.as_str() {
            "openat" => {
                if call.returned >= 0 {
                    self.open.insert(call.returned, path(1));
                }
                Some(path(1))
            }
            "close" => self.open.remove(&call.number(0)),
            "rename" => Some(path(1)),
            "renameat" | "renameat2" => Some(path(3)),
            "unlink" => Some(path(0)),
            "unlinkat" => Some(path(1)),
            "mkdir" => None,
            _ => self.open.get(&call.word(0).parse().ok()?).cloned(),
        }
    }
}

/// What kind of file of the engine this is.
fn kind(engine: &Path, path: &Path) -> Option<&'static str> {
    let name = path.strip_prefix(engine).ok()?.to_str()?;
    Some(match name {
        "" => "the folder",
        "current" => "current",
        "tables" => "the tables' folder",
        _ if name.starts_with("tables/") => "a table",
        _ if name.starts_with('v') => "a list",
        _ => "what becomes current",
    })
}

/// The calls about the engine's files, by their kind.
fn targets(engine: &Path, calls: &[Call]) -> BTreeMap<String, Vec<Target>> {
    let thread = worker(calls);
    let mut files = Paths::default();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut targets: BTreeMap<String, Vec<Target>> = BTreeMap::new();
    let mut before = String::new();
    let mut has_begun = false;
    for call in calls.iter().filter(|call| call.thread == thread) {
        let count = counts.entry(&call.name).or_default();
        *count += 1;
        has_begun |= call.name == "write" && call.bytes(1) == b"begun 0\n";
        let path = files.of(call);
        let Some(kind) = path.and_then(|path| kind(engine, &path)) else { continue };
        if matches!(call.name.as_str(), "close" | "lseek" | "fcntl") {
            continue;
        }
        let what = format!("{} of {kind}", call.name);
        // Syncs of the folder differ by what they are to make durable.
        let title = match kind {
            "the folder" => format!("{what} after {before}"),
            _ => what.clone(),
        };
        if has_begun {
            let target = Target { name: call.name.clone(), when: *count };
            targets.entry(title).or_default().push(target);
        }
        if kind != "the folder" {
            before = what;
        }
    }
    targets
}

/// A list is never written over, or removed, while a power cut could leave `current` naming it.
fn check_lists(engine: &Path, calls: &[Call]) -> Result<usize, String> {
    let mut files = Paths::default();
    let mut content: HashMap<PathBuf, Vec<u8>> = HashMap::new();
    let (mut named, mut latest, mut written) = (BTreeSet::new(), None, 0);
    let thread = worker(calls);
    for call in calls.iter().filter(|call| call.thread == thread) {
        let path = files.of(call);
        let Some(path) = path.filter(|path| kind(engine, path).is_some()) else { continue };
        if call.returned < 0 {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let number = name.strip_prefix('v').and_then(|number| number.parse::<u64>().ok());
        let truncates = call.name == "openat" && call.word(2).contains("O_TRUNC");
        if let Some(number) = number.filter(|_| truncates || call.name.starts_with("unlink")) {
            written += usize::from(truncates);
            if named.contains(&number) {
                return Err(format!("line {}: current may name {name}", call.began / 2 + 1));
            }
        }
        match call.name.as_str() {
            "openat" if truncates || call.word(2).contains("O_CREAT") => {
                content.insert(path, Vec::new());
            }
            "write" | "pwrite64" => {
                content.entry(path).or_default().extend_from_slice(call.bytes(1));
            }
            name if name.starts_with("rename") => {
                let from = if name == "rename" { 0 } else { 1 };
                let from = PathBuf::from(String::from_utf8_lossy(call.bytes(from)).into_owned());
                let number = content[&from].first_chunk::<8>().unwrap();
                latest = Some(u64::from_le_bytes(*number));
                named.extend(latest);
            }
            "fsync" if path == engine => named = latest.into_iter().collect(),
            _ => {}
        }
    }
    Ok(written)
}

/// Has one call fail, and tries ends after it. `false`: this run made no such call.
fn try_fault(target: &Target, seed: u64) -> Result<bool, String> {
    let folder = tempfile::tempdir().unwrap();
    let inject = format!("inject={}:error=EIO:when={}", target.name, target.when);
    let calls = calls(folder.path(), PROCESS, &["-e", &inject]);
    let root = folder.path().join("disk");
    let engine = root.join("repository/engine");
    let thread = worker(&calls);
    let Some(fault) = calls.iter().find(|call| call.is_injected && call.thread == thread) else {
        return Ok(false);
    };
    check_lists(&engine, &calls)?;
    let said = Said::new(&calls);
    let media = Media::new(&root, &calls);
    let mut files = Paths::default();
    let own = calls.iter().filter(|call| call.thread == thread);
    let about = own.filter(|call| files.of(call).is_some_and(|path| path.starts_with(&engine)));
    let after = about.filter(|call| call.began >= fault.began && call.name != "close");
    let ends: Vec<usize> = after.take(CALLS_UNTIL_END).map(|call| call.ended).collect();
    let mut random = Random::new(seed);
    for attempt in 0..ENDS {
        let end = if attempt % 2 == 0 { End::Kill } else { End::PowerCut };
        let cut = ends[random.below(ends.len())];
        let image = tempfile::tempdir().unwrap();
        media.image((end, cut), &mut random, image.path());
        let (durable, begun) = said.until(cut);
        if let Err(why) = check(&image.path().join("repository"), durable, begun) {
            let (image, traced) = (image.keep(), folder.keep());
            let (image, traced) = (image.display(), traced.display());
            let line = cut / 2 + 1;
            return Err(format!("{end:?} at line {line} of {traced}/trace left {image}: {why}"));
        }
    }
    Ok(true)
}

#[test]
fn a_call_of_the_engine_that_fails_loses_nothing_whenever_the_process_ends_after_it() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let per_kind = std::env::var(FAULTS).map_or(USUAL_FAULTS, |faults| faults.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let calls = calls(folder.path(), PROCESS, &[]);
    let engine = folder.path().join("disk/repository/engine");
    let lists = check_lists(&engine, &calls).unwrap();
    assert!(lists > 20, "the engine did little: {lists} lists");
    let targets = targets(&engine, &calls);
    let kinds: Vec<&String> = targets.keys().collect();
    for expected in ["fsync of the folder after fsync of current", "unlink of a list"] {
        assert!(kinds.iter().any(|kind| *kind == expected), "{expected}: not in {kinds:?}");
    }
    let (mut tried, mut missed) = (0, 0);
    for (kind, targets) in &targets {
        for pick in 0..per_kind.min(targets.len()) {
            let target = &targets[(2 * pick + 1) * targets.len() / (2 * per_kind)];
            match try_fault(target, tried) {
                Ok(true) => tried += 1,
                Ok(false) => missed += 1,
                Err(why) => panic!("{kind}, call {} of {}: {why}", target.when, target.name),
            }
        }
    }
    assert!(missed * 4 < tried, "{missed} calls were not made again, {tried} were");
    eprintln!("{tried} calls failed, of {} kinds; {missed} were not made again", kinds.len());
}
