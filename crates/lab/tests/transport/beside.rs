//! What is read beside the load over TLS: metrics, and what an audit looks for.

use crate::certificates::{Authority, Identity};
use crate::nginx::Nginx;
use lab::engine::{Watch, run};
use lab::measure::Interval;
use lab::plan::{Audit, Endpoint, Number, Pages, Plan, Trust};
use lab::progress::Tick;
use lab::report::Report;
use std::time::Duration;

/// A number, and a page of metrics.
const PAGES: &str = "location /number { return 200 '{\"n\":5}'; }
    location /metrics { return 200 \"# TYPE a gauge\\na 7\\n# EOF\\n\"; }";

struct Nobody;

impl Watch for Nobody {
    fn tick(&mut self, _: &Tick) {}
    fn second(&mut self, _: &Interval) {}
}

/// A run of a second on a server that has both, of which it is known that the number is `equals`.
fn plan(nginx: &Nginx, equals: f64) -> Plan {
    let mut plan = Plan::hit(nginx.url("https", "localhost").parse().unwrap());
    plan.phases.ramp_up = Duration::ZERO;
    plan.phases.measured = Duration::from_millis(1_200);
    let pages = Pages {
        origin: 0,
        path: "/number".to_owned(),
        headers: Vec::new(),
        each: None,
        next: None,
    };
    let number = Number {
        name: "the number".to_owned(),
        pages,
        value: Some("/n".to_owned()),
        equals: Some(equals),
    };
    plan.audit = Audit { numbers: vec![number], ..Audit::default() };
    plan.observe.endpoints = vec![Endpoint {
        name: "metrics".to_owned(),
        target: format!("{}metrics", nginx.url("https", "localhost")).parse().unwrap(),
        headers: Vec::new(),
        only: Vec::new(),
    }];
    plan
}

fn nginx(authority: &Authority) -> Nginx {
    let identity: Identity = authority.sign("DNS:localhost", 2);
    Nginx::start("ssl", Some(&identity), PAGES)
}

#[test]
fn audits_and_metrics_are_read_over_tls() {
    let authority = Authority::new();
    let nginx = nginx(&authority);
    let mut plan = plan(&nginx, 5.0);
    plan.transport.trust = Trust { ca: Some(authority.certificate()), insecure: false };
    let findings = run(&plan, &mut Nobody).unwrap();
    let audit = findings.audit.as_ref().expect("an audit");
    assert_eq!((audit.checked, audit.lost), (1, 0), "{audit:?}");
    let metrics = findings.observed.iter().find(|one| one.name == "metrics").expect("metrics");
    assert_eq!(metrics.figure("a").and_then(|figure| figure.max), Some(7.0), "{metrics:?}");
    assert!(Report::new(&plan, &findings).verdict.faults.is_empty());
    let asked = nginx.requests();
    let of = |path: &str| asked.iter().filter(|line| line.contains(path)).count();
    assert_eq!(of("GET /number "), 2, "before and after");
    assert!(of("GET /metrics ") >= 2, "{asked:?}");
}

#[test]
fn what_is_wrong_from_the_beginning_is_no_run() {
    let authority = Authority::new();
    let nginx = nginx(&authority);
    let mut wrong = plan(&nginx, 6.0);
    wrong.transport.trust.insecure = true;
    let why = run(&wrong, &mut Nobody).unwrap_err().to_string();
    assert!(why.contains("the number"), "{why}");
}
