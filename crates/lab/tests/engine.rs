//! Plans with more than one operation, against the null server.

// In a test a panic is the report.
#![allow(clippy::unwrap_used)]

use lab::engine::{Findings, Watch, run};
use lab::measure::Interval;
use lab::null::{Law, NullServer, Options};
use lab::plan::{
    Arrivals, Background, Distribution, Gate, HttpStep, Load, Mix, Operation, Pacing, Plan, Stage,
    Step, Template,
};
use lab::progress::Tick;
use lab::report::Report;
use lab::verdict::Outcome;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A plan of three operations, one second long, on a server that answers after `law`.
fn plan(law: Law) -> Plan {
    let any = "127.0.0.1:0".parse().unwrap();
    let options = Options { law, body_bytes: 10, stall: None };
    let server = NullServer::bind(any, options).unwrap();
    let url = format!("http://{}/", server.local_addr().unwrap());
    std::thread::spawn(move || server.serve());
    let mut plan = Plan::hit(url.parse().unwrap());
    let step = |path: &str| Step::Http(Box::new(HttpStep::new("GET", Template::fixed(path))));
    let operation =
        |name: &str, steps| Operation { name: name.into(), steps, pacing: Pacing::None };
    plan.operations = vec![
        operation("home", vec![step("/")]),
        operation("pages", vec![step("/a"), step("/b")]),
        operation("beside", vec![step("/c")]),
    ];
    plan.mix = Mix::Flat(vec![3.0, 1.0, 0.0]);
    plan.phases.ramp_up = Duration::ZERO;
    plan.phases.measured = 1_000 * MS;
    plan.load = Load::Closed { users: vec![Stage::flat(2.0, 1_000 * MS)] };
    plan
}

#[derive(Default)]
struct Seen {
    successes: u64,
    seconds: Vec<u64>,
}

impl Watch for Seen {
    fn tick(&mut self, _: &Tick) {}

    fn second(&mut self, interval: &Interval) {
        let all = (0..3).flat_map(|o| lab::engine::Phase::ALL.map(|phase| (phase, o)));
        let found = all.filter_map(|(phase, o)| interval.get(phase, o));
        self.successes += found.map(lab::measure::Tally::successes).sum::<u64>();
        self.seconds.push(interval.second);
    }
}

fn carried_out(plan: &Plan) -> (Findings, Report, Seen) {
    let mut seen = Seen::default();
    let findings = run(plan, &mut seen).unwrap();
    let report = Report::new(plan, &findings);
    (findings, report, seen)
}

fn count(report: &Report, name: &str) -> u64 {
    let all = report.operations.iter().chain(&report.background);
    all.filter(|(n, _)| n == name).map(|(_, tally)| tally.operations()).sum()
}

#[test]
fn operations_have_the_shares_of_the_mix_and_seconds_add_up_to_the_run() {
    let mut plan = plan(Law::None);
    plan.threads = 2;
    plan.gates = vec![Gate::Mix { at_most_points: 2.0 }, Gate::Errors { at_most: 0.0 }];
    let (_, report, seen) = carried_out(&plan);
    assert_eq!(report.verdict.failures, Vec::<String>::new());
    assert_eq!(count(&report, "home") + count(&report, "pages"), report.measured.operations());
    // The second has two replies to an operation.
    let replies = count(&report, "home") + 2 * count(&report, "pages");
    assert_eq!(report.measured.statuses().count(200), replies);
    let phases = [&report.ramp_up, &report.measured, &report.drain];
    let all: u64 = phases.iter().map(|tally| tally.successes()).sum();
    assert_eq!(seen.successes, all);
    assert!(seen.seconds.is_sorted());
}

