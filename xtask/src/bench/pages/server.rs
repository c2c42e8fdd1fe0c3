//! The two sides: Sarsen with `apps/pages`, and Express with a PostgreSQL of its own. Each is
//! started with an empty folder and ended when dropped.

use super::{Pages, Side};
use crate::bench::client::send_as;
use crate::bench::cpu;
use crate::bench::server::free_port;
use crate::bench::{BenchError, write_error};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for a server to end when asked to. Longer: it is killed.
const STOP_MAX: Duration = Duration::from_secs(30);

/// PostgreSQL as one would set it for this load on this machine; what makes a commit durable is as
/// it comes.
const POSTGRES: [&str; 12] = [
    "shared_buffers=1GB",
    "max_wal_size=8GB",
    "checkpoint_timeout=30min",
    "wal_buffers=64MB",
    "work_mem=16MB",
    "effective_cache_size=8GB",
    "random_page_cost=1.1",
    "effective_io_concurrency=200",
    "jit=off",
    "max_connections=100",
    "listen_addresses=",
    "autovacuum=on",
];

/// A process that is asked to end when it is dropped.
pub struct Program {
    child: Child,
    /// The signal that ends it at once but in order.
    signal: &'static str,
}

impl Program {
    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let pid = self.child.id().to_string();
        let _asked = Command::new("kill").args(["-s", self.signal, &pid]).status();
        let start = Instant::now();
        while start.elapsed() < STOP_MAX && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        // What it left behind is deleted before the next one starts.
        let _already_gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A side that serves.
pub struct Server {
    application: Program,
    /// Dropped after the application, which is connected to it.
    database: Option<Program>,
    /// `HOST:PORT`.
    pub authority: String,
    /// From the start of the application's process to its first reply.
    pub first_reply: Duration,
}

impl Server {
    /// Starts `side` with so many gems or processes, and fills it.
    pub fn start(side: Side, gems: usize, pages: &Pages) -> Result<Self, BenchError> {
        let database = match side {
            Side::Sarsen => None,
            Side::Express => Some(postgres(&pages.folder)?),
        };
        if side == Side::Express {
            run(Command::new("node").arg(pages.express.join("fill.js")).arg(&pages.folder))?;
        }
        let mut command = match side {
            Side::Sarsen => sarsen(pages, Some(&pages.application), gems),
            Side::Express => express(pages, gems)?,
        };
        let began = Instant::now();
        let mut server = Self { database, ..Self::alone(&mut command)? };
        server.ask("/hello", None)?;
        server.first_reply = began.elapsed();
        if side == Side::Sarsen {
            for first in (0..super::row::KEYS).step_by(1000) {
                server.ask(&format!("/fill?first={first}"), Some("x=1"))?;
            }
        }
        Ok(server)
    }

    /// Starts Sarsen, with an application or without, and asks nothing.
    pub fn start_bare(
        pages: &Pages,
        application: Option<&Path>,
        gems: usize,
    ) -> Result<Self, BenchError> {
        Self::alone(&mut sarsen(pages, application, gems))
    }

    /// Starts Sarsen so that it serves what is edited.
    pub fn start_watched(pages: &Pages, application: &Path) -> Result<Self, BenchError> {
        Self::alone(sarsen(pages, Some(application), 1).arg("--watch"))
    }

    fn alone(command: &mut Command) -> Result<Self, BenchError> {
        let (application, origin) = start(command)?;
        let authority = origin.trim_start_matches("http://").trim_end_matches('/').to_owned();
        Ok(Self { application, database: None, authority, first_reply: Duration::ZERO })
    }

    /// The body of a page; an error unless its status is 2xx.
    pub fn ask(&self, path: &str, form: Option<&str>) -> Result<String, BenchError> {
        let method = if form.is_some() { "POST" } else { "GET" };
        let sent = send_as(&self.authority, (method, path), super::row::FORM, form.unwrap_or(""));
        let reply = sent.and_then(|reply| reply.success());
        reply.map(|reply| reply.body).map_err(|why| BenchError::Load { command: path.into(), why })
    }

    /// The CPU time that it and what it needs has used so far.
    pub fn cpu(&self) -> Duration {
        let database = self.database.as_ref().map(|program| cpu::of_tree(program.child.id()));
        cpu::of_tree(self.application.child.id()) + database.unwrap_or_default()
    }

