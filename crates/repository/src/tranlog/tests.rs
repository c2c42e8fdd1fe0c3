//! The log as a whole: durability levels, gaps between numbers, holes that a power cut leaves in
//! what was not synced, and damage. Nothing runs by itself here: each test takes the steps.

use super::*;
use crate::disk::Files;
use crate::document::CommitNumber;
use crate::durability::Durability::{self, Synced, Volatile, Written};
use crate::errors::OpenError;
use crate::limits::RESERVE_BYTES;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

pub(super) const BLOCK: u64 = 4096;
const ID: [u8; 16] = [7; 16];

pub(super) struct Place {
    folder: tempfile::TempDir,
    /// The commit that the engine holds.
    pub engine: u64,
    pub retention: Retention,
}

/// What an opening finds: commit numbers with the first byte of each record.
pub(super) type Found = Vec<(u64, u8)>;

impl Place {
    pub(super) fn new() -> Self {
        Self::keeping(0)
    }

    /// One whose log keeps so many bytes.
    pub(super) fn keeping(bytes: u64) -> Self {
        let retention = Retention { bytes, hold: None };
        Self { folder: tempfile::tempdir().unwrap(), engine: 0, retention }
    }

    fn home(&self) -> Home {
        let folder = self.folder.path().to_owned();
        Home { disk: Arc::new(Files), folder, repository: ID }
    }

    fn scan(&self) -> Result<(Found, Scan), OpenError> {
        let mut found = Vec::new();
        let scan = scan(&self.home(), CommitNumber(self.engine), &mut |number, record| {
            found.push((number.0, record[0]));
            Ok(())
        })?;
        Ok((found, scan))
    }

    /// Opens the log, which ends any earlier use of it as the death of its process does.
    pub(super) fn open(&self) -> (Found, Tranlog) {
        let (found, scan) = self.scan().unwrap();
        scan.settle(&self.home()).unwrap();
        let start = Start {
            used: scan.used,
            checkpoint: CommitNumber(self.engine),
            last_record: scan.last_record,
            last: scan.last,
            sizes: SegmentSizes { first_bytes: 8 * BLOCK, bytes: 16 * BLOCK },
            retention: self.retention,
            reserve_bytes: RESERVE_BYTES,
        };
        (found, Tranlog::stepped(self.home(), start).unwrap())
    }

    pub(super) fn segment(&self, sequence: u64) -> PathBuf {
        self.home().path(sequence)
    }

    fn blocks(&self, sequence: u64, first: u64, count: u64) -> Vec<u8> {
        let content = std::fs::read(self.segment(sequence)).unwrap();
        content[(first * BLOCK) as usize..((first + count) * BLOCK) as usize].to_vec()
    }

    fn put_blocks(&self, sequence: u64, first: u64, blocks: &[u8]) {
        let file = std::fs::OpenOptions::new().write(true).open(self.segment(sequence)).unwrap();
        file.write_all_at(blocks, first * BLOCK).unwrap();
    }

    /// What a power cut does to a block that was never synced.
    fn lose(&self, sequence: u64, block: u64) {
        self.put_blocks(sequence, block, &[0; BLOCK as usize]);
    }

    /// What a torn write leaves: a header, and not what it promises.
    pub(super) fn tear(&self, sequence: u64, block: u64) {
        let mut torn = self.blocks(sequence, block, 1);
        torn[70] ^= 0xff;
        self.put_blocks(sequence, block, &torn);
    }

    fn numbers(&self) -> Vec<u64> {
        self.scan().unwrap().0.into_iter().map(|(number, _)| number).collect()
    }
}

impl Tranlog {
    /// Pushes a record that begins with `byte`, and writes it as a frame of its own.
    pub(super) fn put(&self, number: u64, byte: u8, durability: Durability) {
        self.push(CommitNumber(number), vec![byte; 9], durability);
        while self.step(false).unwrap() {}
    }

    pub(super) fn numbers(&self) -> (u64, u64) {
        (self.durable().unwrap().0, self.synced().0)
    }
}

