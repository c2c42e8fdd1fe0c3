//! The room that is left on the disk: writes are refused before it runs out, so that what is needed
//! to make room again always has some. `docs/transactions.md`, "Space", has the arithmetic.
//!
//! Nobody asks the disk while a commit is decided: threads look at it from time to time, and a
//! commit sees what they saw.

use crate::disk::Disk;
use crate::limits::{RESERVE_BYTES, RESERVE_MARGIN_DIVISOR};
use parking_lot::Mutex;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// See the module. Shared by the log, the steward and whoever commits.
pub(crate) struct Space {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    reserve_bytes: AtomicU64,
    /// As was seen last; `u64::MAX` if nobody could tell.
    free_bytes: AtomicU64,
    /// Bytes of segments that nobody needs: the log gives them back when room is short.
    spare_bytes: AtomicU64,
    /// Writes are refused.
    is_short: AtomicBool,
    /// The log waits for room for its next segment.
    is_stalled: AtomicBool,
    refused: AtomicU64,
    /// Held while somebody looks, so that what was seen last is what is kept.
    looking: Mutex<()>,
}

/// Why a write was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short {
    pub free_bytes: u64,
    pub reserve_bytes: u64,
}

impl Space {
    /// The room on the disk of `folder`, which is looked at for the first time.
    pub(crate) fn new(disk: Arc<dyn Disk>, folder: PathBuf) -> Self {
        let space = Self {
            disk,
            folder,
            reserve_bytes: AtomicU64::new(RESERVE_BYTES),
            free_bytes: AtomicU64::new(u64::MAX),
            spare_bytes: AtomicU64::new(0),
            is_short: AtomicBool::new(false),
            is_stalled: AtomicBool::new(false),
            refused: AtomicU64::new(0),
            looking: Mutex::default(),
        };
        space.look();
        space
    }

    /// Sets how much is to stay free; 0: writes are not refused before the disk is full.
    pub(crate) fn set_reserve(&self, bytes: u64) {
        self.reserve_bytes.store(bytes, Ordering::Relaxed);
        self.look();
    }

    /// Looks at the disk; gives what is free, if it can be told.
    pub(crate) fn look(&self) -> Option<u64> {
        let _looking = self.looking.lock();
        let free = match self.disk.free_bytes(&self.folder) {
            Ok(free) => free,
            Err(error) => {
                // Said once in a row: nothing is refused for want of a number.
                if self.free_bytes.swap(u64::MAX, Ordering::Relaxed) != u64::MAX {
                    let folder = self.folder.display();
                    log::error!("cannot tell how much room is left in {folder}: {error}");
                }
                u64::MAX
            }
        };
        self.free_bytes.store(free, Ordering::Relaxed);
        let usable = free.saturating_add(self.spare_bytes.load(Ordering::Relaxed));
        let reserve = self.reserve_bytes();
        let was_short = self.is_short.load(Ordering::Relaxed);
        // A little more than the reserve ends the shortage, so that it does not come and go.
        let margin = if was_short { reserve / RESERVE_MARGIN_DIVISOR } else { 0 };
        let is_short = usable < reserve.saturating_add(margin);
        if is_short != was_short {
            self.is_short.store(is_short, Ordering::Relaxed);
            tell(is_short, usable, reserve);
        }
        (free < u64::MAX).then_some(free)
    }

    /// Whether what needs room is refused.
    pub(crate) fn is_short(&self) -> bool {
        self.is_short.load(Ordering::Relaxed) || self.is_stalled()
    }

    /// Whether less is free than the reserve, whatever the log could give back.
    pub(crate) fn is_tight(&self) -> bool {
        self.free_bytes() < self.reserve_bytes() || self.is_stalled()
    }

    /// Whether so little is left that what only keeps room occupied has to go.
    pub(crate) fn is_dire(&self) -> bool {
        self.free_bytes() < self.reserve_bytes() / 2 || self.is_stalled()
    }

