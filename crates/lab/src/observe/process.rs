//! A process as `/proc` shows it, alone or with those that it started. It knows no interval.

use super::source::Gauged;
use crate::limits::{PROCESSES_MAX, THREADS_READ_MAX};
use rustix::param::{clock_ticks_per_second, page_size};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

/// What is read of it.
pub(super) fn columns() -> Vec<Gauged> {
    vec![
        Gauged::counter("cpu_user", "cores", "seconds"),
        Gauged::counter("cpu_system", "cores", "seconds"),
        Gauged::gauge("rss", "bytes"),
        Gauged::gauge("pss", "bytes"),
        Gauged::gauge("threads", ""),
        Gauged::counter("voluntary_switches", "per_second", ""),
        Gauged::counter("involuntary_switches", "per_second", ""),
        Gauged::counter("read", "bytes_per_second", "bytes"),
        Gauged::counter("written", "bytes_per_second", "bytes"),
        Gauged::gauge("open_files", ""),
        Gauged::gauge("processes", ""),
    ]
}

/// The proportional share of memory is read only while that takes less: the kernel walks through
/// all of a process's pages for it.
const PSS_COST_MAX: Duration = Duration::from_millis(5);

/// A process that is watched.
pub(super) struct ProcessSource {
    pid: u32,
    with_children: bool,
    /// When it was started, by the kernel's clock: another one may get its number later.
    started: Option<u64>,
    /// Switches of each thread at the last reading, and of all so far. Threads come and go.
    switches: HashMap<(u32, u32), (u64, u64)>,
    voluntary: u64,
    involuntary: u64,
    reads_pss: bool,
    /// Children that were there are counted on when they end.
    ended: Usage,
    known: HashMap<u32, Usage>,
}

/// What a process has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Usage {
    user_ticks: u64,
    system_ticks: u64,
    /// Bytes from and to storage, if they may be read.
    io: Option<(u64, u64)>,
}

impl ProcessSource {
    pub(super) fn new(pid: u32, with_children: bool) -> Self {
        let started = stat_of(pid).ok().map(|stat| stat.started);
        Self {
            pid,
            with_children,
            started,
            switches: HashMap::new(),
            voluntary: 0,
            involuntary: 0,
            reads_pss: true,
            ended: Usage { io: Some((0, 0)), ..Usage::default() },
            known: HashMap::new(),
        }
    }

    /// Its values now.
    ///
    /// # Errors
    /// It is not there (any more).
    pub(super) fn read(&mut self) -> io::Result<Vec<Option<f64>>> {
        let root = stat_of(self.pid)?;
        if self.started.is_some_and(|started| started != root.started) {
            return Err(io::Error::new(io::ErrorKind::NotFound, "another process has its number"));
        }
        if root.has_ended {
            return Err(io::Error::new(io::ErrorKind::NotFound, "it has ended"));
        }
        self.started = Some(root.started);
        let mut stats = vec![(self.pid, root)];
        if self.with_children {
            stats.extend(descendants(self.pid)?);
        }
        let mut switches = HashMap::with_capacity(self.switches.len());
        let mut are_switches_known = true;
        for (pid, _) in &stats {
            are_switches_known &= self.count_switches(*pid, &mut switches);
        }
        self.switches = switches;
        let usage = self.usage(&stats);
        let sum = |value: fn(&Stat) -> u64| stats.iter().map(|(_, stat)| value(stat)).sum::<u64>();
        let tick = 1.0 / clock_ticks_per_second() as f64;
        let files = stats.iter().map(|(pid, _)| count_entries(&format!("/proc/{pid}/fd")));
        let files: Option<u64> = files.sum();
        let number = |value: u64| Some(value as f64);
        let switches = |count: u64| are_switches_known.then_some(count as f64);
        Ok(vec![
            Some(usage.user_ticks as f64 * tick),
            Some(usage.system_ticks as f64 * tick),
            number(sum(|stat| stat.rss_pages) * page_size() as u64),
            self.pss(&stats),
            number(sum(|stat| stat.threads)),
            switches(self.voluntary),
            switches(self.involuntary),
            usage.io.map(|(read, _)| read as f64),
            usage.io.map(|(_, written)| written as f64),
            files.map(|files| files as f64),
            number(stats.len() as u64),
        ])
    }

