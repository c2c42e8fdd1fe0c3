//! What the machine has: cores, memory, file descriptors, the time.

use crate::limits::{DESCRIPTORS_RESERVED, MEMORY_BYTES_DEFAULT};
use repository::{Timestamp, limits::MEMORY_BYTES_MIN};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::thread::available_parallelism;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Cores that this process may use.
pub fn cores() -> usize {
    match available_parallelism() {
        Ok(cores) => cores.get(),
        Err(error) => {
            log::warn!("cannot tell the number of cores ({error}); going on with 1");
            1
        }
    }
}

/// The memory to use when the user did not say, in bytes.
pub fn default_memory() -> u64 {
    let total = std::fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(total_memory);
    match total {
        Some(total) => (total / 4).clamp(MEMORY_BYTES_MIN, MEMORY_BYTES_DEFAULT),
        None => {
            log::warn!("cannot tell the machine's memory; using {MEMORY_BYTES_DEFAULT} bytes");
            MEMORY_BYTES_DEFAULT
        }
    }
}

/// The machine's memory in bytes, from the text of `/proc/meminfo`.
fn total_memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Lets the process open as many files as its hard limit allows: a connection is a file, and the
/// usual soft limit of 1,024 is there for programs that use `select`.
pub fn raise_descriptor_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        log::warn!("cannot raise the limit of open files ({error}); going on with what there is");
    }
}

/// The connections that may be open, at most `most`: some descriptors are kept for the repository,
/// which must never find that there is none left.
pub fn connections(most: usize) -> usize {
    let descriptors = getrlimit(Resource::Nofile).current;
    let room = descriptors.map_or(most, |all| connections_within(all, most));
    if room < most {
        log::warn!(
            "there is room for {room} connections only: the limit of open files is {}; raise it \
             (ulimit -n)",
            descriptors.unwrap_or_default()
        );
    }
    room
}

fn connections_within(descriptors: u64, most: usize) -> usize {
    let spare = descriptors.saturating_sub(DESCRIPTORS_RESERVED);
    // With very few descriptors both sides get half of them.
    let room = spare.max(descriptors / 2).max(1);
    usize::try_from(room).map_or(most, |room| room.min(most))
}

/// Milliseconds since 1970. A clock before that reads as 1970.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_meminfo() {
        let text = "MemTotal:       24684096 kB\nMemFree:        24443672 kB\n";
        assert_eq!(total_memory(text), Some(24_684_096 * 1024));
        for bad in ["", "MemFree: 1 kB\n", "MemTotal: x kB\n", "MemTotal: 1 MB\n"] {
            assert_eq!(total_memory(bad), None, "{bad}");
        }
    }

    #[test]
    fn connections_leave_descriptors_for_the_repository() {
        assert_eq!(connections_within(1 << 20, 10_000), 10_000);
        assert_eq!(connections_within(10_000, 10_000), 10_000 - DESCRIPTORS_RESERVED as usize);
        assert_eq!(connections_within(256, 10_000), 128);
        assert_eq!(connections_within(0, 10_000), 1);
    }

    #[test]
    fn the_default_memory_is_within_its_bounds() {
        let bounds = MEMORY_BYTES_MIN..=MEMORY_BYTES_DEFAULT;
        assert!(bounds.contains(&default_memory()));
    }
}
