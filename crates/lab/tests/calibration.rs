//! The lab against a server whose latency is known: what goes in must come out.

// In a test a panic is the report.
#![allow(clippy::unwrap_used)]

use lab::hit::Hit;
use lab::null::{Law, NullServer, Options, Stall};
use lab::plan::Arrivals;
use lab::report::Report;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn start(law: Law, stall: Option<Stall>) -> SocketAddr {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = NullServer::bind(any, Options { law, body_bytes: 10, stall }).unwrap();
    let address = server.local_addr().unwrap();
    std::thread::spawn(move || server.serve());
    address
}

fn hit(address: SocketAddr) -> Hit {
    let mut hit = Hit::new(format!("http://{address}/").parse().unwrap());
    hit.ramp_up = Duration::ZERO;
    hit
}

/// How often a run is made anew whose times were not those that were put in: others on the machine
/// can hold up the server, which is an error of a run. What the lab itself adds is there each time.
const ATTEMPTS: usize = 3;

/// Percentiles of one of so many runs are those that were put in, to 1 %.
fn assert_near(run: impl Fn() -> Report, expected_ms: impl Fn(f64) -> f64) {
    let mut wrong = Vec::new();
    for _ in 0..ATTEMPTS {
        let report = run();
        let off = [0.5, 0.99, 0.999].into_iter().filter_map(|quantile| {
            let got = report.measured.response().percentile_ms(quantile).unwrap();
            let expected = expected_ms(quantile);
            let is_near = (got / expected - 1.0).abs() < 0.01;
            let what = || format!("{quantile}: {got:.3} ms reported, {expected:.3} ms put in");
            (!is_near).then(what)
        });
        let off: Vec<String> = off.collect();
        if off.is_empty() {
            return;
        }
        wrong.push(off);
    }
    panic!("{wrong:?}");
}

/// One at a time: the machine may have two cores only, and they have to keep the time.
static ALONE: Mutex<()> = Mutex::new(());

/// Operations of a run of the open model: a power of two, so that the values that the null server
/// draws are spread over its law without gaps.
const ARRIVALS: u32 = 4_096;

fn open(address: SocketAddr, seconds: u32) -> Report {
    let mut hit = hit(address);
    hit.rate = Some(f64::from(ARRIVALS) / f64::from(seconds));
    hit.arrivals = Arrivals::Even;
    hit.users = ARRIVALS as usize;
    hit.duration = seconds * 1_000 * MS;
    let report = hit.run(|_| {}).unwrap();
    assert_eq!(report.errors_in_all(), 0, "{}", report.to_text());
    assert_eq!((report.dropped, report.measured.successes()), (0, u64::from(ARRIVALS)));
    report
}

/// The place of a percentile among so many values, from 0.
fn rank(quantile: f64) -> usize {
    (quantile * f64::from(ARRIVALS)).ceil() as usize - 1
}

#[test]
fn the_open_model_reports_the_law_that_was_put_in() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let law = Law::LogNormal { median: 800 * MS, sigma: 0.4 };
    let mut put_in: Vec<Duration> = (0..u64::from(ARRIVALS)).map(|n| law.draw(n)).collect();
    put_in.sort_unstable();
    let expected = |quantile| put_in[rank(quantile)].as_secs_f64() * 1000.0;
    assert_near(|| open(start(law, None), 10), expected);
}

/// Whoever comes while the server stands still is read when it goes on, and whoever waits for an
/// answer then gets it when it goes on; everybody else waits as long as always.
fn wait_around_freeze(came_ms: f64, always_ms: f64, (frozen, thawed): (f64, f64)) -> f64 {
    match () {
        () if came_ms >= frozen && came_ms < thawed => thawed - came_ms + always_ms,
        () if came_ms < frozen && came_ms + always_ms >= frozen => {
            (thawed - came_ms).max(always_ms)
        }
        () => always_ms,
    }
}

#[test]
fn the_open_model_reports_a_freeze_of_two_seconds() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let stall = Stall { after: 4_000 * MS, length: 2_000 * MS };
    let seconds = 32;
    let came = |i: u32| f64::from(i * seconds * 1_000) / f64::from(ARRIVALS);
    let mut waits: Vec<f64> =
        (0..ARRIVALS).map(|i| wait_around_freeze(came(i), 800.0, (4_000.0, 6_000.0))).collect();
    waits.sort_by(f64::total_cmp);
    let run = || open(start(Law::Fixed(800 * MS), Some(stall)), seconds);
    assert_near(run, |quantile| waits[rank(quantile)]);
}

#[test]
fn the_closed_model_states_what_it_left_out() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let stall = Stall { after: 2_000 * MS, length: 2_000 * MS };
    let mut hit = hit(start(Law::Fixed(10 * MS), Some(stall)));
    hit.users = 4;
    hit.duration = 6_000 * MS;
    let report = hit.run(|_| {}).unwrap();
    // Four requests of many hundreds met the freeze, so the service times hardly know of it.
    let service = report.measured.service().percentile_ms(0.99).unwrap();
    assert!(service < 500.0, "{service}");
    let gap = report.omission_gap_ms.unwrap();
    assert!(gap > 1_000.0, "{gap}");
    assert!(report.to_text().contains("omission gap"), "{}", report.to_text());
}