    /// Whether a commit with a record can be taken; one that only `removes` needs little room.
    pub(crate) fn check(&self, removes: bool) -> Result<(), Short> {
        if self.is_stalled() || (!removes && self.is_short()) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(self.short());
        }
        Ok(())
    }

    /// Whether a file of so many bytes fits on the disk now.
    pub(crate) fn check_file(&self, bytes: u64) -> io::Result<()> {
        match self.look() {
            Some(free) if free < bytes => Err(io::Error::new(
                io::ErrorKind::StorageFull,
                format!("{bytes} bytes are needed in {}, {free} are free", self.folder.display()),
            )),
            _ => Ok(()),
        }
    }

    /// What is free and what is to be.
    pub(crate) fn short(&self) -> Short {
        Short { free_bytes: self.free_bytes(), reserve_bytes: self.reserve_bytes() }
    }

    /// Says whether the log waits for room.
    pub(crate) fn set_stalled(&self, is_stalled: bool) {
        if self.is_stalled.swap(is_stalled, Ordering::Relaxed) != is_stalled {
            match is_stalled {
                true => log::error!(
                    "the disk of {} is full: nothing becomes durable until there is room for a \
                     segment of the tranlog; remove what is not needed there",
                    self.folder.display()
                ),
                false => log::warn!("there is room for the tranlog again"),
            }
        }
    }

    /// Says how many bytes of segments nobody needs.
    pub(crate) fn set_spare(&self, bytes: u64) {
        self.spare_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Whether the log waits for room: what it was given cannot become durable until then.
    pub(crate) fn is_stalled(&self) -> bool {
        self.is_stalled.load(Ordering::Relaxed)
    }

    pub(crate) fn free_bytes(&self) -> u64 {
        self.free_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn reserve_bytes(&self) -> u64 {
        self.reserve_bytes.load(Ordering::Relaxed)
    }

    /// Commits that were refused for want of room.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

fn tell(is_short: bool, usable: u64, reserve: u64) {
    let (usable, reserve) = (usable >> 20, reserve >> 20);
    match is_short {
        true => log::error!(
            "the disk is nearly full: {usable} MiB are free, {reserve} MiB are reserved; writes \
             are refused until there is more, deletions are not"
        ),
        false => log::warn!("there is room on the disk again, {usable} MiB: writes are taken"),
    }
}

/// Whether a call failed because there is no room.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{DiskFile, Files, Lock};
    use crate::document::CommitNumber;
    use crate::durability::Durability;
    use crate::limits::SPACE_LOOK_MS;
    use crate::tranlog::{Home, Retention, SegmentSizes, Start, Tranlog, Used};
    use std::path::Path;
    use std::time::{Duration, Instant};

    const BLOCK: u64 = 4096;

    /// The operating system's files on a disk that says how much room it has.
    #[derive(Default)]
    struct Narrow {
        free: AtomicU64,
        is_mute: AtomicBool,
    }

    impl Disk for Narrow {
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

        fn free_bytes(&self, _: &Path) -> io::Result<u64> {
            match self.is_mute.load(Ordering::Relaxed) {
                true => Err(io::ErrorKind::Unsupported.into()),
                false => Ok(self.free.load(Ordering::Relaxed)),
            }
        }

        fn lock(&self, file: &Path) -> io::Result<Lock> {
            Files.lock(file)
        }
    }

    #[test]
    fn shortage_begins_at_the_reserve_and_ends_a_little_beyond() {
        let disk = Arc::new(Narrow::default());
        let seen = |space: &Space, free: u64| {
            disk.free.store(free, Ordering::Relaxed);
            space.look();
            (space.is_short(), space.check(false).is_ok(), space.check(true).is_ok())
        };
        disk.free.store(RESERVE_BYTES, Ordering::Relaxed);
        let space = Space::new(Arc::clone(&disk) as Arc<dyn Disk>, PathBuf::new());
        assert_eq!(seen(&space, RESERVE_BYTES), (false, true, true));
        assert_eq!(seen(&space, RESERVE_BYTES - 1), (true, false, true));
        let margin = RESERVE_BYTES / RESERVE_MARGIN_DIVISOR;
        assert_eq!(seen(&space, RESERVE_BYTES + margin - 1), (true, false, true));
        assert_eq!(seen(&space, RESERVE_BYTES + margin), (false, true, true));
        assert_eq!(space.refused(), 2);
        // What the log can give back counts.
        space.set_spare(10);
        assert_eq!(seen(&space, RESERVE_BYTES - 10), (false, true, true));
        assert_eq!(seen(&space, RESERVE_BYTES - 11), (true, false, true));
        space.set_reserve(0);
        assert_eq!(seen(&space, 0), (false, true, true));
        space.set_stalled(true);
        assert_eq!(seen(&space, 0), (true, false, false), "what only removes needs the log, too");
        disk.is_mute.store(true, Ordering::Relaxed);
        space.set_stalled(false);
        space.set_reserve(RESERVE_BYTES);
        assert_eq!(seen(&space, 0), (false, true, true), "nobody can tell");
    }

    fn start(folder: &Path, disk: &Arc<Narrow>) -> Tranlog {
        let disk = Arc::clone(disk) as Arc<dyn Disk>;
        let home = Home { disk, folder: folder.to_owned(), repository: [7; 16] };
        let start = Start {
            used: Used::default(),
            checkpoint: CommitNumber(0),
            last_record: CommitNumber(0),
            last: CommitNumber(0),
            sizes: SegmentSizes { first_bytes: 4 * BLOCK, bytes: 4 * BLOCK },
            retention: Retention::default(),
        };
        Tranlog::start(home, start).unwrap()
    }

    /// Fills segments, for the next of which there is no room.
    fn stall(log: &Tranlog, disk: &Narrow) -> CommitNumber {
        disk.free.store(4 * BLOCK - 1, Ordering::Relaxed);
        for number in (1..=12).map(CommitNumber) {
            log.push(number, vec![0; 3000], Durability::Synced);
        }
        let begun = Instant::now();
        while !log.space().is_stalled() {
            assert!(begun.elapsed() < Duration::from_secs(120), "waited for the log to stall");
            std::thread::sleep(Duration::from_millis(SPACE_LOOK_MS));
        }
        log.durable().expect("a log that waits is not poisoned")
    }

    #[test]
    fn a_log_without_room_waits_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Arc::new(Narrow { free: AtomicU64::new(u64::MAX), ..Narrow::default() });
        let log = start(folder.path(), &disk);
        let durable = stall(&log, &disk);
        assert!(durable < CommitNumber(12));
        assert!(!log.wait_synced(CommitNumber(12)).unwrap(), "nobody waits for what cannot be");
        disk.free.store(u64::MAX, Ordering::Relaxed);
        log.wait_durable(CommitNumber(12)).unwrap();
        assert!(!log.space().is_stalled());
        log.close();
        assert_eq!(log.durable().unwrap(), CommitNumber(12));
    }

    #[test]
    fn a_log_that_is_closed_without_room_says_what_it_did_not_write() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Arc::new(Narrow { free: AtomicU64::new(u64::MAX), ..Narrow::default() });
        let log = start(folder.path(), &disk);
        let durable = stall(&log, &disk);
        log.close();
        let poisoned = log.wait_durable(CommitNumber(12)).unwrap_err();
        assert_eq!(poisoned.durable, durable);
        assert!(poisoned.to_string().contains("no room"), "{poisoned}");
    }
}
