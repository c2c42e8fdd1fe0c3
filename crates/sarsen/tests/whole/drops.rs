//! kill -9 while a collection is dropped and cleared: it is all there or not at all, what was
//! written to its name afterwards stays, and nothing is left of it in the end.

use crate::harness::Site;
use crate::http::Client;
use crate::random::{Random, seed};
use std::time::Duration;

const DOCUMENTS: usize = 6_000;
const PER_LIST: usize = 500;
const KILLS: usize = 8;

fn fill(client: &mut Client) {
    for from in (0..DOCUMENTS).step_by(PER_LIST) {
        let put = |i: usize| {
            format!(r#"{{"op":"put","collection":"large","key":"k{i}","value":{{"n":{i}}}}}"#)
        };
        let list: Vec<_> = (from..from + PER_LIST).map(put).collect();
        let body = format!("[{}]", list.join(","));
        let json = [("content-type", "application/json")];
        let reply = client.request("POST", "/tx", &json, body.as_bytes()).expect("a reply");
        assert_eq!(reply.status, 200, "{reply:?}");
    }
}

/// How many documents `GET` counts; 0 where there is no collection.
fn count(client: &mut Client) -> u64 {
    let reply = client.get("/db/large?limit=0&count=true").expect("a reply");
    if reply.status == 404 {
        return 0;
    }
    let count = &reply.json()["count"];
    assert_eq!(count["exact"], true, "{count}");
    count["value"].as_u64().expect("a number")
}

#[test]
fn a_drop_survives_kill_9_whole_or_not_at_all() {
    let seed = seed();
    println!("to repeat: SARSEN_SEED={seed} cargo test -p sarsen a_drop_survives_kill_9");
    let mut random = Random::new(seed);
    let site = Site::bare();
    let (mut dropped, mut stayed) = (0, 0);
    for kill in 0..KILLS {
        let server = site.start();
        let mut client = server.connect();
        let indexed = r#"{"indexes":[{"name":"by_n","paths":[{"path":"/n"}]}]}"#;
        let json = [("content-type", "application/json")];
        client.request("PUT", "/db/large", &json, indexed.as_bytes()).expect("a reply");
        fill(&mut client);
        let before = count(&mut client);
        assert_eq!(before, DOCUMENTS as u64);
        let path = if kill % 2 == 0 { "/db/large" } else { "/db/large?documents" };
        let moment = Duration::from_micros(random.below(60_000));
        let address = server.address();
        let acknowledged = std::thread::scope(|scope| {
            let ending = scope.spawn(move || {
                let mut client = Client::connect(address).ok()?;
                let reply = client.request("DELETE", path, &[], b"").ok()?;
                assert_eq!(reply.status, 204, "{reply:?}");
                // What comes after the drop is another collection's.
                let put = client.put_json("/db/large/after", "1").ok()?;
                Some(matches!(put.status, 200 | 201 | 204))
            });
            std::thread::sleep(moment);
            server.kill();
            ending.join().expect("the client ends")
        });
        site.assert_clean();
        let server = site.start();
        let found = count(&mut server.connect());
        match acknowledged {
            Some(true) => assert_eq!(found, 1, "what came after the drop, alone"),
            _ => assert!([0, 1, before].contains(&found), "{found} of {before} are left"),
        }
        if found == before {
            stayed += 1;
        } else {
            dropped += 1;
        }
        // Whatever came of it: the rest is cleared, by an opening that begins in the midst of it.
        server.connect().request("DELETE", "/db/large", &[], b"").expect("a reply");
        assert_eq!(count(&mut server.connect()), 0);
        assert_eq!(server.stop().code(), Some(0));
        site.assert_clean();
    }
    println!("{dropped} were dropped, {stayed} stayed");
    let server = site.start();
    server.wait_until("all of it is cleared", || {
        server.get("/metrics").text().contains("\nsarsen_collections_ending 0\n")
    });
    assert_eq!(server.stop().code(), Some(0));
    let verified = site.verify();
    let said = String::from_utf8_lossy(&verified.stdout);
    assert!(verified.status.success() && !said.contains("large"), "{said}");
}
