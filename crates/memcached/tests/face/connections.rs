//! Connections that are many, slow, half closed, idle, or want too much.

use crate::server::{PATIENCE, Server, options};
use memcached::limits::{
    ANSWERS_BYTES_MAX, DUMP_BYTES_MAX, SIZES_ITEMS_MAX, SMALL_BYTES_MAX, THREADS_MAX,
};
use memcached::{Face, FaceOptions, Place, StartError};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Waits until something is so, and panics with what it waited for.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited for: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn expect(stream: &mut impl Read, expected: &[u8]) {
    let mut got = vec![0; expected.len()];
    stream.read_exact(&mut got).unwrap();
    assert_eq!(got.escape_ascii().to_string(), expected.escape_ascii().to_string());
}

fn is_closed(stream: &mut impl Read) -> bool {
    match stream.read(&mut [0; 1]) {
        Ok(bytes) => bytes == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

/// Stores values of a size.
fn fill(server: &Server, count: usize, bytes: usize) {
    let mut stream = server.stream();
    for number in 0..count {
        let mut set = format!("set k{number} 0 0 {bytes} noreply\r\n").into_bytes();
        set.resize(set.len() + bytes, b'v');
        set.extend_from_slice(b"\r\n");
        stream.write_all(&set).unwrap();
    }
    stream.write_all(b"mn\r\n").unwrap();
    expect(&mut stream, b"MN\r\n");
}

#[test]
fn a_client_that_closes_its_side_gets_every_answer() {
    let server = Server::start();
    let answers = server.answers(b"set a 0 0 1\r\nx\r\nget a\r\nset b 0 0 9\r\nnot all");
    assert_eq!(answers, b"STORED\r\nVALUE a 0 1\r\nx\r\nEND\r\n");
    // More than the kernel takes at once.
    fill(&server, 16, 500_000);
    let mut stream = server.stream();
    stream.write_all(&b"mg k1 v\r\n".repeat(40)).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answers = Vec::new();
    stream.read_to_end(&mut answers).unwrap();
    assert_eq!(answers.len(), 40 * (b"VA 500000\r\n\r\n".len() + 500_000));
}

#[test]
fn a_client_that_takes_no_answers_is_not_listened_to_and_costs_little() {
    let server = Server::start();
    fill(&server, 1, 100_000);
    let mut slow = server.stream();
    slow.set_nonblocking(true).unwrap();
    // Long commands, so that what the kernel keeps of them is not many.
    let none = format!(" {}", "n".repeat(240)).repeat(7);
    let command = format!("get k0{none}\r\n");
    let asked = command.as_bytes().repeat(10);
    let mut sent = 0;
    // Until nobody takes it any more.
    let start = Instant::now();
    let mut idle = 0;
    while idle < 50 {
        match slow.write(&asked[sent % asked.len()..]) {
            Ok(bytes) => (sent, idle) = (sent + bytes, 0),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                idle += 1;
                thread::sleep(Duration::from_millis(10));
            }
        }
        assert!(start.elapsed() < PATIENCE, "it is listened to for ever: {sent} bytes");
    }
    let kept = server.face.figures().kept_bytes as usize;
    assert!(kept < 2 * (ANSWERS_BYTES_MAX + 1_000_000 + asked.len()), "{kept}");
    // Others are served.
    assert_eq!(server.answers(b"mn\r\n"), b"MN\r\n");
    // And it gets all that it asked for once it takes it.
    let whole = sent / command.len();
    slow.set_nonblocking(false).unwrap();
    let item = b"VALUE k0 0 100000\r\n".len() + 100_000 + 2;
    let mut left = whole * (item + 5);
    let mut room = vec![0; 1 << 20];
    while left > 0 {
        let read = slow.read(&mut room[..left.min(1 << 20)]).unwrap();
        assert!(read > 0, "{left} bytes are missing");
        left -= read;
    }
    drop(slow);
    wait_until("its memory is given back", || server.face.figures().kept_bytes == 0);
}

#[test]
fn a_value_may_come_byte_by_byte() {
    let server = Server::start();
    let mut stream = server.stream();
    for byte in b"set a 1 0 5\r\nhello\r\nget a\r\n" {
        stream.write_all(&[*byte]).unwrap();
    }
    expect(&mut stream, b"STORED\r\nVALUE a 1 5\r\nhello\r\nEND\r\n");
    wait_until("what was kept is given back", || server.face.figures().kept_bytes == 0);
}

/// A face whose connections may keep so much.
fn server_with_buffers(buffer_bytes: usize) -> Server {
    Server::start_with(&FaceOptions { buffer_bytes, ..options() }, 64 << 20)
}

/// The begin of a `set` of so many bytes, without the last ten.
fn half_a_set(key: &str, bytes: usize) -> Vec<u8> {
    let mut set = format!("set {key} 0 0 {bytes}\r\n").into_bytes();
    set.resize(set.len() + bytes - 10, b'v');
    set
}

const REFUSED: &[u8] = b"SERVER_ERROR out of memory storing object\r\n";

#[test]
fn unfinished_values_are_refused_at_the_bound_and_the_server_goes_on() {
    let bound = 8 << 20;
    let server = server_with_buffers(bound);
    let bytes = 1_000_000;
    assert_eq!(server.answers(b"set big 0 0 1\r\nx\r\n"), b"STORED\r\n");
    let half = half_a_set("big", bytes);
    let mut streams: Vec<TcpStream> = Vec::new();
    for _ in 0..20 {
        let mut stream = server.stream();
        stream.write_all(&half).unwrap();
        streams.push(stream);
        let kept = server.face.figures().kept_bytes as usize;
        assert!(kept <= bound, "{kept}");
    }
    let fitting = bound * 3 / 4 / bytes;
    wait_until("the others are refused", || {
        server.face.figures().values_refused as usize == streams.len() - fitting
    });
    let (mut stored, mut refused) = (0, 0);
    for stream in &mut streams {
        stream.write_all(b"vvvvvvvvvv\r\nmn\r\n").unwrap();
        let mut answer = [0; 8];
        stream.read_exact(&mut answer).unwrap();
        if &answer == b"STORED\r\n" {
            stored += 1;
        } else {
            refused += 1;
            assert_eq!(answer, REFUSED[..8]);
            expect(stream, &REFUSED[8..]);
        }
        // Its data are passed over, and the connection goes on.
        expect(stream, b"MN\r\n");
    }
    assert_eq!(stored, fitting, "as many as there is memory for");
    assert_eq!(server.face.figures().values_refused, refused);
    drop(streams);
    wait_until("what was kept is given back", || server.face.figures().kept_bytes == 0);
}

#[test]
fn a_refused_set_removes_what_was_there_and_is_counted() {
    let server = server_with_buffers(100_000);
    assert_eq!(server.answers(b"set big 0 0 1\r\nx\r\nset b 0 0 1\r\ny\r\n").len(), 16);
    let commands = [&half_a_set("big", 200_000)[..], b"vvvvvvvvvv\r\nget big b\r\n"].concat();
    let answers = server.answers(&commands);
    let expected = [REFUSED, b"VALUE b 0 1\r\ny\r\nEND\r\n"].concat();
    assert_eq!(answers.escape_ascii().to_string(), expected.escape_ascii().to_string());
    let stats = String::from_utf8(server.answers(b"stats\r\n")).unwrap();
    assert!(stats.contains("STAT store_no_memory 1\r\n"), "{stats}");
    assert!(stats.contains("STAT store_too_large 0\r\n"), "{stats}");
}

#[test]
fn little_commands_find_room_where_large_ones_do_not() {
    let server = server_with_buffers(4 << 20);
    let half = half_a_set("big", 1_000_000);
    let large: Vec<TcpStream> = (0..6)
        .map(|_| {
            let mut stream = server.stream();
            stream.write_all(&half).unwrap();
            stream
        })
        .collect();
    wait_until("the large ones have what they may have", || {
        server.face.figures().values_refused == 3
    });
    for mut stream in (0..50).map(|_| server.stream()).collect::<Vec<_>>() {
        for piece in [&b"set a 0 0 10"[..], b"00\r\n", &[b'x'; 1_000], b"\r\n"] {
            stream.write_all(piece).unwrap();
            assert_eq!(server.answers(b"mn\r\n"), b"MN\r\n", "it has come as a piece");
        }
        expect(&mut stream, b"STORED\r\n");
    }
    drop(large);
}

#[test]
fn a_connection_that_would_have_to_keep_a_line_beyond_the_bound_is_closed() {
    let server = server_with_buffers(SMALL_BYTES_MAX);
    let lines: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = server.stream();
            stream.write_all(&[b'x'; 2_000]).unwrap();
            stream
        })
        .collect();
    wait_until("some are closed", || server.face.figures().memory_closed == 12);
    assert_eq!(server.face.figures().kept_bytes as usize, SMALL_BYTES_MAX);
    assert_eq!(server.answers(b"mn\r\n"), b"MN\r\n");
    let stats = String::from_utf8(server.answers(b"stats\r\n")).unwrap();
    assert!(stats.contains("STAT read_buf_oom 12\r\n"), "{stats}");
    drop(lines);
}

