//! Starting, stopping and starting again.

use crate::harness::{Ends, Site, sarsen};
use crate::patience::Deadline;
use rustix::process::Signal;
use std::fs::OpenOptions;
use std::process::Stdio;

fn line<'a>(said: &'a [String], word: &str) -> Option<&'a str> {
    said.iter().find(|line| line.starts_with(word)).map(String::as_str)
}

#[test]
fn serve_says_where_it_is_and_what_it_promises() {
    let site = Site::bare();
    let server = site.start();
    let data = line(&server.said, "data").unwrap();
    assert!(data.contains(site.data().canonicalize().unwrap().to_str().unwrap()), "{data}");
    assert!(data.ends_with("(new)"), "{data}");
    assert!(line(&server.said, "durability").unwrap().contains("synced"), "{:?}", server.said);
    assert!(line(&server.said, "app").unwrap().contains("none"), "{:?}", server.said);
    assert_eq!(line(&server.said, "recovery"), None, "there was nothing to recover");
    assert_eq!(server.get("/healthz").status, 200);
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn documents_are_there_after_a_clean_stop() {
    let site = Site::bare();
    let server = site.start();
    let put = server.connect().put_json("/db/notes/a", "{\"text\":\"hello\"}").unwrap();
    assert_eq!(put.status, 201);
    let etag = server.get("/db/notes/a").header("etag").unwrap().to_owned();
    assert_eq!(server.stop().code(), Some(0));
    site.assert_clean();

    let server = site.start();
    let recovery = line(&server.said, "recovery").unwrap();
    assert!(recovery.contains(" 0 commits"), "a clean stop leaves nothing to replay: {recovery}");
    let got = server.get("/db/notes/a");
    assert_eq!((got.status, got.text().as_str()), (200, "{\"text\":\"hello\"}"));
    assert_eq!(got.header("etag"), Some(etag.as_str()));
}

#[test]
fn documents_are_there_after_kill_9() {
    let site = Site::bare();
    let server = site.start();
    assert_eq!(server.connect().put_json("/db/notes/a", "1").unwrap().status, 201);
    server.kill();
    site.assert_clean();

    let server = site.start();
    let recovery = line(&server.said, "recovery").unwrap();
    assert!(recovery.contains("commit"), "{recovery}");
    assert!(!recovery.contains(" 0 commits"), "the commit was in the tranlog only: {recovery}");
    assert_eq!(server.get("/db/notes/a").text(), "1");
}

#[test]
fn a_start_without_a_write_leaves_no_gap() {
    let site = Site::bare();
    let put = |key: &str| {
        let server = site.start();
        let put = server.connect().put_json(&format!("/db/notes/{key}"), "1").unwrap();
        assert_eq!(put.status, 201);
        server
    };
    put("a").kill();
    // This one leaves an empty segment of the tranlog in the middle of others.
    site.start().kill();
    put("b").kill();
    // This one's checkpoint makes the segments so far unnecessary, and they stay as spares.
    assert_eq!(put("c").stop().code(), Some(0));
    put("d").kill();
    site.assert_clean();

    let server = site.start();
    for key in ["a", "b", "c", "d"] {
        assert_eq!(server.get(&format!("/db/notes/{key}")).status, 200, "{key}");
    }
}

#[test]
fn a_repository_opens_once() {
    let site = Site::bare();
    let server = site.start();
    let output = site.serve().ends();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{stderr}");
    assert!(lines.iter().all(|line| line.contains("open in another process")), "{stderr}");
    assert!(lines[0].contains("waiting at most") && !lines[1].contains("waiting"), "{stderr}");
    assert_eq!(server.get("/healthz").status, 200, "the first goes on");
    server.kill();
    assert_eq!(site.start().get("/healthz").status, 200, "a crash leaves no lock");
}

/// The head of a request whose body is still to come, and the body.
const HALF: (&str, &str) = (
    "PUT /db/notes/late HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
     content-length: 7\r\nexpect: 100-continue\r\n\r\n",
    "[1,2,3]",
);

#[test]
fn a_signal_lets_a_request_in_flight_finish() {
    for signal in [Signal::TERM, Signal::INT] {
        let site = Site::bare();
        let mut server = site.start();
        let mut client = server.connect();
        client.send(HALF.0.as_bytes()).unwrap();
        assert_eq!(client.read_reply(true).unwrap().status, 100, "it waits for the body");

        server.signal(signal);
        server.wait_for_log("finishing requests in flight");
        client.send(HALF.1.as_bytes()).unwrap();
        assert_eq!(client.read_reply(false).unwrap().status, 201);
        assert_eq!(client.read_to_end().unwrap(), b"", "then it closes the connection");
        assert_eq!(server.wait().code(), Some(0));
        site.assert_clean();
        assert_eq!(site.start().get("/db/notes/late").text(), HALF.1);
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let site = Site::bare();
    let mut server = site.start();
    let mut client = server.connect();
    client.send(HALF.0.as_bytes()).unwrap();
    assert_eq!(client.read_reply(true).unwrap().status, 100, "it waits for the body");

    server.signal(Signal::INT);
    server.wait_for_log("finishing requests in flight");
    server.signal(Signal::INT);
    assert_eq!(server.wait().code(), Some(130));
    site.assert_clean();
}

#[test]
fn a_damaged_repository_does_not_open() {
    let site = Site::bare();
    let server = site.start();
    for key in 0..20 {
        let put = server.connect().put_json(&format!("/db/notes/{key}"), "\"some text\"").unwrap();
        assert_eq!(put.status, 201);
    }
    server.kill();
    damage_first_record(&site);

    let (served, verified) = (site.serve().ends(), site.verify());
    for (text, code, exit) in
        [(served.stderr, served.status.code(), 3), (verified.stdout, verified.status.code(), 8)]
    {
        let text = String::from_utf8_lossy(&text);
        assert_eq!(code, Some(exit), "{text}");
        assert!(text.contains("damaged") && text.contains("offset"), "{text}");
    }
}

/// Turns a byte of an acknowledged document in the tranlog around.
fn damage_first_record(site: &Site) {
    let needle = b"some text";
    let files = crate::harness::read_tree(&site.data().join("tranlog"));
    let at = |bytes: &[u8]| bytes.windows(needle.len()).position(|window| window == needle);
    let (path, mut bytes) =
        files.into_iter().find(|(_, bytes)| at(bytes).is_some()).expect("the record is there");
    let offset = at(&bytes).expect("found above");
    bytes[offset] ^= 0xff;
    std::fs::write(path, bytes).expect("the segment can be written");
}

#[test]
fn verify_says_what_it_read() {
    let site = Site::bare();
    let server = site.start();
    for key in 0..3 {
        server.connect().put_json(&format!("/db/notes/{key}"), "0").unwrap();
    }
    assert_eq!(server.stop().code(), Some(0));
    let output = site.verify();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("notes") && text.contains('3'), "{text}");
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = sarsen().arg("help").stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let _deadline = Deadline::of(&output, "sarsen help".to_owned());
    let output = output.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.starts_with("sarsen: cannot write to stdout: "), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}
