//! Connections: kept, shared, half-closed, idle, and of clients that go away.

use crate::site::{Client, Site, bare, get, put};
use rustix::process::{Resource, getrlimit, setrlimit};

#[test]
fn a_connection_is_used_again() {
    let site = Site::start();
    let mut client = site.connect();
    for n in 0..100 {
        let n = n.to_string();
        let stored = client.ask(&put("/db/notes/a", "", &n)).status;
        assert!(matches!(stored, 201 | 204), "{stored}");
        assert_eq!(client.ask(&get("/db/notes/a")).body, n);
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    const REQUESTS: usize = 50;
    let site = Site::start();
    let mut client = site.connect();
    let mut all = String::new();
    for n in 0..REQUESTS {
        all += &put(&format!("/db/notes/{n}"), "", &n.to_string());
        all += &get(&format!("/db/notes/{n}"));
        all += &bare("HEAD", &format!("/db/notes/{n}"), "");
    }
    client.send(all);
    for n in 0..REQUESTS {
        assert_eq!(client.reply(false).status, 201, "{n}");
        assert_eq!(client.reply(false).body, n.to_string());
        assert_eq!(client.reply(true).status, 200, "{n}");
    }
}

#[test]
fn a_reply_does_not_wait_for_what_follows_its_request() {
    let site = Site::start();
    let mut client = site.connect();
    let next = get("/db/notes/a");
    let (half, rest) = next.split_at(20);
    client.send(get("/healthz") + half);
    assert_eq!(client.reply(false).body, "ok\n");
    client.send(rest);
    assert_eq!(client.reply(false).status, 404);
    // Nor is it lost where nothing that follows will be answered.
    client.send(bare("GET", "/healthz", "Connection: close\r\n") + &get("/healthz"));
    assert_eq!(client.reply(false).body, "ok\n");
    assert!(client.is_at_end());
}

#[test]
fn chunked_bodies() {
    let site = Site::start();
    let mut client = site.connect();
    let head = bare(
        "PUT",
        "/db/notes/a",
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n",
    );
    // Byte by byte, with a chunk extension and a trailer field.
    for byte in (head + "3;x=y\r\n[1,\r\n02\r\n2]\r\n0\r\nTrailer: x\r\n\r\n").bytes() {
        client.send([byte]);
    }
    assert_eq!(client.reply(false).status, 201);
    assert!(client.is_at_end(), "after a trailer field nothing more is taken");
    assert_eq!(site.ask(&get("/db/notes/a")).body, "[1,2]");
}

#[test]
fn rfc9110_10_1_1_expect_continue() {
    let site = Site::start();
    let fields = "Content-Type: a/b\r\nContent-Length: 4\r\nExpect: 100-continue\r\n";
    let mut client = site.connect();
    client.send(bare("PUT", "/db/notes/a", fields));
    assert_eq!(client.reply(false).status, 100);
    client.send("body");
    assert_eq!(client.reply(false).status, 201);
    // What is refused by its head alone need not send a body.
    let reply = client.ask(&bare("PUT", "/db/Notes/a", fields));
    assert_eq!(reply.status, 400);
}

#[test]
fn http_1_0_closes_unless_asked_to_stay() {
    let site = Site::start();
    let mut client = site.connect();
    let reply = client.ask("GET /healthz HTTP/1.0\r\n\r\n");
    assert_eq!((reply.status, reply.body.as_str()), (200, "ok\n"));
    assert!(client.is_at_end());
    let mut client = site.connect();
    for _ in 0..3 {
        let reply = client.ask("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        assert_eq!(reply.field("connection"), Some("keep-alive"));
    }
}

#[test]
fn a_client_that_asks_for_the_end_gets_it() {
    let site = Site::start();
    let mut client = site.connect();
    let reply = client.ask(&bare("GET", "/healthz", "Connection: close\r\n"));
    assert_eq!((reply.status, reply.field("connection")), (200, Some("close")));
    assert!(client.is_at_end());
}

#[test]
fn a_client_may_end_its_side_and_still_gets_all_replies() {
    let site = Site::start();
    let mut client = site.connect();
    client.send(put("/db/notes/a", "", "1") + &get("/db/notes/a"));
    client.end_sending();
    assert_eq!(client.reply(false).status, 201);
    assert_eq!(client.reply(false).body, "1");
    assert!(client.is_at_end());
}

#[test]
fn a_client_that_vanishes_in_its_body_changes_nothing() {
    let site = Site::start();
    for _ in 0..20 {
        let mut client = site.connect();
        let whole = put("/db/notes/a", "", "\"0123456789\"");
        client.send(&whole[..whole.len() - 5]);
        drop(client);
        assert_eq!(site.ask(&get("/db/notes/a")).status, 404);
    }
    // A client that waits in the middle of its body is in nobody's way.
    let mut waiting = site.connect();
    waiting.send(
        "PUT /db/notes/b HTTP/1.1\r\nHost: localhost\r\n\
         Content-Type: a/b\r\nContent-Length: 4\r\n\r\nbo",
    );
    site.put("/db/notes/a", "1");
    waiting.send("dy");
    assert_eq!(waiting.reply(false).status, 201);
}

#[test]
fn a_body_that_is_not_wanted_does_not_desynchronize() {
    let site = Site::start();
    let mut client = site.connect();
    let body = "GET /db/notes/smuggled HTTP/1.1\r\n\r\n";
    let fields = format!("Content-Length: {}\r\n", body.len());
    let first = client.ask(&(bare("GET", "/healthz", &fields) + body));
    assert_eq!(first.body, "ok\n");
    // Either the body was skipped, or the connection ended; it was not taken for a request.
    if let Some(second) = client.try_ask(&get("/healthz")) {
        assert_eq!(second.body, "ok\n");
    }
}

#[test]
fn a_thousand_idle_connections_and_one_that_works() {
    const IDLE: usize = 1_000;
    // Both ends of each are in this process.
    raise_file_limit(3 * IDLE as u64);
    let site = Site::start();
    let mut idle: Vec<Client> = (0..IDLE).map(|_| site.connect()).collect();
    // Half of them have been used before.
    for client in idle.iter_mut().step_by(2) {
        assert_eq!(client.ask(&get("/healthz")).status, 200);
    }
    let mut active = site.connect();
    for n in 0..100 {
        let n = n.to_string();
        active.ask(&put("/db/notes/a", "", &n));
        assert_eq!(active.ask(&get("/db/notes/a")).body, n);
    }
    for client in &mut idle {
        assert_eq!(client.ask(&get("/healthz")).status, 200);
    }
}

fn raise_file_limit(least: u64) {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < least) {
        limit.current = limit.maximum.map_or(Some(least), |maximum| Some(maximum.min(least)));
        setrlimit(Resource::Nofile, limit).unwrap();
    }
}
