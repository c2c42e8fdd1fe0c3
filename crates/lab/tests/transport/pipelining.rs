//! Several requests under way on a connection of HTTP/1.1.

use crate::nginx::Nginx;
use crate::server::{OK, Then, send, serve, serve_bytes, wait_for_close};
use crate::{assert_only, hit, report};
use lab::hit::Hit;
use lab::limits::UNPROCESSED_TRIES_MAX;
use lab::measure::ErrorClass;
use lab::plan::Protocol;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

fn pipelined(url: &str, (users, pipeline): (usize, usize), count: u64) -> Hit {
    let mut hit = hit(url, users, count);
    hit.transport.protocol = Protocol::Http1 { pipeline };
    hit
}

#[test]
fn nginx_answers_all_of_them() {
    let nginx = Nginx::start("", None, "keepalive_requests 100000;");
    let report = report(&pipelined(&nginx.url("http", "localhost"), (16, 8), 2000));
    assert_eq!((report.measured.successes(), report.errors_in_all()), (2000, 0));
    assert_eq!((report.connections, nginx.requests().len()), (2, 2000));
}

#[test]
fn each_user_gets_its_own_replies() {
    let server = serve(|request, stream| {
        let cookie = match request.field("cookie") {
            Some(_) => String::new(),
            None => format!("Set-Cookie: s={}\r\n", request.number),
        };
        send(stream, format!("HTTP/1.1 200 OK\r\n{cookie}Content-Length: 0\r\n\r\n").as_bytes())
    });
    let report = report(&pipelined(&server.url("/"), (6, 3), 60));
    assert_eq!((report.measured.successes(), report.connections), (60, 2));
    // As many sessions as users, each on one connection, and each told to its user alone.
    let mut sessions: HashMap<String, HashSet<usize>> = HashMap::new();
    for request in server.seen() {
        let own = format!("s={}", request.number);
        let session = request.field("cookie").map_or(own, str::to_owned);
        sessions.entry(session).or_default().insert(request.connection);
    }
    assert_eq!(sessions.len(), 6, "{sessions:?}");
    assert!(sessions.values().all(|connections| connections.len() == 1), "{sessions:?}");
}

#[test]
fn a_pipeline_of_16_is_full() {
    // Answers only when 16 requests are there.
    let server = serve(|request, stream| match request.number % 16 {
        15 => send(stream, &OK.repeat(16)),
        _ => Then::Keep,
    });
    let report = report(&pipelined(&server.url("/"), (16, 16), 160));
    assert_eq!((report.measured.successes(), report.connections), (160, 1));
}

#[test]
fn what_the_server_says_it_did_not_read_is_sent_again() {
    let server = serve(|request, stream| match request.number % 5 {
        4 => {
            send(stream, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            wait_for_close(stream)
        }
        _ => send(stream, OK),
    });
    let report = report(&pipelined(&server.url("/"), (3, 3), 50));
    assert_eq!((report.measured.successes(), report.errors_in_all()), (50, 0));
    assert!(report.connections >= 10, "{}", report.connections);
}

#[test]
fn but_not_for_ever() {
    // Every connection has one reply, and three users want one at the same time.
    let server = serve(|_, stream| {
        send(stream, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        wait_for_close(stream)
    });
    let users = UNPROCESSED_TRIES_MAX + 2;
    let report = report(&pipelined(&server.url("/"), (users, users), users as u64));
    let errors = report.measured.errors();
    assert_eq!(errors.total() + report.measured.successes(), users as u64);
    if errors.total() > 0 {
        let first = assert_only(errors, ErrorClass::Closed, errors.total());
        assert!(first.starts_with("the server ended the connection 3 times"), "{first}");
    }
}

#[test]
fn a_reply_that_never_comes_ends_the_connection_for_all_on_it() {
    let server = serve(|request, stream| match request.number {
        0..4 => send(stream, OK),
        _ => wait_for_close(stream),
    });
    let mut hit = pipelined(&server.url("/"), (2, 2), 8);
    hit.request_timeout = Duration::from_secs(1);
    let report = report(&hit);
    let errors = report.measured.errors();
    let (late, beside) = (errors.count(ErrorClass::Timeout), errors.count(ErrorClass::Closed));
    assert_eq!((report.measured.successes(), late + beside), (4, 4), "{errors}");
    assert!(late > 0, "{errors}");
}

#[test]
fn garbage_ends_it_too() {
    let server = serve_bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(report(&pipelined(&server.url("/"), (4, 4), 40)).measured.successes(), 40);
    let server = serve(|request, stream| match request.number {
        0..8 => send(stream, OK),
        _ => send(stream, b"220 mail.example ESMTP\r\n"),
    });
    let report = report(&pipelined(&server.url("/"), (1, 4), 10));
    assert_eq!(report.measured.successes(), 8);
    let first = assert_only(report.measured.errors(), ErrorClass::Malformed, 2);
    assert!(first.starts_with("the reply's head does not parse"), "{first}");
}
