//! The flags that `bench`, `run` and `siege` share: what is the same for them is written once.

use super::flag::{Flag, Takes};
use super::value::{self, ValueError};
use lab::limits::{REQUEST_TIMEOUT_MAX, THREADS_MAX};
use lab::plan::{Endpoint, Observe, Process, Trust};
use lab::target::TargetError;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What they say. Nothing: it was not said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Common {
    /// Fixes what is drawn.
    pub seed: Option<u64>,
    /// Threads that make the load.
    pub threads: Option<usize>,
    /// Longest time of a request.
    pub timeout: Option<Duration>,
    /// Whose certificates are trusted.
    pub trust: Trust,
    /// Servers on this machine whose CPU time is reported.
    pub pids: Vec<u32>,
    /// Other processes that are observed.
    pub observed: Vec<Process>,
    /// Pages of metrics that are read once a second.
    pub metrics: Vec<String>,
    /// The folder of runs, if it is not the usual one.
    pub runs: Option<PathBuf>,
    /// Whether nothing is kept that tells this machine from others.
    pub no_host: bool,
    /// Whether nothing is shown while it goes on.
    pub quiet: bool,
    /// Whether the report is JSON.
    pub json: bool,
}

/// Arguments that have them.
pub trait HasCommon: 'static {
    /// These.
    fn common(&mut self) -> &mut Common;
}

impl Common {
    /// What is read once a second beside the load. Servers beyond the first are named by their
    /// place.
    ///
    /// # Errors
    /// A URL of metrics cannot be used.
    pub fn observe(&self) -> Result<Observe, TargetError> {
        let server = |(i, pid): (usize, &u32)| Process {
            name: format!("{}-{}", lab::observe::SERVER, i + 1),
            pid: *pid,
            with_children: false,
        };
        let mut processes: Vec<Process> =
            self.pids.iter().enumerate().skip(1).map(server).collect();
        processes.extend(self.observed.iter().cloned());
        let name = |i: usize| match i {
            0 => "metrics".to_owned(),
            _ => format!("metrics-{}", i + 1),
        };
        let endpoint = |(i, url): (usize, &String)| {
            let (headers, only) = (Vec::new(), Vec::new());
            Ok(Endpoint { name: name(i), target: url.parse()?, headers, only })
        };
        let endpoints = self.metrics.iter().enumerate().map(endpoint);
        Ok(Observe { processes, endpoints: endpoints.collect::<Result<_, TargetError>>()? })
    }
}

/// `--seed`
pub const fn seed<A: HasCommon>() -> Flag<A> {
    Flag {
        long: "seed",
        short: None,
        takes: Takes::Value("N", |arguments, value| {
            arguments.common().seed = Some(value::count(value, 0..=u64::MAX)?);
            Ok(())
        }),
        about: "the same number draws the same again [1]",
    }
}

/// `--threads`
pub const fn threads<A: HasCommon>() -> Flag<A> {
    Flag {
        long: "threads",
        short: None,
        takes: Takes::Value("N", |arguments, value| {
            let threads = value::count(value, 1..=THREADS_MAX as u64)? as usize;
            arguments.common().threads = Some(threads);
            Ok(())
        }),
        about: "threads that make the load [1]",
    }
}

/// `--timeout`
pub const fn timeout<A: HasCommon>() -> Flag<A> {
    Flag {
        long: "timeout",
        short: None,
        takes: Takes::Value("TIME", |arguments, value| {
            arguments.common().timeout = Some(value::duration(value, REQUEST_TIMEOUT_MAX)?);
            Ok(())
        }),
        about: "longest time of a request; then it is an error",
    }
}

/// `--ca`
pub const fn ca<A: HasCommon>() -> Flag<A> {
    Flag {
        long: "ca",
        short: None,
        takes: Takes::Value("FILE", |arguments, value| {
            arguments.common().trust.ca = Some(value::file(value)?);
            Ok(())
        }),
        about: "https: trust these certificates (PEM) and no others",
    }
}

/// `--insecure`
pub const fn insecure<A: HasCommon>() -> Flag<A> {
    Flag {
        long: "insecure",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.common().trust.insecure = true),
        about: "https: accept any certificate",
    }
}

