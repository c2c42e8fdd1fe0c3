//! Opening again: after a close, after a crash, after a torn write, and where data is damaged.

use crate::harness::{self, Place, commit, key, put, read, write};
use repository::{
    CommitError, MediaType, OpenError, Opening, Outcome, Repository, Retention, verify,
};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const BLOCK: u64 = 4096;

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, at).unwrap();
}

fn read_bytes(path: &Path, at: u64, length: usize) -> Vec<u8> {
    let content = std::fs::read(path).unwrap();
    content[at as usize..][..length].to_vec()
}

/// A repository that crashed after five commits, each in a frame of its own.
fn crashed() -> Place {
    let place = Place::new();
    let repository = place.open_only();
    for i in 1..=5 {
        write(&repository, &format!("k{i}"), &i.to_string());
    }
    place
}

#[test]
fn a_crash_loses_nothing_and_a_close_leaves_nothing_to_replay() {
    let place = crashed();
    let (repository, recovery) = place.open();
    assert_eq!((recovery.created, recovery.replayed), (false, 5));
    assert_eq!(read(&repository, "k3").as_deref(), Some("3"));
    assert_eq!(write(&repository, "k3", "33"), 6);
    let mut late = repository.begin().unwrap();
    put(&mut late, "late", "1");
    repository.close().unwrap();
    assert!(matches!(late.commit(), Err(CommitError::Closed)), "nobody would write its record");
    assert!(repository.begin().is_err(), "a closed repository begins nothing");
    drop(repository);
    let (repository, recovery) = place.open();
    assert_eq!((recovery.replayed, repository.stats().visible.0), (0, 6));
    assert_eq!(read(&repository, "k3").as_deref(), Some("33"));
    assert_eq!(write(&repository, "k6", "6"), 7, "numbers go on");
    drop(repository);
    assert_eq!(place.open().1.replayed, 1);
}

#[test]
fn versions_and_times_come_back() {
    let place = crashed();
    let before = place.open_only();
    let document = |repository: &Repository| {
        repository.begin().unwrap().get(&harness::notes(), &harness::key("k2")).unwrap().unwrap()
    };
    let replayed = document(&before);
    assert_eq!((replayed.version.0, replayed.created.0), (2, 1_000_000));
    before.close().unwrap();
    drop(before);
    assert_eq!(document(&place.open_only()), replayed, "the engine gives what the log gave");
}

#[test]
fn a_torn_write_is_dropped_once_and_reported_in_one_line() {
    let place = crashed();
    let segment = place.segments().pop().unwrap();
    // The last frame is the sixth block; its checksum no longer fits.
    overwrite(&segment, 5 * BLOCK + 70, b"torn");
    let report = verify(place.path()).unwrap();
    assert!(report.torn_tail.is_some() && report.wrong == 0 && report.last.0 == 4);
    let (repository, recovery) = place.open();
    let line = recovery.torn_tail.unwrap();
    assert!(line.contains("at offset 20480") && !line.contains('\n'), "{line}");
    assert_eq!((read(&repository, "k4").as_deref(), read(&repository, "k5")), (Some("4"), None));
    assert_eq!(write(&repository, "k5", "55"), 5);
    drop(repository);
    let (repository, recovery) = place.open();
    assert!(recovery.torn_tail.is_none(), "repaired");
    assert_eq!(read(&repository, "k5").as_deref(), Some("55"));
}

#[test]
fn damage_before_a_synced_record_is_an_error_that_names_the_place() {
    for (offset, what) in [(3 * BLOCK + 66, "broken"), (3 * BLOCK, "gone")] {
        let place = crashed();
        let segment = place.segments().pop().unwrap();
        overwrite(&segment, offset, &[0; 8]);
        let Err(error) = Repository::open(place.options()) else { panic!("{what}: it opened") };
        let OpenError::Damaged { offset, .. } = &error else { panic!("{what}: {error}") };
        assert_eq!(*offset, 3 * BLOCK, "{what}");
        assert!(error.to_string().contains(segment.file_name().unwrap().to_str().unwrap()));
        assert!(verify(place.path()).unwrap().wrong > 0, "{what}");
    }
}

#[test]
fn a_missing_segment_is_damage() {
    let place = crashed();
    let repository = place.open_only();
    write(&repository, "k6", "6");
    drop(repository);
    write(&place.open_only(), "k7", "7");
    let segments = place.segments();
    assert_eq!(segments.len(), 3, "each opening begins a segment of its own");
    std::fs::remove_file(&segments[1]).unwrap();
    let Err(error) = Repository::open(place.options()) else { panic!("it opened") };
    let message = error.to_string();
    assert!(message.contains("expected what follows commit 5, found 6 before"), "{message}");
}

