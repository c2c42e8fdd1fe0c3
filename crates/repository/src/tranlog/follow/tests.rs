//! Following the log by steps: order, completeness, what is not synced, what was let go of, and
//! segments that are used again or damaged under a reader.

use super::*;
use crate::durability::Durability::{Synced, Volatile, Written};
use crate::tranlog::tests::{BLOCK, Place};
use crate::tranlog::{Hold, Retention, Tranlog};

/// Everything that is there: numbers with the first byte of each record.
fn drain(reader: &mut Follower) -> Result<Vec<u64>, LogError> {
    let mut numbers = Vec::new();
    loop {
        let records = reader.take()?;
        if records.is_empty() {
            return Ok(numbers);
        }
        numbers.extend(records.iter().map(|record| record.number.0));
    }
}

fn read(log: &Tranlog, after: u64) -> Vec<u64> {
    drain(&mut log.follow(CommitNumber(after))).unwrap()
}

fn gone(log: &Tranlog, after: u64) -> u64 {
    match drain(&mut log.follow(CommitNumber(after))) {
        Err(LogError::Gone { after }) => after.0,
        other => panic!("expected that it is gone, got {other:?}"),
    }
}

/// Keeps everything.
fn keeping() -> Place {
    Place::keeping(u64::MAX)
}

#[test]
fn a_reader_sees_what_is_synced_and_nothing_else() {
    let place = keeping();
    let (_, log) = place.open();
    let mut reader = log.follow(CommitNumber(0));
    log.put(1, 0, Synced);
    assert_eq!(drain(&mut reader).unwrap(), [1]);
    log.put(2, 0, Written);
    log.put(3, 0, Written);
    assert_eq!(drain(&mut reader).unwrap(), [0; 0], "a power cut could take them back");
    assert_eq!(reader.position(), CommitNumber(1));
    log.put(4, 0, Volatile);
    assert!(log.step(true).unwrap());
    assert_eq!(drain(&mut reader).unwrap(), [2, 3]);
    assert_eq!(reader.position(), CommitNumber(4), "the volatile one has no record");
    log.put(5, 0, Volatile);
    assert_eq!(drain(&mut reader).unwrap(), [0; 0]);
    assert_eq!(reader.position(), CommitNumber(5));
    log.put(9, 0, Synced);
    assert_eq!(drain(&mut reader).unwrap(), [9]);
    assert_eq!((read(&log, 0), read(&log, 6)), (vec![1, 2, 3, 9], vec![9]));
    log.close();
    assert!(matches!(drain(&mut reader), Err(LogError::Closed)));
    assert_eq!(drain(&mut log.follow(CommitNumber(3))).map_err(|e| e.to_string()).err(), {
        Some(LogError::Closed.to_string())
    });
}

#[test]
fn from_every_number_after_every_opening() {
    let mut place = keeping();
    for opening in 0..6 {
        let (_, log) = place.open();
        let first = opening * 40;
        (first + 1..=first + 40).for_each(|number| log.put(2 * number, 1, Synced));
        for after in 0..=2 * (first + 40) {
            let expected: Vec<u64> =
                (1..=first + 40).map(|n| 2 * n).filter(|n| *n > after).collect();
            assert_eq!(read(&log, after), expected, "after {after}, opening {opening}");
        }
        place.engine = 2 * (first + opening * 8);
        log.checkpointed(CommitNumber(place.engine));
        while log.step_supply() {}
        assert_eq!(log.retained().after, CommitNumber(0));
    }
}

#[test]
fn no_more_is_kept_than_was_asked_for_and_who_is_late_is_told() {
    let mut place = Place::keeping(32 * BLOCK);
    let (_, log) = place.open();
    (1..=400).for_each(|number| log.put(number, 1, Synced));
    assert_eq!(log.retained().after, CommitNumber(0), "the engine has nothing");
    log.checkpointed(CommitNumber(400));
    while log.step_supply() {}
    let retained = log.retained();
    // Spare segments can be read as well, until they are used.
    assert!((32 * BLOCK..=(32 + 6 * 16) * BLOCK).contains(&retained.bytes), "{retained:?}");
    assert_eq!(read(&log, retained.after.0), (retained.after.0 + 1..=400).collect::<Vec<_>>());
    assert_eq!(gone(&log, retained.after.0 - 1), retained.after.0);
    log.space().set_stalled(true);
    while log.step_supply() {}
    assert!(log.retained().segments <= 1);
    drop(log);
    place.engine = 400;
    let after = {
        let (_, log) = place.open();
        log.retained().after
    };
    assert!(after >= retained.after);
}

