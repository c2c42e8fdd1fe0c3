//! The servers: each is started on free ports of loopback with an empty folder, and ended when
//! dropped. All that speak TLS have the same certificate.

use super::Documents;
use super::request::{self, FOUND_REPLY_BYTES};
use super::row::Transport;
use super::side::Side;
use crate::bench::server::free_port;
use crate::bench::{BenchError, write_error};
use std::fs::{self, File};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest wait until a server serves. Longer: it is ended, and the benchmark fails.
const START_MAX: Duration = Duration::from_secs(60);

/// Longest wait for a server to end when asked to. Longer: it is killed.
const STOP_MAX: Duration = Duration::from_secs(30);

/// Xenon's default: every fifth of its maintenances commits the index.
const XENON_MAINTENANCE_MS: &str = "1000";

/// What Xenon's libraries reach into since Java 17 (`--add-opens`).
const XENON_OPENS: [&str; 4] =
    ["java.base/java.lang", "java.base/java.util", "java.base/java.nio", "java.base/sun.nio.ch"];

/// A running server.
pub struct Running {
    /// Which.
    pub side: Side,
    child: Child,
    ports: Ports,
}

/// `http2` differs from `http1` where one port cannot speak both.
#[derive(Clone, Copy)]
struct Ports {
    http1: u16,
    http2: u16,
    tls: u16,
}

impl Running {
    /// Starts `side` and waits until it serves.
    pub fn start(side: Side, documents: &Documents) -> Result<Self, BenchError> {
        let folder = &documents.folder;
        make_certificate(folder)?;
        let port = || free_port().map_err(|e| write_error("a socket", e));
        let http1 = port()?;
        let http2 = if side == Side::Nginx { port()? } else { http1 };
        let ports = Ports { http1, http2, tls: port()? };
        let mut command = match side {
            Side::Sarsen => sarsen(documents, ports),
            Side::Nginx => nginx(documents, ports)?,
            Side::Xenon => xenon(documents, ports),
            Side::PocketBase => pocketbase(documents, ports),
        };
        let said = folder.join("said");
        let output = File::create(&said).map_err(|e| write_error(&said, e))?;
        let errors = output.try_clone().map_err(|e| write_error(&said, e))?;
        let program = PathBuf::from(command.get_program());
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        let child = command.spawn();
        let child =
            child.map_err(|source| BenchError::Start { program: program.clone(), source })?;
        let mut running = Self { side, child, ports };
        if running.wait(&said) {
            return Ok(running);
        }
        let said = fs::read_to_string(&said).unwrap_or_default();
        Err(BenchError::Server { program, said })
    }

