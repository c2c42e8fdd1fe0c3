//! What a feed costs as its publication grows: time and CPU of a GET of the whole feed, ten times
//! as many entries each time.

use super::plot;
use super::report::Sample;
use super::side::Side;
use super::{AtomPub, shown};
use crate::bench::table::push_line;
use crate::bench::{BenchError, write_error};
use std::fs;
use std::path::Path;

/// The smallest publication.
const FIRST: u64 = 1_000;

/// So many entries are enough for a side that is much slower.
const SLOW_LARGEST: u64 = 10_000;

/// The feed of a publication of some size.
struct Point {
    side: Side,
    entries: u64,
    outcome: Result<Sample, String>,
}

/// All of them.
pub struct Growth(Vec<Point>);

/// Reads the feed of a publication that grows, on each side that has feeds.
pub fn measure(bench: &AtomPub) -> Growth {
    let mut points = Vec::new();
    for side in bench.options.sides.iter().filter(|side| **side != Side::Dav) {
        let largest = match side {
            Side::Sarsen => bench.options.largest,
            Side::Abdera | Side::Dav => bench.options.largest.min(SLOW_LARGEST),
        };
        let server = match bench.start(*side) {
            Ok(server) => server,
            Err(why) => {
                points.push(Point { side: *side, entries: 0, outcome: Err(why) });
                continue;
            }
        };
        let (mut from, mut entries) = (0, FIRST);
        while entries <= largest {
            let outcome = bench
                .fill(&server, from, entries)
                // One reader: how long a feed takes, and not how long others are waited for.
                .and_then(|()| bench.read_filled(&server, false, 1));
            eprintln!("bench-atompub:   {}, {entries} entries: {}", side.name(), shown(&outcome));
            let is_over = outcome.is_err();
            points.push(Point { side: *side, entries, outcome });
            if is_over {
                break;
            }
            from = entries;
            entries *= 10;
        }
    }
    Growth(points)
}

impl Growth {
    pub fn is_good(&self) -> bool {
        self.0.iter().all(|point| point.outcome.is_ok())
    }

    /// A table.
    pub fn render(&self) -> String {
        let mut text = "\nThe feed of a publication that grows, by one reader, whole each time \
            (docs/plots/atompub-feed.svg).\n\n\
            | server | entries | GET/s | CPU µs/GET |\n| --- | --- | --- | --- |\n"
            .to_owned();
        for Point { side, entries, outcome } in &self.0 {
            let (rate, cpu) = match outcome {
                Ok(sample) => (format!("{:.0}", sample.rate), format!("{:.1}", sample.server_us)),
                Err(why) => ("failed".to_owned(), why.lines().next().unwrap_or("").to_owned()),
            };
            push_line(&mut text, &format!("| {} | {entries} | {rate} | {cpu} |", side.name()));
        }
        text
    }

    /// `atompub-feed.csv` and `.svg` in a folder.
    pub fn write(&self, folder: &Path) -> Result<(), BenchError> {
        let good = self.0.iter().filter_map(|Point { side, entries, outcome }| {
            Some((side.name(), *entries, outcome.as_ref().ok()?.server_us))
        });
        let good: Vec<(&str, u64, f64)> = good.collect();
        let mut csv = "server,entries,cpu_us_per_get\n".to_owned();
        for (name, entries, cpu) in &good {
            push_line(&mut csv, &format!("{name},{entries},{cpu:.1}"));
        }
        for (name, text) in [("atompub-feed.csv", csv), ("atompub-feed.svg", plot::render(&good))] {
            let path = folder.join(name);
            fs::write(&path, text).map_err(|e| write_error(&path, e))?;
        }
        Ok(())
    }
}
