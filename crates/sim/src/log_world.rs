//! The log alone on a simulated disk: records of every durability go in, the process dies, the
//! power goes, calls fail, and what an opening finds is compared with what was handed over.

use crate::ground::{BLOCK_BYTES, Ground};
use crate::random::Random;
use crate::trace::{Finding, expect};
use repository::parts::{Disk, Log, LogFollower, SegmentSizes};
use repository::{CommitNumber, Durability, LogError, OpenError, Poisoned};
use std::collections::BTreeMap;
use std::path::Path;

const FOLDER: &str = "/log";

/// Segments that may be left after a checkpoint beside those that are kept for readers: the one
/// that is written, the next, those that are kept to be used again, and some made by openings that
/// failed since.
const SEGMENTS_LEFT_MAX: usize = 8;

/// How often what is done, in a run; each seed has its own.
#[derive(Debug)]
struct Habits {
    write_percent: u64,
    crash_per_mille: u64,
    failure_per_mille: u64,
    checkpoint_percent: u64,
    follow_percent: u64,
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
            follow_percent: *random.pick(&[0, 3, 15]),
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
    /// What it stands on.
    pub ground: Ground,
    habits: Habits,
    log: Option<Log>,
    /// The commit that is at rest; it never goes back.
    checkpoint: u64,
    last: u64,
    /// Every commit after the checkpoint that may still be found.
    commits: BTreeMap<u64, Commit>,
    now_ms: u64,
    followed: Followed,
}

/// What somebody knows who follows the log.
#[derive(Default)]
struct Followed {
    /// Every record that was handed over and not lost.
    records: BTreeMap<u64, Vec<u8>>,
    reader: Option<LogFollower>,
    /// The last record that the present reader was given, or where it began.
    position: u64,
    /// The last record that any was given: it must never be lost.
    seen: u64,
}

impl LogWorld {
    /// The world of a seed.
    pub fn new(seed: u64) -> Self {
        let mut ground = Ground::new(seed, (8, 32));
        let habits = Habits::new(&mut ground.random, ground.sizes);
        ground.trace.note(format_args!("{:?} {habits:?}", ground.sizes));
        Self {
            ground,
            habits,
            log: None,
            checkpoint: 0,
            last: 0,
            commits: BTreeMap::new(),
            now_ms: 0,
            followed: Followed::default(),
        }
    }

    /// Takes so many steps, and a last opening.
    pub fn run(&mut self, steps: u64) -> Result<(), Finding> {
        for _ in 0..steps {
            self.step()?;
        }
        self.end_process("the end");
        self.ground.heal();
        self.open()
    }

