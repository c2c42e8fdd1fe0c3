//! Each rule with what it just allows and what it does not: a run of which everything is known is
//! altered in one place at a time.

use super::{Outcome, Verdict};
use crate::engine::{Findings, Phase, ServerCpu};
use crate::measure::{Done, ErrorClass, Interval, Totals};
use crate::observe::{Figure, Summary};
use crate::plan::{Arrivals, Distribution, Gate, Load, Mix, Operation, Pacing, Plan, Stage};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Seconds of the measured interval.
const SECONDS: u64 = 20;

/// Of each operation.
const LATENCY: Duration = Duration::from_millis(10);

/// A run of 10 users whose operations, of two kinds that are as frequent, take 10 ms each.
struct Run {
    plan: Plan,
    findings: Findings,
    measured: Interval,
}

fn done(service: Duration, failure: Option<&'static str>) -> Done<'static> {
    Done {
        service,
        response: service,
        cycle: None,
        busy: service,
        lap: Some(service),
        received: 100,
        statuses: &[200],
        cached: (0, 0),
        failure: failure.map(|_| (ErrorClass::Timeout, &"late" as &dyn std::fmt::Display)),
    }
}

fn run() -> Run {
    let mut plan = Plan::hit("http://127.0.0.1/".parse().unwrap());
    let second = Operation { name: "second".to_owned(), ..plan.operations[0].clone() };
    plan.operations.push(second);
    plan.mix = Mix::Flat(vec![1.0, 1.0]);
    plan.phases.measured = Duration::from_secs(SECONDS);
    plan.load = Load::Closed { users: vec![Stage::flat(10.0, plan.phases.measured)] };
    let mut measured = Interval::new(0, 2);
    for number in 0..1000 * SECONDS as usize {
        measured.tally(Phase::Measured, number % 2).record(&done(LATENCY, None));
    }
    let findings = Findings {
        totals: Totals::new(2),
        measured: plan.phases.measured,
        in_flight_s: 10.0 * SECONDS as f64,
        rates: vec![1000; SECONDS as usize],
        connections: 10,
        software: Vec::new(),
        generator_cpu: Ok(vec![(SECOND, 2 * SECOND)]),
        server_cpu: ServerCpu::NotAsked,
        observed: Vec::new(),
        audit: None,
        server_gone: None,
        latencies_ms: vec![Some(10.0); SECONDS as usize],
        clock_step: Duration::ZERO,
        numbered_done: 0,
        stopped: false,
        extended: Duration::ZERO,
    };
    Run { plan, findings, measured }
}

impl Run {
    fn verdict(mut self) -> Verdict {
        self.findings.totals.add(&self.measured);
        Verdict::of(&self.plan, &self.findings)
    }
}

/// A change of a run.
type Change<'a> = &'a dyn Fn(&mut Run);

/// After the first change nothing is doubted, after the second there is one doubt, with these
/// words in it.
fn assert_bound(words: &str, good: Change<'_>, bad: Change<'_>) {
    let after = |change: Change<'_>| {
        let mut run = run();
        change(&mut run);
        run.verdict()
    };
    assert_eq!(after(good).doubts, Vec::<String>::new(), "{words}");
    let verdict = after(bad);
    assert_eq!(verdict.doubts.len(), 1, "{words}: {:?}", verdict.doubts);
    assert!(verdict.doubts[0].contains(words), "{words}: {:?}", verdict.doubts);
    assert_eq!(verdict.outcome(), Outcome::Invalid);
}

#[test]
fn a_run_without_fault_passes() {
    let verdict = run().verdict();
    assert_eq!((verdict.doubts.len(), verdict.outcome()), (0, Outcome::Passed), "{verdict:?}");
    assert_eq!(verdict.notes, Vec::<String>::new());
}