#[test]
fn a_gate_that_is_not_kept_is_a_failed_run() {
    let mut plan = plan(Law::None);
    plan.phases.measured = 300 * MS;
    plan.gates = vec![
        Gate::Rate { at_least: 1e9 },
        Gate::Latency { operation: Some(0), quantile: 0.5, at_most_ms: 0.000_001 },
        Gate::Latency { operation: None, quantile: 0.999_999, at_most_ms: 1e9 },
    ];
    let (_, report, _) = carried_out(&plan);
    let failures = report.verdict.failures.join("\n");
    assert!(failures.contains("operations/s; at least 1000000000"), "{failures}");
    assert!(failures.contains("home: p50 of the response time is"), "{failures}");
    assert!(failures.contains("all operations: p99.9999 cannot be told from"), "{failures}");
    let invalid = !report.verdict.doubts.is_empty();
    let expected = if invalid { Outcome::Invalid } else { Outcome::Failed };
    assert_eq!(report.outcome(), expected);
}

#[test]
fn users_with_a_cycle_are_never_faster_than_that() {
    let mut plan = plan(Law::None);
    for operation in &mut plan.operations {
        operation.pacing = Pacing::Cycle(Distribution::Fixed(100 * MS));
    }
    let (_, report, _) = carried_out(&plan);
    let operations = report.measured.operations() + report.drain.operations();
    assert!((1..=20).contains(&operations), "{operations}");
    assert_eq!(report.measured.cycle(), Some(100 * MS));
}

#[test]
fn what_goes_on_in_the_background_is_told_apart() {
    let mut plan = plan(Law::None);
    plan.background = vec![Background { operation: 2, rate: 20.0 }];
    let (_, report, _) = carried_out(&plan);
    let beside = count(&report, "beside");
    assert!((1..=20).contains(&beside), "{beside}");
    assert!(report.operations.iter().all(|(name, _)| name != "beside"));
    assert!(report.to_text().contains("in the background"), "{}", report.to_text());
}

#[test]
fn users_come_and_go_with_the_ramp() {
    let mut plan = plan(Law::Fixed(5 * MS));
    let ramp = Stage { from: 1.0, to: 6.0, duration: 500 * MS };
    let down = Stage { from: 6.0, to: 1.0, duration: 500 * MS };
    plan.load = Load::Closed { users: vec![ramp, down] };
    let (findings, report, _) = carried_out(&plan);
    assert!((2..=6).contains(&report.connections), "{}", report.connections);
    // On average there are three and a half, and never more than six.
    assert!(findings.in_flight_s < 6.0, "{}", findings.in_flight_s);
}

#[test]
fn arrivals_that_find_nobody_are_counted_and_void_the_run() {
    let mut plan = plan(Law::Fixed(200 * MS));
    plan.load = Load::Open {
        rate: vec![Stage::flat(100.0, 1_000 * MS)],
        arrivals: Arrivals::Even,
        in_flight_max: 2,
    };
    let (_, report, _) = carried_out(&plan);
    assert_eq!(report.measured.operations() + report.dropped, 100);
    assert!(report.dropped >= 80, "{}", report.dropped);
    assert_eq!(report.outcome(), Outcome::Invalid);
    let doubts = report.verdict.doubts.join("\n");
    assert!(doubts.contains("arrivals found no user free"), "{doubts}");
}

#[test]
fn recorded_arrivals_are_sent_again() {
    let mut plan = plan(Law::None);
    let offsets: Vec<Duration> = (0..30).map(|i| i * 20 * MS).collect();
    plan.load = Load::Replay { offsets, in_flight_max: 30 };
    let (_, report, _) = carried_out(&plan);
    assert_eq!(report.measured.operations(), 30);
}

#[test]
fn pauses_belong_to_the_operation() {
    let mut plan = plan(Law::None);
    plan.operations[0].steps.push(Step::Pause(Distribution::Fixed(50 * MS)));
    plan.mix = Mix::Sequence(vec![0]);
    let (_, report, _) = carried_out(&plan);
    let least = report.measured.service().percentile_ms(0.5);
    assert!(least.is_none_or(|ms| ms >= 49.9), "{least:?}");
    assert!(report.measured.operations() <= 40);
}

/// Ends the run at once.
struct Impatient;

impl Watch for Impatient {
    fn tick(&mut self, _: &Tick) {}

    fn second(&mut self, _: &Interval) {}

    fn stops(&mut self) -> bool {
        true
    }
}

