//! How a run ends: by time, by count, and when the server does not let go.

use crate::server::{OK, Then, send, serve, serve_bytes, serve_one_then};
use crate::{assert_only, plan, report};
use lab::engine::Phase;
use lab::measure::ErrorClass;
use std::time::Duration;

#[test]
fn every_request_is_in_exactly_one_phase() {
    let server = serve_bytes(OK);
    let mut plan = plan(&server, 1);
    plan.users = 4;
    plan.threads = 2;
    plan.count = None;
    plan.ramp_up = Duration::from_millis(100);
    plan.duration = Duration::from_millis(200);
    let report = report(&plan);
    let phases = [&report.ramp_up, &report.measured, &report.drain];
    let requests: u64 = phases.iter().map(|tally| tally.operations()).sum();
    assert_eq!(requests, server.seen().len() as u64);
    assert_eq!(report.errors_in_all(), 0);
    assert!(report.ramp_up.operations() > 0 && report.measured.operations() > 0);
    // No user has more than one request in flight when the interval ends.
    assert!(report.drain.operations() <= 4, "{}", report.drain.operations());
    assert_eq!(report.duration, plan.duration);
    assert_eq!((report.connections, server.connections()), (4, 4));
}

#[test]
fn the_count_is_kept_to_by_all_users_together() {
    let server = serve_bytes(OK);
    let mut plan = plan(&server, 101);
    plan.users = 7;
    plan.threads = 3;
    let report = report(&plan);
    assert_eq!((report.measured.successes(), server.seen().len()), (101, 101));
    assert_eq!(report.connections, server.connections());
    assert!(report.duration < plan.duration);
    assert!(report.requests_per_second() > 0.0);
}

#[test]
fn the_drain_is_the_longest_wait_for_replies_in_flight() {
    // The late reply would be well within the request timeout.
    let server = serve_one_then(|_, stream| {
        std::thread::sleep(Duration::from_secs(3));
        send(stream, OK)
    });
    let mut plan = plan(&server, 1);
    plan.count = None;
    plan.duration = Duration::from_millis(200);
    plan.drain = Duration::from_millis(50);
    let report = report(&plan);
    assert_eq!((report.measured.successes(), report.measured.errors().total()), (1, 0));
    assert_only(report.drain.errors(), ErrorClass::Timeout, 1);
    assert_eq!(report.errors_in_all(), 1);
    assert!(!report.is_valid());
}

#[test]
fn requests_in_flight_at_the_end_are_waited_for() {
    let server = serve_one_then(|_, stream| {
        std::thread::sleep(Duration::from_millis(600));
        send(stream, OK)
    });
    let mut plan = plan(&server, 1);
    plan.count = None;
    plan.duration = Duration::from_millis(300);
    let report = report(&plan);
    assert_eq!((report.measured.successes(), report.drain.successes()), (1, 1));
    assert_eq!(server.seen().len(), 2);
    assert!(!report.is_valid(), "the slow request is in no percentile");
}

#[test]
fn progress_is_told_while_the_run_goes_on() {
    let server = serve(|request, stream| match request.number {
        0 => send(stream, b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n"),
        _ => send(stream, OK),
    });
    let mut plan = plan(&server, 1);
    plan.count = None;
    plan.duration = Duration::from_millis(1300);
    plan.server_pid = Some(std::process::id());
    let mut ticks = Vec::new();
    let report = plan.run(|tick| ticks.push(*tick)).unwrap();
    let first = ticks.first().unwrap();
    assert_eq!((first.phase, first.errors), (Phase::Measured, 1));
    assert!(first.requests_per_second > 0.0);
    assert_eq!(first.planned, plan.duration);
    assert!(report.generator_us_per_request().unwrap() > 0.0);
    assert!(report.server_us_per_request().unwrap() > 0.0);
}

#[test]
fn a_server_that_goes_away_does_not_end_the_run_early() {
    let server = serve(|request, stream| match request.number {
        0..5 => send(stream, OK),
        _ => Then::Close,
    });
    let report = report(&plan(&server, 8));
    assert_eq!(report.measured.successes(), 5);
    assert_only(report.measured.errors(), ErrorClass::Closed, 3);
}
