//! The audit against a small server that keeps what it acknowledges, or does not.

// In a test a panic is the report.
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "the server has more than this needs")]
#[path = "bench/server.rs"]
mod server;

use lab::engine::{RunError, Watch, run};
use lab::measure::Interval;
use lab::plan::{
    Audit, Body, Keeps, List, Load, Mix, Number, Operation, Pacing, Pages, Piece, Plan, Promise,
    Stage, Step, Template,
};
use lab::progress::Tick;
use lab::report::Report;
use lab::verdict::Outcome;
use serde_json::{Value, json};
use server::{Request, Server, Then, send, serve};
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// How a server treats each tenth request that changes something.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Honest,
    /// Acknowledges it and forgets it.
    Forgets,
    /// Does it twice.
    Doubles,
    /// Does it, and closes the connection without a word.
    Silent,
}

#[derive(Default)]
struct State {
    changes: u64,
    documents: BTreeMap<String, Vec<u8>>,
    clicks: u64,
    entries: Vec<String>,
}

impl State {
    fn change(&mut self, request: &Request, path: &str) {
        match request.line.split(' ').next().unwrap() {
            "PUT" => {
                self.documents.insert(path.to_owned(), request.body.clone());
            }
            "DELETE" => {
                self.documents.remove(path);
            }
            _ => {
                self.clicks += 1;
                self.entries.push(String::from_utf8(request.body.clone()).unwrap());
            }
        }
    }

    /// A page of two entries.
    fn page(&self, path: &str) -> Value {
        let from: usize = path.split_once("after=").map_or(0, |(_, n)| n.parse().unwrap());
        let entries = self.entries.iter().skip(from).take(2);
        let documents: Vec<Value> = entries.map(|id| json!({"value": {"id": id}})).collect();
        let next = (from + 2 < self.entries.len()).then(|| (from + 2).to_string());
        json!({"documents": documents, "next": next})
    }
}

fn answer(state: &Mutex<State>, manner: Manner, request: &Request, stream: &mut TcpStream) -> Then {
    let mut state = state.lock().unwrap();
    let path = request.line.split(' ').nth(1).unwrap();
    let reply = |status: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    };
    if request.line.starts_with("GET") {
        let body = match path {
            "/clicks" => Some(json!({"clicks": state.clicks}).to_string().into_bytes()),
            path if path.starts_with("/entries") => Some(state.page(path).to_string().into_bytes()),
            path => state.documents.get(path).cloned(),
        };
        return match body {
            Some(body) => send(stream, &reply("200 OK", &body)),
            None => send(stream, &reply("404 Not Found", b"")),
        };
    }
    state.changes += 1;
    let is_tenth = state.changes.is_multiple_of(10);
    let times = match manner {
        Manner::Forgets if is_tenth => 0,
        Manner::Doubles if is_tenth => 2,
        _ => 1,
    };
    (0..times).for_each(|_| state.change(request, path));
    match manner {
        Manner::Silent if is_tenth => Then::Close,
        _ => send(stream, &reply("200 OK", b"")),
    }
}

fn start(manner: Manner) -> Server {
    let state = Mutex::new(State::default());
    serve(move |request, stream| answer(&state, manner, request, stream))
}

fn request(plan: &Plan, method: &str, path: Vec<Piece>, body: Vec<Piece>) -> Step {
    let Step::Http(step) = plan.operations[0].steps[0].clone() else { panic!("a request") };
    let mut step = *step;
    step.method = method.into();
    step.path = Template { pieces: path };
    step.body =
        if body.is_empty() { Body::Empty } else { Body::Template(Template { pieces: body }) };
    Step::Http(Box::new(step))
}

fn text(text: &str) -> Piece {
    Piece::Text(text.as_bytes().to_vec())
}

fn pages(path: &str, each: Option<&str>) -> Pages {
    Pages {
        origin: 0,
        path: path.into(),
        headers: Vec::new(),
        each: each.map(str::to_owned),
        next: each.map(|_| ("/next".into(), "after".into())),
    }
}

/// Users who put and delete documents, and click with an id of their own each time.
fn plan(server: &Server) -> Plan {
    let mut plan = Plan::hit(server.url("/").parse().unwrap());
    let document = || vec![text("/docs/"), Piece::Key];
    let id = || vec![Piece::User, text("-"), Piece::Iteration];
    let put = vec![text("{ \"nonce\" : \""), Piece::Nonce, text("\" }")];
    let operation =
        |name: &str, step| Operation { name: name.into(), steps: vec![step], pacing: Pacing::None };
    plan.operations = vec![
        operation("put", request(&plan, "PUT", document(), put)),
        operation("delete", request(&plan, "DELETE", document(), Vec::new())),
        operation("click", request(&plan, "POST", vec![text("/click")], id())),
    ];
    plan.mix = Mix::Flat(vec![4.0, 1.0, 2.0]);
    plan.keys.count = 50;
    plan.load = Load::Closed { users: vec![Stage::flat(4.0, 1_000 * MS)] };
    plan.phases.ramp_up = Duration::ZERO;
    plan.phases.measured = 60_000 * MS;
    plan.phases.count = Some(400);
    let promise = |operation, keeps| Promise { operation, step: 0, keeps };
    plan.audit = Audit {
        numbers: vec![Number {
            name: "clicks".into(),
            pages: pages("/clicks", None),
            value: Some("/clicks".into()),
            equals: None,
        }],
        lists: vec![List {
            name: "entries".into(),
            pages: pages("/entries", Some("/documents")),
            id: vec!["/value/id".into()],
        }],
        promises: vec![
            promise(0, Keeps::Stored),
            promise(1, Keeps::Removed),
            promise(2, Keeps::Counted { number: 0, by: 1 }),
            promise(2, Keeps::Listed { list: 0, id: Template { pieces: id() } }),
        ],
        headers: Vec::new(),
    };
    plan
}