#[test]
fn each_level_is_acknowledged_when_it_is_reached() {
    let place = Place::new();
    let (_, log) = place.open();
    log.put(1, 0, Synced);
    assert_eq!(log.numbers(), (1, 1));
    log.put(2, 0, Written);
    assert_eq!(log.numbers(), (2, 1), "written, not synced");
    log.put(3, 0, Volatile);
    assert_eq!(log.numbers(), (3, 1), "2 is before it");
    log.put(4, 0, Synced);
    assert_eq!(log.numbers(), (4, 4), "a sync takes everything along");
    log.put(5, 0, Volatile);
    assert_eq!(log.numbers(), (5, 5), "there is nothing to sync");
    log.put(6, 0, Written);
    assert!(log.step(true).unwrap(), "its second is over");
    assert_eq!(log.numbers(), (6, 6));
    assert!(!log.step(true).unwrap(), "everything is done");
    assert_eq!(place.numbers(), [1, 2, 4, 6]);
}

#[test]
fn what_is_queued_counts_for_nothing() {
    let place = Place::new();
    let (_, log) = place.open();
    log.push(CommitNumber(1), vec![0; 9], Written);
    log.push(CommitNumber(2), Vec::new(), Volatile);
    assert_eq!(log.numbers(), (0, 0), "a volatile commit waits for those before it");
    assert!(log.step(false).unwrap());
    assert_eq!(log.numbers(), (2, 0));
    log.push(CommitNumber(3), vec![0; 2 << 20], Written);
    log.push(CommitNumber(5), vec![0; 9], Synced);
    drop(log);
    assert_eq!(place.numbers(), [1], "the process died before the step");
}

#[test]
fn a_large_batch_is_acknowledged_frame_by_frame() {
    let place = Place::new();
    let (_, scan) = place.scan().unwrap();
    let start = Start {
        used: scan.used,
        checkpoint: CommitNumber(0),
        last_record: scan.last_record,
        last: scan.last,
        sizes: SegmentSizes::default(),
        retention: place.retention,
        reserve_bytes: RESERVE_BYTES,
    };
    let log = Tranlog::stepped(place.home(), start).unwrap();
    log.push(CommitNumber(1), vec![1; 2 << 20], Written);
    log.push(CommitNumber(4), vec![4; 9], Written);
    assert!(log.step(false).unwrap());
    assert_eq!(log.numbers(), (3, 0), "up to the next that has a record");
    assert!(log.step(false).unwrap());
    assert_eq!((log.numbers(), log.written().0), ((4, 0), 2));
}

#[test]
fn waiting_for_a_sync_asks_for_it() {
    let place = Place::new();
    let (_, log) = place.open();
    log.put(1, 0, Written);
    log.wait_synced(CommitNumber(1)).unwrap();
    assert_eq!(log.numbers(), (1, 1));
    log.push(CommitNumber(2), vec![0; 9], Written);
    log.push(CommitNumber(3), Vec::new(), Volatile);
    log.wait_synced(CommitNumber(3)).unwrap();
    assert_eq!(log.numbers(), (3, 3));
}

#[test]
fn threads_reach_every_level_and_closing_syncs() {
    let place = Place::new();
    let (_, scan) = place.scan().unwrap();
    let start = Start {
        used: scan.used,
        checkpoint: CommitNumber(0),
        last_record: scan.last_record,
        last: scan.last,
        sizes: SegmentSizes { first_bytes: 8 * BLOCK, bytes: 16 * BLOCK },
        retention: place.retention,
        reserve_bytes: RESERVE_BYTES,
    };
    let log = Tranlog::start(place.home(), start).unwrap();
    for number in 1..=60 {
        let number = CommitNumber(number);
        log.push(number, vec![0; 9], [Synced, Written, Volatile][number.0 as usize % 3]);
        log.wait_durable(number).unwrap();
        if number.0.is_multiple_of(7) {
            log.wait_synced(number).unwrap();
        }
    }
    log.push(CommitNumber(61), vec![0; 9], Written);
    log.wait_durable(CommitNumber(61)).unwrap();
    log.close();
    assert_eq!(log.numbers(), (61, 61));
    drop(log);
    let logged: Vec<u64> = (1..=61).filter(|number| number % 3 != 2 || *number == 61).collect();
    assert_eq!(place.numbers(), logged);
}

