//! A face with a cache of its own for a test, in this process.

use cache::{Cache, Settings};
use memcached::{Face, FaceOptions, Place};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Longest wait for an answer.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A connection to it.
pub trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

pub struct Server {
    pub face: Face,
    pub address: SocketAddr,
    pub cache: Arc<Cache>,
    _clock: Sender<()>,
}

/// One thread on a free port.
pub fn options() -> FaceOptions {
    FaceOptions::new("127.0.0.1:0".parse().unwrap())
}

impl Server {
    pub fn start() -> Self {
        Self::start_with(&options(), 64 << 20)
    }

    pub fn with_one_shard() -> Self {
        Self::start_with(&options(), 12 << 20)
    }

    pub fn start_with(options: &FaceOptions, memory_bytes: usize) -> Self {
        let cache = Arc::new(Cache::new(&Settings::new(memory_bytes, 7)).unwrap());
        let (clock, ended) = channel();
        let kept = Arc::clone(&cache);
        let tick = move || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            kept.set_time(since.as_secs() as u32);
            kept.sweep();
        };
        tick();
        std::thread::spawn(move || {
            while ended.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
                tick();
            }
        });
        let face = Face::start(options, Arc::clone(&cache)).unwrap();
        let address = match face.places() {
            [Place::Address(address), ..] => *address,
            _ => ([127, 0, 0, 1], 0).into(),
        };
        Self { face, address, cache, _clock: clock }
    }

    /// What it says to all of these bytes, up to its end.
    pub fn answers(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.stream();
        stream.write_all(bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answers = Vec::new();
        stream.read_to_end(&mut answers).unwrap();
        answers
    }

    pub fn stream(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    pub fn connect(&self) -> Box<dyn Stream> {
        Box::new(self.stream())
    }
}