#[test]
fn a_client_that_takes_no_answers_is_closed_when_memory_is_short() {
    // More than the kernel takes of an answer.
    let value = vec![b'v'; 40 << 20];
    let settings = cache::Settings::new(256 << 20, 1);
    let cache = cache::Cache::new(&cache::Settings { value_bytes_max: value.len(), ..settings });
    let cache = Arc::new(cache.unwrap());
    let key = cache.key(b"k0");
    let set = cache::Store::set(&value, 0, cache::Expires::NEVER);
    cache.lock(&key).store(&key, &set).unwrap();
    let options = FaceOptions { buffer_bytes: 1 << 20, ..options() };
    let face = Face::start(&options, Arc::clone(&cache)).unwrap();
    let [Place::Address(address)] = face.places() else { panic!("{:?}", face.places()) };
    let connect = || {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    };
    let mut slow = connect();
    slow.write_all(b"get k0\r\n").unwrap();
    wait_until("it is closed", || face.figures().answers_closed == 1);
    assert_eq!(face.figures().kept_bytes, 0);
    let mut other = connect();
    other.write_all(b"stats\r\nquit\r\n").unwrap();
    let mut stats = String::new();
    other.read_to_string(&mut stats).unwrap();
    assert!(stats.contains("STAT response_obj_oom 1\r\n"), "{stats}");
    assert!(stats.contains("STAT read_buf_oom 0\r\n"), "{stats}");
}

