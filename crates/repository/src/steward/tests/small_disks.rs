//! Small disks of many sizes, filled until writes are refused: whatever the size, the reserve and
//! what was there before, once what is deletable is deleted, writes are taken again. What is
//! written is real files; the threads' rounds are taken one after the other.

use crate::disk::{Disk, DiskFile, DiskRoom, Files, Lock};
use crate::document::MediaType;
use crate::errors::CommitError;
use crate::expired::Kept;
use crate::name::{CollectionName, Key};
use crate::recovery::Ground;
use crate::repository::{Options, Repository};
use crate::steward::*;
use crate::tranlog::{Retention, SegmentSizes};
use crate::transaction::Outcome;
use bytes::Bytes;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

const SEGMENT_BYTES: u64 = 1 << 20;

/// Rounds until writes are taken again, at most: far more than are needed, since what is needed is
/// counted in seconds of `LOOK_EVERY` and no time passes here.
const ROUNDS_MAX: u32 = 4 * LOOKS_UNTIL_IDLE;

/// The operating system's files on a disk of a bounded size, of which others may take some.
struct Small {
    folder: PathBuf,
    all_bytes: u64,
    taken_bytes: AtomicU64,
}

fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| match entry.metadata() {
            Ok(folder) if folder.is_dir() => bytes_in(&entry.path()),
            Ok(file) => file.len(),
            Err(_) => 0,
        })
        .sum()
}

impl Small {
    fn used_bytes(&self) -> u64 {
        bytes_in(&self.folder) + self.taken_bytes.load(Ordering::Relaxed)
    }
}

impl Disk for Small {
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

    fn room(&self, _: &Path) -> io::Result<DiskRoom> {
        let free_bytes = self.all_bytes.saturating_sub(self.used_bytes());
        Ok(DiskRoom { free_bytes, all_bytes: self.all_bytes })
    }

    fn lock(&self, file: &Path) -> io::Result<Lock> {
        Files.lock(file)
    }
}

/// A repository on such a disk, and the threads' memories.
struct Site {
    disk: Arc<Small>,
    reserve_bytes: u64,
    repository: Repository,
    memory: Memory,
    checkpoints: Checkpoints,
    tables: Tables,
    rounds: u32,
}

fn collection() -> CollectionName {
    CollectionName::new("notes").unwrap()
}

fn key(number: u64) -> Key {
    Key::new(&format!("{:08x}", number.wrapping_mul(0x9e37_79b1) & 0xffff_ffff)).unwrap()
}

impl Site {
    fn open(disk: &Arc<Small>, reserve_bytes: u64) -> Self {
        let clock = Arc::new(|| Timestamp(1));
        let options = Options { folder: disk.folder.clone(), memory_bytes: 64 << 20, clock };
        let ground = Ground {
            disk: Arc::clone(disk) as Arc<dyn Disk>,
            at_rest: Box::new(|folder| crate::engine::open_engine(&folder.engine(), 1 << 20)),
            sizes: SegmentSizes { first_bytes: SEGMENT_BYTES / 16, bytes: SEGMENT_BYTES },
            has_threads: false,
            kept: Kept::Nothing,
            retention: Retention::default(),
            reserve_bytes,
        };
        let (opened, _) = Repository::open_store(&options, ground).unwrap();
        let log_bytes_at_last = -(opened.replayed_bytes as i64);
        let looks = LOOKS_BETWEEN;
        Self {
            disk: Arc::clone(disk),
            reserve_bytes,
            repository: Repository::assemble(opened.store, None),
            memory: Memory::default(),
            checkpoints: Checkpoints { log_bytes_at_last, pause: 0, failures: 0, looks },
            tables: Tables::default(),
            rounds: 0,
        }
    }

    /// Its process dies, and another opens what is there.
    fn reopened(self) -> Self {
        let Self { disk, reserve_bytes, repository, .. } = self;
        drop(repository);
        Self::open(&disk, reserve_bytes)
    }

