//! A short run of the fuzz target: seeds, and what a few mutations make of them. The long run, led
//! by coverage, is `make fuzz`.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../../../repository/tests/fuzz/mutate.rs"]
mod mutate;
#[path = "../../../repository/tests/fuzz/target.rs"]
mod target;
mod targets;

use mutate::smoke;
use targets::TARGETS;

#[test]
fn schemas() {
    smoke(TARGETS, "schema", 20_000);
}
