//! CPU time and memory of a process and all its descendants, as /proc has them.

use std::fs;
use std::process::Command;
use std::time::Duration;

/// The CPU time that `pid` and its descendants have used so far. One that is gone counts for what
/// its parent has waited for.
pub fn of_tree(pid: u32) -> Duration {
    let ticks = tree(pid).iter().map(|stat| stat.ticks).sum::<u64>();
    Duration::from_millis(ticks * 1000 / ticks_per_second())
}

/// The CPU time of all children of this process that have ended and were waited for, and of theirs.
pub fn of_ended_children() -> Duration {
    let ticks = fs::read_to_string("/proc/self/stat").ok().and_then(|text| ended_children(&text));
    Duration::from_millis(ticks.unwrap_or(0) * 1000 / ticks_per_second())
}

/// Fields cutime and cstime, see [`parse`].
fn ended_children(text: &str) -> Option<u64> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    fields.get(13..15)?.iter().map(|field| field.parse::<u64>().ok()).sum()
}

/// The memory that `pid` and its descendants hold, in KiB; what several hold counts once in all
/// (`Pss`, see proc_pid_smaps(5)).
pub fn memory_of_tree(pid: u32) -> u64 {
    tree(pid).iter().map(|stat| memory(stat.pid).unwrap_or(0)).sum()
}

fn memory(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn tree(pid: u32) -> Vec<Stat> {
    let mut all: Vec<Stat> = processes().filter_map(read).collect();
    let mut family: Vec<Stat> = all.extract_if(.., |stat| stat.pid == pid).collect();
    let mut visited = 0;
    while let Some(parent) = family.get(visited).map(|stat| stat.pid) {
        family.extend(all.extract_if(.., |stat| stat.parent == parent));
        visited += 1;
    }
    family
}

struct Stat {
    pid: u32,
    parent: u32,
    ticks: u64,
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn read(pid: u32) -> Option<Stat> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// See proc_pid_stat(5). The name in parentheses may hold anything, so the fields count from the
/// last `)`: state, ppid, ... and utime, stime, cutime, cstime at 11 to 14.
fn parse(pid: u32, text: &str) -> Option<Stat> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let parent = fields.get(1)?.parse().ok()?;
    let times = fields.get(11..15)?.iter().map(|field| field.parse::<u64>().ok());
    Some(Stat { pid, parent, ticks: times.sum::<Option<u64>>()? })
}

fn ticks_per_second() -> u64 {
    let said = Command::new("getconf").arg("CLK_TCK").output().ok();
    let said = said.and_then(|output| String::from_utf8(output.stdout).ok());
    said.and_then(|text| text.trim().parse().ok()).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_whatever_the_name() {
        let text = "7 (a) b) S 3 7 7 0 -1 4194560 1 2 3 4 100 20 3 1 20 0 1 0 5 6 7";
        let stat = parse(7, text).expect("a stat line");
        assert_eq!((stat.pid, stat.parent, stat.ticks), (7, 3, 124));
        assert!(parse(7, "7 (a) S").is_none());
        assert_eq!(ended_children(text), Some(4));
    }

    #[test]
    fn this_process_holds_some() {
        assert!(memory_of_tree(std::process::id()) > 100);
        assert_eq!(memory_of_tree(u32::MAX), 0);
    }

    #[test]
    fn work_shows_as_time_that_this_process_has_used() {
        let before = of_tree(std::process::id());
        let mut sum = 0_u64;
        // Far more work than a tick takes, so that a clock that stands still is found.
        let is_seen = (0..10_000).any(|_| {
            sum = std::hint::black_box((0..100_000).fold(sum, u64::wrapping_add));
            of_tree(std::process::id()) > before
        });
        assert!(is_seen);
    }
}
