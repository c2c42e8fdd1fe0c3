//! A server on a repository of its own, and a client that sends exactly the bytes it is told.

use crate::patience::{PATIENCE, wait_for};
use faces::{Server, ServerOptions};
use repository::{Opening, Options, Repository, Retention, Timestamp};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;
use tempfile::TempDir;

pub struct Site {
    pub server: Server,
    pub repository: Arc<Repository>,
    folder: TempDir,
    /// What its clock goes before an hour ago, in milliseconds: however much time a test lets pass,
    /// nothing is written in the machine's future.
    ahead_ms: Arc<AtomicU64>,
}

impl Site {
    pub fn start() -> Self {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut ServerOptions)) -> Self {
        Self::with_pool(change, |_| None)
    }

    pub fn with_pool(
        change: impl FnOnce(&mut ServerOptions),
        pool: impl FnOnce(&Arc<Repository>) -> Option<Arc<gem::Pool>>,
    ) -> Self {
        Self::open(Opening::default(), change, pool)
    }

    /// One that keeps nothing of the log for those who read it, and so no blobs for them.
    pub fn forgetful() -> Self {
        let retention = Retention { bytes: 0, hold: None };
        Self::open(Opening { retention, ..Opening::default() }, |_| {}, |_| None)
    }

    fn open(
        opening: Opening,
        change: impl FnOnce(&mut ServerOptions),
        pool: impl FnOnce(&Arc<Repository>) -> Option<Arc<gem::Pool>>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ahead_ms = Arc::new(AtomicU64::new(0));
        let ahead = Arc::clone(&ahead_ms);
        let options = Options {
            folder: folder.path().join("data"),
            memory_bytes: 64 << 20,
            clock: Arc::new(move || Timestamp(now().0 - HOUR_MS + ahead.load(Ordering::Relaxed))),
        };
        let (repository, _) = Repository::open_with(options, opening).unwrap();
        let mut options = ServerOptions::new(SocketAddr::from(([127, 0, 0, 1], 0)));
        options.reactors = 2;
        change(&mut options);
        let pool = pool(&repository);
        let server = Server::start(options, Arc::clone(&repository), pool).unwrap();
        Self { server, repository, folder, ahead_ms }
    }

    /// Lets `ms` milliseconds pass for the repository, at once.
    pub fn pass(&self, ms: u64) {
        self.ahead_ms.fetch_add(ms, Ordering::Relaxed);
    }

    /// The repository's folder.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub fn connect(&self) -> Client {
        Client::to(self.server.local_addr())
    }

    /// One request on a connection of its own.
    pub fn ask(&self, request: &str) -> Reply {
        self.connect().ask(request)
    }

    /// Writes a JSON document and gives its entity tag.
    pub fn put(&self, path: &str, json: &str) -> String {
        let reply = self.ask(&put(path, "", json));
        assert!(matches!(reply.status, 201 | 204), "{reply:?}");
        reply.field("etag").unwrap().to_owned()
    }
}

impl Site {
    /// Gives a collection settings, and waits for its indexes.
    pub fn configure(&self, collection: &str, settings: &str) {
        let settings = repository::Settings::from_json(settings).unwrap();
        let name = repository::CollectionName::new(collection).unwrap();
        self.repository.configure(&name, &settings).unwrap();
        let is_ready =
            |status: &repository::IndexStatus| status.state == repository::IndexState::Ready;
        until(|| self.repository.indexes().iter().all(is_ready));
    }

    /// A request to `/tx`.
    pub fn transact(&self, query: &str, fields: &str, list: &str) -> Reply {
        self.ask(&with_json("POST", &format!("/tx{query}"), fields, list))
    }
}

/// Tries until it is so, which it is soon unless something is wrong.
#[track_caller]
pub fn until(mut is_so: impl FnMut() -> bool) {
    let place = std::panic::Location::caller();
    wait_for(&format!("what {place} says"), String::new, || is_so().then_some(()));
}

