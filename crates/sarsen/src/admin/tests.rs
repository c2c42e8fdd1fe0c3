//! Both sides of the socket, on real sockets.

use super::place::NAME;
use super::streaming::Streaming;
use super::{AdminSocket, AskError, Commands, Event, Running};
use crate::exchange::CutExport;
use crate::limits::{ADMIN_CONNECTIONS_MAX, ADMIN_REQUEST_BYTES_MAX};
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

fn start(folder: &Path) -> AdminSocket {
    let application = Some("notes".to_owned());
    let commands = Commands {
        application,
        tasks: None,
        figures: None,
        repository: None,
        importing: Mutex::default(),
        cut_export: CutExport::default(),
    };
    AdminSocket::start(folder, commands).expect("the folder is this user's")
}

fn ask(folder: &Path, command: &str) -> Result<Value, AskError> {
    Running::find(folder)?.expect("a server").ask(command, &json!({}))
}

fn raw(folder: &Path, line: &[u8]) -> Value {
    let mut stream = UnixStream::connect(folder.join(NAME)).unwrap();
    stream.write_all(line).unwrap();
    let mut reply = String::new();
    BufReader::new(stream).read_line(&mut reply).unwrap();
    serde_json::from_str(&reply).unwrap()
}

#[test]
fn a_server_answers_its_owner_and_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    assert!(Running::find(folder).unwrap().is_none());
    let mut server = start(folder);
    let found = fs::metadata(folder.join(NAME)).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    let mut running = Running::find(folder).unwrap().unwrap();
    for _ in 0..3 {
        let answer = running.ask("server", &json!({})).unwrap();
        assert_eq!(answer["pid"], std::process::id());
        assert_eq!(answer["application"], "notes");
    }
    server.stop();
    assert!(!folder.join(NAME).exists());
    assert!(matches!(running.ask("server", &json!({})), Err(AskError::Line { .. })));
    assert!(Running::find(folder).unwrap().is_none());
}

#[test]
fn what_is_no_request_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let _server = start(folder);
    let unknown = ask(folder, "frobnicate").unwrap_err().to_string();
    assert!(unknown.contains("has no command \"frobnicate\""), "{unknown}");
    for (line, why) in [(&b"{}\n"[..], "got {}"), (b"nonsense\n", "JSON"), (b"[]\n", "got []")] {
        let error = raw(folder, line)["error"].as_str().unwrap().to_owned();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn a_line_that_is_too_long_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let _server = start(folder);
    let long = vec![b' '; ADMIN_REQUEST_BYTES_MAX + 1];
    let error = raw(folder, &long)["error"].as_str().unwrap().to_owned();
    assert!(error.contains(&ADMIN_REQUEST_BYTES_MAX.to_string()), "{error}");
}

#[test]
fn connections_are_bounded_and_places_come_free() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let _server = start(folder);
    let mut held: Vec<Running> = Vec::new();
    for _ in 0..ADMIN_CONNECTIONS_MAX {
        let mut running = Running::find(folder).unwrap().unwrap();
        running.ask("server", &json!({})).unwrap();
        held.push(running);
    }
    let error = ask(folder, "server").unwrap_err();
    assert!(matches!(&error, AskError::Refused(why) if why.contains("try again")), "{error:?}");
    held.pop();
    // The server needs a moment to see that one has gone.
    let begun = Instant::now();
    while let Err(error) = ask(folder, "server") {
        assert!(matches!(&error, AskError::Refused(_)), "{error:?}");
        assert!(begun.elapsed() < Duration::from_secs(120), "no place comes free");
    }
}

#[test]
fn what_a_killed_server_left_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Dropping a listener leaves its name, as the end of a process does.
    for name in [NAME, "admin.sock.new"] {
        drop(UnixListener::bind(folder.join(name)).unwrap());
    }
    assert!(Running::find(folder).unwrap().is_none());
    let _server = start(folder);
    assert!(ask(folder, "server").is_ok());
}

#[test]
fn a_path_too_long_for_a_socket_is_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("d".repeat(100)).join("e".repeat(100));
    fs::create_dir_all(&deep).unwrap();
    assert!(Running::find(&deep).unwrap().is_none());
    let mut server = start(&deep);
    assert!(ask(&deep, "server").is_ok());
    server.stop();
    assert!(!deep.join(NAME).exists());
}

#[test]
fn a_folder_that_all_may_write_to_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    let error = Running::find(folder.path()).map(drop).unwrap_err();
    assert!(error.to_string().contains("mode 777"), "{error}");
    drop(server);
    let commands = Commands {
        application: None,
        tasks: None,
        figures: None,
        repository: None,
        importing: Mutex::default(),
        cut_export: CutExport::default(),
    };
    let error = AdminSocket::start(folder.path(), commands).map(drop).unwrap_err();
    assert!(error.to_string().contains("make it 700"), "{error}");
}

#[test]
fn who_says_nothing_hinders_neither_others_nor_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = start(folder.path());
    let mut silent = UnixStream::connect(folder.path().join(NAME)).unwrap();
    assert!(ask(folder.path(), "server").is_ok());
    server.stop();
    assert_eq!(silent.read(&mut [0]).unwrap(), 0);
}

fn stream(folder: &Path) -> Streaming {
    let running = Running::find(folder).unwrap().expect("a server");
    running.stream("echo", &json!({})).unwrap()
}

#[test]
fn a_stream_carries_bytes_both_ways_and_waits_for_who_reads() {
    let folder = tempfile::tempdir().unwrap();
    let _server = start(folder.path());
    let mut streaming = stream(folder.path());
    let mut sender = streaming.sender().unwrap();
    // More than the system keeps for a socket.
    let sent: Vec<u8> = (0..4_000_000_u32).map(|i| (i % 251) as u8).collect();
    let copy = sent.clone();
    let sending = std::thread::spawn(move || {
        sender.send(&copy).unwrap();
        sender.end().unwrap();
    });
    let mut received = Vec::new();
    loop {
        match streaming.next().unwrap() {
            Event::Data(bytes) => received.extend(bytes),
            Event::Progress(_) => {}
            Event::End(result) => {
                assert_eq!(result["bytes"], 4_000_000);
                break;
            }
        }
    }
    sending.join().unwrap();
    assert!(received == sent);
}

#[test]
fn a_stream_ends_when_the_command_goes_and_when_the_server_stops() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = start(folder.path());
    let gone: Vec<Streaming> = (0..ADMIN_CONNECTIONS_MAX).map(|_| stream(folder.path())).collect();
    drop(gone);
    let begun = Instant::now();
    let mut streaming = loop {
        let running = Running::find(folder.path()).unwrap().expect("a server");
        match running.stream("echo", &json!({})) {
            Ok(streaming) => break streaming,
            Err(error) => assert!(matches!(&error, AskError::Refused(_)), "{error:?}"),
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "no place comes free");
    };
    server.stop();
    let error = streaming.next().unwrap_err();
    assert!(error.to_string().contains("being stopped"), "{error}");
}

#[test]
fn what_is_no_frame_ends_the_stream() {
    let folder = tempfile::tempdir().unwrap();
    let _server = start(folder.path());
    let mut raw = UnixStream::connect(folder.path().join(NAME)).unwrap();
    raw.write_all(b"{\"command\":\"echo\"}\nnonsense").unwrap();
    let mut reply = String::new();
    raw.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("{\"stream\":true}\nX"), "{reply}");
    assert!(reply.contains("expected a frame"), "{reply}");
}
