//! The log alone on a simulated disk: records of every durability go in, the process dies, the
//! power goes, calls fail, and what an opening finds is compared with what was handed over.

use crate::disk::SimDisk;
use crate::random::Random;
use crate::trace::{Finding, Trace, expect};
use repository::limits::WRITTEN_SYNC_MS;
use repository::parts::{Disk, Log, SegmentSizes};
use repository::{CommitNumber, Durability, OpenError, Poisoned};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

const FOLDER: &str = "/log";
const BLOCK_BYTES: u64 = 4096;

/// Segments that may be left after a checkpoint: the one that is written, the next, those that are
/// kept to be used again, and some made by openings that failed since.
const SEGMENTS_LEFT_MAX: usize = 8;

/// How often what is done, in a run; each seed has its own.
#[derive(Debug)]
struct Habits {
    write_percent: u64,
    crash_per_mille: u64,
    failure_per_mille: u64,
    checkpoint_percent: u64,
    record_bytes_max: u64,
    levels: Vec<Durability>,
}

impl Habits {
    fn new(random: &mut Random, sizes: SegmentSizes) -> Self {
        let all = [Durability::Synced, Durability::Written, Durability::Volatile];
        let levels = (0..4).map(|_| *random.pick(&all)).collect();
        Self {
            write_percent: random.between(20, 80),
            crash_per_mille: random.between(2, 40),
            failure_per_mille: *random.pick(&[0, 0, 5, 20]),
            checkpoint_percent: random.between(0, 6),
            record_bytes_max: *random.pick(&[20, 200, 5000, sizes.bytes / 2 - BLOCK_BYTES]),
            levels,
        }
    }
}

#[derive(Clone, Debug)]
struct Commit {
    durability: Durability,
    record: Vec<u8>,
}

/// The run of one seed.
pub struct LogWorld {
    random: Random,
    disk: SimDisk,
    sizes: SegmentSizes,
    habits: Habits,
    /// What was done last.
    pub trace: Trace,
    log: Option<Log>,
    /// The commit that is at rest; it never goes back.
    checkpoint: u64,
    last: u64,
    /// Every commit after the checkpoint that may still be found.
    commits: BTreeMap<u64, Commit>,
    durable: u64,
    synced: u64,
    now_ms: u64,
    /// Since when something is written and not synced.
    unsynced_since_ms: Option<u64>,
    /// Whether the power went since the log was open.
    power_was_cut: bool,
    /// Whether a call may fail that has not yet.
    may_fail: bool,
}

