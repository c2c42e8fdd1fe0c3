//! `sarsen serve --memcached-collection`: what was acknowledged survives kill -9, and other faces
//! see the same documents.

use super::server::{PATIENCE, place};
use crate::harness::{Ends, Server, Site, test_app};
use crate::http::Client;
use crate::random::{Random, seed};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

const KILLS: usize = 5;
const WRITERS: usize = 4;

fn start(site: &Site) -> (Server, SocketAddr) {
    let server = site.start_with(&["--memcached-collection", "notes", "127.0.0.1:0"]);
    let address = place(&server);
    (server, address)
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// What comes back to these bytes, up to the end.
fn answers(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = connect(address);
    stream.write_all(bytes).expect("it takes commands");
    stream.write_all(b"quit\r\n").expect("it takes commands");
    let mut answers = String::new();
    stream.read_to_string(&mut answers).expect("answers");
    answers
}

/// Stores numbers that grow under one key until the server goes. Gives the last that was
/// acknowledged.
fn write(stream: TcpStream, key: &str, from: u64) -> u64 {
    let mut acknowledged = from;
    let mut stream = BufReader::new(stream);
    loop {
        let next = (acknowledged + 1).to_string();
        let set = format!("set {key} 0 0 {}\r\n{next}\r\n", next.len());
        if stream.get_mut().write_all(set.as_bytes()).is_err() {
            return acknowledged;
        }
        let mut line = String::new();
        match stream.read_line(&mut line) {
            Ok(_) if line == "STORED\r\n" => acknowledged += 1,
            Ok(_) | Err(_) => {
                assert!(!line.ends_with('\n'), "{line}");
                return acknowledged;
            }
        }
    }
}

fn number(address: SocketAddr, key: &str) -> u64 {
    let answer = answers(address, format!("get {key}\r\n").as_bytes());
    answer.lines().nth(1).map_or(0, |line| line.parse().expect("a number"))
}

#[test]
fn acknowledged_values_survive_kill_9() {
    let seed = seed();
    println!("to repeat: SARSEN_SEED={seed} cargo test -p sarsen acknowledged_values_survive");
    let mut random = Random::new(seed);
    let keys: Vec<String> = (0..WRITERS).map(|writer| format!("writer-{writer}")).collect();
    let mut acknowledged = [0; WRITERS];
    let site = Site::bare();
    for _ in 0..KILLS {
        let (server, address) = start(&site);
        let moment = Duration::from_millis(50 + random.below(200));
        thread::scope(|scope| {
            let writers: Vec<_> = keys
                .iter()
                .zip(acknowledged)
                .map(|(key, last)| {
                    // One more may have been stored than was acknowledged.
                    let there = number(address, key);
                    assert!(there == last || there == last + 1, "{key}: {there}, not {last}");
                    // Before the server is killed, however busy the machine is.
                    let stream = connect(address);
                    scope.spawn(move || write(stream, key, there))
                })
                .collect();
            thread::sleep(moment);
            server.kill();
            for (last, writer) in acknowledged.iter_mut().zip(writers) {
                *last = writer.join().expect("a writer");
            }
        });
        site.assert_clean();
    }
    let (server, address) = start(&site);
    for (key, last) in keys.iter().zip(acknowledged) {
        let there = number(address, key);
        assert!(there == last || there == last + 1, "{key}: {there}, not {last}");
        assert!(last > 0, "{key} was never acknowledged");
    }
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn http_sees_the_same_documents() {
    let site = Site::bare();
    let (server, address) = start(&site);
    assert_eq!(answers(address, b"set a 0 0 2\r\nhi\r\n"), "STORED\r\n");
    let mut client = Client::connect(server.address()).expect("a connection");
    let reply = client.get("/db/notes/a").expect("a reply");
    assert_eq!((reply.status, reply.text().as_str()), (200, "hi"));
    let etag = reply.header("etag").expect("an ETag").trim_matches('"').to_owned();
    let gets = answers(address, b"gets a\r\n");
    assert_eq!(gets, format!("VALUE a 0 2 {etag}\r\nhi\r\nEND\r\n"));
}

#[test]
fn tokens_and_services_are_not_passed_by() {
    let site = Site::bare();
    let data = site.data();
    let (server, address) = start(&site);
    assert_eq!(answers(address, b"set a 0 0 1\r\nx\r\n"), "STORED\r\n");
    let made = crate::harness::sarsen()
        .args(["token", "create", "--scope", "read", "--collections", "*", "--data"])
        .arg(&data)
        .ends();
    assert!(made.status.success(), "{made:?}");
    // A server takes the change over within a second.
    site.wait_for("the token closes the collection", || {
        let answer = answers(address, b"get a\r\n");
        answer.starts_with("SERVER_ERROR tokens are configured").then_some(())
    });
    assert_eq!(server.stop().code(), Some(0));
    let users = data.join("users");
    std::fs::write(&users, "ann:secret\n").expect("a file");
    let users = users.to_str().expect("a path");
    let server = site.start_with(&[
        "--memcached-collection",
        "notes",
        "127.0.0.1:0",
        "--memcached-auth",
        users,
    ]);
    let shown = answers(place(&server), b"set x 0 0 10\r\nann secret\r\nget a\r\n");
    assert_eq!(shown, "STORED\r\nVALUE a 0 1\r\nx\r\nEND\r\n");
    assert_eq!(server.stop().code(), Some(0));
    // A collection whose functions would have to be asked.
    let site = Site::with_app(test_app("orders"));
    let server = site.start_with(&["--memcached-collection", "orders", "127.0.0.1:0"]);
    let answer = answers(place(&server), b"get a\r\n");
    assert!(answer.contains("has a service, which HTTP asks"), "{answer}");
}
