//! What the folder, the memory and the commits are like, second by second.

use crate::client::Counters;
use crate::latency::{Latencies, ms};
use crate::measure::process;
use parking_lot::Mutex;
use repository::{CommitNumber, Repository};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often checkpoints and merged tables are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const LOOKS_A_SAMPLE: u32 = 10;

/// One second; the names of the figures are in `FIGURES`.
pub type Sample = Vec<f64>;

/// What is sampled. Rates are per second; times are of the commits of this second.
pub const FIGURES: &[&str] = &[
    "second",
    "folder MiB",
    "tranlog MiB",
    "engine MiB",
    "memory accounted MiB",
    "memory resident MiB",
    "documents",
    "reaped",
    "changes/s",
    "reads/s",
    "refused",
    "aborted",
    "p50 ms",
    "p99 ms",
    "p99.9 ms",
    "worst ms",
    "worst decision ms",
    "checkpoints",
    "merges",
];

/// All samples, and what concerns the whole.
pub struct Course {
    pub samples: Vec<Sample>,
    pub latencies: Latencies,
    /// Reads of sessions that had expired.
    pub missed: u64,
    /// User and system time, in seconds.
    pub cpu: f64,
    pub written_bytes: u64,
    pub tranlog_bytes: u64,
}

impl Course {
    /// One figure over all samples.
    pub fn figure(&self, name: &str) -> Vec<f64> {
        let at = FIGURES.iter().position(|figure| *figure == name).unwrap();
        self.samples.iter().map(|sample| sample[at]).collect()
    }
}

pub struct Sampler<'a> {
    repository: &'a Repository,
    folder: &'a Path,
    counters: &'a Counters,
    latencies: &'a [Mutex<Latencies>],
    started: Instant,
    /// Changes, reads, refusals, aborts and reaped documents until the last sample.
    before: [u64; 5],
    checkpoint: CommitNumber,
    checkpoints: u64,
    tables: BTreeSet<PathBuf>,
    merges: u64,
}

impl<'a> Sampler<'a> {
    pub fn new(
        repository: &'a Repository,
        folder: &'a Path,
        counters: &'a Counters,
        latencies: &'a [Mutex<Latencies>],
    ) -> Self {
        Self {
            repository,
            folder,
            counters,
            latencies,
            started: Instant::now(),
            before: [0; 5],
            checkpoint: repository.stats().checkpoint,
            checkpoints: 0,
            tables: BTreeSet::new(),
            merges: 0,
        }
    }

    /// Samples for so long.
    pub fn run(mut self, time: Duration) -> Course {
        let (cpu, written) = (process::cpu_time(), process::written_bytes());
        let (mut samples, mut overall) = (Vec::new(), Latencies::default());
        while self.started.elapsed() < time {
            for _ in 0..LOOKS_A_SAMPLE {
                std::thread::sleep(LOOK_EVERY);
                self.look();
            }
            samples.push(self.sample(&mut overall));
            if samples.len() % 10 == 0 {
                let shown = FIGURES.iter().zip(&samples[samples.len() - 1]);
                let shown: Vec<String> =
                    shown.map(|(f, value)| format!("{f} {value:.1}")).collect();
                eprintln!("{}", shown.join(", "));
            }
        }
        Course {
            samples,
            latencies: overall,
            missed: self.counters.missed.load(Ordering::Relaxed),
            cpu: (process::cpu_time() - cpu).as_secs_f64(),
            written_bytes: process::written_bytes() - written,
            tranlog_bytes: self.repository.stats().tranlog_bytes,
        }
    }

    /// A checkpoint shows in its number, a merge in tables that are gone.
    fn look(&mut self) {
        let checkpoint = self.repository.stats().checkpoint;
        self.checkpoints += u64::from(checkpoint != self.checkpoint);
        self.checkpoint = checkpoint;
        let tables = process::files(&self.folder.join("engine").join("tables"));
        let tables: BTreeSet<PathBuf> = tables.into_iter().collect();
        self.merges += u64::from(!self.tables.is_subset(&tables));
        self.tables = tables;
    }

    fn sample(&mut self, overall: &mut Latencies) -> Sample {
        let mut latencies = Latencies::default();
        for thread in self.latencies {
            latencies.add(&std::mem::take(&mut *thread.lock()));
        }
        overall.add(&latencies);
        let stats = self.repository.stats();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = self.counters;
        let created = count(&counters.created);
        let changes = created + count(&counters.updated);
        let reads = count(&counters.read) + count(&counters.missed);
        let (refused, aborted) = (count(&counters.refused), count(&counters.aborted));
        let now = [changes, reads, refused, aborted, stats.reaped];
        let since = |at: usize| (now[at] - self.before[at]) as f64;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let sample = vec![
            self.started.elapsed().as_secs_f64(),
            mib(process::disk_bytes(self.folder)),
            mib(process::disk_bytes(&self.folder.join("tranlog"))),
            mib(process::disk_bytes(&self.folder.join("engine"))),
            mib(stats.memory_bytes),
            mib(process::resident_bytes()),
            created as f64 - stats.reaped as f64,
            since(4),
            since(0),
            since(1),
            since(2),
            since(3),
            ms(&latencies.durable, 50.0),
            ms(&latencies.durable, 99.0),
            ms(&latencies.durable, 99.9),
            ms(&latencies.durable, 100.0),
            ms(&latencies.decision, 100.0),
            self.checkpoints as f64,
            self.merges as f64,
        ];
        self.before = now;
        sample
    }
}
