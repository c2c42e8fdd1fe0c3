//! Conditional requests, by section of RFC 9110. The table of all rules is tested where they are
//! written; here it is that they reach the wire and are decided inside the transaction.

use crate::site::{Reply, Site, bare, get, put};
use std::sync::Barrier;
use std::thread;

fn get_if(site: &Site, fields: &str) -> Reply {
    site.ask(&bare("GET", "/db/notes/a", fields))
}

#[test]
fn s13_1_1_if_match_guards_every_method() {
    let site = Site::start();
    let old = site.put("/db/notes/a", "1");
    let etag = site.put("/db/notes/a", "2");
    let (stale, fresh) = (format!("If-Match: {old}\r\n"), format!("If-Match: \"x\", {etag}\r\n"));
    let weak = format!("If-Match: W/{etag}\r\n");
    for refused in [&stale, &weak] {
        assert_eq!(get_if(&site, refused).problem(), "precondition-failed");
        assert_eq!(site.ask(&put("/db/notes/a", refused, "3")).status, 412);
        assert_eq!(site.ask(&bare("DELETE", "/db/notes/a", refused)).status, 412);
    }
    assert_eq!(get_if(&site, &fresh).status, 200);
    assert_eq!(get_if(&site, "If-Match: *\r\n").body, "2");
    assert_eq!(site.ask(&put("/db/notes/a", &fresh, "3")).status, 204);
    assert_eq!(site.ask(&put("/db/notes/absent", "If-Match: *\r\n", "3")).status, 412);
    assert_eq!(site.ask(&bare("DELETE", "/db/notes/a", "If-Match: *\r\n")).status, 204);
}

#[test]
fn s13_1_1_a_collection_has_no_version_to_match() {
    let site = Site::start();
    let post = |fields: &str| {
        let fields = format!("{fields}Content-Type: application/json\r\nContent-Length: 1\r\n");
        site.ask(&(bare("POST", "/db/notes", &fields) + "1")).status
    };
    assert_eq!(post("If-Match: *\r\n"), 412);
    assert_eq!(post("If-None-Match: *\r\n"), 201);
}

#[test]
fn s13_1_2_if_none_match() {
    let site = Site::start();
    let etag = site.put("/db/notes/a", "1");
    let known = format!("If-None-Match: \"0\", W/{etag}\r\n");
    let reply = get_if(&site, &known);
    assert_eq!((reply.status, reply.field("etag")), (304, Some(etag.as_str())));
    assert_eq!(reply.field("content-length"), None);
    assert_eq!(site.ask(&bare("HEAD", "/db/notes/a", &known)).status, 304);
    assert_eq!(get_if(&site, "If-None-Match: *\r\n").status, 304);
    assert_eq!(get_if(&site, "If-None-Match: \"0\"\r\nIf-None-Match: \"x\"\r\n").status, 200);
    let create = "If-None-Match: *\r\n";
    assert_eq!(site.ask(&put("/db/notes/a", create, "2")).status, 412);
    assert_eq!(site.ask(&put("/db/notes/b", create, "2")).status, 201);
    assert_eq!(site.ask(&bare("DELETE", "/db/notes/a", &known)).status, 412);
}

#[test]
fn s13_1_3_and_4_dates() {
    let site = Site::start();
    site.put("/db/notes/a", "1");
    site.pass(3_000);
    let date = get_if(&site, "").field("last-modified").unwrap().to_owned();
    assert_eq!(get_if(&site, &format!("If-Modified-Since: {date}\r\n")).status, 304);
    assert_eq!(get_if(&site, "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n").status, 200);
    assert_eq!(get_if(&site, "If-Modified-Since: never\r\n").status, 200);
    let since = format!("If-Unmodified-Since: {date}\r\n");
    assert_eq!(site.ask(&put("/db/notes/a", &since, "2")).status, 204);
    let long_ago = "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    assert_eq!(site.ask(&put("/db/notes/a", long_ago, "3")).status, 412);
}

/// A second has room for many writes, so that a date which may be of another one is not taken for
/// this one.
#[test]
fn s8_8_2_2_a_date_alone_sees_each_write() {
    let site = Site::start();
    site.put("/db/notes/a", "0");
    for round in 1..30 {
        let date = get_if(&site, "").field("last-modified").unwrap().to_owned();
        let unmodified = format!("If-Unmodified-Since: {date}\r\n");
        site.put("/db/notes/a", &round.to_string());
        let found = get_if(&site, &format!("If-Modified-Since: {date}\r\n"));
        assert_eq!((found.status, found.body), (200, round.to_string()));
        let lost = site.ask(&put("/db/notes/a", &unmodified, "\"over another's\""));
        assert_eq!(lost.status, 412, "{round}: nobody's write is lost");
        // Through the seconds, and past what is not certain yet.
        site.pass(if round % 3 == 0 { 3_000 } else { 130 });
    }
}

