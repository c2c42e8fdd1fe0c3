//! The servers that are measured: started on a free port, killed when dropped.

use super::{BenchError, write_error};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A running server.
pub struct Running {
    child: Child,
    /// `http://HOST:PORT`.
    pub origin: String,
    /// Whether all its work is done by the one process.
    pub is_one_process: bool,
    /// What wrk, which varies nothing, is to ask for.
    pub wrk_path: &'static str,
}

impl Running {
    /// The binary on a new repository in `data`.
    pub fn sarsen(sarsen: &Path, app: Option<&Path>, data: &Path) -> Result<Self, BenchError> {
        let mut command = Command::new(sarsen);
        command.arg("serve").args(app).arg("--data").arg(data);
        command.args(["--listen", "127.0.0.1:0", "--log", "warn"]);
        Self::saying_its_url(sarsen, &mut command, "/db/documents/1")
    }

    /// The same with so many gems.
    pub fn sarsen_with(
        sarsen: &Path,
        app: Option<&Path>,
        data: &Path,
        gems: usize,
    ) -> Result<Self, BenchError> {
        let mut command = Command::new(sarsen);
        command.arg("serve").args(app).arg("--data").arg(data);
        command.args(["--listen", "127.0.0.1:0", "--log", "warn"]);
        command.args(["--gems", &gems.to_string()]);
        Self::saying_its_url(sarsen, &mut command, "/db/documents/1")
    }

    /// The lab's null server, on one core.
    pub fn null_server(sarsen: &Path, core: &str, body: usize) -> Result<Self, BenchError> {
        let mut command = super::lab::pinned(core, sarsen);
        command.args(["null-server", "--listen", "127.0.0.1:0", "--body", &body.to_string()]);
        Self::saying_its_url(sarsen, &mut command, "/")
    }

    /// A server that says on a line of stdout where it is.
    fn saying_its_url(
        program: &Path,
        command: &mut Command,
        wrk_path: &'static str,
    ) -> Result<Self, BenchError> {
        let mut child = start(program, command.stdout(Stdio::piped()))?;
        let mut said = String::new();
        let lines = child.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines);
        for line in lines.map_while(Result::ok) {
            if let Some(url) = line.strip_prefix("url") {
                let origin = url.trim().trim_end_matches('/').to_owned();
                return Ok(Self { child, origin, is_one_process: true, wrk_path });
            }
            said.push_str(&line);
        }
        // Its own words are on stderr already; there is nothing left to kill if this fails.
        let _ended = child.kill();
        let _reaped = child.wait();
        Err(BenchError::Server { program: program.to_owned(), said })
    }

    /// nginx with one worker for each core, answering every request with `body`.
    pub fn nginx(folder: &Path, body: &str) -> Result<Self, BenchError> {
        Self::nginx_by(Command::new("nginx"), folder, body, "auto")
    }

    /// nginx with one worker, on one core.
    pub fn nginx_on(core: &str, folder: &Path, body: &str) -> Result<Self, BenchError> {
        Self::nginx_by(super::lab::pinned(core, Path::new("nginx")), folder, body, "1")
    }

    /// nginx with one worker for each core, with the files of `folder`, which clients may put.
    pub fn nginx_files(folder: &Path) -> Result<Self, BenchError> {
        let location = format!(
            "root {};\nsendfile on;\ndav_methods PUT;\nclient_max_body_size 0;\n\
             client_body_buffer_size 1m;",
            folder.display()
        );
        Self::nginx_with(Command::new("nginx"), folder, &location, "auto")
    }

    fn nginx_by(
        command: Command,
        folder: &Path,
        body: &str,
        workers: &str,
    ) -> Result<Self, BenchError> {
        let location = format!("default_type application/json;\nreturn 200 '{body}';");
        Self::nginx_with(command, folder, &location, workers)
    }

    fn nginx_with(
        mut command: Command,
        folder: &Path,
        location: &str,
        workers: &str,
    ) -> Result<Self, BenchError> {
        let port = free_port().map_err(|e| write_error("a socket", e))?;
        let configuration = folder.join("nginx.conf");
        fs::write(&configuration, nginx_configuration(port, location, workers))
            .map_err(|e| write_error(&configuration, e))?;
        let program = Path::new("nginx");
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
        command.env("PATH", path).arg("-p").arg(folder).args(["-e", "stderr", "-c", "nginx.conf"]);
        let child = start(program, &mut command)?;
        let origin = format!("http://127.0.0.1:{port}");
        let server = Self { child, origin, is_one_process: false, wrk_path: "/" };
        server.listening(program, port)
    }

    /// A cache that a command starts on a port of loopback.
    pub fn cache(program: &Path, mut command: Command, port: u16) -> Result<Self, BenchError> {
        let child = start(program, command.stdout(Stdio::null()))?;
        let origin = format!("memcached://127.0.0.1:{port}");
        let server = Self { child, origin, is_one_process: true, wrk_path: "" };
        server.listening(program, port)
    }

    /// Waits until it is there.
    fn listening(mut self, program: &Path, port: u16) -> Result<Self, BenchError> {
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Ok(Some(status)) = self.child.try_wait() {
                let said = status.to_string();
                return Err(BenchError::Server { program: program.to_owned(), said });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(self)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // SIGTERM and not SIGKILL: nginx ends its workers then. What a server left behind is
        // deleted before the next round.
        let asked = Command::new("kill").arg(self.child.id().to_string()).status();
        if !asked.is_ok_and(|status| status.success()) {
            let _already_gone = self.child.kill();
        }
        let _reaped = self.child.wait();
    }
}

fn start(program: &Path, command: &mut Command) -> Result<Child, BenchError> {
    let started = command.stdin(Stdio::null()).spawn();
    started.map_err(|source| BenchError::Start { program: program.to_owned(), source })
}

/// A port of loopback that nobody listens at.
pub(super) fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn nginx_configuration(port: u16, location: &str, workers: &str) -> String {
    format!(
        "daemon off;\nworker_processes {workers};\npid nginx.pid;\nevents {{}}\nhttp {{\n\
         access_log off;\nkeepalive_requests 1000000000;\nclient_body_temp_path .;\n\
         proxy_temp_path .;\nfastcgi_temp_path .;\nuwsgi_temp_path .;\nscgi_temp_path .;\n\
         server {{\nlisten 127.0.0.1:{port};\nlocation / {{\n{location}\n}}\n}}\n}}\n"
    )
}
