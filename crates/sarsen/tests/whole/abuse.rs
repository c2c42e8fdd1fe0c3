//! Clients that misbehave: each gets a correct status or a closed connection, and the server goes
//! on serving. The faces' own tests have the full tables; these show it for the assembled server.

use crate::harness::{Server, Site, root};
use crate::patience::PATIENCE;
use rustix::process::{Resource, getrlimit, setrlimit};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

/// What may come back: one of these statuses, or nothing but the end of the connection.
fn assert_answer(server: &Server, request: &[u8], statuses: &[u16]) {
    let mut stream = TcpStream::connect(server.address()).expect("the server accepts");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    // A server that has refused may close before it has read everything.
    let _refused_early = stream.write_all(request);
    let _refused_early = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _reset = stream.read_to_end(&mut answer);
    let shown = String::from_utf8_lossy(&request[..request.len().min(60)]).into_owned();
    let line = String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned();
    let status = line.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok());
    let fits = status.map_or(answer.is_empty(), |status| statuses.contains(&status));
    assert!(fits, "{shown:?}: expected {statuses:?} or a close, got {line:?}");
}

fn head(start: &str, rest: &str) -> Vec<u8> {
    format!("{start} HTTP/1.1\r\nhost: localhost\r\n{rest}\r\n").into_bytes()
}

#[test]
fn malformed_requests() {
    let site = Site::with_app(root().join("apps/counter"));
    let server = site.start();
    let huge = "x".repeat(1 << 20);
    let json = "content-type: application/json\r\n";
    let cases: Vec<(Vec<u8>, &[u16])> = vec![
        (b"".to_vec(), &[]),
        (b"\r\n\r\n\r\n".to_vec(), &[400]),
        (b"GET\r\n\r\n".to_vec(), &[400]),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc".to_vec(), &[400]),
        (b"GET / HTTP/9.9\r\n\r\n".to_vec(), &[400, 505]),
        (b"GET /\0 HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(), &[400]),
        (head("GET /", "no colon\r\n"), &[400]),
        (head("GET /", &format!("big: {huge}\r\n")), &[431]),
        (head(&format!("GET /{huge}"), ""), &[414, 431]),
        (head("BREW /db/notes/a", ""), &[405, 501]),
        (head("GET /db/notes/%zz", ""), &[400]),
        (head("GET /db/notes/%ff", ""), &[400]),
        (head("PUT /db/notes/a", &format!("{json}content-length: 99999999999\r\n")), &[413]),
        (head("PUT /db/notes/a", &format!("{json}content-length: -1\r\n")), &[400]),
        (head("PUT /db/notes/a", &format!("{json}content-length: 5\r\n")), &[400, 408]),
        (
            head("PUT /db/notes/a", &format!("{json}transfer-encoding: chunked\r\n\r\nzz")),
            &[400, 408],
        ),
        (head("GET /", "cookie: sarsen_session=../../etc; =;;;\r\n"), &[200]),
        (head("GET /", "cookie: \u{fe}\u{ff}\r\n"), &[200, 400]),
    ];
    for (request, statuses) in &cases {
        assert_answer(&server, request, statuses);
        assert_eq!(server.get("/healthz").status, 200, "it goes on serving");
    }
    assert_eq!(server.get("/db/notes/a").status, 404, "none of them had an effect");
    assert_eq!(server.stop().code(), Some(0));
    site.assert_clean();
}

#[test]
fn bodies_that_are_not_what_they_say() {
    let server = Site::bare().start();
    let json = "content-type: application/json\r\n";
    for (body, status) in [("{\"a\":", 400), ("", 400), ("{\"a\":1}x", 400), ("nul", 400)] {
        let rest = format!("{json}content-length: {}\r\nconnection: close\r\n", body.len());
        let request = [head("PUT /db/notes/a", &rest), body.as_bytes().to_vec()].concat();
        assert_answer(&server, &request, &[status]);
    }
    assert_eq!(server.get("/db/notes/a").status, 404);
}

#[test]
fn a_thousand_idle_connections() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("this process may open as many files as allowed");

    let server = Site::bare().start();
    let idle: Vec<TcpStream> =
        (0..1000).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    let put = server.connect().put_json("/db/notes/a", "1").unwrap();
    assert_eq!(put.status, 201, "one more is served");

    // They were accepted and not merely queued: each of a few, spread over all, is served too.
    for stream in idle.iter().step_by(100) {
        let mut stream = stream.try_clone().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&head("GET /db/notes/a", "")).unwrap();
        let mut start = [0; 12];
        stream.read_exact(&mut start).unwrap();
        assert_eq!(&start, b"HTTP/1.1 200");
    }
    drop(idle);
    assert_eq!(server.get("/db/notes/a").status, 200);
    assert_eq!(server.stop().code(), Some(0));
}
