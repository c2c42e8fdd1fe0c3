//! Replies a server may well give: each must be read to its last byte and count as it is.

use crate::server::{OK, Then, send, serve, serve_bytes};
use crate::{errors, plan, report};
use lab::measure::ErrorClass;
use std::time::Duration;

#[test]
fn a_kept_connection_carries_every_request_of_a_user() {
    let server = serve_bytes(OK);
    let report = report(&plan(&server, 200));
    assert_eq!((report.measured.operations(), report.measured.successes()), (200, 200));
    assert_eq!(report.measured.statuses().iter().collect::<Vec<_>>(), [(200, 200)]);
    assert_eq!(report.measured.bytes_received(), 200 * OK.len() as u64);
    assert_eq!((report.connections, server.connections()), (1, 1));
    assert_eq!((report.ramp_up.operations(), report.drain.operations()), (0, 0));
    let seen = server.seen();
    assert_eq!(seen.len(), 200);
    assert!(seen.iter().all(|request| request.line == "GET / HTTP/1.1"));
    let host = server.url("").replace("http://", "");
    assert!(seen.iter().all(|request| request.field("host") == Some(&host)));
}

#[test]
fn chunked_bodies_are_read_to_their_end() {
    let reply = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        5;a=b\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\nX-Sum: 1\r\n\r\n";
    let server = serve_bytes(reply);
    let report = report(&plan(&server, 50));
    assert_eq!((report.measured.successes(), report.connections), (50, 1));
    assert_eq!(report.measured.bytes_received(), 50 * reply.len() as u64);
}

#[test]
fn replies_may_come_byte_by_byte() {
    let reply = b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let server = serve(move |_, stream| {
        let alone = |byte: &[u8]| send(stream, byte) == Then::Keep;
        if reply.chunks(1).all(alone) { Then::Keep } else { Then::Close }
    });
    let report = report(&plan(&server, 20));
    assert_eq!((report.measured.statuses().count(201), report.connections), (20, 1));
}

#[test]
fn bodies_larger_than_any_buffer_pass_through() {
    const BYTES: usize = 1 << 20;
    let server = serve(|_, stream| {
        send(stream, format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\n\r\n").as_bytes());
        send(stream, &vec![b'x'; BYTES])
    });
    let report = report(&plan(&server, 5));
    assert_eq!((report.measured.successes(), report.connections), (5, 1));
    assert!(report.measured.bytes_received() > 5 * BYTES as u64);
}

#[test]
fn a_server_may_close_each_time() {
    let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    let server = serve(move |_, stream| {
        send(stream, reply);
        Then::Close
    });
    let report = report(&plan(&server, 30));
    assert_eq!((report.measured.successes(), report.measured.errors().total()), (30, 0));
    assert_eq!((report.connections, server.connections()), (30, 30));
}

#[test]
fn the_close_may_be_the_end_of_the_body() {
    let server = serve(|_, stream| {
        send(stream, b"HTTP/1.0 200 OK\r\n\r\nas long as it lasts");
        Then::Close
    });
    let report = report(&plan(&server, 10));
    assert_eq!((report.measured.successes(), report.connections), (10, 10));
}

#[test]
fn replies_without_a_body_end_with_their_head() {
    let server = serve(|request, stream| match request.number % 3 {
        0 => send(stream, b"HTTP/1.1 204 No Content\r\n\r\n"),
        1 => send(stream, b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"),
        _ => {
            send(stream, b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
            send(stream, b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n")
        }
    });
    let report = report(&plan(&server, 30));
    let statuses: Vec<_> = report.measured.statuses().iter().collect();
    assert_eq!(statuses, [(204, 10), (302, 10), (304, 10)]);
    assert_eq!((report.measured.successes(), report.connections), (30, 1));
}

#[test]
fn an_interim_reply_may_come_with_a_part_of_the_next() {
    let server = serve(|_, stream| {
        send(stream, b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 20");
        std::thread::sleep(Duration::from_millis(20));
        send(stream, b"2 Accepted\r\nContent-Length: 0\r\n\r\n")
    });
    let report = report(&plan(&server, 5));
    assert_eq!((report.measured.statuses().count(202), report.connections), (5, 1));
}

#[test]
fn head_gets_no_body() {
    let server = serve_bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    let mut plan = plan(&server, 10);
    plan.request.method = "HEAD".to_owned();
    assert_eq!(report(&plan).measured.successes(), 10);
    assert!(server.seen().iter().all(|request| request.line == "HEAD / HTTP/1.1"));
}

#[test]
fn errors_of_the_application_are_counted_by_status() {
    let server = serve(|request, stream| match request.number % 4 {
        0 | 1 => send(stream, OK),
        2 => send(stream, b"HTTP/1.1 500 Broken\r\nContent-Length: 3\r\n\r\nbad"),
        _ => send(stream, b"HTTP/1.1 404 Missing\r\nContent-Length: 0\r\n\r\n"),
    });
    let report = report(&plan(&server, 40));
    let errors = report.measured.errors();
    assert_eq!((report.measured.operations(), report.measured.successes()), (40, 20));
    assert_eq!((errors.count(ErrorClass::Status5xx), errors.total()), (10, 20));
    assert_eq!(errors.count(ErrorClass::Status4xx), 10);
    let statuses: Vec<_> = report.measured.statuses().iter().collect();
    assert_eq!(statuses, [(200, 20), (404, 10), (500, 10)]);
    assert_eq!(report.connections, 1);
}

#[test]
fn a_run_in_which_everything_is_an_error_is_void() {
    let server = serve_bytes(b"HTTP/1.1 503 Full\r\nContent-Length: 0\r\n\r\n");
    let errors = errors(&plan(&server, 7));
    assert_eq!((errors.count(ErrorClass::Status5xx), errors.total()), (7, 7));
    assert_eq!(errors.to_string(), "7 status_5xx (first: status 503)");
}
