//! Session-like work at full load for minutes: creates that expire, reads, and updates that renew.
//! Does the data folder stay as large as it is, and how long does a commit take at worst while
//! checkpoints, reaping and merging go on? Sampled every second; the table goes to stdout, a CSV
//! file and a picture to `docs/plots`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measurement stops at a mistake"
)]

#[path = "../measure/mod.rs"]
mod measure;

mod client;
mod latency;
mod report;
mod samples;

use client::{Client, Counters};
use latency::Latencies;
use measure::arguments::{Arguments, Flag};
use measure::documents::open;
use measure::{facts, warnings};
use parking_lot::Mutex;
use repository::Repository;
use samples::{Course, Sampler};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const FLAGS: &[Flag] = &[
    Flag { name: "minutes", default: "10", smoke: "0.1", what: "how long" },
    Flag { name: "expiry", default: "30", smoke: "1", what: "seconds until a session expires" },
    Flag { name: "settled", default: "120", smoke: "3", what: "seconds that are not judged" },
    Flag { name: "outstanding", default: "1024", smoke: "64", what: "commits that wait at a time" },
    Flag { name: "threads", default: "2", smoke: "2", what: "threads that commit" },
    Flag { name: "memory", default: "1024", smoke: "64", what: "MiB" },
    Flag { name: "plots", default: "docs/plots", smoke: "", what: "where files go" },
];

fn main() {
    let arguments = Arguments::read("churn", FLAGS);
    warnings::show();
    arguments.clear();
    let repository = open(&arguments.folder, arguments.count("memory") << 20).0;
    let course = load(&repository, &arguments);
    let closed = repository.close();
    drop(repository);
    println!("{}", facts::conditions(&arguments.folder));
    print!("{}", report::table(&course, arguments.number("settled")));
    println!("| closing | {} |", closed.map_or_else(|error| error.to_string(), |()| "done".into()));
    println!("| verify | {} |", verify(&arguments));
    arguments.save("churn.csv", &report::csv(&course));
    arguments.save("churn.svg", &report::picture(&course));
    arguments.clear();
}

/// The load and the samples of its course.
fn load(repository: &Arc<Repository>, arguments: &Arguments) -> Course {
    let threads = arguments.count("threads");
    let expiry = Duration::from_secs_f64(arguments.number("expiry"));
    let time = Duration::from_secs_f64(arguments.number("minutes") * 60.0);
    let (counters, ends) = (Counters::default(), AtomicBool::new(false));
    let latencies: Vec<Mutex<Latencies>> = (0..threads).map(|_| Mutex::default()).collect();
    std::thread::scope(|scope| {
        for (thread, latencies) in latencies.iter().enumerate() {
            let (counters, ends) = (&counters, &ends);
            let outstanding = arguments.count("outstanding") / threads;
            let place = (thread as u64, threads);
            scope.spawn(move || {
                let mut client = Client::new(repository, place, expiry, (counters, latencies));
                client.run(outstanding as usize, ends);
            });
        }
        let folder = &arguments.folder;
        let course = Sampler::new(repository, folder, &counters, &latencies).run(time);
        ends.store(true, Ordering::Relaxed);
        course
    })
}

fn verify(arguments: &Arguments) -> String {
    match repository::verify(&arguments.folder) {
        Ok(report) if report.wrong == 0 => format!("nothing wrong, {:?}", report.documents),
        Ok(report) => format!("{} wrong: {}", report.wrong, report.findings.join("; ")),
        Err(error) => error.to_string(),
    }
}
