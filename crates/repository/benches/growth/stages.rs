//! One size after the other: the collection grows to it, and everything is measured there.

use crate::measure::documents::{BODY_BYTES, body, changed, key, notes, open, run};
use crate::measure::load::{Load, Loaded};
use crate::measure::process;
use crate::measure::random::Random;
use repository::{
    CollectionName, CommitNumber, Direction, Key, KeyRange, MediaType, Merge, Repository, limits,
};
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Figures of one size, in the order in which they were taken.
pub type Figures = Vec<(&'static str, f64)>;

const CHANGES: Load = Load { threads: 2, outstanding: 1024 };
const READS: Load = Load { threads: 2, outstanding: 2 };

/// Documents that surely stay in memory.
const WARM: u64 = 1_000;

/// Documents that are read once from the disk.
const COLD: u64 = 50_000;

const SCANNED: usize = 100;

/// Documents whose numbers are added to, for the log to be replayed.
const COUNTERS: u64 = 1_000;

pub struct Stages {
    folder: PathBuf,
    memory_bytes: u64,
    time: Duration,
    /// None while it is closed within a measurement.
    repository: Option<Arc<Repository>>,
    documents: u64,
}

impl Stages {
    pub fn new(folder: PathBuf, memory_bytes: u64, time: Duration) -> Self {
        let repository = Some(open(&folder, memory_bytes).0);
        Self { folder, memory_bytes, time, repository, documents: 0 }
    }

    /// Grows to `size` documents and measures there.
    pub fn measure(&mut self, size: u64, replayed: u64, views: u64) -> Figures {
        let mut figures = vec![("documents", size as f64)];
        eprintln!("{size} documents");
        self.grow(size, &mut figures);
        self.update(&mut figures);
        self.read(&mut figures);
        self.reopen(&mut figures);
        self.hold_views(views, &mut figures);
        self.read_cold(&mut figures);
        self.recover(replayed, &mut figures);
        for (name, value) in &figures {
            eprintln!("    {name}: {value:.3}");
        }
        figures
    }

    fn repository(&self) -> &Repository {
        self.repository.as_ref().unwrap()
    }

    fn close(&mut self) {
        self.repository().close().unwrap();
        self.repository = None;
    }

    /// Opens; gives the time it took and the commits that were replayed.
    fn open(&mut self) -> (Duration, u64) {
        let started = Instant::now();
        let (repository, recovery) = open(&self.folder, self.memory_bytes);
        self.repository = Some(repository);
        (started.elapsed(), recovery.replayed)
    }

    fn grow(&mut self, size: u64, figures: &mut Figures) {
        let (from, written) = (self.documents, process::written_bytes());
        let create = |i: u64| {
            let (ran, refused) = run(self.repository(), |transaction| {
                let (key, body) = (key(from + i), body(from + i));
                transaction.put(&notes(), &key, MediaType::Json, body, None).unwrap();
            });
            (ran.wait_for, refused)
        };
        let loaded = CHANGES.run(self.repository(), |i| from + i < size, |i, _| create(i));
        process::settle(self.repository());
        self.documents = size;
        let written = process::written_bytes() - written;
        let whole = process::disk_bytes(&self.folder);
        let tranlog = process::disk_bytes(&self.folder.join("tranlog"));
        figures.extend([
            ("create/s", loaded.per_second()),
            ("create refused", loaded.refused as f64),
            ("create write amplification", amplification(written, loaded)),
            ("disk bytes/document", (whole - tranlog) as f64 / size as f64),
            ("disk bytes/document with tranlog", whole as f64 / size as f64),
        ]);
    }

    fn update(&self, figures: &mut Figures) {
        let written = process::written_bytes();
        let loaded = CHANGES.run_for(self.repository(), self.time, |_, random| self.change(random));
        let accounted = self.repository().stats().memory_bytes;
        let resident = process::resident_bytes();
        process::settle(self.repository());
        let written = process::written_bytes() - written;
        figures.extend([
            ("read-modify-write/s", loaded.per_second()),
            ("read-modify-write refused", loaded.refused as f64),
            ("read-modify-write amplification", amplification(written, loaded)),
            ("memory accounted MiB", mib(accounted)),
            ("memory resident MiB", mib(resident)),
            ("documents MiB", mib(self.documents * BODY_BYTES)),
        ]);
    }

    /// Reads one of all documents, changes it and writes it.
    fn change(&self, random: &mut Random) -> (CommitNumber, u64) {
        self.change_one_of(self.documents, random)
    }

    fn change_one_of(&self, documents: u64, random: &mut Random) -> (CommitNumber, u64) {
        let (key, digit) = (key(random.below(documents)), random.next());
        let (ran, refused) = run(self.repository(), |transaction| {
            let old = transaction.get(&notes(), &key).unwrap().unwrap();
            let body = changed(&old.body, digit);
            transaction.put(&notes(), &key, MediaType::Json, body, None).unwrap();
        });
        (ran.wait_for, refused)
    }

    fn get(&self, key: &Key) -> (CommitNumber, u64) {
        let (ran, refused) = run(self.repository(), |transaction| {
            transaction.get(&notes(), key).unwrap().unwrap();
        });
        (ran.wait_for, refused)
    }

    fn scan(&self, from: Key) -> (CommitNumber, u64) {
        let range = KeyRange::new(Bound::Included(from), Bound::Unbounded);
        let (ran, refused) = run(self.repository(), |transaction| {
            transaction.range(&notes(), &range, Direction::Ascending, SCANNED).unwrap();
        });
        (ran.wait_for, refused)
    }

    fn read(&self, figures: &mut Figures) {
        let (all, warm) = (self.documents, self.documents.min(WARM));
        for i in 0..warm {
            self.get(&key(i));
        }
        let get_of = |of: u64| {
            READS.run_for(self.repository(), self.time, |_, r| self.get(&key(r.below(of))))
        };
        figures.push(("get/s of 1,000", get_of(warm).per_second()));
        figures.push(("get/s of all", get_of(all).per_second()));
        let scanned = READS
            .run_for(self.repository(), self.time, |_, random| self.scan(key(random.below(all))));
        figures.push(("range of 100/s", scanned.per_second()));
    }

    fn reopen(&mut self, figures: &mut Figures) {
        self.close();
        let (time, replayed) = self.open();
        assert_eq!(replayed, 0, "closing leaves nothing to replay");
        figures.push(("opening ms", time.as_secs_f64() * 1e3));
    }

    /// What an open view costs while commits go on: each of these holds back the version that the
    /// commit after it replaces. Memory is nearly empty now, so nothing is evicted meanwhile.
    fn hold_views(&self, views: u64, figures: &mut Figures) {
        let of = self.documents.min(WARM);
        let mut random = Random::new(1);
        let mut change = || self.change_one_of(of, &mut random).0;
        let memory = || self.repository().stats().memory_bytes as f64;
        // The same commits without views first, so that all that they need is in memory.
        for _ in 0..views {
            change();
        }
        let before = memory();
        let mut open = Vec::with_capacity(views as usize);
        for _ in 0..views {
            open.push(self.repository().begin().unwrap());
            change();
        }
        let each = (memory() - before) / views as f64;
        drop(open);
        self.repository().wait_durable(change()).unwrap();
        figures.push(("memory bytes/view", each));
    }

    /// Reads documents once each that neither the repository nor the operating system holds.
    fn read_cold(&mut self, figures: &mut Figures) {
        self.close();
        process::drop_page_cache(&self.folder);
        self.open();
        let (all, cold) = (self.documents, self.documents.min(COLD));
        let stride = all / cold;
        let loaded = READS.run(self.repository(), |i| i < cold, |i, _| self.get(&key(i * stride)));
        figures.push(("get/s from the disk", loaded.per_second()));
    }

    /// Crashes, and opens again: once after changes of whole documents, as many as there can be
    /// without a checkpoint, and once after `replayed` additions to a number.
    fn recover(&mut self, replayed: u64, figures: &mut Figures) {
        process::settle(self.repository());
        let logged = || self.repository().stats().tranlog_bytes;
        let enough = logged() + (limits::CHECKPOINT_LOG_BYTES * 3 / 4).min(self.memory_bytes / 8);
        let goes_on = |i| i < replayed && logged() < enough;
        CHANGES.run(self.repository(), goes_on, |_, random| self.change(random));
        let (time, count) = self.crash();
        figures.push(("replayed changes", count as f64));
        figures.push(("recovery of changes ms", time.as_secs_f64() * 1e3));
        process::settle(self.repository());
        CHANGES.run(self.repository(), |i| i < replayed, |i, _| self.add(i % COUNTERS));
        let (time, count) = self.crash();
        figures.push(("replayed additions", count as f64));
        figures.push(("recovery of additions ms", time.as_secs_f64() * 1e3));
    }

    fn add(&self, counter: u64) -> (CommitNumber, u64) {
        let counters = CollectionName::new("counters").unwrap();
        let (ran, refused) = run(self.repository(), |transaction| {
            let operation = Merge::Add { path: String::new(), delta: 1.0 };
            transaction.merge(&counters, &key(counter), operation).unwrap();
        });
        (ran.wait_for, refused)
    }

    /// Goes away without closing, and opens again.
    fn crash(&mut self) -> (Duration, u64) {
        self.repository = None;
        self.open()
    }
}

/// Bytes written to the disk for each byte of a body.
fn amplification(written: u64, loaded: Loaded) -> f64 {
    written as f64 / (loaded.transactions * BODY_BYTES) as f64
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
