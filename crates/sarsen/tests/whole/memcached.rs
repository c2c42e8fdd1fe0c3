//! `sarsen serve --memcached`: the conversations that memcached itself is held to, with the real
//! binary, and what the command line has to do with it.

mod durable;
mod memory;
mod server;
mod shared;

// What memcached is held to holds here.
#[allow(dead_code, clippy::unwrap_used, reason = "tests of another crate")]
#[path = "../../../wire/tests/memcached/conversation.rs"]
mod conversation;
#[allow(dead_code, clippy::unwrap_used, reason = "tests of another crate")]
#[path = "../../../wire/tests/memcached/model.rs"]
mod model;

use crate::harness::{self, Ends, Site, root};
use crate::http::Client;
use crate::idle::{IDLE, raise_file_limit, resident};
use conversation::{Conversation, Peer};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use server::Server;
use std::io::{Read, Write};
use std::path::PathBuf;

fn conversations() -> Vec<PathBuf> {
    let folder = root().join("crates/wire/tests/memcached/conversations");
    let files = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file"));
    let mut files: Vec<PathBuf> = files.map(|file| file.path()).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

/// What comes back to these bytes, up to the end.
fn answers(server: &Server, bytes: &[u8]) -> String {
    let mut stream = server.connect();
    stream.write_all(bytes).expect("it takes commands");
    stream.write_all(b"quit\r\n").expect("it takes commands");
    let mut answers = String::new();
    stream.read_to_string(&mut answers).expect("answers");
    answers
}

#[test]
fn it_answers_as_memcached_does() {
    let server = Server::start(&["--cache-threads", "2"]);
    for file in conversations() {
        Conversation::read(&file).hold(&mut || Peer::connect(&server));
    }
    assert_eq!(server.process.stop().code(), Some(0));
}

#[test]
fn a_socket_in_the_file_system_will_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cache");
    let place = format!("unix:{}", path.display());
    let site = Site::bare();
    let process = site.start_with(&["--memcached", &place]);
    let mut stream = std::os::unix::net::UnixStream::connect(&path).expect("a connection");
    stream.write_all(b"set a 0 0 1\r\nx\r\nget a\r\nquit\r\n").expect("it takes commands");
    let mut answers = String::new();
    stream.read_to_string(&mut answers).expect("answers");
    assert_eq!(answers, "STORED\r\nVALUE a 0 1\r\nx\r\nEND\r\n");
    assert_eq!(process.stop().code(), Some(0));
    assert!(!path.exists(), "the socket goes with the server");
}

#[test]
fn flags_are_obeyed_and_figures_told() {
    let server = Server::start(&["--cache-memory", "16M", "--cache-item-max", "100K"]);
    let settings = answers(&server, b"stats settings\r\n");
    assert!(settings.contains("STAT maxbytes 16777216\r\n"), "{settings}");
    assert!(settings.contains("STAT item_size_max 102400\r\n"), "{settings}");
    let large = format!("set a 0 0 102401\r\n{}\r\nmn\r\n", "x".repeat(102_401));
    let answered = answers(&server, large.as_bytes());
    assert_eq!(answered, "SERVER_ERROR object too large for cache\r\nMN\r\n");
    let answered = answers(&server, b"set b 0 0 1\r\nx\r\nget b none\r\n");
    assert_eq!(answered, "STORED\r\nVALUE b 0 1\r\nx\r\nEND\r\n");
    let mut client = Client::connect(server.process.address()).expect("a connection");
    let metrics = client.get("/metrics").expect("a reply").text().to_owned();
    for line in [
        "sarsen_cache_items 1",
        "sarsen_cache_max_bytes 16777216",
        "sarsen_cache_hits_total 1",
        "sarsen_memcached_connections_accepted_total 3",
    ] {
        assert!(metrics.lines().any(|told| told == line), "{line} is not in\n{metrics}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let refused = |arguments: &[&str]| {
        let output = Site::bare().serve().args(arguments).ends();
        let reason = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), reason)
    };
    for (arguments, code, expected) in [
        (&["--memcached", "0.0.0.0:0"][..], 4, "--memcached-auth FILE"),
        (&["--memcached", "11211"], 2, "127.0.0.1:11211 or unix:PATH"),
        (&["--memcached", "unix:/none/there"], 4, "unix:/none/there"),
        (&["--memcached", "127.0.0.1:0", "--cache-memory", "1K"], 2, "memory"),
        (&["--memcached", "127.0.0.1:0", "--cache-threads", "0"], 2, "from 1 to 64"),
        (&["--memcached", "127.0.0.1:0", "--memcached-auth", "/none"], 2, "/none"),
    ] {
        let (got, reason) = refused(arguments);
        assert_eq!(got, Some(code), "{arguments:?}: {reason}");
        assert!(reason.contains(expected), "{arguments:?}: {reason}");
    }
}

