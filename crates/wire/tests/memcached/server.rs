//! A memcached of its own for a test, on a socket in a folder of its own.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest wait for a server to start, and for an answer.
pub const PATIENCE: Duration = Duration::from_secs(120);

pub enum Server {
    /// One that is there.
    At(String),
    /// One that goes with the test.
    Own { child: Child, socket: PathBuf, _folder: TempDir },
}

/// A connection to it.
pub trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

impl Server {
    /// The one that the environment names.
    pub fn of_environment() -> Option<Self> {
        std::env::var("MEMCACHED").ok().map(Self::At)
    }

    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let child = Command::new("memcached")
            .args(["-u", "root", "-m", "64", "-t", "1", "-s"])
            .arg(&socket)
            .stdin(Stdio::null())
            .spawn()
            .expect("memcached starts; scripts/setup.sh memcached installs it");
        let server = Self::Own { child, socket: socket.clone(), _folder: folder };
        let start = Instant::now();
        while UnixStream::connect(&socket).is_err() {
            assert!(start.elapsed() < PATIENCE, "memcached does not listen on {socket:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
        server
    }

    /// What it says to all of these bytes, up to its end.
    pub fn answers(&self, bytes: &[u8]) -> Vec<u8> {
        let Self::Own { socket, .. } = self else { panic!("only of a server of one's own") };
        let mut stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answers = Vec::new();
        stream.read_to_end(&mut answers).unwrap();
        answers
    }

    pub fn connect(&self) -> Box<dyn Stream> {
        match self {
            Self::At(address) => {
                let stream = TcpStream::connect(address).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                stream.set_nodelay(true).unwrap();
                Box::new(stream)
            }
            Self::Own { socket, .. } => {
                let stream = UnixStream::connect(socket).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                Box::new(stream)
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Self::Own { child, .. } = self {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
