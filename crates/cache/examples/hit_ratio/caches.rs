//! Those that requests are replayed through: the cache in this process, and a memcached.

use crate::Result;
use crate::traces::{Operation, Request};
use cache::{Cache, Command, Expires, Settings, Store};
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Child;
use std::time::{Duration, Instant};

/// Longest that a memcached takes to listen.
const START: Duration = Duration::from_secs(10);

const MEMORY_BYTES: usize = 64 << 20;

/// A cache that carries requests out, and says how many found an item.
pub trait Replayed {
    fn replay(&mut self, batch: &[Request]) -> Result<usize>;
}

pub struct Own(pub Cache, Vec<u8>, Vec<u8>);

impl Own {
    pub fn new() -> Result<Self> {
        let cache = Cache::new(&Settings::new(MEMORY_BYTES, 7))?;
        Ok(Self(cache, vec![b'x'; 1 << 20], Vec::new()))
    }
}

impl Replayed for Own {
    fn replay(&mut self, batch: &[Request]) -> Result<usize> {
        let Self(cache, value, out) = self;
        let mut hits = 0;
        for request in batch {
            let name = request.name();
            let key = cache.key(name.as_bytes());
            let mut shard = cache.lock(&key);
            if request.operation == Operation::Delete {
                if let Some(found) = shard.find(&key, Command::Delete) {
                    found.remove();
                }
                continue;
            }
            if request.operation.asks() {
                if let Some(mut found) = shard.find(&key, Command::Get) {
                    found.mark_fetched();
                    out.clear();
                    found.value().append_to(out);
                    hits += 1;
                    continue;
                }
                if request.operation == Operation::Get {
                    continue;
                }
            }
            let value = &value[..request.value_bytes as usize];
            shard.store(&key, &Store::set(value, 0, Expires::NEVER))?;
        }
        Ok(hits)
    }
}

/// A process of its own, which ends with this.
pub struct Memcached {
    process: Child,
    stream: TcpStream,
    reader: BufReader<TcpStream>,
    value: Vec<u8>,
}

impl Memcached {
    pub fn start(program: &str) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        // Root's memcached must be told whom to be; others' pass over it.
        let process = std::process::Command::new(program)
            .args(["-l", "127.0.0.1", "-U", "0", "-t", "1", "-u", "nobody"])
            .args(["-m", &(MEMORY_BYTES >> 20).to_string(), "-p", &port.to_string()])
            .spawn()?;
        let begun = Instant::now();
        let stream = loop {
            match TcpStream::connect(("127.0.0.1", port)) {
                Ok(stream) => break stream,
                Err(error) if begun.elapsed() > START => return Err(error.into()),
                Err(_) => std::thread::sleep(START / 100),
            }
        };
        stream.set_nodelay(true)?;
        let reader = BufReader::new(stream.try_clone()?);
        Ok(Self { process, stream, reader, value: vec![b'x'; 1 << 20] })
    }

    fn set(&self, request: &Request, out: &mut Vec<u8>) -> Result<()> {
        let size = request.value_bytes as usize;
        write!(out, "set {} 0 0 {size} noreply\r\n", request.name())?;
        out.extend_from_slice(&self.value[..size]);
        out.extend_from_slice(b"\r\n");
        Ok(())
    }

    /// Whether the answer to a `get` has a value.
    fn read(&mut self) -> Result<bool> {
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        if line == "END\r\n" {
            return Ok(false);
        }
        let bytes = line.strip_prefix("VALUE ").and_then(|rest| rest.split(' ').nth(2));
        let bytes = bytes.ok_or_else(|| format!("memcached answered {line:?}"))?;
        let mut value = vec![0; bytes.trim_end().parse::<usize>()? + "\r\nEND\r\n".len()];
        self.reader.read_exact(&mut value)?;
        Ok(true)
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        // It is gone either way.
        let _ = self.process.kill().and_then(|()| self.process.wait());
    }
}

impl Replayed for Memcached {
    fn replay(&mut self, batch: &[Request]) -> Result<usize> {
        let mut out = Vec::new();
        for request in batch {
            match request.operation {
                Operation::Get | Operation::Fill => write!(out, "get {}\r\n", request.name())?,
                Operation::Delete => write!(out, "delete {} noreply\r\n", request.name())?,
                Operation::Set => self.set(request, &mut out)?,
            }
        }
        self.stream.write_all(&out)?;
        out.clear();
        let (mut hits, mut again) = (0, 0);
        let mut filled = HashSet::new();
        for request in batch.iter().filter(|request| request.operation.asks()) {
            if self.read()? {
                hits += 1;
            } else if request.operation == Operation::Fill && filled.insert(request.key) {
                self.set(request, &mut out)?;
            } else if request.operation == Operation::Fill {
                // It would have been stored before it was asked for again.
                write!(out, "get {}\r\n", request.name())?;
                again += 1;
            }
        }
        self.stream.write_all(&out)?;
        for _ in 0..again {
            hits += usize::from(self.read()?);
        }
        Ok(hits)
    }
}
