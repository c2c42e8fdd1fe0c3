//! A short run of every fuzz target: seeds, and what a few mutations make of them. The long run,
//! led by coverage, is `make fuzz`.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../../../repository/tests/fuzz/mutate.rs"]
mod mutate;
#[path = "../../../repository/tests/fuzz/target.rs"]
mod target;
mod targets;

use mutate::smoke;

#[test]
fn json_patches() {
    smoke(targets::targets(), "json-patch", 30_000);
}

#[test]
fn atom_paths() {
    smoke(targets::targets(), "atom-path", 30_000);
}

#[test]
fn html() {
    smoke(targets::targets(), "html", 30_000);
}

#[test]
fn merge_patches() {
    smoke(targets::targets(), "merge-patch", 20_000);
}

#[test]
fn chunks() {
    smoke(targets::targets(), "chunks", 10_000);
}
