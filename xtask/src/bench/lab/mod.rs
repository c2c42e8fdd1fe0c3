//! `cargo xtask bench-lab`: the lab beside wrk, oha and k6, on the lab's null server and on nginx.
//! Each has one core for its generator, the server has another; they take turns, round after
//! round. Then how late the lab sends at half of its largest rate, and what memory it takes. It
//! asserts nothing.

mod memory;
mod report;
mod tool;

use super::server::Running;
use super::{BenchError, cpu, write_error};
use report::Row;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;
use tool::{Sample, Tool};

/// The core of the server, and that of the generator.
pub const CORES: [&str; 2] = ["0", "1"];

/// Connections of the comparison.
const CONNECTIONS: &str = "64";

/// How long the null server's bodies are.
const BODY_BYTES: usize = 100;

/// nginx's, as long: what the scenario with state and checks reads.
const BODY: &str = "{\"id\":17,\"next\":\"/items/18\",\
    \"text\":\"01234567890123456789012345678901234567890123456789012345678901\"}";

/// What is measured, and for how long.
pub struct Lab {
    /// How often each tool is run on each server.
    pub rounds: usize,
    /// How long each run is.
    pub seconds: u64,
    /// The binary that is measured.
    pub sarsen: PathBuf,
    /// Where tools are that Debian does not have.
    pub tools: PathBuf,
    /// A folder for data; what is in it is deleted.
    pub folder: PathBuf,
}

/// The servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Null,
    Nginx,
}

impl Target {
    const ALL: [Self; 2] = [Self::Null, Self::Nginx];

    fn name(self) -> &'static str {
        match self {
            Self::Null => "null server",
            Self::Nginx => "nginx",
        }
    }

    /// The null server's replies have nothing to read.
    fn is_for(self, tool: Tool) -> bool {
        self == Self::Nginx || tool != Tool::State
    }

    fn start(self, lab: &Lab) -> Result<Running, BenchError> {
        match self {
            Self::Null => Running::null_server(&lab.sarsen, CORES[0], BODY_BYTES),
            Self::Nginx => Running::nginx_on(CORES[0], &lab.folder, BODY),
        }
    }
}

/// A program on one core that may have as many connections as the system allows.
pub fn pinned(core: &str, program: &std::path::Path) -> Command {
    let mut command = Command::new("taskset");
    let allowed = "ulimit -n \"$(ulimit -H -n)\"; exec \"$@\"";
    command.args(["-c", core, "sh", "-c", allowed, "sh"]).arg(program);
    command
}

/// Measures and prints to stdout; progress goes to stderr. Whether all runs went well.
pub fn run(lab: &Lab) -> Result<bool, BenchError> {
    lab.clear()?;
    let (tools, absent): (Vec<Tool>, Vec<Tool>) =
        Tool::ALL.into_iter().partition(|tool| tool.version(lab).is_some());
    let mut rows: Vec<Row> = Vec::new();
    for target in Target::ALL {
        let its = tools.iter().filter(|tool| target.is_for(**tool));
        rows.extend(its.map(|tool| Row::new(target.name(), *tool)));
    }
    let mut is_good = true;
    for round in 0..lab.rounds {
        eprintln!("bench-lab: round {} of {}", round + 1, lab.rounds);
        for target in Target::ALL {
            let server = target.start(lab)?;
            // Each is first as often as the others.
            for turn in 0..tools.len() {
                let tool = tools[(turn + round) % tools.len()];
                if !target.is_for(tool) {
                    continue;
                }
                let outcome = lab.measure(tool, &server);
                is_good &= outcome.is_ok();
                eprintln!("bench-lab:   {}, {}: {}", target.name(), tool.name(), shown(&outcome));
                let is_its = |row: &&mut Row| row.target == target.name() && row.tool == tool;
                rows.iter_mut().filter(is_its).for_each(|row| row.samples.push(outcome.clone()));
            }
        }
    }
    let mut text = report::table(&rows, lab, &absent);
    text.push_str(&report::ratios(&rows));
    text.push_str(&report::commands(lab, &tools));
    let server = Target::Null.start(lab)?;
    let half = rows.iter().find(|row| row.tool == Tool::Lab).and_then(Row::median_rate);
    let lag = half.map(|rate| tool::send_lag(lab, &server, (rate / 2.0).round()));
    text.push_str(&report::lag(lag));
    text.push_str(&memory::measure(lab, &server));
    io::stdout().write_all(text.as_bytes()).map_err(|source| write_error("stdout", source))?;
    Ok(is_good)
}

fn shown(outcome: &Result<Sample, String>) -> String {
    match outcome {
        Ok(sample) => {
            let Sample { rate, cpu_us, .. } = sample;
            format!("{rate:.0} requests/s, {cpu_us:.2} us of CPU a request")
        }
        Err(why) => format!("failed: {why}"),
    }
}

impl Lab {
    fn clear(&self) -> Result<(), BenchError> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(|e| write_error(&self.folder, e))?;
        }
        fs::create_dir_all(&self.folder).map_err(|e| write_error(&self.folder, e))
    }

    /// One run of a tool.
    fn measure(&self, tool: Tool, server: &Running) -> Result<Sample, String> {
        let mut command = tool.command(self, &format!("{}/", server.origin));
        let before = cpu::of_ended_children();
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        let used = cpu::of_ended_children().saturating_sub(before);
        let said = String::from_utf8_lossy(&output.stdout);
        // 9: INVALID, as a generator is that has no core left. That is what is measured here.
        if !matches!(output.status.code(), Some(0 | 9)) {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{}: {} {}", output.status, errors.trim(), said.trim()));
        }
        let mut sample = tool.read(self, &said)?;
        sample.cpu_us = used.as_secs_f64() * 1e6 / sample.requests;
        Ok(sample)
    }
}
