//! More gems that cannot be interrupted than may be left to themselves. In a program of its own:
//! what is lost here spins until that ends.

use crate::support::{Setup, request, site_with};
use gem::limits::LOST_WORKERS_MAX;
use gem::{Failure, FailureKind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

#[test]
fn one_more_than_may_be_lost_keeps_its_place() {
    let routes = "app.get(\"/runaway\", () => {
       const long = 1n << 1000000n; for (;;) `${long}`; });";
    let settings = "[limits]\ncpu_ms = 50\nheap_bytes = 67108864\n";
    let site = site_with(routes, Setup { settings, ..Setup::default() });
    for _ in 0..LOST_WORKERS_MAX {
        let outcome = site.send(request("GET", "/runaway"));
        let is_stopped = matches!(outcome, Err(Failure { kind: FailureKind::CpuLimit, .. }));
        assert!(is_stopped, "{outcome:?}");
    }
    assert_eq!(site.pool.load().lost, LOST_WORKERS_MAX);
    let (sender, outcome) = channel();
    let respond = Box::new(move |result| sender.send(result).unwrap());
    assert!(site.pool.submit(request("GET", "/runaway"), respond).is_ok());
    // Longer than the others were left alone, each of which was given up meanwhile.
    let waited = outcome.recv_timeout(Duration::from_secs(3));
    assert!(matches!(waited, Err(RecvTimeoutError::Timeout)), "{waited:?}");
    let load = site.pool.load();
    assert_eq!((load.workers, load.alive, load.busy), (1, 1, 1));
    assert_eq!(load.lost, LOST_WORKERS_MAX);
    site.abandon();
}
