//! Connections that are not kept, by either side, and those that go away while they idle.

use crate::nginx::Nginx;
use crate::server::{OK, send, serve, serve_bytes, wait_for_close};
use crate::{hit, report};
use lab::engine::{Watch, run};
use lab::measure::Interval;
use lab::plan::{Distribution, Pacing};
use lab::progress::Tick;
use lab::report::Report;
use std::time::Duration;

#[test]
fn a_connection_for_each_request() {
    let server = serve_bytes(OK);
    let mut hit = hit(&server.url("/"), 2, 30);
    hit.transport.keep_alive = false;
    let result = report(&hit);
    assert_eq!((result.measured.successes(), result.connections), (30, 30));
    assert_eq!(server.connections(), 30);
    assert!(server.seen().iter().all(|request| request.field("connection") == Some("close")));
    let nginx = Nginx::start("", None, "");
    hit.target = nginx.url("http", "localhost").parse().unwrap();
    let result = report(&hit);
    assert_eq!((result.measured.successes(), result.connections), (30, 30));
    let requests = nginx.requests();
    let numbers: std::collections::HashSet<_> =
        requests.iter().map(|line| line.split(' ').next()).collect();
    assert_eq!(numbers.len(), 30);
}

struct Unwatched;

impl Watch for Unwatched {
    fn tick(&mut self, _: &Tick) {}

    fn second(&mut self, _: &Interval) {}
}

#[test]
fn a_connection_that_the_server_closed_while_it_idled_is_opened_anew() {
    // Closes each connection soon after its reply, without having said so.
    let server = serve(|_, stream| {
        let kept = send(stream, OK);
        let half = stream.try_clone().unwrap();
        half.shutdown(std::net::Shutdown::Write).unwrap();
        wait_for_close(stream);
        kept
    });
    let mut plan = hit(&server.url("/"), 1, 3).plan();
    plan.operations[0].pacing = Pacing::Think(Distribution::Fixed(Duration::from_millis(300)));
    let report = Report::new(&plan, &run(&plan, &mut Unwatched).unwrap());
    assert_eq!(report.errors_in_all(), 0, "{}", report.to_text());
    assert_eq!((report.measured.successes(), report.connections), (3, 3));
}