#[test]
fn numbers_may_jump() {
    let place = Place::new();
    let (_, log) = place.open();
    log.put(3, 1, Synced);
    log.put(1 << 60, 2, Synced);
    let (found, log) = place.open();
    assert_eq!(found, [(3, 1), (1 << 60, 2)]);
    assert_eq!(log.numbers(), (1 << 60, 1 << 60));
    log.put((1 << 60) + 1, 3, Synced);
    assert_eq!(place.numbers(), [3, 1 << 60, (1 << 60) + 1]);
}

/// Frames 2, 3 and 4 are not synced when the power goes; any of them may be lost or torn.
#[test]
fn holes_in_the_unsynced_tail_end_the_log() {
    for lost in 0..27_u64 {
        let place = Place::new();
        let (_, log) = place.open();
        log.put(1, 1, Synced);
        (2..=4).for_each(|number| log.put(number, 1, Written));
        drop(log);
        let fate = |number: u64| lost / 3_u64.pow(number as u32 - 2) % 3;
        for number in 2..=4 {
            match fate(number) {
                0 => {}
                1 => place.lose(1, number),
                _ => place.tear(1, number),
            }
        }
        let kept = (2..=4).take_while(|number| fate(*number) == 0).count() as u64 + 1;
        let expected: Found = (1..=kept).map(|number| (number, 1)).collect();
        let is_reported =
            (kept < 4 && fate(kept + 1) == 2) || (kept + 2..=4).any(|number| fate(number) == 0);
        assert_eq!(place.scan().unwrap().1.torn_tail.is_some(), is_reported, "{lost}");
        let (found, log) = place.open();
        assert_eq!(found, expected, "{lost}");
        // The numbers are used again, in the next segment, and none of it is taken for the old.
        (kept + 1..=kept + 3).for_each(|number| log.put(number, 2, Synced));
        let (found, scan) = place.scan().unwrap();
        let again = (kept + 1..=kept + 3).map(|number| (number, 2));
        assert_eq!(found, expected.into_iter().chain(again).collect::<Found>(), "{lost}");
        assert!(scan.torn_tail.is_none(), "{lost}: reported once");
    }
}

#[test]
fn a_dropped_frame_stays_dropped_even_if_it_cannot_be_cleared() {
    let place = Place::new();
    let (_, log) = place.open();
    log.put(1, 1, Synced);
    log.put(2, 1, Written);
    log.put(3, 1, Written);
    drop(log);
    place.lose(1, 2);
    let beyond = place.blocks(1, 3, 1);
    let (found, log) = place.open();
    assert_eq!(found, [(1, 1)]);
    // The new log has a frame after commit 2 as well, but it is another commit 2.
    log.put(2, 2, Written);
    drop(log);
    place.put_blocks(1, 3, &beyond);
    let (found, log) = place.open();
    assert_eq!(found, [(1, 1), (2, 2)]);
    drop(log);
    // And the same where the first frame of the new segment is lost, and that opening wrote none.
    place.put_blocks(1, 3, &beyond);
    place.lose(2, 1);
    assert_eq!(place.open().0, [(1, 1)]);
}

#[test]
fn what_was_synced_is_damaged_if_it_is_missing() {
    let place = Place::new();
    let (_, log) = place.open();
    log.put(1, 1, Written);
    log.put(2, 1, Written);
    log.put(3, 1, Synced);
    log.put(5, 1, Written);
    drop(log);
    let whole = place.blocks(1, 0, 8);
    for (block, damaged) in [(1, true), (2, true), (3, true), (4, false)] {
        for torn in [false, true] {
            place.put_blocks(1, 0, &whole);
            if torn {
                place.tear(1, block)
            } else {
                place.lose(1, block)
            }
            match place.scan() {
                Ok((found, _)) => assert_eq!((found.len(), damaged), (3, false), "{block}"),
                Err(OpenError::Damaged { offset, .. }) => {
                    assert_eq!((offset, damaged), (block * BLOCK, true), "{block}");
                }
                Err(other) => panic!("{block}: {other}"),
            }
        }
    }
}