#[test]
fn operations_in_flight_hold_littles_law() {
    // 2 % of 10, and 2 x 10 + 6 x sqrt(10) that the borders cut, each by half of 10 ms, of 20 s.
    assert_bound(
        "by Little's law 10.00 operations should be in flight, but 9.70 were",
        &|run| run.findings.in_flight_s = 9.81 * SECONDS as f64,
        &|run| run.findings.in_flight_s = 9.7 * SECONDS as f64,
    );
    assert_bound(
        "but 10.30 were",
        &|run| run.findings.in_flight_s = 10.19 * SECONDS as f64,
        &|run| run.findings.in_flight_s = 10.3 * SECONDS as f64,
    );
}

#[test]
fn users_hold_littles_law() {
    let users = |users: f64, run: &mut Run| {
        run.plan.load = Load::Closed { users: vec![Stage::flat(users, run.plan.phases.measured)] };
    };
    assert_bound(
        "by Little's law there were 10.00 users at work, but 11 were planned",
        &|_| {},
        &move |run| users(11.0, run),
    );
    // Who goes when he has done his part is not there until the end.
    let mut some = run();
    users(11.0, &mut some);
    some.plan.repetitions = Some(2_000);
    assert_eq!(some.verdict().doubts, Vec::<String>::new());
}

#[test]
fn the_cycle_is_as_planned() {
    let cycle = |mean: Duration, run: &mut Run| {
        for operation in &mut run.plan.operations {
            operation.pacing = Pacing::Cycle(Distribution::Fixed(mean));
        }
    };
    // 20,000 laps of 10 ms: 2 % and four standard deviations of the mean, 2.8 % more.
    assert_bound(
        "from start to start users took 0.010 s on average; planned are 0.009 s",
        &move |run| cycle(Duration::from_micros(9_600), run),
        &move |run| cycle(Duration::from_micros(9_400), run),
    );
    // Of operations without one nothing is said.
    let mut some = run();
    cycle(SECOND, &mut some);
    some.plan.operations[0].pacing = Pacing::None;
    assert_eq!(some.verdict().doubts, Vec::<String>::new());
}

/// What this machine sent, and sent again.
fn segments(run: &mut Run, sent: f64, again: f64) {
    let figure = |name: &str, total| Figure {
        name: name.to_owned(),
        unit: "segments_per_second",
        total: Some(total),
        total_unit: "segments",
        mean: None,
        min: None,
        max: None,
    };
    run.findings.observed.push(Summary {
        name: "host".to_owned(),
        seconds: SECONDS,
        gaps: 0,
        figures: vec![figure("tcp_sent", sent), figure("tcp_sent_again", again)],
        notes: Vec::new(),
    });
}

#[test]
fn packets_are_not_lost() {
    assert_bound(
        "sent 11 of 10000 TCP segments again, 0.11 %",
        &|run| segments(run, 10_000.0, 10.0),
        &|run| segments(run, 10_000.0, 11.0),
    );
    // Fewer than ten tell nothing, whatever share they are.
    assert_bound("sent 10 of 100 TCP segments again", &|run| segments(run, 100.0, 9.0), &|run| {
        segments(run, 100.0, 10.0)
    });
}

#[test]
fn the_generator_does_not_stand_still() {
    assert_bound(
        "a thread of the generator stood still for 101 ms",
        &|run| run.measured.pause = 100 * MS,
        &|run| run.measured.pause = 101 * MS,
    );
}

#[test]
fn the_generator_has_cpu_left_and_its_clock_is_not_set() {
    assert_bound(
        "one of its threads used 81 % of a core",
        &|run| run.findings.generator_cpu = Ok(vec![(MS, SECOND), (800 * MS, SECOND)]),
        &|run| run.findings.generator_cpu = Ok(vec![(MS, SECOND), (810 * MS, SECOND)]),
    );
    assert_bound("could not be read: gone", &|_| {}, &|run| {
        run.findings.generator_cpu = Err("gone".to_owned());
    });
    assert_bound("was set by 51 ms", &|run| run.findings.clock_step = 50 * MS, &|run| {
        run.findings.clock_step = 51 * MS
    });
    assert_bound("the server's CPU time could not be read: gone", &|_| {}, &|run| {
        run.findings.server_cpu = ServerCpu::Lost("gone".to_owned());
    });
}

