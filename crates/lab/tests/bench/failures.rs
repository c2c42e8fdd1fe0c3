//! What goes wrong between the two ends: each failure must fall into its class, and the next
//! request must start afresh.

use crate::server::{OK, Server, Then, send, serve, serve_one_then, wait_for_close};
use crate::{assert_only, errors, plan, report};
use lab::engine::RunError;
use lab::hit::Hit;
use lab::measure::ErrorClass;
use lab::report::Report;
use lab::transport::ReachError;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// One success and nine errors of a class, the first for a reason that begins so.
fn assert_nine(server: &Server, class: ErrorClass, reason: &str) -> Report {
    let report = report(&plan(server, 10));
    assert_eq!(report.measured.successes(), 1);
    let first = assert_only(report.measured.errors(), class, 9);
    assert!(first.starts_with(reason), "{first}");
    // The second request still goes out on the first connection.
    assert_eq!(report.connections, 9);
    report
}

#[test]
fn a_short_body_is_a_closed_connection() {
    let server = serve_one_then(|_, stream| {
        send(stream, b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nnot fifty");
        Then::Close
    });
    let reason = "the server closed the connection inside the body";
    let report = assert_nine(&server, ErrorClass::Closed, reason);
    assert_eq!(report.measured.statuses().count(200), 1);
}

#[test]
fn no_reply_at_all_is_a_closed_connection() {
    let server = serve_one_then(|_, _| Then::Close);
    assert_nine(&server, ErrorClass::Closed, "the server closed the connection before it replied");
}

#[test]
fn a_reset_is_a_closed_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // Closing while the request is unread makes the kernel send a reset.
            drop(stream.unwrap().peek(&mut [0]));
        }
    });
    let mut plan = Hit::new(url.parse().unwrap());
    plan.ramp_up = Duration::ZERO;
    plan.users = 1;
    plan.count = Some(5);
    let errors = errors(&plan);
    assert!(assert_only(&errors, ErrorClass::Closed, 5).starts_with("the connection broke"));
}

#[test]
fn a_reset_inside_the_request_is_a_closed_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            drop(stream.unwrap().read(&mut [0; 10]));
        }
    });
    let errors = errors(&large_put(&url, 3));
    assert_only(&errors, ErrorClass::Closed, 3);
}

/// PUTs of a body larger than what the kernel takes for a reader that does not read.
fn large_put(url: &str, count: u64) -> Hit {
    let mut plan = Hit::new(url.parse().unwrap());
    plan.ramp_up = Duration::ZERO;
    plan.users = 1;
    plan.count = Some(count);
    plan.request.method = "PUT".to_owned();
    plan.request.body = vec![b'x'; lab::limits::REQUEST_BODY_BYTES_MAX];
    plan
}

#[test]
fn garbage_is_malformed() {
    let server = serve_one_then(|_, stream| send(stream, b"220 mail.example ESMTP\r\n"));
    assert_nine(&server, ErrorClass::Malformed, "the reply's head does not parse");
}

#[test]
fn a_broken_chunk_is_malformed() {
    let reply = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n";
    let server = serve_one_then(move |_, stream| send(stream, reply));
    assert_nine(&server, ErrorClass::Malformed, "the chunked body is broken");
}

#[test]
fn more_than_the_reply_is_malformed() {
    let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok, and more";
    let server = serve_one_then(move |_, stream| send(stream, reply));
    assert_nine(&server, ErrorClass::Malformed, "the server sent 10 bytes or more after the end");
}

#[test]
fn a_head_without_end_is_malformed() {
    let server = serve_one_then(|_, stream| {
        send(stream, b"HTTP/1.1 200 OK\r\nX: ");
        while send(stream, &[b'x'; 1000]) == Then::Keep {}
        Then::Close
    });
    assert_nine(&server, ErrorClass::Malformed, "the reply's head has more than");
}

