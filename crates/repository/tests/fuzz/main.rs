//! A short run of every fuzz target: seeds, and what a few mutations make of them. The long run,
//! led by coverage, is `make fuzz`.

#![allow(clippy::unwrap_used, reason = "tests")]

mod model;
mod mutate;
mod operations;
mod target;
mod targets;

use mutate::smoke;
use targets::TARGETS;

#[test]
fn records() {
    smoke(TARGETS, "record", 20_000);
}

#[test]
fn json() {
    smoke(TARGETS, "json", 10_000);
}

#[test]
fn indexes() {
    smoke(TARGETS, "index", 10_000);
}

#[test]
fn imports() {
    smoke(TARGETS, "import", 10_000);
}

#[test]
fn backups() {
    smoke(TARGETS, "backup", 20_000);
}

#[test]
fn operations() {
    smoke(TARGETS, "operations", 1_500);
}
