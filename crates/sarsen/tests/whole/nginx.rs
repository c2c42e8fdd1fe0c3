//! nginx as it comes from Debian, in a folder of its own, with a site that a test writes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long it may take to listen, or to write a line down.
const PATIENCE: Duration = Duration::from_secs(120);

/// Ends what is asked for in the log.
const MARK: &str = "/the-end-of-it";

pub struct Nginx {
    process: Child,
    folder: TempDir,
    pub address: SocketAddr,
}

impl Nginx {
    /// One with `site` within `http`; ADDRESS and FOLDER in it are replaced.
    pub fn start(site: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // Another program may take the port before nginx does; then the test fails and says so.
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("its address");
        drop(free);
        let path = folder.path().to_str().expect("UTF-8");
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {path}/{kind};\n"))
            .concat();
        let site = site.replace("ADDRESS", &address.to_string()).replace("FOLDER", path);
        let config = format!(
            "daemon off; master_process off; pid {path}/pid; error_log {path}/error.log;\n\
             events {{ worker_connections 512; }}\nhttp {{ {temporary} access_log off; {site} }}\n"
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, config).expect("a file");
        let process = Command::new("/usr/sbin/nginx")
            .args(["-p", path, "-c"])
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
            let ended = self.process.try_wait().expect("its state");
            let late = begin.elapsed() > PATIENCE;
            assert!(ended.is_none() && !late, "nginx does not listen: {}", self.read("error.log"));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// What it has written to a log since this was called last, of all requests that have been
    /// answered.
    pub fn take_log(&self, name: &str) -> String {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        let request = format!("GET {MARK} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it reads");
        stream.read_to_end(&mut Vec::new()).expect("it answers");
        let begin = Instant::now();
        loop {
            // It writes lines in the order in which it has answered.
            let text = self.read(name);
            if let Some(at) = text.lines().position(|line| line.contains(MARK)) {
                let before = text.lines().take(at).map(|line| format!("{line}\n")).collect();
                let file = self.folder.path().join(name);
                // It appends, and so goes on at the beginning.
                std::fs::File::create(file).expect("the log is emptied");
                return before;
            }
            assert!(begin.elapsed() < PATIENCE, "{MARK} is not in the log: {text}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // It may have ended by itself, and the test has said so.
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}
