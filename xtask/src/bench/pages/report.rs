//! The tables of `docs/performance.md` on applications' pages. It measures nothing.

use super::row::{Page, Row};
use super::{Measured, Pages, Sample, Side, Start};
use crate::bench::table::{cell, machine, push_line, said, spread};

/// Everything that was measured, in the order it was.
pub struct Samples {
    title: String,
    rounds: usize,
    all: Vec<(Row, Side, Measured)>,
    starts: Vec<(Side, usize, Start)>,
}

impl Samples {
    /// None yet.
    pub fn new(pages: &Pages) -> Self {
        let title = format!(
            "{}, commit {}. {} Medians of {} interleaved rounds of {} s, lowest and highest in \
             brackets. Node {}, {}.",
            said("date", &["-u", "+%Y-%m-%d"]),
            said("git", &["describe", "--always", "--dirty", "--abbrev=7"]),
            machine(),
            pages.rounds,
            pages.seconds,
            said("node", &["--version"]),
            said("psql", &["--version"]),
        );
        Self { title, rounds: pages.rounds, all: Vec::new(), starts: Vec::new() }
    }

    /// Keeps what one run of `row` on `side` gave.
    pub fn add(&mut self, row: Row, side: Side, measured: Measured) {
        self.all.push((row, side, measured));
    }

    /// Keeps how a side started.
    pub fn started(&mut self, side: Side, gems: usize, start: Start) {
        self.starts.push((side, gems, start));
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

    /// The whole text, in Markdown.
    pub fn render(&self) -> String {
        let mut text = format!("{}\n", self.title);
        for gems in [1, 2] {
            let rows: Vec<Row> =
                Row::of(gems).filter(|r| self.of(*r, Side::Sarsen).next().is_some()).collect();
            if !rows.is_empty() {
                self.render_table(&mut text, gems, &rows);
            }
        }
        self.render_starts(&mut text);
        let commands = |page: Page| {
            let mut ours = self.all.iter().filter(move |(row, _, _)| row.page == page);
            ours.next().map(|(_, _, measured)| measured.command.clone())
        };
        for page in Page::ALL {
            if let Some(command) = commands(page) {
                push_line(&mut text, &format!("- {}: `{command}`", page.name()));
            }
        }
        text
    }

    fn render_table(&self, text: &mut String, gems: usize, rows: &[Row]) {
        let s = if gems == 1 { ("gem", "process") } else { ("gems", "processes") };
        push_line(text, &format!("\n### {gems} {}; {gems} {} of Node\n", s.0, s.1));
        push_line(
            text,
            "| page | users | side | requests/s | Sarsen to it | p50 ms | p99 ms | \
             CPU µs, server |",
        );
        push_line(text, "| --- | --- | --- | --- | --- | --- | --- | --- |");
        for row in rows {
            for side in Side::ALL {
                let cells = self.cells(*row, side);
                let line =
                    format!("| {} | {} | {} | {cells} |", row.page.name(), row.users, side.name());
                push_line(text, &line);
            }
        }
    }

    fn cells(&self, row: Row, side: Side) -> String {
        let samples = match self.samples(row, side) {
            Ok(samples) => samples,
            Err(why) => {
                let failed = self.of(row, side).filter(|m| m.outcome.is_err()).count();
                let why = why.replace('|', "/").replace('\n', " ");
                return format!("**failed** | — | — | — | {failed} of {} runs: {why}", self.rounds);
            }
        };
        let figures = |read: fn(&Sample) -> Option<f64>| {
            samples.iter().map(read).collect::<Option<_>>().and_then(spread)
        };
        [
            cell(figures(|sample| Some(sample.requests_per_second)), 0),
            self.ratio(row, side),
            cell(figures(|sample| Some(sample.p50_ms)), 2),
            cell(figures(|sample| sample.p99_ms), 2),
            cell(figures(|sample| Some(sample.server_us)), 0),
        ]
        .join(" | ")
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
        cell(spread(ours.iter().zip(&theirs).map(ratio).collect()), 1)
    }

    fn render_starts(&self, text: &mut String) {
        push_line(
            text,
            "\n| side | gems or processes | start to first reply, ms | memory when filled, MiB | \
             after the loads, MiB |\n| --- | --- | --- | --- | --- |",
        );
        for side in Side::ALL {
            for gems in [1, 2] {
                let ours = self.starts.iter().filter(|(s, g, _)| (*s, *g) == (side, gems));
                let starts: Vec<&Start> = ours.map(|(_, _, start)| start).collect();
                if starts.is_empty() {
                    continue;
                }
                let figures = |read: fn(&Start) -> f64| {
                    spread(starts.iter().map(|start| read(start)).collect())
                };
                let cells = [
                    cell(figures(|start| start.first_reply_ms), 0),
                    cell(figures(|start| start.idle_mib), 0),
                    cell(figures(|start| start.loaded_mib), 0),
                ];
                let line = format!("| {} | {gems} | {} |", side.name(), cells.join(" | "));
                push_line(text, &line);
            }
        }
        push_line(text, "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: Row = Row { page: Page::Hello, users: 10, gems: 1 };

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
        Samples { title: "a".into(), rounds: 2, all, starts: Vec::new() }
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let mut all = samples(&[
            (Side::Sarsen, Ok(100.0)),
            (Side::Express, Ok(50.0)),
            (Side::Express, Ok(100.0)),
            (Side::Sarsen, Ok(300.0)),
        ]);
        let start = Start { first_reply_ms: 50.0, idle_mib: 10.0, loaded_mib: 20.0 };
        all.started(Side::Sarsen, 1, start);
        let text = all.render();
        let row = "| hello | 10 | Express, PostgreSQL | 75 (50–100) | 2.5 (2.0–3.0) | \
            1.00 (1.00–1.00) | 2.00 (2.00–2.00) | 3 (3–3) |";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("| Sarsen | 1 | 50 (50–50) | 10 (10–10) | 20 (20–20) |"), "{text}");
        assert!(text.contains("- hello: `load it`"), "{text}");
        assert!(all.all_succeeded());
    }

    #[test]
    fn a_failed_run_is_no_throughput() {
        let all = samples(&[(Side::Sarsen, Ok(100.0)), (Side::Sarsen, Err("a | b"))]);
        let text = all.render();
        assert!(text.contains("| **failed** | — | — | — | 1 of 2 runs: a / b |"), "{text}");
        assert!(!all.all_succeeded());
    }
}
