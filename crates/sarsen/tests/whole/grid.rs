//! `sarsen run` carried out many times: as a grid against Debian's memcached, and as a search for
//! the highest rate.

use crate::cache::Memcached;
use crate::harness::{Ends, sarsen};
use crate::null_server::NullServer;
use serde_json::Value;
use std::path::Path;
use std::process::Output;

fn run(runs: &Path, arguments: &[&str]) -> Output {
    let mut command = sarsen();
    command.env("SARSEN_RUNS", runs).arg("run").args(arguments).ends()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_grid_is_a_table_with_a_row_for_each_cell() {
    let caches = [Memcached::start(), Memcached::start()];
    let server = format!("memcached://{},{}", caches[0].authority, caches[1].authority);
    let pids = caches.each_ref().map(|cache| cache.id().to_string());
    let runs = tempfile::tempdir().expect("a folder");
    let common = ["memcached-olio", "--server", &server, "--pid", &pids[0], "--pid", &pids[1]];
    let brief = ["--set", "items_count=500", "-d", "600ms", "--warm-up", "100ms"];
    let grid = ["--grid", "instances=1,2", "--grid", "pipeline=1,8", "--grid", "connections=4"];
    let arguments = [&common[..], &brief, &grid].concat();
    let output = run(runs.path(), &arguments);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    // On a busy machine runs may well be INVALID.
    assert!(matches!(output.status.code(), Some(0 | 9)), "{stderr}");
    let lines: Vec<&str> = stdout.lines().collect();
    let head: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(head[..4], ["instances", "pipeline", "connections", "ops/s"]);
    let cells = [["1", "1", "4"], ["1", "8", "4"], ["2", "1", "4"], ["2", "8", "4"]];
    for (line, cell) in lines[1..].iter().zip(cells) {
        let values: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(values[..3], cell, "{stdout}");
        let rate: f64 = values[3].parse().expect("a rate");
        let server_us: f64 = values[7].parse().expect("CPU time");
        assert!(rate > 0.0 && server_us > 0.0, "{stdout}");
    }
    assert!(stderr.contains("cell 4 of 4: instances=2 pipeline=8 connections=4"), "{stderr}");
    // Each is a run of the archive, with the command line that makes it alone.
    let entries = std::fs::read_dir(runs.path()).expect("runs");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    // Beside each folder is a file with its sum.
    let folders = paths.filter(|path| path.is_dir()).map(|path| {
        let path = path.join("environment.json");
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    });
    let folders: Vec<String> = folders.collect();
    assert_eq!(folders.len(), 4);
    assert!(folders.iter().all(|text| !text.contains("--grid")), "{}", folders[0]);
    let with = |word: &str| folders.iter().filter(|text| text.contains(word)).count();
    assert_eq!((with("pipeline=8"), with("--instances")), (2, 4));
}

#[test]
fn a_grid_for_programs_has_whole_reports() {
    let cache = Memcached::start();
    let server = format!("memcached://{}", cache.authority);
    let runs = tempfile::tempdir().expect("a folder");
    let output = run(
        runs.path(),
        &[
            "memcached-twitter",
            "--server",
            &server,
            "--set",
            "items_count=200",
            "-d",
            "500ms",
            "--warm-up",
            "100ms",
            "-q",
            "--json",
            "--grid",
            "meta=false,true",
        ],
    );
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let cells = told["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 2, "{told}");
    for (cell, meta) in cells.iter().zip(["false", "true"]) {
        assert_eq!(cell["cell"]["meta"], meta);
        assert!(cell["report"]["successes"].as_u64() > Some(0), "{cell}");
        let errors = cell["report"]["errors"].as_object().expect("errors");
        assert!(errors.values().all(|count| count == 0), "{cell}");
    }
}

#[test]
fn mistakes_in_a_grid_are_told_before_the_first_run() {
    let runs = tempfile::tempdir().expect("a folder");
    for (grid, told) in [
        (&["--grid", "pipelin=1"][..], "did you mean `pipeline`?"),
        (&["--grid", "pipeline=1", "--grid", "pipeline=2"], "varied twice"),
        (&["--grid", "pipeline=1,0"], "from 1 to"),
        (&["--grid", "instances=2"], "has 1 instances; asked are 2"),
        (&["--grid", "users"], "NAME=VALUE"),
    ] {
        let output = run(runs.path(), &[&["memcached-olio"], grid].concat());
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{grid:?}: {stderr}");
        assert!(stderr.contains(told), "{grid:?}: {stderr}");
    }
    assert!(!runs.path().join("runs").exists());
}

/// Two operations at the same time of 5 ms each are 400 a second and no more, whatever machine it
/// is; beyond, arrivals find nobody free.
#[test]
fn the_highest_rate_is_not_above_what_can_be() {
    let server = NullServer::start(&["--latency", "fixed:5ms"]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.toml");
    let scenario = format!(
        "[servers]\nnull = \"{}\"\n[load]\nrate = 100\narrivals = \"even\"\nat_once = 2\n\
         warm_up = \"100ms\"\nduration = \"500ms\"\n[operation.get]\nget = \"/\"\n",
        server.url
    );
    std::fs::write(&path, scenario).expect("a file");
    let path = path.to_str().expect("UTF-8");
    let output = run(
        &folder.path().join("runs"),
        &[path, "--max-rate", "p50<1s", "--rate", "100", "-q", "--json"],
    );
    let told: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
    let trials = told["trials"].as_array().expect("trials");
    assert_eq!(trials[0]["rate_per_second"], 100.0, "{told}");
    for trial in trials {
        let rate = trial["rate_per_second"].as_f64().expect("a rate");
        assert!(trial["kept"] == false || rate <= 420.0, "{told}");
    }
    match output.status.code() {
        Some(0) => {
            let kept = told["kept_per_second"].as_f64().expect("an answer");
            let missed = told["missed_per_second"].as_f64().expect("above it");
            assert!(kept <= 420.0 && missed > kept && missed <= kept * 1.051, "{told}");
        }
        // A machine that is so busy that a hundred a second are too many.
        code => assert!(matches!(code, Some(1 | 9)), "{code:?}: {told}"),
    }
}
