//! nginx as it comes from Debian, with files in a folder of its own.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub struct Nginx {
    process: Child,
    folder: tempfile::TempDir,
    address: SocketAddr,
}

/// How long nginx may take to listen.
const PATIENCE: Duration = Duration::from_secs(120);

impl Nginx {
    /// One that serves these files, and what the directives say.
    pub fn start(files: &[(&str, &str)], directives: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = folder.path().join("files").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        // Another program may take the port before nginx does; then the test fails and says so.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let path = folder.path().display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {path}/{kind};\n"))
            .concat();
        let config = format!(
            "daemon off; master_process off; pid {path}/pid; error_log {path}/error.log;\n\
             events {{ worker_connections 512; }}\n\
             http {{ {temporary} log_format short '$connection $request $status';\n\
             types {{ text/html html; text/css css; text/javascript js; image/png png; }}\n\
             access_log {path}/access.log short;\n\
             server {{ listen {address}; root {path}/files; {directives} }} }}\n"
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, config).unwrap();
        let mut nginx = Self { process: spawn(folder.path(), &file), folder, address };
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

    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// How often this was requested and had this status.
    pub fn count(&self, path: &str, status: u16) -> usize {
        let wanted = format!(" GET {path} HTTP/1.1 {status}");
        self.log("access.log").lines().filter(|line| line.ends_with(&wanted)).count()
    }

    /// On how many connections.
    pub fn connections(&self) -> usize {
        let log = self.log("access.log");
        let numbers = log.lines().filter_map(|line| line.split(' ').next());
        numbers.collect::<std::collections::HashSet<_>>().len()
    }
}

fn spawn(folder: &Path, config: &Path) -> Child {
    Command::new("/usr/sbin/nginx")
        .arg("-p")
        .arg(folder)
        .arg("-c")
        .arg(config)
        .stderr(Stdio::null())
        .spawn()
        .expect("nginx runs; scripts/setup.sh nginx installs it")
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // It may have ended by itself, and the test has said so.
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}