/// What is left of a run of an hour that is ended at once, whoever is waiting for what.
fn ended(plan: &mut Plan, ramp_up: Duration) -> Findings {
    plan.phases.measured = 3_600_000 * MS;
    plan.phases.ramp_up = ramp_up;
    let findings = run(plan, &mut Impatient).unwrap();
    assert!(findings.stopped && findings.measured < plan.phases.measured);
    let report = Report::new(plan, &findings);
    assert_eq!(report.outcome(), Outcome::Invalid);
    assert!(report.to_text().contains("ended before its time"), "{}", report.to_text());
    findings
}

#[test]
fn a_run_that_is_ended_wakes_everybody_and_is_void() {
    let hour = 3_600_000 * MS;
    let mut thinking = plan(Law::None);
    for operation in &mut thinking.operations {
        operation.pacing = Pacing::Think(Distribution::Fixed(hour));
    }
    ended(&mut thinking, Duration::ZERO);
    let findings = ended(&mut thinking, hour);
    assert_eq!(findings.measured, Duration::ZERO);
    let mut rare = plan(Law::None);
    rare.load = Load::Open {
        rate: vec![Stage::flat(0.001, hour)],
        arrivals: Arrivals::Even,
        in_flight_max: 2,
    };
    rare.background = vec![Background { operation: 2, rate: 0.001 }];
    ended(&mut rare, Duration::ZERO);
}

/// Wants a run to be longer, once for each of these.
struct Insatiable(Vec<Duration>);

impl Watch for Insatiable {
    fn tick(&mut self, _: &Tick) {}

    fn second(&mut self, _: &Interval) {}

    fn extends(&mut self) -> Duration {
        self.0.pop().unwrap_or_default()
    }
}

/// A run of two seconds on two threads, made longer by 300 and 200 ms.
fn extended(plan: &mut Plan) -> (Findings, Report) {
    plan.phases.measured = 2_000 * MS;
    plan.threads = 2;
    let findings = run(plan, &mut Insatiable(vec![200 * MS, 300 * MS])).unwrap();
    assert_eq!((findings.measured, findings.extended), (2_500 * MS, 500 * MS));
    let report = Report::new(plan, &findings);
    let notes = report.verdict.notes.join("\n");
    assert!(notes.contains("made 0.5 s longer while it went on"), "{notes}");
    (findings, report)
}

#[test]
fn a_run_can_be_made_longer_whatever_users_wait_for() {
    let hour = 3_600_000 * MS;
    extended(&mut plan(Law::None));
    let mut paced = plan(Law::None);
    for operation in &mut paced.operations {
        operation.pacing = Pacing::Cycle(Distribution::Fixed(400 * MS));
    }
    let (_, report) = extended(&mut paced);
    // Nobody begins earlier than it should, however often it looks at the clock.
    let operations = report.measured.operations() + report.drain.operations();
    assert!((2..=14).contains(&operations), "{operations}");
    let mut open = plan(Law::None);
    let rate = vec![Stage::flat(100.0, 2_000 * MS)];
    open.load = Load::Open { rate, arrivals: Arrivals::Even, in_flight_max: 50 };
    let (findings, report) = extended(&mut open);
    let arrivals = report.measured.operations() + findings.totals.dropped();
    assert!((249..=251).contains(&arrivals), "{arrivals}");
    let mut rare = plan(Law::None);
    let rate = vec![Stage::flat(0.001, hour)];
    rare.load = Load::Open { rate, arrivals: Arrivals::Even, in_flight_max: 2 };
    extended(&mut rare);
}

#[test]
fn nothing_is_longer_than_it_may_be_or_extended_at_its_very_end() {
    let mut plan = plan(Law::None);
    plan.phases.measured = 500 * MS;
    // Less than a second is left from the beginning.
    let findings = run(&plan, &mut Insatiable(vec![3_000 * MS])).unwrap();
    assert_eq!((findings.measured, findings.extended), (500 * MS, Duration::ZERO));
    plan.phases.measured = 1_500 * MS;
    let day = lab::limits::DURATION_MAX;
    let findings = run(&plan, &mut Insatiable(vec![day])).unwrap();
    assert_eq!((findings.measured, findings.extended), (1_500 * MS, Duration::ZERO));
}
