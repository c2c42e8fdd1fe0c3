//! The memory that the lab takes for many users, as the run goes on.

use super::{CORES, Lab, pinned};
use crate::bench::cpu;
use crate::bench::server::Running;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// As many users as a run can have.
const USERS: &str = "10000";

/// How many times as long as the other runs: growth would show.
const TIMES: u64 = 6;

/// One line.
pub fn measure(lab: &Lab, server: &Running) -> String {
    let seconds = lab.seconds * TIMES;
    let line = match sample(lab, server, seconds) {
        Ok(samples) => describe(&samples, seconds),
        Err(why) => format!("not measured: {why}"),
    };
    format!("Memory of {USERS} users: {line}\n")
}

/// Each second's, in KiB.
fn sample(lab: &Lab, server: &Running, seconds: u64) -> Result<Vec<u64>, String> {
    let (url, time) = (format!("{}/", server.origin), format!("{seconds}s"));
    let mut command = pinned(CORES[1], &lab.sarsen);
    command.args(["bench", &url, "-c", USERS, "-d", &time, "--warm-up", "2s", "--json"]);
    let child = command.stdout(Stdio::null()).spawn().map_err(|error| error.to_string());
    let mut child = child?;
    let (begin, mut samples) = (Instant::now(), Vec::new());
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        samples.push(cpu::memory_of_tree(child.id()));
        let next = begin + Duration::from_secs(samples.len() as u64);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    };
    // 9: INVALID, as so many connections on one core may well be.
    match status.code() {
        Some(0 | 9) => Ok(samples),
        _ => Err(format!("the run ended with {status}")),
    }
}

fn describe(samples: &[u64], seconds: u64) -> String {
    let mib = |kib: Option<&u64>| kib.map_or(f64::NAN, |kib| *kib as f64 / 1024.0);
    let early = mib(samples.get(samples.len() / 4));
    // The very last may be after the users have gone.
    let late = mib(samples.get(samples.len().saturating_sub(3)));
    let most = mib(samples.iter().max());
    format!(
        "{early:.1} MiB after a quarter of {seconds} s, {late:.1} MiB at its end, at most \
         {most:.1} MiB"
    )
}