    /// Memory that it and what it needs holds, each page counted once (`Pss`), in MiB.
    pub fn memory_mib(&self) -> f64 {
        let database = self.database.as_ref().map(|program| program.child.id());
        let all = [Some(self.application.child.id()), database].into_iter().flatten();
        all.map(cpu::memory_of_tree).sum::<u64>() as f64 / 1024.0
    }
}

/// Starts a server and waits for the line on which it tells its address.
fn start(command: &mut Command) -> Result<(Program, String), BenchError> {
    let program = PathBuf::from(command.get_program());
    let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let child = started.map_err(|source| BenchError::Start { program: program.clone(), source })?;
    let mut running = Program { child, signal: "TERM" };
    let mut said = String::new();
    let stdout = running.child.stdout.take().map(BufReader::new);
    for line in stdout.into_iter().flat_map(BufRead::lines).map_while(Result::ok) {
        if let Some(url) = line.strip_prefix("url") {
            return Ok((running, url.trim().to_owned()));
        }
        said.push_str(&line);
    }
    Err(BenchError::Server { program, said })
}

fn sarsen(pages: &Pages, application: Option<&Path>, gems: usize) -> Command {
    let mut command = Command::new(&pages.sarsen);
    command.arg("serve").args(application).arg("--data").arg(pages.folder.join("sarsen"));
    command.args(["--listen", "127.0.0.1:0", "--log", "warn", "--gems", &gems.to_string()]);
    command
}

fn express(pages: &Pages, processes: usize) -> Result<Command, BenchError> {
    let port = free_port().map_err(|e| write_error("a socket", e))?;
    let mut command = Command::new("node");
    command.env("NODE_ENV", "production").arg(pages.express.join("server.js"));
    command.arg(&pages.folder).args([port.to_string(), processes.to_string()]);
    Ok(command)
}

/// A new cluster, listening on a socket in the folder. PostgreSQL does not run as root, so it runs
/// as the user that Debian's package makes.
pub fn postgres(folder: &Path) -> Result<Program, BenchError> {
    let bin = postgres_programs()?;
    let data = folder.join("postgres");
    let owner = if is_root() { "postgres" } else { "" };
    if !owner.is_empty() {
        run(Command::new("chown").arg(owner).arg(folder))?;
    }
    let mut initdb = as_user(owner, &bin.join("initdb"));
    initdb.args(["--username", "postgres", "--auth", "trust", "--encoding", "UTF8"]);
    run(initdb.args(["--no-instructions", "-D"]).arg(&data))?;
    let mut server = as_user(owner, &bin.join("postgres"));
    server.arg("-D").arg(&data).arg("-k").arg(folder);
    for setting in POSTGRES {
        server.args(["-c", setting]);
    }
    let said = folder.join("postgres.log");
    let output = fs::File::create(&said).map_err(|e| write_error(&said, e))?;
    let errors = output.try_clone().map_err(|e| write_error(&said, e))?;
    let program = bin.join("postgres");
    let child = server.stdin(Stdio::null()).stdout(output).stderr(errors).spawn();
    let child = child.map_err(|source| BenchError::Start { program: program.clone(), source })?;
    // A fast shutdown; the others wait for clients.
    let mut running = Program { child, signal: "INT" };
    let ready = |bin: &Path| {
        let asked = Command::new(bin.join("pg_isready")).arg("-h").arg(folder).output();
        asked.is_ok_and(|output| output.status.success())
    };
    while !ready(&bin) {
        if let Ok(Some(_)) = running.child.try_wait() {
            let said = fs::read_to_string(&said).unwrap_or_default();
            return Err(BenchError::Server { program, said });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(running)
}

fn postgres_programs() -> Result<PathBuf, BenchError> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let found = versions.map(|entry| entry.path().join("bin")).find(|bin| bin.is_dir());
    found.ok_or_else(|| BenchError::Start {
        program: "/usr/lib/postgresql/*/bin/postgres".into(),
        source: std::io::ErrorKind::NotFound.into(),
    })
}

fn is_root() -> bool {
    let said = Command::new("id").arg("-u").output();
    said.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// `program`, as `user` unless that is empty. setpriv becomes the program, so that its process is
/// the one that was started.
fn as_user(user: &str, program: &Path) -> Command {
    if user.is_empty() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", user, "--regid", user, "--init-groups"]).arg(program);
    command
}

fn run(command: &mut Command) -> Result<(), BenchError> {
    let program = PathBuf::from(command.get_program());
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|source| BenchError::Start { program: program.clone(), source })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(BenchError::Server { program, said })
}