/// `--pid`
pub const fn pid<A: HasCommon>() -> Flag<A> {
    Flag {
        long: "pid",
        short: None,
        takes: Takes::Value("PID", |arguments, value| {
            let pid = value::count(value, 1..=u64::from(u32::MAX))? as u32;
            arguments.common().pids.push(pid);
            Ok(())
        }),
        about: "report the server's CPU time for each; repeat for several",
    }
}

/// `--observe`
pub const fn observe<A: HasCommon>() -> Flag<A> {
    Flag {
        long: "observe",
        short: None,
        takes: Takes::Value("NAME=PID", |arguments, value| {
            arguments.common().observed.push(process(value)?);
            Ok(())
        }),
        about: "observe this process, too; with PID+ those it started",
    }
}

/// `--metrics`
pub const fn metrics<A: HasCommon>() -> Flag<A> {
    Flag {
        long: "metrics",
        short: None,
        takes: Takes::Value("URL", |arguments, value| {
            arguments.common().metrics.push(value::text(value)?);
            Ok(())
        }),
        about: "read the server's metrics there once a second",
    }
}

/// `--runs`
pub const fn runs<A: HasCommon>() -> Flag<A> {
    Flag {
        long: "runs",
        short: None,
        takes: Takes::Value("DIR", |arguments, value| {
            arguments.common().runs = Some(value::folder(value)?);
            Ok(())
        }),
        about: "keep the run in DIR [$SARSEN_RUNS, or ./runs]",
    }
}

/// `--no-host`
pub const fn no_host<A: HasCommon>() -> Flag<A> {
    Flag {
        long: "no-host",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.common().no_host = true),
        about: "keep no hash of this machine's name with it",
    }
}

/// `--quiet`
pub const fn quiet<A: HasCommon>() -> Flag<A> {
    Flag {
        long: "quiet",
        short: Some('q'),
        takes: Takes::Nothing(|arguments| arguments.common().quiet = true),
        about: "show nothing while it goes on",
    }
}

/// `--json`
pub const fn json<A: HasCommon>() -> Flag<A> {
    Flag {
        long: "json",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.common().json = true),
        about: "report as one JSON object",
    }
}

/// `NAME=PID`, or `NAME=PID+` for the processes that it started, too.
fn process(value: OsString) -> Result<Process, ValueError> {
    let expected = || ValueError::expected("a name and a process id, as database=812 or nginx=90+");
    let text = value::text(value)?;
    let (name, pid) = text.split_once('=').ok_or_else(expected)?;
    let is_name = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let (pid, with_children) = match pid.strip_suffix('+') {
        Some(pid) => (pid, true),
        None => (pid, false),
    };
    let pid: Option<u32> = pid.parse().ok().filter(|pid| *pid > 0 && is_name);
    Ok(Process { name: name.to_owned(), pid: pid.ok_or_else(expected)?, with_children })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process_of(text: &str) -> Option<Process> {
        process(text.into()).ok()
    }

    #[test]
    fn processes_have_a_name_and_perhaps_children() {
        let process = |name: &str, pid, with_children| {
            Some(Process { name: name.to_owned(), pid, with_children })
        };
        assert_eq!(process_of("nginx=90+"), process("nginx", 90, true));
        assert_eq!(process_of("data_base-2=7"), process("data_base-2", 7, false));
        for bad in ["", "7", "=7", "a=", "a=0", "a=x", "a b=7", "a=7++", "a=-1", "a=4294967296"] {
            assert_eq!(process_of(bad), None, "{bad}");
        }
    }

    #[test]
    fn servers_and_pages_beyond_the_first_have_numbers() {
        let url = "http://h/metrics".to_owned();
        let common = Common {
            pids: vec![1, 2, 3],
            observed: vec![Process { name: "a".into(), pid: 9, with_children: true }],
            metrics: vec![url.clone(), url],
            ..Common::default()
        };
        let observe = common.observe().expect("URLs");
        let names: Vec<&str> = observe.processes.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["server-2", "server-3", "a"]);
        let names: Vec<&str> = observe.endpoints.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["metrics", "metrics-2"]);
        let bad = Common { metrics: vec!["h".into()], ..Common::default() };
        assert!(bad.observe().is_err());
    }
}
