//! The room that is left on the disk: writes are refused before it runs out, so that what is needed
//! to make room again always has some. `docs/transactions.md`, "Space", has the arithmetic.
//!
//! Nobody asks the disk while a commit is decided: threads look at it from time to time, and a
//! commit sees what they saw.

use crate::disk::{Disk, DiskRoom};
use crate::limits::{RESERVE_MARGIN_DIVISOR, UNSYNCED_BYTES_MAX};
use parking_lot::Mutex;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What is to stay free.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reserve {
    /// As was asked for; 0: writes are not refused before the disk is full.
    pub bytes: u64,
    /// How large the log's segments are.
    pub segment_bytes: u64,
}

impl Reserve {
    /// The segments that the log has when everything is deleted: the one that is written, and the
    /// next.
    const SEGMENTS_ALWAYS: u64 = 2;

    /// The reserve on a disk of so many bytes: never more than half of what is left beside the
    /// log, so that deleting can always give back what it asks for.
    fn on(self, all_bytes: u64) -> u64 {
        let log_bytes = Self::SEGMENTS_ALWAYS.saturating_mul(self.segment_bytes);
        self.bytes.min(all_bytes.saturating_sub(log_bytes) / 2)
    }

    /// How much must be usable before writes are taken again: a little more than the reserve, so
    /// that the shortage does not come and go.
    fn end(reserve_bytes: u64) -> u64 {
        reserve_bytes.saturating_add(reserve_bytes / RESERVE_MARGIN_DIVISOR)
    }
}

/// See the module. Shared by the log, the steward and whoever commits.
pub(crate) struct Space {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    reserve: Reserve,
    /// The reserve on this disk, which may be smaller than was asked for.
    reserve_bytes: AtomicU64,
    /// As was seen last; `u64::MAX` if nobody could tell.
    free_bytes: AtomicU64,
    /// Bytes of segments that nobody needs yet, the one that was made ahead included: one of them
    /// will be the next, and the log gives the others back when room is short.
    spare_bytes: AtomicU64,
    /// What is free and spare but for the log's next segment, as was seen last.
    usable_bytes: AtomicU64,
    /// How many segments are made or removed now: what is free and what is spare do not fit
    /// together until that is done.
    changes: AtomicU64,
    /// Writes are refused.
    is_short: AtomicBool,
    /// The log waits for room for its next segment.
    is_stalled: AtomicBool,
    /// The log does not make its next segment before a checkpoint was written.
    is_cramped: AtomicBool,
    refused: AtomicU64,
    /// Held while somebody looks, so that what was seen last is what is kept.
    looking: Mutex<()>,
}

/// Why a write was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short {
    /// But for the log's next segment.
    pub free_bytes: u64,
    pub reserve_bytes: u64,
}

impl Space {
    /// The room on the disk of `folder`, which is looked at for the first time.
    pub(crate) fn new(disk: Arc<dyn Disk>, folder: PathBuf, reserve: Reserve) -> Self {
        let space = Self {
            disk,
            folder,
            reserve,
            reserve_bytes: AtomicU64::new(reserve.bytes),
            free_bytes: AtomicU64::new(u64::MAX),
            spare_bytes: AtomicU64::new(0),
            usable_bytes: AtomicU64::new(u64::MAX),
            changes: AtomicU64::new(0),
            is_short: AtomicBool::new(false),
            is_stalled: AtomicBool::new(false),
            is_cramped: AtomicBool::new(false),
            refused: AtomicU64::new(0),
            looking: Mutex::default(),
        };
        space.look();
        let reserved = space.reserve_bytes();
        if reserved < reserve.bytes {
            log::warn!(
                "the disk of {} is too small for a reserve of {} MiB beside the tranlog: {} MiB \
                 of it are reserved",
                space.folder.display(),
                reserve.bytes >> 20,
                reserved >> 20
            );
        }
        space
    }