    /// Whether it came to serve. nginx says nothing, all others a line that starts with `url`.
    fn wait(&mut self, said: &Path) -> bool {
        let start = Instant::now();
        while start.elapsed() < START_MAX && matches!(self.child.try_wait(), Ok(None)) {
            let said = fs::read_to_string(said).unwrap_or_default();
            let told = self.side == Side::Nginx || said.lines().any(|line| line.starts_with("url"));
            let open = |port| TcpStream::connect(("127.0.0.1", port)).is_ok();
            if told && open(self.ports.http1) && open(self.ports.tls) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// `HOST:PORT` without TLS.
    pub fn authority(&self) -> String {
        format!("127.0.0.1:{}", self.ports.http1)
    }

    /// `SCHEME://HOST:PORT`.
    pub fn origin(&self, transport: Transport) -> String {
        let (scheme, port) = match transport {
            Transport::Http1 => ("http", self.ports.http1),
            Transport::Http2 => ("http", self.ports.http2),
            Transport::Tls1 | Transport::Tls2 => ("https", self.ports.tls),
        };
        format!("{scheme}://127.0.0.1:{port}")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // SIGTERM and not SIGKILL: nginx ends its workers then.
        let _asked = Command::new("kill").arg(self.child.id().to_string()).status();
        let start = Instant::now();
        while start.elapsed() < STOP_MAX && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        // What a server left behind is deleted before the next one starts.
        let _already_gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// An RSA key, because Xenon reads no other. Handshakes are not measured: connections stay open.
fn make_certificate(folder: &Path) -> Result<(), BenchError> {
    let program = PathBuf::from("openssl");
    let mut command = Command::new(&program);
    command.current_dir(folder).args(["req", "-x509", "-newkey", "rsa:2048", "-nodes"]);
    command.args(["-keyout", "key.pem", "-out", "certificate.pem", "-days", "2"]);
    command.args(["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]);
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|source| BenchError::Start { program: program.clone(), source })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(BenchError::Server { program, said })
}

fn loopback(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

fn sarsen(documents: &Documents, ports: Ports) -> Command {
    let folder = &documents.folder;
    let mut command = Command::new(&documents.sarsen);
    command.arg("serve").arg("--data").arg(folder.join("data"));
    command.args(["--listen", &loopback(ports.http1), "--tls-listen", &loopback(ports.tls)]);
    command.arg("--tls-cert").arg(folder.join("certificate.pem"));
    command.arg("--tls-key").arg(folder.join("key.pem")).args(["--log", "warn"]);
    command
}

fn xenon(documents: &Documents, ports: Ports) -> Command {
    let folder = &documents.folder;
    let peer = documents.peers.join("xenon");
    let mut command = Command::new("java");
    command.arg("-Xmx4g");
    command.args(XENON_OPENS.map(|package| format!("--add-opens={package}=ALL-UNNAMED")));
    let classes = format!("{0}/classes:{0}/lib/*", peer.display());
    command.args(["-cp", &classes, "peer.Host"]).arg(folder.join("data"));
    command.args([&ports.http1.to_string(), XENON_MAINTENANCE_MS, &ports.tls.to_string()]);
    command.args([folder.join("certificate.pem"), folder.join("key.pem")]);
    command
}

fn pocketbase(documents: &Documents, ports: Ports) -> Command {
    let folder = &documents.folder;
    let mut command = Command::new(documents.peers.join("pocketbase/peer"));
    command.arg(folder.join("data")).args([loopback(ports.http1), loopback(ports.tls)]);
    command.args([folder.join("certificate.pem"), folder.join("key.pem")]);
    command
}

fn nginx(documents: &Documents, ports: Ports) -> Result<Command, BenchError> {
    let folder = &documents.folder;
    let configuration = folder.join("nginx.conf");
    fs::write(&configuration, nginx_configuration(ports))
        .map_err(|e| write_error(&configuration, e))?;
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
    let mut command = Command::new("nginx");
    command.env("PATH", path).arg("-p").arg(folder).args(["-e", "stderr", "-c", "nginx.conf"]);
    Ok(command)
}

/// One worker for each core. A string may have at most 4 KiB, so a long reply is put together.
fn nginx_configuration(ports: Ports) -> String {
    let document = request::document("0123456789abcdef", "g0");
    let found = "x".repeat(FOUND_REPLY_BYTES / 10);
    let replies = format!(
        "set $found '{found}';\n\
         location /get {{ return 200 '{document}'; }}\n\
         location /not-modified {{ return 304; }}\n\
         location /changed {{ return 204; }}\n\
         location /created {{ return 201; }}\n\
         location /query {{ return 200 \"{}\"; }}\n",
        "$found".repeat(10)
    );
    let server = |listen: &str| {
        format!(
            "server {{\nlisten 127.0.0.1:{listen};\ndefault_type application/json;\n\
             ssl_protocols TLSv1.2 TLSv1.3;\n\
             ssl_certificate certificate.pem;\nssl_certificate_key key.pem;\n{replies}}}\n"
        )
    };
    let servers = [
        server(&ports.http1.to_string()),
        server(&format!("{} http2", ports.http2)),
        server(&format!("{} ssl http2", ports.tls)),
    ];
    format!(
        "daemon off;\nworker_processes auto;\npid nginx.pid;\nevents {{}}\nhttp {{\n\
         access_log off;\nkeepalive_requests 1000000000;\nclient_body_temp_path .;\n\
         proxy_temp_path .;\nfastcgi_temp_path .;\nuwsgi_temp_path .;\nscgi_temp_path .;\n{}}}\n",
        servers.concat()
    )
}
