//! The conditions of a measurement, without which its figures mean nothing: command line, date,
//! machine, and the commit that was measured.

use std::path::Path;
use std::process::Command;

/// Lines of Markdown.
pub fn conditions(folder: &Path) -> String {
    // The program by its name: where it was built says something about one machine only.
    let program = std::env::args().next().unwrap_or_default();
    let program = Path::new(&program).file_stem().unwrap_or_default().to_string_lossy();
    let program = program.split('-').next().unwrap_or_default().to_owned();
    let rest: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    format!(
        "`cargo bench -p repository --bench {program} -- {}`\n\n\
         {}, commit {}, {}, {}, file system {}.\n",
        rest.join(" "),
        output("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
        commit(),
        machine(),
        memory(),
        output("stat", &["-f", "-c", "%T", &existing(folder).to_string_lossy()]),
    )
}

/// The folder, or what it will be made in.
fn existing(folder: &Path) -> &Path {
    folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."))
}

fn commit() -> String {
    let here = env!("CARGO_MANIFEST_DIR");
    let commit = output("git", &["-C", here, "rev-parse", "--short", "HEAD"]);
    let changed = output("git", &["-C", here, "status", "--porcelain"]);
    if changed.is_empty() { commit } else { format!("{commit} with changes") }
}

fn machine() -> String {
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(": ")).map_or("unknown CPU", |(_, m)| m);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{cores} cores ({model}), Linux {}", read("/proc/sys/kernel/osrelease").trim())
}

fn memory() -> String {
    let total = read("/proc/meminfo");
    let kib = total.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok());
    format!("{} GiB of memory", kib.unwrap_or_default() >> 20)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or_else(|_| "unknown".into(), |o| String::from_utf8_lossy(&o.stdout).trim().into())
}
