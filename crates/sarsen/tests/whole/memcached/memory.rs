//! `--cache-memory` bounds what the process takes, whatever clients do.

use super::server::Server;
use super::{BYTES_PER_CONNECTION_MAX, answers};
use crate::http::Client;
use crate::idle::resident;
use std::io::Write;

const CACHE_BYTES: u64 = 16 << 20;

/// What docs/memcached.md allows besides the option and connections, for two threads, in bytes.
const BESIDES_BYTES_MAX: u64 = 12 << 20;

const LARGE: usize = 1_000_000;

/// The most connections at a time.
const LINES: usize = 3_000;

/// Stores values of this size, twice what the cache has room for.
fn fill(server: &Server, prefix: &str, bytes: usize) {
    let mut stream = server.connect();
    let value = "v".repeat(bytes);
    for number in 0..2 * CACHE_BYTES as usize / bytes {
        let set = format!("set {prefix}{number} 0 0 {bytes} noreply\r\n{value}\r\n");
        stream.write_all(set.as_bytes()).expect("it takes commands");
    }
    stream.write_all(b"mn\r\n").expect("it takes commands");
    let mut answer = [0; 4];
    std::io::Read::read_exact(&mut stream, &mut answer).expect("an answer");
    assert_eq!(&answer, b"MN\r\n");
}

fn kept_bytes(server: &Server) -> u64 {
    let mut client = Client::connect(server.process.address()).expect("a connection");
    let metrics = client.get("/metrics").expect("a reply").text();
    let kept = metrics.lines().find_map(|line| line.strip_prefix("sarsen_memcached_kept_bytes "));
    kept.and_then(|kept| kept.parse().ok()).expect("a figure")
}

#[test]
fn the_process_takes_no_more_than_the_option_says_and_a_constant() {
    let server = Server::start(&["--cache-memory", "16M", "--cache-threads", "2"]);
    // What the first request brings into memory is not the cache's.
    assert_eq!(kept_bytes(&server), 0);
    let before = resident(&server.process);
    let check = |what: &str| {
        let more = resident(&server.process).saturating_sub(before);
        println!("{what}: {} MiB more", more >> 20);
        let connections = LINES as u64 * BYTES_PER_CONNECTION_MAX;
        let most = CACHE_BYTES + BESIDES_BYTES_MAX + connections;
        assert!(more <= most, "{what}: {more} bytes more, at most {most} are allowed");
    };
    for bytes in [300, 20_000, LARGE] {
        fill(&server, "k", bytes);
        check(&format!("full of values of {bytes} bytes"));
    }
    // Values that never end.
    let mut half = format!("set half 0 0 {LARGE}\r\n").into_bytes();
    half.resize(half.len() + LARGE - 10, b'v');
    let halves: Vec<_> = (0..300)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(&half).expect("it takes the half of a command");
            stream
        })
        .collect();
    check("300 halves of large values");
    drop(halves);
    server.wait_for("what they kept is given back", || (kept_bytes(&server) == 0).then_some(()));
    check("300 connections closed");
    // Lines that never end.
    let lines: Vec<_> = (0..LINES)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(&[b'x'; 2_000]).expect("it takes the half of a command");
            stream
        })
        .collect();
    check("many halves of lines");
    drop(lines);
    // Answers that nobody takes.
    assert_eq!(answers(&server, b"set large 0 0 1\r\nx\r\n"), "STORED\r\n");
    fill(&server, "large", LARGE);
    let last = 2 * CACHE_BYTES as usize / LARGE - 1;
    let asked = format!("get large{last} large{last}\r\n").repeat(40);
    let asking: Vec<_> = (0..300)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(asked.as_bytes()).expect("it takes commands");
            stream
        })
        .collect();
    check("300 clients that take no answers");
    drop(asking);
    server.wait_for("what they kept is given back", || (kept_bytes(&server) == 0).then_some(()));
    check("300 more connections closed");
    let answer = answers(&server, format!("get large{last}\r\n").as_bytes());
    assert_eq!(answer.len(), format!("VALUE large{last} 0 {LARGE}\r\n\r\nEND\r\n").len() + LARGE);
    assert_eq!(server.process.stop().code(), Some(0));
}
