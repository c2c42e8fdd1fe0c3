//! Clients that are slow, or vanish: they are given up within their time, they hold a bounded part
//! of the memory, and others are served meanwhile.

use crate::site::{Client, Site, bare, get, put, until};
use faces::limits;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

fn large(bytes: usize) -> String {
    format!("\"{}\"", "x".repeat(bytes - 2))
}

fn short(change: impl Fn(&mut faces::ServerOptions)) -> Site {
    Site::with(|options| {
        options.timeouts.header = Duration::from_millis(300);
        options.timeouts.body = Duration::from_millis(300);
        options.timeouts.write_stall = Duration::from_millis(300);
        change(options);
    })
}

/// Whether a client that goes on writing is told to stop.
fn is_given_up(client: &mut Client, piece: &[u8]) -> bool {
    // Bounded only so that the test ends if nothing ever comes of it.
    for _ in 0..2_000 {
        if !client.try_send(piece) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn a_head_that_comes_byte_by_byte_is_not_waited_for() {
    let site = short(|_| {});
    let mut client = site.connect();
    client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: ");
    assert!(is_given_up(&mut client, b"x"));
    // Nor is one that may still become a preface of HTTP/2.
    let mut client = site.connect();
    client.send("P");
    assert!(client.is_at_end());
    assert_eq!(site.ask(&get("/healthz")).status, 200);
}

#[test]
fn a_body_that_comes_byte_by_byte_is_a_408() {
    let site = short(|_| {});
    let fields = "Content-Type: a/b\r\nContent-Length: 10000\r\n";
    let mut client = site.connect();
    client.send(bare("PUT", "/db/notes/a", fields));
    assert!(is_given_up(&mut client, b"x"));
    let mut client = site.connect();
    client.send(bare("PUT", "/db/notes/a", fields));
    client.send("x");
    assert_eq!(client.reply(false).problem(), "body-timeout");
    assert_eq!(site.ask(&get("/db/notes/a")).status, 404);
}

#[test]
fn a_large_body_has_more_time_than_a_small_one() {
    let site = short(|_| {});
    let mut client = site.connect();
    let piece = vec![b'x'; limits::BODY_BYTES_PER_S_MIN as usize];
    let length = 20 * piece.len();
    let fields = format!("Content-Type: a/b\r\nContent-Length: {length}\r\n");
    client.send(bare("PUT", "/db/notes/a", &fields));
    // Altogether longer than the time for a body, but each piece earns a second.
    for _ in 0..20 {
        client.send(&piece);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(client.reply(false).status, 201);
}

#[test]
fn a_reader_that_takes_a_byte_at_a_time_is_given_up() {
    let site = short(|options| options.connections_max = 2);
    site.put("/db/notes/large", &large(limits::BODY_BYTES_MAX - 8));
    let mut greedy = TcpStream::connect(site.server.local_addr()).unwrap();
    for _ in 0..4 {
        greedy.write_all(get("/db/notes/large").as_bytes()).unwrap();
    }
    let mut other = site.connect();
    let mut byte = [0];
    // It reads what was sent before the server gave it up, and then finds the end.
    let mut taken = 0;
    while taken < 100 && greedy.read(&mut byte).is_ok_and(|read| read > 0) {
        taken += 1;
        std::thread::sleep(Duration::from_millis(2));
        other = site.connect();
        if taken % 10 == 0 {
            drop(std::mem::replace(&mut other, site.connect()));
        }
    }
    drop(other);
    // Its seat is free.
    until(|| {
        let mut first = site.connect();
        let mut second = site.connect();
        first.try_ask(&get("/healthz")).is_some() && second.try_ask(&get("/healthz")).is_some()
    });
}

#[test]
fn replies_in_flight_are_bounded() {
    const DOCUMENT: usize = 7 << 20;
    let site = Site::with(|options| {
        options.reactors = 1;
        options.reply_memory_bytes = 2 * DOCUMENT;
        options.timeouts.write_stall = Duration::from_millis(300);
    });
    site.put("/db/notes/large", &large(DOCUMENT));
    let mut readers: Vec<_> = (0..2).map(|_| site.connect()).collect();
    for reader in &mut readers {
        reader.send(get("/db/notes/large"));
    }
    // They do not read. One more is refused, and what is small is served.
    let refused = site.ask(&get("/db/notes/large"));
    assert_eq!((refused.status, refused.problem()), (503, "busy"));
    assert_eq!(refused.field("retry-after"), Some("1"));
    assert_eq!(site.ask(&get("/healthz")).status, 200);
    assert_eq!(site.ask(&put("/db/notes/small", "", "1")).status, 201);
    // They are given up, and then there is room again.
    until(|| site.ask(&get("/db/notes/large")).status == 200);
}

#[test]
fn clients_that_reset_or_half_close_at_any_point() {
    let site = Site::start();
    let whole = put("/db/notes/a", "", "\"0123456789\"") + &get("/db/notes/a");
    for cut in (0..whole.len()).step_by(7) {
        for how in [Shutdown::Both, Shutdown::Write] {
            let mut stream = TcpStream::connect(site.server.local_addr()).unwrap();
            stream.write_all(&whole.as_bytes()[..cut]).unwrap();
            stream.shutdown(how).unwrap();
            // Unread bytes of a reply make this a reset.
            drop(stream);
        }
    }
    assert_eq!(site.ask(&get("/healthz")).status, 200);
}

#[test]
fn a_flood_of_fields_ends_with_431() {
    let site = Site::start();
    let mut client = site.connect();
    client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n");
    for n in 0..100_000 {
        if !client.try_send(format!("X-{n}: y\r\n").as_bytes()) {
            break;
        }
    }
    // The reply may be lost to a reset when the flood goes on for too long.
    assert!(client.try_reply(false).is_none_or(|reply| reply.status == 431));
    assert!(client.is_at_end());
    assert_eq!(site.ask(&get("/healthz")).status, 200);
}