impl LogWorld {
    /// The world of a seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let disk = SimDisk::new(random.split());
        let sizes = SegmentSizes {
            first_bytes: BLOCK_BYTES * random.between(2, 8),
            bytes: BLOCK_BYTES * random.between(8, 32),
        };
        let habits = Habits::new(&mut random, sizes);
        let mut trace = Trace::default();
        trace.note(format_args!("{sizes:?} {habits:?}"));
        Self {
            random,
            disk,
            sizes,
            habits,
            trace,
            log: None,
            checkpoint: 0,
            last: 0,
            commits: BTreeMap::new(),
            durable: 0,
            synced: 0,
            now_ms: 0,
            unsynced_since_ms: None,
            power_was_cut: false,
            may_fail: false,
        }
    }

    /// Takes so many steps, and a last opening.
    pub fn run(&mut self, steps: u64) -> Result<(), Finding> {
        for _ in 0..steps {
            self.step()?;
        }
        self.end_process("the end");
        self.heal();
        self.open()
    }

    fn step(&mut self) -> Result<(), Finding> {
        if self.log.is_none() {
            return self.open();
        }
        if self.random.below(1000) < self.habits.crash_per_mille {
            let calls = self.random.below(6);
            self.disk.crash_after(calls);
            self.trace.note(format_args!("the crash comes after {calls} calls"));
        }
        if self.random.below(1000) < self.habits.failure_per_mille {
            self.plan_failure();
        }
        let outcome = match self.random.below(100) {
            n if n < self.habits.write_percent => self.write(false),
            n if n < self.habits.write_percent + self.habits.checkpoint_percent => {
                self.take_checkpoint()
            }
            n if n.is_multiple_of(3) => {
                self.prepare();
                Ok(())
            }
            _ => {
                self.push();
                Ok(())
            }
        };
        self.now_ms += self.random.below(60);
        let outcome = outcome.and_then(|()| match self.unsynced_since_ms {
            Some(since) if self.now_ms - since >= WRITTEN_SYNC_MS => self.write(true),
            _ => Ok(()),
        });
        match outcome {
            Ok(()) => self.observe()?,
            Err(poisoned) => {
                let has_cause = self.may_fail || self.disk.has_crashed();
                expect(has_cause, || format!("poisoned without a cause: {poisoned}"))?;
                // Those who were told before stay told.
                self.durable = self.durable.max(poisoned.durable.0);
                self.end_process(&format!("poisoned: {}", poisoned.cause));
            }
        }
        if self.disk.has_crashed() || self.random.below(2000) < self.habits.crash_per_mille {
            self.end_process("crash");
        }
        Ok(())
    }

    fn plan_failure(&mut self) {
        self.may_fail = true;
        if self.random.percent(30) {
            let bytes = self.random.below(4 * self.sizes.bytes);
            self.disk.leave_room(bytes);
            self.trace.note(format_args!("the disk has room for {bytes} bytes"));
        } else {
            let calls = self.random.below(8);
            let kind = *self.random.pick(&[ErrorKind::Other, ErrorKind::StorageFull]);
            self.disk.fail_after(calls, kind);
            self.trace.note(format_args!("a call fails after {calls}: {kind}"));
        }
    }

    fn heal(&mut self) {
        self.disk.heal();
        self.disk.leave_room(u64::MAX);
        self.may_fail = false;
    }

    fn push(&mut self) {
        let Some(log) = &self.log else { return };
        for _ in 0..self.random.between(1, 4) {
            let gap = if self.random.percent(10) { self.random.below(1000) } else { 0 };
            self.last += 1 + gap;
            let durability = *self.random.pick(&self.habits.levels);
            let bytes = self.random.between(1, self.habits.record_bytes_max) as usize;
            let byte = self.random.draw() as u8;
            let mut record = vec![byte; bytes];
            record.extend_from_slice(&self.random.draw().to_le_bytes());
            self.trace.note(format_args!("push {} {durability:?} {bytes}", self.last));
            log.push(CommitNumber(self.last), record.clone(), durability);
            self.commits.insert(self.last, Commit { durability, record });
        }
    }

    fn write(&mut self, sync_is_due: bool) -> Result<(), Poisoned> {
        let Some(log) = &self.log else { return Ok(()) };
        let wrote = log.write_frame(sync_is_due)?;
        self.trace.note(format_args!("write, sync due: {sync_is_due}, did: {wrote}"));
        Ok(())
    }

    fn prepare(&mut self) {
        let did = self.log.as_ref().is_some_and(Log::prepare_segment);
        self.trace.note(format_args!("prepare a segment, did: {did}"));
    }

    fn take_checkpoint(&mut self) -> Result<(), Poisoned> {
        let Some(log) = &self.log else { return Ok(()) };
        let number = log.durable()?;
        log.wait_synced(number)?;
        self.trace.note(format_args!("checkpoint at {number}"));
        self.checkpoint = number.0;
        self.commits = self.commits.split_off(&(number.0 + 1));
        if self.random.percent(80) {
            log.checkpointed(number);
        }
        Ok(())
    }

    /// Looks at what the log says of itself.
    fn observe(&mut self) -> Result<(), Finding> {
        let Some(log) = &self.log else { return Ok(()) };
        let Ok(durable) = log.durable() else { return Ok(()) };
        let (durable, synced) = (durable.0, log.synced().0);
        expect(durable >= self.durable && synced >= self.synced, || {
            format!("durable or synced went back: {durable}, {synced}")
        })?;
        expect(synced <= durable && durable <= self.last.max(self.checkpoint), || {
            format!("synced {synced}, durable {durable}, last {}", self.last)
        })?;
        (self.durable, self.synced) = (durable, synced);
        let now_ms = self.now_ms;
        let is_late = self.unsynced_since_ms.is_some_and(|since| now_ms - since >= WRITTEN_SYNC_MS);
        expect(!is_late || synced == durable, || {
            format!("synced {synced}, durable {durable}, and its second is over")
        })?;
        let waits = (synced < durable).then(|| self.unsynced_since_ms.unwrap_or(self.now_ms));
        self.unsynced_since_ms = waits;
        Ok(())
    }

    fn end_process(&mut self, why: &str) {
        self.log = None;
        let cut = self.random.percent(60);
        self.power_was_cut |= cut;
        self.trace.note(format_args!("{why}: the {} dies", if cut { "power" } else { "process" }));
        if cut {
            self.disk.cut_power();
        } else {
            self.disk.kill();
        }
    }

    fn open(&mut self) -> Result<(), Finding> {
        if self.random.percent(10) {
            let calls = self.random.below(20);
            self.disk.crash_after(calls);
            self.trace.note(format_args!("the crash comes after {calls} calls"));
        }
        if self.random.percent(70) {
            self.heal();
        }
        let mut found = Vec::new();
        let (folder, disk) = (Path::new(FOLDER), std::sync::Arc::new(self.disk.clone()));
        let made = disk.create_folder(folder).and_then(|()| disk.sync_folder(Path::new("/")));
        let opened = made.map_err(|error| error.to_string()).and_then(|()| {
            let checkpoint = CommitNumber(self.checkpoint);
            let mut visit = |number: CommitNumber, record: _| found.push((number.0, record));
            Log::open(disk, folder, checkpoint, self.sizes, &mut visit).map_err(|error| match error
            {
                OpenError::Damaged { .. } => format!("DAMAGED {error}"),
                other => other.to_string(),
            })
        });
        match opened {
            Ok(log) if !self.disk.has_crashed() => {
                self.trace.note(format_args!("open, {} records", found.len()));
                let found = found.into_iter().map(|(number, record)| (number, record.to_vec()));
                self.compare(found.collect())?;
                self.log = Some(log);
                self.observe()?;
                let (durable, last) = (self.durable, self.last);
                expect(durable == last, || format!("open at {durable}, found up to {last}"))?;
                self.check_segments()
            }
            Ok(_) => {
                self.end_process("crash at the end of opening");
                Ok(())
            }
            Err(error) => {
                expect(!error.starts_with("DAMAGED"), || error.clone())?;
                let has_cause = self.may_fail || self.disk.has_crashed();
                expect(has_cause, || format!("does not open: {error}"))?;
                self.heal();
                self.end_process(&error);
                Ok(())
            }
        }
    }

    /// Compares what was found with what was handed over, and forgets what was lost.
    fn compare(&mut self, found: Vec<(u64, Vec<u8>)>) -> Result<(), Finding> {
        let logged = || {
            let all = self.commits.iter();
            all.filter(|(_, commit)| commit.durability > Durability::Volatile)
        };
        let mut expected = logged();
        for (number, record) in &found {
            let is_next = expected.next().is_some_and(|(n, c)| (n, &c.record) == (number, record));
            expect(is_next, || format!("found {number}, which is not what comes next"))?;
        }
        if let Some((lost, commit)) = expected.next() {
            let must_be_there = *lost <= self.synced
                || match (self.power_was_cut, commit.durability) {
                    (true, Durability::Synced) | (false, _) => *lost <= self.durable,
                    (true, _) => false,
                };
            expect(!must_be_there, || format!("lost {lost}, {:?}", commit.durability))?;
            let acknowledged = |(n, c): &(&u64, &Commit)| {
                c.durability == Durability::Synced && **n <= self.durable && *n >= lost
            };
            let also = logged().find(acknowledged).map(|(number, _)| *number);
            expect(also.is_none(), || format!("lost {lost}, and so {also:?}, which was synced"))?;
        }
        let last = found.last().map_or(self.checkpoint, |(number, _)| *number);
        self.last = last.max(self.checkpoint);
        self.commits
            .retain(|number, commit| *number <= last && commit.durability > Durability::Volatile);
        (self.durable, self.synced) = (0, 0);
        self.power_was_cut = false;
        self.unsynced_since_ms = None;
        Ok(())
    }

    /// What a checkpoint has made unnecessary must not pile up.
    fn check_segments(&mut self) -> Result<(), Finding> {
        if self.may_fail || !self.random.percent(20) {
            return Ok(());
        }
        let Some(log) = &self.log else { return Ok(()) };
        self.checkpoint = self.last;
        self.commits.clear();
        log.checkpointed(CommitNumber(self.last));
        while log.prepare_segment() {}
        let names = self.disk.names(Path::new(FOLDER)).unwrap_or_default();
        expect(names.len() <= SEGMENTS_LEFT_MAX, || format!("these are left: {names:?}"))
    }
}
