//! What the operating system says about this process, from `/proc`. What cannot be read is left
//! out: figures about the process are not worth an error.

use std::fs;

/// Clock ticks in a second of `/proc/self/stat`: USER_HZ, which is 100 on every Linux (proc(5)).
const TICKS_A_SECOND: f64 = 100.0;

/// Figures of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Process {
    /// In user and kernel mode together.
    pub cpu_seconds: Option<f64>,
    /// Memory in use that is not swapped out.
    pub resident_bytes: Option<u64>,
    pub threads: Option<u64>,
    pub open_descriptors: Option<u64>,
    pub descriptors_max: Option<u64>,
}

impl Process {
    /// Reads them. Blocks for as long as the kernel takes to count descriptors.
    pub(super) fn read() -> Self {
        let text = |name: &str| fs::read_to_string(format!("/proc/self/{name}")).ok();
        let status = text("status").unwrap_or_default();
        Self {
            cpu_seconds: text("stat").as_deref().and_then(cpu_seconds),
            resident_bytes: field(&status, "VmRSS:").map(|kib| kib * 1024),
            threads: field(&status, "Threads:"),
            // The listing holds the descriptor that it is made with.
            open_descriptors: fs::read_dir("/proc/self/fd")
                .ok()
                .map(|entries| (entries.count() as u64).saturating_sub(1)),
            descriptors_max: text("limits").and_then(|limits| field(&limits, "Max open files")),
        }
    }
}

/// Fields 14 and 15. The second, the program's name, may hold anything, even parentheses.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((user + system) as f64 / TICKS_A_SECOND)
}

/// The first number after `name` at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_there() {
        let process = Process::read();
        assert!(process.cpu_seconds.is_some_and(|seconds| seconds >= 0.0));
        assert!(process.resident_bytes.is_some_and(|bytes| bytes > 1 << 20));
        assert!(process.threads.is_some_and(|threads| threads >= 1));
        assert!(process.open_descriptors.is_some_and(|open| open >= 3));
        assert!(process.descriptors_max.is_some());
    }

    #[test]
    fn a_programs_name_may_hold_anything() {
        let stat = "7 (a) b) (c) S 1 7 7 0 -1 4194304 105 0 0 0 150 50 0 0 20 0 1";
        assert_eq!(cpu_seconds(stat), Some(2.0));
        assert_eq!(cpu_seconds("7 (a"), None);
    }
}
