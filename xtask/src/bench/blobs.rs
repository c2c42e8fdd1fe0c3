//! `cargo xtask bench-blobs`: one large file to the server and back, beside nginx, which keeps it
//! as a file (PUT by its dav module, which syncs nothing) and sends it with sendfile. The sides
//! take turns.

use super::server::Running;
use super::{BenchError, cpu, write_error};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// What is measured.
pub struct Blobs {
    /// How often, each side in turn.
    pub rounds: usize,
    /// How large the file is.
    pub mebibytes: u64,
    /// The release binary.
    pub sarsen: PathBuf,
    /// For servers' files; emptied.
    pub folder: PathBuf,
}

/// Megabytes a second, and seconds of the server's CPU time for a gigabyte.
type Sample = (f64, f64);

/// Prints the table. Nothing is asserted.
pub fn run(bench: &Blobs) -> Result<bool, BenchError> {
    // It may not be there.
    let _removed = fs::remove_dir_all(&bench.folder);
    fs::create_dir_all(&bench.folder).map_err(|e| write_error(&bench.folder, e))?;
    let source = bench.folder.join("source");
    write_source(&source, bench.mebibytes).map_err(|e| write_error(&source, e))?;
    let mut rows: Vec<(String, Vec<Sample>)> = Vec::new();
    for _ in 0..bench.rounds {
        for side in ["sarsen", "nginx"] {
            let folder = bench.folder.join(side);
            // Each round begins with nothing.
            let _removed = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).map_err(|e| write_error(&folder, e))?;
            let (server, path) = match side {
                "sarsen" => {
                    let server = Running::sarsen(&bench.sarsen, None, &folder.join("data"))?;
                    (server, "/db/files/large")
                }
                _ => (Running::nginx_files(&folder)?, "/large"),
            };
            let url = format!("{}{path}", server.origin);
            let file = source.display().to_string();
            let put = ["-T", &file, "-H", "Content-Type: video/x-test", "-H", "Expect:", &url];
            let get = ["-o", "/dev/null", &url];
            for (name, arguments) in [("PUT", &put[..]), ("GET", &get[..]), ("GET again", &get[..])]
            {
                let sample = transfer(&server, arguments, bench.mebibytes)?;
                let title = format!("{name:<10} {side}");
                match rows.iter_mut().find(|(known, _)| *known == title) {
                    Some((_, samples)) => samples.push(sample),
                    None => rows.push((title, vec![sample])),
                }
            }
        }
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    show(&rows).map_err(|e| write_error("stdout", e))?;
    Ok(true)
}

/// A file that does not compress and has no two chunks alike.
fn write_source(path: &Path, mebibytes: u64) -> io::Result<()> {
    let mut file = io::BufWriter::new(File::create(path)?);
    let mut state = 1_u64;
    for _ in 0..mebibytes << 17 {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        file.write_all(&state.to_le_bytes())?;
    }
    file.into_inner()?.sync_all()
}

fn transfer(server: &Running, arguments: &[&str], mebibytes: u64) -> Result<Sample, BenchError> {
    let (cpu, begun) = (cpu::of_tree(server.pid()), Instant::now());
    let mut command = Command::new("curl");
    command.args(["-sS", "--fail"]).args(arguments);
    let output =
        command.output().map_err(|source| BenchError::Start { program: "curl".into(), source })?;
    let took = begun.elapsed().as_secs_f64();
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(BenchError::Load { command: format!("{command:?}"), why });
    }
    let cpu = cpu::of_tree(server.pid()).saturating_sub(cpu).as_secs_f64();
    let bytes = (mebibytes << 20) as f64;
    Ok((bytes / 1e6 / took, cpu / (bytes / 1e9)))
}

fn show(rows: &[(String, Vec<Sample>)]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{:<20} {:>22} {:>26}", "", "MB/s (least, most)", "CPU s/GB (least, most)")?;
    for (title, samples) in rows {
        let (rate, cost) = (spread(samples, |s| s.0), spread(samples, |s| s.1));
        let rate = format!("{:.0} ({:.0}, {:.0})", rate.1, rate.0, rate.2);
        let cost = format!("{:.2} ({:.2}, {:.2})", cost.1, cost.0, cost.2);
        writeln!(out, "{title:<20} {rate:>22} {cost:>26}")?;
    }
    Ok(())
}

/// The least, the median and the most.
fn spread(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> (f64, f64, f64) {
    let mut values: Vec<f64> = samples.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or_default();
    (at(0), at(values.len() / 2), at(values.len().saturating_sub(1)))
}