    /// Looks at the disk; gives what is free, if it can be told.
    pub(crate) fn look(&self) -> Option<u64> {
        let _looking = self.looking.lock();
        let DiskRoom { free_bytes: free, all_bytes: all } = match self.disk.room(&self.folder) {
            Ok(room) => room,
            Err(error) => {
                // Said once in a row: nothing is refused for want of a number.
                if self.free_bytes.swap(u64::MAX, Ordering::Relaxed) != u64::MAX {
                    let folder = self.folder.display();
                    log::error!("cannot tell how much room is left in {folder}: {error}");
                }
                DiskRoom { free_bytes: u64::MAX, all_bytes: u64::MAX }
            }
        };
        self.free_bytes.store(free, Ordering::Relaxed);
        let reserve = self.reserve.on(all);
        self.reserve_bytes.store(reserve, Ordering::Relaxed);
        let usable = match free {
            _ if self.changes.load(Ordering::Relaxed) > 0 => self.usable_bytes(),
            u64::MAX => u64::MAX,
            _ => (free.saturating_add(self.spare_bytes.load(Ordering::Relaxed)))
                .saturating_sub(self.reserve.segment_bytes),
        };
        self.usable_bytes.store(usable, Ordering::Relaxed);
        let was_short = self.is_short.load(Ordering::Relaxed);
        let is_short = usable < if was_short { Reserve::end(reserve) } else { reserve };
        if is_short != was_short {
            self.is_short.store(is_short, Ordering::Relaxed);
            tell(is_short, usable, reserve);
        }
        (free < u64::MAX).then_some(free)
    }

    /// Whether what needs room is refused.
    pub(crate) fn is_short(&self) -> bool {
        self.is_short.load(Ordering::Relaxed) || self.is_stalled() || self.is_cramped()
    }

    /// Whether what can give room back is to do so: less is free than the reserve, whatever the
    /// log could give back, or writes are refused. As long as they are, somebody must work on it.
    pub(crate) fn is_tight(&self) -> bool {
        self.free_bytes() < self.reserve_bytes() || self.is_short()
    }

    /// How many bytes there are for checkpoints and merges beside the log's next segment.
    pub(crate) fn usable_bytes(&self) -> u64 {
        self.usable_bytes.load(Ordering::Relaxed)
    }

    /// Whether a checkpoint may not fit any more once the log's next segment is made: the largest
    /// that was not written yet is about half of what was usable when it became due.
    pub(crate) fn lacks_checkpoint_room(&self) -> bool {
        self.is_tight() && self.usable_bytes() < self.reserve_bytes() / 4 * 3
    }

    /// Whether the log does not make its next segment before a checkpoint was written; what it was
    /// given has room in the one that it has.
    pub(crate) fn is_cramped(&self) -> bool {
        self.is_cramped.load(Ordering::Relaxed)
    }

    pub(crate) fn set_cramped(&self, is_cramped: bool) {
        self.is_cramped.store(is_cramped, Ordering::Relaxed);
    }

    /// How much may be accepted and not written: no more than has room, even where only half of
    /// each segment is used. Where nothing is left but the rest of a segment, little.
    pub(crate) fn unwritten_bytes_max(&self) -> usize {
        let room = self.reserve.segment_bytes / 64 + self.usable_bytes() / 2;
        usize::try_from(room).unwrap_or(usize::MAX).min(UNSYNCED_BYTES_MAX)
    }

    /// Whether so little is left that what only keeps room occupied has to go.
    pub(crate) fn is_dire(&self) -> bool {
        self.free_bytes() < self.reserve_bytes() / 2 || self.is_stalled()
    }

