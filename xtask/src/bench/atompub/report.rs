//! What a run of the lab gave, and the tables of `docs/performance.md`.

use super::{AtomPub, Load, Side, WORKERS};
use crate::bench::table::{cell, machine, push_line, said, spread};
use serde_json::Value;

/// What a run gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Requests a second.
    pub rate: f64,
    /// From the first to the last.
    pub seconds: f64,
    /// CPU time of the server for a request.
    pub server_us: f64,
    /// CPU time of the generator for a request.
    pub generator_us: f64,
    /// 99 % took at most so long.
    pub p99_ms: Option<f64>,
}

/// The rows of 2008: a server with 32 threads, mod_atom with HTML, Ruby clients over a network, no
/// durability claimed.
const ROWS_2008: [(usize, f64); 5] = [(1, 90.0), (2, 160.0), (3, 220.0), (4, 280.0), (5, 320.0)];

impl Sample {
    /// Of a report. Any error, and anything that the audit misses, makes it a failed run.
    pub fn read(report: &Value) -> Result<Self, String> {
        if report["requests"] != report["successes"] {
            return Err(format!("errors: {}", report["errors"]));
        }
        if report["audit"]["lost"].as_u64().unwrap_or(0) > 0 {
            return Err(format!("the audit: {}", report["audit"]["first"]));
        }
        let figure =
            |value: &Value, name: &str| value.as_f64().ok_or(format!("the report has no {name}"));
        let cpu = &report["cpu_us_per_request"];
        // Of several processes there is what was observed of them.
        let server = match &cpu["server"] {
            Value::Null => &report["cost"]["server"]["cpu_us_per_operation"],
            of_one => of_one,
        };
        let rate = figure(&report["requests_per_second"], "requests_per_second")?;
        Ok(Self {
            rate,
            seconds: figure(&report["successes"], "successes")? / rate,
            server_us: figure(server, "CPU time of the server")?,
            generator_us: figure(&cpu["generator"], "CPU time of the generator")?,
            p99_ms: report["response_ms"]["p99"].as_f64(),
        })
    }
}

/// A load on a side, with what came of it round by round.
pub struct Row {
    pub side: Side,
    pub load: Load,
    pub samples: Vec<Result<Sample, String>>,
}

impl Row {
    pub fn new(side: Side, load: Load) -> Self {
        Self { side, load, samples: Vec::new() }
    }

    fn spread(&self, read: impl Fn(&Sample) -> Option<f64>) -> Option<[f64; 3]> {
        spread(self.samples.iter().flatten().filter_map(read).collect())
    }

    fn failed(&self) -> usize {
        self.samples.iter().filter(|sample| sample.is_err()).count()
    }
}

/// The whole text, in Markdown.
pub fn render(rows: &[Row], bench: &AtomPub) -> String {
    let versions: Vec<String> =
        bench.options.sides.iter().map(|side| side.version(bench)).collect();
    let mut text = format!(
        "{}, commit {}. {} `cargo xtask bench-atompub {} {} --posts {} --largest {}`. Medians of \
         {} interleaved rounds, lowest and highest in brackets; the server has core {}, the \
         generator core {}. {}.\n\n\
         Groups of {WORKERS} workers, each of which makes a publication and posts {} entries ({} \
         to others) of about 620 bytes to it, one after the other. 2008: mod_atom on a T2000 (8 \
         cores, 32 threads), clients over a network, 100 entries each, nothing claimed about \
         durability.\n\n\
         | groups | server | POST/s | CPU µs/POST | p99 ms | s | scaling | generator CPU µs | \
         2008 POST/s |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        said("date", &["-u", "+%Y-%m-%d"]),
        said("git", &["describe", "--always", "--dirty", "--abbrev=7"]),
        machine(),
        bench.rounds,
        bench.seconds,
        bench.options.posts,
        bench.options.largest,
        bench.rounds,
        super::CORES[0],
        super::CORES[1],
        versions.join("; "),
        bench.posts(Side::Sarsen),
        bench.posts(Side::Abdera),
    );
    for (groups, rate_2008) in ROWS_2008 {
        for row in rows.iter().filter(|row| row.load == Load::Post(groups)) {
            push_line(&mut text, &posts(row, rows, groups, rate_2008));
        }
    }
    text.push_str(
        "\nA feed of 25 entries that users have, asked for again (304).\n\n\
         | server | GET/s | CPU µs/GET | p99 ms | failed runs |\n| --- | --- | --- | --- | --- |\n",
    );
    for row in rows.iter().filter(|row| row.load == Load::Again) {
        let cells = [
            row.side.name().to_owned(),
            cell(row.spread(|sample| Some(sample.rate)), 0),
            cell(row.spread(|sample| Some(sample.server_us)), 2),
            cell(row.spread(|sample| sample.p99_ms), 3),
            row.failed().to_string(),
        ];
        push_line(&mut text, &format!("| {} |", cells.join(" | ")));
    }
    text
}

fn posts(row: &Row, rows: &[Row], groups: usize, rate_2008: f64) -> String {
    let median = |row: &Row| row.spread(|sample| Some(sample.rate)).map(|[median, _, _]| median);
    let first = rows.iter().find(|one| one.side == row.side && one.load == Load::Post(1));
    let scaling = first.and_then(median).zip(median(row)).map(|(first, this)| this / first);
    let failed = match row.failed() {
        0 => String::new(),
        failed => format!(", {failed} runs failed"),
    };
    let cells = [
        groups.to_string(),
        format!("{}{failed}", row.side.name()),
        cell(row.spread(|sample| Some(sample.rate)), 0),
        cell(row.spread(|sample| Some(sample.server_us)), 1),
        cell(row.spread(|sample| sample.p99_ms), 2),
        cell(row.spread(|sample| Some(sample.seconds)), 1),
        scaling.map_or("—".to_owned(), |scaling| format!("{scaling:.1}")),
        cell(row.spread(|sample| Some(sample.generator_us)), 1),
        format!("{rate_2008:.0} ({:.1})", rate_2008 / ROWS_2008[0].1),
    ];
    format!("| {} |", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(lost: u64) -> Value {
        json!({"requests": 100, "successes": 100, "requests_per_second": 50.0,
            "cpu_us_per_request": {"server": 7.5, "generator": 4}, "response_ms": {"p99": null},
            "audit": {"lost": lost, "first": ["gone"]}})
    }

    #[test]
    fn a_run_that_lost_an_entry_is_a_failed_one() {
        let sample = Sample::read(&report(0)).expect("a sample");
        assert_eq!((sample.seconds, sample.server_us, sample.p99_ms), (2.0, 7.5, None));
        assert!(Sample::read(&report(1)).expect_err("a failure").contains("gone"));
        assert!(Sample::read(&json!({})).is_err());
        let mut row = Row::new(Side::Sarsen, Load::Post(1));
        row.samples = vec![Ok(sample), Err("it ended".to_owned())];
        let text = posts(&row, &[], 1, 90.0);
        assert!(text.starts_with("| 1 | Sarsen, 1 runs failed | 50 (50–50) | 7.5 "), "{text}");
        assert!(text.ends_with("| 90 (1.0) |"), "{text}");
    }
}
