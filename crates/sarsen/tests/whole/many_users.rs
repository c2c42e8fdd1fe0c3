//! The memory that the lab takes for 10,000 users: bounded, and the same however long a run is.

use crate::harness::sarsen;
use crate::null_server::NullServer;
use crate::patience::{Deadline, wait_for};
use serde_json::Value;
use std::fs;
use std::process::{Child, Stdio};

const USERS: &str = "10000";

/// What docs/lab.md promises for them.
const BYTES_MAX: u64 = 200 << 20;

/// What a run six times as long may have more: pages that an allocator has not given back.
const GROWTH_MAX: u64 = 16 << 20;

/// The most that a process has had resident so far, in bytes; nothing once it has ended.
fn most_resident(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib << 10)
}

/// A run of so many seconds: the most memory it had, and its report.
fn run(url: &str, seconds: u64) -> (u64, Value) {
    let mut command = sarsen();
    command.args(["bench", url, "-c", USERS, "--warm-up", "3s", "-q", "--json"]);
    command.args(["-d", &format!("{seconds}s"), "--timeout", "60s"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let _deadline = Deadline::of(&child, format!("{command:?}"));
    let mut most = 0;
    let told = || "its end".to_owned();
    // The report is smaller than what a pipe holds, so that nobody need read it meanwhile.
    wait_for("the end of the run", told, || {
        most = most_resident(&child).unwrap_or(0).max(most);
        child.try_wait().expect("its state")
    });
    let output = child.wait_with_output().expect("its output");
    let report = serde_json::from_slice(&output.stdout);
    (most, report.unwrap_or_else(|error| panic!("{error}: {output:?}")))
}

#[test]
fn ten_thousand_users_take_bounded_memory_however_long_the_run_is() {
    // Each reply after a while, so that all of them are under way.
    let server = NullServer::start(&["--latency", "uniform:500ms-1500ms", "--body", "1000"]);
    let [short, long] = [2, 12].map(|seconds| {
        let (most, report) = run(&server.url, seconds);
        assert!(report["successes"].as_u64() > Some(0), "{report:#}");
        assert_eq!(report["users"], 10_000);
        // On a machine that is busy not all may have come in time.
        assert!(report["connections"].as_u64() > Some(5_000), "{report:#}");
        println!("{USERS} users, {seconds} s: {} MiB", most >> 20);
        assert!(most < BYTES_MAX, "{} MiB for {seconds} s", most >> 20);
        most
    });
    assert!(long <= short + GROWTH_MAX, "{} MiB, then {} MiB", short >> 20, long >> 20);
}