fn open(run: &mut Run) {
    let rate = vec![Stage::flat(1000.0, run.plan.phases.measured)];
    run.plan.load = Load::Open { rate, arrivals: Arrivals::Even, in_flight_max: 100 };
}

#[test]
fn arrivals_are_sent_and_in_time() {
    assert_bound("1 of 20001 arrivals found no user free", &open, &|run| {
        open(run);
        run.measured.dropped = 1;
    });
    let late = |run: &mut Run, late: Duration| {
        open(run);
        (0..1000).for_each(|_| run.measured.send_lag.record(late));
    };
    assert_bound(
        "1 % of the operations were sent more than",
        &move |run| late(run, Duration::from_micros(4_900)),
        &move |run| late(run, Duration::from_micros(5_100)),
    );
}

#[test]
fn shares_are_those_of_the_mix() {
    // Two points, and four standard deviations, 1.4 points.
    assert_bound(
        "hit is 50.00 % of the operations; planned are 54.00 %",
        &|run| run.plan.mix = Mix::Flat(vec![53.0, 47.0]),
        &|run| run.plan.mix = Mix::Flat(vec![54.0, 46.0]),
    );
}

#[test]
fn rate_and_latency_do_not_drift() {
    let rising = |by: u64| (0..SECONDS).map(|second| 1000 + by * second / SECONDS).collect();
    assert_bound(
        "not steady: the rate drifted by",
        &move |run| run.findings.rates = rising(45),
        &move |run| run.findings.rates = rising(80),
    );
    let slower = |by: f64| {
        (0..SECONDS).map(|second| Some(10.0 + by * second as f64 / SECONDS as f64)).collect()
    };
    assert_bound(
        "not steady: the latency drifted by",
        &move |run| run.findings.latencies_ms = slower(0.9),
        &move |run| run.findings.latencies_ms = slower(2.0),
    );
}

#[test]
fn what_is_in_flight_at_the_end_is_like_the_rest() {
    let last = |run: &mut Run, service, failure| {
        run.measured.tally(Phase::Drain, 0).record(&done(service, failure));
    };
    assert_bound(
        "more than twice as long as any measured one",
        &move |run| last(run, 19 * MS, None),
        &move |run| last(run, 25 * MS, None),
    );
    assert_bound("requests in flight at the end failed", &|_| {}, &move |run| {
        last(run, MS, Some("late"));
    });
}

#[test]
fn what_was_not_measured_is_no_result() {
    assert_bound("ended before its time", &|_| {}, &|run| run.findings.stopped = true);
    let mut nothing = run();
    nothing.measured = Interval::new(0, 2);
    nothing.findings.in_flight_s = 0.0;
    let doubts = nothing.verdict().doubts.join("\n");
    assert!(doubts.contains("no operation succeeded"), "{doubts}");
}

#[test]
fn ports_that_are_used_up_are_told_as_such() {
    assert_bound("no free ports left", &|_| {}, &|run| {
        let why = "connect: Cannot assign requested address (os error 99)";
        let failed = Done { failure: Some((ErrorClass::Connect, &why)), ..done(LATENCY, None) };
        run.measured.tally(Phase::Measured, 0).record(&failed);
    });
}

#[test]
fn a_moved_limit_holds_and_is_told() {
    let mut some = run();
    some.plan.validity.set("pause_ms", 200.0).unwrap();
    some.measured.pause = 150 * MS;
    let verdict = some.verdict();
    assert_eq!(verdict.doubts, Vec::<String>::new());
    assert_eq!(verdict.notes, ["the limit pause_ms was moved from 100 to 200"]);
}

#[test]
fn a_loss_is_failed_whatever_the_figures_are_worth() {
    let mut some = run();
    some.measured.pause = SECOND;
    some.plan.gates = vec![Gate::Rate { at_least: 1e9 }];
    assert_eq!(some.verdict().outcome(), Outcome::Invalid);
    let mut gone = run();
    gone.findings.server_gone = Some("it was killed".to_owned());
    let verdict = gone.verdict();
    assert_eq!(verdict.outcome(), Outcome::Failed);
    assert!(verdict.faults[0].contains("it was killed"), "{verdict:?}");
}
