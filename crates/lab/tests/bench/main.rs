//! The load generator against small real servers that behave well, badly or not at all.

// In a test a panic is the report.
#![allow(clippy::unwrap_used)]

mod endings;
mod failures;
mod load;
mod replies;
mod server;
mod sessions;

use lab::hit::Hit;
use lab::measure::{ErrorClass, Errors};
use lab::report::Report;
use server::Server;
use std::time::Duration;

/// `count` requests by one user, without ramp-up.
fn plan(server: &Server, count: u64) -> Hit {
    let mut plan = Hit::new(server.url("/").parse().unwrap());
    plan.users = 1;
    plan.ramp_up = Duration::ZERO;
    plan.duration = Duration::from_secs(60);
    plan.count = Some(count);
    plan
}

fn report(plan: &Hit) -> Report {
    let report = plan.run(|_| {}).unwrap();
    assert_sane(&report);
    report
}

/// The errors of a run in which nothing succeeded, and which is void therefore.
fn errors(plan: &Hit) -> Errors {
    let report = report(plan);
    let text = report.to_text();
    assert!(text.contains("INVALID: ") && text.contains("no operation succeeded"), "{text}");
    let phases = [&report.ramp_up, &report.measured, &report.drain];
    assert!(phases.iter().all(|tally| tally.successes() == 0), "{text}");
    report.measured.errors().clone()
}

/// What must hold in every report.
fn assert_sane(report: &Report) {
    for tally in [&report.ramp_up, &report.measured, &report.drain] {
        assert_eq!(tally.service().count(), tally.successes());
        assert_eq!(tally.operations(), tally.successes() + tally.errors().total());
        let below_400 = tally.statuses().iter().filter(|(status, _)| *status < 400);
        assert_eq!(below_400.map(|(_, count)| count).sum::<u64>(), tally.successes());
    }
    // A user has one request in flight, so its service times fit into the interval, up to the
    // histogram's resolution.
    let latency = report.measured.service();
    let busy_s = latency.mean_ms().unwrap_or(0.0) / 1000.0 * latency.count() as f64;
    assert!(busy_s <= report.users as f64 * report.duration.as_secs_f64() * 1.002);
}

/// Asserts that all errors are of one class, and gives what the first of them was.
fn assert_only(errors: &Errors, class: ErrorClass, count: u64) -> &str {
    assert_eq!((errors.count(class), errors.total()), (count, count), "{errors}");
    errors.first(class).unwrap()
}