/// Sets a flag at its end, however that comes: who works on until then must not work on for ever.
pub struct SetAtEnd<'a>(pub &'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

const HOUR_MS: u64 = 3_600_000;

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Timestamp(u64::try_from(since.as_millis()).unwrap())
}

/// A PUT of JSON; `fields` are whole lines.
pub fn put(path: &str, fields: &str, json: &str) -> String {
    with_json("PUT", path, fields, json)
}

pub fn with_json(method: &str, path: &str, fields: &str, json: &str) -> String {
    with_type(method, path, ("application/json", fields), json)
}

/// A patch of media type `application/{kind}+json`.
pub fn patch(kind: &str, path: &str, fields: &str, body: &str) -> String {
    with_type("PATCH", path, (&format!("application/{kind}+json"), fields), body)
}

pub fn with_type(method: &str, path: &str, (kind, fields): (&str, &str), body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n{fields}\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

/// A request without a body; `fields` are whole lines.
pub fn bare(method: &str, path: &str, fields: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n")
}

pub fn get(path: &str) -> String {
    bare("GET", path, "")
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    /// Names in lower case.
    pub fields: Vec<(String, String)>,
    pub body: String,
}

impl Reply {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The problem's name, from its type.
    pub fn problem(&self) -> &str {
        assert_eq!(self.field("content-type"), Some("application/problem+json"), "{self:?}");
        let (_, after) = self.body.split_once("\"/errors/").unwrap();
        after.split_once('"').unwrap().0
    }
}

pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { stream, buffer: Vec::new() }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    /// As `send`, but the server may have stopped to listen.
    pub fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    pub fn end_sending(&mut self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    pub fn ask(&mut self, request: &str) -> Reply {
        self.send(request);
        self.reply(request.starts_with("HEAD "))
    }

    /// As `ask`, but the server may have closed the connection.
    pub fn try_ask(&mut self, request: &str) -> Option<Reply> {
        if self.try_send(request.as_bytes()) { self.try_reply(false) } else { None }
    }

    /// The next reply; `is_head` tells that it has no body whatever its length says.
    pub fn reply(&mut self, is_head: bool) -> Reply {
        self.try_reply(is_head).expect("a reply, not the end of the connection")
    }

    /// The next reply, or `None` at the end of the connection.
    pub fn try_reply(&mut self, is_head: bool) -> Option<Reply> {
        let end = loop {
            if let Some(at) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break at;
            }
            if !self.fill() {
                assert!(self.buffer.is_empty(), "half a head: {:?}", self.buffer);
                return None;
            }
        };
        let head = String::from_utf8(self.buffer.drain(..end + 4).collect()).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let fields: Vec<_> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let mut reply = Reply { status, fields, body: String::new() };
        if !is_head && status >= 200 {
            let length = reply.field("content-length").map_or(0, |text| text.parse().unwrap());
            reply.body = self.take(length);
        }
        Some(reply)
    }

    /// Everything up to the end of the connection.
    pub fn rest(&mut self) -> Vec<u8> {
        while self.fill() {}
        std::mem::take(&mut self.buffer)
    }

    fn take(&mut self, length: usize) -> String {
        while self.buffer.len() < length {
            assert!(self.fill(), "the body ended early");
        }
        String::from_utf8(self.buffer.drain(..length).collect()).unwrap()
    }

    /// Whether the server has ended the connection, with nothing left to read.
    pub fn is_at_end(&mut self) -> bool {
        self.buffer.is_empty() && !self.fill()
    }

    /// Reads and drops some, and says whether that was the end.
    pub fn is_at_end_after_reading(&mut self) -> bool {
        self.buffer.clear();
        !self.fill()
    }

    /// Reads more; false at the end. A reset is an end too.
    fn fill(&mut self) -> bool {
        let mut chunk = [0; 16 << 10];
        match self.stream.read(&mut chunk) {
            Ok(read) => {
                self.buffer.extend_from_slice(&chunk[..read]);
                read > 0
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            Err(error) => panic!("no reply within {PATIENCE:?}: {error}"),
        }
    }
}
