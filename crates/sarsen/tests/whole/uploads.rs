//! Large content on the real binary: streamed in and out in bounded memory, and whole or not there
//! after kill -9 at any moment.

use crate::harness::{Server, Site};
use crate::http::Client;
use crate::random::{Random, seed};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

/// How large an upload is, where it is not the usual size: `SARSEN_UPLOAD_BYTES=10000000000`.
const UPLOAD_BYTES: &str = "SARSEN_UPLOAD_BYTES";
const USUAL_UPLOAD_BYTES: u64 = 300 << 20;

/// What the server may have more in memory after an upload and a download than before.
const GROWTH_BYTES_MAX: u64 = 48 << 20;

const KILLS: u64 = 8;
const BLOB_BYTES: usize = 1_500_000;

fn most_resident(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).expect("status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
    let kib: u64 = line.trim().strip_suffix(" kB").expect("kB").parse().expect("a number");
    kib << 10
}

/// Reads a head, and gives its status and the length that it announces.
fn head(stream: &mut impl Read) -> (u16, u64) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a head");
        head.push(byte[0]);
    }
    let text = String::from_utf8(head).expect("text");
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let length = text.lines().find_map(|line| {
        line.to_lowercase()
            .strip_prefix("content-length: ")
            .map(|length| length.parse().expect("a length"))
    });
    (status, length.unwrap_or(0))
}

fn files(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.map(|path| if path.is_dir() { files(&path) } else { 1 }).sum()
}

#[test]
fn large_content_is_streamed_in_bounded_memory() {
    let bytes = std::env::var(UPLOAD_BYTES).map_or(USUAL_UPLOAD_BYTES, |b| b.parse().unwrap());
    let site = Site::bare();
    let server = site.start();
    server.get("/healthz");
    // Nothing but a hole: it takes no room before it is sent.
    let source = tempfile::tempfile().expect("a file");
    source.set_len(bytes).expect("a length");
    let before = most_resident(&server);
    let mut stream = TcpStream::connect(server.address()).expect("a connection");
    let request = format!(
        "PUT /db/large/a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: video/x-test\r\n\
         Content-Length: {bytes}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("it is sent");
    let sent = io::copy(&mut io::BufReader::with_capacity(1 << 20, &source), &mut stream);
    assert_eq!(sent.expect("it is sent"), bytes);
    assert_eq!(head(&mut stream).0, 201);
    stream.write_all(b"GET /db/large/a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").expect("it is sent");
    assert_eq!(head(&mut stream), (200, bytes));
    let (mut piece, mut got) = (vec![0; 1 << 20], 0);
    while got < bytes {
        let read = stream.read(&mut piece).expect("content");
        assert!(read > 0 && piece[..read].iter().all(|byte| *byte == 0), "at {got}");
        got += read as u64;
    }
    let grown = most_resident(&server) - before;
    assert!(grown < GROWTH_BYTES_MAX, "{grown} bytes more than before, for {bytes}");
    server.stop();
    site.assert_clean();
}

/// Content of its own for each number.
fn content(number: u64) -> Vec<u8> {
    let mut random = Random::new(number);
    let words = (0..BLOB_BYTES / 8).flat_map(|_| random.below(u64::MAX).to_le_bytes());
    words.collect()
}

/// Uploads one after the other until the server is gone; gives those that were acknowledged.
fn upload_until_killed(server: std::net::SocketAddr, first: u64) -> Vec<u64> {
    let mut acknowledged = Vec::new();
    let Ok(mut client) = Client::connect(server) else { return acknowledged };
    for number in first.. {
        let path = format!("/db/clips/{number}");
        let fields = [("content-type", "video/x-test")];
        match client.request("PUT", &path, &fields, &content(number)) {
            Ok(reply) if reply.status == 201 => acknowledged.push(number),
            Ok(reply) => panic!("{path}: {}", reply.status),
            Err(_) => return acknowledged,
        }
    }
    acknowledged
}

#[test]
fn uploads_survive_kill_9_whole_or_not_at_all() {
    let site = Site::bare();
    let mut random = Random::new(seed());
    let mut acknowledged = BTreeMap::new();
    for round in 0..KILLS {
        let server = site.start();
        let address = server.address();
        let pause = Duration::from_millis(100 + random.below(500));
        let uploaded = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..2)
                .map(|writer| {
                    let first = (2 * round + writer) * 1_000;
                    scope.spawn(move || upload_until_killed(address, first))
                })
                .collect();
            std::thread::sleep(pause);
            server.kill();
            writers.into_iter().flat_map(|writer| writer.join().expect("a writer")).collect()
        });
        let uploaded: Vec<u64> = uploaded;
        acknowledged.extend(uploaded.into_iter().map(|number| (number, ())));
        // Every named blob is there, and whole.
        site.assert_clean();
    }
    assert!(!acknowledged.is_empty(), "nothing was uploaded");
    // What only the log names would stay for a while.
    let server = site.start_with(&["--retain", "0"]);
    let mut client = server.connect();
    for number in acknowledged.keys() {
        let found = client.get(&format!("/db/clips/{number}")).expect("a reply");
        assert!(found.status == 200 && found.body == content(*number), "{number}");
    }
    let listed = server.get("/db/clips?limit=1000").json();
    for document in listed["documents"].as_array().expect("documents") {
        let path = format!("/db/clips/{}", document["key"].as_str().expect("a key"));
        assert_eq!(client.request("DELETE", &path, &[], b"").expect("a reply").status, 204);
    }
    server.wait_until("nothing is left of them", || files(&site.data().join("blobs")) == 0);
    server.stop();
}
