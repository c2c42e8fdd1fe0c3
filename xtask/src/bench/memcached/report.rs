//! What a run of the lab gave, and the table of `docs/memcached.md`: medians with their spread, and
//! the ratio of the two sides round by round.

use super::{CORES, Memcached, Row, Side};
use crate::bench::table::{cell, machine, push_line, spread};
use serde_json::Value;

/// What a run gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Operations a second.
    pub rate: f64,
    /// CPU time of the server for an operation.
    pub server_us: f64,
    /// CPU time of the generator for an operation.
    pub generator_us: f64,
}

impl Sample {
    /// Of a report. Any error, or a miss, makes it a failed run.
    pub fn read(report: &Value) -> Result<Self, String> {
        if report["requests"] != report["successes"] {
            return Err(format!("errors: {}", report["errors"]));
        }
        if report["cache"]["misses"] != 0 {
            return Err(format!("{} items were not there", report["cache"]["misses"]));
        }
        let figure =
            |value: &Value, name: &str| value.as_f64().ok_or(format!("the report has no {name}"));
        let cpu = &report["cpu_us_per_request"];
        Ok(Self {
            rate: figure(&report["requests_per_second"], "requests_per_second")?,
            server_us: figure(&cpu["server"], "CPU time of the server")?,
            generator_us: figure(&cpu["generator"], "CPU time of the generator")?,
        })
    }

    /// Share of a core that the generator used.
    fn generator_share(&self) -> f64 {
        self.rate * self.generator_us / 1e6
    }
}

/// A row with what came of it on both sides, round by round.
pub struct Measured {
    pub row: Row,
    pub samples: [Vec<Result<Sample, String>>; 2],
}

impl Measured {
    pub fn new(row: Row) -> Self {
        Self { row, samples: [Vec::new(), Vec::new()] }
    }

    pub fn is_good(&self) -> bool {
        self.samples.iter().flatten().all(Result::is_ok)
    }

    fn spread(&self, side: usize, read: impl Fn(&Sample) -> f64) -> Option<[f64; 3]> {
        spread(self.samples[side].iter().flatten().map(read).collect())
    }

    /// The first side's figure as a multiple of the second's, in each round.
    fn ratio(&self, read: impl Fn(&Sample) -> f64) -> Option<[f64; 3]> {
        let pairs = self.samples[0].iter().zip(&self.samples[1]);
        let ratio = |(first, second): (&Result<Sample, String>, &Result<Sample, String>)| {
            Some(read(first.as_ref().ok()?) / read(second.as_ref().ok()?))
        };
        spread(pairs.filter_map(ratio).collect())
    }
}

/// The whole text, in Markdown.
pub fn render(rows: &[Measured], bench: &Memcached, sides: &[Side; 2]) -> String {
    let [first, second] = sides.map(Side::name);
    let mut text = format!(
        "Medians of {} rounds of {} s, lowest and highest in brackets; the ratios are of the same \
         round. {}\nA server of one thread has core {}, the generator core {}; with two threads \
         all share both. {first}: {}; {second}: {}.\n\n\
         | load | {first} ops/s | {second} ops/s | ratio | {first} CPU µs/op | \
         {second} CPU µs/op | ratio | generator's core |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        bench.rounds,
        bench.seconds,
        machine(),
        CORES[0],
        CORES[1],
        sides[0].version(bench),
        sides[1].version(bench),
    );
    for row in rows {
        let share = |side| row.spread(side, |sample| sample.generator_share() * 100.0);
        let share =
            |side| share(side).map_or("—".to_owned(), |[median, _, _]| format!("{median:.0}"));
        let cells = [
            row.row.name(),
            cell(row.spread(0, |sample| sample.rate), 0),
            cell(row.spread(1, |sample| sample.rate), 0),
            cell(row.ratio(|sample| sample.rate), 2),
            cell(row.spread(0, |sample| sample.server_us), 2),
            cell(row.spread(1, |sample| sample.server_us), 2),
            cell(row.ratio(|sample| sample.server_us), 2),
            format!("{} %, {} %", share(0), share(1)),
        ];
        push_line(&mut text, &format!("| {} |", cells.join(" | ")));
    }
    push_line(
        &mut text,
        "\nWhere the generator's core is full, the server could do more than the rate says; its \
         CPU time for an operation does not hang on that.\n",
    );
    for side in sides {
        push_line(&mut text, &format!("- {}: `{}`", side.name(), side.command_line()));
    }
    if let Some(row) = rows.first() {
        let flags = row.row.flags().join(" ");
        push_line(&mut text, &format!("- the first row: `sarsen run memcached-olio {flags}`"));
    }
    let failed = rows.iter().flat_map(|row| row.samples.iter().flatten().map(move |s| (row, s)));
    for (row, why) in failed.filter_map(|(row, sample)| Some((row, sample.as_ref().err()?))) {
        push_line(&mut text, &format!("- FAILED {}: {why}", row.row.name()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_run_without_errors_and_misses_counts() {
        let report = |successes: u64, misses: u64| {
            json!({
                "requests": 10, "successes": successes, "errors": {}, "cache": {"misses": misses},
                "requests_per_second": 5.5,
                "cpu_us_per_request": {"server": 2.5, "generator": 1.5},
            })
        };
        let sample = Sample { rate: 5.5, server_us: 2.5, generator_us: 1.5 };
        assert_eq!(Sample::read(&report(10, 0)), Ok(sample));
        assert!(Sample::read(&report(9, 0)).is_err());
        assert!(Sample::read(&report(10, 1)).is_err_and(|why| why.contains("not there")));
        assert!(Sample::read(&json!({})).is_err());
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        let row = Row::all().next().expect("a row");
        let sample = |rate| Ok(Sample { rate, server_us: 1.0, generator_us: 1.0 });
        let mut measured = Measured::new(row);
        measured.samples = [
            vec![sample(20.0), sample(30.0), sample(90.0)],
            vec![sample(10.0), Err("no".to_owned()), sample(30.0)],
        ];
        assert_eq!(measured.ratio(|sample| sample.rate), Some([2.5, 2.0, 3.0]));
        assert!(!measured.is_good());
    }
}
