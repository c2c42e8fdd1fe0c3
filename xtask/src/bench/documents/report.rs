//! The tables of `docs/performance.md` and the file of samples beside them. It measures nothing.

use super::Documents;
use super::row::{Row, Transport};
use super::side::Side;
use crate::bench::measured::{Measured, Sample};
use crate::bench::table::{cell, machine, push_line, said, spread};

/// Everything that was measured, in the order it was.
pub struct Samples {
    title: String,
    rounds: usize,
    rows: Vec<Row>,
    all: Vec<(Row, Side, Measured)>,
}

impl Samples {
    /// None yet.
    pub fn new(documents: &Documents, rows: Vec<Row>) -> Self {
        let title = format!(
            "{}, commit {}. {} Medians of {} interleaved rounds of {} s, lowest and highest in \
             brackets; {} connections, each with one request at a time.",
            said("date", &["-u", "+%Y-%m-%d"]),
            said("git", &["describe", "--always", "--dirty", "--abbrev=7"]),
            machine(),
            documents.rounds,
            documents.seconds,
            super::generator::CONNECTIONS,
        );
        let smoke = if documents.smoke { "**Smoke run: these are no measurements.** " } else { "" };
        Self { title: smoke.to_owned() + &title, rounds: documents.rounds, rows, all: Vec::new() }
    }

    /// Keeps what one run of `row` on `side` gave.
    pub fn add(&mut self, row: Row, side: Side, measured: Measured) {
        self.all.push((row, side, measured));
    }

    /// Whether there was no failed run.
    pub fn all_succeeded(&self) -> bool {
        self.all.iter().all(|(_, _, measured)| measured.outcome.is_ok())
    }

    fn of(&self, row: Row, side: Side) -> impl Iterator<Item = &Measured> {
        let ours = self.all.iter().filter(move |(r, s, _)| *r == row && *s == side);
        ours.map(|(_, _, measured)| measured)
    }

    /// One for each round, or why there are none: one failed run spoils the row.
    fn samples(&self, row: Row, side: Side) -> Result<Vec<Sample>, String> {
        self.of(row, side).map(|measured| measured.outcome.clone()).collect()
    }

    /// Every sample as one line.
    pub fn csv(&self) -> String {
        let mut text = format!(
            "# {}\noperation,transport,side,durability,requests_per_second,p50_ms,p99_ms,\
             server_us,error\n",
            self.title
        );
        for (row, side, measured) in &self.all {
            let Row { operation, transport } = row;
            let names = [operation.name(), transport.name(), side.name(), side.durability()];
            let figures = match &measured.outcome {
                Ok(sample) => format!(
                    "{:.1},{:.3},{},{:.2},",
                    sample.requests_per_second,
                    sample.p50_ms,
                    sample.p99_ms.map_or_else(String::new, |ms| format!("{ms:.3}")),
                    sample.server_us
                ),
                Err(why) => format!(",,,,{}", quoted(why)),
            };
            push_line(&mut text, &format!("{},{figures}", names.map(quoted).join(",")));
        }
        text
    }

    /// The whole text, in Markdown.
    pub fn render(&self) -> String {
        let mut text = format!("{}\n\n", self.title);
        for side in Side::ALL {
            push_line(
                &mut text,
                &format!("- *{}* ({}): {}", side.name(), version(side), side.promise()),
            );
            if let Some(lacks) = side.lacks() {
                push_line(&mut text, &format!("  It lacks: {lacks}"));
            }
        }
        for transport in Transport::ALL {
            let rows: Vec<Row> =
                self.rows.iter().copied().filter(|row| row.transport == transport).collect();
            if !rows.is_empty() {
                self.render_table(&mut text, transport, &rows);
            }
        }
        text
    }

