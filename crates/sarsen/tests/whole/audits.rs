//! The lab's audit of a server that is killed under load and started again: what it acknowledged is
//! there.

use crate::harness::{Server, Site};
use lab::engine::{Watch, run};
use lab::measure::Interval;
use lab::plan::{
    Audit, Body, Keeps, Load, Number, Operation, Pacing, Pages, Piece, Plan, Promise, Stage, Step,
    Template,
};
use lab::progress::Tick;
use std::net::TcpListener;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// Tells when there have been so many successes, and ends the run when there are that many more.
struct Successes {
    count: u64,
    restarted: Option<u64>,
    killed: Sender<()>,
    back: std::sync::mpsc::Receiver<()>,
}

const ENOUGH: u64 = 300;

impl Watch for Successes {
    fn tick(&mut self, _: &Tick) {}

    fn second(&mut self, interval: &Interval) {
        let phases = lab::engine::Phase::ALL;
        let tallies = phases.iter().flat_map(|phase| (0..2).map(move |o| (*phase, o)));
        let found = tallies.filter_map(|(phase, operation)| interval.get(phase, operation));
        self.count += found.map(lab::measure::Tally::successes).sum::<u64>();
        if self.count >= ENOUGH {
            // The test may have heard of it already.
            let _told = self.killed.send(());
        }
        if self.restarted.is_none() && self.back.try_recv().is_ok() {
            self.restarted = Some(self.count);
        }
    }

    fn stops(&mut self) -> bool {
        self.restarted.is_some_and(|then| self.count >= then + ENOUGH)
    }
}

fn start(site: &Site, port: u16) -> Server {
    let mut command = crate::harness::sarsen();
    command.arg("serve").arg("--data").arg(site.data());
    command.args(["--listen", &format!("127.0.0.1:{port}"), "--gems", "1", "--memory", "64M"]);
    site.start_by(&mut command)
}

fn text(text: &str) -> Piece {
    Piece::Text(text.as_bytes().to_vec())
}

/// Puts documents again and again, and makes new ones, which are counted.
fn plan(port: u16) -> Plan {
    let mut plan = Plan::hit(format!("http://127.0.0.1:{port}/").parse().expect("a URL"));
    let put = |plan: &Plan, path: Vec<Piece>| {
        let mut step = plan.operations[0].steps[0].clone();
        if let Step::Http(step) = &mut step {
            let pieces = vec![text("{\"nonce\":\""), Piece::Nonce, text("\",\"n\":1.0}")];
            step.method = "PUT".into();
            step.path = Template { pieces: path };
            step.body = Body::Template(Template { pieces });
            step.headers = vec![("Content-Type".into(), Template::fixed("application/json"))];
        }
        step
    };
    let operation =
        |name: &str, step| Operation { name: name.into(), steps: vec![step], pacing: Pacing::None };
    let fresh = vec![text("/db/fresh/"), Piece::User, text("-"), Piece::Iteration];
    plan.operations = vec![
        operation("again", put(&plan, vec![text("/db/again/"), Piece::Key])),
        operation("fresh", put(&plan, fresh)),
    ];
    plan.mix = lab::plan::Mix::Flat(vec![1.0, 1.0]);
    plan.keys.count = 20;
    plan.load = Load::Closed { users: vec![Stage::flat(4.0, Duration::from_secs(1))] };
    plan.phases.ramp_up = Duration::ZERO;
    // Ended when enough has happened.
    plan.phases.measured = Duration::from_secs(600);
    let promise = |operation, keeps| Promise { operation, step: 0, keeps };
    let pages = Pages {
        origin: 0,
        path: "/db/fresh?limit=100".into(),
        headers: Vec::new(),
        each: Some("/documents".into()),
        next: Some(("/next".into(), "after".into())),
    };
    plan.audit = Audit {
        numbers: vec![Number { name: "fresh".into(), pages, value: None, equals: None }],
        lists: Vec::new(),
        headers: Vec::new(),
        promises: vec![
            promise(0, Keeps::Stored),
            promise(1, Keeps::Stored),
            promise(1, Keeps::Counted { number: 0, by: 1 }),
        ],
    };
    plan
}

#[test]
fn what_was_acknowledged_is_found_after_kill_9() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = free.local_addr().expect("its address").port();
    drop(free);
    let site = Site::bare();
    let server = start(&site, port);
    let ((killed, kill), (came, back)) = (channel(), channel());
    let mut watch = Successes { count: 0, restarted: None, killed, back };
    let findings = std::thread::scope(|scope| {
        let run = scope.spawn(|| run(&plan(port), &mut watch).expect("a run"));
        kill.recv_timeout(Duration::from_secs(300)).expect("successes before the kill");
        server.kill();
        let server = start(&site, port);
        came.send(()).expect("the run goes on");
        let findings = run.join().expect("the run's thread");
        server.kill();
        findings
    });
    assert_eq!(findings.server_gone, None);
    let audit = findings.audit.expect("an audit");
    assert_eq!((audit.lost, &audit.faults), (0, &Vec::new()), "{audit:?}");
    assert!(audit.checked >= 2 * ENOUGH / 4, "{audit:?}");
    site.assert_clean();
}
