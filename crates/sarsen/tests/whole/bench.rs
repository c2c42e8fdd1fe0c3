//! `sarsen bench` as people and scripts call it, on a terminal and without one. What the lab
//! measures is tested in the lab.

use crate::harness::{run, sarsen};
use crate::null_server::NullServer;
use crate::on_terminal::OnTerminal;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn bench(url: &str, arguments: &[&str]) -> Output {
    run(&[&["bench", url, "--warm-up", "0s"], arguments].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn json_has_both_latencies_errors_and_validity() {
    let server = NullServer::start(&["--latency", "fixed:2ms"]);
    let output = bench(&server.url, &["-n", "400", "-c", "4", "--json", "-q"]);
    assert_eq!(text(&output.stderr), "", "-q tells nothing");
    let report: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert!(report["requests_per_second"].as_f64() > Some(0.0), "{report}");
    for latency in ["latency_ms", "response_ms"] {
        assert!(report[latency]["p50"].as_f64() >= Some(2.0), "{report}");
        assert!(report[latency]["p99"].is_f64() && report[latency]["p99_9"].is_null(), "{report}");
    }
    assert_eq!(report["errors"]["timeout"], 0);
    assert_eq!(report["successes"], 400);
    assert_eq!(report["valid"], report["outcome"] == "PASSED");
}

#[test]
fn the_table_fits_80_columns_and_ends_with_what_to_try_next() {
    let server = NullServer::start(&["--latency", "fixed:2ms"]);
    let output = bench(&server.url, &["-n", "400", "-c", "4", "--gate", "rate>1000000000"]);
    let table = text(&output.stdout);
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert!(table.contains("service       response") && table.contains("n too small"), "{table}");
    assert!(table.contains("operations/s; at least 1000000000"), "{table}");
    assert_ne!(output.status.code(), Some(0), "{table}");
    let output = bench(&server.url, &["-n", "400", "-c", "4"]);
    let table = text(&output.stdout);
    // On a machine that is too busy it may be INVALID, and then the reasons say what to do.
    let is_passed = table.contains("PASSED: ");
    assert_eq!(output.status.code(), Some(if is_passed { 0 } else { 9 }), "{table}");
    assert_eq!(is_passed, table.contains("next: closed model; try --rate"), "{table}");
}

#[test]
fn a_body_comes_from_stdin() {
    let server = NullServer::start(&[]);
    let mut command = sarsen();
    command.args(["bench", &server.url, "--warm-up", "0s", "-n", "3", "-c", "1", "-q", "--json"]);
    command.args(["--method", "POST", "--body", "@-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    child.stdin.take().expect("a pipe").write_all(b"hello").expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let report: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!((&report["successes"], &report["method"]), (&3.into(), &"POST".into()));
}

#[test]
fn a_line_a_second_goes_to_stderr_and_a_signal_ends_it_with_a_report() {
    let server = NullServer::start(&["--latency", "fixed:2ms"]);
    let mut command: Command = sarsen();
    command.args(["bench", &server.url, "--warm-up", "0s", "-d", "1h", "--rate", "50..100"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let line = lines.next().expect("a line").expect("UTF-8");
    assert!(line.contains(" of 3600 s, measuring: "), "{line}");
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(pid, Signal::INT).expect("it is there");
    let output = child.wait_with_output().expect("it ends");
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(9), "{table}");
    assert!(table.contains("ended before its time"), "{table}");
}

#[test]
fn on_a_terminal_it_is_watched_and_q_ends_it() {
    let server = NullServer::start(&["--latency", "fixed:2ms"]);
    let mut command = sarsen();
    command.args(["bench", &server.url, "--warm-up", "0s", "-d", "1h", "--rate", "200"]);
    let mut terminal = OnTerminal::start(command, (24, 80));
    terminal.wait_for("\u{1b}[?1049h");
    for words in ["target 200/s", "service    now", "response   now", "send lag p99", "q end", "█"]
    {
        terminal.wait_for(words);
    }
    let widest = terminal.shown.split("\r\n").map(|line| {
        let text = line.rsplit('H').next().unwrap_or(line);
        text.trim_end_matches("\u{1b}[K").chars().count()
    });
    assert!(widest.max() <= Some(80), "{:?}", terminal.shown);
    terminal.press(b"q");
    terminal.wait_for("\u{1b}[?1049l");
    terminal.wait_for("INVALID: ");
    terminal.wait_for("ended before its time");
    assert_eq!(terminal.wait().code(), Some(9));
}

#[test]
fn plus_makes_it_longer_and_the_report_says_so() {
    let server = NullServer::start(&["--latency", "fixed:2ms"]);
    let mut command = sarsen();
    command.args(["bench", &server.url, "--warm-up", "0s", "-d", "1h", "-c", "1"]);
    let mut terminal = OnTerminal::start(command, (24, 80));
    terminal.wait_for("of 3600 s");
    terminal.press(b"+");
    terminal.wait_for("of 3630 s");
    terminal.press(b"+");
    terminal.wait_for("of 3660 s");
    terminal.press(b"q");
    terminal.wait_for("made 60 s longer");
    assert_eq!(terminal.wait().code(), Some(9));
}

#[test]
fn a_run_is_archived_whatever_becomes_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = folder.path().join("kept");
    let runs = runs.to_str().expect("UTF-8");
    let kept = |name: &str| {
        let folders = std::fs::read_dir(runs).expect("the folder of runs");
        let folders = folders.map(|run| run.expect("an entry").path()).filter(|run| run.is_dir());
        let read = |folder: PathBuf| std::fs::read_to_string(folder.join(name)).expect("a file");
        folders.map(read).collect::<Vec<String>>()
    };
    let server = NullServer::start(&["--latency", "fixed:1ms"]);
    let output = bench(&server.url, &["-n", "20", "-c", "1", "-q", "--runs", runs]);
    let table = text(&output.stdout);
    assert_eq!(text(&output.stderr), "", "-q tells nothing");
    assert_eq!(kept("report.txt"), [table]);
    let url = server.url.clone();
    drop(server);
    let output = bench(&url, &["-n", "20", "-c", "1", "--runs", runs]);
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    let verdicts = kept("verdict.json");
    assert_eq!(verdicts.len(), 2);
    assert!(
        verdicts.iter().any(|text| text.contains("INVALID") && text.contains("cannot connect"))
    );
}