#[test]
fn memory_that_is_kept_for_long_is_taken_back_when_others_need_it() {
    let server = server_with_buffers(4 << 20);
    let half = half_a_set("big", 1_000_000);
    let mut holders: Vec<TcpStream> = (0..3).map(|_| server.stream()).collect();
    for stream in &mut holders {
        stream.write_all(&half).unwrap();
    }
    wait_until("they have the memory", || server.face.figures().kept_bytes > 3_000_000);
    // Each in two pieces, so that it needs some.
    wait_until("somebody else gets it", || {
        let mut stream = server.stream();
        stream.write_all(&half).unwrap();
        assert_eq!(server.answers(b"mn\r\n"), b"MN\r\n");
        stream.write_all(b"vvvvvvvvvv\r\n").unwrap();
        let mut answer = [0; 8];
        stream.read_exact(&mut answer).unwrap();
        &answer == b"STORED\r\n"
    });
    assert!(server.face.figures().memory_closed > 0);
}

#[test]
fn one_connection_too_many_is_told_so() {
    let server = Server::start_with(&FaceOptions { connections_max: 3, ..options() }, 16 << 20);
    let mut streams: Vec<TcpStream> = (0..3).map(|_| server.stream()).collect();
    for stream in &mut streams {
        stream.write_all(b"mn\r\n").unwrap();
        expect(stream, b"MN\r\n");
    }
    let mut told = Vec::new();
    server.stream().read_to_end(&mut told).unwrap();
    assert_eq!(told, b"ERROR Too many open connections\r\n");
    drop(streams.pop());
    wait_until("a place is free", || server.face.figures().connections < 3);
    assert_eq!(server.answers(b"mn\r\n"), b"MN\r\n");
    assert_eq!(server.face.figures().rejected, 1);
}

#[test]
fn idle_connections_are_closed_if_that_is_asked_for() {
    let idle_timeout = Some(Duration::from_secs(1));
    let server = Server::start_with(&FaceOptions { idle_timeout, ..options() }, 16 << 20);
    let mut stream = server.stream();
    stream.write_all(b"mn\r\n").unwrap();
    expect(&mut stream, b"MN\r\n");
    assert!(is_closed(&mut stream));
    assert_eq!(server.face.figures().idle_closed, 1);
}