    fn step(&mut self) -> Result<(), Finding> {
        if self.log.is_none() {
            return self.open();
        }
        if self.ground.random.below(1000) < self.habits.crash_per_mille {
            self.ground.plan_crash(6);
        }
        if self.ground.random.below(1000) < self.habits.failure_per_mille {
            self.ground.plan_failure();
        }
        let outcome = match self.ground.random.below(100) {
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
        self.now_ms += self.ground.random.below(60);
        let outcome = outcome.and_then(|()| match self.ground.is_sync_due(self.now_ms) {
            true => self.write(true),
            false => Ok(()),
        });
        if self.ground.random.percent(self.habits.follow_percent) {
            self.follow()?;
        }
        match outcome {
            Ok(()) => self.observe()?,
            Err(poisoned) => {
                expect(self.ground.can_poison(), || {
                    format!("poisoned without a cause: {poisoned}")
                })?;
                // Those who were told before stay told.
                self.ground.durable = self.ground.durable.max(poisoned.durable.0);
                self.end_process(&format!("poisoned: {}", poisoned.cause));
            }
        }
        if self.ground.disk.has_crashed()
            || self.ground.random.below(2000) < self.habits.crash_per_mille
        {
            self.end_process("crash");
        }
        Ok(())
    }

    fn push(&mut self) {
        let Some(log) = &self.log else { return };
        for _ in 0..self.ground.random.between(1, 4) {
            let gap =
                if self.ground.random.percent(10) { self.ground.random.below(1000) } else { 0 };
            self.last += 1 + gap;
            let durability = *self.ground.random.pick(&self.habits.levels);
            let bytes = self.ground.random.between(1, self.habits.record_bytes_max) as usize;
            let byte = self.ground.random.draw() as u8;
            let mut record = vec![byte; bytes];
            record.extend_from_slice(&self.ground.random.draw().to_le_bytes());
            self.ground.trace.note(format_args!("push {} {durability:?} {bytes}", self.last));
            log.push(CommitNumber(self.last), record.clone(), durability);
            if durability > Durability::Volatile {
                self.followed.records.insert(self.last, record.clone());
            }
            self.commits.insert(self.last, Commit { durability, record });
        }
    }

    fn write(&mut self, sync_is_due: bool) -> Result<(), Poisoned> {
        let Some(log) = &self.log else { return Ok(()) };
        let wrote = log.write_frame(sync_is_due)?;
        self.ground.trace.note(format_args!("write, sync due: {sync_is_due}, did: {wrote}"));
        Ok(())
    }

    fn prepare(&mut self) {
        let did = self.log.as_ref().is_some_and(Log::prepare_segment);
        self.ground.trace.note(format_args!("prepare a segment, did: {did}"));
    }

    fn take_checkpoint(&mut self) -> Result<(), Poisoned> {
        let Some(log) = &self.log else { return Ok(()) };
        let number = log.durable()?;
        if !log.wait_synced(number)? {
            return Ok(());
        }
        self.ground.trace.note(format_args!("checkpoint at {number}"));
        self.checkpoint = number.0;
        self.commits = self.commits.split_off(&(number.0 + 1));
        if self.ground.random.percent(80) {
            log.checkpointed(number);
        }
        Ok(())
    }

    /// Looks at what the log says of itself.
    fn observe(&mut self) -> Result<(), Finding> {
        let Some(log) = &self.log else { return Ok(()) };
        let Ok(durable) = log.durable() else { return Ok(()) };
        let (durable, synced) = (durable.0, log.synced().0);
        expect(durable <= self.last.max(self.checkpoint), || {
            format!("durable {durable}, last {}", self.last)
        })?;
        self.ground.observe(durable, synced, self.now_ms)
    }

    /// Somebody reads on, or begins to.
    fn follow(&mut self) -> Result<(), Finding> {
        let Some(log) = &self.log else { return Ok(()) };
        let retained = log.retained().after.0;
        let followed = &mut self.followed;
        let reader = match &mut followed.reader {
            Some(reader) if !self.ground.random.percent(5) => reader,
            none => {
                let after = self.ground.random.between(retained, self.last.max(retained));
                self.ground.trace.note(format_args!("follow after {after}"));
                followed.position = after;
                none.insert(log.follow(CommitNumber(after)))
            }
        };
        match reader.take() {
            Ok(records) => {
                let given: Vec<_> =
                    records.iter().map(|record| (record.number.0, &record.record[..])).collect();
                let (count, synced) = (given.len(), log.synced().0);
                let expected = followed.records.range(followed.position + 1..);
                let expected = expected.map(|(number, record)| (*number, &record[..]));
                expect(given.iter().copied().eq(expected.take(count)), || {
                    let numbers: Vec<u64> = given.iter().map(|(number, _)| *number).collect();
                    format!("a reader at {} was given {numbers:?}", followed.position)
                })?;
                followed.position = given.last().map_or(followed.position, |(number, _)| *number);
                followed.seen = followed.seen.max(given.last().map_or(0, |(number, _)| *number));
                let position = reader.position().0;
                let next = followed.records.range(followed.position + 1..).next();
                let is_right = next.is_none_or(|(number, _)| *number > position);
                expect(is_right, || format!("a reader came to {position}, past {next:?}"))?;
                let seen = followed.seen;
                expect(seen <= synced, || format!("a reader saw {seen}, synced is {synced}"))
            }
            Err(LogError::Gone { after }) => {
                followed.reader = None;
                let is_so = after.0 >= retained && after.0 > followed.position;
                expect(is_so, || format!("gone up to {after}, after {retained} it is there"))
            }
            Err(LogError::Read { .. }) => {
                followed.reader = None;
                expect(self.ground.has_cause(), || "a reader cannot read".to_owned())
            }
            Err(_) => {
                followed.reader = None;
                Ok(())
            }
        }
    }

    /// Reads all that is kept of the log.
    fn follow_all(&mut self) -> Result<(), Finding> {
        let Some(log) = &self.log else { return Ok(()) };
        if self.ground.has_cause() {
            return Ok(());
        }
        let after = log.retained().after;
        let mut reader = log.follow(after);
        let mut found = Vec::new();
        loop {
            match reader.take() {
                Ok(records) if records.is_empty() => break,
                Ok(records) => found.extend(records.iter().map(|record| record.number.0)),
                Err(_) if self.ground.has_cause() => return Ok(()),
                Err(error) => return Err(Finding(format!("after {after}: {error}"))),
            }
        }
        let expected = self.followed.records.range(after.0 + 1..).map(|(number, _)| *number);
        expect(expected.clone().eq(found.iter().copied()), || {
            format!("after {after} are {found:?}, not {:?}", expected.collect::<Vec<_>>())
        })
    }

    fn end_process(&mut self, why: &str) {
        self.followed.reader = None;
        self.log = None;
        self.ground.die(why);
    }

    fn open(&mut self) -> Result<(), Finding> {
        self.ground.before_opening(20);
        let mut found = Vec::new();
        let (folder, disk) = (Path::new(FOLDER), std::sync::Arc::new(self.ground.disk.clone()));
        let made = disk.create_folder(folder).and_then(|()| disk.sync_folder(Path::new("/")));
        let opened = made.map_err(|error| error.to_string()).and_then(|()| {
            let checkpoint = CommitNumber(self.checkpoint);
            let mut visit = |number: CommitNumber, record: _| found.push((number.0, record));
            let how = (self.ground.sizes, self.ground.retention);
            Log::open(disk, folder, checkpoint, how, &mut visit).map_err(|error| match error {
                OpenError::Damaged { .. } => format!("DAMAGED {error}"),
                other => other.to_string(),
            })
        });
        match opened {
            Ok(log) if !self.ground.disk.has_crashed() => {
                self.ground.trace.note(format_args!("open, {} records", found.len()));
                let found = found.into_iter().map(|(number, record)| (number, record.to_vec()));
                self.compare(found.collect())?;
                self.log = Some(log);
                self.observe()?;
                let (durable, last) = (self.ground.durable, self.last);
                expect(durable == last, || format!("open at {durable}, found up to {last}"))?;
                self.follow_all()?;
                self.check_segments()
            }
            Ok(_) => {
                self.end_process("crash at the end of opening");
                Ok(())
            }
            Err(error) => {
                expect(!error.starts_with("DAMAGED"), || error.clone())?;
                expect(self.ground.has_cause(), || format!("does not open: {error}"))?;
                self.ground.heal();
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
            let must_be_there = *lost <= self.ground.synced
                || match (self.ground.power_was_cut, commit.durability) {
                    (true, Durability::Synced) | (false, _) => *lost <= self.ground.durable,
                    (true, _) => false,
                };
            let seen = self.followed.seen;
            expect(*lost > seen, || format!("lost {lost}, a reader saw {seen}"))?;
            expect(!must_be_there, || format!("lost {lost}, {:?}", commit.durability))?;
            let acknowledged = |(n, c): &(&u64, &Commit)| {
                c.durability == Durability::Synced && **n <= self.ground.durable && *n >= lost
            };
            let also = logged().find(acknowledged).map(|(number, _)| *number);
            expect(also.is_none(), || format!("lost {lost}, and so {also:?}, which was synced"))?;
        }
        let last = found.last().map_or(self.checkpoint, |(number, _)| *number);
        self.last = last.max(self.checkpoint);
        self.commits
            .retain(|number, commit| *number <= last && commit.durability > Durability::Volatile);
        let followed = &mut self.followed;
        followed.records.retain(|number, _| *number <= last.max(self.checkpoint));
        self.ground.reopened();
        Ok(())
    }

    /// What a checkpoint has made unnecessary must not pile up.
    fn check_segments(&mut self) -> Result<(), Finding> {
        if self.ground.has_cause() || !self.ground.random.percent(20) {
            return Ok(());
        }
        let Some(log) = &self.log else { return Ok(()) };
        self.checkpoint = self.last;
        self.commits.clear();
        log.checkpointed(CommitNumber(self.last));
        while log.prepare_segment() {}
        let names = self.ground.disk.names(Path::new(FOLDER)).unwrap_or_default();
        let kept = self.ground.retention.bytes / self.ground.sizes.first_bytes;
        expect(names.len() <= SEGMENTS_LEFT_MAX + kept as usize, || {
            format!("these are left: {names:?}")
        })
    }
}