/// 3 is a gap: the frame with 5 says that everything before was synced, which is no more than 2.
#[test]
fn a_gap_is_not_a_hole() {
    let place = Place::new();
    let (_, log) = place.open();
    log.put(2, 1, Synced);
    log.put(3, 1, Volatile);
    log.put(4, 1, Written);
    log.put(5, 1, Written);
    assert_eq!(log.numbers(), (5, 3));
    drop(log);
    place.lose(1, 2);
    assert_eq!(place.numbers(), [2], "4 was never synced");
}

#[test]
fn nothing_unsynced_is_left_in_a_full_segment() {
    let place = Place::new();
    let (_, log) = place.open();
    (1..=7).for_each(|number| log.put(number, 1, Written));
    assert_eq!(log.numbers(), (7, 0));
    log.put(8, 1, Written);
    assert_eq!((log.numbers(), place.home().sequences().unwrap()), ((8, 7), vec![1, 2]));
    drop(log);
    // So the first frame of the next segment proves that a hole in this one is damage.
    let hole = place.blocks(1, 7, 1);
    place.lose(1, 7);
    let message = place.scan().unwrap_err().to_string();
    assert!(message.contains("expected what follows commit 6, found 7 before"), "{message}");
    place.put_blocks(1, 7, &hole);
    assert_eq!(place.open().0.len(), 8);
}

#[test]
fn segments_that_the_engine_has_are_passed_over() {
    let mut place = Place::new();
    let (_, log) = place.open();
    (1..=40).for_each(|number| log.put(2 * number, 1, Synced));
    drop(log);
    assert_eq!(place.numbers().len(), 40);
    let visited = |place: &Place| place.scan().unwrap().1.visited;
    for engine in [1, 14, 15, 16, 43, 44, 45, 79] {
        place.engine = engine;
        assert_eq!(visited(&place), 40 - engine / 2, "{engine}");
    }
    // Numbers in the engine may have no record.
    place.engine = 90;
    let (found, log) = place.open();
    assert_eq!((found.len(), log.numbers()), (0, (90, 90)));
    log.checkpointed(CommitNumber(90));
    log.put(91, 1, Synced);
    while log.step_supply() {}
    assert_eq!(place.numbers(), [91]);
}

/// A power cut may undo the removal of the oldest segment and not that of the next, and an opening
/// that wrote nothing has left an empty segment behind the gap.
#[test]
fn removed_segments_that_come_back_do_no_harm() {
    let mut place = Place::new();
    let (_, log) = place.open();
    (1..=8).for_each(|number| log.put(number, 1, Synced));
    drop(log);
    // Segment 3 stays empty, segment 4 goes on.
    drop(place.open());
    let (_, log) = place.open();
    log.put(9, 1, Synced);
    log.put(10, 1, Synced);
    drop(log);
    std::fs::remove_file(place.segment(2)).unwrap();
    let message = place.scan().unwrap_err().to_string();
    assert!(message.contains("expected what follows commit 7, found 8 before"), "{message}");
    place.engine = 8;
    assert_eq!(place.numbers(), [9, 10], "the engine has what is missing");
}

/// While the file of a segment gets another name, another one says how far the log had come: the
/// engine knows of the newest, and one that is missing is damage.
#[test]
fn the_newest_segment_is_used_again_only_behind_another() {
    let mut place = Place::new();
    let (_, log) = place.open();
    (1..=10).for_each(|number| log.put(number, 1, Synced));
    drop(log);
    // The first is smaller than others, and not used again.
    std::fs::remove_file(place.segment(1)).unwrap();
    assert_eq!(std::fs::metadata(place.segment(2)).unwrap().len(), 16 * BLOCK);
    place.engine = 10;
    let (_, log) = place.open();
    assert!(!place.segment(2).exists(), "it is segment 4 now");
    assert_eq!(std::fs::metadata(place.segment(3)).unwrap().len(), BLOCK);
    assert_eq!(log.newest_segment(), 4);
    log.put(11, 5, Synced);
    drop(log);
    assert_eq!(place.scan().unwrap().0, [(11, 5)]);
    place.engine = 11;
    let (_, log) = place.open();
    log.put(12, 6, Synced);
    while log.step_supply() {}
    assert_eq!(place.scan().unwrap().0, [(12, 6)]);
}
