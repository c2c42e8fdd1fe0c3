//! A few hundred seeds on every run of the tests. A failure prints how to repeat it.

use sim::run::{World, run};

fn run_all(world: World, seeds: u64, steps: u64) {
    for seed in 0..seeds {
        if let Err(report) = run(world, seed, steps) {
            panic!("{report}");
        }
    }
}

#[test]
fn the_log_keeps_what_it_acknowledged() {
    run_all(World::Log, 300, 400);
}

#[test]
fn what_a_backup_reported_leads_to_what_was_committed_however_often_the_power_goes() {
    run_all(World::Backups, 120, 400);
}

#[test]
fn the_repository_keeps_what_it_acknowledged_and_reads_what_was_committed() {
    run_all(World::Repository, 300, 400);
}

/// Each of these has found something.
#[test]
fn what_was_found_once_stays_away() {
    for (world, seed, steps) in [
        // A removed segment that a power cut brought back hid that the one behind it was gone.
        (World::Log, 10_061, 1_000),
        // A blob whose name a failed backup had not made durable was in a later one by name only.
        (World::Backups, 10_467, 1_000),
    ] {
        if let Err(report) = run(world, seed, steps) {
            panic!("{report}");
        }
    }
}