    fn render_table(&self, text: &mut String, transport: Transport, rows: &[Row]) {
        let tool = if transport == Transport::Http1 { "the lab" } else { "h2load" };
        push_line(text, &format!("\n### {}, by {tool}\n", transport.name()));
        push_line(
            text,
            "| operation | side | a reply means | requests/s | Sarsen to it | p50 ms | p99 ms | \
             CPU µs, server | failed |",
        );
        push_line(text, "| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
        for row in rows {
            for side in Side::ALL {
                if self.of(*row, side).next().is_some() {
                    self.render_row(text, *row, side);
                }
            }
        }
        push_line(text, "");
        for row in rows {
            for side in Side::ALL {
                let commands = self.of(*row, side).map(|measured| measured.command.as_str());
                if let Some(command) = commands.filter(|command| !command.is_empty()).last() {
                    let Row { operation, .. } = row;
                    let name = format!("{}, {}", operation.name(), side.name());
                    push_line(text, &format!("- {name}: `{command}`"));
                }
            }
        }
    }

    fn render_row(&self, text: &mut String, row: Row, side: Side) {
        let means = if row.operation.writes() { side.durability() } else { "—" };
        let cells = match self.samples(row, side) {
            Ok(samples) => {
                let spread = |read: fn(&Sample) -> Option<f64>| {
                    samples.iter().map(read).collect::<Option<_>>().and_then(spread)
                };
                [
                    cell(spread(|sample| Some(sample.requests_per_second)), 0),
                    self.ratio(row, side),
                    cell(spread(|sample| Some(sample.p50_ms)), 3),
                    cell(spread(|sample| sample.p99_ms), 3),
                    cell(spread(|sample| Some(sample.server_us)), 1),
                    "0".into(),
                ]
                .join(" | ")
            }
            Err(why) => {
                let failed = self.of(row, side).filter(|m| m.outcome.is_err()).count();
                let why = why.replace('|', "/").replace('\n', " ");
                format!("**failed** | — | — | — | — | {failed} of {}: {why}", self.rounds)
            }
        };
        let name = row.operation.name();
        push_line(text, &format!("| {name} | {} | {means} | {cells} |", side.name()));
    }

    /// Sarsen's rate to that of `side`, round by round.
    fn ratio(&self, row: Row, side: Side) -> String {
        let (Ok(ours), Ok(theirs)) = (self.samples(row, Side::Sarsen), self.samples(row, side))
        else {
            return "—".into();
        };
        if side == Side::Sarsen {
            return "1".into();
        }
        let ratio = |(ours, theirs): (&Sample, &Sample)| {
            ours.requests_per_second / theirs.requests_per_second
        };
        cell(spread(ours.iter().zip(&theirs).map(ratio).collect()), 2)
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        return format!("\"{}\"", text.replace('"', "\"\"").replace('\n', " "));
    }
    text.to_owned()
}

fn version(side: Side) -> String {
    match side {
        Side::Sarsen => "release build of this commit".into(),
        Side::Nginx => said("nginx", &["-v"]).replace("nginx version: ", ""),
        Side::Xenon => format!("xenon-common 1.6.14.1 on {}", said("java", &["--version"])),
        Side::PocketBase => "0.36.8".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::Operation;
    use super::*;

    const ROW: Row = Row { operation: Operation::Put, transport: Transport::Http1 };

    fn samples(of: &[(Side, Result<f64, &str>)]) -> Samples {
        let measured = |outcome: Result<f64, &str>| Measured {
            command: "load it".into(),
            outcome: outcome.map_err(str::to_owned).map(|rate| Sample {
                requests_per_second: rate,
                p50_ms: 1.0,
                p99_ms: Some(2.0),
                server_us: 3.0,
            }),
        };
        let all = of.iter().map(|(side, outcome)| (ROW, *side, measured(*outcome))).collect();
        Samples { title: "a, b".into(), rounds: 2, rows: vec![ROW], all }
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let all = samples(&[
            (Side::Sarsen, Ok(100.0)),
            (Side::Xenon, Ok(50.0)),
            (Side::Sarsen, Ok(300.0)),
            (Side::Xenon, Ok(100.0)),
        ]);
        let text = all.render();
        let row = "| PUT | Xenon | synced every 5 s | 75 (50–100) | 2.50 (2.00–3.00) | \
            1.000 (1.000–1.000) | 2.000 (2.000–2.000) | 3.0 (3.0–3.0) | 0 |";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("- PUT, Xenon: `load it`"), "{text}");
        assert!(all.all_succeeded());
    }

    #[test]
    fn a_failed_run_is_no_throughput() {
        let all = samples(&[(Side::Sarsen, Ok(100.0)), (Side::Sarsen, Err("a | b, c"))]);
        let text = all.render();
        assert!(text.contains("| **failed** | — | — | — | — | 1 of 2: a / b, c |"), "{text}");
        assert!(!all.all_succeeded());
        let line = "PUT,HTTP/1.1,Sarsen,synced before the reply,,,,,\"a | b, c\"";
        assert!(all.csv().lines().any(|l| l == line), "{}", all.csv());
    }
}
