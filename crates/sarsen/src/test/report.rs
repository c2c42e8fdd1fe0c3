//! What is said of tests: a line for each as it ends, what is wrong with those that failed, and a
//! summary; or, by `--json`, one JSON text at the end.

use super::Ran;
use super::diff::{Line, diff};
use crate::cli::TestArguments;
use crate::code;
use crate::exit::Exit;
use gem::testing::TestFailure;
use serde_json::{Value, json};
use std::io::{self, IsTerminal, Write};
use std::time::Instant;

/// The report of one run.
pub struct Report<'a> {
    arguments: &'a TestArguments,
    has_colours: bool,
    begun: Instant,
    /// The file of the test before.
    file: String,
    tests: Vec<Value>,
    failed: usize,
}

/// Terminals' colours (ECMA-48, SGR).
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

impl<'a> Report<'a> {
    /// Of a run that begins now.
    pub fn new(arguments: &'a TestArguments) -> Self {
        // https://no-color.org
        let wants_none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let has_colours = io::stdout().is_terminal() && !wants_none && !arguments.json;
        let (file, tests) = (String::new(), Vec::new());
        Self { arguments, has_colours, begun: Instant::now(), file, tests, failed: 0 }
    }

    /// Whether no test has run.
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// Says how a test of `file` went.
    pub fn add(&mut self, file: &str, ran: Ran) -> io::Result<()> {
        let failure = ran.result.as_ref().err();
        self.failed += usize::from(failure.is_some());
        self.tests.push(json!({
            "file": file,
            "title": ran.title,
            "passed": failure.is_none(),
            "milliseconds": u64::try_from(ran.milliseconds).unwrap_or(u64::MAX),
            "failure": failure.map(failure_json),
            "log": if failure.is_some() { json!(ran.heard) } else { json!([]) },
        }));
        if self.arguments.json {
            return Ok(());
        }
        let mut text = String::new();
        if self.file != file {
            text.push_str(&format!("{file}\n"));
            file.clone_into(&mut self.file);
        }
        let took = self.colour(DIM, &format!("{} ms", ran.milliseconds));
        let mark = match failure {
            None => self.colour(GREEN, "ok    "),
            Some(_) => self.colour(RED, "FAILED"),
        };
        text.push_str(&format!("  {mark} {} ({took})\n", ran.title));
        if let Some(failure) = failure {
            text.push_str(&self.failure(failure, &ran.heard));
        }
        print(&text)
    }

    fn failure(&self, failure: &TestFailure, heard: &[String]) -> String {
        let mut text = String::new();
        let place = failure.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
        text.push_str(&format!("{place}{}\n", failure.message));
        if let Some(frame) = failure.place.as_deref().and_then(code::frame) {
            text.push_str(&frame.text());
        }
        if let Some((expected, actual)) = &failure.difference {
            text.push_str(&self.difference(expected, actual));
        }
        if !heard.is_empty() {
            text.push_str(&self.colour(DIM, "the log meanwhile:"));
            text.push('\n');
            for record in heard {
                text.push_str(&format!("{}\n", self.colour(DIM, record)));
            }
        }
        text.lines().map(|line| format!("    {line}\n").replace("    \n", "\n")).collect()
    }

    fn difference(&self, expected: &str, actual: &str) -> String {
        let lines = diff(expected, actual).into_iter().map(|line| match line {
            Line::Both(line) => format!("  {line}\n"),
            Line::Expected(line) => format!("{}\n", self.colour(RED, &format!("- {line}"))),
            Line::Actual(line) => format!("{}\n", self.colour(GREEN, &format!("+ {line}"))),
            Line::Same(1) => format!("{}\n", self.colour(DIM, "  (1 line the same)")),
            Line::Same(n) => format!("{}\n", self.colour(DIM, &format!("  ({n} lines the same)"))),
        });
        let legend =
            format!("{}  {}\n", self.colour(RED, "- expected"), self.colour(GREEN, "+ actual"));
        legend + &lines.collect::<String>()
    }

    fn colour(&self, colour: &str, text: &str) -> String {
        if self.has_colours { format!("{colour}{text}{PLAIN}") } else { text.to_owned() }
    }

    /// The summary, and how the process ends.
    pub fn finish(self) -> io::Result<Exit> {
        let passed = self.tests.len() - self.failed;
        let took = self.begun.elapsed();
        if self.arguments.json {
            let report = json!({
                "passed": passed,
                "failed": self.failed,
                "milliseconds": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                "tests": self.tests,
            });
            print(&format!("{report}\n"))?;
        } else {
            let failed = format!("{} failed", self.failed);
            let colour = if self.failed > 0 { RED } else { DIM };
            let failed = self.colour(colour, &failed);
            print(&format!("\n{passed} passed, {failed} in {:.1} s\n", took.as_secs_f64()))?;
        }
        Ok(if self.failed == 0 { Exit::Success } else { Exit::Failure })
    }
}

fn failure_json(failure: &TestFailure) -> Value {
    let difference = failure.difference.as_ref();
    json!({
        "message": failure.message,
        "place": failure.place,
        "expected": difference.map(|(expected, _)| expected),
        "actual": difference.map(|(_, actual)| actual),
    })
}

fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
