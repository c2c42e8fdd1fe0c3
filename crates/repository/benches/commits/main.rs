//! How many transactions per second the repository alone commits, with a given number of them
//! outstanding, and what one costs in CPU time.
//!
//! All cases take turns, round after round, so that a slow minute of the machine hits all alike;
//! medians are shown with the lowest and highest round. The table goes to stdout.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measurement stops at a mistake"
)]

#[path = "../measure/mod.rs"]
mod measure;

mod cases;
mod client;
mod grounds;
mod table;

use cases::{Case, Group};
use client::{Client, Done};
use measure::arguments::{Arguments, Flag};
use measure::random::Zipf;
use measure::{facts, process, warnings};
use repository::Repository;
use std::time::{Duration, Instant};
use table::{Round, Row};

const FLAGS: &[Flag] = &[
    Flag { name: "rounds", default: "5", smoke: "1", what: "turns of each case" },
    Flag { name: "seconds", default: "2", smoke: "0.05", what: "length of a turn" },
    Flag { name: "only", default: "", smoke: "", what: "cases with this in their name" },
    Flag { name: "threads", default: "2", smoke: "2", what: "threads that transactions run on" },
    Flag { name: "csv", default: "", smoke: "", what: "a file for what each turn gave" },
    Flag { name: "divisor", default: "1", smoke: "1000", what: "the data sets so much smaller" },
];

/// How a turn is run.
struct Turn {
    duration: Duration,
    threads: usize,
}

fn main() {
    let arguments = Arguments::read("commits", FLAGS);
    warnings::show();
    let rounds = arguments.count("rounds") as usize;
    let turn = Turn {
        duration: Duration::from_secs_f64(arguments.number("seconds")),
        threads: arguments.count("threads") as usize,
    };
    let groups = cases::groups(arguments.text("only"), arguments.count("divisor").max(1));
    let cases = groups.iter().flat_map(|group| &group.cases);
    let mut rows: Vec<Row> = cases.map(|case| Row::new(case.clone())).collect();
    for round in 1..=rounds {
        let mut row = rows.iter_mut();
        for group in &groups {
            arguments.clear();
            let repository = group.ground.prepare(&arguments.folder);
            for case in &group.cases {
                eprintln!("round {round} of {rounds}: {}, {}", case.name, case.outstanding);
                process::settle(&repository);
                row.next().unwrap().rounds.push(measure(&repository, group, case, &turn));
            }
        }
    }
    arguments.clear();
    print!("{}\n{}", facts::conditions(&arguments.folder), table::render(&rows, turn.duration));
    if !arguments.text("csv").is_empty() {
        std::fs::write(arguments.text("csv"), table::csv(&rows)).unwrap();
    }
}

/// One turn of a case.
fn measure(repository: &Repository, group: &Group, case: &Case, turn: &Turn) -> Round {
    let documents = group.ground.documents();
    let zipf = case.work.skew().map(|exponent| Zipf::new(documents, exponent));
    let threads = turn.threads.min(case.outstanding).max(1);
    let (cpu, started) = (process::cpu_time(), Instant::now());
    let done = std::thread::scope(|scope| {
        let run = |thread: usize| {
            let mut client = Client {
                repository,
                work: case.work,
                documents,
                zipf: zipf.as_ref(),
                thread: thread as u64,
                threads: threads as u64,
                random: measure::random::Random::new(thread as u64),
                created: 0,
            };
            let outstanding = case.outstanding / threads;
            scope.spawn(move || client.run(outstanding, turn.duration))
        };
        let clients: Vec<_> = (0..threads).map(run).collect();
        clients.into_iter().map(|client| client.join().unwrap()).fold(Done::default(), Done::plus)
    });
    let elapsed = started.elapsed().as_secs_f64();
    let cpu = process::cpu_time() - cpu;
    client::check(repository, case.work, documents, done.commits);
    let commits = done.commits as f64;
    Round {
        per_second: commits / elapsed,
        cpu_us: cpu.as_secs_f64() * 1e6 / commits,
        aborts: done.aborts as f64 * 1e3 / commits,
        refused: done.refused,
    }
}