#[test]
fn a_unix_socket_is_served_and_goes_with_the_face() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache");
    let place = Place::Path(path.clone());
    let start = || Server::start_with(&FaceOptions::new(place.clone()), 16 << 20);
    let server = start();
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"set a 0 0 1\r\nx\r\nget a\r\n").unwrap();
    expect(&mut stream, b"STORED\r\nVALUE a 0 1\r\nx\r\nEND\r\n");
    // Somebody listens there.
    let second = Face::start(&FaceOptions::new(place.clone()), Arc::clone(&server.cache));
    assert!(matches!(second, Err(StartError::Listen { .. })));
    drop(server);
    assert!(is_closed(&mut stream));
    assert!(!path.exists());
    // One that was left behind is replaced, another file is not.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let server = start();
    drop(server);
    std::fs::write(&path, "mine").unwrap();
    let third = Face::start(&FaceOptions::new(place.clone()), start_cache());
    assert!(matches!(third, Err(StartError::Listen { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
}

#[test]
fn there_are_as_many_threads_as_there_may_be() {
    for threads in [0, THREADS_MAX + 1] {
        let started = Face::start(&FaceOptions { threads, ..options() }, start_cache());
        assert!(matches!(started, Err(StartError::Threads { got }) if got == threads));
    }
    let most = FaceOptions { threads: THREADS_MAX, ..options() };
    assert_eq!(Server::start_with(&most, 16 << 20).answers(b"mn\r\n"), b"MN\r\n");
}

fn start_cache() -> Arc<cache::Cache> {
    Arc::new(cache::Cache::new(&cache::Settings::new(16 << 20, 1)).unwrap())
}

#[test]
fn others_than_this_machine_need_a_password() {
    let public = FaceOptions::new("0.0.0.0:0".parse().unwrap());
    let started = Face::start(&public, start_cache());
    let Err(error) = started else { panic!("it listens") };
    assert!(error.to_string().contains("--memcached-auth"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    std::fs::write(&users, "ann:secret\n").unwrap();
    Face::start(&FaceOptions { auth: Some(users), ..public }, start_cache()).unwrap();
}

#[test]
fn whoever_shows_no_password_is_told_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    std::fs::write(&users, "ann:secret\n").unwrap();
    let server = Server::start_with(&FaceOptions { auth: Some(users), ..options() }, 16 << 20);
    for (sent, answered) in [
        (&b"get a\r\n"[..], "CLIENT_ERROR unauthenticated\r\n"),
        (b"mn\r\nversion\r\n", "CLIENT_ERROR unauthenticated\r\nCLIENT_ERROR unauthenticated\r\n"),
        (b"set x 0 0 x\r\n", "CLIENT_ERROR unauthenticated\r\n"),
        (b"set x 0 0 9\r\nann wrong\r\n", "CLIENT_ERROR authentication failure\r\n"),
        (b"set x 0 0 3\r\nann\r\n", "CLIENT_ERROR bad authentication token format\r\n"),
        (b"set x 0 0 2\r\nannx", "CLIENT_ERROR bad command line termination\r\n"),
        (b"set x 0 0 2000\r\n", "CLIENT_ERROR bad authentication token format\r\n"),
        (&[b'x'; 4_000], ""),
        (b"set x 0 0 10\r\nann secret\r\nmn\r\nget x\r\n", "STORED\r\nMN\r\nEND\r\n"),
    ] {
        let mut stream = server.stream();
        stream.write_all(sent).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answers = Vec::new();
        let read = stream.read_to_end(&mut answers);
        assert!(read.is_ok() || answered.is_empty(), "{read:?}");
        assert_eq!(String::from_utf8_lossy(&answers), answered);
    }
}

#[test]
fn draining_lets_slow_clients_take_their_answers() {
    let server = Server::start();
    fill(&server, 8, 500_000);
    let mut slow = server.stream();
    slow.write_all(&b"get k0 k1 k2 k3 k4 k5 k6 k7\r\n".repeat(4)).unwrap();
    let mut idle = server.stream();
    idle.write_all(b"mn\r\n").unwrap();
    expect(&mut idle, b"MN\r\n");
    wait_until("answers wait", || server.face.figures().kept_bytes > 0);
    let Server { face, .. } = server;
    let draining = thread::spawn(move || face.drain(PATIENCE));
    assert!(is_closed(&mut idle));
    let mut answers = Vec::new();
    slow.read_to_end(&mut answers).unwrap();
    assert_eq!(answers.len(), 4 * (8 * (b"VALUE k0 0 500000\r\n\r\n".len() + 500_000) + 5));
    assert_eq!(draining.join().unwrap(), 0);
}

#[test]
fn reports_tell_what_was_done() {
    let server = Server::start();
    fill(&server, 100, 50);
    let report = |words: &str| report(&server, words);
    server.answers(b"get k1 none\r\ndelete k2\r\nincr k1 1\r\n");
    let general = report("");
    for (name, expected) in [
        ("curr_items", "99"),
        ("total_items", "100"),
        ("cmd_set", "100"),
        ("get_hits", "1"),
        ("get_misses", "1"),
        ("delete_hits", "1"),
        ("curr_connections", "1"),
        ("threads", "1"),
        ("limit_maxbytes", "67108864"),
    ] {
        assert_eq!(value(&general, name), expected, "{name}");
    }
    assert!(value(&general, "bytes_read").parse::<u64>().unwrap() > 5_000);
    assert_eq!(value(&report(" items"), "items:1:number"), "99");
    assert_eq!(value(&report(" slabs"), "active_slabs"), "1");
    let sizes = report(" sizes");
    assert_eq!(value(&sizes, "96"), "99", "32 bytes, a key of 3, a value of 50");
    let dump = report(" cachedump 1 0");
    assert_eq!(dump.lines().filter(|line| line.ends_with(" [50 b; 0 s]")).count(), 99);
    assert_eq!(report(" cachedump 1 7").lines().count(), 8);
    assert_eq!(report(" cachedump 2 0"), "END\r\n");
    assert!(report(" conns").contains("addr tcp:127.0.0.1:"));
    assert_eq!(server.answers(b"stats reset\r\n"), b"RESET\r\n");
    let general = report("");
    assert_eq!(
        (value(&general, "get_hits"), value(&general, "curr_items")),
        ("0".into(), "99".into())
    );
    assert!(value(&general, "total_connections").parse::<u64>().unwrap() < 3);
}

/// What a server says to `stats` and these words.
fn report(server: &Server, words: &str) -> String {
    let answers = server.answers(format!("stats{words}\r\n").as_bytes());
    let text = String::from_utf8(answers).unwrap();
    assert!(text.ends_with("END\r\n"), "{text}");
    text
}

/// A figure of a report.
fn value(text: &str, name: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
    line.unwrap_or_else(|| panic!("{name} is not in {text}")).to_owned()
}

#[test]
fn reports_say_nothing_that_is_not_so() {
    let server = Server::start();
    fill(&server, 99, 50);
    let report = |words: &str| report(&server, words);
    let general = report("");
    for (name, expected) in [
        ("accepting_conns", "1"),
        ("listen_disabled_num", "0"),
        ("time_in_listen_disabled_us", "0"),
        ("store_no_memory", "0"),
        ("response_obj_oom", "0"),
        ("conn_yields", "0"),
        ("get_flushed", "0"),
        ("reclaimed", "0"),
    ] {
        assert_eq!(value(&general, name), expected, "{name}");
    }
    // The page that has the items, and those of the index.
    let malloced: u64 = value(&report(" slabs"), "total_malloced").parse().unwrap();
    assert!((32 << 10..1 << 20).contains(&malloced), "{malloced}");
    // What is not done is not said to be done.
    assert!(server.answers(b"stats detail on\r\n").starts_with(b"SERVER_ERROR"));
    assert_eq!(report(" detail dump"), "END\r\n");
    assert_eq!(report(" sizes_enable"), "STAT sizes_status enabled\r\nEND\r\n");
    assert!(report(" sizes_disable").starts_with("STAT sizes_status enabled\r\n"));
    server.answers(b"flush_all\r\nget k3\r\n");
    let general = report("");
    assert_eq!(
        (value(&general, "reclaimed"), value(&general, "get_flushed")),
        ("99".into(), "0".into()),
        "what is flushed is gone at once"
    );
    // More answers than gather at a time.
    let settings = server.answers(b"stats settings\r\n").len();
    let times = 2 * ANSWERS_BYTES_MAX / settings;
    assert_eq!(server.answers(&b"stats settings\r\n".repeat(times)).len(), settings * times);
    assert_ne!(value(&report(""), "conn_yields"), "0");
}

#[test]
fn reports_about_items_are_cut() {
    let server = Server::start_with(&options(), 160 << 20);
    let mut stream = server.stream();
    let mut sets = Vec::new();
    for number in 0..=SIZES_ITEMS_MAX {
        sets.extend_from_slice(format!("set k{number} 0 0 1 noreply\r\nx\r\n").as_bytes());
    }
    stream.write_all(&sets).unwrap();
    stream.write_all(b"mn\r\n").unwrap();
    expect(&mut stream, b"MN\r\n");
    let sizes = String::from_utf8(server.answers(b"stats sizes\r\n")).unwrap();
    assert!(sizes.starts_with("STAT sizes_status cut\r\n"), "{sizes}");
    let dump = server.answers(b"stats cachedump 1 0\r\n").len();
    assert!((DUMP_BYTES_MAX..DUMP_BYTES_MAX + 400).contains(&dump), "{dump}");
}
