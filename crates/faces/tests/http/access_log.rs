//! The access log: what is written down of requests, and what never is.

use crate::app;
use crate::frames::{CANCEL, Frames, PING, RST_STREAM, request};
use crate::site::{Site, bare, get, put, until};
use faces::AccessLogTarget;
use faces::access::{Grant, NewToken, Scope, TokenFile};
use repository::Timestamp;
use serde_json::Value;
use std::path::Path;

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_request_is_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let site = Site::with(|o| o.access_log = Some(AccessLogTarget::File(path.clone())));
    let mut client = site.connect();
    client.ask(&put("/db/notes/a", "User-Agent: a \"test\"\r\nX-Request-Id: r-1\r\n", "[1]"));
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    client.ask(&bare(
        "GET",
        "/db/notes/a?secret=s3cret",
        &format!("traceparent: 00-{trace}-00f067aa0ba902b7-01\r\n"),
    ));
    client.ask(&bare("HEAD", "/db/notes/a", ""));
    client.ask(&get("/db/notes/%22%0A"));
    until(|| lines(&path).len() == 4);
    let [put, get, head, bad] = lines(&path).try_into().unwrap();
    assert_eq!((put["method"].as_str(), put["status"].as_u64()), (Some("PUT"), Some(201)));
    assert_eq!(
        (put["path"].as_str(), put["client"].as_str()),
        (Some("/db/notes/a"), Some("127.0.0.1"))
    );
    assert_eq!(
        (put["user_agent"].as_str(), put["request_id"].as_str()),
        (Some("a \"test\""), Some("r-1"))
    );
    assert_eq!((put["protocol"].as_str(), put["bytes"].as_u64()), (Some("HTTP/1.1"), Some(0)));
    assert!(put["duration_us"].is_u64() && put["time"].as_str().unwrap().ends_with('Z'), "{put}");
    assert_eq!((get["path"].as_str(), get["bytes"].as_u64()), (Some("/db/notes/a"), Some(3)));
    assert_eq!(get["trace"], trace);
    assert_eq!(head["bytes"], 0);
    assert_eq!(
        (bad["path"].as_str(), bad["status"].as_u64()),
        (Some("/db/notes/%22%0A"), Some(400))
    );
    assert!(!std::fs::read_to_string(&path).unwrap().contains("s3cret"), "the query is left out");
}

#[test]
fn who_asked_is_named_by_the_tokens_id_and_the_token_is_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let file = TokenFile::of(folder.path());
    let grant = Grant::new(Scope::Read, vec!["*".parse().unwrap()]).unwrap();
    let (name, created) = ("ci".to_owned(), Timestamp(0));
    let (token, secret) = file.create(NewToken { name, grant, created, expires: None }).unwrap();
    let site = Site::with(|options| {
        options.tokens = Some(file);
        options.access_log = Some(AccessLogTarget::File(path.clone()));
    });
    let field = format!("Authorization: Bearer {}\r\n", secret.reveal());
    site.ask(&bare("GET", "/db/notes/a", &field));
    site.ask(&put("/db/notes/a", &field, "1"));
    site.ask(&get("/db/notes/a"));
    site.ask(&get(&format!("/db/notes/a?access_token={}", secret.reveal())));
    drop(site);
    let written = lines(&path);
    let statuses: Vec<_> = written.iter().map(|line| line["status"].as_u64().unwrap()).collect();
    let mut sorted = statuses.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [400, 401, 403, 404], "all are written before the server has ended");
    for line in &written {
        // Who is known and may not, too.
        let is_known = line["status"] == 404 || line["status"] == 403;
        assert_eq!(line["principal"] == token.id.as_str(), is_known, "{line}");
    }
    assert!(!std::fs::read_to_string(&path).unwrap().contains(&secret.reveal()[7..]));
}

#[test]
fn a_request_id_comes_back_and_a_wild_one_does_not() {
    let site = Site::start();
    let mut client = site.connect();
    let reply = client.ask(&bare("GET", "/db/notes/a", "X-Request-Id: abc-1\r\n"));
    assert_eq!(reply.field("x-request-id"), Some("abc-1"));
    let reply = client.ask(&bare("GET", "/db/notes/a", "X-Request-Id: a b\r\n"));
    assert_eq!(reply.field("x-request-id"), None);
    assert_eq!(client.ask(&get("/db/notes/a")).field("x-request-id"), None);
}

#[test]
fn a_request_that_is_taken_back_is_a_line_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let log = AccessLogTarget::File(path.clone());
    let site = app::site_with(64, |options| options.access_log = Some(log));
    let mut client = Frames::open(site.server.local_addr());
    // One gem works at the first for its whole time, and then at the others.
    for stream in [1, 3, 5, 7, 9] {
        client.ask(stream, &request("GET", "/loops"));
    }
    // The ping's answer shows that the last was seen before it is taken back.
    client.send(PING, 0, 0, &[0; 8]);
    client.next_of(PING).unwrap();
    client.send(RST_STREAM, 0, 9, &CANCEL.to_be_bytes());
    let is_taken_back = |line: &Value| line["status"] == 499;
    until(|| lines(&path).iter().any(is_taken_back));
    let told = site.ask(&get("/metrics")).body;
    assert!(told.contains("\nsarsen_http_requests_abandoned_total 1\n"), "{told}");
}