#[test]
fn a_segment_that_is_used_again_under_a_reader_is_noticed() {
    let place = Place::new();
    let (_, log) = place.open();
    let mut written = 0;
    let mut put = |count: u64| {
        (written + 1..=written + count).for_each(|number| log.put(number, 1, Synced));
        written += count;
        written
    };
    put(60);
    for round in 0..40_u64 {
        let mut reader = log.follow(log.retained().after);
        let first = reader.position().0 + 1;
        // It stops somewhere within a segment, and what it reads is written over.
        let begun: Vec<u64> = reader.take().unwrap().iter().map(|record| record.number.0).collect();
        let last = put(15 + round % 17);
        log.checkpointed(CommitNumber(last));
        while log.step_supply() {}
        put(round % 23);
        let mut numbers = begun;
        let ended = loop {
            match reader.take() {
                Ok(records) if records.is_empty() => break None,
                Ok(records) => numbers.extend(records.iter().map(|record| record.number.0)),
                Err(LogError::Gone { after }) => break Some(after.0),
                Err(other) => panic!("{other}"),
            }
        };
        let end = numbers.last().map_or(first, |last| last + 1);
        assert_eq!(numbers, (first..end).collect::<Vec<_>>());
        match ended {
            Some(after) => assert!(after >= end - 1, "it could have gone on"),
            None => assert_eq!(end, log.numbers().0 + 1),
        }
    }
}

#[test]
fn what_is_held_stays_until_it_is_too_much() {
    let place = Place::new();
    let (_, log) = place.open();
    let held = log.hold(Hold { after: CommitNumber(3), bytes_max: 200 * BLOCK });
    let checkpoint = |last: u64| {
        log.checkpointed(CommitNumber(last));
        while log.step_supply() {}
    };
    (1..=100).for_each(|number| log.put(number, 1, Synced));
    checkpoint(100);
    assert_eq!(read(&log, 3), (4..=100).collect::<Vec<_>>());
    log.release(&held, Some(CommitNumber(90)));
    (101..=150).for_each(|number| log.put(number, 1, Synced));
    checkpoint(150);
    assert!(!held.is_broken() && log.retained().after <= CommitNumber(90));
    (151..=500).for_each(|number| log.put(number, 1, Synced));
    checkpoint(500);
    assert!(held.is_broken() && log.retained().after > CommitNumber(90));
}

#[test]
fn a_hold_from_the_opening_on_loses_nothing() {
    let mut place = keeping();
    let (_, log) = place.open();
    (1..=200).for_each(|number| log.put(number, 1, Synced));
    drop(log);
    place.engine = 200;
    let hold = Hold { after: CommitNumber(11), bytes_max: u64::MAX };
    place.retention = Retention { bytes: 0, hold: Some(hold) };
    let (_, log) = place.open();
    (201..=260).for_each(|number| log.put(number, 1, Synced));
    let held = log.hold(hold);
    log.checkpointed(CommitNumber(260));
    while log.step_supply() {}
    assert_eq!(read(&log, 11), (12..=260).collect::<Vec<_>>());
    log.release(&held, None);
    while log.step_supply() {}
    assert!(log.retained().after > CommitNumber(11));
}

#[test]
fn damage_of_what_is_kept_costs_only_that_segment() {
    let mut place = keeping();
    let (_, log) = place.open();
    (1..=60).for_each(|number| log.put(number, 1, Synced));
    drop(log);
    place.engine = 60;
    place.tear(3, 4);
    let (_, log) = place.open();
    assert_eq!(log.retained().after, CommitNumber(0), "nobody has looked there");
    let mut reader = log.follow(CommitNumber(0));
    let mut numbers = Vec::new();
    let after = loop {
        match reader.take() {
            Ok(records) => numbers.extend(records.iter().map(|record| record.number.0)),
            Err(LogError::Gone { after }) => break after.0,
            Err(other) => panic!("{other}"),
        }
    };
    assert!(numbers.len() > 15, "what is before it was given");
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert!(after > numbers.len() as u64);
    assert_eq!(read(&log, after), (after + 1..=60).collect::<Vec<_>>());
    assert_eq!(log.retained().after, CommitNumber(after), "it is known from then on");
}

/// A removed segment that a power cut brings back: what it holds is not read on from.
#[test]
fn nothing_before_a_gap_counts_as_kept() {
    let mut place = keeping();
    let (_, log) = place.open();
    (1..=60).for_each(|number| log.put(number, 1, Synced));
    drop(log);
    place.engine = 60;
    std::fs::remove_file(place.segment(2)).unwrap();
    let (_, log) = place.open();
    let after = log.retained().after.0;
    assert!((8..60).contains(&after), "{after}");
    assert_eq!(read(&log, after), (after + 1..=60).collect::<Vec<_>>());
    assert_eq!(gone(&log, 0), after);
    while log.step_supply() {}
    log.put(61, 1, Synced);
    assert_eq!(read(&log, after).last(), Some(&61));
}

#[test]
fn large_records_come_alone_and_from_the_disk() {
    let place = keeping();
    let (_, log) = place.open();
    let mut reader = log.follow(CommitNumber(0));
    let large = vec![7; 7 * BLOCK as usize];
    for number in 1..=30 {
        log.push(CommitNumber(number), large.clone(), Synced);
        while log.step(false).unwrap() {}
    }
    assert_eq!(drain(&mut reader).unwrap(), (1..=30).collect::<Vec<_>>());
    drop(reader);
    let mut reader = log.follow(CommitNumber(0));
    let mut all = Vec::new();
    while all.len() < 30 {
        let records = reader.take().unwrap();
        assert!(records.iter().map(|record| record.record.len()).sum::<usize>() < 2 * BATCH_BYTES);
        all.extend(records);
    }
    assert!(all.iter().all(|record| record.record == large));
}