#[test]
fn a_server_that_never_answers_is_a_timeout() {
    let server = serve_one_then(|_, stream| wait_for_close(stream));
    let mut plan = plan(&server, 4);
    plan.request_timeout = Duration::from_secs(1);
    let report = report(&plan);
    assert_eq!(report.measured.successes(), 1);
    assert_only(report.measured.errors(), ErrorClass::Timeout, 3);
}

#[test]
fn a_body_without_end_is_a_timeout() {
    let server = serve_one_then(|_, stream| {
        send(stream, b"HTTP/1.1 200 OK\r\n\r\n");
        // More at a time than the client reads: to it the body never pauses.
        let endless = vec![b'x'; 1 << 20];
        while send(stream, &endless) == Then::Keep {}
        Then::Close
    });
    let mut plan = plan(&server, 3);
    plan.request_timeout = Duration::from_secs(1);
    let report = report(&plan);
    assert_eq!(report.measured.successes(), 1);
    assert_only(report.measured.errors(), ErrorClass::Timeout, 2);
    assert!(report.measured.bytes_received() > OK.len() as u64 + (1 << 20));
}

#[test]
fn a_refusal_is_heard_while_the_request_is_still_being_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            if stream.read(&mut [0; 10]).unwrap() > 0 {
                send(&mut stream, b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
                // Reads on only after the client has decided, so that nothing is reset.
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(200));
                    wait_for_close(&mut stream)
                });
            }
        }
    });
    let errors = errors(&large_put(&url, 2));
    assert_eq!(assert_only(&errors, ErrorClass::Status4xx, 2), "status 413");
}

#[test]
fn a_refused_connection_before_the_run_is_no_report() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let plan = Hit::new(format!("http://{address}/x").parse().unwrap());
    match plan.run(|_| {}) {
        Err(RunError::Reach(ReachError::Connect { origin: target, address: tried, source })) => {
            assert_eq!((target, tried), (address.to_string(), address));
            assert_eq!(source.kind(), ErrorKind::ConnectionRefused);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn connections_refused_during_the_run_are_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        // The first connection is the one that looks whether anyone is there.
        drop(listener.accept().unwrap());
        let (mut stream, _) = listener.accept().unwrap();
        drop(listener);
        assert!(stream.read(&mut [0; 1000]).unwrap() > 0);
        let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        stream.write_all(reply).unwrap();
    });
    let mut plan = Hit::new(url.parse().unwrap());
    plan.ramp_up = Duration::ZERO;
    plan.users = 1;
    plan.count = Some(4);
    let report = report(&plan);
    assert_eq!((report.measured.successes(), report.connections), (1, 1));
    let first = assert_only(report.measured.errors(), ErrorClass::Connect, 3);
    assert!(first.starts_with("cannot connect: "), "{first}");
}

#[test]
fn a_host_without_address_is_no_report() {
    let plan = Hit::new("http://../".parse().unwrap());
    match plan.run(|_| {}) {
        Err(RunError::Reach(ReachError::Resolve { host, .. })) => {
            assert_eq!(host, "..");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_address_of_a_name_is_tried() {
    // The server listens on 127.0.0.1 only; the name may stand for ::1 as well.
    let server = serve(|_, stream: &mut TcpStream| send(stream, OK));
    let mut plan = plan(&server, 3);
    plan.target = format!("http://localhost:{}/", server.port()).parse().unwrap();
    assert_eq!(report(&plan).measured.successes(), 3);
}

#[test]
fn a_plan_that_cannot_be_run_and_a_process_that_is_not_there_are_no_reports() {
    let server = serve(|_, stream| send(stream, OK));
    let mut plan = plan(&server, 1);
    plan.server_pid = Some(u32::MAX);
    assert!(matches!(plan.run(|_| {}), Err(RunError::ServerCpu { pid: u32::MAX, .. })));
    plan.users = 0;
    assert!(matches!(plan.run(|_| {}), Err(RunError::Plan(_))));
    assert!(server.seen().is_empty());
}
