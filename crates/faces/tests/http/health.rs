//! Whether the server is well: `/healthz` and `/readyz`.

use crate::app;
use crate::site::{Reply, Site, bare, get, until};
use faces::access::{Grant, NewToken, Scope, TokenFile};
use repository::Timestamp;
use serde_json::Value;
use std::thread;
use std::time::Duration;

fn json(reply: &Reply) -> Value {
    assert_eq!(reply.field("content-type"), Some("application/health+json"));
    assert_eq!(reply.field("cache-control"), Some("no-store"));
    serde_json::from_str(&reply.body).unwrap()
}

#[test]
fn a_process_that_answers_is_alive() {
    let site = Site::start();
    let reply = site.ask(&get("/healthz"));
    assert_eq!((reply.status, reply.body.as_str()), (200, "ok\n"));
}

#[test]
fn a_server_that_can_work_is_ready() {
    let site = Site::start();
    site.put("/db/notes/a", "1");
    let reply = site.ask(&get("/readyz"));
    assert_eq!(reply.status, 200);
    let state = json(&reply);
    assert_eq!(state["status"], "pass");
    for check in ["server:accepting", "repository:commits", "tranlog:progress", "repository:memory"]
    {
        assert_eq!(state["checks"][check][0]["status"], "pass", "{check}: {state}");
        assert!(state["checks"][check][0]["observedValue"].is_u64(), "{check}: {state}");
    }
    assert!(state["checks"]["gems:queue"].is_null(), "there is no application");
}

#[test]
fn a_queue_that_is_full_is_not_ready_and_a_gem_that_loops_is_not_dead() {
    let site = app::site(1, false);
    let address = site.server.local_addr();
    assert_eq!(json(&site.ask(&get("/readyz")))["checks"]["gems:alive"][0]["observedValue"], 1);
    // The gem is given up again and again by its limit, and there is always somebody who waits.
    let looping: Vec<_> = (0..3)
        .map(|_| {
            thread::spawn(move || {
                for _ in 0..4 {
                    crate::site::Client::to(address).ask(&get("/loops"));
                }
            })
        })
        .collect();
    let mut full = None;
    until(|| {
        full = Some(site.ask(&get("/readyz"))).filter(|reply| reply.status == 503);
        full.is_some()
    });
    let state = json(&full.unwrap());
    assert_eq!(state["status"], "fail");
    assert_eq!(state["checks"]["gems:queue"][0]["status"], "fail");
    assert_eq!(state["checks"]["gems:alive"][0]["status"], "pass");
    assert_eq!(site.ask(&get("/healthz")).status, 200, "the process answers");
    looping.into_iter().for_each(|thread| thread.join().unwrap());
    until(|| site.ask(&get("/readyz")).status == 200);
}

#[test]
fn a_server_that_drains_is_not_ready() {
    let site = Site::start();
    let mut busy = site.connect();
    // A request for the state that is in flight when the drain begins: its head comes in two parts.
    busy.send("GET /readyz HTTP/1.1\r\nHost: localhost\r\n");
    assert_eq!(site.ask(&get("/healthz")).status, 200);
    let address = site.server.local_addr();
    let drain = thread::spawn(move || site.server.drain(Duration::from_secs(20)));
    until(|| std::net::TcpStream::connect(address).is_err());
    if busy.try_send(b"\r\n")
        && let Some(reply) = busy.try_reply(false)
    {
        assert_eq!(reply.status, 503);
        assert_eq!(json(&reply)["checks"]["server:accepting"][0]["status"], "fail");
    }
    drain.join().unwrap();
}

#[test]
fn strangers_are_told_which_check_fails_and_no_figures() {
    let folder = tempfile::tempdir().unwrap();
    let file = TokenFile::of(folder.path());
    let grant = Grant::new(Scope::Read, vec!["notes".parse().unwrap()]).unwrap();
    let (name, created) = (String::new(), Timestamp(0));
    let (_, secret) = file.create(NewToken { name, grant, created, expires: None }).unwrap();
    let site = Site::with(|options| options.tokens = Some(file));
    let check = |fields: &str| {
        let reply = site.ask(&bare("GET", "/readyz", fields));
        assert_eq!(reply.status, 200);
        json(&reply)["checks"]["repository:memory"][0].clone()
    };
    assert_eq!(check(""), serde_json::json!({ "status": "pass" }));
    assert_eq!(check("Authorization: Bearer sarsen_wrong\r\n"), check(""));
    let known = check(&format!("Authorization: Bearer {}\r\n", secret.reveal()));
    assert_eq!(known["observedUnit"], "bytes");
}

#[test]
fn the_methods_of_the_servers_pages() {
    let site = Site::start();
    for path in ["/healthz", "/readyz", "/metrics", "/openapi.json", "/errors", "/errors/busy"] {
        let options = site.ask(&bare("OPTIONS", path, ""));
        assert_eq!((options.status, options.field("allow")), (204, Some("GET, HEAD, OPTIONS")));
        assert_eq!(site.ask(&bare("POST", path, "")).problem(), "method-not-allowed", "{path}");
        let mut client = site.connect();
        let got = client.ask(&get(path));
        let head = client.ask(&bare("HEAD", path, ""));
        assert_eq!((head.status, head.body.as_str()), (got.status, ""), "{path}");
        assert_eq!(head.field("content-type"), got.field("content-type"), "{path}");
    }
}
