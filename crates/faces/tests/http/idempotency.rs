//! Idempotency-Key: a request with a name runs once.

use crate::site::{Reply, Site, bare, get, patch, put, with_json};
use std::sync::Barrier;
use std::thread;

const KEY: &str = "Idempotency-Key: \"k-1\"\r\n";

/// What must be the same again.
fn told(reply: &Reply) -> (u16, Vec<(String, String)>, String) {
    let fields = reply.fields.iter().filter(|(name, _)| name != "date").cloned().collect();
    (reply.status, fields, reply.body.clone())
}

#[test]
fn the_same_request_gets_the_same_answer_and_runs_once() {
    let all = "Prefer: return=representation\r\n";
    let test = r#"[{"op":"test","path":"/n","value":0}]"#;
    let add = r#"[{"op":"add","path":"/n","value":1}]"#;
    let create = r#"[{"op":"create","collection":"notes","value":1}]"#;
    let both = r#"[{"op":"get","collection":"notes","key":"a"},
        {"op":"put","collection":"notes","key":"a","value":1}]"#;
    let shown = format!("{KEY}{all}");
    for request in [
        with_json("POST", "/db/notes", KEY, "[1]"),
        with_json("POST", "/db/notes", &shown, "[1]"),
        put("/db/notes/b", KEY, "2"),
        put("/db/notes/a", &shown, "2"),
        patch("merge-patch", "/db/notes/a", KEY, r#"{"x":1}"#),
        patch("json-patch", "/db/notes/a", KEY, test),
        patch("vnd.sarsen.merge", "/db/notes/a", KEY, add),
        bare("DELETE", "/db/notes/a", KEY),
        with_json("POST", "/tx", KEY, create),
        with_json("POST", "/tx", &shown, both),
    ] {
        let site = Site::start();
        site.put("/db/notes/a", r#"{"n":0}"#);
        let first = site.ask(&request);
        assert!((200..300).contains(&first.status), "{request}: {first:?}");
        let after = site.repository.stats().commits;
        assert_eq!(first.field("sarsen-durability"), Some("synced"), "the answer is written");
        let again = site.ask(&request);
        assert_eq!(told(&again), told(&first), "{request}");
        assert_eq!(site.repository.stats().commits, after, "{request}");
    }
}

#[test]
fn another_request_with_the_same_key_is_refused() {
    let site = Site::start();
    assert_eq!(site.ask(&put("/db/notes/a", KEY, "1")).status, 201);
    for other in [
        put("/db/notes/a", KEY, "2"),
        put("/db/notes/b", KEY, "1"),
        put("/db/notes/a", &format!("{KEY}If-Match: *\r\n"), "1"),
        with_json("POST", "/db/notes", KEY, "1"),
    ] {
        let reply = site.ask(&other);
        assert_eq!((reply.status, reply.problem()), (422, "idempotency-key-reused"), "{other}");
    }
    assert_eq!(site.ask(&get("/db/notes/a")).body, "1");
    assert_eq!(site.ask(&put("/db/notes/a", "Idempotency-Key: k-1\r\n", "1")).status, 201);
    assert_eq!(site.ask(&put("/db/notes/a", "Idempotency-Key: \"\"\r\n", "1")).status, 400);
}

#[test]
fn what_was_refused_may_run_again() {
    let site = Site::start();
    let request = patch("merge-patch", "/db/notes/a", KEY, r#"{"x":1}"#);
    assert_eq!(site.ask(&request).status, 404);
    site.put("/db/notes/a", "{}");
    assert_eq!(site.ask(&request).status, 204);
    assert_eq!(site.ask(&get("/db/notes/a")).body, r#"{"x":1}"#);
}

#[test]
fn of_many_at_the_same_time_one_runs() {
    const CLIENTS: usize = 8;
    const ROUNDS: usize = 20;
    let site = Site::start();
    let barrier = Barrier::new(CLIENTS);
    let mut places: Vec<Vec<String>> = thread::scope(|scope| {
        let client = || {
            (0..ROUNDS).map(|round| {
                let key = format!("Idempotency-Key: round-{round}\r\n");
                barrier.wait();
                site.ask(&with_json("POST", "/db/notes", &key, "1"))
            })
        };
        let clients: Vec<_> =
            (0..CLIENTS).map(|_| scope.spawn(move || client().collect())).collect();
        // A client that stopped at what is wrong would leave the others waiting for it.
        let replies = clients.into_iter().map(|client| client.join().unwrap());
        let places = |replies: Vec<Reply>| {
            assert!(replies.iter().all(|reply| reply.status == 201), "{replies:?}");
            replies.iter().map(|reply| reply.field("location").unwrap().to_owned()).collect()
        };
        replies.map(places).collect()
    });
    places.dedup();
    assert_eq!(places.len(), 1, "all were told the same");
    assert_eq!(places[0].len(), ROUNDS);
}

#[test]
fn the_answers_are_nobodys_to_read() {
    let site = Site::start();
    site.ask(&put("/db/notes/a", KEY, "1"));
    for path in ["/db/_answers", "/db/_answers/%3Ak-1"] {
        assert_eq!(site.ask(&get(path)).status, 404);
    }
}

#[test]
fn an_answer_that_is_too_large_is_refused_and_nothing_is_written() {
    let site = Site::start();
    let long = format!("\"{}\"", "x".repeat(faces::limits::ANSWER_BYTES_MAX));
    let fields = format!("{KEY}Prefer: return=representation\r\n");
    let reply = site.ask(&put("/db/notes/a", &fields, &long));
    assert_eq!((reply.status, reply.problem()), (422, "unprocessable"));
    assert_eq!(site.ask(&get("/db/notes/a")).status, 404);
    assert_eq!(site.ask(&put("/db/notes/a", KEY, &long)).status, 201);
}

#[test]
fn a_list_that_reports_conflicts_does_not_lose_its_name_to_itself() {
    const CLIENTS: usize = 4;
    let site = Site::start();
    let barrier = Barrier::new(CLIENTS);
    let list = r#"[{"op":"create","collection":"notes","value":1}]"#;
    let client = || {
        let round = |round: usize| {
            let key = format!("Idempotency-Key: round-{round}\r\n");
            let request = with_json("POST", "/tx?conflict=report", &key, list);
            barrier.wait();
            site.ask(&request)
        };
        (0..30).map(round).collect::<Vec<_>>()
    };
    // A client that stopped at what is wrong would leave the others waiting for it.
    let replies: Vec<_> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    for reply in replies {
        assert!(matches!(reply.status, 200 | 503), "{reply:?}");
    }
    let all = site.ask(&get("/db/notes?limit=0&count=true"));
    assert!(all.body.contains(r#""count":{"value":30,"#), "{}", all.body);
}