#[test]
fn s13_2_1_conditions_do_not_hide_other_errors() {
    let site = Site::start();
    for method in ["GET", "DELETE"] {
        let reply = site.ask(&bare(method, "/db/notes/absent", "If-Match: \"1\"\r\n"));
        assert_eq!(reply.status, 404, "{method}");
    }
    assert_eq!(site.ask(&put("/db/notes/absent", "If-Match: \"1\"\r\n", "{")).status, 400);
}

#[test]
fn malformed_conditions_are_refused_and_not_ignored() {
    let site = Site::start();
    let etag = site.put("/db/notes/a", "1");
    let unquoted = etag.trim_matches('"');
    let reply = site.ask(&put("/db/notes/a", &format!("If-Match: {unquoted}\r\n"), "2"));
    assert_eq!((reply.status, reply.problem()), (400, "bad-request"));
    assert_eq!(site.ask(&get("/db/notes/a")).body, "1");
}

#[test]
fn of_two_racing_conditional_puts_exactly_one_wins() {
    const ROUNDS: usize = 200;
    let site = Site::start();
    let mut etag = site.put("/db/notes/a", "0");
    // Both clients are connected before the race, on different reactors.
    let (mut left, mut right) = (site.connect(), site.connect());
    let start = Barrier::new(2);
    for round in 0..ROUNDS {
        let request = |name: &str| {
            put("/db/notes/a", &format!("If-Match: {etag}\r\n"), &format!("\"{name} {round}\""))
        };
        let replies = thread::scope(|scope| {
            let racers = [("left", &mut left), ("right", &mut right)].map(|(name, client)| {
                let (request, start) = (request(name), &start);
                scope.spawn(move || {
                    start.wait();
                    client.ask(&request)
                })
            });
            racers.map(|racer| racer.join().unwrap())
        });
        let mut statuses = [replies[0].status, replies[1].status];
        let winner = statuses.iter().position(|status| *status == 204).unwrap();
        statuses.sort_unstable();
        assert_eq!(statuses, [204, 412], "round {round}");
        let found = site.ask(&get("/db/notes/a"));
        let name = ["left", "right"][winner];
        assert_eq!(found.body, format!("\"{name} {round}\""));
        etag = replies[winner].field("etag").unwrap().to_owned();
        assert_eq!(found.field("etag"), Some(etag.as_str()));
    }
}

#[test]
fn of_many_racing_creations_exactly_one_wins() {
    const CLIENTS: usize = 8;
    let site = Site::start();
    for round in 0..20 {
        let start = Barrier::new(CLIENTS);
        let request = put(&format!("/db/notes/{round}"), "If-None-Match: *\r\n", "1");
        let created: usize = thread::scope(|scope| {
            let racers: Vec<_> = (0..CLIENTS)
                .map(|_| {
                    scope.spawn(|| {
                        let mut client = site.connect();
                        start.wait();
                        let status = client.ask(&request).status;
                        assert!(matches!(status, 201 | 412), "{status}");
                        usize::from(status == 201)
                    })
                })
                .collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).sum()
        });
        assert_eq!(created, 1, "round {round}");
    }
}

#[test]
fn s13_1_1_if_match_means_the_same_where_changes_are_merged() {
    const CLIENTS: usize = 8;
    const ROUNDS: usize = 20;
    let site = Site::start();
    site.configure("notes", r#"{"conflict":"merge"}"#);
    let mut etag = site.put("/db/notes/a", "{}");
    for round in 0..ROUNDS {
        let barrier = Barrier::new(CLIENTS);
        let winners: Vec<String> = thread::scope(|scope| {
            let write = |client: usize| {
                let body = format!(r#"{{"c{client}":{round}}}"#);
                let request = put("/db/notes/a", &format!("If-Match: {etag}\r\n"), &body);
                let mut connection = site.connect();
                barrier.wait();
                let reply = connection.ask(&request);
                assert!(matches!(reply.status, 204 | 412), "{reply:?}");
                (reply.status == 204).then(|| reply.field("etag").unwrap().to_owned())
            };
            let clients: Vec<_> =
                (0..CLIENTS).map(|client| scope.spawn(move || write(client))).collect();
            clients.into_iter().filter_map(|client| client.join().unwrap()).collect()
        });
        assert_eq!(winners.len(), 1, "round {round}");
        etag = winners[0].clone();
    }
}