/// Memory that a connection may cost while it says nothing, in bytes: its socket is the kernel's.
const BYTES_PER_CONNECTION_MAX: u64 = 2 << 10;

#[test]
fn ten_thousand_connections_are_served_and_cheap_while_idle() {
    raise_file_limit();
    let server = Server::start(&["--cache-threads", "2"]);
    // All pages and the index are there before.
    let stored: String = (0..IDLE).map(|k| format!("set k{k} 0 0 6\r\nbefore\r\n")).collect();
    assert_eq!(answers(&server, stored.as_bytes()).lines().count(), IDLE);
    let before = resident(&server.process);
    let mut streams: Vec<_> = (0..IDLE).map(|_| server.connect()).collect();
    for (k, stream) in streams.iter_mut().enumerate() {
        let asked = format!("set k{k} 0 0 6\r\n{k:6}\r\nget k{k}\r\n");
        stream.write_all(asked.as_bytes()).expect("it takes commands");
    }
    for (k, stream) in streams.iter_mut().enumerate() {
        let expected = format!("STORED\r\nVALUE k{k} 0 6\r\n{k:6}\r\nEND\r\n");
        let mut got = vec![0; expected.len()];
        stream.read_exact(&mut got).expect("an answer");
        assert_eq!(String::from_utf8_lossy(&got), expected);
    }
    let each = resident(&server.process).saturating_sub(before) / IDLE as u64;
    assert!(each <= BYTES_PER_CONNECTION_MAX, "{each} bytes for each connection");
    assert_eq!(answers(&server, b"mn\r\n"), "MN\r\n", "newcomers are served, too");
}

#[test]
fn a_server_without_descriptors_says_that_it_does_not_accept() {
    let server = Server::start(&["--cache-threads", "1"]);
    let mut stream = server.connect();
    let mut figure = |name: &str| {
        stream.write_all(b"stats\r\nmn\r\n").expect("it takes commands");
        let mut stats = Vec::new();
        while !stats.ends_with(b"MN\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("an answer");
            stats.push(byte[0]);
        }
        let stats = String::from_utf8(stats).expect("text");
        let line = stats.lines().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
        line.and_then(|value| value.parse::<u64>().ok())
            .unwrap_or_else(|| panic!("{name}: {stats}"))
    };
    assert_eq!((figure("accepting_conns"), figure("listen_disabled_num")), (1, 0));
    // Fewer than are open already; poll(2) wants some.
    let maximum = getrlimit(Resource::Nofile).maximum;
    let before = limit_files(&server, Rlimit { current: Some(8), maximum });
    let waiting = server.connect();
    server.wait_for("it does not accept", || (figure("accepting_conns") == 0).then_some(()));
    assert_eq!(figure("listen_disabled_num"), 1);
    server.wait_for("a pause", || (figure("time_in_listen_disabled_us") > 0).then_some(()));
    limit_files(&server, before);
    server.wait_for("it accepts again", || (figure("accepting_conns") == 1).then_some(()));
    assert_eq!(answers(&server, b"mn\r\n"), "MN\r\n");
    drop(waiting);
}

/// Changes the limit of open files of a server; gives the one before.
fn limit_files(server: &Server, new: Rlimit) -> Rlimit {
    let id = i32::try_from(server.process.id()).expect("an id");
    prlimit(Pid::from_raw(id), Resource::Nofile, new).expect("it may be set")
}

/// `sarsen replay` with a trace that it reads from a file.
#[test]
fn a_trace_is_replayed() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.csv");
    let path_text = path.to_str().expect("UTF-8");
    let lines = "0,a,1,9,0,get,0\n1,a,1,9,0,get,0\n3,b,1,0,0,get,0\n";
    std::fs::write(&path, lines).expect("a file");
    let address = server.place();
    let output = harness::run(&["replay", path_text, &address, "--fill"]);
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    let rows: Vec<Vec<&str>> = said.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.len(), 5, "{said}");
    assert_eq!(rows[1], ["0", "1", "1", "0", "0.00", "%", "1", "0"], "{said}");
    assert_eq!(rows[2], ["1", "1", "1", "1", "100.00", "%", "0", "0"], "{said}");
    assert_eq!(rows[4], ["total", "3", "3", "1", "33.33", "%", "1", "0"], "{said}");
    assert_eq!(output.status.code(), Some(0));
    let output = harness::run(&["replay", path_text, &address, "--every", "1h", "--json"]);
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(said.lines().all(|line| line.contains("\"hits\":2")), "{said}");
    std::fs::write(&path, "0,a,1,9,0,got,0\n").expect("a file");
    assert_eq!(harness::run(&["replay", path_text, &address]).status.code(), Some(2));
    assert_eq!(harness::run(&["replay", "nothing", &address]).status.code(), Some(2));
    assert_eq!(server.process.stop().code(), Some(0));
    std::fs::write(&path, lines).expect("a file");
    assert_eq!(harness::run(&["replay", path_text, &address]).status.code(), Some(6));
}
