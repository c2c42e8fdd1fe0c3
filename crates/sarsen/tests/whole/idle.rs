//! Ten thousand connections that say nothing, and a client that works meanwhile.

use crate::harness::{Server, Site};
use crate::patience::PATIENCE;
use rustix::process::{Resource, getrlimit, setrlimit};
use std::fs;
use std::net::TcpStream;

pub const IDLE: usize = 10_000;

/// What docs/transport.md states, with room for other allocators and kernels, in bytes per
/// connection. It is for all that the process has, not only for what a connection needs.
const BYTES_PER_CONNECTION_MAX: u64 = 32 << 10;

/// Descriptors of this process besides.
const OTHERS: u64 = 500;

/// Resident memory of the server, in bytes.
pub fn resident(server: &Server) -> u64 {
    let path = format!("/proc/{}/status", server.id());
    let status = fs::read_to_string(path).expect("the server's status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib << 10
}

pub fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    let least = IDLE as u64 + OTHERS;
    let may_have = limit.maximum.unwrap_or(u64::MAX);
    assert!(may_have >= least, "the limit of open files is {may_have}: the test needs {least}");
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("a process may raise its soft limit");
}

/// The server's memory with `IDLE` connections, less that without, for each of them.
fn bytes_per_connection(server: &Server, begin: impl Fn(&TcpStream)) -> u64 {
    let mut active = server.connect();
    for n in 0..100 {
        active.put_json("/db/notes/a", &n.to_string()).expect("a reply");
    }
    let before = resident(server);
    let idle: Vec<_> = (0..IDLE)
        .map(|_| {
            let stream = TcpStream::connect(server.address()).expect("the server accepts");
            stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
            begin(&stream);
            stream
        })
        .collect();
    for n in 0..100 {
        let stored = active.put_json("/db/notes/a", &n.to_string()).expect("a reply");
        assert_eq!(stored.status, 204);
        assert_eq!(active.get("/db/notes/a").expect("a reply").text(), n.to_string());
    }
    let after = resident(server);
    assert_eq!(server.get("/healthz").status, 200, "newcomers are served, too");
    drop(idle);
    after.saturating_sub(before) / IDLE as u64
}

#[test]
fn ten_thousand_idle_connections() {
    raise_file_limit();
    let ask = |mut stream: &TcpStream| {
        let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
        std::io::Write::write_all(&mut stream, request).expect("a write");
        let mut reply = [0; 1_024];
        assert!(std::io::Read::read(&mut stream, &mut reply).expect("a reply") > 0);
    };
    for (name, begin) in [("unused", None), ("used before", Some(ask))] {
        let site = Site::bare();
        let server = site.start();
        let bytes = bytes_per_connection(&server, |stream| {
            if let Some(begin) = &begin {
                begin(stream);
            }
        });
        println!("{IDLE} connections, {name}: {bytes} bytes each");
        assert!(bytes <= BYTES_PER_CONNECTION_MAX, "{name}: {bytes} bytes each");
        assert_eq!(server.stop().code(), Some(0));
    }
}
