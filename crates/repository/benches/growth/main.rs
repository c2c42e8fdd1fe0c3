//! How speed, space and time to open change as one collection grows, decade by decade, with a
//! memory of a quarter of what it becomes. The table goes to stdout, a CSV file and a picture to
//! `docs/plots`. Each size is measured once: the course is the result, not the single figure.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measurement stops at a mistake"
)]

#[path = "../measure/mod.rs"]
mod measure;

mod report;
mod stages;

use measure::arguments::{Arguments, Flag};
use measure::documents::BODY_BYTES;
use measure::{facts, warnings};
use repository::limits;
use stages::Stages;
use std::time::Duration;

const FLAGS: &[Flag] = &[
    Flag { name: "from", default: "1e4", smoke: "1e2", what: "documents of the smallest size" },
    Flag { name: "to", default: "1e7", smoke: "1e4", what: "documents of the largest size" },
    Flag { name: "seconds", default: "3", smoke: "0.05", what: "length of each measurement" },
    Flag { name: "memory", default: "0", smoke: "0", what: "MiB; 0: a quarter of the largest" },
    Flag { name: "replayed", default: "1e6", smoke: "1e3", what: "commits to recover" },
    Flag { name: "views", default: "2e4", smoke: "1e2", what: "views to hold open" },
    Flag { name: "plots", default: "docs/plots", smoke: "", what: "where files go" },
];

fn main() {
    let arguments = Arguments::read("growth", FLAGS);
    warnings::show();
    let (first, last) = (arguments.count("from").max(1), arguments.count("to"));
    arguments.clear();
    let memory_bytes = match arguments.count("memory") {
        0 => last * BODY_BYTES / 4,
        mib => mib << 20,
    };
    let memory_bytes = memory_bytes.max(limits::MEMORY_BYTES_MIN);
    let time = Duration::from_secs_f64(arguments.number("seconds"));
    let mut stages = Stages::new(arguments.folder.clone(), memory_bytes, time);
    let mut sizes = Vec::new();
    let mut size = first;
    while size <= last {
        sizes.push(stages.measure(size, arguments.count("replayed"), arguments.count("views")));
        size *= 10;
    }
    drop(stages);
    arguments.clear();
    println!("{}", facts::conditions(&arguments.folder));
    println!("Documents of about 300 bytes, memory {} MiB.\n", memory_bytes >> 20);
    print!("{}", report::table(&sizes));
    arguments.save("growth.csv", &report::csv(&sizes));
    arguments.save("growth.svg", &report::picture(&sizes));
}