    /// Whether a commit with a record can be taken; one that only `removes` needs little room.
    pub(crate) fn check(&self, removes: bool) -> Result<(), Short> {
        if self.is_stalled() || self.is_cramped() || (!removes && self.is_short()) {
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
        Short { free_bytes: self.usable_bytes(), reserve_bytes: self.reserve_bytes() }
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

    /// Says that a segment begins to be made or removed.
    pub(crate) fn begin_change(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Says that it is, and that what is spare was told.
    pub(crate) fn end_change(&self) {
        self.changes.fetch_sub(1, Ordering::Relaxed);
        self.look();
    }

    /// Says how many bytes of segments nobody needs yet.
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
    let (usable, end, reserve) = (usable >> 20, Reserve::end(reserve) >> 20, reserve >> 20);
    match is_short {
        true => log::error!(
            "the disk is nearly full: {usable} MiB are free beside the tranlog, {reserve} MiB are \
             reserved; writes are refused until {end} MiB are free: delete documents, which is \
             not refused, remove other files from the disk, or serve with a smaller --reserve"
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
    use crate::limits::{RESERVE_BYTES, SPACE_LOOK_MS};
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

        fn room(&self, _: &Path) -> io::Result<DiskRoom> {
            match self.is_mute.load(Ordering::Relaxed) {
                true => Err(io::ErrorKind::Unsupported.into()),
                false => Ok(DiskRoom {
                    free_bytes: self.free.load(Ordering::Relaxed),
                    all_bytes: u64::MAX,
                }),
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
        let of = |bytes| {
            let reserve = Reserve { bytes, segment_bytes: BLOCK };
            Space::new(Arc::clone(&disk) as Arc<dyn Disk>, PathBuf::new(), reserve)
        };
        // The log's next segment is foreseen.
        let begin = RESERVE_BYTES + BLOCK;
        disk.free.store(begin, Ordering::Relaxed);
        let space = of(RESERVE_BYTES);
        assert_eq!(seen(&space, begin), (false, true, true));
        assert_eq!(seen(&space, begin - 1), (true, false, true));
        let margin = RESERVE_BYTES / RESERVE_MARGIN_DIVISOR;
        assert_eq!(seen(&space, begin + margin - 1), (true, false, true));
        assert!(space.is_tight(), "as long as writes are refused, somebody works on it");
        assert_eq!(seen(&space, begin + margin), (false, true, true));
        assert_eq!(space.refused(), 2);
        // What the log can give back counts, and its next segment once it is made.
        space.set_spare(BLOCK + 10);
        assert_eq!(seen(&space, RESERVE_BYTES - 10), (false, true, true));
        assert_eq!(seen(&space, RESERVE_BYTES - 11), (true, false, true));
        // While a segment is made, what is free falls and is not yet spare.
        assert_eq!(seen(&space, begin + margin), (false, true, true));
        space.begin_change();
        assert_eq!(seen(&space, 0), (false, true, true));
        space.set_spare(begin);
        space.end_change();
        assert!(!space.is_short());
        let space = of(0);
        assert_eq!(seen(&space, 0), (false, true, true));
        space.set_stalled(true);
        assert_eq!(seen(&space, 0), (true, false, false), "what only removes needs the log, too");
        disk.is_mute.store(true, Ordering::Relaxed);
        assert_eq!(seen(&of(RESERVE_BYTES), 0), (false, true, true), "nobody can tell");
    }

    #[test]
    fn a_reserve_asks_for_no_more_than_deleting_gives_back() {
        for segment_bytes in [BLOCK, 64 << 20] {
            for (all, bytes) in (0..200).flat_map(|n| (0..20).map(move |m| (n, m))) {
                let all = segment_bytes * all / 8;
                let reserve = Reserve { bytes: segment_bytes * bytes / 2, segment_bytes };
                let on = reserve.on(all);
                // Of an empty repository there is the segment that is written and the next one.
                let most = all.saturating_sub(2 * segment_bytes);
                assert!(Reserve::end(on) <= most, "{reserve:?} on {all}");
                assert!(on <= reserve.bytes && (on == reserve.bytes || on == most / 2));
            }
        }
    }

    #[test]
    fn no_more_waits_to_be_written_than_there_is_room_for() {
        let disk = Arc::new(Narrow::default());
        let reserve = Reserve { bytes: RESERVE_BYTES, segment_bytes: 64 << 20 };
        let space = Space::new(Arc::clone(&disk) as Arc<dyn Disk>, PathBuf::new(), reserve);
        let most = |free: u64| {
            disk.free.store(free, Ordering::Relaxed);
            space.look();
            space.unwritten_bytes_max()
        };
        assert_eq!(most(RESERVE_BYTES + (64 << 20)), UNSYNCED_BYTES_MAX);
        assert_eq!(most((64 << 20) + 100), (1 << 20) + 50);
        assert_eq!(most(0), 1 << 20);
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
            reserve_bytes: RESERVE_BYTES,
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
