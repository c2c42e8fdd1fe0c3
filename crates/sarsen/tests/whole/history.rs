//! Versions that are kept, on the real binary: what `?at` says is what was acknowledged, whenever
//! the server is killed, while versions are trimmed, expire, and are dropped as a whole.

use crate::harness::{Server, Site};
use crate::http::{Client, Reply};
use std::collections::BTreeMap;

const KILLS: u64 = 6;
const KEYS: u64 = 20;
const KEPT: usize = 3;

/// What each acknowledged commit wrote, by document; the last may be in doubt.
#[derive(Default)]
struct Known {
    written: BTreeMap<u64, Vec<(u64, u64)>>,
    next: u64,
}

fn commit(reply: &Reply) -> u64 {
    reply.header("sarsen-commit").expect("a commit").parse().expect("its number")
}

impl Known {
    /// Writes until the server is gone, or so often.
    fn write(&mut self, client: &mut Client, times: u64) {
        for _ in 0..times {
            self.next += 1;
            let key = self.next % KEYS;
            let path = format!("/db/notes/{key}");
            let Ok(reply) = client.put_json(&path, &self.next.to_string()) else { return };
            assert!(matches!(reply.status, 201 | 204), "{reply:?}");
            self.written.entry(key).or_default().push((commit(&reply), self.next));
        }
    }

    /// Every version is what was written or is said not to be kept; the last ones are kept.
    fn check(&self, server: &Server) {
        let mut client = server.connect();
        for (key, versions) in &self.written {
            for (i, (number, value)) in versions.iter().enumerate() {
                let reply = client.get(&format!("/db/notes/{key}?at={number}")).expect("a reply");
                let is_kept = versions.len() - i <= KEPT;
                match reply.status {
                    200 => assert_eq!(reply.text(), value.to_string(), "{key} at {number}"),
                    // What was in doubt may have come after it.
                    410 => assert!(!is_kept || versions.len() - i == KEPT, "{key} at {number}"),
                    _ => panic!("{key} at {number}: {reply:?}"),
                }
            }
        }
    }
}

fn keep(server: &Server, history: &str) {
    let settings = format!(r#"{{"history":{history}}}"#);
    let reply = server.connect().put_json("/db/notes?settings", &settings).expect("a reply");
    assert!(matches!(reply.status, 200 | 201 | 204), "{reply:?}");
}

#[test]
fn the_past_survives_kills_while_it_is_trimmed_and_dropped() {
    let site = Site::bare();
    let mut server = site.start();
    keep(&server, &format!(r#"{{"versions":{KEPT}}}"#));
    let mut known = Known::default();
    for round in 0..KILLS {
        known.write(&mut server.connect(), 40 + 37 * round);
        server.kill();
        site.assert_clean();
        server = site.start();
        known.check(&server);
    }
    let first = known.written[&1].first().expect("a version").0;
    server.wait_until("what is too much to be trimmed", || {
        server.get(&format!("/db/notes/1?at={first}")).status == 410
    });
    // By age, and nothing at all: each begins anew, and what was before is cleared away.
    for history in [r#"{"age":200}"#, r#""none""#, r#"{"versions":1}"#] {
        keep(&server, history);
        let mut now = Known { next: known.next, ..Known::default() };
        now.write(&mut server.connect(), 100);
        known.next = now.next;
        server.kill();
        site.assert_clean();
        server = site.start();
        let old = server.get(&format!("/db/notes/1?at={first}"));
        assert_eq!(old.status, 410, "{old:?}");
    }
    assert!(server.stop().success());
    site.assert_clean();
}
