//! The servers: each on a free port of loopback and on one core, with an empty folder, ended when
//! dropped.

use super::{AtomPub, CORES};
use crate::bench::lab::pinned;
use crate::bench::server::free_port;
use crate::bench::table::said;
use crate::bench::{BenchError, write_error};
use std::fs::{self, File, Permissions};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest wait until a server serves. Longer: it is ended, and the run has failed.
const START_MAX: Duration = Duration::from_secs(60);

/// Longest wait for a server to end when asked to. Longer: it is killed.
const STOP_MAX: Duration = Duration::from_secs(30);

/// Whose server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Ours.
    Sarsen,
    /// Apache Abdera on Jetty (`peers/abdera`).
    Abdera,
    /// Apache httpd with mod_dav: files alone.
    Dav,
}

impl Side {
    /// In the order of the table.
    pub const ALL: [Self; 3] = [Self::Sarsen, Self::Abdera, Self::Dav];

    /// In the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sarsen => "Sarsen",
            Self::Abdera => "Abdera on Jetty",
            Self::Dav => "httpd mod_dav, PUT",
        }
    }

    /// The one that a command line names.
    pub fn named(name: &str) -> Option<Self> {
        let names = ["sarsen", "abdera", "dav"];
        names.iter().position(|known| *known == name).map(|place| Self::ALL[place])
    }

    /// Where the feed of the publication is that is read.
    pub fn feed(self) -> &'static str {
        match self {
            Self::Sarsen => "/atom/archive/feed",
            Self::Abdera | Self::Dav => "/atom/archive/entries",
        }
    }

    /// What was measured.
    pub fn version(self, bench: &AtomPub) -> String {
        match self {
            Self::Sarsen => said(&bench.sarsen.to_string_lossy(), &["--version"]),
            Self::Abdera => "Abdera 1.1.3, Jetty 9.4.57".to_owned(),
            Self::Dav => said("apache2", &["-v"]),
        }
    }
}

/// A running server.
pub struct Running {
    pub side: Side,
    child: Child,
    /// `http://HOST:PORT`.
    pub origin: String,
}

impl Running {
    /// Starts `side` and waits until it serves.
    pub fn start(side: Side, bench: &AtomPub, data: &Path) -> Result<Self, BenchError> {
        let port = free_port().map_err(|e| write_error("a socket", e))?;
        let mut command = match side {
            Side::Sarsen => sarsen(bench, data, port),
            Side::Abdera => abdera(bench, data, port),
            Side::Dav => dav(data, port)?,
        };
        let path = bench.folder.join("said");
        let output = File::create(&path).map_err(|e| write_error(&path, e))?;
        let errors = output.try_clone().map_err(|e| write_error(&path, e))?;
        let program = PathBuf::from(side.name());
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        let child = command.spawn();
        let child =
            child.map_err(|source| BenchError::Start { program: program.clone(), source })?;
        let mut running = Self { side, child, origin: format!("http://127.0.0.1:{port}") };
        let start = Instant::now();
        while start.elapsed() < START_MAX && matches!(running.child.try_wait(), Ok(None)) {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(running);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let said = fs::read_to_string(&path).unwrap_or_default();
        Err(BenchError::Server { program, said })
    }

    /// How the lab is told to read its CPU time. `taskset` and the shell have become the server.
    pub fn observed(&self) -> Vec<(&'static str, String)> {
        let pid = self.child.id();
        match self.side {
            Side::Sarsen | Side::Abdera => vec![("--pid", pid.to_string())],
            // Its workers are processes of their own.
            Side::Dav => vec![("--observe", format!("server={pid}+"))],
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status();
        let start = Instant::now();
        while asked.as_ref().is_ok_and(|status| status.success()) && start.elapsed() < STOP_MAX {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _already_gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn sarsen(bench: &AtomPub, data: &Path, port: u16) -> Command {
    let mut command = pinned(CORES[0], &bench.sarsen);
    command.arg("serve").arg("--data").arg(data);
    command.args(["--listen", &format!("127.0.0.1:{port}"), "--log", "warn"]);
    command
}

fn abdera(bench: &AtomPub, data: &Path, port: u16) -> Command {
    let place = bench.peers.join("abdera");
    let classes = format!("{0}/classes:{0}/lib/*", place.display());
    let mut command = pinned(CORES[0], Path::new("java"));
    command.args(["-Xmx2g", "-cp", &classes, "peer.Server"]).arg(data).arg(port.to_string());
    command
}

/// The modules and settings of Debian's httpd that files need, and nothing else: no access log.
fn dav(data: &Path, port: u16) -> Result<Command, BenchError> {
    let files = data.join("files").join("dav");
    let made = |path: &Path| -> Result<(), BenchError> {
        fs::create_dir_all(path).map_err(|e| write_error(path, e))?;
        // Its workers are another user's.
        let open = fs::set_permissions(path, Permissions::from_mode(0o777));
        open.map_err(|e| write_error(path, e))
    };
    made(&data.join("locks"))?;
    made(&files)?;
    let modules = ["mpm_event", "authz_core", "dav", "dav_fs"];
    let loaded: String = modules
        .iter()
        .map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"))
        .collect();
    let place = data.display();
    let text = format!(
        "{loaded}ServerRoot {place}\nServerName localhost\nListen 127.0.0.1:{port}\nUser www-data\n\
         Group www-data\nPidFile {place}/pid\nErrorLog {place}/errors\nLogLevel warn\n\
         KeepAlive On\nKeepAliveTimeout 60\nMaxKeepAliveRequests 0\nServerLimit 1\nStartServers 1\n\
         ThreadsPerChild 64\nMaxRequestWorkers 64\nMaxSpareThreads 64\nDocumentRoot {place}/files\n\
         DavLockDB {place}/locks/db\n<Directory {place}/files>\nDav On\nRequire all granted\n\
         </Directory>\n"
    );
    let path = data.join("httpd.conf");
    fs::write(&path, text).map_err(|e| write_error(&path, e))?;
    let mut command = pinned(CORES[0], Path::new("/usr/sbin/apache2"));
    command.args(["-D", "FOREGROUND", "-f"]).arg(&path);
    Ok(command)
}
