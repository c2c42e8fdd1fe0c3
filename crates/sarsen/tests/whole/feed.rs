//! The feed of the real binary: whoever follows it across kill -9 is told each commit once and none
//! that is lost, and readers who take nothing cost a bounded part of the memory.

use crate::harness::{Server, Site};
use crate::http::Client;
use crate::patience::PATIENCE;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const KILLS: u64 = 12;
const WRITERS: u64 = 3;

/// Readers that take nothing.
const SLOW: usize = 24;

/// Far less than what they would keep if each kept what it has not taken.
const MEMORY_BYTES_MAX: u64 = 450 << 20;

/// A stream of the feed, of which only commits are looked at.
struct Stream(BufReader<TcpStream>);

impl Stream {
    /// HTTP/1.0 has no chunks.
    fn open(server: SocketAddr, after: u64) -> Option<Self> {
        let mut stream = TcpStream::connect(server).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let request =
            format!("GET /feed HTTP/1.0\r\nHost: localhost\r\nLast-Event-ID: {after}\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut reader = Self(BufReader::new(stream));
        let status = reader.line()?;
        assert!(status.starts_with("HTTP/1.0 200"), "{status}");
        Some(reader)
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => line.ends_with('\n').then(|| line.trim_end().to_owned()),
        }
    }

    /// The next commit's number and keys; `None`: the server is gone.
    fn next(&mut self) -> Option<(u64, Vec<String>)> {
        loop {
            let line = self.line()?;
            let Some(data) = line.strip_prefix("data: ") else { continue };
            let data: serde_json::Value = serde_json::from_str(data).expect("JSON");
            let Some(changes) = data["changes"].as_array() else { continue };
            let key = |change: &serde_json::Value| change["key"].as_str().unwrap_or("").to_owned();
            let number = data["commit"].as_u64().expect("a number");
            // Only what is whole counts: the last line of an event is empty.
            return self.line().map(|_| (number, changes.iter().map(key).collect()));
        }
    }
}

/// Writes documents under keys of its own until the server is gone; gives what was acknowledged.
fn write(server: SocketAddr, writer: u64, next: &AtomicU64) -> Vec<String> {
    let mut acknowledged = Vec::new();
    let Ok(mut client) = Client::connect(server) else { return acknowledged };
    loop {
        let key = format!("{writer}-{}", next.fetch_add(1, Ordering::Relaxed));
        match client.put_json(&format!("/db/notes/{key}"), "{\"a\":1}") {
            Ok(reply) if reply.status == 201 => acknowledged.push(key),
            Ok(reply) => panic!("{key}: {reply:?}"),
            Err(_) => return acknowledged,
        }
    }
}

/// What somebody knows who follows.
#[derive(Default)]
struct Follower {
    last: u64,
    keys: BTreeSet<String>,
}

impl Follower {
    /// Follows until the server is gone, or until `is_enough`.
    fn follow(&mut self, server: SocketAddr, is_enough: impl Fn(&Self) -> bool) {
        let Some(mut stream) = Stream::open(server, self.last) else { return };
        while !is_enough(self) {
            let Some((number, keys)) = stream.next() else { return };
            assert!(number > self.last, "told {number} after {}", self.last);
            self.last = number;
            for key in keys {
                assert!(self.keys.insert(key.clone()), "{key} was told twice");
            }
        }
    }
}

#[test]
fn who_follows_across_kills_is_told_each_commit_once_and_none_that_is_lost() {
    let site = Site::bare();
    let next = AtomicU64::new(0);
    let mut follower = Follower::default();
    let mut acknowledged = BTreeSet::new();
    for kill in 0..KILLS {
        let server = site.start();
        let address = server.address();
        thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|id| {
                    scope.spawn({
                        let next = &next;
                        move || write(address, id, next)
                    })
                })
                .collect();
            let follower = &mut follower;
            scope.spawn(move || follower.follow(address, |_| false));
            thread::sleep(Duration::from_millis(40 + 17 * kill));
            server.kill();
            for writer in writers {
                acknowledged.extend(writer.join().expect("a writer"));
            }
        });
    }
    let server = site.start();
    follower.follow(server.address(), |follower| acknowledged.is_subset(&follower.keys));
    assert!(acknowledged.is_subset(&follower.keys), "something acknowledged was not told");
    assert!(acknowledged.len() > 50, "{} commits were made", acknowledged.len());
    let mut client = server.connect();
    for key in &follower.keys {
        let reply = client.get(&format!("/db/notes/{key}")).expect("a reply");
        assert_eq!(reply.status, 200, "{key} was told, and is lost");
    }
    server.kill();
    site.assert_clean();
}

fn peak_bytes(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
    let kib = line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number");
    kib << 10
}

#[test]
fn readers_that_take_nothing_cost_little_and_miss_nothing() {
    let site = Site::bare();
    let server = site.start();
    let mut streams: Vec<Stream> =
        (0..SLOW).map(|_| Stream::open(server.address(), 0).expect("a stream")).collect();
    let body = format!("\"{}\"", "x".repeat(60_000));
    let mut client = server.connect();
    // All of it is about 42 MB, and a GB for all who read.
    for i in 0..700 {
        let reply = client.put_json(&format!("/db/notes/{i}"), &body).expect("a reply");
        assert_eq!(reply.status, 201);
    }
    let peak = peak_bytes(&server);
    assert!(peak < MEMORY_BYTES_MAX, "{} MiB at the peak", peak >> 20);
    let late = &mut streams[SLOW / 2];
    for i in 0..700 {
        assert_eq!(late.next().expect("it goes on").1, [i.to_string()]);
    }
}