/// A client can send any bytes, also those of a whole frame of this very segment; what it cannot
/// know is the nonce that the checksum begins with.
#[test]
fn a_body_that_looks_like_a_frame_is_not_taken_for_one() {
    // What stands before the body in its frame: frame header, number and length of the record,
    // time, count, kind, two names with their lengths, flags, media type, body length.
    const BEFORE: usize = 64 + 12 + 8 + 4 + 1 + (1 + 5) + (2 + 1) + 1 + (1 + 24) + 4;
    let place = Place::new();
    let repository = place.open_only();
    write(&repository, "a", "1");
    let segment = place.segments().pop().unwrap();
    let mut forged = read_bytes(&segment, BLOCK, BLOCK as usize);
    forged[24] = 99;
    let used = 64 + u32::from_le_bytes(forged[8..12].try_into().unwrap()) as usize;
    let checksum = crc32c::crc32c(&forged[8..used]);
    forged[4..8].copy_from_slice(&checksum.to_le_bytes());
    let mut body = vec![b'x'; BLOCK as usize - BEFORE];
    body.extend_from_slice(&forged);
    let media_type = MediaType::Other("application/octet-stream".into());
    let mut transaction = repository.begin().unwrap();
    transaction.put(&harness::notes(), &key("b"), media_type, body.into(), None).unwrap();
    commit(&repository, transaction);
    drop(repository);
    assert_eq!(read_bytes(&segment, 3 * BLOCK, forged.len()), forged, "it lies on a block");
    // The frame that carries the body is torn: what is inside must not count as a later frame.
    overwrite(&segment, 2 * BLOCK + 70, b"torn");
    let (repository, recovery) = place.open();
    assert!(recovery.torn_tail.is_some());
    assert_eq!(repository.stats().visible.0, 1);
}

/// The disk fails under a running repository: the folder of the tranlog goes away, so the next
/// segment cannot be made.
#[test]
fn a_failed_write_poisons_and_reopening_recovers() {
    let place = Place::new();
    let repository = place.open_only();
    let told = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&told);
    repository.on_durable(Box::new(move || {
        count.fetch_add(1, Ordering::Relaxed);
    }));
    write(&repository, "a", "1");
    let (tranlog, away) = (place.path().join("tranlog"), place.path().join("away"));
    std::fs::rename(&tranlog, &away).unwrap();
    let filler = format!("\"{}\"", "x".repeat(100_000));
    let (mut acknowledged, mut refused) = (0, None);
    for i in 0..1000 {
        let mut transaction = repository.begin().unwrap();
        put(&mut transaction, &format!("k{i}"), &filler);
        let Outcome::Committed(number) = transaction.commit().unwrap() else { panic!("{i}") };
        match repository.wait_durable(number) {
            Ok(()) => acknowledged = i + 1,
            Err(poisoned) => {
                refused = Some(poisoned);
                break;
            }
        }
    }
    let message = refused.expect("the first segment is full some time").to_string();
    assert!(message.contains("restart sarsen"), "{message}");
    assert!(acknowledged > 0 && told.load(Ordering::Relaxed) > acknowledged);
    assert!(repository.begin().is_err() && repository.durable().is_err());
    assert!(repository.close().is_err(), "no checkpoint of what is not durable");
    drop(repository);
    std::fs::rename(&away, &tranlog).unwrap();
    let repository = place.open_only();
    for i in 0..acknowledged {
        assert_eq!(read(&repository, &format!("k{i}")).as_ref(), Some(&filler), "k{i}");
    }
    assert_eq!(read(&repository, &format!("k{acknowledged}")), None, "never acknowledged");
    write(&repository, "a", "2");
}

#[test]
fn another_process_is_kept_out() {
    let place = crashed();
    let repository = place.open_only();
    let Err(error) = Repository::open(place.options()) else { panic!("it opened twice") };
    let expected = format!("(pid {})", std::process::id());
    assert!(matches!(error, OpenError::Locked { .. }) && error.to_string().contains(&expected));
    drop(repository);
    place.open_only();
}

#[test]
fn a_folder_with_something_else_in_it_is_left_alone() {
    let place = Place::new();
    std::fs::write(place.path().join("thesis.txt"), "mine").unwrap();
    let Err(error) = Repository::open(place.options()) else { panic!("it opened") };
    assert!(error.to_string().contains("found thesis.txt"), "{error}");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "nothing was made");
    std::fs::remove_file(place.path().join("thesis.txt")).unwrap();
    std::fs::write(place.path().join("format"), "sarsen repository, format 9\n").unwrap();
    let Err(error) = Repository::open(place.options()) else { panic!("it opened") };
    assert!(error.to_string().contains("format 9"), "{error}");
}

