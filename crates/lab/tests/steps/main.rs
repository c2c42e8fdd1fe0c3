//! What steps do, against real servers: small ones that answer as a test tells them, nginx, and
//! WebSockets of a library of others.

// In a test a panic is the report.
#![allow(clippy::unwrap_used)]

mod bandwidth;
#[path = "../transport/certificates.rs"]
mod certificates;
mod channels;
mod checks;
mod events;
mod follow;
mod nginx;
mod once;
mod pages;
mod replay;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "../bench/server.rs"]
mod server;
mod values;
mod websockets;

use lab::engine::{Watch, run};
use lab::measure::{ErrorClass, Interval, Sample, Tally};
use lab::plan::{
    Body, Extract, ExtractFrom, HttpStep, JsonPath, Load, Mix, Operation, Pacing, Piece, Plan,
    Stage, Step, Template, Variable,
};
use lab::progress::Tick;
use lab::report::Report;
use std::net::TcpStream;
use std::time::Duration;

/// `count` operations of these steps by one user, one after the other.
fn plan(url: &str, steps: Vec<Step>, count: u64) -> Plan {
    let mut plan = Plan::hit(url.parse().unwrap());
    plan.operations = vec![operation("only", steps)];
    plan.mix = Mix::Sequence(vec![0]);
    let measured = Duration::from_secs(60);
    plan.load = Load::Closed { users: vec![Stage::flat(1.0, measured)] };
    plan.phases.ramp_up = Duration::ZERO;
    plan.phases.measured = measured;
    plan.phases.count = Some(count);
    plan
}

fn operation(name: &str, steps: Vec<Step>) -> Operation {
    Operation { name: name.to_owned(), steps, pacing: Pacing::None }
}

/// With these variables, none of which has a value.
fn with_variables(mut plan: Plan, names: &[&str]) -> Plan {
    let variable = |name: &&str| Variable { name: (*name).to_owned(), initial: None };
    plan.variables = names.iter().map(variable).collect();
    plan
}

fn http(step: HttpStep) -> Step {
    Step::Http(Box::new(step))
}

fn get(path: &str) -> HttpStep {
    HttpStep::new("GET", Template::fixed(path))
}

fn text(text: &str) -> Piece {
    Piece::Text(text.as_bytes().to_vec())
}

fn template(pieces: Vec<Piece>) -> Template {
    Template { pieces }
}

fn body(pieces: Vec<Piece>) -> Body {
    Body::Template(template(pieces))
}

fn json(path: &str) -> ExtractFrom {
    ExtractFrom::Json(JsonPath::parse(path).unwrap())
}

fn first(variable: usize, from: ExtractFrom) -> Extract {
    Extract { variable, from, is_url: false, any: false, required: true }
}

struct Nobody;

impl Watch for Nobody {
    fn tick(&mut self, _: &Tick) {}

    fn second(&mut self, _: &Interval) {}
}

/// What a run measured, and the replies that were not as they had to be.
fn carried_out(plan: &Plan) -> (Report, Vec<Sample>) {
    let findings = run(plan, &mut Nobody).unwrap();
    (Report::new(plan, &findings), findings.totals.samples().to_vec())
}

/// What a run measured in which nothing failed.
fn measured(plan: &Plan) -> Tally {
    let (report, samples) = carried_out(plan);
    let errors = report.measured.errors();
    assert_eq!((errors.total(), samples.len()), (0, 0), "{errors}");
    report.measured
}

/// Why every operation failed, and what the first said.
fn failed(plan: &Plan) -> (ErrorClass, String) {
    let (report, _) = carried_out(plan);
    let errors = report.measured.errors();
    assert_eq!(report.measured.successes(), 0, "{errors}");
    let class = ErrorClass::ALL.into_iter().find(|class| errors.count(*class) > 0).unwrap();
    assert_eq!(errors.count(class), errors.total(), "{errors}");
    (class, errors.first(class).unwrap().to_owned())
}

/// Answers with a status line, fields that end with a line's end, and a body.
fn reply(stream: &mut TcpStream, status: &str, fields: &str, body: &str) -> server::Then {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {length}\r\n\r\n{body}");
    server::send(stream, head.as_bytes())
}
