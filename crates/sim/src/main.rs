//! `cargo run -p sim -- --seed N`: runs one seed, or many, and tells how to repeat what fails.

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use sim::run::{World, run};
use std::process::ExitCode;

const USAGE: &str =
    "usage: sim [--world log|repository|backups] [--seed N | --seeds A..B] [--steps N]";

/// Steps of a run that does not say how many.
const STEPS: u64 = 1000;

/// Failures after which no further seed is run.
const FAILURES_MAX: u64 = 3;

fn main() -> ExitCode {
    let (mut seeds, mut steps, mut worlds) = (0_u64..1, STEPS, World::ALL.to_vec());
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        let parsed = match flag.as_str() {
            "--seed" => value.parse().ok().map(|seed: u64| seeds = seed..seed + 1),
            "--steps" => value.parse().ok().map(|count| steps = count),
            "--world" => World::named(&value).map(|world| worlds = vec![world]),
            "--seeds" => value
                .split_once("..")
                .and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?))
                .map(|range| seeds = range),
            _ => None,
        };
        if parsed.is_none() {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    let (mut done, mut failed) = (0, 0);
    for seed in seeds {
        for world in &worlds {
            done += 1;
            if let Err(report) = run(*world, seed, steps) {
                println!("{report}");
                failed += 1;
            }
        }
        if failed >= FAILURES_MAX {
            break;
        }
    }
    println!("{done} runs of {steps} steps, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
