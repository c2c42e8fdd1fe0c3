//! TLS, HTTP/2, pipelining and connections that are not kept: against nginx, and against servers
//! that break off, reset and refuse.

// In a test a panic is the report.
#![allow(clippy::unwrap_used)]

mod beside;
mod certificates;
mod connections;
mod http2;
mod multiplexing;
mod nginx;
mod pipelining;
#[allow(dead_code, reason = "shared with the tests of `bench`")]
#[path = "../bench/server.rs"]
mod server;
mod tls;

use lab::hit::Hit;
use lab::measure::{ErrorClass, Errors};
use lab::plan::{Protocol, Trust};
use lab::report::Report;
use std::path::Path;
use std::time::Duration;

/// `count` requests by `users` users, without ramp-up.
fn hit(url: &str, users: usize, count: u64) -> Hit {
    let mut hit = Hit::new(url.parse().unwrap());
    hit.users = users;
    hit.ramp_up = Duration::ZERO;
    hit.duration = Duration::from_secs(60);
    hit.count = Some(count);
    hit
}

fn streams(mut hit: Hit, streams: usize) -> Hit {
    hit.transport.protocol = Protocol::Http2 { streams };
    hit
}

fn trusting(mut hit: Hit, ca: &Path) -> Hit {
    hit.transport.trust = Trust { ca: Some(ca.to_owned()), insecure: false };
    hit
}

fn report(hit: &Hit) -> Report {
    hit.run(|_| {}).unwrap()
}

/// Why the run did not begin.
fn refusal(hit: &Hit) -> String {
    match hit.run(|_| {}) {
        Err(error) => error.to_string(),
        Ok(report) => panic!("{}", report.to_text()),
    }
}

/// Asserts that all errors are of one class, and gives what the first of them was.
fn assert_only(errors: &Errors, class: ErrorClass, count: u64) -> &str {
    assert_eq!((errors.count(class), errors.total()), (count, count), "{errors}");
    errors.first(class).unwrap()
}
