//! nginx as it comes from Debian, in a folder of its own.

use super::certificates::Identity;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub struct Nginx {
    process: Child,
    folder: tempfile::TempDir,
    address: SocketAddr,
}

/// How long nginx may take to listen.
const PATIENCE: Duration = Duration::from_secs(120);

/// What it answers.
pub const BODY: &str = "as it always is";

impl Nginx {
    /// One that listens with `listen` (as `ssl http2`) and the directives of `more`.
    pub fn start(listen: &str, identity: Option<&Identity>, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Another program may take the port before nginx does; then the test fails and says so.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let path = folder.path().display();
        let tls = identity.map_or(String::new(), |identity| {
            let (certificate, key) = (identity.certificate.display(), identity.key.display());
            format!("ssl_certificate {certificate}; ssl_certificate_key {key};")
        });
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {path}/{kind};\n"))
            .concat();
        let config = format!(
            "daemon off; master_process off; pid {path}/pid; error_log {path}/error.log;\n\
             events {{ worker_connections 512; }}\n\
             http {{ {temporary} log_format short '$connection $request $status $ssl_protocol';\n\
             access_log {path}/access.log short;\n\
             server {{ listen {address} {listen}; {tls} {more}\n\
             location / {{ return 200 \"{BODY}\"; }} }} }}\n"
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, config).unwrap();
        let process = Command::new("/usr/sbin/nginx")
            .arg("-p")
            .arg(folder.path())
            .arg("-c")
            .arg(&file)
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx runs; scripts/setup.sh nginx installs it");
        let mut nginx = Self { process, folder, address };
        nginx.wait();
        nginx
    }

    fn wait(&mut self) {
        let begin = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            let ended = self.process.try_wait().unwrap();
            let late = begin.elapsed() > PATIENCE;
            assert!(ended.is_none() && !late, "nginx does not listen: {}", self.log("error.log"));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    pub fn url(&self, scheme: &str, host: &str) -> String {
        format!("{scheme}://{host}:{}/", self.address.port())
    }

    /// A line for each request: number of its connection, request line, status, version of TLS.
    pub fn requests(&self) -> Vec<String> {
        self.log("access.log").lines().map(str::to_owned).collect()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // It may have ended by itself, and the test has said so.
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}