#[test]
fn too_little_memory_is_refused() {
    let mut place = Place::new();
    place.memory_bytes = repository::limits::MEMORY_BYTES_MIN - 1;
    let Err(error) = Repository::open(place.options()) else { panic!("it opened") };
    assert!(matches!(error, OpenError::MemoryTooSmall { .. }));
}

/// Many small documents fill memory long before the log is long; room must be made all the same.
#[test]
fn memory_full_of_small_documents_empties_by_itself() {
    let mut place = Place::new();
    place.memory_bytes = 4 * repository::limits::MEMORY_BYTES_MIN;
    let repository = place.open_only();
    let fill = |repository: &Repository, first: u32, transactions: u32| {
        for t in first..first + transactions {
            for attempt in 0.. {
                let mut transaction = repository.begin().unwrap();
                (0..10_000).for_each(|i| put(&mut transaction, &format!("{t}-{i}"), "1"));
                match transaction.commit() {
                    Ok(Outcome::Committed(_)) => break,
                    Err(CommitError::Overloaded(_)) if attempt < 10_000 => {
                        std::thread::sleep(std::time::Duration::from_millis(5));
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    };
    fill(&repository, 0, 20);
    drop(repository);
    // What is replayed does not fit into less memory.
    place.memory_bytes = repository::limits::MEMORY_BYTES_MIN;
    let repository = place.open_only();
    fill(&repository, 20, 10);
    assert!(repository.stats().checkpoint.0 > 0);
    assert_eq!(read(&repository, "3-9999").as_deref(), Some("1"));
}

#[test]
fn openings_do_not_collect_segments() {
    let place = Place::new();
    let open = || {
        let retention = Retention { bytes: 0, hold: None };
        let opening = Opening { retention, ..Opening::default() };
        Repository::open_with(place.options(), opening).unwrap().0
    };
    write(&open(), "a", "1");
    for _ in 0..20 {
        drop(open());
    }
    for i in 0..20 {
        write(&open(), &format!("k{i}"), "1");
    }
    let segments = place.segments().len();
    assert!(segments < 12, "{segments} segments are left");
    let repository = place.open_only();
    assert_eq!(read(&repository, "k19").as_deref(), Some("1"));
}

/// More data than memory: checkpoints, eviction and recycled segments, with a crash at the end.
#[test]
fn more_than_memory_is_kept_and_found_again() {
    let mut place = Place::new();
    place.memory_bytes = repository::limits::MEMORY_BYTES_MIN;
    let repository = place.open_only();
    let filler = "x".repeat(1000);
    let expected = |round: u32, i: u32| format!("\"{round}-{i}-{filler}\"");
    const DOCUMENTS: u32 = 40_000;
    for round in 0..4 {
        for first in (0..DOCUMENTS).step_by(100) {
            let mut number = 0;
            for attempt in 0.. {
                let mut transaction = repository.begin().unwrap();
                for i in (first..first + 100).filter(|i| round == 0 || i % 3 == round % 3) {
                    put(&mut transaction, &format!("k{i}"), &expected(round, i));
                }
                match transaction.commit() {
                    Ok(Outcome::Committed(committed)) => {
                        number = committed.0;
                        break;
                    }
                    Ok(other) => panic!("{other:?}"),
                    // Memory is full of unwritten documents: the caller is asked to come back.
                    Err(CommitError::Overloaded(_)) if attempt < 10_000 => {
                        std::thread::sleep(std::time::Duration::from_millis(5));
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            repository.wait_durable(repository::CommitNumber(number)).unwrap();
        }
    }
    let newest = |i: u32| (0..4).rev().find(|round| *round == 0 || i % 3 == round % 3).unwrap();
    let check = |repository: &Repository| {
        for i in (0..DOCUMENTS).step_by(7) {
            let found = read(repository, &format!("k{i}"));
            assert!(found == Some(expected(newest(i), i)), "k{i}: {found:?}");
        }
    };
    check(&repository);
    let stats = repository.stats();
    assert!(stats.checkpoint.0 > 0, "checkpoints were written: {stats:?}");
    drop(repository);
    let (repository, recovery) = place.open();
    assert!(recovery.replayed < stats.visible.0);
    check(&repository);
    drop(repository);
    let report = verify(place.path()).unwrap();
    assert_eq!((report.wrong, report.documents["notes"]), (0, u64::from(DOCUMENTS)));
}
