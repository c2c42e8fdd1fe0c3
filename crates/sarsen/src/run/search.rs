//! `sarsen run --max-rate`: runs of the open model at one rate after the other, until the highest
//! is found at which the bound is kept. Which rate comes next is said by the lab's `search`.

use super::{Attempt, ScenarioError, ScenarioFile, words_of_one};
use crate::bench::Finished;
use crate::cli::RunArguments;
use crate::exit::Exit;
use lab::plan::Gate;
use lab::report::Report;
use lab::scenario::Scenario;
use lab::search::{Answer, Next, Outcome, Trial, next};
use serde_json::{Value, json};

/// Where it begins if no rate is given, in operations a second.
const START: f64 = 1_000.0;

/// Runs to the end, or until one is ended before its time.
pub fn run(
    arguments: &RunArguments,
    file: &ScenarioFile,
    (bound, gate): &(String, Gate),
) -> Result<Finished, ScenarioError> {
    let start = arguments.overrides.rate.unwrap_or(START);
    let scenario = at(arguments, file, start, gate)?;
    if arguments.check {
        return Ok(Finished { text: scenario.to_text(), exit: Exit::Success });
    }
    Attempt { arguments, file, words: Vec::new() }.set_up(&scenario)?;
    let mut found = Search { bound: bound.clone(), trials: Vec::new(), rows: Vec::new() };
    let end = loop {
        let rate = match next(start, &found.trials) {
            Next::Try(rate) => rate,
            end => break Some(end),
        };
        let scenario = at(arguments, file, rate, gate)?;
        let words = words_of_one(vec!["--rate".to_owned(), rate.to_string()]);
        let report = Attempt { arguments, file, words }.measure(&scenario)?;
        if let Some(fault) = report.verdict.faults.first() {
            return Err(ScenarioError::Search(format!("at {rate:.0}/s {fault}")));
        }
        if report.is_stopped {
            break None;
        }
        found.add(rate, &report);
        if !arguments.common.quiet {
            eprintln!("{}", found.last_line());
        }
    };
    Attempt { arguments, file, words: Vec::new() }.tear_down(&scenario)?;
    let text = match arguments.common.json {
        true => format!("{}\n", found.to_json(end)),
        false => found.to_text(end),
    };
    let exit = match end {
        Some(Next::Found(_)) => Exit::Success,
        Some(Next::Nothing) => Exit::Failure,
        _ => Exit::Invalid,
    };
    Ok(Finished { text, exit })
}

/// The scenario at a rate, with the bound among its gates.
fn at(
    arguments: &RunArguments,
    file: &ScenarioFile,
    rate: f64,
    gate: &Gate,
) -> Result<Scenario, ScenarioError> {
    let mut overrides = arguments.overrides()?;
    overrides.rate = Some(rate);
    let mut scenario = Scenario::read(file.source(), &overrides)?;
    scenario.plan.gates.push(gate.clone());
    Ok(scenario)
}

/// The runs so far.
struct Search {
    /// As it was written.
    bound: String,
    trials: Vec<Trial>,
    /// Of each: rate that came back, p50 and p99 of the response time, and how late it was sent at
    /// p99, in ms.
    rows: Vec<[Option<f64>; 4]>,
}

/// What came of a run. One that cannot be believed says nothing of the server, but that the
/// generator can do no more here; arrivals that find nobody free are the server's.
fn judge(report: &Report) -> Outcome {
    match (report.is_valid(), report.verdict.failures.is_empty()) {
        (true, true) => Outcome::Kept,
        (true, false) => Outcome::Missed { by_generator: false },
        (false, _) => {
            let by_server = usize::from(report.dropped > 0);
            Outcome::Missed { by_generator: report.verdict.doubts.len() > by_server }
        }
    }
}

impl Search {
    fn add(&mut self, rate: f64, report: &Report) {
        self.trials.push(Trial { rate, outcome: judge(report) });
        let response = report.measured.response();
        self.rows.push([
            Some(report.requests_per_second()),
            response.percentile_ms(0.5),
            response.percentile_ms(0.99),
            report.send_lag_ms[1],
        ]);
    }

    /// One line for each trial.
    fn lines(&self) -> Vec<String> {
        let figure = |value: Option<f64>, digits: usize| {
            value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
        };
        let line = |(trial, [rate, p50, p99, lag]): (&Trial, &[Option<f64>; 4])| {
            let outcome = match trial.outcome {
                Outcome::Kept => "kept",
                Outcome::Missed { by_generator: false } => "missed",
                Outcome::Missed { by_generator: true } => "missed (generator?)",
            };
            format!(
                "{:>10.0} {:>10} {:>10} {:>10} {:>12}  {outcome}",
                trial.rate,
                figure(*rate, 0),
                figure(*p50, 3),
                figure(*p99, 3),
                figure(*lag, 3),
            )
        };
        self.trials.iter().zip(&self.rows).map(line).collect()
    }

    fn last_line(&self) -> String {
        self.lines().pop().unwrap_or_default()
    }

    fn to_text(&self, end: Option<Next>) -> String {
        let mut text = format!(
            "{:>10} {:>10} {:>10} {:>10} {:>12}\n",
            "rate/s", "came back", "p50 ms", "p99 ms", "late p99 ms"
        );
        self.lines().iter().for_each(|line| text.push_str(&format!("{line}\n")));
        text.push_str(&format!("\n{}\n", self.conclusion(end)));
        text
    }

    fn conclusion(&self, end: Option<Next>) -> String {
        let bound = &self.bound;
        match end {
            Some(Next::Found(Answer { kept, missed, by_generator })) => {
                let missed = missed.map_or("no rate is missed".to_owned(), |missed| {
                    format!("missed at {missed:.0}/s")
                });
                let doubt = match by_generator {
                    true => "; there the generator may be the limit, so the server may do more",
                    false => "",
                };
                format!("highest rate with {bound}: {kept:.0}/s, kept three times; {missed}{doubt}")
            }
            Some(Next::Nothing) => format!("not even 1/s is kept with {bound}"),
            Some(Next::GivenUp | Next::Try(_)) => {
                let runs = self.trials.len();
                format!("no rate was kept or missed for certain in {runs} runs")
            }
            None => "the search was ended before its time".to_owned(),
        }
    }

    fn to_json(&self, end: Option<Next>) -> Value {
        let trial = |(trial, [rate, p50, p99, lag]): (&Trial, &[Option<f64>; 4])| {
            json!({
                "rate_per_second": trial.rate,
                "kept": trial.outcome == Outcome::Kept,
                "generator_limited": trial.outcome == Outcome::Missed { by_generator: true },
                "requests_per_second": rate,
                "response_p50_ms": p50,
                "response_p99_ms": p99,
                "send_lag_p99_ms": lag,
            })
        };
        let answer = match end {
            Some(Next::Found(answer)) => Some(answer),
            _ => None,
        };
        json!({
            "bound": self.bound,
            "kept_per_second": answer.map(|answer| answer.kept),
            "missed_per_second": answer.and_then(|answer| answer.missed),
            "generator_limited": answer.map(|answer| answer.by_generator),
            "conclusion": self.conclusion(end),
            "trials": self.trials.iter().zip(&self.rows).map(trial).collect::<Vec<_>>(),
        })
    }
}