    /// What the threads do between two looks.
    fn round(&mut self) {
        self.rounds += 1;
        let store = Arc::clone(&self.repository.store);
        while store.tranlog.step(true).unwrap() {}
        while store.tranlog.step_supply() {}
        self.memory.round(&store);
        self.checkpoints.round(&store);
        self.tables.round(&store);
        let used = self.disk.used_bytes();
        assert!(used <= self.disk.all_bytes, "{used} bytes are used: {}", self.shown());
    }

    fn shown(&self) -> String {
        let (all, stats) = (self.disk.all_bytes, self.repository.stats());
        let log = self.disk.folder.join("tranlog");
        let segments = Files.names(&log).unwrap();
        let length = |name: &String| Files.length(&log.join(name)).unwrap_or(0);
        let mut segments: Vec<_> = segments.iter().map(|name| (name, length(name))).collect();
        segments.sort();
        let usable = self.repository.store.tranlog.space().usable_bytes();
        format!(
            "a disk of {all} bytes with {} reserved, after {} rounds: {usable} usable, {stats:?}, \
             {segments:?}",
            self.reserve_bytes, self.rounds
        )
    }

    /// Whether it was taken; `false`: for want of room, for now.
    fn commit(&self, number: u64, body_bytes: Option<usize>) -> bool {
        let mut transaction = self.repository.begin().unwrap();
        match body_bytes {
            Some(bytes) => {
                let body = Bytes::from(format!("\"{}\"", "x".repeat(bytes)));
                transaction.put(&collection(), &key(number), MediaType::Json, body, None)
            }
            None => transaction.delete(&collection(), &key(number)),
        }
        .unwrap();
        match transaction.commit() {
            Ok(Outcome::Committed(_)) => true,
            Err(CommitError::NoSpace { .. } | CommitError::Overloaded(_)) => false,
            other => panic!("{other:?}"),
        }
    }

    /// Tries again and again.
    fn until_taken(&mut self, what: &str, number: u64, body_bytes: Option<usize>) {
        let begun = self.rounds;
        while !self.commit(number, body_bytes) {
            assert!(self.rounds - begun < ROUNDS_MAX, "{what}: {}", self.shown());
            self.round();
        }
    }

    /// Puts documents until room is short; gives how many there are.
    fn fill(&mut self, from: u64, body_bytes: usize) -> u64 {
        let most = 2 * self.disk.all_bytes / body_bytes as u64 + 8;
        for number in from..from + most {
            while !self.commit(number, Some(body_bytes)) {
                self.round();
                if self.repository.stats().is_short_of_space {
                    return number;
                }
            }
            if number.is_multiple_of(4) {
                self.round();
            }
        }
        panic!("it was never full: {}", self.shown())
    }
}

/// Fills it, deletes all but one in `kept`, and writes again, twice.
fn run(all_bytes: u64, reserve_bytes: u64, (body_bytes, kept): (usize, u64), reopens: bool) {
    let folder = tempfile::tempdir().unwrap();
    let taken_bytes = AtomicU64::new(0);
    let disk = Small { folder: folder.path().to_owned(), all_bytes, taken_bytes };
    let mut site = Site::open(&Arc::new(disk), reserve_bytes);
    let mut from = 0;
    for _ in 0..2 {
        let end = site.fill(from, body_bytes);
        if reopens {
            site = site.reopened();
        }
        for number in (from..end).filter(|number| number % kept != 0) {
            site.until_taken("a deletion", number, None);
        }
        site.until_taken("a write after deletions", end, Some(body_bytes));
        from = end + 1;
    }
}

#[test]
fn whatever_the_size_of_the_disk_deleting_ends_a_shortage() {
    let mib = |tenths: u64| tenths * SEGMENT_BYTES / 10;
    // Below 5 segments, half of what the log leaves is less than the least that a checkpoint needs.
    for (i, all) in (50..=200).step_by(11).enumerate() {
        let reserve = mib([20, 40, 160, 100_000][i % 4]);
        let body_bytes = [2_000, 30_000, 250_000][i % 3];
        run(mib(all), reserve, (body_bytes, [u64::MAX, 40][i / 2 % 2]), i % 5 < 2);
    }
}
