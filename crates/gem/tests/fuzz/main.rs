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
fn forms() {
    smoke(TARGETS, "form", 30_000);
}

#[test]
fn routes() {
    smoke(TARGETS, "route", 30_000);
}

#[test]
fn cookies() {
    smoke(TARGETS, "cookie", 30_000);
}