    /// What all of them have used, those that have ended meanwhile included.
    fn usage(&mut self, stats: &[(u32, Stat)]) -> Usage {
        let now: HashMap<u32, Usage> = stats
            .iter()
            .map(|(pid, stat)| {
                let io = fs::read_to_string(format!("/proc/{pid}/io")).ok();
                let io = io.as_deref().and_then(parse_io);
                let Stat { user_ticks, system_ticks, .. } = *stat;
                (*pid, Usage { user_ticks, system_ticks, io })
            })
            .collect();
        let gone = self.known.iter().filter(|(pid, _)| !now.contains_key(pid));
        self.ended = gone.fold(self.ended, |sum, (_, usage)| sum.plus(usage));
        let all = now.values().fold(self.ended, |sum, usage| sum.plus(usage));
        self.known = now;
        all
    }

    fn pss(&mut self, stats: &[(u32, Stat)]) -> Option<f64> {
        if !self.reads_pss {
            return None;
        }
        let began = Instant::now();
        let read = |(pid, _): &(u32, Stat)| {
            let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
            field_kib(&text, "Pss:")
        };
        let bytes: Option<u64> = stats.iter().map(read).sum();
        self.reads_pss = bytes.is_some() && began.elapsed() <= PSS_COST_MAX;
        bytes.map(|bytes| bytes as f64)
    }

    /// Adds what the threads of a process have switched since the last time; false if that cannot
    /// be known.
    fn count_switches(&mut self, pid: u32, now: &mut HashMap<(u32, u32), (u64, u64)>) -> bool {
        let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
        for (i, thread) in threads.flatten().enumerate() {
            if i >= THREADS_READ_MAX {
                return false;
            }
            let tid = thread.file_name().to_str().and_then(|name| name.parse().ok());
            let text = fs::read_to_string(thread.path().join("status"));
            // One that has just ended is no error.
            let (Some(tid), Ok(text)) = (tid, text) else { continue };
            let Some(counts) = parse_switches(&text) else { return false };
            let before = self.switches.get(&(pid, tid)).copied().unwrap_or((0, 0));
            self.voluntary += counts.0.saturating_sub(before.0);
            self.involuntary += counts.1.saturating_sub(before.1);
            now.insert((pid, tid), counts);
        }
        true
    }
}

impl Usage {
    fn plus(self, other: &Self) -> Self {
        let io = self.io.zip(other.io).map(|(a, b)| (a.0 + b.0, a.1 + b.1));
        Self {
            user_ticks: self.user_ticks + other.user_ticks,
            system_ticks: self.system_ticks + other.system_ticks,
            io,
        }
    }
}

/// What is taken of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stat {
    has_ended: bool,
    parent: u32,
    user_ticks: u64,
    system_ticks: u64,
    threads: u64,
    started: u64,
    rss_pages: u64,
}

fn stat_of(pid: u32) -> io::Result<Stat> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path)?;
    let unexpected = || io::Error::new(io::ErrorKind::InvalidData, format!("{path}: {text:?}"));
    parse_stat(&text).ok_or_else(unexpected)
}

/// Fields are counted as in proc(5), from 1. The second, the name in parentheses, may hold spaces
/// and parentheses itself, so counting begins after the last one.
fn parse_stat(text: &str) -> Option<Stat> {
    let after_name = &text[text.rfind(')')? + 1..];
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    let count = |number: usize| field(number)?.parse::<u64>().ok();
    Some(Stat {
        has_ended: matches!(field(3)?, "Z" | "X" | "x"),
        parent: field(4)?.parse().ok()?,
        user_ticks: count(14)?,
        system_ticks: count(15)?,
        threads: count(20)?,
        started: count(22)?,
        rss_pages: count(24)?,
    })
}

/// The processes below one, as far as they run.
fn descendants(root: u32) -> io::Result<Vec<(u32, Stat)>> {
    let mut all: Vec<(u32, Stat)> = Vec::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some((pid, stat)) = pid.and_then(|pid| Some((pid, stat_of(pid).ok()?))) else {
            continue;
        };
        all.push((pid, stat));
    }
    let mut found: Vec<(u32, Stat)> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        let children = all.iter().filter(|(_, stat)| stat.parent == parent && !stat.has_ended);
        for (pid, stat) in children {
            if found.len() >= PROCESSES_MAX {
                return Ok(found);
            }
            found.push((*pid, *stat));
            parents.push(*pid);
        }
    }
    Ok(found)
}

