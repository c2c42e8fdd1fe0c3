//! Acknowledged is durable (promise 1), on the real binary: kill -9 at any moment, many times on
//! one repository, with writers that remember what was acknowledged. After each restart every
//! acknowledged commit must be there and none may be there by half.

use crate::harness::{Server, Site, test_app};
use crate::http::Client;
use crate::random::{Random, seed};
use std::collections::HashMap;
use std::io;
use std::time::Duration;

const KILLS: usize = 50;
const WRITERS: u64 = 4;
const KEYS_PER_WRITER: u64 = 8;

/// What one document may hold: the number of its last acknowledged write (0: it was deleted or
/// never written), or that of the write whose reply did not come.
#[derive(Clone, Copy, Debug, Default)]
struct Expected {
    acknowledged: u64,
    in_doubt: Option<u64>,
}

impl Expected {
    /// Takes what was found as the truth from now on, if it may be.
    fn settle(&mut self, path: &str, found: u64) {
        let allowed = found == self.acknowledged || Some(found) == self.in_doubt;
        assert!(allowed, "{path}: found {found}, expected {self:?}");
        *self = Self { acknowledged: found, in_doubt: None };
    }
}

/// One writer: what it writes, and what it may find afterwards. Keys are its own.
struct Writer {
    id: u64,
    random: Random,
    next: u64,
    documents: HashMap<String, Expected>,
    /// The pair of documents written by one commit of the application.
    pair: Expected,
    /// Commits of the pair that are known to have happened.
    pairs: u64,
}

impl Writer {
    fn new(id: u64, seed: u64) -> Self {
        Self {
            id,
            random: Random::new(seed ^ id),
            next: 1,
            documents: HashMap::new(),
            pair: Expected::default(),
            pairs: 0,
        }
    }

    /// Writes until the server is gone.
    fn write(&mut self, server: std::net::SocketAddr) {
        let Ok(mut client) = Client::connect(server) else { return };
        while self.step(&mut client).is_ok() {}
    }

    fn step(&mut self, client: &mut Client) -> io::Result<()> {
        let number = self.next;
        self.next += 1;
        match self.random.below(8) {
            0 => self.delete(client),
            1 | 2 => self.put_pair(client, number),
            _ => self.put(client, number),
        }
    }

    fn some_path(&mut self) -> String {
        format!("/db/crash/{}-{}", self.id, self.random.below(KEYS_PER_WRITER))
    }

    fn put(&mut self, client: &mut Client, number: u64) -> io::Result<()> {
        let path = self.some_path();
        let body = body(number);
        let expected = self.documents.entry(path.clone()).or_default();
        expected.in_doubt = Some(number);
        let reply = client.put_json(&path, &body)?;
        assert!(matches!(reply.status, 200 | 201 | 204), "{path}: {reply:?}");
        *expected = Expected { acknowledged: number, in_doubt: None };
        Ok(())
    }

    fn delete(&mut self, client: &mut Client) -> io::Result<()> {
        let path = self.some_path();
        let expected = self.documents.entry(path.clone()).or_default();
        expected.in_doubt = Some(0);
        let reply = client.request("DELETE", &path, &[], b"")?;
        let was_there = expected.acknowledged != 0;
        assert_eq!(reply.status, if was_there { 204 } else { 404 }, "{path}: {reply:?}");
        *expected = Expected::default();
        Ok(())
    }

    fn put_pair(&mut self, client: &mut Client, number: u64) -> io::Result<()> {
        self.pair.in_doubt = Some(number);
        let reply = client.request("POST", &format!("/pairs/{}/{number}", self.id), &[], b"")?;
        assert_eq!(reply.status, 204, "{reply:?}");
        self.pair = Expected { acknowledged: number, in_doubt: None };
        self.pairs += 1;
        Ok(())
    }

    /// Compares the server with what it acknowledged.
    fn check(&mut self, client: &mut Client) {
        for (path, expected) in &mut self.documents {
            expected.settle(path, read_document(client, path));
        }
        let paths = ["left", "right"].map(|side| format!("/db/{side}/{}", self.id));
        let [left, right] = paths.each_ref().map(|path| read_number(client, path));
        assert_eq!(left, right, "writer {}: half a commit", self.id);
        let was_in_doubt = self.pair.in_doubt == Some(left);
        self.pair.settle(&paths[0], left);
        self.pairs += u64::from(was_in_doubt);
    }
}

/// A document that shows whether all of it is there: as many letters as its number says.
fn body(number: u64) -> String {
    format!("{{\"number\":{number},\"letters\":\"{}\"}}", "x".repeat(length(number)))
}

/// Mostly small, now and then larger than a block of the disk.
fn length(number: u64) -> usize {
    let number = number as usize;
    if number.is_multiple_of(16) { number * 97 % 40_000 } else { number % 300 }
}

/// The number of the document at `path`, 0 if there is none; fails if it is not whole.
fn read_document(client: &mut Client, path: &str) -> u64 {
    let reply = client.get(path).expect("a reply");
    if reply.status == 404 {
        return 0;
    }
    assert_eq!(reply.status, 200, "{path}: {reply:?}");
    let number = reply.json()["number"].as_u64().expect("a number");
    assert_eq!(reply.text(), body(number), "{path} is not whole");
    number
}

fn read_number(client: &mut Client, path: &str) -> u64 {
    let reply = client.get(path).expect("a reply");
    if reply.status == 404 { 0 } else { reply.json()["number"].as_u64().expect("a number") }
}

fn check(server: &Server, writers: &mut [Writer]) {
    let mut client = server.connect();
    for writer in writers.iter_mut() {
        writer.check(&mut client);
    }
    let reply = client.get("/db/tally/pairs").expect("a reply");
    let tally = if reply.status == 404 { 0 } else { reply.json().as_u64().expect("a number") };
    let pairs: u64 = writers.iter().map(|writer| writer.pairs).sum();
    assert_eq!(tally, pairs, "the tally counts each commit of a pair once");
}

#[test]
fn acknowledged_commits_survive_kill_9() {
    let seed = seed();
    println!("to repeat: SARSEN_SEED={seed} cargo test -p sarsen acknowledged_commits_survive");
    let mut random = Random::new(seed);
    let mut writers: Vec<Writer> = (0..WRITERS).map(|id| Writer::new(id, seed)).collect();
    let site = Site::with_app(test_app("pairs"));

    for _ in 0..KILLS {
        let server = site.start();
        check(&server, &mut writers);
        let address = server.address();
        let moment = Duration::from_millis(5 + random.below(150));
        std::thread::scope(|scope| {
            for writer in &mut writers {
                scope.spawn(move || writer.write(address));
            }
            std::thread::sleep(moment);
            server.kill();
        });
        site.assert_clean();
    }

    let server = site.start();
    check(&server, &mut writers);
    assert_eq!(server.stop().code(), Some(0));
    site.assert_clean();
    let written: u64 = writers.iter().map(|writer| writer.next).sum();
    println!("{KILLS} kills, {written} writes");
    assert!(writers.iter().all(|writer| writer.pairs > 0), "a writer wrote nothing");
}
