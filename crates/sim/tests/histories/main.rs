//! Histories of many threads on the real repository, judged by both checkers. What the threads do
//! comes from a seed; how they interleave does not, so a failure shows what happened.

#![allow(clippy::unwrap_used, reason = "tests")]

mod indexes;
mod record;
mod registers;
mod sessions;
mod workload;

use record::Record;
use repository::Isolation;
use sim::checker::linearizability;
use sim::checker::serializability::{self, Anomaly, Kind, Order};
use workload::{Reads, Workload, Writes};

const SEEDS: std::ops::Range<u64> = 0..6;

fn judge(record: &Record, order: Order) -> Vec<Anomaly> {
    serializability::check(&record.history(), order)
}

#[track_caller]
fn assert_none(seed: u64, anomalies: &[impl std::fmt::Display]) {
    let lines: Vec<String> = anomalies.iter().take(10).map(ToString::to_string).collect();
    assert!(lines.is_empty(), "seed {seed}: {} anomalies\n{}", anomalies.len(), lines.join("\n"));
}

/// The serial order is that of the commit numbers, which agrees with real time; and every view,
/// also that of a try that lost, is the state after one commit.
#[test]
fn commits_are_strictly_serializable_in_the_order_of_their_numbers() {
    let mut serial_lane = 0;
    for seed in SEEDS {
        let record = Workload::new(seed).run();
        assert_none(seed, &record.replay());
        assert_none(seed, &record.replay_in_order());
        assert_none(seed, &judge(&record, Order::Commits));
        println!("seed {seed}: {}", record.summary());
        serial_lane += record.serial_lane;
    }
    assert!(serial_lane > 0, "the threads were meant to lose often");
}

#[test]
fn single_operations_are_linearizable() {
    for seed in SEEDS {
        let operations = registers::run(seed);
        assert_none(seed, &linearizability::check(&operations));
    }
}

/// The same threads with reads that are not noted: the checker must find what comes of it.
#[test]
fn reads_that_are_not_noted_lose_updates_and_the_checker_finds_them() {
    let record = Workload { reads: Reads::Peek, ..Workload::new(0) }.run();
    assert_none(0, &record.replay());
    let found = judge(&record, Order::Any);
    assert!(found.iter().any(|a| a.kind == Kind::LostUpdate), "{found:?}");
}

/// Nobody writes what another writes, so no update can be lost; what is left is write skew.
#[test]
fn reads_that_are_not_noted_skew_writes_and_the_checker_finds_them() {
    let workload = Workload { reads: Reads::Peek, writes: Writes::OwnKey, ..Workload::new(0) };
    let found = judge(&workload.run(), Order::Any);
    assert!(found.iter().any(|a| a.kind == Kind::WriteSkew), "{found:?}");
    assert!(found.iter().all(|a| a.kind == Kind::WriteSkew), "{found:?}");
    let noted = Workload { reads: Reads::Get, ..workload };
    assert_none(0, &judge(&noted.run(), Order::Commits));
}

/// Snapshot isolation refuses lost updates and shows nobody a skewed state; but it allows write
/// skew, and with threads like these it happens.
#[test]
fn snapshot_isolation_allows_write_skew_and_nothing_worse() {
    let workload =
        Workload { isolation: Isolation::Snapshot, writes: Writes::NoMerges, ..Workload::new(0) };
    let record = workload.run();
    assert_none(0, &record.replay());
    let found = judge(&record, Order::Any);
    assert!(found.iter().any(|a| a.kind == Kind::WriteSkew), "{found:?}");
    let allowed = [Kind::WriteSkew, Kind::Phantom];
    let worse: Vec<_> = found.into_iter().filter(|a| !allowed.contains(&a.kind)).collect();
    assert_none(0, &worse);
}

#[test]
fn nobody_has_what_is_over_for_somebody_before() {
    for seed in SEEDS {
        sessions::run(seed).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    }
}

#[test]
fn unique_values_stay_unique() {
    for seed in 0..3 {
        indexes::fight_over_values(seed).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    }
}

#[test]
fn an_index_that_is_built_while_others_write_has_every_document() {
    for seed in 0..3 {
        indexes::build_while_others_write(seed).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    }
}
