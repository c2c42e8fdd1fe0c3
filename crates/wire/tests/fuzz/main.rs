//! A short run of every fuzz target: seeds, and what a few mutations make of them. The long run,
//! led by coverage, is `make fuzz`.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../../../repository/tests/fuzz/mutate.rs"]
mod mutate;
mod targets;

use mutate::Mutator;
use targets::{TARGETS, Target};

/// Gives the target its seeds and then `inputs` mutations.
fn smoke(name: &str, inputs: usize) {
    let Some(Target { run, seeds, .. }) = TARGETS.iter().find(|target| target.name == name) else {
        panic!("there is no target {name}");
    };
    let mut mutator = Mutator::new(seeds);
    let seeds = seeds.iter().map(|seed| seed.to_vec());
    for input in seeds.chain((0..inputs).map(|_| mutator.next())) {
        let shown = input.escape_ascii().to_string();
        if let Err(panic) = std::panic::catch_unwind(|| run(&input)) {
            eprintln!("the input of {name}: b\"{shown}\"");
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn commands() {
    smoke("memcached-commands", 40_000);
}

#[test]
fn replies() {
    smoke("memcached-replies", 40_000);
}
