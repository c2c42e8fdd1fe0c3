//! A short run of every fuzz target: seeds, and what a few mutations make of them. The long run,
//! led by coverage, is `make fuzz`.

// In a test a panic is the report.
#![allow(clippy::unwrap_used)]

#[path = "../../../repository/tests/fuzz/mutate.rs"]
mod mutate;
#[path = "../../../repository/tests/fuzz/target.rs"]
mod target;
mod targets;

use mutate::smoke;
use targets::TARGETS;

#[test]
fn values_of_json() {
    smoke(TARGETS, "lab-json", 30_000);
}

#[test]
fn urls_of_siege() {
    smoke(TARGETS, "siege-urls", 30_000);
}

#[test]
fn pages() {
    smoke(TARGETS, "lab-page", 5_000);
}

#[test]
fn documents_of_atompub() {
    smoke(TARGETS, "lab-atompub", 20_000);
}

#[test]
fn references() {
    smoke(TARGETS, "lab-reference", 30_000);
}

#[test]
fn data_files() {
    smoke(TARGETS, "lab-csv", 30_000);
}

#[test]
fn access_logs() {
    smoke(TARGETS, "lab-access-log", 30_000);
}

#[test]
fn replies() {
    smoke(TARGETS, "lab-reply", 30_000);
}

#[test]
fn metrics() {
    smoke(TARGETS, "lab-metrics", 30_000);
}

#[test]
fn scenarios() {
    smoke(TARGETS, "scenario", 20_000);
}
