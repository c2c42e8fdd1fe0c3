//! What this process costs, as the operating system counts it.

use repository::Repository;
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::time::{Duration, Instant};

/// User and system time of all threads until now.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Bytes of memory that are resident.
pub fn resident_bytes() -> u64 {
    field("/proc/self/status", "VmRSS:") << 10
}

/// Bytes that this process caused to be written to disks.
pub fn written_bytes() -> u64 {
    field("/proc/self/io", "write_bytes:")
}

fn field(file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Bytes that a folder takes on the disk. Files may come and go meanwhile.
pub fn disk_bytes(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let bytes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => disk_bytes(&entry.path()),
        Ok(metadata) => metadata.blocks() * 512,
        Err(_) => 0,
    });
    bytes.sum()
}

/// Every file below a folder.
pub fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Writes a checkpoint and waits until the merging of tables has come to rest: what a measurement
/// begins with, so that it does not pay for the one before.
pub fn settle(repository: &Repository) {
    repository.checkpoint().unwrap();
    let started = Instant::now();
    let mut quiet = 0;
    while quiet < 3 && started.elapsed() < Duration::from_secs(120) {
        let before = (cpu_time(), written_bytes());
        std::thread::sleep(Duration::from_millis(100));
        let is_quiet = cpu_time() - before.0 < Duration::from_millis(5)
            && written_bytes() - before.1 < 1 << 20;
        quiet = if is_quiet { quiet + 1 } else { 0 };
    }
}

/// Lets the operating system forget what it holds of the files in a folder: `dd` with `nocache` and
/// nothing to copy asks for just that (`posix_fadvise`, GNU coreutils).
pub fn drop_page_cache(folder: &Path) {
    for file in files(folder) {
        let file = format!("if={}", file.display());
        let arguments = [file.as_str(), "of=/dev/null", "iflag=nocache", "count=0", "status=none"];
        let status = std::process::Command::new("dd").args(arguments).status().unwrap();
        assert!(status.success(), "dd could not drop the cache of {file}");
    }
}
