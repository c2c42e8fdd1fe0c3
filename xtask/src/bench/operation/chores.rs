//! What goes on beside the load of `bench-operation`: each chore again and again until the load is
//! over. What a chore did and how often it failed is its tally.

use super::{Operation, PAUSE};
use crate::bench::client::{self, Reply, send_as};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest silence of the feed.
const SILENCE: Duration = Duration::from_secs(30);

/// Documents of the collection that is filled and dropped.
const DROPPED: u64 = 2000;

/// The settings that the index is in.
const SETTINGS: &str = "/db/documents?settings";

/// Where chores are done.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The measurement.
    pub operation: &'a Operation,
    /// `HOST:PORT` of the server.
    pub authority: &'a str,
    /// Set when the load is over.
    pub over: &'a AtomicBool,
}

impl Place<'_> {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    fn data(&self) -> String {
        self.operation.folder.join("data").display().to_string()
    }

    fn send(&self, method: &str, path: &str, body: &str) -> Result<Reply, String> {
        client::send(self.authority, method, path, body).and_then(Reply::success)
    }
}

/// One kind of chore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chore {
    /// A backup into the same folder: a full one first, then what was added.
    Backup,
    /// Everything as JSON Lines.
    Export,
    /// Every checksum and invariant, while the server runs.
    Verify,
    /// An index is made, built and removed again.
    Index,
    /// A collection is filled and dropped.
    Drop,
    /// A blob of 8 MiB is put, read and removed.
    Blob,
    /// The feed of all commits is read.
    Feed,
}

/// What a chore came to.
pub struct Tally {
    /// Whose.
    pub chore: &'static str,
    /// How often it was done; of the feed, events.
    pub done: u64,
    /// How often it failed.
    pub failed: u64,
    /// The longest time of one, in seconds.
    pub longest_s: f64,
    /// The first failure.
    pub why: Option<String>,
}

impl Tally {
    fn new(chore: &'static str) -> Self {
        Self { chore, done: 0, failed: 0, longest_s: 0.0, why: None }
    }

    /// The thread of a chore has panicked.
    pub fn panicked(_: Box<dyn std::any::Any + Send>) -> Self {
        Self { failed: 1, why: Some("its thread panicked".into()), ..Self::new("a chore") }
    }

    fn note(&mut self, outcome: Result<u64, String>, took: Duration) {
        self.longest_s = self.longest_s.max(took.as_secs_f64());
        match outcome {
            Ok(done) => self.done += done,
            Err(why) => {
                self.failed += 1;
                self.why.get_or_insert(why);
            }
        }
    }
}

impl Chore {
    /// Every one.
    pub const ALL: [Self; 7] =
        [Self::Backup, Self::Export, Self::Verify, Self::Index, Self::Drop, Self::Blob, Self::Feed];

    const fn name(self) -> &'static str {
        match self {
            Self::Backup => "backup",
            Self::Export => "export",
            Self::Verify => "verify",
            Self::Index => "index made, built, removed",
            Self::Drop => "collection filled and dropped",
            Self::Blob => "blob of 8 MiB put, read, removed",
            Self::Feed => "commits read from the feed",
        }
    }

    /// Does it until the load is over.
    pub fn repeat(self, place: Place<'_>) -> Tally {
        let mut tally = Tally::new(self.name());
        while !place.is_over() {
            let began = Instant::now();
            let outcome = self.once(place);
            tally.note(outcome, began.elapsed());
            std::thread::sleep(PAUSE);
        }
        tally
    }

    fn once(self, place: Place<'_>) -> Result<u64, String> {
        let sarsen = |arguments: &[&str]| place.operation.sarsen(arguments).map(|()| 1);
        let data = place.data();
        match self {
            Self::Backup => {
                let to = place.operation.folder.join("backup").display().to_string();
                sarsen(&["backup", "--data", &data, "--to", &to])
            }
            Self::Export => sarsen(&["export", "--data", &data]),
            Self::Verify => sarsen(&["verify", "--data", &data]),
            Self::Index => index(place),
            Self::Drop => fill_and_drop(place),
            Self::Blob => blob(place),
            Self::Feed => follow(place),
        }
    }
}

/// An index on a number that each document has: made, waited for, removed.
fn index(place: Place<'_>) -> Result<u64, String> {
    let settings = "{\"indexes\":[{\"name\":\"by_n\",\"paths\":[{\"path\":\"/n\"}]}]}";
    place.send("PUT", SETTINGS, settings)?;
    let deadline = Instant::now() + Duration::from_secs(120);
    while place.send("GET", "/db", "")?.body.contains("\"building\"") {
        if Instant::now() > deadline {
            return Err("the index was not built within two minutes".into());
        }
        std::thread::sleep(PAUSE);
    }
    place.send("PUT", SETTINGS, "{}")?;
    Ok(1)
}

fn fill_and_drop(place: Place<'_>) -> Result<u64, String> {
    for first in (0..DROPPED).step_by(500) {
        let operations: Vec<String> = (first..first + 500)
            .map(|key| {
                let document = format!("{{\"n\":{key}}}");
                format!(
                    "{{\"op\":\"put\",\"collection\":\"dropped\",\"key\":\"{key}\",\
                     \"value\":{document}}}"
                )
            })
            .collect();
        place.send("POST", "/tx", &format!("[{}]", operations.join(",")))?;
    }
    place.send("DELETE", "/db/dropped", "")?;
    Ok(1)
}

fn blob(place: Place<'_>) -> Result<u64, String> {
    let seed = format!("{:?}", Instant::now());
    let content = seed.repeat((8 << 20) / seed.len());
    let path = "/db/files/large";
    let put = send_as(place.authority, ("PUT", path), "text/plain", &content);
    put.and_then(Reply::success)?;
    let read = place.send("GET", path, "")?;
    if read.body != content {
        return Err(format!("expected {} bytes as put, got {}", content.len(), read.body.len()));
    }
    place.send("DELETE", path, "")?;
    Ok(1)
}

/// Reads the feed until the load is over; events must come in order.
fn follow(place: Place<'_>) -> Result<u64, String> {
    let text = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(place.authority).map_err(text)?;
    stream.set_read_timeout(Some(SILENCE)).map_err(text)?;
    let head = format!(
        "GET /feed HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\n\r\n",
        place.authority
    );
    stream.write_all(head.as_bytes()).map_err(text)?;
    let (mut events, mut last) = (0, 0);
    for line in BufReader::new(stream).lines() {
        if place.is_over() {
            break;
        }
        let line = line.map_err(text)?;
        let Some(id) = line.strip_prefix("id:") else { continue };
        let id: u64 = id.trim().parse().map_err(|_| format!("expected a number, got {line}"))?;
        if id < last {
            return Err(format!("commit {id} came after {last}"));
        }
        events += u64::from(id > last);
        last = id;
    }
    Ok(events)
}
