//! The application's paths: what its handlers are sent, and what becomes of their replies.

use crate::site::{Reply, Site, bare, get, put};
use faces::ServerOptions;
use gem::{App, Pool, PoolOptions};
use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const ROUTES: &str = r#"
import { App, reply } from "sarsen";
const app = new App();
app.get("/", () => "home");
app.get("/cookies", () => reply({ headers: { "set-cookie": ["a=1", "b=2"] }, body: "x" }));
app.post("/hit", ({ db }) => { db.tally.add("hits", 1); });
app.get("/throws", () => { throw new Error("the secret"); });
app.get("/loops", () => { for (;;); });
export default app;
"#;

/// With one gem and a queue of this length.
pub fn site(queue: usize, development: bool) -> Site {
    site_with(queue, |options| options.development = development)
}

pub fn site_with(queue: usize, change: impl FnOnce(&mut ServerOptions)) -> Site {
    Site::with_pool(change, |repository| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("sarsen.toml"), "name = \"test\"\n").unwrap();
        fs::write(folder.path().join("app.js"), ROUTES).unwrap();
        let app = App::load(folder.path()).unwrap();
        let options = PoolOptions {
            workers: 1,
            queue,
            cpu_limit: Duration::from_millis(500),
            heap_limit: 32 << 20,
            errors: None,
            cache: None,
        };
        Some(Arc::new(Pool::start(app, Arc::clone(repository), options).unwrap()))
    })
}

#[test]
fn handlers_answer() {
    let site = site(64, false);
    let mut client = site.connect();
    let home = client.ask(&get("/"));
    assert_eq!((home.status, home.body.as_str()), (200, "home"));
    let head = client.ask(&bare("HEAD", "/", ""));
    assert_eq!((head.status, head.field("content-length")), (200, Some("4")));
    assert_eq!(client.ask(&bare("POST", "/hit", "Content-Length: 0\r\n")).status, 204);
    let cookies = client.ask(&get("/cookies"));
    let set: Vec<_> = cookies.fields.iter().filter(|(name, _)| name == "set-cookie").collect();
    assert_eq!(set.len(), 2);
    assert_eq!(client.ask(&get("/absent")).status, 404);
}

#[test]
fn what_is_native_stays_native() {
    let site = site(64, false);
    assert_eq!(site.ask(&get("/healthz")).body, "ok\n");
    assert_eq!(site.ask(&put("/db/notes/a", "", "1")).status, 201);
    assert!(site.ask(&get("/db")).body.starts_with("{\"collections\":"));
    assert_eq!(site.ask(&get("/db/notes/")).problem(), "not-found");
}

#[test]
fn a_failure_is_a_problem_that_tells_strangers_nothing() {
    let quiet = site(64, false).ask(&get("/throws"));
    assert_eq!((quiet.status, quiet.problem()), (500, "handler-failed"));
    assert!(!quiet.body.contains("secret"), "{}", quiet.body);
    let site = site(64, true);
    let open = site.ask(&get("/throws"));
    assert!(open.body.contains("the secret"), "{}", open.body);
    assert_eq!(site.ask(&get("/loops")).problem(), "cpu-limit");
    assert_eq!(site.ask(&get("/")).body, "home", "the worker goes on");
}

#[test]
fn a_full_queue_refuses_at_once() {
    const CLIENTS: usize = 10;
    let site = site(1, false);
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| site.connect()).collect();
    // One runs until its time is up and one waits; the others find no room.
    clients.iter_mut().for_each(|client| client.send(get("/loops")));
    let replies: Vec<Reply> = clients.iter_mut().map(|client| client.reply(false)).collect();
    let (refused, ran): (Vec<_>, Vec<_>) = replies.iter().partition(|reply| reply.status == 503);
    assert!(!refused.is_empty() && !ran.is_empty(), "{replies:?}");
    for reply in refused {
        assert_eq!((reply.problem(), reply.field("retry-after")), ("busy", Some("1")));
    }
    assert!(ran.iter().all(|reply| reply.problem() == "cpu-limit"), "{ran:?}");
}

#[test]
fn every_acknowledged_hit_is_durable_and_counted() {
    const CLIENTS: usize = 8;
    const HITS: usize = 100;
    let site = site(64, false);
    let hit = bare("POST", "/hit", "Content-Length: 0\r\n");
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = site.connect();
                for _ in 0..HITS {
                    assert_eq!(client.ask(&hit).status, 204);
                }
            });
        }
    });
    let stats = site.repository.stats();
    assert_eq!(stats.durable, stats.visible);
    assert_eq!(site.ask(&get("/db/tally/hits")).body, (CLIENTS * HITS).to_string());
}
