//! A short run of every fuzz target: seeds, and what a few mutations make of them. The long run,
//! led by coverage, is `make fuzz`.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../../../repository/tests/fuzz/mutate.rs"]
mod mutate;
#[path = "../../../repository/tests/fuzz/target.rs"]
mod target;
mod targets;

use mutate::smoke;
use targets::TARGETS;

#[test]
fn filters() {
    smoke(TARGETS, "filter", 20_000);
}

#[test]
fn values_in_filters() {
    smoke(TARGETS, "bound", 20_000);
}

#[test]
fn cursors() {
    smoke(TARGETS, "cursor", 20_000);
}
