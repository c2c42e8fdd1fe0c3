//! Clients that ask for much and take nothing: what the process has in memory, as the kernel says.

use crate::frames::{Frame, Frames, HEADERS, INITIAL_WINDOW_SIZE, request};
use crate::harness::{Server, Site};
use std::fs;

const CONNECTIONS: usize = 60;

/// As many as a connection may have.
const STREAMS: u32 = 128;

const BLOB_BYTES: usize = 4 << 20;

/// What the streams themselves take, content left aside: with room for other allocators.
const BYTES_PER_STREAM_MAX: u64 = 8 << 10;

/// The most that the process had in memory so far, in bytes.
fn peak(server: &Server) -> u64 {
    let path = format!("/proc/{}/status", server.id());
    let status = fs::read_to_string(path).expect("the server's status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib << 10
}

/// What replies may hold, of all reactors, as the server says.
fn promised(server: &Server) -> u64 {
    const NAME: &str = "sarsen_memory_max_bytes{use=\"replies\"} ";
    let page = server.get("/metrics").text();
    let value = page.lines().find_map(|line| line.strip_prefix(NAME)).expect(NAME);
    value.parse().expect("a number")
}

/// Whether a reply is a 200, which no other status is written like (RFC 7541, appendix A).
fn is_ok(reply: &Frame) -> bool {
    reply.payload.first() == Some(&0x88)
}

#[test]
fn blobs_that_nobody_takes_stay_within_what_is_promised() {
    let site = Site::bare();
    let server = site.start();
    let blob: Vec<u8> = (0..BLOB_BYTES).map(|n| (n % 251) as u8).collect();
    let fields = [("content-type", "application/octet-stream")];
    let put = server.connect().request("PUT", "/db/photos/a", &fields, &blob).expect("a reply");
    assert_eq!(put.status, 201);
    assert_eq!(server.get("/db/photos/a").body.len(), BLOB_BYTES);
    let (promised, before) = (promised(&server), peak(&server));
    let mut clients = Vec::new();
    let mut admitted = 0;
    for _ in 0..CONNECTIONS {
        let mut client = Frames::open_with(server.address(), &[(INITIAL_WINDOW_SIZE, 0)]);
        for n in 0..STREAMS {
            client.ask(2 * n + 1, &request("GET", "/db/photos/a"));
        }
        for _ in 0..STREAMS {
            admitted += u64::from(is_ok(&client.next_of(HEADERS).expect("a reply")));
        }
        clients.push(client);
    }
    let took = peak(&server).saturating_sub(before);
    println!("{admitted} streams that stall: {took} bytes, {promised} promised");
    assert!(admitted * BLOB_BYTES as u64 > 4 * promised, "{admitted} are enough to show it");
    let most = promised + CONNECTIONS as u64 * u64::from(STREAMS) * BYTES_PER_STREAM_MAX;
    assert!(took <= most, "{took} bytes, at most {most}");
    assert_eq!(server.get("/healthz").status, 200, "others are served");
    drop(clients);
    crate::patience::wait_for("room", String::new, || {
        (server.get("/db/photos/a").body == blob).then_some(())
    });
    assert_eq!(server.stop().code(), Some(0));
}
