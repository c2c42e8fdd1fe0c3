//! Commits per second of the repository alone, with a given number of transactions outstanding.
//!
//! `cargo bench -p repository [-- FOLDER]`: medians of five interleaved rounds with their spread,
//! and CPU time per transaction. The folder should be on the disk that is to be measured.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops at a mistake")]

use bytes::Bytes;
use repository::{CollectionName, Key, MediaType, Merge, Options, Outcome, Repository, Timestamp};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;
const SECONDS: f64 = 2.0;
const THREADS: usize = 2;

#[derive(Clone, Copy)]
enum Work {
    /// Read, change and write one of so many documents.
    ReadModifyWrite(u64),
    /// A document under a new key.
    Create,
    /// Read one of so many documents.
    Get(u64),
    /// Add one to the same number.
    Tally,
}

const CASES: &[(&str, Work, usize)] = &[
    ("read-modify-write of 128 documents", Work::ReadModifyWrite(128), 1),
    ("read-modify-write of 128 documents", Work::ReadModifyWrite(128), 64),
    ("read-modify-write of 128 documents", Work::ReadModifyWrite(128), 1024),
    ("read-modify-write of 100,000 documents", Work::ReadModifyWrite(100_000), 1024),
    ("create", Work::Create, 1024),
    ("tally on one key", Work::Tally, 1024),
    ("get of 128 documents", Work::Get(128), 1),
];

struct Round {
    per_second: f64,
    cpu_us: f64,
}

fn main() {
    let argument = std::env::args().skip(1).find(|a| !a.starts_with("--"));
    let folder = argument.map_or_else(
        || Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-commits"),
        PathBuf::from,
    );
    let mut rounds: Vec<Vec<Round>> = CASES.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (case, results) in CASES.iter().zip(&mut rounds) {
            if folder.exists() {
                std::fs::remove_dir_all(&folder).unwrap();
            }
            results.push(measure(&folder, case.1, case.2));
        }
    }
    println!(
        "{:<40} {:>11} {:>24} {:>8}",
        "what", "outstanding", "per second (min..max)", "CPU us"
    );
    for ((name, _, outstanding), results) in CASES.iter().zip(rounds) {
        let mut rates: Vec<f64> = results.iter().map(|r| r.per_second).collect();
        let mut cpu: Vec<f64> = results.iter().map(|r| r.cpu_us).collect();
        rates.sort_by(f64::total_cmp);
        cpu.sort_by(f64::total_cmp);
        let spread =
            format!("{:.0} ({:.0}..{:.0})", rates[ROUNDS / 2], rates[0], rates[ROUNDS - 1]);
        println!("{name:<40} {outstanding:>11} {spread:>24} {:>8.2}", cpu[ROUNDS / 2]);
    }
}

fn open(folder: &std::path::Path) -> Arc<Repository> {
    let started = Instant::now();
    let clock =
        Arc::new(move || Timestamp(1_700_000_000_000 + started.elapsed().as_millis() as u64));
    let options = Options { folder: folder.to_owned(), memory_bytes: 2 << 30, clock };
    Repository::open(options).unwrap().0
}

fn measure(folder: &std::path::Path, work: Work, outstanding: usize) -> Round {
    let repository = open(folder);
    if let Work::ReadModifyWrite(documents) | Work::Get(documents) = work {
        for i in 0..documents {
            let mut transaction = repository.begin().unwrap();
            let collection = CollectionName::new("notes").unwrap();
            let body = Bytes::from(document(i));
            let key = Key::new(&i.to_string()).unwrap();
            transaction.put(&collection, &key, MediaType::Json, body, None).unwrap();
            transaction.commit().unwrap();
        }
    }
    let threads = THREADS.min(outstanding);
    let (cpu, started) = (cpu_time(), Instant::now());
    let done: u64 = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let repository = &repository;
                scope.spawn(move || worker(repository, work, thread as u64, outstanding / threads))
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    let elapsed = started.elapsed().as_secs_f64();
    let cpu = (cpu_time() - cpu).as_secs_f64();
    Round { per_second: done as f64 / elapsed, cpu_us: cpu * 1e6 / done as f64 }
}

fn worker(repository: &Repository, work: Work, thread: u64, outstanding: usize) -> u64 {
    let collection = CollectionName::new("notes").unwrap();
    let tally = Key::new("tally").unwrap();
    let started = Instant::now();
    let mut waiting = VecDeque::new();
    let mut random = thread + 1;
    let mut done = 0;
    while done % 64 != 0 || started.elapsed().as_secs_f64() < SECONDS {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pick = |of: u64| Key::new(&((random >> 33) % of).to_string()).unwrap();
        let mut transaction = repository.begin().unwrap();
        match work {
            Work::ReadModifyWrite(documents) => {
                let key = pick(documents);
                let old = transaction.get(&collection, &key).unwrap().unwrap();
                let mut body = old.body.to_vec();
                body[20] = b'0' + (random % 10) as u8;
                transaction.put(&collection, &key, MediaType::Json, body.into(), None).unwrap();
            }
            Work::Create => {
                let key = Key::new(&format!("{:016x}", (done << 1) + thread)).unwrap();
                let body = Bytes::from(document(done));
                transaction.put(&collection, &key, MediaType::Json, body, None).unwrap();
            }
            Work::Get(documents) => {
                transaction.get(&collection, &pick(documents)).unwrap().unwrap();
            }
            Work::Tally => {
                let operation = Merge::Add { path: String::new(), delta: 1.0 };
                transaction.merge(&collection, &tally, operation).unwrap();
            }
        }
        match transaction.commit().unwrap() {
            Outcome::Committed(number) => waiting.push_back(number),
            // A conflict costs its time and counts for nothing.
            Outcome::Conflict(_) | Outcome::Duplicate(_) | Outcome::HeldBack => continue,
            Outcome::Unchanged(_) => {}
        }
        if waiting.len() >= outstanding {
            repository.wait_durable(waiting.pop_front().unwrap()).unwrap();
        }
        done += 1;
    }
    if let Some(last) = waiting.pop_back() {
        repository.wait_durable(last).unwrap();
    }
    done
}

fn document(i: u64) -> String {
    format!("{{\"number\":{i:012},\"text\":\"{}\"}}", "x".repeat(260)).replace(":0", ":1")
}

/// User and system time of this process.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}
