//! What is observed beside a load: real processes, this machine, and a real page of metrics; and
//! what becomes of a run whose sources go away.

// In a test a panic is the report.
#![allow(clippy::unwrap_used)]

use lab::engine::{Findings, Watch, run};
use lab::measure::{Interval, Row, Series, SeriesHead};
use lab::null::{Law, NullServer, Options};
use lab::plan::{Endpoint, Plan, Process};
use lab::progress::Tick;
use lab::report::Report;
use lab::verdict::Outcome;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A run of two seconds and a half on the null server.
fn plan() -> Plan {
    let options = Options { law: Law::Fixed(2 * MS), body_bytes: 10, stall: None };
    let server = NullServer::bind("127.0.0.1:0".parse().unwrap(), options).unwrap();
    let url = format!("http://{}/", server.local_addr().unwrap());
    std::thread::spawn(move || server.serve());
    let mut plan = Plan::hit(url.parse().unwrap());
    plan.phases.ramp_up = 500 * MS;
    plan.phases.measured = 2_000 * MS;
    plan
}

#[derive(Default)]
struct Seen(BTreeMap<String, Series>);

impl Watch for Seen {
    fn tick(&mut self, _: &Tick) {}

    fn second(&mut self, _: &Interval) {}

    fn observed(&mut self, head: &SeriesHead, row: &Row) {
        let empty = || Series { head: head.clone(), rows: Vec::new() };
        let series = self.0.entry(head.name.clone()).or_insert_with(empty);
        assert_eq!((&series.head, row.values.len()), (head, head.columns.len()));
        series.rows.push(row.clone());
    }
}

fn carried_out(plan: &Plan) -> (Findings, Report, BTreeMap<String, Series>) {
    let mut seen = Seen::default();
    let findings = run(plan, &mut seen).unwrap();
    let report = Report::new(plan, &findings);
    (findings, report, seen.0)
}

/// A process that lives until it is killed or its handle is dropped.
struct Sleeper(Child);

impl Sleeper {
    fn new() -> Self {
        let sleep = Command::new("sleep").arg("600").stdout(Stdio::null()).spawn();
        Self(sleep.unwrap())
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn process(name: &str, pid: u32) -> Process {
    Process { name: name.into(), pid, with_children: false }
}

#[test]
fn processes_and_this_machine_have_a_row_in_each_second() {
    let sleeper = Sleeper::new();
    let mut plan = plan();
    plan.observe.processes = vec![process("sleeper", sleeper.0.id())];
    let (findings, _, series) = carried_out(&plan);
    let names: Vec<&str> = series.keys().map(String::as_str).collect();
    assert_eq!(names, ["generator", "host", "sleeper"]);
    for one in series.values() {
        let seconds: Vec<u64> = one.rows.iter().map(|row| row.second).collect();
        assert!(seconds.is_sorted_by(|a, b| a < b), "{seconds:?}");
        assert_eq!(seconds[0], 0);
    }
    let rss = series["sleeper"].column("rss").unwrap();
    assert!(!rss.is_empty() && rss.iter().all(|(_, bytes)| *bytes > 1000.0), "{rss:?}");
    let summary = |name: &str| findings.observed.iter().find(|s| s.name == name).unwrap();
    let generator = summary("generator");
    let switches = generator.total("voluntary_switches").unwrap();
    assert!(switches > 0.0 && generator.total("cpu_user").is_some(), "{generator:?}");
    assert!(summary("host").total("tcp_sent").unwrap() > 0.0);
    assert!(findings.observed.iter().all(|summary| summary.notes.is_empty()));
}

#[test]
fn one_that_was_never_there_is_a_note() {
    let mut plan = plan();
    plan.observe.processes = vec![process("absent", u32::MAX)];
    let (_, report, series) = carried_out(&plan);
    assert!(series["absent"].rows.iter().all(|row| row.values.iter().all(Option::is_none)));
    let notes = report.verdict.notes.join("\n");
    assert!(
        notes.contains("absent: could not be read") && notes.contains("at second 0"),
        "{notes}"
    );
    assert_eq!(report.verdict.faults, Vec::<String>::new());
    assert!(report.measured.successes() > 0);
}

#[test]
fn a_server_that_dies_is_a_fault() {
    let mut sleeper = Sleeper::new();
    let mut plan = plan();
    plan.server_pid = Some(sleeper.0.id());
    plan.phases.measured = 600_000 * MS;
    let killer = std::thread::spawn(move || {
        std::thread::sleep(700 * MS);
        sleeper.0.kill().unwrap();
        sleeper
    });
    let (_, report, _) = carried_out(&plan);
    drop(killer.join().unwrap());
    assert_eq!(report.outcome(), Outcome::Failed);
    let faults = report.verdict.faults.join("\n");
    assert!(faults.contains("the server has gone: its process was not there any more"), "{faults}");
    assert!(report.measured.successes() > 0);
    let text = report.to_text();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&text).contains(&words(&faults)), "{text}");
}

/// Serves `pages` pages of metrics that count up, and then nothing any more.
fn metrics(pages: u64) -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
        for page in 1..=pages {
            if !lines.any(|line| line.is_empty()) {
                return;
            }
            let body = format!("# TYPE a counter\na_total {}\nb 7\n# EOF\n", page * 100);
            let length = body.len();
            write!(&stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
        }
    });
    let target = url.parse().unwrap();
    Endpoint { name: "metrics".into(), target, headers: Vec::new(), only: Vec::new() }
}

#[test]
fn counters_of_an_endpoint_are_rates() {
    let mut plan = plan();
    plan.observe.endpoints = vec![metrics(1_000)];
    let (findings, report, series) = carried_out(&plan);
    let series = &series["metrics"];
    let titles: Vec<String> = series.head.columns.iter().map(|column| column.title()).collect();
    assert_eq!(titles, ["a_total_per_second", "b"]);
    assert!(series.column("b").unwrap().iter().all(|(_, value)| *value == 7.0));
    let summary = findings.observed.iter().find(|summary| summary.name == "metrics").unwrap();
    // Each look counts 100: at both ends of the interval and in the seconds between.
    let total = summary.total("a_total").unwrap();
    assert!(total >= 100.0 && total % 100.0 == 0.0, "{total}");
    assert!(!report.verdict.notes.iter().any(|note| note.contains("metrics")));
}

#[test]
fn an_endpoint_that_stops_leaves_gaps_and_a_note() {
    let mut plan = plan();
    plan.observe.endpoints = vec![metrics(2)];
    let (_, report, series) = carried_out(&plan);
    let rows = &series["metrics"].rows;
    assert!(rows[0].values[1].is_some(), "{rows:?}");
    assert!(rows.last().unwrap().values.iter().all(Option::is_none), "{rows:?}");
    let notes = report.verdict.notes.join("\n");
    assert!(notes.contains("metrics: could not be read"), "{notes}");
    assert_eq!(report.verdict.faults, Vec::<String>::new());
}