struct Nobody;

impl Watch for Nobody {
    fn tick(&mut self, _: &Tick) {}

    fn second(&mut self, _: &Interval) {}
}

/// The report, and how many promises were looked at and not kept.
fn audited(plan: &Plan) -> (Report, u64, u64) {
    let findings = run(plan, &mut Nobody).unwrap();
    let found = findings.audit.clone().unwrap();
    (Report::new(plan, &findings), found.checked, found.lost)
}

#[test]
fn what_is_kept_is_found() {
    let server = start(Manner::Honest);
    let (report, checked, lost) = audited(&plan(&server));
    assert_eq!((lost, report.verdict.faults.len()), (0, 0), "{}", report.to_text());
    // Each of the fifty documents or nearly, about a hundred clicks, and their number.
    assert!(checked > 100, "{checked}");
    // Whoever comes after another run finds what that has left, and the same ids again.
    let (report, _, lost) = audited(&plan(&server));
    assert_eq!(lost, 0, "{}", report.to_text());
}

#[test]
fn what_was_acknowledged_and_forgotten_is_a_failed_run() {
    let server = start(Manner::Forgets);
    let (report, _, lost) = audited(&plan(&server));
    assert_eq!(report.outcome(), Outcome::Failed);
    let faults = &report.verdict.faults;
    assert!(faults[0].starts_with(&format!("the audit: {lost} of ")), "{faults:?}");
    let all = faults.join("\n");
    assert!(all.contains("clicks is ") && all.contains(" is there 0 times"), "{all}");
    // Losses are told up to a bound, and all are counted.
    assert!(lost >= 10 && faults.len() == 11, "{lost}: {all}");
}

#[test]
fn a_document_that_was_forgotten_is_named_with_its_time() {
    let server = start(Manner::Forgets);
    let mut plan = plan(&server);
    plan.mix = Mix::Sequence(vec![0]);
    plan.keys.count = 1_000_000;
    let (report, _, lost) = audited(&plan);
    // Each tenth of 400, but for those whose reply nobody waited for any more.
    assert_eq!(lost, 40, "{}", report.to_text());
    let fault = &report.verdict.faults[1];
    assert!(fault.starts_with("/docs/") && fault.contains(": acknowledged "), "{fault}");
    assert!(fault.ends_with("but nothing is there (status 404)"), "{fault}");
}

#[test]
fn what_was_done_twice_is_a_failed_run() {
    let server = start(Manner::Doubles);
    let mut plan = plan(&server);
    plan.mix = Mix::Sequence(vec![2]);
    let (report, _, lost) = audited(&plan);
    assert_eq!((report.outcome(), lost), (Outcome::Failed, 41));
    let all = report.verdict.faults.join("\n");
    assert!(all.contains("is there 2 times; it was acknowledged 1 times"), "{all}");
}

#[test]
fn what_got_no_reply_may_have_happened_or_not() {
    let server = start(Manner::Silent);
    let (report, checked, lost) = audited(&plan(&server));
    assert!(report.errors_in_all() > 10 && checked > 50, "{}", report.to_text());
    assert_eq!((lost, report.verdict.faults.len()), (0, 0), "{}", report.to_text());
}

#[test]
fn what_is_wrong_from_the_beginning_is_no_run() {
    let server = start(Manner::Honest);
    let refused = |change: fn(&mut Audit)| {
        let mut plan = plan(&server);
        change(&mut plan.audit);
        match run(&plan, &mut Nobody) {
            Err(RunError::Audit(why)) => why,
            other => panic!("{other:?}"),
        }
    };
    let why = refused(|audit| audit.numbers[0].equals = Some(7.0));
    assert_eq!(why, "clicks is 0 before the run; it must be 7");
    let why = refused(|audit| audit.numbers[0].value = Some("/none".into()));
    assert!(why.contains("there is no number at \"/none\""), "{why}");
    let why = refused(|audit| audit.lists[0].pages.each = Some("/none".into()));
    assert!(why.contains("there is no array at \"/none\""), "{why}");
}
