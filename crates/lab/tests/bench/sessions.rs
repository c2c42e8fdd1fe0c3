//! Cookies: what a user sends back, and what it forgets.

use crate::server::{Request, Server, send, serve};
use crate::{plan, report};
use std::collections::{HashMap, HashSet};
use std::net::TcpStream;

/// A server that starts a session for every request without one.
fn session_server() -> Server {
    serve(|request: &Request, stream: &mut TcpStream| {
        let cookie = match request.field("cookie") {
            Some(_) => String::new(),
            None => format!("Set-Cookie: session={}; Path=/; HttpOnly\r\n", request.number),
        };
        send(stream, format!("HTTP/1.1 200 OK\r\n{cookie}Content-Length: 0\r\n\r\n").as_bytes())
    })
}

#[test]
fn each_user_keeps_the_session_it_was_given() {
    let server = session_server();
    let mut plan = plan(&server, 60);
    plan.users = 3;
    assert_eq!(report(&plan).measured.successes(), 60);
    let mut sessions = HashMap::new();
    for request in server.seen() {
        match sessions.get(&request.connection) {
            None => {
                assert_eq!(request.field("cookie"), None);
                sessions.insert(request.connection, format!("session={}", request.number));
            }
            Some(session) => assert_eq!(request.field("cookie"), Some(session.as_str())),
        }
    }
    assert_eq!(sessions.len() as u64, server.connections());
}

#[test]
fn a_new_session_in_every_hit_sends_no_cookie_and_keeps_the_connection() {
    let server = session_server();
    let mut plan = plan(&server, 40);
    plan.new_session = true;
    let report = report(&plan);
    assert_eq!((report.measured.successes(), report.connections), (40, 1));
    assert!(server.seen().iter().all(|request| request.field("cookie").is_none()));
}

#[test]
fn a_removed_cookie_is_not_sent_again() {
    let server = serve(|request, stream| {
        let cookies = match request.number {
            0 => "Set-Cookie: a=1\r\nSet-Cookie: b=2; Path=/elsewhere\r\n",
            1 => "Set-Cookie: a=gone; Max-Age=0\r\n",
            2 => "Set-Cookie: b=3\r\n",
            _ => "",
        };
        send(stream, format!("HTTP/1.1 200 OK\r\n{cookies}Content-Length: 0\r\n\r\n").as_bytes())
    });
    report(&plan(&server, 4));
    let sent: Vec<_> =
        server.seen().iter().map(|request| request.field("cookie").map(str::to_owned)).collect();
    let expected = [None, Some("a=1; b=2"), Some("b=2"), Some("b=3")];
    assert_eq!(sent, expected.map(|cookie| cookie.map(str::to_owned)));
}

#[test]
fn cookies_outlive_the_connection() {
    let server = serve(|request, stream| {
        let reply = format!(
            "HTTP/1.1 200 OK\r\nSet-Cookie: n={}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            request.number
        );
        send(stream, reply.as_bytes())
    });
    assert_eq!(report(&plan(&server, 5)).connections, 5);
    let sent: HashSet<_> =
        server.seen().iter().map(|request| request.field("cookie").map(str::to_owned)).collect();
    let expected = ["n=0", "n=1", "n=2", "n=3"].map(|cookie| Some(cookie.to_owned()));
    assert_eq!(sent, expected.into_iter().chain([None]).collect());
}
