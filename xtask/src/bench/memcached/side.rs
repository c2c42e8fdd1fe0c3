//! The two sides: Sarsen's cache and Debian's memcached, with the same memory and threads.

use super::{CORES, Memcached};
use crate::bench::lab::pinned;
use crate::bench::server::{Running, free_port};
use crate::bench::table::said;
use crate::bench::{BenchError, write_error};
use std::path::Path;
use std::process::Command;

/// Memory for items, in MiB: more than any row needs, so that nothing is evicted.
const MEMORY_MIB: usize = 1024;

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Sarsen,
    Memcached,
}

impl Side {
    /// Sarsen and memcached; memcached twice, where that is asked for or Sarsen has no cache.
    pub fn pair(bench: &Memcached) -> [Self; 2] {
        let help = Command::new(&bench.sarsen).args(["help", "serve"]).output();
        let has_cache =
            help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains("--memcached "));
        if !has_cache && !bench.is_same {
            eprintln!(
                "bench-memcached: this binary has no --memcached; memcached is on both sides"
            );
        }
        match has_cache && !bench.is_same {
            true => [Self::Sarsen, Self::Memcached],
            false => [Self::Memcached, Self::Memcached],
        }
    }

    /// In the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sarsen => "sarsen",
            Self::Memcached => "memcached",
        }
    }

    /// What it says its version is.
    pub fn version(self, bench: &Memcached) -> String {
        match self {
            Self::Sarsen => said(&bench.sarsen.display().to_string(), &["version"]),
            Self::Memcached => said("memcached", &["-V"]),
        }
    }

    /// How it is called, `PORT` and `THREADS` left open.
    pub fn command_line(self) -> String {
        match self {
            Self::Sarsen => format!(
                "sarsen serve --data DIR --memcached 127.0.0.1:PORT --cache-memory {MEMORY_MIB}M \
                 --cache-threads THREADS"
            ),
            Self::Memcached => {
                format!("memcached -l 127.0.0.1 -p PORT -U 0 -c 4096 -m {MEMORY_MIB} -t THREADS")
            }
        }
    }

    /// Starts it: on one core if it has one thread. `place` tells data of two apart.
    pub fn start(
        self,
        bench: &Memcached,
        threads: usize,
        place: usize,
    ) -> Result<Running, BenchError> {
        let port = free_port().map_err(|e| write_error("a socket", e))?;
        let program = match self {
            Self::Sarsen => bench.sarsen.as_path(),
            Self::Memcached => Path::new("memcached"),
        };
        let mut command = match threads {
            1 => pinned(CORES[0], program),
            _ => Command::new(program),
        };
        match self {
            Self::Sarsen => {
                let data = bench.folder.join(format!("data-{place}"));
                command.arg("serve").arg("--data").arg(data);
                command.args(["--listen", "127.0.0.1:0", "--log", "warn"]);
                command.args(["--memcached", &format!("127.0.0.1:{port}")]);
                command.args(["--cache-memory", &format!("{MEMORY_MIB}M")]);
                command.args(["--cache-threads", &threads.to_string()]);
            }
            Self::Memcached => {
                // The user matters to root only.
                command.args(["-u", "root", "-l", "127.0.0.1", "-U", "0", "-c", "4096"]);
                command.args(["-p", &port.to_string(), "-m", &MEMORY_MIB.to_string()]);
                command.args(["-t", &threads.to_string()]);
            }
        }
        Running::cache(program, command, port)
    }
}