fn count_entries(folder: &str) -> Option<u64> {
    Some(fs::read_dir(folder).ok()?.count() as u64)
}

/// Bytes that came from storage and went to it.
fn parse_io(text: &str) -> Option<(u64, u64)> {
    Some((field(text, "read_bytes:")?, field(text, "\nwrite_bytes:")?))
}

fn parse_switches(text: &str) -> Option<(u64, u64)> {
    let voluntary = field(text, "\nvoluntary_ctxt_switches:")?;
    Some((voluntary, field(text, "nonvoluntary_ctxt_switches:")?))
}

fn field(text: &str, name: &str) -> Option<u64> {
    let (_, rest) = text.split_once(name)?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

/// In bytes.
pub(super) fn field_kib(text: &str, name: &str) -> Option<u64> {
    field(text, name)?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_past_an_awkward_name() {
        let text = "7 (a) R (c) S 3 7 7 0 -1 4194304 9 9 9 9 49 51 4 1 20 0 5 0 777 1 250 18";
        let stat = parse_stat(text).unwrap();
        let expected = Stat {
            has_ended: false,
            parent: 3,
            user_ticks: 49,
            system_ticks: 51,
            threads: 5,
            started: 777,
            rss_pages: 250,
        };
        assert_eq!(stat, expected);
        assert!(
            parse_stat("7 (a) Z 3 7 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 1 0 0").unwrap().has_ended
        );
        assert_eq!(parse_stat("7 (a) S 3"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn fields_are_read_by_their_whole_names() {
        let io =
            "rchar: 1\nwchar: 2\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 5\n";
        assert_eq!(parse_io(io), Some((4096, 8192)));
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        assert_eq!(parse_switches(status), Some((150, 545)));
        assert_eq!(field_kib("Rss: 1 kB\nPss:     12 kB\n", "Pss:"), Some(12 * 1024));
        assert_eq!(parse_io("rchar: 1"), None);
    }

    #[test]
    fn this_process_can_be_read() {
        let mut source = ProcessSource::new(std::process::id(), false);
        let values = source.read().unwrap();
        assert_eq!(values.len(), columns().len());
        let value = |name: &str| {
            values[columns().iter().position(|column| column.name == name).unwrap()].unwrap()
        };
        assert!(value("rss") > 1e6, "{values:?}");
        assert!(value("threads") >= 1.0 && value("open_files") >= 3.0, "{values:?}");
        assert_eq!(value("processes"), 1.0);
    }

    #[test]
    fn children_are_counted_and_what_they_used_stays_when_they_end() {
        let mut source = ProcessSource::new(std::process::id(), true);
        let count = |values: &[Option<f64>]| values.last().copied().flatten().unwrap();
        let before = count(&source.read().unwrap());
        // The inner shell waits for its input to close, so that both are there.
        let mut child = std::process::Command::new("sh")
            .args(["-c", "sh -c 'read line'; true"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let is_there = |source: &mut ProcessSource| count(&source.read().unwrap()) >= before + 2.0;
        let deadline = Instant::now() + Duration::from_secs(120);
        while !is_there(&mut source) {
            assert!(Instant::now() < deadline, "the shell's shell did not come");
            std::thread::sleep(Duration::from_millis(5));
        }
        let cpu = |values: &[Option<f64>]| values[0].unwrap() + values[1].unwrap();
        let with_child = cpu(&source.read().unwrap());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(cpu(&source.read().unwrap()) >= with_child);
    }

    #[test]
    fn one_that_is_not_there_is_an_error() {
        let mut source = ProcessSource::new(u32::MAX, false);
        assert_eq!(source.read().unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn one_that_ends_is_an_error_before_anybody_has_asked_how() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let mut source = ProcessSource::new(child.id(), false);
        let deadline = Instant::now() + Duration::from_secs(120);
        while source.read().is_ok() {
            assert!(Instant::now() < deadline, "true(1) did not end");
            std::thread::sleep(Duration::from_millis(5));
        }
        child.wait().unwrap();
        assert!(source.read().is_err());
    }
}
